"""Floats that are moved, and carried through loops, as integers of their bits."""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import lax
from covector.sharding import NamedSharding
from covector.sharding import PartitionSpec as P

_generator = np.random.default_rng(0)
DTYPES = ["bfloat16", "float8_e4m3fn", "float8_e5m2"]
SIDE = 30


def of_bits(dtype, *shape):
    """Random bits: NaN of all kinds, infinities, zeros of both signs."""
    dtype = cnp.dtype(dtype)
    octets = _generator.bytes(int(np.prod(shape)) * dtype.itemsize)
    return np.frombuffer(octets, dtype).reshape(shape)


def bits(x):
    return np.asarray(x).view(f"u{x.dtype.itemsize}")


#: functions of an array, which move its elements, and the same of its bits in NumPy
MOVES = {
    "concatenate": (
        lambda x: cnp.concatenate([x, x[:7]]),
        lambda x: np.concatenate([x, x[:7]]),
    ),
    "stack": (lambda x: cnp.stack([x, x], 1), lambda x: np.stack([x, x], 1)),
    "slice": (lambda x: x[3:-2, ::2], lambda x: x[3:-2, ::2]),
    "an element": (lambda x: x[4, 5], lambda x: x[4, 5]),
    "roll": (
        lambda x: cnp.roll(x, (1, -2), (0, 1)),
        lambda x: np.roll(x, (1, -2), (0, 1)),
    ),
    "dynamic slice": (
        lambda x: lax.dynamic_slice(x, (cnp.int32(4), cnp.int32(9)), (5, 6)),
        lambda x: x[4:9, 9:15],
    ),
    "rows": (
        lambda x: x[cnp.array([3, 0, 3, 29])],
        lambda x: x[np.array([3, 0, 3, 29])],
    ),
    "along an axis": (
        lambda x: cnp.take_along_axis(x, cnp.arange(SIDE)[:, None] % 7, 1),
        lambda x: np.take_along_axis(x, np.arange(SIDE)[:, None] % 7, 1),
    ),
    "split": (lambda x: cnp.split(x, 3)[1], lambda x: np.split(x, 3)[1]),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("move", MOVES)
def test_elements_are_moved_bit_by_bit(move, dtype):
    ours, of_numpy = MOVES[move]
    x = of_bits(dtype, SIDE, SIDE)
    np.testing.assert_array_equal(bits(cv.jit(ours)(x)), of_numpy(bits(x)))


def test_large_arrays_are_rolled_and_joined_bit_by_bit():
    x = of_bits("bfloat16", 300, 200)
    ours = cv.jit(lambda x: [cnp.roll(x, by, 1) for by in (1, -1, 3)])(x)
    for by, rolled in zip((1, -1, 3), ours, strict=True):
        np.testing.assert_array_equal(bits(rolled), np.roll(bits(x), by, 1))
    flat = cv.jit(lambda x: cnp.concatenate([x.ravel(), x[0], x[1, :9]]))(x)
    wanted = np.concatenate([bits(x).ravel(), bits(x)[0], bits(x)[1, :9]])
    np.testing.assert_array_equal(bits(flat), wanted)


UPDATES = {
    "window": lambda x, y: lax.dynamic_update_slice(x, y[:4, :5], (3, 2)),
    "rows": lambda x, y: x.at[cnp.array([4, 1])].set(y[:2]),
    "elements": lambda x, y: x.at[cnp.array([4, 1]), cnp.array([0, 9])].set(y[0, :2]),
    "dropped": lambda x, y: x.at[cnp.array([4, 99])].set(y[:2], mode="drop"),
    "row": lambda x, y: x.at[cnp.int32(-2)].set(y[0]),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("update", UPDATES.values(), ids=UPDATES)
def test_parts_are_written_bit_by_bit(update, dtype):
    x, y = of_bits(dtype, SIDE, SIDE), of_bits(dtype, SIDE, SIDE)
    found = bits(cv.jit(update)(x, y))
    np.testing.assert_array_equal(found, cv.jit(update)(bits(x), bits(y)))


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e5m2"])
@pytest.mark.parametrize("fill", [None, 1.5, 0.0, float("inf")])
def test_reads_outside_are_filled_with_numbers(fill, dtype):
    x = cnp.arange(8).astype(dtype)
    i = cnp.array([2, 99])
    read = cv.jit(lambda x, i: x.at[i].get(mode="fill", fill_value=fill))
    found = read(x, i).astype("float32")
    np.testing.assert_array_equal(found, [2, np.nan if fill is None else fill])


def rounded(x):
    return np.asarray(x, cnp.bfloat16)


@pytest.mark.parametrize("unroll", [1, 3])
@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_carries_reads_and_stores_them(reverse, unroll):
    xs = rounded(_generator.standard_normal((7, 5)))

    @cv.jit
    def sums(xs):
        def step(carry, x):
            total, count = carry
            return (total + x, count + 1), (total, x * 2, count)

        start = cnp.zeros(5, "bfloat16"), 0
        return lax.scan(step, start, xs, reverse=reverse, unroll=unroll)

    (total, count), (before, twice, counts) = sums(xs)
    order = xs[::-1] if reverse else xs
    wanted, running = [], np.zeros(5, cnp.bfloat16)
    for x in order:
        wanted.append(running)
        running = rounded(running + x)
    np.testing.assert_array_equal(total, running)
    np.testing.assert_array_equal(before, wanted[::-1] if reverse else wanted)
    np.testing.assert_array_equal(twice, rounded(xs * 2))
    assert count == 7
    assert sorted(counts.tolist()) == list(range(7))


@pytest.mark.parametrize("keep", [False, True])
def test_the_gradient_of_a_scan_is_about_that_in_float32(keep):
    xs = _generator.standard_normal((20, 8)).astype("float32")

    def loss(xs):
        def step(carry, x):
            carry = cnp.tanh(carry + x)
            return carry, carry * x

        step = cv.checkpoint(step) if keep else step
        last, ys = lax.scan(step, xs[0], xs)
        return (ys.sum() + last.sum()).astype("float32")

    exact = cv.jit(cv.grad(loss))(xs)
    short = cv.jit(cv.grad(loss))(cnp.asarray(xs, "bfloat16"))
    np.testing.assert_allclose(short.astype("float32"), exact, atol=0.1)


def test_loops_write_rows_as_they_do_to_arrays_of_float32():
    x = rounded(_generator.integers(-9, 9, (12, 6)))

    @cv.jit
    def written(x):
        def row(i, x):
            x = x.at[i].set(x[i - 1] + 1).at[i, 2].add(3)
            return lax.fori_loop(0, 2, lambda j, x: x.at[j, i % 6].set(x[i, j]), x)

        x = lax.fori_loop(0, 12, row, x)
        x = lax.while_loop(lambda x: x[0, 0] < 99, lambda x: x + 50, x)
        return lax.cond(x[1, 1] > 0, lambda x: x[::-1], lambda x: x, x)

    found = written(x)
    assert found.dtype == "bfloat16"
    np.testing.assert_array_equal(found.astype("float32"), written(x.astype("float32")))


LOOPS = {
    "scan": lambda x: lax.scan(lambda c, r: (c + r, c), x[0], x)[1],
    "map": lambda x: lax.map(lambda r: r * 2, x),
    "rows": lambda x: lax.fori_loop(0, 90, lambda i, x: x.at[i].set(x[i] * 2), x),
    "window": lambda x: lax.fori_loop(
        0, 90, lambda i, x: lax.dynamic_update_slice(x, x[i, :5][None] + 1, (i, 3)), x
    ),
}


@pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS)
def test_a_step_of_a_loop_touches_its_row_and_not_all(loop):
    text = cv.jit(loop).lower(cnp.ones((97, 89), "bfloat16")).compile().as_text()
    assert " f32[97,89]" not in text


@pytest.mark.skipif(cv.device_count() < 8, reason="needs eight devices")
@pytest.mark.parametrize("loop", [*LOOPS.values(), MOVES["roll"][0]])
def test_over_several_devices_it_is_as_on_one(loop):
    mesh = cv.make_mesh((8,), ("i",))
    x = rounded(_generator.integers(-9, 9, (96, 96)))
    wanted = bits(cv.jit(loop)(x))
    for spec in (P("i"), P(None, "i"), P()):
        there = cv.device_put(x, NamedSharding(mesh, spec))
        np.testing.assert_array_equal(bits(cv.jit(loop)(there)), wanted)
    columns = cv.shard_map(
        loop, mesh=mesh, in_specs=P(None, "i"), out_specs=P(None, "i")
    )
    if loop not in (LOOPS["window"], MOVES["roll"][0]):  # they mix columns
        np.testing.assert_array_equal(bits(cv.jit(columns)(x)), wanted)


def test_programs_for_others_have_the_dtype_that_was_written():
    fun = cv.jit(LOOPS["scan"])
    text = cv.export.export(fun)(cnp.ones((4, 3), "bfloat16")).mlir_module()
    assert "bf16" in text
    assert "bitcast_convert" not in text

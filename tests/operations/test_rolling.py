"""Rolls of arrays large enough for margins (``operations/rolling_on_cpu.py``)."""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector.sharding import NamedSharding
from covector.sharding import PartitionSpec as P

_generator = np.random.default_rng(0)

SHAPES = [
    *((20_000,), (65_537,), (130, 130), (1, 20_000), (20_000, 1), (3, 7000)),
    *((7000, 3), (500, 40), (30, 30, 31), (2, 100, 100), (100, 100, 2)),
    (5, 17, 15, 16),
]
DTYPES = ["float32", "float16", "int32", "uint16", "int8", "bool", "complex64"]
SHIFTS = [1, -1, 2, -3, 8, 9, -17, 100]


def of_bits(shape, dtype):
    """An array of random bits: NaN of all kinds, infinities, zeros of both signs."""
    if dtype == "bool":
        return _generator.integers(0, 2, shape).astype(bool)
    octets = _generator.bytes(int(np.prod(shape)) * np.dtype(dtype).itemsize)
    return np.frombuffer(octets, dtype).reshape(shape)


def rolls(shape):
    """Shifts and axes: one axis, several, some of them more than once."""
    ndim = len(shape)
    for axis in range(ndim):
        yield from [((by,), (axis,)) for by in (1, -2, shape[axis] // 2)]
    for _ in range(6):
        axes = _generator.permutation(ndim)[: _generator.integers(1, ndim + 1)]
        yield tuple(_generator.choice(SHIFTS, len(axes)).tolist()), tuple(axes.tolist())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_large_arrays_are_rolled_as_by_numpy_bit_by_bit(shape, dtype):
    x, wanted = of_bits(shape, dtype), list(rolls(shape))
    together = cv.jit(lambda x: [cnp.roll(x, by, axes) for by, axes in wanted])(x)
    for (by, axes), ours in zip(wanted, together, strict=True):
        assert np.asarray(ours).tobytes() == np.roll(x, by, axes).tobytes(), (by, axes)


@pytest.mark.parametrize("shape", [(20_000,), (160, 130), (30, 30, 31)], ids=str)
def test_one_roll_of_what_is_computed_is_that_of_numpy(shape):
    x = of_bits(shape, "int32")
    for by, axes in rolls(shape):
        ours = cv.jit(lambda x, by=by, axes=axes: cnp.roll(x ^ 5, by, axes) - x)(x)
        np.testing.assert_array_equal(ours, np.roll(x ^ 5, by, axes) - x)


def differences(x):
    """Of neighbours, along all axes and across."""
    axes = tuple(range(x.ndim))
    near = [cnp.roll(x, by, k) for k in axes for by in (1, -1, 3)]
    return sum(near) - 2 * cnp.roll(x, (1,) * x.ndim, axes)


@pytest.mark.parametrize("shape", [(20_000,), (160, 130), (30, 30, 31)], ids=str)
def test_the_adjoint_of_rolls_is_the_sum_of_rolls_back(shape):
    x, y = _generator.standard_normal((2, *shape)).astype(np.float32)
    there, back = cv.vjp(differences, x)
    np.testing.assert_allclose((there * y).sum(), (x * back(y)[0]).sum(), atol=0.5)
    compiled = cv.jit(lambda y: cv.vjp(differences, x)[1](y)[0])(y)
    np.testing.assert_allclose(compiled, back(y)[0], atol=1e-5)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_rolls_of_many_arrays_side_by_side_are_those_of_each(axis):
    xs = _generator.standard_normal((40, 30, 50)).astype(np.float32)
    ours = cv.jit(cv.vmap(differences, axis, axis))(xs)
    each = [differences(x) for x in np.moveaxis(xs, axis, 0)]
    np.testing.assert_allclose(ours, np.stack(each, axis), rtol=1e-5, atol=1e-5)


def test_rolls_in_loops_and_branches_are_those_outside():
    x = _generator.standard_normal((160, 130)).astype(np.float32)

    def step(x):
        return x + 0.01 * differences(x)

    @cv.jit
    def steps(x):
        x = cv.lax.fori_loop(0, 3, lambda _, x: step(x), x)
        return cv.lax.cond(x[0, 0] < 100, step, lambda x: x, x)

    np.testing.assert_allclose(steps(x), step(step(step(step(x)))), atol=1e-5)


def test_rolls_of_one_array_share_their_margins():
    def neighbours(x):
        return sum([cnp.roll(x, by, 1) for by in (1, -1, 2, -2)])

    text = cv.jit(neighbours).lower(cnp.ones((256, 256))).compile().as_text()
    assert text.count(" concatenate(") == 1
    assert text.count(" fusion(") == 3  # the first columns, the last ones, and the sum


def test_large_arrays_of_keys_are_rolled():
    for impl in ("threefry2x32", "rbg"):
        keys = cv.random.split(cv.random.key(0, impl=impl), 20_000)
        data = np.asarray(cv.random.key_data(keys))
        rolled = cv.jit(lambda keys: cnp.roll(keys, 3))(keys)
        np.testing.assert_array_equal(
            cv.random.key_data(rolled), np.roll(data, 3, axis=0)
        )


@pytest.mark.skipif(cv.device_count() < 8, reason="needs eight devices")
@pytest.mark.parametrize("spec", [P("x"), P(None, "x")], ids=str)
def test_rolls_over_several_devices_are_those_of_one(spec):
    x = _generator.standard_normal((160, 136)).astype(np.float32)
    there = cv.device_put(x, NamedSharding(cv.make_mesh((8,), ("x",)), spec))
    ours = cv.jit(differences)(there)
    np.testing.assert_allclose(ours, cv.jit(differences)(x), rtol=1e-5, atol=1e-5)

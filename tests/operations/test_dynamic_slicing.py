"""Windows that are at least half of a large array, in compiled programs."""

import ml_dtypes
import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import lax

LARGE = (72, 73)


def update(x, values, index):
    return x.at[index].set(values)


def check(x, index):
    wanted = x.copy()
    wanted[index] = wanted[index][..., ::-1]
    values = wanted[index].copy()
    found = cv.jit(lambda x, v: update(x, v, index))(x, values)
    assert np.asarray(found).tobytes() == wanted.tobytes()


@pytest.mark.parametrize(
    "dtype", ["?", "i1", "u4", "f2", "f4", "c8", ml_dtypes.bfloat16]
)
def test_a_large_window_leaves_the_bits_of_what_is_around(dtype):
    x = np.random.default_rng(0).normal(size=LARGE) * 9
    x[:3], x[:, -2:], x[5] = np.nan, -0.0, -np.inf
    with np.errstate(invalid="ignore"):
        x = x.astype(dtype)
    check(x, np.s_[1:-1, 2:])
    check(x, np.s_[:40])


def test_windows_without_an_axis_and_whole_ones_are_written():
    x = np.random.default_rng(0).normal(size=(2, 3000)).astype(np.float32)
    check(x, np.s_[1])
    check(x[None], np.s_[0, :, 5:])
    check(x, np.s_[:, :])


def heat(u):
    around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
    return u.at[1:-1, 1:-1].add(0.1 * (around - 4 * u[1:-1, 1:-1]))


def compiled_text(f, *xs):
    return cv.jit(f).lower(*xs).compile().as_text()


def test_a_stencil_copies_no_slices():
    text = compiled_text(heat, cnp.ones(LARGE))
    assert "dynamic-update-slice" not in text
    assert "pad(" in text


@pytest.mark.parametrize("side", [72, 400])
def test_a_stencil_in_a_loop_is_written_in_place_where_one_core_does_it(side):
    u = cnp.ones((side, side))
    text = compiled_text(lambda u: lax.fori_loop(0, 9, lambda i, u: heat(u), u), u)
    assert ("dynamic-update-slice" in text) == (u.nbytes <= 2**19)


def leapfrog(fields):
    e, x, y = fields
    x = x.at[:, :-1].add(-0.5 * (e[:, 1:] - e[:, :-1]))
    y = y.at[:-1].add(0.5 * (e[1:] - e[:-1]))
    curl = y[1:, 1:] - y[:-1, 1:] - x[1:, 1:] + x[1:, :-1]
    return e.at[1:, 1:].add(0.5 * curl), x, y


def steps_of_numpy(fields, count):
    e, x, y = [np.array(f) for f in fields]
    for _ in range(count):
        x[:, :-1] += -0.5 * (e[:, 1:] - e[:, :-1])
        y[:-1] += 0.5 * (e[1:] - e[:-1])
        curl = y[1:, 1:] - y[:-1, 1:] - x[1:, 1:] + x[1:, :-1]
        e[1:, 1:] += 0.5 * curl
    return e, x, y


@pytest.mark.parametrize("side", [20, 80, 400])
def test_fields_that_are_made_of_each_other_are_written_in_place(side):
    def run(fields):
        return lax.fori_loop(0, 5, lambda i, f: leapfrog(f), fields)

    fields = tuple(np.random.default_rng(0).normal(size=(3, side, side)).astype("f4"))
    step = compiled_text(run, fields).split("ENTRY")[0]
    assert step.count(" dynamic-update-slice(") == 3
    assert f"f32[{side},{side}]{{1,0}} copy(" not in step
    assert "in_memory" not in step
    for found, wanted in zip(
        cv.jit(run)(fields), steps_of_numpy(fields, 5), strict=True
    ):
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("index", [np.s_[1:], np.s_[2:5, 1:], 3])
def test_the_gradient_of_what_adds_to_a_window_writes_nothing(index):
    def loss(x, y):
        return cnp.sum(cnp.sin(x.at[index].add(y)))

    x, y = cnp.ones((9, 7)), cnp.ones((9, 7))[index]
    text = compiled_text(cv.grad(loss), x, y)
    assert text.count("dynamic-update-slice(") <= 1  # that of the sum itself
    wanted = np.ones((9, 7), np.float32)
    wanted[index] += 1
    np.testing.assert_allclose(
        cv.jit(cv.grad(loss))(x, y), np.cos(wanted), rtol=1e-5, atol=1e-6
    )


def test_the_gradient_of_what_multiplies_a_window_writes_it_once():
    def loss(x, y):
        return cnp.sum(cnp.sin(x.at[1:].multiply(y)))

    x = np.linspace(0, 1, 63, dtype=np.float32).reshape(9, 7)
    y = np.linspace(0, 2, 56, dtype=np.float32).reshape(8, 7)
    text = compiled_text(cv.grad(loss), x, y)
    assert text.count("dynamic-update-slice(") == 2  # that of the product itself
    wanted = np.cos(x)
    wanted[1:] = np.cos(x[1:] * y) * y
    np.testing.assert_allclose(cv.jit(cv.grad(loss))(x, y), wanted, atol=1e-6)


def test_small_windows_are_written_where_they_are():
    u = cnp.ones(LARGE)
    text = cv.jit(lambda u: u.at[3:9].set(0.0)).lower(u).compile().as_text()
    assert "dynamic-update-slice" in text


def test_windows_at_traced_starts_are_moved_inside():
    u = np.zeros(LARGE, np.float32)
    write = cv.jit(lambda u, i: lax.dynamic_update_slice(u, cnp.ones((70, 70)), (i, i)))
    assert np.asarray(write(u, 50))[2:, 3:].all()


def test_the_gradient_of_a_large_window_is_that_of_its_elements():
    u = np.random.default_rng(0).normal(size=LARGE).astype(np.float32)

    def loss(u):
        return cnp.sum(u.at[1:, :].set(2 * u[:-1, :]) ** 2)

    wanted = 8 * u
    wanted[0] += 2 * u[0]
    wanted[-1] = 0
    np.testing.assert_allclose(cv.jit(cv.grad(loss))(u), wanted, rtol=1e-6)


#: windows in an array, and in these windows, with a start for each
WINDOWS = {
    "six rows": lambda x, i: lax.dynamic_slice_in_dim(x, i, 6, 0),
    "a block": lambda x, i: lax.dynamic_slice(x, (i, i), (6, 3)),
    "of a column": lambda x, i: lax.dynamic_slice_in_dim(x[:, :1], i, 6, 0),
    "transposed": lambda x, i: lax.dynamic_slice_in_dim(x.T, i, 3, 1).T,
    "by an index of one": lambda x, i: lax.gather(
        x,
        cnp.asarray([i]),
        lax.GatherDimensionNumbers((0, 1), (), (0,)),
        (6, 5),
        mode="clip",
    ),
}
WITHIN = {
    "an element": lambda d, k: lax.dynamic_index_in_dim(d, k, 0, keepdims=False),
    "two": lambda d, k: lax.dynamic_slice_in_dim(d, k, 2, 0),
    "by an index": lambda d, k: d[k],
    "by an index of one": lambda d, k: d[cnp.asarray([k])],
    "in one row": lambda d, k: lax.dynamic_slice_in_dim(d.reshape(-1), k, 2, 0),
    "in a function": lambda d, k: cv.jit(
        lambda d: lax.dynamic_index_in_dim(d, k, 0, keepdims=False)
    )(d),
}


@pytest.mark.parametrize("within", WITHIN)
@pytest.mark.parametrize("window", WINDOWS)
def test_a_window_in_a_window_is_brought_inside_each_by_itself(window, within):
    """XLA makes one of them, at the sum of the starts, and brings only that inside."""

    def read(x, i, k):
        return WITHIN[within](WINDOWS[window](x, i), k)

    x, compiled = np.arange(150, dtype=np.float32).reshape(30, 5), cv.jit(read)
    for i, k in ((27, 3), (29, 1), (2, 7), (-40, 3), (100, -9), (5, 2)):
        wanted = read(cnp.asarray(x), cnp.asarray(i), cnp.asarray(k))
        np.testing.assert_array_equal(compiled(x, i, k), wanted)


def test_a_window_stays_inside_where_functions_branches_and_loops_read_of_it():
    def window(x, i):
        return lax.dynamic_slice_in_dim(x, i, 6, 0)

    def element(d, k):
        return lax.dynamic_index_in_dim(d, k, 0, keepdims=False)

    reading = {
        "made in a function": lambda x, i, k: element(cv.jit(window)(x, i), k),
        "read in a branch": lambda x, i, k: lax.cond(
            k > 0, element, lambda d, k: d[0], window(x, i), k
        ),
        "read in a step": lambda x, i, k: lax.scan(
            lambda d, _: (d, element(d, k)), window(x, i), None, length=1
        )[1],
        "read in steps": lambda x, i, k: lax.scan(
            lambda d, j: (d, element(d, k + j)), window(x, i), cnp.arange(3)
        )[1],
        "of a window of a window": lambda x, i, k: element(
            lax.dynamic_slice_in_dim(window(x, i), k, 4, 0), k
        ),
        "for each": lambda x, i, k: cv.vmap(lambda x: element(window(x, i), k))(x.T),
    }
    x = np.arange(150, dtype=np.float32).reshape(30, 5)
    for name, read in reading.items():
        compiled = cv.jit(read)
        for i, k in ((27, 3), (29, 1), (-40, 3), (100, 2), (5, 2)):
            wanted = read(cnp.asarray(x), cnp.asarray(i), cnp.asarray(k))
            np.testing.assert_array_equal(compiled(x, i, k), wanted, err_msg=name)


def test_windows_that_are_of_no_other_are_left_to_xla():
    def steps(table, rows):
        def step(i, a):
            return a.at[i].add(rows[i - 1] + lax.dynamic_slice_in_dim(rows, i, 2, 0)[1])

        return lax.fori_loop(1, 8, step, table)

    text = cv.jit(steps).lower(np.zeros((9, 4)), np.ones((9, 4))).as_text()
    assert "dynamic_slice" in text
    assert "clamp" not in text

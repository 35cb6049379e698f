"""Taking, sorting, searching, sets, index objects: the values of NumPy, or of JAX."""

import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from tests.numpy.agreement import (
    agrees,
    agrees_batched,
    agrees_compiled,
    assert_same,
    evaluate,
    lines,
    used,
)

VALUES = {
    "x": np.random.default_rng(0).normal(size=(2, 3, 4)).astype(np.float32),
    "m": np.array([[3, 1, 2, 1], [0, 0, 5, 5], [7, -1, 3, 3]], np.int32),
    "v": np.array([3.0, 1.0, -0.0, 0.0, 5.0], np.float32),
    "n": np.array([3.0, np.nan, 1.0, np.nan, -np.inf, np.inf], np.float32),
    "u": np.array([3, 1, 1, 2], np.int32),
    "w": np.array([9, 1, 3], np.int32),
    "b": np.array([[True, False, True, False]] * 3),
    "c": np.array([2 + 1j, 1 + 3j, 1 + 2j], np.complex64),
    "e": np.zeros(0, np.float32),
    "o": np.array([1.0, 2.0, 2.0, 4.0, np.nan], np.float32),
    "l": np.sort(np.random.default_rng(1).normal(size=100)).astype(np.float32),
}

TABLE = """
xp.take(v, np.array([1, -1]))
xp.take(x, np.array([[0, 2]]), axis=1)
xp.take(x, 5)
xp.take(v, np.array([-9, 9]), mode="clip")
xp.take(x, np.array([-5, 9]), axis=2, mode="wrap")
xp.take(e, np.zeros(0, int))
xp.take_along_axis(m, np.array([[0], [1], [-1]]), axis=1)
xp.take_along_axis(m, np.array([[2, 0, 1, 1]]), axis=0)
xp.take_along_axis(x, np.zeros((1, 3, 1), int), axis=2)
xp.take_along_axis(m, np.array([5, 0]), axis=None)
xp.choose(np.array([[0, 1, 1, 0]]), [m, -m])
xp.choose(np.array([0, 5, -1]), [w, -w], mode="clip")
xp.choose(np.array([0, 5, -1]), [w, -w], mode="wrap")
xp.compress(np.array([True, False, True]), m, axis=0)
xp.compress(np.array([0, 1]), u)
xp.extract(m > 1, m)
xp.nonzero(m)
xp.nonzero(b)
xp.nonzero(e)
xp.flatnonzero(m)
xp.argwhere(m > 2)
xp.sort(v)
xp.sort(n)
xp.sort(m)
xp.sort(m, axis=0)
xp.sort(m, axis=None)
xp.sort(b, axis=1)
xp.sort(c)
xp.sort(e)
xp.argsort(u, kind=None)
xp.argsort(m, axis=0, stable=True)
xp.argsort(n, stable=True)
xp.argsort(v, stable=True)
xp.argsort(m, axis=None, stable=True)
xp.lexsort((u, u[::-1]))
xp.lexsort((m[0], m[1], m[2]))
xp.lexsort(m, axis=-1)
xp.partition(u, 1)[1]
xp.argpartition(np.array([5.0, 2, 7]), 2)[2]
xp.sort_complex(u)
xp.searchsorted(o, np.array([0.0, 2.0, np.nan, 9.0], np.float32))
xp.searchsorted(o, np.array([0.0, 2.0, np.nan, 9.0], np.float32), side="right")
xp.searchsorted(l, x)
xp.searchsorted(l, l[::7], side="right")
xp.searchsorted(l, 0.0)
xp.searchsorted(u, 2, sorter=np.array([1, 2, 3, 0]))
xp.searchsorted(e, v)
xp.unique(m)
xp.unique(b)
xp.unique(n)
xp.unique(n, equal_nan=False)
xp.unique(c)
xp.unique(e)
xp.unique(m, return_index=True, return_inverse=True, return_counts=True)
xp.unique(m[:, 1:] // 2, axis=1, return_index=True, return_counts=True)
xp.unique(b, axis=0, return_inverse=True)
xp.unique_all(u)
xp.unique_counts(m)
xp.unique_inverse(m)
xp.unique_values(n)
xp.union1d(u, w)
xp.union1d(m, w)
xp.intersect1d(u, w)
xp.intersect1d(u, w, return_indices=True)
xp.setdiff1d(u, w)
xp.setdiff1d(u, w[:2], assume_unique=True)
xp.setxor1d(u, w)
xp.isin(m, w)
xp.isin(n, n)
xp.isin(u, w, invert=True)
xp.isin(m, np.arange(100) * 2)
xp.isin(m, 3)
xp.isin(u, e)
xp.unravel_index(5, (2, 3))
xp.unravel_index(m + 1, (3, 4))
xp.ravel_multi_index((1, 2), (2, 3))
xp.ravel_multi_index((u // 2, u - 1), (2, 3))
xp.ravel_multi_index((u, -u), (2, 3), mode="clip")
xp.ravel_multi_index((u, -u), (2, 3), mode="wrap", order="F")
xp.ix_(np.array([0, 1]), np.array([True, False, True]))
m[xp.ix_(np.array([2, 0]), np.array([1, 1, 3]))]
xp.r_[1:3, 5, 0:6:2]
xp.r_[v, 1.0, v[:2]]
xp.r_[0:1:3j]
xp.r_["0,2", u, u[::-1]]
xp.r_["1,2,0", u, u]
xp.r_["0,3,1", m]
xp.c_[u, u]
xp.c_[m, u[:3]]
"""


@pytest.mark.parametrize("expression", lines(TABLE))
def test_value_is_numpys(expression):
    agrees(expression, VALUES, np)


#: what depends on values that must be known
KNOWN = (
    *("compress", "extract", "nonzero", "argwhere", "unique", "union1d", "intersect1d"),
    *("setdiff1d", "setxor1d", "r_[", "ravel_multi_index((u // 2"),
)
STATIC = [e for e in lines(TABLE) if not any(k in e for k in KNOWN)]
#: of a batch, the other half is in opposite order, and not sorted
UNORDERED = [e for e in STATIC if "searchsorted" not in e and "(5, " not in e]


@pytest.mark.parametrize("expression", STATIC[::2])
def test_compiled_is_eager(expression):
    agrees_compiled(expression, VALUES)


@pytest.mark.parametrize("expression", [e for e in UNORDERED if used(e, VALUES)][1::2])
def test_batch_is_each(expression):
    agrees_batched(expression, VALUES)


# -- shapes given beforehand -----------------------------------------------------------

SIZED = """
xp.nonzero(m, size=3)
xp.nonzero(m, size=20, fill_value=(-1, -2))
xp.nonzero(b, size=9, fill_value=7)
xp.flatnonzero(u - 1, size=4)
xp.argwhere(m > 2, size=9, fill_value=-1)
xp.argwhere(m > 2, size=2)
xp.compress(b[0], m, axis=1, size=3)
xp.compress(b[0], u, size=3, fill_value=9)
xp.extract(m > 2, m, size=3)
xp.extract(m > 2, m, size=11, fill_value=-1)
xp.unique(m, size=3)
xp.unique(u, size=5)
xp.unique(u, size=5, fill_value=9)
xp.unique(n, size=7)
xp.unique(n, size=7, equal_nan=False)
xp.unique(u, size=5, return_index=True, return_inverse=True, return_counts=True)
xp.unique(m // 4, axis=0, size=4, return_index=True, return_inverse=True)
xp.unique(m // 4, axis=0, size=4, return_counts=True)
xp.unique(m // 4, axis=1, size=2)
xp.unique(e, size=2, fill_value=3)
xp.unique_all(u, size=4)
xp.union1d(u, w, size=6)
xp.union1d(u, w, size=6, fill_value=-1)
xp.intersect1d(u, w, size=4)
xp.intersect1d(u, w, size=4, fill_value=-5)
xp.intersect1d(u, w, return_indices=True, size=4)
xp.setdiff1d(u, w[:2], size=4)
xp.setdiff1d(u, w[:2], size=1)
xp.setxor1d(u, w, size=5)
xp.setxor1d(u, w, size=5, fill_value=-1)
"""
LIKE_JAX = """
xp.take(v, np.array([0, 9, -9]))
xp.take(u, 9)
xp.take(v, np.array([0, 9]), fill_value=7)
xp.take_along_axis(m, np.array([[0, 9, -9]]), axis=1)
xp.take_along_axis(v, np.array([-1]), 0, wrap_negative_indices=False)
xp.take_along_axis(v, np.array([9]), 0, mode="clip")
xp.take_along_axis(m[:1], np.zeros((3, 1), int), axis=1)
xp.put(u, np.array([0, 9]), np.array([5, 6]), inplace=False)
xp.put(m, np.array([0, 1, 2]), np.array([5, 6]), inplace=False)
xp.put(u, np.array([0, -1]), 5, mode="wrap", inplace=False)
xp.put(u, np.array([5]), np.zeros(0, int), inplace=False)
xp.put_along_axis(m, np.array([[0], [1], [2]]), 9, axis=1, inplace=False)
xp.put_along_axis(m, np.array([5]), 9, axis=None, inplace=False)
xp.put_along_axis(m, np.array([[9]]), 9, axis=1, inplace=False)
xp.place(u, u > 1, np.array([7, 8]), inplace=False)
xp.place(m, m > 1, np.array([7, 8]), inplace=False)
xp.sort(n, descending=True)
xp.argsort(u, descending=True)
xp.argsort(m, axis=0, descending=True, dtype="int8")
xp.unravel_index(np.array([5, 9, -1, -9]), (2, 3))
"""


@pytest.mark.parametrize("expression", lines(SIZED + LIKE_JAX))
def test_value_is_jaxs(expression):
    named = used(expression, VALUES)
    theirs = evaluate(jnp, expression, {k: jnp.asarray(v) for k, v in named.items()})
    arrays = {k: cnp.asarray(v) for k, v in named.items()}
    ours = evaluate(cnp, expression, arrays)
    for found, wanted in zip(ours, theirs, strict=True):
        assert_same(found, wanted)
    compiled = cv.jit(lambda given: evaluate(cnp, expression, given))(arrays)
    for found, wanted in zip(compiled, theirs, strict=True):
        assert_same(found, wanted)


def test_sizes_work_over_a_batch():
    masks = np.array([[True, False, True], [False, False, True]])
    (indices,) = cv.vmap(lambda m: cnp.nonzero(m, size=2, fill_value=-1))(masks)
    assert indices.tolist() == [[0, 2], [2, -1]]
    values, counts = cv.vmap(lambda x: cnp.unique(x, size=2, return_counts=True))(
        np.array([[1, 1, 2], [5, 5, 5]])
    )
    assert (values.tolist(), counts.tolist()) == ([[1, 2], [5, 5]], [[2, 1], [3, 0]])


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("method", ["scan", "scan_unrolled", "sort", "compare_all"])
@pytest.mark.parametrize("n", [1, 5, 32, 33, 100, 1000])
def test_methods_of_searching_agree(method, side, n):
    rng = np.random.default_rng(n)
    x = np.sort(rng.integers(0, n, n)).astype(np.float32)
    queries = rng.integers(-1, n + 1, 50).astype(np.float32)
    search = cv.jit(lambda x, v: cnp.searchsorted(x, v, side, method=method))
    np.testing.assert_array_equal(search(x, queries), np.searchsorted(x, queries, side))


@pytest.mark.parametrize("method", ["compare_all", "binary_search", "sort", "auto"])
def test_methods_of_membership_agree(method):
    x, y = np.arange(100) % 17, np.arange(0, 60, 3)
    np.testing.assert_array_equal(cnp.isin(x, y, method=method), np.isin(x, y))


@pytest.mark.parametrize(
    "dtype", ["bfloat16", "float8_e4m3fn", "float16", "int8", "bool"]
)
def test_narrow_numbers_are_sorted_and_unique(dtype):
    x = np.array([3, 1, 0, 1, 2]).astype(np.dtype(getattr(ml_dtypes, dtype, dtype)))
    a = cnp.asarray(x)
    wide = x.astype(np.float32)
    np.testing.assert_array_equal(cnp.sort(a).astype("float32"), np.sort(wide))
    np.testing.assert_array_equal(cnp.unique(a).astype("float32"), np.unique(wide))
    assert cnp.unique(a).dtype == a.dtype
    listed = cv.jit(lambda x: cnp.unique(x, size=2))(a)
    np.testing.assert_array_equal(listed.astype("float32"), np.unique(wide)[:2])


@pytest.mark.parametrize(
    "dtype", ["int8", "uint8", "int32", "uint32", "int64", "uint64"]
)
@pytest.mark.parametrize("place", ["all", "lowest", "highest"])
def test_integers_close_to_each_other_are_counted(dtype, place):
    info, rng = np.iinfo(dtype), np.random.default_rng(0)
    least = info.max - 50 if place == "highest" else info.min
    most = info.min + 100 if place == "lowest" else info.max
    x = rng.integers(least, most, 300, dtype=dtype, endpoint=True)
    with cv.enable_x64(True):
        found = cnp.unique(x, True, True, True)
        for ours, theirs in zip(found, np.unique(x, True, True, True), strict=True):
            np.testing.assert_array_equal(ours, theirs)
        assert found[0].dtype == x.dtype
        np.testing.assert_array_equal(cnp.unique(x), found[0])


def test_index_objects_give_back_what_they_are_indexed_with():
    assert cnp.s_[1:2, None] == (slice(1, 2), None)
    assert cnp.s_[1] == 1
    assert cnp.index_exp[1] == (1,)
    assert [repr(o) for o in (cnp.s_, cnp.index_exp, cnp.r_, cnp.c_)] == [
        "s_",
        "index_exp",
        "r_",
        "c_",
    ]
    assert cnp.r_["r", cnp.arange(2)].shape == (1, 2)
    assert cnp.r_["c", cnp.arange(2)].shape == (2, 1)


def test_derivatives_follow_the_order():
    x = cnp.array([3.0, 1.0, 2.0])
    w = np.array([1.0, 10, 100], np.float32)
    assert cv.grad(lambda x: (cnp.sort(x) * w).sum())(x).tolist() == [100, 1, 10]
    assert cv.grad(lambda x: (cnp.sort(x, descending=True) * w).sum())(x).tolist() == [
        1,
        100,
        10,
    ]
    down = cv.grad(
        lambda x: cnp.take(x, np.array([0, 0, 9]), mode="fill", fill_value=0).sum()
    )
    assert down(x).tolist() == [2, 0, 0]
    along = cv.grad(lambda x: cnp.take_along_axis(x, np.array([2, 2]), 0).sum())
    assert along(x).tolist() == [0, 0, 2]
    put = cv.grad(lambda x: cnp.put(x, np.array([0]), 5.0, inplace=False).sum())
    assert put(x).tolist() == [0, 1, 1]
    assert cv.grad(lambda x: cnp.compress(x > 1, x).sum())(x).tolist() == [1, 0, 1]


# -- words -----------------------------------------------------------------------------

M = cnp.asarray(VALUES["m"])


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (lambda: cnp.take(M, 1.5), r"take needs integers for indices, but got f32\[\]"),
        (lambda: cnp.take(M, 1, mode="raise"), "cannot raise for indices"),
        (lambda: cnp.take(np.zeros(0), 0), "there is no element"),
        (lambda: cnp.take_along_axis(M, np.array([0]), 1), "as many axes as the array"),
        (lambda: cnp.put(M, 0, 1), "With inplace=False it returns the changed array"),
        (lambda: cnp.put(M, 0, 1, mode="far", inplace=False), "'clip' or 'wrap'"),
        (lambda: cnp.put_along_axis(M, M, 0, 1), "arrays are immutable"),
        (lambda: cnp.place(M, M > 0, 1), "arrays are immutable"),
        (lambda: cnp.place(M, M > 0, np.zeros(0), inplace=False), "at least one value"),
        (lambda: cnp.place(M, M[0] > 0, 1, inplace=False), "as many elements"),
        (lambda: cnp.choose(np.array([2]), [1, 2]), "numbers from 0 to 1"),
        (lambda: cnp.choose(0.5, [1, 2]), "integers to choose by"),
        (lambda: cnp.compress(np.ones(9, bool), M, 0), r"condition of shape \(3,\)"),
        (lambda: cnp.nonzero(3), "atleast_1d"),
        (lambda: cnp.nonzero(M, size=2, fill_value=(1, 2, 3)), "each of 2 axes"),
        (lambda: cnp.nonzero(M, size=2, fill_value=np.ones(2)), "a scalar fill value"),
        (lambda: cnp.sort(M, kind="heapsort"), "kind and order must be None"),
        (lambda: cnp.sort(1.0), "it is a scalar"),
        (
            lambda: cnp.lexsort(()),
            "at least one key, and all of one shape, but got none",
        ),
        (lambda: cnp.partition(M, 9), r"along axis 1 has no index 9"),
        (lambda: cnp.searchsorted(M, 1), "an array with one axis"),
        (lambda: cnp.searchsorted(M[0], 1, "up"), "side must be 'left' or 'right'"),
        (lambda: cnp.unique(np.zeros(0), size=2), "say with fill_value what to list"),
        (lambda: cnp.isin(M, M, method="hash"), "method must be"),
        (lambda: cnp.unravel_index(0.5, (2,)), "unravel_index needs integers"),
        (lambda: cnp.ravel_multi_index((1, 5), (2, 3)), "inside an axis of length 3"),
        (lambda: cnp.ravel_multi_index((1,), (2, 3)), "as many indices as dims"),
        (lambda: cnp.ravel_multi_index((1.0, 1), (2, 3)), "needs integers"),
        (lambda: cnp.ravel_multi_index((1, 1), (2, 3), "far"), "mode must be"),
        (lambda: cnp.ix_(M), r"one axis, but got i32\[3,4\] at position 0"),
        (lambda: cnp.r_["a", 1], "three integers in a leading text"),
    ],
)
def test_words_of_searching(run, words):
    with pytest.raises((TypeError, ValueError, IndexError), match=words) as info:
        run()
    assert isinstance(info.value, cv.errors.CovectorError)


@pytest.mark.parametrize(
    ("f", "words"),
    [
        (cnp.nonzero, "Say with size= how many indices"),
        (cnp.unique, "Say with size= how many to list"),
        (lambda x: cnp.choose(x, [1, 2]), "Use mode='clip' or mode='wrap'"),
        (lambda x: cnp.ravel_multi_index((x,), (9,)), "Use mode='clip' or mode='wrap'"),
        (lambda x: cnp.repeat(x, x), "total_repeat_length"),
        (lambda x: cnp.delete(x, x), "assume_unique_indices=True"),
        (cnp.trim_zeros, "use a mask"),
    ],
)
def test_words_of_shapes_that_depend_on_traced_values(f, words):
    with pytest.raises(cv.errors.ConcretizationTypeError, match=words):
        cv.jit(f)(np.array([1, 2]))


@pytest.mark.parametrize("other", ["bfloat16", "float32"])
def test_setdiff1d_keeps_the_dtype_of_its_first_array(other):
    x = cnp.array([257, 16777217], "int32")
    out = cnp.setdiff1d(x, cnp.array([1.0], other))
    assert out.dtype == np.int32
    assert out.tolist() == [257, 16777217]


@pytest.mark.parametrize(
    "listed",
    [
        lambda x: cnp.nonzero(x, size=0)[0],
        lambda x: cnp.flatnonzero(x, size=0),
        lambda x: cnp.argwhere(x, size=0)[:, 0],
        lambda x: cnp.union1d(x, x, size=0),
        lambda x: cnp.intersect1d(x, x, size=0),
        lambda x: cnp.setdiff1d(x, x, size=0),
        lambda x: cnp.setxor1d(x, x, size=0),
        lambda x: cnp.unique(x, size=0),
    ],
)
def test_nothing_can_be_listed_under_jit(listed):
    x = cnp.array([1, 0, 2])
    assert listed(x).shape == cv.jit(listed)(x).shape == (0,)


def test_setxor1d_takes_the_promise_that_elements_are_unique():
    x, y = np.array([1, 1, 2, 2, 3]), np.array([3, 3, 4])
    assert cnp.setxor1d(x, y, assume_unique=True).tolist() == [4]
    assert np.setxor1d(x, y, assume_unique=True).tolist() == [4]
    x, y = np.array([5, 1, 3]), np.array([3, 4])
    wanted = np.setxor1d(x, y, assume_unique=True)
    np.testing.assert_array_equal(cnp.setxor1d(x, y, assume_unique=True), wanted)
    traced = cv.jit(lambda x: cnp.setxor1d(x, y, assume_unique=True, size=4))(x)
    assert traced.tolist() == [1, 4, 5, 1]


def test_unique_does_not_count_what_is_cut_off():
    x = cnp.array([1, 1, 2, 3, 3, 3])
    for n, wanted in (1, [2]), (2, [2, 1]), (4, [2, 1, 3, 0]):
        counts = cnp.unique(x, size=n, return_counts=True)[1]
        assert counts.tolist() == wanted


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float8_e5m2", "float32"])
@pytest.mark.parametrize("side", ["left", "right"])
def test_nan_is_last_in_every_floating_dtype(dtype, side):
    x = [-np.inf, -1, 0, -0.0, 1, np.inf, np.nan, -np.nan]
    x = np.array(x, np.float32).astype(cnp.dtype(dtype))
    wide = x.astype(np.float32)
    found = cnp.searchsorted(x, x, side)
    np.testing.assert_array_equal(found, np.searchsorted(wide, wide, side))
    traced = cv.jit(lambda x: cnp.searchsorted(x, x, side))(x)
    np.testing.assert_array_equal(found, traced)


@pytest.mark.parametrize(
    "ordered",
    [
        cnp.sort,
        cnp.argsort,
        lambda x: cnp.lexsort((x,)),
        lambda x: cnp.partition(x, 3),
        lambda x: cnp.unique(x, size=9),
        cnp.median,
        cnp.nanmedian,
        lambda x: cv.lax.top_k(x, 9)[1],
        cnp.argmax,
        cnp.nanargmin,
    ],
)
def test_order_with_nan_and_both_zeros_is_that_of_the_compiled_program(ordered):
    x = np.array([1, np.nan, 0, -0.0, -np.nan, -np.inf, 3, -1, 0], np.float32)
    for dtype in "bfloat16", "float8_e5m2", "float32":
        narrow = x.astype(cnp.dtype(dtype))
        found = ordered(narrow), cv.jit(ordered)(narrow)
        eager, compiled = (np.asarray(out, np.float32) for out in found)
        np.testing.assert_array_equal(eager, compiled)
        signs = [np.signbit(out)[~np.isnan(eager)] for out in (eager, compiled)]
        np.testing.assert_array_equal(*signs)


def test_complex_numbers_with_nan_have_one_order_eagerly_and_compiled():
    nan = np.nan
    parts = [-1, 1 + 1j, complex(1, nan), 2, complex(nan, 1), complex(nan, nan), 1 - 0j]
    x = np.random.default_rng(0).permutation(np.array(parts, np.complex64))
    ordered = cnp.sort(x)
    np.testing.assert_array_equal(ordered, cv.jit(cnp.sort)(x))
    np.testing.assert_array_equal(ordered, jnp.sort(x))
    many = cnp.concatenate([cnp.full(40, -2, "complex64"), ordered])
    for side in "left", "right":
        found = cnp.searchsorted(ordered, x, side)
        search = cv.jit(lambda a, x, side=side: cnp.searchsorted(a, x, side))
        np.testing.assert_array_equal(found, search(ordered, x))
        np.testing.assert_array_equal(cnp.searchsorted(many, x, side), found + 40)
        np.testing.assert_array_equal(search(many, x), found + 40)
    indices = cnp.searchsorted(ordered, ordered)
    np.testing.assert_array_equal(indices, [0, 1, 2, 3, 4, 5, 6])


@pytest.mark.parametrize("assume_unique", [False, True])
def test_the_indices_of_intersect1d_lead_to_the_elements(assume_unique):
    for left, right in [
        ([3, 1, 7], [1, 9, 3]),
        ([[3, 1], [2, 7]], [[7], [3]]),
        ([], [1]),
    ]:
        a, b = np.array(left, "int32"), np.array(right, "int32")
        found = cnp.intersect1d(a, b, assume_unique, return_indices=True)
        wanted = np.intersect1d(a, b, assume_unique, return_indices=True)
        for ours, theirs in zip(found, wanted, strict=True):
            assert ours.tolist() == theirs.tolist()
    values, in_x, in_y = cnp.intersect1d(
        cnp.array([1, 3, 3]), cnp.array([3, 1, 1]), assume_unique, return_indices=True
    )
    assert [values.tolist(), in_x.tolist(), in_y.tolist()] == [[1, 3], [0, 1], [1, 0]]


def test_intersect1d_takes_the_promise_that_no_element_comes_twice():
    x, y = np.array([1, 1, 2, 2, 3]), np.array([2, 3, 3, 4])
    for a, b in ((x, y), (np.array([3, 1]), np.array([5, 3])), (x[:0], y[:0])):
        wanted = np.intersect1d(a, b, assume_unique=True)
        got = cnp.intersect1d(a, b, assume_unique=True)
        np.testing.assert_array_equal(got, wanted)


def test_weighted_nanquantile_skips_nan():
    x, w = np.array([np.nan, 4.0, 8.0], "float32"), np.array([5, 1, 2], "float32")
    for f in (cnp.nanquantile, cv.jit(cnp.nanquantile, static_argnames="method")):
        got = [f(x, q, weights=w, method="inverted_cdf").tolist() for q in (0.2, 0.5)]
        assert got == [4.0, 8.0]
    none = cnp.nanquantile(x[:1], 0.5, weights=w[:1], method="inverted_cdf")
    assert np.isnan(none)
    percent = cnp.nanpercentile(x, 50, weights=w, method="inverted_cdf")
    assert percent.tolist() == 8.0
    assert np.isnan(cnp.quantile(x, 0.5, weights=w, method="inverted_cdf"))

"""``x.at[index]``: the law of updates, as tables of methods, dtypes, values, indices.

Elements and values are promoted, combined, and cast to the dtype of the array as by
``astype``. An update has one value, eager and compiled, and where JAX has one as well
it is the same.
"""

import warnings

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import lax
from covector.errors import DTypeError, IntegerOverflow

METHODS = ["set", "add", "subtract", "multiply", "divide", "power", "min", "max"]
ELEMENTS = {
    "int32": [3, -2, 0, 100, 7],
    "uint8": [3, 2, 0, 100, 7],
    "bfloat16": [3.5, -2, 0, 256, 7],
    "bool": [True, False, False, True, True],
}
VALUES = {
    "an integer": 2,
    "a float": 0.6,
    "a large float": -1e20,
    "NaN": float("nan"),
    "a bool": True,
    "a NumPy float": np.float32(1.7),
    "floats": np.array([0.6, -1.7, 0.6, np.nan], "float32"),
    "integers": np.array([3, 1, 2, 300], "int32"),
    "bools": np.array([True, False, True, True]),
}
ONCE, TWICE = np.array([1, 3, 2, -5]), np.array([1, 3, 1, -5])

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")


def updates(method, names=VALUES):
    """What gives for each of these values the update of an array."""
    indices = ONCE if method == "set" else TWICE  # where one wins, it is not said which

    def all_of(x):
        return {n: getattr(x.at[indices], method)(VALUES[n]) for n in names}

    return all_of


def defined(dtype):
    """The methods that JAX defines for the dtype, and the values they take."""
    for method in METHODS:
        if method in ("divide", "power") and dtype != "bfloat16":
            continue  # JAX casts divisors and exponents first: see below
        arithmetic = method in ("add", "subtract", "multiply")
        no_bools = dtype == "bool" and arithmetic
        yield method, [n for n in VALUES if not (no_bools and "bool" in n)]


def close(x, y, case):
    """Also in their dtype; bfloat16 up to its last bit but one."""
    assert str(x.dtype) == str(y.dtype), case
    tolerance = 2e-2 if x.dtype == cnp.bfloat16 else 1e-6
    x, y = np.asarray(x, "float64"), np.asarray(y, "float64")
    np.testing.assert_allclose(x, y, rtol=tolerance, err_msg=case)


@pytest.mark.parametrize("dtype", ELEMENTS)
def test_an_update_with_a_value_of_any_kind_is_that_of_jax(dtype):
    jax = pytest.importorskip("jax")
    x = cnp.array(ELEMENTS[dtype], dtype)
    theirs = jax.numpy.array(ELEMENTS[dtype], dtype)
    for method, names in defined(dtype):
        found, wanted = (
            updates(method, names)(x),
            jax.jit(updates(method, names))(theirs),
        )
        for name in names:
            close(found[name], wanted[name], f"{dtype} {method} {name}")


@pytest.mark.parametrize("dtype", ELEMENTS)
def test_an_update_has_one_value_eager_and_compiled(dtype):
    x = cnp.array(ELEMENTS[dtype], dtype)

    def all_of(x):
        return {
            method: updates(method, ["NaN", "floats", "integers"])(x)
            for method in METHODS
            if dtype != "bool" or method != "divide"  # 0 / NaN: XLA's 0 · NaN is 0
        }

    eager, compiled = all_of(x), cv.jit(all_of)(x)
    for method, found in eager.items():
        for name in found:
            close(found[name], compiled[method][name], f"{dtype} {method} {name}")


INDICES = {
    "an integer": 1,
    "a negative integer": -2,
    "outside": 7,
    "far outside": -8,
    "a slice": slice(1, 4),
    "a slice with gaps": slice(None, None, -2),
    "a mask": np.array([True, False, True, False, True]),
    "an empty mask": np.zeros(0, bool),
    "a scalar array": np.array(3),
    "an array": np.array([1, 3, -5]),
    "an array, in part outside": np.array([0, 9, -1, -9]),
    "bytes": np.array([4, 255, 1], "uint8"),
    "a list": ([1, 3],),
    "an empty list": ([],),
}
MODES = [None, "drop", "clip", "promise_in_bounds"]


@pytest.mark.parametrize("method", ["set", "add", "get"])
def test_an_update_at_an_index_of_any_kind_is_that_of_jax(method):
    jax = pytest.importorskip("jax")

    def all_of(x):
        return {
            f"{name}, {mode}": getattr(x.at[index], method)(**value, mode=mode)
            for name, index in INDICES.items()
            for mode in MODES
            if mode != "promise_in_bounds" or "outside" not in name
            if (name, mode) != ("bytes", "promise_in_bounds")
        }

    value = {} if method == "get" else {"values": 0.6}
    x = np.array([3, -2, 0, 100, 7], "int32")
    if method != "get":
        value = {"values": 0.6}
    found, compiled = all_of(cnp.array(x)), cv.jit(all_of)(cnp.array(x))
    wanted = jax.jit(all_of)(jax.numpy.array(x))
    for case in wanted:
        close(found[case], wanted[case], case)
        close(compiled[case], wanted[case], case)


# -- what is promised beyond JAX -------------------------------------------------------


def test_divisors_and_exponents_are_not_rounded_to_the_integers_of_the_array():
    x = cnp.array([16, 3, 2**24 + 1])
    assert x.at[0].power(0.5).tolist() == [4, 3, 2**24 + 1]
    assert x.at[np.array([0, 0])].power(0.5).tolist() == [2, 3, 2**24 + 1]
    np.testing.assert_allclose(x.at[0].divide(2.5)[:2], [6.4, 3])
    assert x.at[1].power(-1).tolist() == [16, 0, 2**24 + 1]
    short = cnp.array([3, 2], "int16")
    assert short.at[0].power(cnp.array(20, "int32")).tolist() == [
        np.array(3**20, "int64").astype("int16"),
        2,
    ]
    assert cnp.array([3, 2], "uint8").at[0].power(300).tolist() == [pow(3, 300, 256), 2]
    assert cnp.array([True, False]).at[0].power(2).dtype == "int32"


def test_elements_that_are_not_named_keep_all_their_digits():
    x, odd = cnp.array([2**24 + 1, 1]), 2**24 + 1
    indices = np.array([1, 1])
    for how in (1, slice(1, None), indices, np.array([False, True])):
        assert x.at[how].add(0.6)[0] == odd
        assert x.at[how].multiply(0.5)[0] == odd
        assert x.at[how].min(0.5)[0] == odd
        assert x.at[how].set(0.5)[0] == odd
    assert cv.jit(lambda x: x.at[indices].add(0.6))(x).tolist() == [odd, 2]


def test_integers_updated_with_floats_have_no_derivative_and_floats_do():
    def total(v, dtype):
        return cnp.sum(cnp.ones(3, dtype).at[TWICE[:3] % 3].add(v).astype(float))

    assert float(cv.grad(total)(0.5, "bfloat16")) == 3
    assert float(cv.grad(total)(0.5, "int32")) == 0


@pytest.mark.parametrize("dtype", ["int32", "uint8"])
def test_scalars_are_cast_as_by_astype(dtype):
    x, limits = cnp.zeros(2, dtype), np.iinfo(dtype)
    for value, wanted in {
        -1.0: max(-1, limits.min),
        1e20: limits.max,
        -float("inf"): limits.min,
        float("nan"): 0,
    }.items():
        for given in (value, np.float32(value), cnp.array(value)):
            assert x.at[0].set(given).tolist() == [wanted, 0]
            assert x.at[0].add(given).tolist() == [wanted, 0]
            assert x.at[0].apply(lambda old, v=given: old + v).tolist() == [wanted, 0]
            filled = x.at[np.array([1, 5])].get(mode="fill", fill_value=given)
            assert filled.tolist() == [0, wanted]
            assert x.at[5].get(mode="fill", fill_value=given) == wanted
            taken = cnp.take(x, np.array([1, 5]), fill_value=given)
            assert taken.tolist() == [0, wanted]


def test_an_integer_is_judged_by_the_dtype_of_the_array_it_goes_into():
    x = cnp.zeros(2, "uint32")
    assert x.at[0].set(2**32 - 1).tolist() == [2**32 - 1, 0]
    assert x.at[np.array([0, 0])].add(2**31 + 1).tolist() == [2, 0]
    assert cnp.zeros(2).at[0].set(2**40).tolist() == [2**40, 0]
    bytes_ = cnp.array([7, 9], "uint8")
    for method in ("set", "add", "subtract", "multiply"):
        with pytest.raises(IntegerOverflow, match="integer 300 does not fit u8"):
            getattr(bytes_.at[0], method)(300)
    with pytest.raises(IntegerOverflow, match="integer -1 does not fit u8"):
        bytes_.at[9].get(mode="fill", fill_value=-1)
    floats = cnp.zeros(2).at[9].get(mode="fill", fill_value=2**40)
    assert float(floats) == 2**40
    # Bounds that bound nothing, and divisors, which are not stored.
    assert bytes_.at[0].max(-1).tolist() == [7, 9]
    assert bytes_.at[0].min(300).tolist() == [7, 9]
    assert x.at[0].max(-(2**40)).tolist() == [0, 0]
    assert bytes_.at[0].divide(350).tolist() == [np.float32(0.02), 9]
    with pytest.raises(IntegerOverflow, match="integer 300 does not fit u8"):
        bytes_.at[0].max(300)


def test_a_warning_says_what_the_array_cannot_hold():
    with pytest.warns(
        FutureWarning, match="cannot safely cast values of f32 to the i32"
    ) as record:
        cnp.arange(3).at[0].add(0.5)
    assert record[0].filename == __file__
    with pytest.warns(FutureWarning) as record:
        cnp.arange(3).at[0].subtract(0.5)
    assert [warning.filename for warning in record] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cnp.ones(3, "uint8").at[0].power(2).at[0].divide(2).at[0].add(0.5)


def test_under_strict_promotion_values_of_another_dtype_are_refused():
    with cv.numpy_dtype_promotion("strict"):
        assert cnp.zeros(2).at[0].add(2).tolist() == [2, 0]
        with pytest.raises(TypeError, match="strict promotion"):
            cnp.zeros(2).at[0].add(cnp.arange(2)[0])


# -- functions applied -----------------------------------------------------------------


def test_a_function_is_applied_once_for_each_time_an_element_is_named():
    x, indices = cnp.arange(4.0), cnp.array([1, 2, 2, 9])

    def applied(x, indices):
        return x.at[indices].apply(lambda v: v * 10 + 1)

    wanted = [0, 11, 211, 3]
    assert applied(x, indices).tolist() == wanted
    assert cv.jit(applied)(x, indices).tolist() == wanted
    both = cv.vmap(applied, in_axes=(None, 0))(x, cnp.stack([indices, indices[::-1]]))
    assert both.tolist() == [wanted, wanted]
    slope = cv.grad(lambda x: applied(x, indices).sum())
    assert slope(x).tolist() == cv.jit(slope)(x).tolist() == [1, 10, 100, 1]
    rows = cnp.ones((3, 2)).at[cnp.array([0, 0, 2])].apply(lambda v: 2 * v)
    assert rows.tolist() == [[4, 4], [1, 1], [2, 2]]
    clipped = x.at[cnp.array([7, 9])].apply(lambda v: v + 1, mode="clip")
    assert clipped.tolist() == [0, 1, 2, 5]


def test_a_function_applied_to_indices_named_once_has_one_reading():
    jaxpr = cv.make_jaxpr(lambda x, i: x.at[i].apply(cnp.sin, unique_indices=True))(
        cnp.ones(3), cnp.array([0, 1])
    )
    assert "while" not in str(jaxpr)


# -- indices ---------------------------------------------------------------------------


def test_indices_outside_wrap_around_where_the_mode_says_so():
    x, indices = cnp.arange(4.0), np.array([-5, 5, -1])
    for i in (indices, cnp.array(indices), indices.astype("int8")):
        assert x.at[i].get(mode="wrap").tolist() == [3, 1, 3]
        assert x.at[i].set(9.0, mode="wrap").tolist() == [0, 9, 2, 9]
        assert x.at[i].add(1.0, mode="wrap").tolist() == [0, 2, 2, 5]
    assert float(x.at[7].get(mode="wrap")) == 3
    assert float(x.at[-7].get(mode="wrap")) == 1
    assert x.at[7].set(9.0, mode="wrap").tolist() == [0, 1, 2, 9]
    grid = cnp.arange(6.0).reshape(2, 3)
    assert grid.at[None, 3, ::2].get(mode="wrap").tolist() == [[3, 5]]
    assert grid.at[..., indices].get(mode="wrap").tolist() == [[1, 2, 2], [4, 5, 5]]
    long = cnp.arange(300)
    assert long.at[np.array([255], "uint8")].get(mode="wrap").tolist() == [255]
    put = cnp.put_along_axis(x, indices, 9.0, 0, inplace=False, mode="wrap")
    assert put.tolist() == [0, 9, 2, 9]


SHORT = ["uint8", "int8", "uint16", "int16"]


@pytest.mark.parametrize("dtype", SHORT)
def test_short_indices_reach_into_longer_axes(dtype):
    """As pixels are indices into a palette: the length does not fit their dtype."""
    last = np.iinfo(dtype).max
    n = last + 50
    x = cnp.arange(n)
    first = 0 if np.iinfo(dtype).min == 0 else -3
    array = cnp.array([first, 1, last], dtype)
    wanted = [first % n, 1, last]
    one = array[2]
    elements = lax.GatherDimensionNumbers((), (0,), (0,))
    writing = lax.ScatterDimensionNumbers((), (0,), (0,))
    calls = [
        lambda i: x[i],
        lambda i: cnp.take(x, i),
        lambda i: cnp.take(x, i, mode="wrap"),
        lambda i: cnp.take_along_axis(x, i, 0),
        lambda i: cnp.take_along_axis(x, i, 0, mode="clip"),
        lambda i: cnp.take_along_axis(x, i, 0, mode="wrap"),
        lambda i: x.at[i].get(mode="fill"),
        lambda i: cnp.nonzero(x.at[i].set(-1) == -1, size=3)[0][
            cnp.argsort(cnp.argsort(cnp.array(wanted)))
        ],
        lambda i: cnp.array([x[i[0]], x[i[1]], x[i[2]]]),
        lambda i: cnp.concatenate([lax.dynamic_slice(x, (k,), (1,)) for k in i]),
        lambda i: cnp.stack([lax.dynamic_index_in_dim(x, k, 0, False) for k in i]),
        lambda i: cnp.stack(
            [cnp.argmax(lax.dynamic_update_slice(0 * x, x[:1] + 1, (k,))) for k in i]
        ),
    ]
    for k, call in enumerate(calls):
        assert call(array).tolist() == wanted, k
    together = cv.jit(lambda i: [call(i) for call in calls])(array)
    assert [found.tolist() for found in together] == [wanted] * len(calls)
    assert int(lax.dynamic_slice_in_dim(x, one, 2)[1]) == last + 1
    # lax.gather and scatter take indices as they are.
    indices = array[1:, None]
    for mode in ("clip", "fill"):
        found = lax.gather(x, indices, elements, (1,), mode=mode)
        assert found.tolist() == wanted[1:]
        changed = lax.scatter_add(0 * x, indices, cnp.ones(2, int), writing, mode=mode)
        assert changed[cnp.array(wanted[1:])].tolist() == [1, 1]
    # Other functions that count along an axis.
    assert lax.index_take(x, (array,), (0,)).tolist() == wanted
    rolled = np.roll(np.arange(n), last)
    assert cnp.roll(x, one).tolist() == rolled.tolist()
    assert cv.jit(lambda k: cnp.roll(x, k))(one).tolist() == rolled.tolist()
    clipped = cnp.ravel_multi_index((array[1:],), (n,), mode="clip")
    assert clipped.tolist() == wanted[1:]
    wrapped = cnp.ravel_multi_index((array,), (n,), mode="wrap")
    assert wrapped.tolist() == wanted
    assert int(cnp.put(x, array[2:], -1, inplace=False)[last]) == -1
    assert [int(k) for k in cnp.unravel_index(one, (3, n))] == [0, last]


def test_lists_stand_for_arrays_in_an_index_of_several_entries():
    x, i = cnp.arange(12).reshape(3, 4), cnp.array([0, 2])
    known = np.arange(12).reshape(3, 4)
    assert x[:, [0, 1]].tolist() == known[:, [0, 1]].tolist()
    assert x[[0, 2], [1, 3]].tolist() == known[[0, 2], [1, 3]].tolist()
    assert x[(0,), i].tolist() == known[(0,), np.asarray(i)].tolist()
    assert x[:, [[0, 1], [2, 3]]].shape == (3, 2, 2)
    assert x[:, [True, False, True, False]].tolist() == known[:, ::2].tolist()
    assert x[:, [i[0], 3]].tolist() == known[:, [0, 3]].tolist()
    assert x[:, []].shape == (3, 0)
    assert cv.jit(lambda k: x[:, [k, 1]])(3).tolist() == known[:, [3, 1]].tolist()
    assert x.at[:, [0, 1]].set(0).tolist() == [
        [0, 0, 2, 3],
        [0, 0, 6, 7],
        [0, 0, 10, 11],
    ]
    for wrong in ([0.5], ["a"], [slice(1)]):
        with pytest.raises(IndexError, match=r"i32\[3,4\] cannot be indexed with"):
            x[:, wrong]


def test_a_mask_of_length_zero_selects_nothing():
    empty = np.zeros(0, bool)
    for n in (0, 1, 3):
        x = cnp.arange(float(n))
        assert x[empty].shape == (0,)
        assert x.at[empty].set(7).tolist() == x.tolist()
        assert cnp.ones((n, 2))[empty].shape == (0, 2)
    assert cnp.ones((1, 3))[np.zeros((1, 0), bool)].shape == (0,)
    assert cnp.ones((0, 3))[np.zeros((0, 3), bool)].shape == (0,)
    with pytest.raises(IndexError, match=r"the axes it stands for have the shape \(3,"):
        cnp.ones(3)[np.ones(1, bool)]


def test_indices_along_an_axis_of_length_zero():
    x = cnp.zeros((4, 0, 3))
    assert cnp.take_along_axis(x, cnp.zeros((4, 0, 3), int), 1).shape == (4, 0, 3)
    assert cnp.take_along_axis(x, cnp.zeros((1, 0, 3), int), 1).shape == (4, 0, 3)
    read = cnp.take_along_axis(x, cnp.zeros((4, 2, 3), int), 1)
    assert np.isnan(np.asarray(read)).all()
    with pytest.raises(IndexError, match="of length 0: there is no element"):
        cnp.take_along_axis(x, cnp.zeros((4, 2, 3), int), 1, mode="clip")
    assert cnp.insert(cnp.arange(5), slice(0), 9).tolist() == [0, 1, 2, 3, 4]
    assert cnp.insert(cnp.arange(5), cnp.array([], int), []).tolist() == [0, 1, 2, 3, 4]
    assert cnp.mgrid[()].shape == (0,) and cnp.ogrid[()] == ()
    assert float(cnp.pad(cnp.array(3.0), -1)) == 3


def test_clipping_along_an_axis_counts_negative_indices_from_the_end():
    x = cnp.array([10, 20, 30])
    indices = cnp.array([-1, -2, -7, 7])
    found = cnp.take_along_axis(x, indices, 0, mode="clip")
    assert found.tolist() == [30, 20, 10, 30]
    assert cnp.take(x, indices, mode="clip").tolist() == [10, 10, 10, 30]


def test_bools_are_not_added():
    with pytest.raises(DTypeError, match="add needs numbers"):
        cnp.array([True, False]).at[0].add(True)

"""An integer that a dtype does not have, of Python or in 64 bits of NumPy: compared as
mathematics does, refused where a result would have to hold it.
"""

import operator

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import lax, nn
from covector.errors import IntegerOverflow

VALUES = {
    "int8": [-128, -3, 0, 127],
    "uint8": [0, 1, 200, 255],
    "int32": [-(2**31), -1, 0, 2**31 - 1],
    "uint32": [0, 1, 2**31, 2**32 - 1],
    "bool": [False, True],
}
NUMBERS = [-(2**70), -(2**40), -129, -1, 255, 256, 300, 2**31, 2**32, 2**40, 2**70]
COMPARISONS = {
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "equal": operator.eq,
    "not_equal": operator.ne,
}
U8 = cnp.array(VALUES["uint8"], "uint8")
I8 = cnp.array(VALUES["int8"], "int8")
I32 = cnp.array(VALUES["int32"])


@pytest.mark.parametrize("dtype", VALUES)
def test_comparisons_with_any_integer_are_those_of_mathematics(dtype):
    x = cnp.array(VALUES[dtype], dtype)
    for name, python in COMPARISONS.items():
        compare = getattr(cnp, name)
        for n in NUMBERS:
            wanted = [python(v, n) for v in VALUES[dtype]]
            turned = [python(n, v) for v in VALUES[dtype]]
            assert compare(x, n).tolist() == wanted, (name, n)
            assert compare(n, x).tolist() == turned, (name, n)
            assert python(x, n).tolist() == wanted, (name, n)
            assert compare(np.array(VALUES[dtype], dtype), n).tolist() == wanted


def test_comparisons_with_any_integer_are_the_same_compiled_and_batched():
    def compared(x):
        return [compare(x, n) for compare in COMPARISONS.values() for n in (-1, 300)]

    wanted = np.array(
        [
            compare(np.array(VALUES["uint8"]), n)
            for compare in COMPARISONS.values()
            for n in (-1, 300)
        ]
    )
    np.testing.assert_array_equal(np.array(cv.jit(compared)(U8)), wanted)
    np.testing.assert_array_equal(np.array(cv.vmap(compared)(U8)), wanted)


def test_numbers_compare_with_numbers_as_in_python():
    assert bool(cnp.less(2**40, 2**41)) and not bool(cnp.equal(2**40, 3))
    assert bool(cnp.greater(2**40, 1.5))


def test_an_integer_larger_than_all_floats_compares_as_infinity():
    x = cnp.array([1.0, -cnp.inf, cnp.nan])
    assert (x < 2**2000).tolist() == [True, True, False]
    assert (x > -(2**2000)).tolist() == [True, False, False]
    assert (x != 2**2000).tolist() == [True, True, True]


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        (lambda x: cnp.maximum(x, -1), [0, 1, 200, 255]),
        (lambda x: cnp.maximum(-1, x), [0, 1, 200, 255]),
        (lambda x: cnp.minimum(x, 300), [0, 1, 200, 255]),
        (lambda x: cnp.fmax(x, -(2**40)), [0, 1, 200, 255]),
        (lambda x: cnp.fmin(x, 2**40), [0, 1, 200, 255]),
        (lambda x: cnp.clip(x, -1, 300), [0, 1, 200, 255]),
        (lambda x: cnp.clip(x, -1, 1), [0, 1, 1, 1]),
        (lambda x: cnp.max(x, initial=-1), 255),
        (lambda x: cnp.min(x, initial=300), 0),
        (nn.hard_tanh, [0, 1, 1, 1]),
        (nn.relu6, [0, 1, 6, 6]),
        (lambda x: cnp.isin(x, 300), [False] * 4),
        (lambda x: cnp.isin(x, -1, invert=True), [True] * 4),
        (lambda x: cnp.searchsorted(x, 300), 4),
        (lambda x: cnp.searchsorted(x, -1, side="right"), 0),
        (lambda x: cnp.logical_or(x, 2**40), [True] * 4),
        (lambda x: cnp.divide(x[:2], 2**40), [0, 2.0**-40]),
    ],
)
def test_an_integer_that_bounds_nothing_needs_not_fit(call, wanted):
    assert call(U8).tolist() == wanted
    assert cv.jit(call)(U8).tolist() == wanted


@pytest.mark.parametrize(
    "call",
    [
        lambda: U8 + 300,
        lambda: U8 - -1,
        lambda: I8 * 300,
        lambda: np.int8(3) + cnp.array(3, "int8") + 300,
        lambda: U8 // 300,
        lambda: U8 & -1,
        lambda: cnp.where(U8 > 1, U8, -1),
        lambda: cnp.maximum(U8, 300),
        lambda: cnp.minimum(U8, -1),
        lambda: cnp.clip(I8, 200, 300),
        lambda: cnp.clip(U8, None, -1),
        lambda: cnp.max(U8, initial=300),
        lambda: cnp.sum(U8, initial=-1),
        lambda: cnp.full(2, 300, "uint8"),
        lambda: cnp.full_like(U8, 300),
        lambda: lax.full((2,), -1, "uint8"),
        lambda: lax.full_like(U8, -1),
        lambda: cnp.array([300], "uint8"),
        lambda: cnp.array(2**40),
        lambda: cnp.pad(U8, 1, constant_values=300),
        lambda: cnp.insert(U8, 1, 300),
        lambda: cnp.append(U8, -1),
        lambda: cnp.diff(U8, prepend=-1),
        lambda: cnp.ediff1d(U8, to_begin=300),
        lambda: cnp.piecewise(U8, [U8 > 1], [300]),
        lambda: cnp.select([U8 > 1], [U8], 300),
        lambda: cnp.choose(cnp.array([0, 1]), [U8[:2], 300]),
        lambda: cnp.nonzero(U8, size=5, fill_value=2**40),
        lambda: cnp.ones(2) + 2**2000,
        lambda: cv.jit(lambda x: x + 300)(U8),
        lambda: cnp.arange(300, dtype="uint8"),
        lambda: cnp.arange(-2, 1, dtype="uint8"),
        lambda: cnp.arange(2**31 - 2, 2**31 + 1),
        lambda: cnp.arange(0.0, 1e20, 1e19, dtype=int),
        lambda: cnp.arange(2**40, 2**40 + 2),
        lambda: lax.iota("uint8", 300),
        lambda: lax.broadcasted_iota("int8", (2, 300), 1),
    ],
)
def test_an_integer_that_a_result_would_hold_must_fit(call):
    with pytest.raises(IntegerOverflow, match="does not fit"):
        call()


def test_integers_become_floats_at_once():
    """By way of int32, which they have in common, the first would be negative."""
    u32, i32 = cnp.array(4_000_000_000, "uint32"), cnp.array(-1, "int32")
    assert float(u32 / i32) == -4e9
    assert float(cnp.hypot(u32, i32)) == 4e9


def test_the_range_of_a_histogram_of_bytes_may_be_wider():
    _, edges = cnp.histogram(U8, bins=3, range=(0, 300))
    assert edges.tolist() == [0, 100, 200, 300]


def test_floats_that_an_integer_dtype_does_not_have_are_cast_as_by_astype():
    floats = [-1.0, 1e20, -cnp.inf, cnp.nan, 2.9]
    for dtype, wanted in {
        "uint8": [0, 255, 0, 0, 2],
        "int32": [-1, 2**31 - 1, -(2**31), 0, 2],
    }.items():
        assert cnp.array(floats).astype(dtype).tolist() == wanted
        assert [int(cnp.full((), v, dtype)) for v in floats] == wanted
        like = cnp.zeros(1, dtype)
        assert [int(cnp.full_like(like, v)[0]) for v in floats] == wanted
        put_in = [int(cnp.insert(like, 0, v)[0]) for v in floats]
        assert put_in == wanted


def test_indices_in_sorted_arrays_are_of_the_default_integers_under_x64():
    with cv.enable_x64(True):
        x = cnp.arange(5)
        assert x.dtype == "int64"
        for call in (
            lambda: cnp.searchsorted(x, 3),
            lambda: cnp.searchsorted(x, x, method="sort"),
            lambda: cnp.searchsorted(cnp.arange(100), x),
            lambda: cnp.searchsorted(cnp.arange(100), x, method="sort"),
            lambda: cnp.searchsorted(x[:0], x),
            lambda: cnp.digitize(x, cnp.array([1, 3])),
        ):
            assert call().dtype == "int64"
            assert cv.jit(call)().dtype == "int64"
        # What searches inside of others.
        edges = cnp.array([0.0, 2.0, 5.0])
        assert cnp.histogram(x, edges)[0].tolist() == [2, 3]
        assert cnp.insert(x, cnp.array([1, 3]), 9).tolist() == [0, 9, 1, 2, 9, 3, 4]
        deleted = cv.jit(lambda x, i: cnp.delete(x, i, assume_unique_indices=True))
        assert deleted(x, cnp.array([1, 3])).tolist() == [0, 2, 4]
        assert cnp.repeat(x, x, total_repeat_length=10).tolist()[-1] == 4
        assert float(cnp.interp(1.5, cnp.arange(3.0), cnp.arange(3.0))) == 1.5


# -- bounds and indices ---------------------------------------------------------------


def test_a_diagonal_beyond_the_matrix_is_empty_however_far_away():
    square = cnp.ones((2, 2))
    for far in (2**31, 2**40, 2**70):
        assert cnp.tri(2, k=far).tolist() == [[1, 1], [1, 1]]
        assert cnp.tri(2, k=-far).tolist() == [[0, 0], [0, 0]]
        assert cnp.tril(square, -far).tolist() == cnp.triu(square, far).tolist()
        assert cnp.eye(2, k=far).tolist() == cnp.eye(2, k=-far).tolist()
        assert cnp.diag(square, far).shape == (0,) and cnp.trace(square, far) == 0
        rolled = cnp.roll(cnp.arange(5), far)
        assert rolled.tolist() == np.roll(range(5), far % 5).tolist()
    assert cnp.tril_indices(2, 2**40)[0].tolist() == [0, 0, 1, 1]


def test_a_window_far_outside_is_moved_to_the_nearer_end():
    x, one = cnp.arange(5), cnp.array([9])
    assert lax.dynamic_slice(x, (2**40,), (2,)).tolist() == [3, 4]
    assert lax.dynamic_slice(x, (-(2**40),), (2,)).tolist() == [0, 1]
    assert lax.dynamic_slice_in_dim(x, 2**70, 2).tolist() == [3, 4]
    assert lax.dynamic_update_slice(x, one, (2**40,)).tolist() == [0, 1, 2, 3, 9]
    assert x.at[2**40].set(9).tolist() == [0, 1, 2, 3, 4]
    assert int(x[2**40]) == 4 and x[-(2**80) :: 2**80].tolist() == [0]


def test_counting_asks_of_a_dtype_only_what_it_counts():
    assert cnp.arange(256, dtype="uint8")[-1] == 255
    assert cnp.arange(2**31 - 2, 2**31).tolist() == [2**31 - 2, 2**31 - 1]
    assert cnp.arange(5, 0, -1, dtype="uint8").tolist() == [5, 4, 3, 2, 1]
    assert cnp.arange(2**80, 2**80).shape == (0,)
    assert cnp.linspace(0, 2**40, 3).tolist() == [0, 2**39, 2**40]
    assert lax.iota("uint8", 256)[-1] == 255


def test_classes_of_short_integers_are_not_counted_twice():
    """300 classes in uint8: class 1 and class 257 would look alike."""
    rows = nn.one_hot(cnp.array([1, 200], "uint8"), 300)
    assert rows.sum() == 2 and rows[0, 1] == 1 and rows[1, 200] == 1
    assert nn.one_hot(cnp.array([-1], "int8"), 300).sum() == 0
    assert nn.one_hot(2**40, 3).tolist() == [0, 0, 0]


def test_rounding_to_very_many_decimals_comes_to_an_end():
    x = cnp.array([1.5, -cnp.inf])
    assert cnp.round(x, 2**40).tolist() == x.tolist()
    assert cnp.round(x, -(2**40)).tolist() == [0, -cnp.inf]
    assert cnp.round(I32, -(2**40)).tolist() == [0] * 4


def test_more_bits_than_any_float_has_change_nothing():
    assert cv.jit(lambda x: lax.reduce_precision(x, 2**40, 2**40))(1.1) == np.float32(
        1.1
    )


def test_casts_of_any_integer_are_those_of_mathematics_modulo_the_dtype():
    assert lax.convert_element_type(2**32, "float32") == 2**32
    assert lax.convert_element_type(2**31, "uint32") == 2**31
    assert lax.convert_element_type(2**40 - 1, "int32") == -1
    assert lax.convert_element_type(200, "int8") == -56
    assert lax.convert_element_type(5, "complex64") == 5


# -- 64 bits of NumPy, while there are 32 ----------------------------------------------

WIDE = [
    np.int64(2**40),
    np.int64(-(2**40)),
    np.uint64(2**63 + 7),
    np.array([2**40, 1, 2, -(2**35)]),
    np.array([2**63 + 7, 0, 1, 2], np.uint64),
]


def test_comparisons_with_64_bits_of_numpy_are_those_of_mathematics():
    others = [*WIDE, 2**100, -5, np.array([True, False, True, False])]
    others += [cnp.arange(4), cnp.arange(4, dtype="uint8"), cnp.arange(4) > 1]
    for wide in WIDE:
        for other in others:
            both = [np.asarray(np.asarray(v), object) for v in (wide, other)]
            for name in ("less", "greater_equal", "equal"):
                wanted = getattr(np, name)(*both).astype(bool)
                np.testing.assert_array_equal(getattr(cnp, name)(wide, other), wanted)
    compiled = cv.jit(lambda x: [cnp.less(x, wide) for wide in WIDE])(I32)
    exact = [np.less(np.array(VALUES["int32"], object), wide) for wide in WIDE]
    np.testing.assert_array_equal(compiled, np.array(exact, bool))
    assert cnp.isin(I32, np.int64(2**32)).tolist() == [False] * 4
    assert int(cnp.searchsorted(I32, np.int64(2**40))) == 4


@pytest.mark.parametrize(
    "store",
    [
        cnp.asarray,
        cnp.array,
        cv.device_put,
        cv.jit(lambda x: x),
        lambda x: cnp.full((4,), x),
        lambda x: I32 * x,
        lambda x: cnp.where(I32 > 0, x, I32),
        I32.at[:].set,
        I32.at[:].add,
        lambda x: cv.jit(lambda y: y + x)(I32),
        lambda x: cnp.array([x, x]),
        lambda x: cnp.maximum(I32, abs(x)),
    ],
)
def test_64_bits_of_numpy_that_do_not_fit_are_not_stored(store):
    for wide in (np.int64(2**40), np.array([2**40, 1, 2, -(2**35)])):
        with pytest.raises(IntegerOverflow, match=r"1099511627776.* does not fit i32"):
            store(wide)
        with cv.enable_x64(True):
            cnp.asarray(wide)
    store(np.array([1, 2**31 - 1, 0, -(2**31)])[:1])  # fits


def test_64_bits_of_numpy_that_meet_floats_are_rounded():
    f = cnp.ones(4)
    wide = np.int64(2**40)
    assert float(cnp.sum(f * wide)) == 2.0**42
    assert float((I32[1:2] / wide)[0]) == -(2.0**-40)
    assert float(f.at[0].set(wide)[0]) == 2.0**40
    assert float(cnp.linspace(0, wide, 3)[1]) == 2.0**39
    assert float(cnp.asarray(wide, "float32")) == 2.0**40
    assert int(cnp.asarray(np.int64(2**32 + 5), "int32")) == 5  # a named dtype wraps


def test_64_bits_of_numpy_bound_nothing_on_their_side():
    wide = np.int64(2**40)
    assert cnp.minimum(I32, wide).tolist() == VALUES["int32"]
    assert cnp.maximum(-wide, I32).tolist() == VALUES["int32"]
    assert cnp.clip(I32, -wide, np.array([wide, 5, -7, wide])).tolist() == [
        -(2**31), -1, -7, 2**31 - 1,
    ]  # fmt: skip


def test_seeds_of_64_bits_of_numpy_count_by_their_low_half():
    def words(k):
        return cv.random.key_data(k).tolist()

    key = cv.random.key
    assert words(key(np.uint64(2**63 + 7))) == words(key(7))
    folded = cv.random.fold_in(key(0), np.int64(2**33 + 7))
    assert words(folded) == words(cv.random.fold_in(key(0), 7))

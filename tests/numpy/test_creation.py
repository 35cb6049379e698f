"""Arrays from values: what comes out, in which dtype, where, and what is refused."""

import math

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import lax
from covector.errors import ArgumentError, DTypeError, IntegerOverflow, TypeMismatch

#: the same call for NumPy and for us, as a function of the namespace
CALLS = [
    lambda xp: xp.zeros(3, "float32"),
    lambda xp: xp.zeros((2, 0), "int8"),
    lambda xp: xp.ones((), "float32"),
    lambda xp: xp.ones((2, 3), "bool"),
    lambda xp: xp.full((2, 3), 7, "int32"),
    lambda xp: xp.full((2, 3), xp.asarray([1, 2, 3], dtype="int32")),
    lambda xp: xp.full_like(xp.asarray([1, 2], dtype="int16"), 2.9),
    lambda xp: xp.zeros_like(xp.asarray([1, 2], dtype="int16"), dtype="float32"),
    lambda xp: xp.ones_like(xp.asarray([1, 2], dtype="int16"), shape=(3, 1)),
    lambda xp: xp.empty_like(xp.zeros((0, 2), "float32")),
    lambda xp: xp.array([[1, 2], [3, 4]], "int32"),
    lambda xp: xp.array([[]], "float32"),
    lambda xp: xp.array([[[1.5]], [[2]]], "float32"),
    lambda xp: xp.array((1, (2, 3)[0]), "int32"),
    lambda xp: xp.array([1.7, -1.7], "int32"),
    lambda xp: xp.array([0, 2, -1], "bool"),
    lambda xp: xp.array([True, 2, 3.5, 1j], "complex64"),
    lambda xp: xp.array(5, "int32", ndmin=3),
    lambda xp: xp.array([np.arange(2), np.arange(2) + 1], "int32"),
    lambda xp: xp.array(range(4), "int32"),
    lambda xp: xp.array(memoryview(b"ab")),
    lambda xp: xp.asarray(np.arange(6, dtype="int32").reshape(2, 3).T),
    lambda xp: xp.asarray(np.arange(10, dtype="int32")[::-2]),
    lambda xp: xp.copy(xp.asarray([1, 2], dtype="int32")),
    lambda xp: xp.arange(5, dtype="int32"),
    lambda xp: xp.arange(2, 11, 3, dtype="int32"),
    lambda xp: xp.arange(5, 0, -2, dtype="int8"),
    lambda xp: xp.arange(0, dtype="int32"),
    lambda xp: xp.arange(3, 1, dtype="int32"),
    lambda xp: xp.arange(0.0, 1.0, 0.1, dtype="float32"),
    lambda xp: xp.arange(4, dtype="complex64"),
    lambda xp: xp.linspace(0, 1, 7, dtype="float32"),
    lambda xp: xp.linspace(5, -5, 4, endpoint=False, dtype="float32"),
    lambda xp: xp.linspace(0, 10, 4, dtype="int32"),
    lambda xp: xp.linspace(0, 1, 0, dtype="float32"),
    lambda xp: xp.linspace(2, 3, 1, dtype="float32"),
    lambda xp: xp.linspace(0, 2 - 1j, 3, dtype="complex64"),
    lambda xp: xp.linspace(np.arange(3), 5, 4, dtype="float32"),
    lambda xp: xp.linspace(np.zeros((2, 1)), np.arange(3), 4, axis=1, dtype="float32"),
    lambda xp: xp.linspace(np.zeros(2), 1, 4, axis=-1, dtype="float32"),
    lambda xp: xp.logspace(0, 3, 4, dtype="float32"),
    lambda xp: xp.logspace(0, 4, 5, base=2, dtype="int32"),
    lambda xp: xp.geomspace(1, 1000, 4, dtype="float32"),
    lambda xp: xp.geomspace(-8, -1, 4, dtype="float32"),
    lambda xp: xp.geomspace(1, 16, 4, endpoint=False, dtype="float32"),
    lambda xp: xp.geomspace(1j, 16j, 5, dtype="complex64"),
    lambda xp: xp.eye(3, dtype="float32"),
    lambda xp: xp.eye(2, 4, k=1, dtype="int32"),
    lambda xp: xp.eye(3, k=-2, dtype="bool"),
    lambda xp: xp.eye(0, dtype="float32"),
    lambda xp: xp.identity(2, "int32"),
    lambda xp: xp.tri(3, 4, -1, "float32"),
    lambda xp: xp.tril(np.arange(24, dtype="int32").reshape(2, 3, 4), 1),
    lambda xp: xp.triu(np.arange(12, dtype="int32").reshape(3, 4), -1),
    lambda xp: xp.diag(np.arange(3, dtype="int32")),
    lambda xp: xp.diag(np.arange(3, dtype="int32"), 2),
    lambda xp: xp.diag(np.arange(3, dtype="int32"), -1),
    lambda xp: xp.diag(np.arange(6, dtype="int32").reshape(2, 3), 1),
    lambda xp: xp.diag(np.arange(6, dtype="int32").reshape(2, 3), -5),
    lambda xp: xp.diagflat(np.arange(4, dtype="int32").reshape(2, 2), 1),
    lambda xp: xp.diagonal(np.arange(24, dtype="int32").reshape(2, 3, 4), 1, 2, 0),
    lambda xp: xp.diagonal(np.arange(24, dtype="int32").reshape(2, 3, 4), -1, 0, 1),
    lambda xp: xp.diagonal(np.zeros((3, 0), "int32")),
    lambda xp: xp.vander(np.arange(3.0), 4).astype("float32"),
    lambda xp: xp.vander(np.arange(3.0), 2, increasing=True).astype("float32"),
    lambda xp: xp.meshgrid(np.arange(2, dtype="int32"), np.arange(3, dtype="int32"))[1],
    lambda xp: xp.meshgrid(*[np.arange(n, dtype="int32") for n in (2, 3, 4)])[2],
    lambda xp: xp.meshgrid(
        *[np.arange(n, dtype="int32") for n in (2, 3)], sparse=True, indexing="ij"
    )[0],
    lambda xp: xp.indices((2, 3), dtype="int32"),
    lambda xp: xp.indices((2, 3), dtype="float32", sparse=True)[1],
    lambda xp: xp.mgrid[0:3, 1:3].astype("int32"),
    lambda xp: xp.mgrid[0:1:5j].astype("float32"),
    lambda xp: xp.ogrid[0:3, 1:3][1].astype("int32"),
    lambda xp: xp.fromfunction(lambda i, j: i * 10 + j, (2, 3), dtype="int32"),
    lambda xp: xp.frombuffer(b"\x01\x02\x03", "uint8", offset=1),
    lambda xp: xp.fromiter((n * n for n in range(4)), "int32"),
    lambda xp: xp.fromstring("1,2,3", dtype="float32", sep=","),
    lambda xp: xp.tril_indices(3, 1, 4)[0].astype("int32"),
    lambda xp: xp.triu_indices(3, -1)[1].astype("int32"),
    lambda xp: xp.tril_indices_from(np.zeros((2, 3)))[1].astype("int32"),
    lambda xp: xp.triu_indices_from(np.zeros((3, 2)), 1)[0].astype("int32"),
    lambda xp: xp.diag_indices(3, 2)[1].astype("int32"),
    lambda xp: xp.diag_indices_from(np.zeros((2, 2, 2)))[2].astype("int32"),
    lambda xp: xp.mask_indices(3, xp.triu, 1)[1].astype("int32"),
    lambda xp: xp.bartlett(5).astype("float32"),
    lambda xp: xp.blackman(6).astype("float32"),
    lambda xp: xp.hamming(1).astype("float32"),
    lambda xp: xp.hanning(0).astype("float32"),
]


@pytest.mark.parametrize("call", CALLS)
def test_arrays_are_made_as_numpy_makes_them(call):
    got, wanted = call(cnp), call(np)
    assert got.shape == wanted.shape
    assert got.dtype == wanted.dtype
    np.testing.assert_allclose(np.asarray(got), wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("call", CALLS)
def test_what_is_made_of_known_values_is_known_under_jit(call):
    @cv.jit
    def inside():
        x = call(cnp)
        if x.size < 100:  # larger ones are left to the program
            np.asarray(x)
        return x

    np.testing.assert_allclose(np.asarray(inside()), call(np), rtol=1e-6, atol=1e-6)


def test_large_constants_do_not_enter_programs_as_values():
    text = cv.jit(lambda: cnp.zeros((300, 300)) + cnp.arange(300)).lower().as_text()
    assert len(text) < 5000


@pytest.mark.parametrize(
    "value",
    [
        3,
        2.5,
        1j,
        True,
        np.int8(3),
        np.float64(2),
        [1, 2.0],
        [True, 2],
        [],
        [[1j], [2]],
        [np.int8(1), 2],
        [np.int8(1), np.float16(2)],
        np.arange(3),
        [np.ones(2)] * 2,
        [ml_dtypes.bfloat16(1), 1.0],
        [np.uint8(1), np.int8(1)],
        (np.float64(1), 2),
    ],
)
@pytest.mark.parametrize("maker", ["array", "asarray"])
def test_dtype_and_weakness_are_those_of_jax(maker, value):
    got, wanted = getattr(cnp, maker)(value), getattr(jnp, maker)(value)
    assert (got.dtype, got.weak_type) == (wanted.dtype, wanted.weak_type)
    assert got.shape == wanted.shape


def test_arrays_in_sequences_are_stacked_in_their_common_dtype():
    x = cnp.array([cnp.int8(1), 2])
    assert (x.dtype, x.weak_type) == (np.dtype("int8"), False)
    assert cnp.array([cnp.ones(2), np.arange(2)]).tolist() == [[1, 1], [0, 1]]
    assert cnp.array([[cnp.asarray(1.0), 2], [3, 4]]).dtype == np.float32


def test_sequences_of_traced_values_become_arrays():
    def norm(a, b):
        return (cnp.array([[a, 2 * b], [0, b]]) ** 2).sum()

    assert float(cv.jit(norm)(1.0, 2.0)) == 21.0
    assert [float(g) for g in cv.grad(norm, (0, 1))(1.0, 2.0)] == [2.0, 20.0]
    assert cv.vmap(lambda a: cnp.array([a, 1]))(cnp.arange(2)).tolist() == [
        [0, 1],
        [1, 1],
    ]


def test_an_array_is_what_it_is_for_asarray_and_a_copy_for_array():
    x = cnp.ones(3)
    assert cnp.asarray(x) is x
    assert cnp.array(x, copy=False) is x
    assert cnp.array(x) is not x
    x.delete()
    values = np.ones(3, np.float32)
    y = cnp.asarray(values)
    values[0] = 5
    assert y.tolist() == [1, 1, 1]


def test_the_step_between_numbers_that_have_none_is_one_nan():
    bounds = np.zeros(3, np.float32), np.ones(3, np.float32)
    for make in cnp.linspace, cv.jit(cnp.linspace, static_argnums=(2, 3, 4)):
        for num in 0, 1:
            step = make(*bounds, num, True, True)[1]
            assert step.shape == ()
            assert np.isnan(step)
        assert make(*bounds, 2, True, True)[1].shape == (3,)


def test_values_that_do_not_fit_32_bits_fit_64():
    with cv.options.override(enable_x64=True):
        assert cnp.array(2**40).dtype == np.int64
        assert cnp.zeros(2).dtype == np.float64
        assert cnp.arange(3).dtype == np.int64
        assert cnp.linspace(0, 1, 3).dtype == np.float64
        assert cnp.linspace(np.float32(0), 1, 3).dtype == np.float32
        assert cnp.kaiser(3, np.float32(2)).dtype == np.float64
    assert int(cnp.array(2**31, "uint32")) == 2**31
    assert cnp.arange(2**31, 2**31 + 2, dtype="uint32").tolist() == [2**31, 2**31 + 1]


def test_evenly_spaced_numbers_follow_traced_ends():
    ends = (np.float32(1), np.float32(16))
    for name in ("linspace", "geomspace"):
        fun = getattr(cnp, name)
        got = cv.jit(lambda a, b, fun=fun: fun(a, b, 5))(*ends)
        np.testing.assert_allclose(got, getattr(np, name)(*ends, 5), rtol=1e-6)
        assert float(got[0]) == 1
    got = cv.jit(lambda a, b: cnp.logspace(a, b, 4))(0.0, 3.0)
    np.testing.assert_allclose(got, [1, 10, 100, 1000], rtol=1e-5)
    slope = cv.grad(lambda b: cnp.linspace(0.0, b, 3).sum())(1.0)
    assert float(slope) == 1.5
    _, step = cnp.linspace(0, 1, 5, retstep=True)
    assert float(step) == 0.25
    _, step = cv.jit(lambda b: cnp.linspace(0, b, 5, endpoint=False, retstep=True))(1.0)
    assert math.isclose(float(step), 0.2, rel_tol=1e-6)


def test_triangles_and_diagonals_of_traced_matrices():
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    for name in ("tril", "triu", "diag", "diagonal"):
        got = cv.jit(getattr(cnp, name))(x)
        np.testing.assert_array_equal(got, getattr(np, name)(x))
    slope = cv.grad(lambda x: (cnp.diag(x) * cnp.arange(1, 4)).sum())(x)
    np.testing.assert_array_equal(slope, np.eye(3, 4) * np.arange(1, 4)[:, None])
    np.testing.assert_array_equal(cv.jit(lambda k: cnp.eye(3, k=k))(1), np.eye(3, k=1))
    assert cv.vmap(cnp.diag)(x).shape == (3, 4, 4)


@pytest.mark.parametrize("shape", [(3, 3), (2, 4), (7, 3), (3, 3, 3), (0, 2)])
@pytest.mark.parametrize("wrap", [False, True])
@pytest.mark.parametrize("value", [5.0, [1.0, 2.0]])
def test_diagonals_are_filled_as_in_numpy(shape, wrap, value):
    wanted = np.zeros(shape, np.float32)
    np.fill_diagonal(wanted, value, wrap)
    got = cnp.fill_diagonal(cnp.zeros(shape), np.array(value), wrap, inplace=False)
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("beta", [0.0, 2.0, 14.0])
@pytest.mark.parametrize("n", [0, 1, 2, 7])
def test_kaiser_windows(n, beta):
    np.testing.assert_allclose(cnp.kaiser(n, beta), np.kaiser(n, beta), atol=1e-6)
    if n:
        np.testing.assert_allclose(
            cv.jit(lambda b: cnp.kaiser(n, b))(beta), np.kaiser(n, beta), atol=1e-6
        )


def test_arrays_of_other_libraries_are_shared_or_copied():
    values = np.arange(3, dtype=np.float32)
    shared, copied = cnp.from_dlpack(values), cnp.from_dlpack(values, copy=True)
    values[0] = 9
    assert (shared.tolist(), copied.tolist()) == ([9, 1, 2], [0, 1, 2])
    theirs = jax.numpy.arange(3)
    assert cnp.from_dlpack(theirs).tolist() == [0, 1, 2]
    assert cnp.asarray(theirs).dtype == np.int32


def test_devices_are_chosen():
    device = cv.devices()[0]
    for x in (cnp.zeros(2, device=device), cnp.asarray([1], device=device)):
        assert x.devices() == {device}
        assert x.committed


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            lambda: cnp.array([[1, 2], [3]]),
            TypeMismatch,
            "array needs sequences of one length at each depth, but got [[1, 2], [3]], "
            "which is ragged.",
        ),
        (
            lambda: cnp.array([cnp.ones(2), cnp.ones(3)]),
            TypeMismatch,
            "array needs elements of one shape at each depth, but got arrays of types "
            "f32[2], f32[3] side by side.",
        ),
        (
            lambda: cnp.array([1, 2**40]),
            IntegerOverflow,
            "array: a Python integer in the sequence does not fit i32, which holds "
            "-2147483648 to 2147483647. Name a wider dtype.",
        ),
        (
            lambda: cnp.array([300], "uint8"),
            IntegerOverflow,
            "does not fit u8, which holds 0 to 255",
        ),
        (
            lambda: cnp.array("a"),
            DTypeError,
            "array needs an array or a number, but got 'a' of type str.",
        ),
        (lambda: cnp.array(None), DTypeError, "array needs an array or a number"),
        (lambda: cnp.array([None]), DTypeError, "array needs an array or a number"),
        (lambda: cnp.array([1, "a"]), DTypeError, "array needs an array or a number"),
        (
            lambda: cnp.array([1], order="F"),
            ArgumentError,
            "array: order must be 'K', 'A' or 'C', but got 'F'.",
        ),
        (
            lambda: cnp.asarray(np.ones(2), copy=False),
            ArgumentError,
            "asarray of a ndarray as f32[2] needs a copy, and copy=False forbids it.",
        ),
        (
            lambda: cnp.ones_like([1, 2]),
            DTypeError,
            "ones_like needs an array, but got a list.",
        ),
        (lambda: cnp.zeros((2, 1.5)), ArgumentError, "zeros: shape must be an integer"),
        (lambda: cnp.zeros(-1), TypeMismatch, "an array cannot have the shape (-1,)"),
        (
            lambda: cnp.arange(0, 5, 0),
            ArgumentError,
            "arange from 0 to 5 needs a step other than 0.",
        ),
        (lambda: cnp.arange(2j), DTypeError, "arange counts in real numbers"),
        (
            lambda: cnp.arange(3, dtype=bool),
            DTypeError,
            "arange counts in real numbers",
        ),
        (
            lambda: cnp.arange(np.arange(2)),
            ArgumentError,
            "arange needs numbers as bounds, but got i32[2].",
        ),
        (
            lambda: cnp.linspace(0, 1, -1),
            ArgumentError,
            "linspace cannot make -1 numbers",
        ),
        (lambda: cnp.eye(-1), ArgumentError, "eye cannot make a matrix of -1 rows"),
        (lambda: cnp.tril(np.arange(3)), ValueError, "tril needs matrices"),
        (
            lambda: cnp.diag(np.zeros((1, 1, 1))),
            ValueError,
            "diag needs one axis or two",
        ),
        (
            lambda: cnp.fill_diagonal(np.zeros((2, 2)), 1),
            NotImplementedError,
            "fill_diagonal cannot change its first argument: arrays are immutable.",
        ),
        (lambda: cnp.vander(np.zeros((2, 2))), ValueError, "vander needs a vector"),
        (
            lambda: cnp.meshgrid(np.arange(2), indexing="yx"),
            ArgumentError,
            "meshgrid: indexing must be 'xy' or 'ij', but got 'yx'.",
        ),
        (lambda: cnp.mgrid[:], ArgumentError, "mgrid needs slices with an end"),
        (lambda: cnp.hamming(-1), ArgumentError, "hamming cannot make a window of -1"),
        (
            lambda: cnp.zeros(2, device="cpu"),
            RuntimeError,
            "to_device needs a device, such as covector.devices()[0], a Sharding, or",
        ),
    ],
)
def test_words_of_refusals(call, error, words):
    with pytest.raises(error) as caught:
        call()
    assert words in str(caught.value)


def test_bounds_of_arange_must_be_known():
    with pytest.raises(cv.errors.TracerIntegerConversionError, match="known integer"):
        cv.jit(cnp.arange)(3)


def test_copy_order_and_ndmin_may_be_given_by_position():
    assert cnp.array([1, 2], "float32", True, "K", 2).shape == (1, 2)
    x = cnp.ones(2)
    assert cnp.asarray(x, None, None, True) is not x


@pytest.mark.parametrize("num", [1, 4, 7, 11])
@pytest.mark.parametrize("endpoint", [True, False])
def test_linspace_has_one_value_to_the_last_bit_eagerly_and_compiled(num, endpoint):
    def spaced(x, y):
        return cnp.linspace(x, y, num, endpoint, retstep=True)

    compiled = cv.jit(spaced)
    bounds = np.random.default_rng(0).integers(-50, 50, (60, 2)).astype(np.float32)
    for x, y in [*bounds, (37.0, -37.0), (-np.inf, 1.0)]:
        for a, b in zip(spaced(x, y), compiled(x, y), strict=True):
            np.testing.assert_array_equal(a, b)


def test_logspace_and_geomspace_have_one_value_eagerly_and_compiled():
    functions = [
        lambda x, y: cnp.geomspace(x, y, 7),
        lambda x, y: cnp.geomspace(x, y, 4, endpoint=False),
        lambda x, y: cnp.logspace(x, y, 9, base=1.5),
    ]
    for function in functions:
        compiled = cv.jit(function)
        bounds = np.random.default_rng(0).uniform(0.1, 40, (20, 2))
        for x, y in bounds.astype(np.float32):
            np.testing.assert_array_equal(function(x, y), compiled(x, y))


def test_derivatives_of_linspace_are_the_ways_to_its_ends():
    slopes = cv.jacfwd(lambda x: cnp.linspace(x, 1.0, 5))(np.float32(0))
    np.testing.assert_array_equal(slopes, [1, 0.75, 0.5, 0.25, 0])
    slopes = cv.jacrev(lambda y: cnp.linspace(1.0, y, 5))(np.float32(0))
    np.testing.assert_array_equal(slopes, [0, 0.25, 0.5, 0.75, 1])


def test_full_of_a_value_on_a_device_is_on_that_device():
    device = cv.devices()[-1]
    value = cv.device_put(cnp.float32(2), device)
    for x in (cnp.full(3, value), cnp.full((), value, "int32"), lax.full((2,), value)):
        assert x.committed
        assert x.devices() == {device}

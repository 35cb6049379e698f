"""Choices by condition, bytes and bits, files and text."""

import io

import ml_dtypes
import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp

X = np.array([-2.0, -0.5, 0.0, 1.0, 3.0], np.float32)


def test_where_broadcasts_and_counts_numbers_as_truth():
    got = cnp.where(np.array([[True], [False]]), np.arange(3), 9.0)
    assert got.tolist() == [[0, 1, 2], [9, 9, 9]]
    assert cnp.where(np.array([0, 2]), 1, 0).tolist() == [0, 1]
    assert cnp.where(True, np.ones(2), np.ones((2, 2))).shape == (2, 2)
    assert [i.tolist() for i in cnp.where(X > 0)] == [[3, 4]]
    indices = cv.jit(lambda x: cnp.where(x > 0, size=3, fill_value=-1))(X)
    assert [i.tolist() for i in indices] == [[3, 4, -1]]


def test_the_derivative_is_that_of_what_was_chosen():
    slope = cv.grad(lambda x: cnp.where(x > 0, x * x, -x).sum())(X)
    assert slope.tolist() == [-1, -1, -1, 2, 6]


@pytest.mark.parametrize("wrap", [lambda f: f, cv.jit])
def test_select_and_piecewise_are_numpys(wrap):
    def chosen(xp, x):
        return xp.select([x < -1, x > 0], [x, 10 * x], 7), xp.select(
            [x > 0, x > 2], [1.5, x]
        )

    def pieces(xp, x):
        first = xp.piecewise(x, [x < 0, x >= 0], [lambda x: -x, lambda x: x * 2])
        second = xp.piecewise(x, [x < 0, x < -1], [1, 2, lambda x: x + 9])
        return first, second, xp.piecewise(x, [x > 1], [lambda x, k: x * k], 5)

    for fun in (chosen, pieces):
        for g, w in zip(wrap(lambda x, f=fun: f(cnp, x))(X), fun(np, X), strict=True):
            np.testing.assert_array_equal(g, w)


def test_pieces_keep_the_dtype_of_the_operand():
    assert cnp.piecewise(
        np.arange(3), [np.arange(3) > 1], [lambda x: x * 1.5]
    ).tolist() == [
        0,
        0,
        3,
    ]


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("order", ["big", "little"])
def test_bits_are_packed_and_unpacked_as_in_numpy(axis, order):
    bits = np.random.RandomState(0).randint(0, 2, (9, 17)).astype(bool)
    for wrap in (lambda f: f, cv.jit):
        packed = wrap(lambda b: cnp.packbits(b, axis, bitorder=order))(bits)
        wanted = np.packbits(bits, axis, bitorder=order)
        np.testing.assert_array_equal(packed, wanted)
        for count in (None, 5, -3):
            np.testing.assert_array_equal(
                wrap(lambda p, n=count: cnp.unpackbits(p, axis, n, order))(wanted),
                np.unpackbits(wanted, axis, count, order),
            )
    long = cnp.unpackbits(np.uint8([255]), count=10)
    assert long.tolist() == [1] * 8 + [0, 0]


def test_rounding_of_integers_to_tens():
    x = np.array([0, 4, 5, 15, 25, 26, -5, -15, 149, 150, 250])
    for decimals in (-1, -2, -3, -40, 0, 2):
        wanted = np.round(x, decimals) if decimals > -9 else x * 0
        np.testing.assert_array_equal(cnp.round(x, decimals), wanted)
    np.testing.assert_array_equal(
        cv.jit(lambda x: cnp.round(x, -1))(x), np.round(x, -1)
    )


@pytest.mark.parametrize("decimals", [-1, 0, 1, 3, 50, -50])
def test_rounding_of_floats_to_decimals(decimals):
    x = np.array([0.5, 1.25, -1.35, 1234.5678, 1e30, np.inf, np.nan], np.float32)
    wanted = np.round(x.astype(np.float64), decimals).astype(np.float32)
    for fun in (cnp.round, cnp.around, cv.jit(cnp.round, static_argnums=1)):
        np.testing.assert_allclose(fun(x, decimals), wanted, rtol=1e-6)
    z = (x[:4] + 1j * x[:4]).astype(np.complex64)
    wanted = np.round(z.astype(np.complex128), decimals)
    np.testing.assert_allclose(cnp.round(z, decimals), wanted, rtol=1e-5)


def test_nan_and_infinity_are_replaced():
    x = np.array([1.0, np.nan, np.inf, -np.inf], np.float32)
    info = np.finfo(np.float32)
    for fun in (cnp.nan_to_num, cv.jit(cnp.nan_to_num)):
        assert fun(x).tolist() == [1, 0, float(info.max), float(info.min)]
    got = cnp.nan_to_num(x, nan=np.array([5.0, 6, 7, 8]), posinf=2, neginf=3)
    assert got.tolist() == [1, 6, 2, 3]
    assert cnp.nan_to_num(np.complex64(complex(np.nan, np.inf)), posinf=1) == 1j
    half = cnp.nan_to_num(np.array([np.inf], ml_dtypes.bfloat16))
    assert float(half[0]) == float(ml_dtypes.finfo(ml_dtypes.bfloat16).max)


def test_arrays_are_compared_as_a_whole():
    assert bool(cnp.array_equal([1, 2], [1, 2]))
    assert not bool(cnp.array_equal([1, 2], [1, 2, 3]))
    assert not bool(cnp.array_equal([np.nan], [np.nan]))
    assert bool(cnp.array_equal([np.nan], [np.nan], equal_nan=True))
    assert bool(cnp.array_equiv([[1, 2], [1, 2]], [1, 2]))
    assert not bool(cnp.array_equiv([1, 2, 3], [1, 2]))
    assert bool(cnp.allclose(X, X * (1 + 1e-6)))
    assert not bool(cnp.allclose(X, X + 1e-3))
    assert bool(cnp.allclose(X, X + 1e-3, atol=0.1))
    assert bool(cnp.isclose(np.nan, np.nan, equal_nan=True))
    assert bool(cv.jit(cnp.allclose)(X, X))


def test_integers_have_divisors_and_multiples_under_every_transformation():
    x, y = np.array([12, 18, 0, -4]), np.array([8, 27, 5, 6])
    np.testing.assert_array_equal(cv.jit(cnp.gcd)(x, y), np.gcd(x, y))
    np.testing.assert_array_equal(cv.jit(cnp.lcm)(x, y), np.lcm(x, y))
    np.testing.assert_array_equal(cv.vmap(cnp.gcd)(x, y), np.gcd(x, y))
    np.testing.assert_array_equal(cnp.gcd(x[:, None], y), np.gcd(x[:, None], y))
    assert cv.jit(cnp.gcd)(np.int32(-(2**31)), 6) == 2


def test_arrays_are_written_to_files_and_read_back():
    for values in (X, np.array([1.5, 2], ml_dtypes.bfloat16), np.array([True])):
        file = io.BytesIO()
        cnp.save(file, cnp.asarray(values))
        file.seek(0)
        got = cnp.load(file)
        assert got.dtype == values.dtype
        np.testing.assert_array_equal(got, values)


def test_several_arrays_are_written_to_one_file(tmp_path):
    cnp.savez(tmp_path / "arrays.npz", cnp.ones(2), named=cnp.zeros(1))
    with cnp.load(tmp_path / "arrays.npz") as found:
        assert found["arr_0"].tolist() == [1, 1]
        assert found["named"].tolist() == [0]
    (tmp_path / "numbers").write_text("1 2 3")
    assert cnp.fromfile(tmp_path / "numbers", "int32", sep=" ").tolist() == [1, 2, 3]


def test_arrays_are_printed_with_numpys_options():
    x = cnp.array([1.23456789, 1e-9])
    assert cnp.array_str(x, precision=2, suppress_small=True) == "[1.23 0.  ]"
    assert (
        cnp.array_repr(x, precision=2, suppress_small=True)
        == "Array([1.23, 0.  ], dtype=float32)"
    )
    with cnp.printoptions(precision=1):
        assert str(x) == "[1.2e+00 1.0e-09]"
    assert cnp.get_printoptions()["precision"] == 8
    before = cnp.get_printoptions()
    cnp.set_printoptions(precision=3)
    try:
        assert str(cnp.array([1.23456])) == "[1.235]"
    finally:
        cnp.set_printoptions(**before)

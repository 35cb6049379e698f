"""Products that sum: the values of NumPy, short programs, and words of errors."""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector.errors import ArgumentError, AxisError
from tests.numpy.agreement import agrees, agrees_batched, agrees_compiled, lines

_RNG = np.random.default_rng(0)
VALUES = {
    "x": _RNG.normal(size=(2, 3, 4)).astype(np.float32),
    "y": _RNG.normal(size=(2, 4, 5)).astype(np.float32),
    "m": np.arange(12, dtype=np.int32).reshape(3, 4) - 4,
    "q": _RNG.normal(size=(3, 3)).astype(np.float32),
    "v": np.array([3.0, 1.0, 2.0, 5.0], np.float32),
    "c": _RNG.normal(size=(3, 4)).astype(np.complex64) * (1 + 2j),
    "e": np.zeros((0, 4), np.float32),
    "b": np.array([[True, False], [True, True]]),
    "s": np.array(2.0, np.float32),
}

TABLE = """
xp.dot(v, v)
xp.dot(m, v)
xp.dot(v, m.T)
xp.dot(x, y)
xp.dot(s, v)
xp.dot(e, v)
xp.dot(c, v)
xp.dot(b, b)
xp.inner(m, m)
xp.inner(x, m)
xp.inner(v, s)
xp.vdot(c, c)
xp.vdot(m, m)
xp.outer(v, m)
xp.outer(s, v)
xp.outer(b[0], b[1])
xp.tensordot(x, y, ([0, 2], [0, 1]))
xp.tensordot(x, y, (2, 1))
xp.tensordot(x, m, 0)
xp.tensordot(x, x.transpose((1, 2, 0)), 2)
xp.kron(m, v)
xp.kron(v, v)
xp.kron(x, m)
xp.kron(s, v)
xp.matmul(x, y)
xp.matmul(m, v)
xp.matmul(v, y)
xp.matmul(x, v)
xp.matmul(v, v)
xp.matmul(x, y[0])
xp.matmul(m, y)
xp.matmul(x[:, None], y[None])
xp.matmul(x[:1], y)
xp.matmul(x, y[:1])
xp.matmul(e, v)
xp.matmul(x[:0], y[:1])
xp.matmul(b, b)
xp.matmul(c, m.T)
xp.vecdot(c, c)
xp.vecdot(x, v)
xp.vecdot(m, m, axis=0)
xp.matvec(x, v)
xp.matvec(m, x)
xp.vecmat(v, y)
xp.vecmat(c, m.T)
xp.cross(q, q[::-1])
xp.cross(q[0], q[:, None])
xp.cross(q.T, q, axisa=0)
xp.cross(q, q[::-1], axisc=0)
xp.cross(q, q.T, axis=0)
xp.trace(m)
xp.trace(x, axis1=1, axis2=2)
xp.trace(m, offset=1)
xp.trace(b)
xp.trace(m, dtype="float32")
xp.convolve(v, v[:2])
xp.convolve(v[:2], v, mode="same")
xp.convolve(v, v[:3], mode="valid")
xp.convolve(v, c[0])
xp.correlate(v, v[:2])
xp.correlate(v, c[0], mode="full")
xp.correlate(c[0, :3], v, mode="same")
xp.correlate(v[:2], v, mode="valid")
xp.einsum("ij,jk->ik", m, m.T)
xp.einsum("ij,jk", q, q)
xp.einsum("ii", q)
xp.einsum("ii->i", q)
xp.einsum("iij->ij", q[:, None] * q[:, :, None])
xp.einsum("iii->i", q[:, None] * q[:, :, None])
xp.einsum("ij->", m)
xp.einsum("ij->ji", m)
xp.einsum("ij,ij->ij", q, q)
xp.einsum("ij,j->ij", q, q[0])
xp.einsum("ij,i->ji", q, q[0])
xp.einsum("i,j->ji", q[0], v)
xp.einsum("bij,bjk->bki", x, y)
xp.einsum("...ij,...jk->...ik", x, y[:1])
xp.einsum("i...->...", m)
xp.einsum("...,...", v[:, None], m[:, :1].T)
xp.einsum("ij,kj->ik", m, v[:, None])
xp.einsum("ij,jk,kl->il", q, q, q)
xp.einsum("ij,jk,kl->il", q, q, q, optimize=False)
xp.einsum("i,i,i->", v, v, v)
xp.einsum("ij,,j->i", m, s, v)
xp.einsum("ij,jk,ki->", q, q, q)
xp.einsum("ij,j", e, v)
xp.einsum("ij,ij->j", b, b)
xp.einsum("ij->i", b)
xp.einsum(m, [0, 1], v, [1])
xp.einsum(m, [0, 1], [1, 0])
xp.einsum(x, [..., 1], v, [1], [...])
"""


@pytest.mark.parametrize("expression", lines(TABLE))
def test_value_is_numpys(expression):
    # Integers that meet float32 are float64 in NumPy, and floats are convolved here.
    agrees(expression, VALUES, np, exact_dtype="b" in expression)


@pytest.mark.parametrize("expression", lines(TABLE)[::2])
def test_compiled_is_eager(expression):
    agrees_compiled(expression, VALUES)


@pytest.mark.parametrize("expression", lines(TABLE)[1::2])
def test_batch_is_each(expression):
    agrees_batched(expression, VALUES)


@pytest.mark.parametrize("f", [cnp.dot, cnp.matmul, cnp.inner, cnp.vdot, cnp.vecdot])
def test_element_type_of_products_can_be_chosen(f):
    x = cnp.ones(4, "int8")
    assert f(x, x).dtype == cnp.int8
    assert f(x, x, preferred_element_type="int32").dtype == cnp.int32
    half = cnp.ones(4, "bfloat16")
    assert f(half, half).dtype == cnp.bfloat16
    assert f(half, half, preferred_element_type="float32", precision="highest") == 4
    assert f(half, cnp.ones(4, "int32")).dtype == cnp.bfloat16


def test_element_type_of_einsum_is_that_of_each_sum():
    x = cnp.full((3, 300), 200, "bfloat16")
    found = cnp.einsum("ij->i", x, preferred_element_type="float32")
    assert found.dtype == cnp.float32
    assert found.tolist() == [60000] * 3
    y = cnp.full((3, 300), 1 / 256, "bfloat16")
    products = cnp.einsum(
        "ij,ij,k->ik", x, y, x[0, :2], preferred_element_type="float32"
    )
    np.testing.assert_allclose(products, 300 * 200 / 256 * 200)


@pytest.mark.parametrize(
    ("f", "names"),
    [
        (cnp.matmul, ["dot_general"]),
        (lambda x, y: cnp.matmul(x, y[0]), ["slice", "dot_general"]),
        (lambda x, y: cnp.einsum("bij,bjk->bik", x, y), ["dot_general"]),
        (lambda x, y: cnp.einsum("bij,bjk->bki", x, y), ["dot_general"]),
        (lambda x, y: cnp.einsum("bij->bj", x), ["reduce_sum"]),
        (cnp.dot, ["dot_general"]),
        (lambda x, y: cnp.tensordot(x, y, ((0, 2), (0, 1))), ["dot_general"]),
    ],
)
def test_program_is_one_contraction(f, names):
    jaxpr = cv.make_jaxpr(f)(VALUES["x"], VALUES["y"])
    assert [e.primitive.name for e in jaxpr.eqns] == names


def test_path_is_the_order_of_contractions():
    path, report = cnp.einsum_path(
        "ij,jk,k", np.ones((2, 9)), np.ones((9, 9)), np.ones(9)
    )
    assert path == [(1, 2), (0, 1)]
    assert "ij,jk,k" in str(report)
    x = VALUES["q"]
    found = cnp.einsum("ij,jk,kl->il", x, x, x, optimize=[(1, 2), (0, 1)])
    np.testing.assert_allclose(found, x @ x @ x, rtol=1e-4)


@pytest.mark.parametrize(
    "expression",
    lines("""
xp.matmul(x, y).sum()
xp.einsum("bij,bjk,ik->", x, y, xp.ones((3, 5)))
xp.einsum("bii->b", x[:, :, :3]).sum()
xp.cross(x[:, :, 0], x[:, :, 1]).sum()
xp.kron(x[0], x[1]).sum()
xp.convolve(x[0, 0], x[1, 2]).sum()
xp.trace(x[0])
"""),
)
def test_derivative_is_the_difference_quotient(expression):
    y = cnp.asarray(VALUES["y"])

    def f(x):
        return eval(expression, {"xp": cnp, "x": x, "y": y})

    x = cnp.asarray(VALUES["x"])
    step = np.random.default_rng(2).normal(size=x.shape).astype(np.float32) * 0.1
    slope = (f(x + step) - f(x - step)) / 2
    found = (cv.grad(f)(x) * step).sum()
    assert float(found) == pytest.approx(float(slope), rel=1e-2, abs=1e-3)


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (lambda: cnp.matmul(1.0, np.ones(2)), r"vectors or matrices, .*use multiply"),
        (
            lambda: cnp.matmul(np.ones((2, 3)), np.ones((2, 3))),
            r"f32\[2,3\] and f32\[2,3\]: .*have lengths 3 and 2\. .*last but one",
        ),
        (
            lambda: cnp.matmul(np.ones((2, 2, 2)), np.ones((3, 2, 2))),
            "broadcast together",
        ),
        (
            lambda: cnp.dot(np.ones(2), np.ones(3)),
            r"dot of f32\[2\] and f32\[3\] sums over",
        ),
        (lambda: cnp.inner(np.ones(2), np.ones((2, 3))), "must have the same lengths"),
        (lambda: cnp.tensordot(np.ones(2), np.ones(2), 3), "sums over axes that both"),
        (lambda: cnp.tensordot(np.ones(2), np.ones(2), [0]), "axes for each of two"),
        (lambda: cnp.cross(np.ones(4), np.ones(4)), "two or three components"),
        (lambda: cnp.vecdot(1.0, np.ones(2)), "vecdot needs vectors"),
        (lambda: cnp.dot(1.0, 1.0, precision="best"), "dot got the precision 'best'"),
        (lambda: cnp.einsum("ij,jk", np.ones((2, 3))), "must be equal to the number"),
        (lambda: cnp.einsum("ij", np.ones(3)), r"einsum\('ij'\) of f32\[3\]: "),
        (lambda: cnp.einsum("i->ii", np.ones(3)), "more than once in the output"),
        (lambda: cnp.einsum("i,i", np.ones(3), np.ones(2)), "does not match previous"),
        (lambda: cnp.convolve(np.ones((2, 2)), np.ones(2)), "two arrays with one axis"),
        (lambda: cnp.convolve(np.ones(2), np.ones(0)), "at least one element"),
        (lambda: cnp.correlate(np.ones(2), np.ones(2), "all"), "mode must be"),
        (lambda: cnp.outer([1], 2), "outer needs an array, but got a list"),
    ],
)
def test_words_of_products(run, words):
    with pytest.raises((TypeError, ValueError), match=words) as info:
        run()
    assert isinstance(info.value, cv.errors.CovectorError)


def test_einsum_forms_its_products_with_the_function_of_the_caller():
    asked = []

    def halved(x, y, **how):
        asked.append(how)
        return cv.lax.dot_general(x, y, **how) / 2

    a, b = cnp.arange(6.0).reshape(2, 3), cnp.arange(12.0).reshape(3, 4)
    for subscripts in ("ij,jk->ik", "ij,jk->ki"):
        half = cnp.einsum(subscripts, a, b, precision="highest", _dot_general=halved)
        assert (half == cnp.einsum(subscripts, a, b) / 2).all()
    assert asked[0]["dimension_numbers"] == (((1,), (0,)), ((), ()))
    assert asked[0]["precision"] == (cv.lax.Precision.HIGHEST,) * 2


def test_tensordot_of_more_axes_than_there_are():
    x = cnp.ones((2, 2))
    with pytest.raises(AxisError, match=r"tensordot of f32\[2,2\] .* got axes=3"):
        cnp.tensordot(x, x, axes=3)
    with pytest.raises(AxisError, match=r"axes that both have, but got axes=-1"):
        cnp.tensordot(x, x, axes=-1)


def test_a_histogram_without_bins():
    with pytest.raises(ArgumentError, match=r"one bin at least, but got bins=0"):
        cnp.histogram(cnp.ones(3), bins=0)


@pytest.mark.parametrize("name", ["outer", "kron", "dot", "inner", "tensordot"])
def test_a_product_of_which_nothing_is_summed_keeps_the_sign_of_zero(name):
    args = {
        "outer": (cnp.zeros(1), cnp.array([-0.0, 1.0])),
        "kron": (cnp.zeros(1), cnp.array([-0.0, 1.0])),
        "dot": (0.0, cnp.array([-0.0, 1.0])),
        "inner": (cnp.array(0.0), cnp.array([-0.0, 1.0])),
        "tensordot": (cnp.zeros(1), cnp.array([-0.0, 1.0]), 0),
    }[name]
    x, y, *axes = args
    for way in (lambda f: f, cv.jit):
        found = way(lambda x, y: getattr(cnp, name)(x, y, *axes))(x, y).ravel()
        assert cnp.signbit(found).tolist() == [True, False]

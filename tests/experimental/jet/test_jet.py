"""``jet`` against nested forward mode: every elementwise operation, and programs."""

import math

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import lax
from covector.core.convert import as_array
from covector.errors import ArgumentError, TreeMismatch, TypeMismatch
from covector.experimental.jet import jet
from covector.operations.families import Elementwise
from tests import meshes
from tests.operations.cases import CASES

ORDER = 6


@pytest.fixture(autouse=True)
def _in_double_precision():
    with cv.enable_x64(True):
        yield


def nested(fun, order):
    """The value of a function of one number and its derivatives, as a list."""

    def extended(values):
        def more(t):
            outs, tangents = cv.jvp(values, (t,), (1.0,))
            return [*outs, tangents[-1]]

        return more

    values = lambda t: [fun(t)]  # noqa: E731
    for _ in range(order):
        values = extended(values)
    return values(0.0)


def curves(xs, order, seed=0):
    """Series for arrays, and the curve of which they are the derivatives."""
    generator = np.random.default_rng(seed)
    series = [
        [(generator.normal(size=x.shape) / 2).astype(x.dtype) for _ in range(order)]
        for x in xs
    ]

    def at(t):
        return [
            x + sum(d * t ** (k + 1) / math.factorial(k + 1) for k, d in enumerate(ds))
            for x, ds in zip(xs, series, strict=True)
        ]

    return series, at


def agree(fun, *xs, order=ORDER, rtol=1e-12, jit=False):
    """The derivatives of jet are those of nested forward mode."""
    xs = [cnp.asarray(x) for x in xs]
    series, at = curves(xs, order)
    on_curve = lambda t: fun(*at(t))  # noqa: E731
    wanted = (cv.jit if jit else lambda f: f)(lambda: nested(on_curve, order))()
    value, found = jet(fun, xs, series)
    for k, (a, b) in enumerate(zip([value, *found], wanted, strict=True)):
        scale = np.abs(b).max(initial=1.0)
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * scale, err_msg=f"{k}")


def elementwise():
    """The first row of each elementwise operation with a derivative."""
    found = {}
    for case in (case for rows in CASES.values() for case in rows):
        inexact = all(a.dtype.kind in "fc" for a in case.args)
        if isinstance(case.op, Elementwise) and case.derivative is True and inexact:
            found.setdefault(case.op, case)
    return [pytest.param(case, id=case.label) for case in found.values()]


@pytest.mark.parametrize("case", elementwise())
def test_an_elementwise_operation_is_exact_to_order_six(case):
    # Two elements of each operand: what is nested makes hundreds of operations.
    xs = [a.reshape(-1)[:2] if a.size > 1 else a for a in case.args]
    fixed = [] if case.second_order else xs[:-1]
    agree(
        lambda *ys: case.op(*map(as_array, fixed), *ys), *xs[len(fixed) :], rtol=1e-10
    )


_generator = np.random.default_rng(5)
A, B = _generator.normal(size=(2, 3, 3))
Z = A[0] + 1j * B[0]

PROGRAMS = {
    "complex": (lambda z: cnp.abs(cnp.exp(1j * z) / (z * z + cnp.sin(z))), (Z,)),
    "matmul": (lambda a, b: cnp.tanh(a @ b) @ a, (A, B)),
    "reductions": (lambda a: cnp.sin(a).sum(0) * a.mean() * a.prod(1) * a.max(), (A,)),
    "selection": (
        lambda a, b: cnp.where(a > b, a * b, a / b)[cnp.argsort(b[0])],
        (A, B),
    ),
    "sorting": (lambda a: cnp.sort(a * a, 0) + cnp.cumsum(a, 1), (A,)),
    "indexing": (
        lambda a: (
            a.at[0, cnp.array([0, 2])].multiply(a[1, 1], unique_indices=True).T[1:] ** 3
        ),
        (A,),
    ),
    "softmax": (lambda a: cv.nn.logsumexp(a) * cv.nn.softmax(a), (A,)),
    "jit": (cv.jit(lambda a: cv.nn.gelu(cnp.cos(a))), (A,)),
    "checkpoint": (cv.checkpoint(lambda a: cnp.sin(cnp.sin(a))), (A,)),
    "vmap": (cv.vmap(lambda a: cnp.exp(a) / a.sum()), (A,)),
    "grad": (cv.grad(lambda a: (cnp.tanh(a) @ a).sum()), (A[:2, :2],)),
    "constants": (lambda a: (cnp.ones(2) * 3, a * 0 + 1, cnp.floor(a))[1], (A,)),
}
#: of those that are compiled anew for each derivative of what is nested
ORDERS = {"jit": 2, "checkpoint": 2, "grad": 4}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_made_of_operations_is_exact_to_order_six(name):
    fun, args = PROGRAMS[name]
    agree(fun, *args, rtol=1e-11, order=ORDERS.get(name, ORDER))


def test_loops_and_branches_run_on_series():
    def scan(w, xs):
        carry, ys = lax.scan(lambda c, x: (cnp.sin(c) * x + w, c * x), xs[0], xs)
        return carry + ys.sum()

    def loop(x):
        start = 0, x, cnp.cos(x)
        more = lambda c: (c[0] < 4) & (c[1].sum() < 1e9)  # noqa: E731
        return lax.while_loop(more, lambda c: (c[0] + 1, c[1] * c[2], c[1]), start)[1]

    def branch(x):
        return lax.cond(x.sum() > 0, cnp.exp, lambda v: v * v, x)

    agree(scan, A[0], A, order=4, jit=True)
    agree(loop, A[0], order=4, jit=True)
    agree(branch, A[0], jit=True)
    agree(branch, -A[0], jit=True)
    agree(cv.vmap(branch), A[0], jit=True)


def test_rules_of_users_and_of_solvers_are_followed():
    @cv.custom_jvp
    def f(x):
        return cnp.sin(x)

    f.defjvp(lambda p, t: (f(*p), 3 * f(*p) * t[0]))  # as if it were exp(3 x)
    _, found = jet(f, (0.5,), ((1.0, 0.0, 0.0),))
    np.testing.assert_allclose(found, math.sin(0.5) * np.array([3, 9, 27]), rtol=1e-14)

    def scaled(x):  # a linear call, whose residual is a constant
        call = cv.custom_derivatives.linear_call
        return cnp.sin(call(lambda r, v: r * v, lambda r, ct: r * ct, 3.0, x))

    agree(scaled, A[0])
    agree(cnp.linalg.solve, A + 4 * np.eye(3), B[0], order=4, jit=True)


def test_shards_have_the_series_of_the_whole():
    mesh = meshes.mesh("4")
    f = cv.shard_map(
        lambda x: cnp.sin(x) * lax.psum(x, "x"),
        mesh=mesh,
        in_specs=cv.P("x"),
        out_specs=cv.P("x"),
    )
    x, series = cnp.arange(4.0), [[cnp.ones(4), cnp.zeros(4)]]
    _, found = jet(f, (x,), series)
    _, wanted = jet(lambda x: cnp.sin(x) * x.sum(), (x,), series)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_it_can_be_transformed_as_any_function_can():
    def third(x):
        return jet(cnp.sin, (x,), ((1.0, 0.0, 0.0),))[1][2]

    xs = cnp.array([0.3, 0.7])
    np.testing.assert_allclose(cv.jit(cv.vmap(third))(xs), -cnp.cos(xs), rtol=1e-13)
    np.testing.assert_allclose(cv.vmap(cv.grad(third))(xs), cnp.sin(xs), rtol=1e-13)
    fourth = jet(third, (0.3,), ((1.0,),))[1][0]
    assert float(fourth) == pytest.approx(math.sin(0.3))


def test_trees_come_and_go_and_scales_can_be_left_out():
    def f(p, y):
        return {"s": p["x"] * y, "n": cnp.argmax(p["x"])}

    p, dp = {"x": np.array([1.0, 2.0])}, {"x": np.ones(2)}
    value, series = jet(f, (p, 3), ([dp, dp], [1.0, 0.0]))
    assert (value["s"].tolist(), int(value["n"])) == ([3, 6], 1)
    assert [x.tolist() for x in series["s"]] == [[4, 5], [5, 5]]
    assert series["n"] == []
    _, scaled = jet(f, (p, 3), ([dp, dp], [1.0, 0.0]), factorial_scaled=False)
    assert [x.tolist() for x in scaled["s"]] == [[4, 5], [4, 4]]
    assert jet(cnp.sin, (0.0,), ((),)) == (0.0, [])


def test_the_number_of_operations_does_not_double_with_the_order():
    def count(fun, order):
        curve = [1.0, *[0.0] * (order - 1)]
        program = cv.make_jaxpr(lambda x: jet(fun, (x,), (curve,)))(0.7)
        return len(program.eqns)

    for fun in (cnp.sin, cnp.tanh, cnp.log, lax.erf):
        assert count(fun, 16) < 5 * count(fun, 8)
    for fun in (lambda x: x**x, lambda x: cnp.linalg.solve(cnp.eye(2) * x, cnp.eye(2))):
        assert count(fun, 8) < 9 * count(fun, 4)


def test_errors_say_what_series_must_be_like():
    with pytest.raises(
        ArgumentError, match=r"one for each of 1 primals.*lengths \[1, 1\]"
    ):
        jet(cnp.sin, (1.0,), ((1.0,), (2.0,)))
    with pytest.raises(ArgumentError, match=r"series of one length.*lengths \[1, 2\]"):
        jet(cnp.add, (1.0, 1.0), ((1.0,), (2.0, 3.0)))
    with pytest.raises(
        TypeMismatch, match=r"like the primals, f64\[2\], but got f64\[\]"
    ):
        jet(cnp.sin, (np.ones(2),), ((1.0,),))
    with pytest.raises(TreeMismatch, match="trees like the primals"):
        jet(cnp.sin, (1.0,), (((1.0, 2.0),),))
    with pytest.raises(TypeMismatch, match="needs primals in a tuple or a list"):
        jet(cnp.sin, 1.0, ((1.0,),))

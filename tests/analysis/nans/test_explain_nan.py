"""``explain_nan``: programs with a planted NaN, and what is said of each."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import P, errors, lax
from tests.meshes import mesh

SOURCE = Path(__file__).read_text("utf-8").splitlines()
X = np.array([1.0, 0.0, -1.0], np.float32)
ROWS = np.stack([X + 2, X + 2, X])  # bad in the last lane


class Planted(NamedTuple):
    """A program, and what is to be said of it; its line has its name as a comment."""

    fun: Any
    args: tuple[Any, ...]
    operation: str | None
    reason: str
    step: Any = None
    lane: Any = None
    shard: Any = None
    backward: bool = False
    suggestion: str = ""


PLANTED: dict[str, Planted] = {}


def planted(*args, operation, reason, **further):
    """Add a program to the table."""

    def add(fun):
        PLANTED[fun.__name__] = Planted(fun, args, operation, reason, **further)
        return fun

    return add


def grad_of(fun):
    """The gradient of a sum of what a function gives, under the function's name."""
    gradient = cv.grad(lambda *args: fun(*args).sum())
    gradient.__name__ = fun.__name__
    return gradient


def vmapped(fun, in_axes=0):
    mapped = cv.vmap(fun, in_axes)
    mapped.__name__ = fun.__name__
    return mapped


# -- forward ---------------------------------------------------------------------------


@planted(X, operation="log", reason="logarithm of a negative number, -1")
@cv.jit
def log_of_negative(x):
    return cnp.log(x) * 2  # log_of_negative


@planted(X, operation="sqrt", reason="square root of a negative number, -1")
def sqrt_of_negative(x):
    y = cnp.where(x > 5, cnp.log(x), 0.0)  # NaN, and not chosen
    return y + cnp.sqrt(x)  # sqrt_of_negative


@planted(X * 0 + 2.7, operation="sqrt", reason="may be negative by rounding")
def variance_by_hand(x):
    variance = (x * x).mean() - x.mean() ** 2 - 1e-6
    return x / cnp.sqrt(variance)  # variance_by_hand


@planted(X, operation="div", reason="0 / 0", suggestion="where(d != 0, d, 1.0)")
def ratio(x):
    return x / (x * 2)  # ratio


@planted(X * 0, operation="div", reason="norm or a standard deviation that is 0")
def normalise(x):
    n = cnp.sqrt((x * x).sum())
    return x / n  # normalise


@planted(X * 0, operation="div", reason="normalisation by a sum that is 0")
def weights(x):
    return x / x.sum()  # weights


@planted(abs(X), operation="mul", reason="0 · log 0", suggestion="xlogy")
def entropy(p):
    return -(p * cnp.log(p)).sum()  # entropy


@planted(X * 100, operation="div", reason="exponentials overflowed")
def softmax_by_hand(x):
    e = cnp.exp(x)
    return e / e.sum()  # softmax_by_hand


@planted(X * 0 - np.inf, operation="sub", reason="all elements are masked")
def masked_softmax(x):
    return cnp.exp(x - x.max())  # masked_softmax


@planted(X, operation="pow", reason="negative base, -1, to the power 0.5")
def power(x):
    return x**0.5  # power


@planted(
    X * np.float32(1.001),
    operation="acos",
    reason="outside of [-1, 1]",
    suggestion="return cnp.arccos(cnp.clip(x, -1, 1))",
)
def angle(x):
    return cnp.arccos(x)  # angle


@planted(X, operation="cholesky", reason="its smallest eigenvalue is -1")
def factor(x):
    return cnp.linalg.cholesky(cnp.outer(x, x) - cnp.eye(3))  # factor


@planted(X, operation="upper_cholesky", reason="its smallest eigenvalue is -1")
def upper_factor(x):
    a = cnp.triu(cnp.outer(x, x) - cnp.eye(3))
    return cnp.linalg.cholesky(a, upper=True, symmetrize_input=False)  # upper_factor


@planted(X, operation="rem", reason="remainder of a division by 0")
def remainder(x):
    return cnp.remainder(x, x * 0)  # remainder


@planted(X.astype(np.float16), operation="sub", reason="inf - inf")
def narrow(x):
    y = x * 60000.0 * 2.0
    return y - y  # narrow


@planted(
    -X * 200, operation="mul", reason="saturated sigmoid", suggestion="log_sigmoid"
)
def cross_entropy(x):
    p = cv.nn.sigmoid(x)
    return ((1 - p) * 0 * cnp.log(p)).sum()  # cross_entropy


# -- what came in ----------------------------------------------------------------------


@planted(
    {"w": X.repeat(2).reshape(2, 3) * np.float32("nan")}, X, operation=None, reason=""
)
def came_in(params, x):
    return params["w"] @ x


# -- backward --------------------------------------------------------------------------


@planted(
    X,
    operation="div",
    reason="0 · inf in the adjoint of log",
    backward=True,
    suggestion="y = cnp.where(x > 0, cnp.log(cnp.where(x > 0, x, 1.0)), 0.0)",
)
@grad_of
def where_around_log(x):
    y = cnp.where(x > 0, cnp.log(x), 0.0)  # where_around_log
    return y * 2


@planted(
    X,
    operation="pow",
    reason="0 · NaN in the adjoint of pow",
    suggestion="p = cnp.where(x <= 0, 1.0, x)**0.5",
)
@grad_of
def where_around_power(x):
    p = x**0.5  # where_around_power
    return cnp.where(x <= 0, 0.0, p)


@planted(
    X * 0,
    operation="mul",
    reason="the slope of sqrt is infinite at 0",
    suggestion="norm",
    backward=True,
)
@grad_of
def norm_by_hand(x):
    return cnp.sqrt((x * x).sum())  # norm_by_hand


@planted(
    X,
    operation="mul",
    reason="adjoint of div",
    backward=True,
    suggestion="q = 1.0 / cnp.where(x != 0, x, 1.0)",
)
@cv.jit
@grad_of
def where_around_division(x):
    q = 1.0 / x  # where_around_division
    return cnp.where(x != 0, q, 0.0)


@planted(X, operation="log", reason="logarithm of a negative number")
@grad_of
def rule_of_user(x):
    @cv.custom_vjp
    def f(x):
        return x * 1.0

    def backward(x, ct):
        return (ct * cnp.log(x - 1),)  # rule_of_user

    f.defvjp(lambda x: (x * 1.0, x), backward)
    return f(x)


@planted(X, operation="sqrt", reason="0 · NaN in the adjoint of sqrt")
@grad_of
@cv.checkpoint
def checkpointed(x):
    y = cnp.sqrt(x)  # checkpointed
    return cnp.where(x > 0, y, 0.0)


@planted(X * 0, operation="div", reason="the slope of sqrt is infinite", backward=True)
@grad_of
def where_that_takes_it(x):
    r = cnp.sqrt(x)  # where_that_takes_it
    return cnp.where(x >= 0, r, 0.0) * 0


# -- in loops and branches -------------------------------------------------------------


@planted(3.0, operation="log", reason="negative number", step=3)
@cv.jit
def in_scan(x):
    def step(c, _):
        return cnp.log(c), c  # in_scan

    return lax.scan(step, x, None, length=6)[0]


@planted(3.0, operation="sqrt", reason="negative number, -1", step=4)
def in_while(x):
    def step(c):
        i, x = c
        return i + 1, cnp.sqrt(3.0 - i) + x  # in_while

    return lax.while_loop(lambda c: c[0] < 9, step, (0, x))[1]


@planted(1.0, operation="sqrt", reason="negative number", step=(1, 4))
def in_nested_loops(x):
    def outer(i, x):
        def inner(j, x):
            return x + cnp.sqrt(4.5 - i - j)  # in_nested_loops

        return lax.fori_loop(0, 5, inner, x)

    return lax.fori_loop(0, 5, outer, x)


@planted(2.0, operation="log", reason="negative number", step=2)
def in_branch_of_scan(x):
    def step(c, t):
        def branch():
            return cnp.log(-c)  # in_branch_of_scan

        return lax.cond(t > 1, branch, lambda: c), None

    return lax.scan(step, x, cnp.arange(4.0))[0]


@planted(
    np.array([4.0, 4.0, 0.0, 4.0], np.float32),
    operation="div",
    step=2,
    reason="adjoint of sqrt",
    backward=True,
)
@grad_of
def backward_in_scan(xs):
    def step(c, x):
        r = cnp.sqrt(x)  # backward_in_scan
        return c + cnp.where(x > 0, r, 0.0), None

    return lax.scan(step, 0.0, xs)[0]


@planted(2.0, operation="div", reason="adjoint of sqrt", step=2, backward=True)
@grad_of
def backward_in_while(x):
    def step(c):
        i, x = c
        r = cnp.sqrt(x - 2.0 * (i == 2) * x / x)  # backward_in_while
        return i + 1, x + cnp.where(i == 2, 0.0, r) * 0

    return lax.while_loop(lambda c: c[0] < 4, step, (0, x))[1]


# -- in lanes --------------------------------------------------------------------------


@planted(ROWS, operation="log", reason="negative number", lane=2)
@vmapped
def in_lane(x):
    return cnp.log(x).sum()  # in_lane


@planted(ROWS, operation="div", reason="adjoint of log", lane=2, backward=True)
@grad_of
@vmapped
@cv.jit
def backward_in_lane(x):
    y = cnp.log(x)  # backward_in_lane
    return cnp.where(x > 0, y, 0.0)


@planted(ROWS, operation="div", reason="adjoint of log", lane=2, backward=True)
@cv.jit
@vmapped
@grad_of
def lane_of_gradient(x):
    y = cnp.log(x)  # lane_of_gradient
    return cnp.where(x > 0, y, 0.0)


@planted(
    np.ones((3, 2, 4), np.float32) * np.arange(3)[:, None, None],
    operation="log",
    reason="negative number",
    lane=(1, 0),
    step=2,
)
@vmapped
@vmapped
def in_lane_and_step(xs):
    def step(c, x):
        return c - x, cnp.log(c + 0.5)  # in_lane_and_step

    return lax.scan(step, 1.0, xs)[1]


@planted(
    np.array([1, 5, 2]), operation="sqrt", reason="negative number", lane=1, step=4
)
@vmapped
def lanes_that_stop(n):
    def step(c):
        i, x = c
        return i + 1, x + cnp.sqrt(3.5 - i)  # lanes_that_stop

    return lax.while_loop(lambda c: c[0] < n, step, (0, 0.0))[1]


# -- in shards -------------------------------------------------------------------------


def sharded(fun):
    def over_mesh(x):
        shard = cv.shard_map(fun, mesh=mesh("4"), in_specs=P("x"), out_specs=P("x"))
        return shard(x)

    over_mesh.__name__ = fun.__name__
    return over_mesh


@planted(
    np.array([1, 1, 1, 1, 2, -1, 1, 1], np.float32),
    operation="log",
    reason="negative number",
    shard={"x": 2},
)
@sharded
def in_shard(x):
    return cnp.log(x) / lax.psum(x.sum(), "x")  # in_shard


@planted(
    np.array([1, 1, 0, 1, 2, 1, 1, 1], np.float32),
    operation="div",
    reason="adjoint of sqrt",
    shard={"x": 1},
    backward=True,
)
@cv.jit
@grad_of
@sharded
def backward_in_shard(x):
    r = cnp.sqrt(x)  # backward_in_shard
    return cnp.where(x > 0, r, 0.0) * lax.psum(1, "x")


@planted(
    np.array([1, 1, 1, 1, 4, 1, 1, 1], np.float32),
    operation="sqrt",
    reason="negative number",
    shard={"x": 2},
    step=1,
)
@sharded
def loop_in_shard(x):
    def step(c, _):
        return c + 4, cnp.sqrt(9.5 - c - x)  # loop_in_shard

    return lax.scan(step, x, None, length=3)[1].sum(0) + 0 * lax.pmean(x, "x")


# -- the table -------------------------------------------------------------------------


def line_of(name):
    return next(
        (i for i, text in enumerate(SOURCE, 1) if text.endswith(f"# {name}")), None
    )


@pytest.mark.parametrize("name", PLANTED)
def test_the_planted_nan_is_found(name):
    row = PLANTED[name]
    origin = cv.explain_nan(row.fun)(*row.args)
    text = str(origin)
    assert origin and origin.kind == "NaN", text
    assert origin.operation == row.operation, text
    assert (origin.line and origin.line.number) == line_of(name), text
    assert (origin.step, origin.lane, origin.shard) == (row.step, row.lane, row.shard)
    assert row.reason in (origin.reason or ""), text
    assert row.suggestion in (origin.suggestion or ""), text
    assert (origin.forward_line is not None) == row.backward, text


# -- what is said ----------------------------------------------------------------------


def test_the_answer_is_readable_and_data():
    fun, args = PLANTED["backward_in_lane"][:2]
    origin = cv.explain_nan(fun)(*args)
    line, here = line_of("backward_in_lane"), "test_explain_nan.py"
    assert str(origin).splitlines()[1:] == [
        "  element: [1], of 0.0, 0.0",
        "  lane: 2",
        f"  backward pass of: {__file__}:{line} (backward_in_lane)",
        f"  why: 0 · inf in the adjoint of log, {here}:{line}; the "
        f"`where` at {here}:{line + 1} discarded its forward value, not its "
        "derivative; put the safe operand inside",
        "  write: y = cnp.log(cnp.where(x > 0, x, 1.0))  # backward_in_lane",
    ]
    data = json.loads(json.dumps(origin.to_dict()))
    assert data["lane"] == 2 and data["line"] == data["forward_line"]
    assert data["operands"][1]["values"] == [1.0, 0.0, -1.0]


def test_a_value_that_is_discarded_in_one_result_is_bad_in_another():
    def f(x):
        root = cnp.sqrt(x)
        return root, cnp.where(x > 0, root, 0.0)

    reason = cv.explain_nan(f)(X).reason
    assert reason == "the square root of a negative number, -1"


def test_no_nan_is_false_and_says_so():
    origin = cv.explain_nan(cnp.log)(0.0)
    assert not origin and origin.operation is None
    assert str(origin) == "explain_nan of log: no NaN in its results"
    assert cv.explain_nan(cnp.log, kinds="inf")(0.0).reason == "the logarithm of 0"


@pytest.mark.parametrize(
    ("fun", "x", "reason"),
    [
        (cnp.exp, 100.0, "exp overflows: a result is beyond the largest float32"),
        (lambda x: x / 0, 1.0, "a division by 0"),
        (
            lambda x: x * 3,
            np.float16(3e4),
            "a result is beyond the largest float16, 65504",
        ),
        (lambda x: x**-1.5, 0.0, "0 to a negative power"),
        (cv.grad(lambda x: x**0.5), 0.0, "the slope of pow is infinite at 0, of an ex"),
        (cv.grad(cnp.arcsin), 1.0, "the slope of asin is infinite at -1 and 1"),
    ],
)
def test_the_reasons_of_infinities(fun, x, reason):
    assert cv.explain_nan(fun, kinds=("nan", "inf"))(x).reason.startswith(reason)


def test_the_element_of_an_argument_that_was_bad_before():
    w = np.ones((3, 5), np.float32)
    w[2, 4] = np.nan

    def model(params, *, x):
        return params["w"] @ x

    origin = cv.explain_nan(model)({"w": w}, x=np.ones(5, np.float32))
    assert origin.argument == "argument params['w'][2, 4]"
    assert str(origin).startswith("NaN came in with argument params['w'][2, 4], f32[3,")
    constant = cv.explain_nan(lambda x: x * np.float32("nan"))(1.0)
    assert constant.constant and "as a constant, read at" in str(constant)


def test_what_was_computed_while_tracing_is_to_blame():
    def f(x):
        table = cnp.log(cnp.zeros(3)) * 0  # computed while tracing
        return x + table

    origin = cv.explain_nan(cv.jit(f))(X)
    assert (origin.operation, origin.line.number) == (
        "mul",
        line_of("computed while tracing"),
    )
    assert cv.explain_nan(f, kinds=("nan", "inf"))(X).operation == "log"


def test_effects_do_not_happen_again():
    seen = []

    @cv.jit
    def f(x):
        cv.debug.callback(lambda v: seen.append(float(v)), x)
        return cnp.log(x)

    assert cv.explain_nan(f)(-1.0).operation == "log"
    assert seen == []

    def g(x):
        return cnp.log(cv.experimental.io_callback(np.negative, x, x))

    said = str(cv.explain_nan(g)(cnp.ones(())))
    assert "an effect and a result that is needed: it would happen twice" in said


def test_a_function_that_asks_for_values_is_run_as_it_is():
    def f(x, name="log"):
        return getattr(cnp, name)(x) if x < 0 else x

    origin = cv.explain_nan(f)(-1.0)
    assert origin.operation == "log"
    assert origin.note.startswith("run as it is, since it cannot be traced as a whole")


def test_static_arguments_stay_static():
    f = cv.jit(lambda x, n: cnp.log(x).repeat(n), static_argnums=1)
    assert cv.explain_nan(f)(-1.0, 3).operation == "log"


def test_the_lane_of_lanes_that_communicate():
    def f(x):
        return cnp.log(x) - lax.pmean(x, "i")

    origin = cv.explain_nan(cv.jit(cv.vmap(f, axis_name="i")))(X)
    assert (origin.operation, origin.index, origin.lane) == ("log", (), 2)
    pairs = cnp.stack([abs(X) + 1, X + 2])
    nested = cv.vmap(cv.vmap(f), axis_name="i")
    assert cv.explain_nan(nested)(pairs.at[1, 2].set(-1)).lane == (1, 2)
    # With a derivative around them they are one batch.
    total = cv.grad(lambda x: cv.vmap(f, axis_name="i")(x).sum())
    origin = cv.explain_nan(total, kinds=("nan", "inf"))(abs(X))
    assert (origin.operation, origin.index, origin.lane) == ("div", (1,), None)


def test_no_program_of_it_is_found_later():
    traces = []
    f = cv.jit(cv.vmap(lambda x: (traces.append(1), cnp.log(x))[1]))
    cv.explain_nan(f)(ROWS)
    during = len(traces)
    f(ROWS)
    assert "vmap" not in str(f.trace(ROWS).jaxpr)
    assert len(traces) == during + 1


def test_debug_nans_says_the_same():
    row = PLANTED["where_around_log"]
    with cv.debug_nans(), pytest.raises(errors.NonFiniteError) as caught:
        cv.jit(row.fun)(*row.args)
    origin = caught.value.origin
    assert row.reason in origin.reason and row.suggestion in origin.suggestion
    assert f"why: {origin.reason}; write {origin.suggestion}" in caught.value.__notes__


def test_complex_numbers():
    origin = cv.explain_nan(lambda z: (z * 0) / (z * 0))(np.complex64(1 + 2j))
    assert origin.operation == "div"
    assert json.dumps(origin.to_dict())


def test_inside_of_another_function_nothing_has_a_value():
    def outer(x):
        return x if cv.explain_nan(cnp.log)(x) else x + 1

    message = "of log runs a function on values, but is called inside of outer"
    with pytest.raises(errors.ArgumentError, match=message):
        cv.jit(outer)(1.0)


def test_kinds_have_names():
    with pytest.raises(errors.ArgumentError, match='for kinds "nan", "inf" or both'):
        cv.explain_nan(cnp.log, kinds="nans")

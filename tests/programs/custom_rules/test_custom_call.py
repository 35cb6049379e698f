"""Functions with a rule for each mode, and what all custom rules have in common."""

import functools

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import custom_derivatives, errors, lax


def square(x):
    return x * x


def with_rule(kind=cv.custom_jvp, fun=square):
    """``fun``, whose derivative is tenfold in forward and hundredfold in reverse."""
    f = kind(fun)
    f.defjvp(lambda p, t: (f(*p), 10 * cv.jvp(fun, p, t)[1]))
    f.defvjp(lambda x: (f(x), x), lambda x, ct: (100 * cv.vjp(fun, x)[1](ct)[0],))
    return f


AROUND = {
    "nothing": lambda f: f,
    "jit": cv.jit,
    "jit of jit": lambda f: cv.jit(cv.jit(f)),
    "checkpoint": cv.checkpoint,
    "scan": lambda f: (
        lambda x: lax.scan(lambda c, _: (c, f(c)), x, None, length=2)[1][1]
    ),
    "carried": lambda f: (
        lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=1)[0]
    ),
    "cond": lambda f: lambda x: lax.cond(x > 0, f, lambda x: x, x),
    "vmap": lambda f: lambda x: cv.vmap(f)(cnp.stack([x, x]))[0],
    "named vmap": lambda f: (
        lambda x: cv.vmap(lambda y: lax.pmean(f(y), "i"), axis_name="i")(
            cnp.stack([x, x])
        )[0]
    ),
    "shared": lambda f: (
        lambda x: cv.vmap(
            lambda _: f(x), axis_name="i", out_axes=None, axis_size=2, in_axes=None
        )(0)
    ),
    "custom": lambda f: with_both_rules_of(f),  # noqa: PLW0108  defined below
}


def with_both_rules_of(f):
    g = cv.custom_vjp(f)
    g.defjvp(lambda p, t: cv.jvp(f, p, t))
    g.defvjp(lambda x: cv.vjp(f, x), lambda pull, ct: pull(ct))
    return g


@pytest.fixture(params=AROUND.values(), ids=AROUND)
def around(request):
    return request.param


@pytest.fixture(params=[lambda f: f, cv.jit], ids=["eager", "compiled"])
def run(request):
    return request.param


# -- two rules -------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [cv.custom_jvp, cv.custom_vjp])
def test_each_mode_takes_its_rule(kind, around, run):
    f = around(with_rule(kind))

    def jvp(x):
        return cv.jvp(f, (x,), (1.0,))[1]

    def pushed(x):
        return cv.linearize(f, x)[1](1.0)

    assert float(run(f)(3.0)) == 9.0
    assert float(run(cv.grad(f))(3.0)) == 600.0
    assert float(run(jvp)(3.0)) == 60.0
    assert float(run(pushed)(3.0)) == 60.0


def test_jacobians_take_the_rule_of_their_mode(run):
    f = with_rule()
    assert float(run(cv.jacfwd(f))(3.0)) == 60.0
    assert float(run(cv.jacrev(f))(3.0)) == 600.0


def test_what_linearize_gives_is_transposed_by_the_reverse_rule(around, run):
    f = around(with_rule())

    def back(x):
        return cv.grad(cv.linearize(f, x)[1])(1.0)

    assert float(run(back)(3.0)) == 600.0


def test_forward_over_reverse_differentiates_the_reverse_rule_forwards(around, run):
    f = around(with_rule())
    second = run(lambda x: cv.jvp(cv.grad(f), (x,), (1.0,))[1])
    assert float(second(3.0)) == 200.0


def test_reverse_over_forward_differentiates_the_forward_rule_in_reverse(around, run):
    f = around(with_rule())
    second = run(cv.grad(lambda x: cv.jvp(f, (x,), (1.0,))[1]))
    assert float(second(3.0)) == 20.0


def test_both_rules_under_a_while_loop():
    f = with_rule()

    def through(x):
        return lax.while_loop(lambda c: c[1] < 2, lambda c: (f(c[0]), c[1] + 1), (x, 0))

    tangent = cv.jvp(lambda x: through(x)[0], (1.0,), (1.0,))[1]
    assert float(tangent) == 400.0


def test_rules_may_be_set_in_either_order():
    f = cv.custom_vjp(square)
    f.defvjp(lambda x: (x * x, x), lambda x, ct: (100 * x * ct,))
    with pytest.raises(errors.NotDifferentiable):
        cv.jvp(f, (3.0,), (1.0,))
    f.defjvps(lambda t, value, x: 10 * x * t)
    assert float(cv.jvp(f, (3.0,), (1.0,))[1]) == 30.0
    assert float(cv.grad(f)(3.0)) == 300.0


def test_third_order_in_any_succession(run):
    def sine():
        f = cv.custom_vjp(cnp.sin)
        f.defjvp(lambda p, t: (f(*p), cnp.cos(p[0]) * t[0]))
        f.defvjp(lambda x: (f(x), x), lambda x, ct: (cnp.cos(x) * ct,))
        return f

    for first in (cv.jacfwd, cv.jacrev):
        for second in (cv.jacfwd, cv.jacrev):
            for third in (cv.jacfwd, cv.jacrev):
                found = run(first(second(third(cv.jit(sine())))))(1.0)
                np.testing.assert_allclose(found, -np.cos(1), rtol=1e-5)


def test_forward_mode_of_what_has_a_reverse_rule_only_says_what_to_add():
    @cv.custom_vjp
    def cube(x):
        return x**3

    cube.defvjp(lambda x: (x**3, x), lambda x, ct: (3 * x * x * ct,))
    for f in (cube, cv.jit(cube), lambda x: cv.vmap(cube)(cnp.stack([x, x]))[0]):
        for forward in (
            lambda x, f=f: cv.jvp(f, (x,), (1.0,)),
            lambda x, f=f: cv.linearize(f, x)[1](1.0),
            cv.jacfwd(f),
        ):
            with pytest.raises(errors.NotDifferentiable) as caught:
                cv.jit(forward)(2.0)
            message = str(caught.value)
            assert " cube (test_custom_call.py:" in message
            assert (
                "    @cube.defjvp\n    def rule(primals, tangents): return" in message
            )
            assert "or use custom_jvp" in message


def test_a_function_without_rules_is_refused():
    for kind in (cv.custom_jvp, cv.custom_vjp):
        with pytest.raises(
            errors.NotDifferentiable,
            match=r"no rule yet.*@square\.defjvp, or with square\.defvjp\(fwd, bwd\)",
        ):
            kind(square)(1.0)


def test_the_first_pass_of_a_checkpoint_computes_no_residuals():
    f = cv.custom_vjp(lambda x: 2 * x)
    f.defvjp(
        lambda x: (2 * x, cnp.exp(x)), lambda r, ct: (ct * r,), optimize_remat=True
    )
    program = cv.make_jaxpr(cv.grad(cv.checkpoint(f)))(1.0)
    shown = str(program)
    assert shown.count("= exp ") == 1
    assert shown.index("= exp ") > shown.index("separate=True")


# -- closures --------------------------------------------------------------------------


def closing(kind):
    """sin(a·x) with rules that close over a."""

    def outer(x, a):
        f = cv.custom_jvp(lambda y: cnp.sin(a * y))
        if kind != "reverse":
            f.defjvp(lambda p, t: (f(*p), a * cnp.cos(a * p[0]) * t[0]))
        if kind != "forward":
            f.defvjp(lambda y: (f(y), y), lambda y, ct: (a * cnp.cos(a * y) * ct,))
        return f(x)

    return outer


@pytest.mark.parametrize("kind", ["forward", "reverse", "both"])
def test_rules_that_close_over_traced_values_to_third_order(kind, around):
    def third(x, a):
        inner = around(lambda x: closing(kind)(x, a))
        return cv.grad(cv.grad(cv.grad(inner)))(x)

    wanted = -8 * np.cos(2 * 0.5)
    np.testing.assert_allclose(cv.jit(third)(0.5, 2.0), wanted, rtol=1e-5)
    both = cv.vmap(third)(cnp.array([0.5, 0.5]), cnp.array([2.0, 1.0]))
    np.testing.assert_allclose(both, [wanted, -np.cos(0.5)], rtol=1e-5)


class Slotted:
    __slots__ = ("a",)

    def __init__(self, a):
        self.a = a


def test_values_that_only_the_function_closes_over(around, run):
    def f(x, a):
        held = Slotted(a)
        g = cv.custom_vjp(lambda y: y * held.a)
        g.defvjp(lambda y: (2.0 * y, None), lambda _, ct: (7 * ct,))
        return around(g)(x)

    ones, rows = cnp.ones(2), cnp.array([3.0, 4.0])
    assert run(cv.vmap(f))(ones, rows).tolist() == [3.0, 4.0]
    assert run(cv.vmap(cv.grad(f)))(ones, rows).tolist() == [7.0, 7.0]
    assert run(cv.grad(lambda x, a: cnp.sum(cv.vmap(f)(x, a))))(ones, rows)[0] == 7.0


def test_a_rule_none_of_whose_arguments_is_differentiated_gives_zero(run):
    def f(a):
        g = cv.custom_vjp(lambda y: y * a)
        g.defvjp(lambda y: (2.0 * y, None), lambda _, ct: (7 * ct,))
        return g(3.0)

    assert float(run(cv.grad(f))(2.0)) == 0.0


def test_programs_inside_of_rules_may_close_over_traced_values_too(run):
    def f(x, a):
        g = cv.custom_vjp(lambda y: y * a)

        def bwd(_, ct):
            twice = cv.jit(lambda c: lax.scan(lambda s, _: (s * a, 0), c, None, 2)[0])
            return (twice(ct),)

        g.defvjp(lambda y: (y * a, None), bwd)
        return cv.jit(g)(x)

    assert float(run(cv.grad(cv.jit(f)))(1.0, 3.0)) == 9.0
    over = cv.vmap(cv.grad(f))
    assert run(over)(cnp.ones(2), cnp.array([3.0, 4.0])).tolist() == [9.0, 16.0]


def test_a_differentiated_value_is_refused_only_where_it_is_used():
    class Holder:
        def __init__(self, factor):
            self.factor = factor

    @functools.partial(cv.custom_vjp, nondiff_argnums=(0,))
    def f(holder, x):
        return 2 * x

    f.defvjp(lambda holder, x: (f(holder, x), None), lambda h, _, ct: (20 * ct,))
    g = cv.custom_vjp(f.fun, nondiff_argnums=(0,))
    g.defvjp(f.fwd, lambda h, _, ct: (ct * h.factor,))

    def loss(h, a):
        return h(Holder(a), a)

    assert float(cv.grad(loss, argnums=1)(f, 3.0)) == 20.0
    with pytest.raises(errors.NotDifferentiable, match="or takes it as a nondiff"):
        cv.grad(loss, argnums=1)(g, 3.0)


# -- nondiff arguments -----------------------------------------------------------------


@functools.partial(cv.custom_vjp, nondiff_argnums=(1,), nondiff_argnames=("how",))
def scaled(x, k, how="up"):
    return x * k if how == "up" else x / k


def _forward(x, k, how):
    return scaled(x, k, how), x


scaled.defvjp(
    _forward, lambda k, how, x, ct: (10 * ct * (k if how == "up" else 1 / k),)
)


@scaled.defjvp
def _(k, how, primals, tangents):
    return scaled(*primals, k, how), 10 * tangents[0] * (k if how == "up" else 1 / k)


@pytest.mark.parametrize("derive", [cv.grad, cv.jacfwd])
def test_nondiff_arguments_may_be_numbers_arrays_and_tracers(derive):
    slope = derive(scaled)
    for k in (4.0, np.float32(4), cnp.asarray(4.0)):
        assert float(slope(1.0, k)) == 40.0
        assert float(slope(1.0, k, "down")) == 2.5
    assert float(cv.jit(slope)(1.0, 4.0)) == 40.0
    assert float(cv.jit(derive(cv.jit(scaled)))(1.0, 4.0)) == 40.0
    over = cv.vmap(lambda x, k: derive(lambda x: scaled(x, k, how="down"))(x))
    assert over(cnp.ones(2), cnp.array([1.0, 4.0])).tolist() == [10.0, 2.5]
    rows = derive(
        lambda x: lax.scan(lambda c, k: (scaled(c, k), 0), x, cnp.array([2.0, 3.0]))[0]
    )
    assert float(rows(1.0)) == float(cv.jit(rows)(1.0)) == 600.0


def test_a_differentiated_nondiff_argument_is_refused():
    for derive in (cv.grad, cv.jacfwd):
        with pytest.raises(errors.NotDifferentiable, match="takes it as a nondiff arg"):
            derive(scaled, argnums=1)(1.0, 2.0)


def test_arguments_that_are_no_arrays_must_be_nondiff():
    with pytest.raises(
        errors.DTypeError, match=r"'up' .* name the argument in nondiff"
    ):
        with_rule(fun=lambda x: x)("up")


def test_a_nondiff_argument_that_is_not_passed():
    f = cv.custom_jvp(lambda *args: args[0], nondiff_argnums=(2,))
    f.defjvp(lambda k, p, t: (p[0], t[0]))
    with pytest.raises(
        errors.TypeMismatch, match="nondiff_argnums 2, but the call has"
    ):
        f(1.0)


# -- symbolic zeros --------------------------------------------------------------------


def test_symbolic_zeros_of_each_mode_are_its_own():
    seen = []

    @cv.custom_vjp
    def f(x, y):
        return x * y, y

    def rule(primals, tangents):
        seen.append([isinstance(t, custom_derivatives.SymbolicZero) for t in tangents])
        return f(*primals), (tangents[0] * primals[1], tangents[1])

    def fwd(x, y):
        seen.append((x.perturbed, y.perturbed))
        return f(x.value, y.value), y.value

    f.defjvp(rule, symbolic_zeros=True)
    f.defvjp(fwd, lambda y, cts: (cts[0] * y, None), symbolic_zeros=True)
    assert float(cv.jvp(lambda x: f(x, 3.0)[0], (2.0,), (1.0,))[1]) == 3.0
    assert float(cv.grad(lambda x: f(x, 3.0)[0])(2.0)) == 3.0
    assert seen == [[False, True], (True, False)]


def test_zeros_from_primals():
    given = {"x": cnp.ones(2), "n": 3, "w": 1.0}
    zeros = custom_derivatives.zero_from_primal(given)
    assert zeros["x"].tolist() == [0.0, 0.0]
    assert zeros["n"].dtype == cv.float0
    symbolic = custom_derivatives.zero_from_primal(given, symbolic_zeros=True)
    assert repr(symbolic["x"]) == "SymbolicZero(f32[2])"
    assert (symbolic["n"].shape, symbolic["n"].dtype) == ((), cv.float0)


# -- other names of covector.custom_derivatives ----------------------------------------


def test_primal_values_of_a_tree():
    pair = custom_derivatives.CustomVJPPrimal
    found = custom_derivatives.custom_vjp_primal_tree_values(
        {"a": pair(1.0, True), "b": [pair(2.0, False)]}
    )
    assert found == {"a": 1.0, "b": [2.0]}


def test_closure_convert_makes_an_argument_of_what_is_closed_over(run):
    @functools.partial(cv.custom_vjp, nondiff_argnums=(0,))
    def twice(f, x, *consts):
        return f(f(x, *consts), *consts)

    def fwd(f, x, *consts):
        return cv.vjp(lambda x, *cs: f(f(x, *cs), *cs), x, *consts)

    twice.defvjp(fwd, lambda f, pull, ct: pull(ct))

    def total(a, x):
        converted, consts = custom_derivatives.closure_convert(lambda y: a * y, x)
        return twice(converted, x, *consts)

    assert float(run(total)(3.0, 2.0)) == 18.0
    assert float(run(cv.grad(total))(3.0, 2.0)) == 12.0
    assert run(cv.vmap(cv.grad(total)))(cnp.array([3.0]), cnp.ones(1)).tolist() == [6.0]


def solve(matrix, b):
    """The solution of a triangular system by substitution, by hand."""

    def forward(m, b):
        x0 = b[0] / m[0, 0]
        return cnp.stack([x0, (b[1] - m[1, 0] * x0) / m[1, 1]])

    def back(m, ct):
        y1 = ct[1] / m[1, 1]
        return cnp.stack([(ct[0] - m[1, 0] * y1) / m[0, 0], y1])

    return custom_derivatives.linear_call(forward, back, matrix, b)


def _by_inverse(m, b):
    first = b[0] / m[0, 0]
    return cnp.stack([first, (b[1] - m[1, 0] * first) / m[1, 1]])


MATRIX = np.array([[2.0, 0.0], [1.0, 4.0]], np.float32)


def test_linear_call_is_its_function_and_its_transpose(run):
    b, ct = np.array([2.0, 5.0], np.float32), np.array([1.0, -1.0], np.float32)
    inverse = np.linalg.inv(MATRIX)
    assert run(solve)(MATRIX, b).tolist() == [1.0, 1.0]
    pulled = run(lambda b: cv.vjp(lambda b: solve(MATRIX, b), b)[1](ct)[0])(b)
    np.testing.assert_allclose(pulled, inverse.T @ ct)
    (transposed,) = cv.linear_transpose(functools.partial(solve, MATRIX), b)(ct)
    np.testing.assert_allclose(transposed, inverse.T @ ct)
    np.testing.assert_allclose(run(cv.jacfwd(solve, argnums=1))(MATRIX, b), inverse)
    np.testing.assert_allclose(run(cv.jacrev(solve, argnums=1))(MATRIX, b), inverse)
    rows = run(cv.vmap(solve, in_axes=(None, 0)))(MATRIX, cnp.stack([b, 2 * b]))
    assert rows.tolist() == [[1.0, 1.0], [2.0, 2.0]]


def test_residuals_of_linear_call_are_differentiated_as_the_function_is(run):
    b = np.array([2.0, 5.0], np.float32)
    for derive in (cv.jacfwd, cv.jacrev):
        found = run(derive(solve))(MATRIX, b)
        wanted = derive(lambda m: _by_inverse(m, b))(MATRIX)
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_linear_call_may_close_over_traced_values(run):
    def f(a, x):
        def scale(_, x):
            return a * x

        return custom_derivatives.linear_call(scale, scale, (), x)

    assert float(run(cv.grad(f, argnums=1))(3.0, 2.0)) == 3.0
    assert float(run(cv.grad(cv.jit(f), argnums=1))(3.0, 2.0)) == 3.0
    assert float(run(cv.grad(f))(3.0, 2.0)) == 2.0


def test_a_transpose_of_another_structure():
    def f(x):
        return custom_derivatives.linear_call(
            lambda _, x: x, lambda _, ct: (ct, ct), (), x
        )

    with pytest.raises(errors.TreeMismatch, match="structure of linear_args"):
        cv.grad(f)(1.0)


# -- the batch -------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [cv.custom_jvp, cv.custom_vjp])
def test_what_all_members_of_a_named_batch_share_is_not_batched(kind, run):
    f = with_rule(kind)

    def over(g, out_axes=None):
        return cv.vmap(
            lambda _, w: g(w), (0, None), out_axes, axis_name="i", axis_size=3
        )

    ones = cnp.ones(3)
    assert float(run(over(f))(ones, 4.0)) == 16.0
    assert float(run(over(cv.grad(f)))(ones, 4.0)) == 800.0
    assert float(run(cv.grad(lambda w: over(f)(ones, w)))(4.0)) == 800.0
    assert float(cv.jvp(lambda w: over(f)(ones, w), (4.0,), (1.0,))[1]) == 80.0
    total = run(cv.grad(lambda w: cnp.sum(over(f, 0)(ones, w))))
    assert float(total(4.0)) == 2400.0


def test_a_rule_gets_the_cotangent_of_each_member_though_the_value_is_shared(run):
    by_jvp = cv.custom_jvp(lambda x, y: y)
    by_jvp.defjvp(lambda primals, tangents: (by_jvp(*primals), sum(tangents)))
    by_vjp = cv.custom_vjp(lambda x, y: y)
    by_vjp.defvjp(lambda x, y: (y, None), lambda _, ct: (ct, ct))
    weights = cnp.array([1.0, 2.0, 3.0])

    for f in (by_jvp, by_vjp):

        def loss(x, y, f=f):
            return (weights * cv.vmap(f, (0, None))(x, y)).sum()

        dx, dy = run(cv.grad(loss, (0, 1)))(cnp.ones(3), 1.0)
        assert dx.tolist() == [1.0, 2.0, 3.0]
        assert float(dy) == 6.0
        with pytest.raises(errors.AxisError, match="out_axes is None for the result"):
            cv.vmap(f, (0, None), None)(cnp.ones(3), 1.0)


def test_a_function_that_tells_members_apart_is_batched():
    f = cv.custom_vjp(lambda x: x * lax.axis_index("i"))
    f.defvjp(lambda x: (f(x), None), lambda _, ct: (ct * lax.axis_index("i"),))

    def over(w):
        return cv.vmap(lambda _: f(w), axis_name="i")(cnp.ones(3))

    assert over(4.0).tolist() == [0.0, 4.0, 8.0]
    assert float(cv.grad(lambda w: cnp.sum(over(w)))(4.0)) == 3.0


def test_a_rule_takes_apart_what_lanes_gather_from_what_they_share(run):
    """The rule needs the cotangent of each lane, though the value does not differ."""
    f = cv.custom_vjp(lambda x: lax.all_gather(x, "i"))
    f.defvjp(lambda x: (f(x), None), lambda _, ct: (ct[lax.axis_index("i")],))
    weights = cnp.arange(4.0).reshape(2, 2)

    def loss(x):
        dots = cv.vmap(lambda w: cnp.vdot(f(x), w), axis_name="i")(weights)
        return cnp.sum(dots)

    assert float(loss(2.0)) == 12.0
    assert float(run(cv.grad(loss))(2.0)) == 3.0  # weights[0, 0] + weights[1, 1]


def test_a_rule_that_alone_tells_members_apart_is_refused():
    f = cv.custom_vjp(lambda x: 1.0 * x)
    f.defvjp(lambda x: (f(x), None), lambda _, ct: (ct * lax.axis_index("i"),))

    def over(w):
        return cnp.sum(cv.vmap(lambda _: f(w), axis_name="i")(cnp.ones(3)))

    with pytest.raises(errors.AxisError, match=r"a rule of custom_vjp of .* differs"):
        cv.grad(over)(4.0)


@pytest.mark.parametrize("around", [cv.jit, cv.checkpoint])
def test_a_rule_that_makes_a_large_array_of_numpy_runs_inside_of_programs(around):
    weights = np.ones(5000, np.float32)

    def f(x):
        return x * cnp.sum(cnp.asarray(weights))

    of_users = cv.custom_jvp(f), cv.custom_vjp(f)
    of_users[0].defjvp(lambda p, t: cv.jvp(f, p, t))
    of_users[1].defvjp(lambda x: (f(x), x), lambda x, ct: cv.vjp(f, x)[1](ct))
    for g in of_users:
        assert cv.grad(around(lambda x, g=g: g(x)))(2.0) == 5000.0
        batched = cv.vmap(cv.grad(around(lambda x, g=g: g(x))))(cnp.ones(2))
        assert batched.tolist() == [5000.0, 5000.0]

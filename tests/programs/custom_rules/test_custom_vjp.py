"""``custom_vjp``: forward and backward rules of users, under every transformation."""

import functools

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import errors, lax


def with_rules(fun, fwd, bwd, **options):
    f = cv.custom_vjp(fun)
    f.defvjp(fwd, bwd, **options)
    return f


def square(x):
    return x * x


tenfold = with_rules(square, lambda x: (x * x, x), lambda x, ct: (20 * x * ct,))


# -- arguments -------------------------------------------------------------------------


@functools.partial(cv.custom_vjp, nondiff_argnums=(0, 2))
def apply(f, x, k=3.0):
    return f(x) * k


def _forward(f, x, k):
    assert callable(f)
    return apply(f, x, k), x


apply.defvjp(_forward, lambda f, k, x, ct: (100.0 * k * ct,))


def test_nondiff_arguments_come_first_in_the_backward_rule():
    assert float(cv.grad(apply, argnums=1)(cnp.sin, 2.0, 2)) == 200.0
    assert float(cv.grad(lambda x: apply(f=cnp.sin, k=2, x=x))(1.0)) == 200.0
    assert float(cv.jit(cv.grad(lambda x: apply(cnp.sin, x)))(1.0)) == 300.0


@pytest.mark.parametrize(
    "how",
    [{"nondiff_argnums": (-1,)}, {"nondiff_argnames": ("k",)}],
    ids=["-1", "name"],
)
def test_nondiff_arguments_from_the_end_and_named(how):
    @functools.partial(cv.custom_vjp, **how)
    def f(x, y, k):
        return x * y * k

    f.defvjp(lambda x, y, k: (f(x, y, k), None), lambda k, _, ct: (k * ct, None))
    assert float(cv.grad(lambda x: f(x, 2.0, 5.0))(1.0)) == 5.0
    assert float(cv.grad(lambda x: f(k=5.0, y=2.0, x=x))(1.0)) == 5.0


def test_what_can_only_be_passed_by_keyword_is_refused_unless_left_out():
    @cv.custom_vjp
    def f(x, k=2.0, *, z=None):
        return x * k

    f.defvjp(lambda x, k: (x * k, k), lambda k, ct: (7 * k * ct, None))
    assert float(cv.grad(f)(1.0, k=3.0)) == 21.0
    with pytest.raises(errors.TypeMismatch, match="z can only be passed by keyword"):
        f(1.0, z=3.0)


def test_none_is_a_zero_cotangent_of_a_leaf_or_of_a_whole_argument():
    f = with_rules(
        lambda p, x: {"out": p["w"] * x + p["b"][0]},
        lambda p, x: ({"out": p["w"] * x + p["b"][0]}, x),
        lambda x, ct: ({"w": ct["out"] * x, "b": None}, None),
    )
    given = {"w": 2.0, "b": [1.0, None]}
    for gradient in (
        cv.grad(lambda p, x: f(p, x)["out"], argnums=(0, 1)),
        cv.jit(cv.grad(lambda p, x: f(p, x)["out"], argnums=(0, 1))),
    ):
        found = cv.tree.map(float, gradient(given, 3.0))
        assert found == ({"w": 3.0, "b": [0.0, None]}, 0.0)


def test_integer_arguments_take_none_or_float0():
    for nothing in (None, np.zeros((), cv.float0)):
        f = with_rules(
            lambda x, i: x * i,
            lambda x, i: (x * i, i),
            lambda i, ct, nothing=nothing: (10 * ct * i, nothing),
        )
        assert float(cv.grad(f)(2.0, 3)) == 30.0
        assert float(cv.jit(cv.grad(f))(2.0, 3)) == 30.0
        batched = cv.vmap(cv.grad(f))(cnp.ones(2), cnp.arange(2))
        assert batched.tolist() == [0.0, 10.0]


def test_the_cotangent_of_what_a_batch_shares_is_summed():
    f = with_rules(
        lambda x, w: x * w,
        lambda x, w: (x * w, (x, w)),
        lambda res, ct: (ct * res[1], ct * res[0]),
    )

    def total(w):
        return cnp.sum(cv.vmap(f, in_axes=(0, None))(cnp.arange(3.0), w))

    assert float(cv.grad(total)(2.0)) == 3.0
    each = cv.vmap(cv.grad(f, argnums=1), in_axes=(0, None))
    assert each(cnp.arange(3.0), 2.0).tolist() == [0.0, 1.0, 2.0]


class Layer:
    k = 3.0

    @functools.partial(cv.custom_vjp, nondiff_argnums=(0,))
    def scaled(self, x):
        return x * self.k

    def _forward(self, x):
        return self.scaled(x), None

    def _backward(self, _, ct):
        return (9.0 * ct,)

    scaled.defvjp(_forward, _backward)


def test_methods():
    assert float(Layer().scaled(2.0)) == 6.0
    assert float(cv.grad(Layer().scaled)(2.0)) == 9.0
    assert float(cv.jit(cv.grad(Layer().scaled))(2.0)) == 9.0


# -- residuals -------------------------------------------------------------------------


AROUND = {
    "nothing": lambda f: f,
    "jit": cv.jit,
    "checkpoint": cv.checkpoint,
    "scan": lambda f: (
        lambda x: lax.scan(lambda c, _: (c, f(c)), x, None, length=2)[1][1]
    ),
    "carried": lambda f: (
        lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=1)[0]
    ),
    "cond": lambda f: lambda x: lax.cond(x > 0, f, lambda x: x, x),
    "vmap": lambda f: lambda x: cv.vmap(f)(cnp.stack([x, x]))[0],
}


@pytest.fixture(params=AROUND.values(), ids=AROUND)
def around(request):
    return request.param


def test_residuals_may_be_python_values(around):
    def fwd(x):
        return x * 2, {"x": x, "name": "text", "n": 3, "np": np.arange(2), "no": None}

    def bwd(res, ct):
        assert (res["name"], res["no"], type(res["n"])) == ("text", None, int)
        assert type(res["np"]) is np.ndarray
        return (ct * res["x"] * res["n"],)

    f = around(with_rules(lambda x: x * 2, fwd, bwd))
    assert float(f(5.0)) == 10.0
    assert float(cv.grad(f)(5.0)) == 15.0
    assert float(cv.jit(cv.grad(f))(5.0)) == 15.0
    assert cv.vmap(cv.grad(f))(cnp.array([1.0, 2.0])).tolist() == [3.0, 6.0]


def test_the_rule_is_used(around):
    f = around(tenfold)
    assert float(f(3.0)) == 9.0
    assert float(cv.grad(f)(3.0)) == 60.0
    assert float(cv.jit(cv.grad(f))(3.0)) == 60.0
    assert cv.vmap(cv.grad(f))(cnp.array([1.0, 2.0])).tolist() == [20.0, 40.0]


def test_rules_can_be_differentiated(around):
    f = with_rules(cnp.sin, lambda x: (f(x), x), lambda x, ct: (cnp.cos(x) * ct,))
    second = cv.grad(cv.grad(around(f)))
    np.testing.assert_allclose(second(1.0), -np.sin(1), rtol=1e-6)
    np.testing.assert_allclose(cv.jit(second)(1.0), -np.sin(1), rtol=1e-6)


def closing(x, a):
    """Rules that close over what may be traced."""
    f = with_rules(lambda y: y * a, lambda y: (y * a, y), lambda y, ct: (10 * a * ct,))
    return f(x)


def test_rules_that_close_over_traced_values(around):
    def f(x, a):
        return around(lambda x: closing(x, a))(x)

    assert float(cv.jit(cv.grad(f))(2.0, 3.0)) == 30.0
    assert float(cv.jit(cv.grad(cv.jit(f)))(2.0, 3.0)) == 30.0
    pairs = cnp.ones(2), cnp.array([1.0, 2.0])
    assert cv.vmap(cv.grad(f))(*pairs).tolist() == [10.0, 20.0]
    assert cv.jit(cv.vmap(cv.grad(f)))(*pairs).tolist() == [10.0, 20.0]


def test_the_row_of_a_scan_in_a_closure():
    def through(x):
        return lax.scan(lambda c, a: (closing(c, a), None), x, cnp.array([2.0, 3.0]))[0]

    assert float(through(1.0)) == 6.0
    assert float(cv.grad(through)(1.0)) == 600.0


def test_a_differentiated_value_of_a_closure_must_be_an_argument():
    with pytest.raises(errors.NotDifferentiable, match="Pass the value as an argument"):
        cv.grad(closing, argnums=1)(2.0, 3.0)


def test_collectives_in_either_rule_find_the_axis_of_the_batch(around):
    def bwd(_, ct):
        return (10 * lax.psum(ct, "i"),)

    def total(x):
        return lax.psum(x, "i")

    f = around(with_rules(total, lambda x: (total(x), None), bwd))
    g = around(with_rules(lambda x: x, lambda x: (x, None), bwd))
    x = cnp.array([1.0, 2.0, 3.0])
    assert cv.vmap(f, axis_name="i")(x).tolist() == [6.0] * 3
    assert cv.vmap(g, axis_name="i")(x).tolist() == [1.0, 2.0, 3.0]
    for h in (f, g):
        gradient = cv.vmap(cv.grad(h), axis_name="i")
        assert gradient(x).tolist() == [30.0] * 3
        assert cv.jit(gradient)(x).tolist() == [30.0] * 3


# -- zeros and errors ------------------------------------------------------------------


def test_symbolic_zeros_say_what_is_perturbed_and_which_cotangents_are_zero():
    seen = []

    def fwd(x, y):
        seen.append((x.perturbed, y.perturbed))
        return (x.value * y.value, x.value + y.value), y.value

    def bwd(y, cts):
        seen.append([type(ct).__name__ == "SymbolicZero" for ct in cts])
        return cts[0] * y, cts[1]

    f = with_rules(lambda x, y: (x * y, x + y), fwd, bwd, symbolic_zeros=True)

    def first(x, y):
        return f(x, y)[0]

    assert float(cv.grad(first)(2.0, 3.0)) == 3.0
    assert float(cv.jit(cv.grad(first))(2.0, 3.0)) == 3.0
    assert float(cv.grad(cv.jit(first))(2.0, 3.0)) == 3.0
    assert cv.vmap(cv.grad(first))(cnp.ones(2), cnp.ones(2)).tolist() == [1.0, 1.0]
    assert seen == [(True, False), [False, True]] * 4


def test_zero_cotangents_are_arrays_without_symbolic_zeros():
    def bwd(_, cts):
        assert all(isinstance(ct, cv.Array) for ct in cts)
        return (cts[0] + 5 * cts[1],)

    f = with_rules(lambda x: (x, x), lambda x: ((x, x), None), bwd)
    assert float(cv.grad(lambda x: f(x)[0])(1.0)) == 1.0
    assert float(cv.grad(lambda x: f(x)[1])(1.0)) == 5.0


def test_a_forward_rule_that_returns_no_pair():
    f = with_rules(square, lambda x: x, lambda _, ct: (ct,))
    with pytest.raises(errors.TypeMismatch, match=r"must return a pair.*f32\[\]"):
        cv.grad(f)(1.0)


def test_a_forward_rule_that_returns_another_value_than_the_function():
    f = with_rules(square, lambda x: ((x, x), None), lambda _, ct: (ct,))
    with pytest.raises(
        errors.TypeMismatch,
        match=r"forward rule .* value of the types .* f32\[\], but .* f32\[\], f32\[\]",
    ):
        cv.grad(cv.jit(f))(1.0)


def test_cotangents_of_another_structure():
    f = with_rules(
        lambda p: p["a"] * p["b"],
        lambda p: (p["a"] * p["b"], None),
        lambda _, ct: ({"a": ct},),
    )
    with pytest.raises(errors.TreeMismatch, match="backward rule"):
        cv.grad(f)({"a": 1.0, "b": 2.0})


def test_rules_may_close_over_what_is_differentiated_outside():
    """The value does not depend on it, so no rule for it is needed."""

    def slope(y):
        f = cv.custom_vjp(lambda x: 2 * cnp.sin(x))
        f.defvjp(lambda x: (f(x), y), lambda y, ct: (2 * cnp.cos(y) * ct,))
        return cv.grad(f)(1.0)

    for gradient in (cv.grad(slope), cv.jit(cv.grad(slope)), cv.jacfwd(slope)):
        np.testing.assert_allclose(gradient(4.0), -2 * np.sin(4.0), rtol=1e-6)
    slopes = cv.vmap(cv.grad(slope))(np.array([4, 5], "f"))
    np.testing.assert_allclose(slopes, -2 * np.sin([4.0, 5.0]), rtol=1e-6)


def test_a_primal_under_symbolic_zeros_is_one_leaf():
    seen = []

    @cv.custom_vjp
    def f(x):
        return x["a"] * 2

    def fwd(x):
        seen.extend(map(type, cv.tree.leaves(x)))
        return x["a"].value * 2, None

    f.defvjp(fwd, lambda _, ct: ({"a": 5 * ct},), symbolic_zeros=True)
    assert float(cv.grad(lambda a: f({"a": a}))(1.0)) == 5
    assert seen == [cv.custom_derivatives.CustomVJPPrimal]

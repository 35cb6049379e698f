"""``custom_jvp``: rules of users, in both modes and under every transformation."""

import functools
from dataclasses import dataclass

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import errors, lax


def tenfold(fun):
    """``fun`` of one argument, with a derivative of ten times its own."""
    f = cv.custom_jvp(fun)
    f.defjvp(lambda p, t: (fun(*p), 10 * cv.jvp(fun, p, t)[1]))
    return f


def square(x):
    return x * x


# -- arguments -------------------------------------------------------------------------


@functools.partial(cv.custom_jvp, nondiff_argnums=(0, 2))
def apply(f, x, k=3.0):
    return f(x) * k


@apply.defjvp
def _(f, k, primals, tangents):
    assert callable(f)
    return apply(f, primals[0], k), 100.0 * tangents[0] * k


def test_nondiff_arguments_come_first_in_their_order():
    assert float(cv.grad(apply, argnums=1)(cnp.sin, 2.0, 2)) == 200.0
    assert float(apply(cnp.cos, 0.0, 2)) == 2.0


def test_nondiff_arguments_by_name_and_by_default():
    assert float(cv.grad(lambda x: apply(f=cnp.sin, k=2, x=x))(1.0)) == 200.0
    assert float(cv.grad(lambda x: apply(cnp.sin, x))(1.0)) == 300.0
    assert float(cv.jit(cv.grad(lambda x: apply(cnp.sin, x)))(1.0)) == 300.0
    assert (
        cv.vmap(cv.grad(lambda x: apply(cnp.sin, x)))(cnp.ones(2)).tolist() == [300] * 2
    )


@pytest.mark.parametrize(
    "how",
    [{"nondiff_argnums": (-1,)}, {"nondiff_argnames": ("k",)}],
    ids=["-1", "name"],
)
def test_nondiff_arguments_from_the_end_and_named(how):
    @functools.partial(cv.custom_jvp, **how)
    def f(x, y, k):
        return x * y * k

    f.defjvp(lambda k, p, t: (f(*p, k), t[0] * k))
    assert float(cv.grad(lambda x: f(x, 2.0, 5.0))(1.0)) == 5.0
    assert float(cv.grad(lambda x: f(k=5.0, y=2.0, x=x))(1.0)) == 5.0


def test_nondiff_names_that_are_no_arguments():
    with pytest.raises(
        errors.TypeMismatch, match=r"square .* nondiff_argnames z, but .* are x\."
    ):
        cv.custom_jvp(square, nondiff_argnames=("z",))


def test_what_can_only_be_passed_by_keyword_is_refused_unless_left_out():
    @cv.custom_jvp
    def f(x, *, k=2.0):
        return x * k

    f.defjvp(lambda p, t: (p[0] * 2.0, 7.0 * t[0]))
    assert float(cv.grad(f)(1.0)) == 7.0
    with pytest.raises(errors.TypeMismatch, match="k can only be passed by keyword"):
        f(1.0, k=3.0)


def test_trees_of_arguments_and_results():
    @cv.custom_jvp
    def f(p, n):
        return {"y": p["w"] * p["b"][0], "n": n}

    def rule(primals, tangents):
        (dp, _) = tangents
        return f(*primals), {
            "y": dp["w"] + 2 * dp["b"][0],
            "n": np.zeros((), cv.float0),
        }

    f.defjvp(rule)
    given = {"w": 3.0, "b": [5.0, None]}
    found = cv.grad(lambda p: f(p, 3)["y"])(given)
    assert cv.tree.map(float, found) == {"w": 1.0, "b": [2.0, None]}
    compiled = cv.jit(cv.grad(lambda p: f(p, 3)["y"]))(given)
    assert cv.tree.map(float, compiled) == {"w": 1.0, "b": [2.0, None]}


def test_integer_arguments_and_results():
    @cv.custom_jvp
    def f(x, i):
        return x * i, cnp.argmax(x)

    def rule(p, t):
        out = f(*p)
        return out, (t[0] * p[1] * 10, np.zeros((), cv.float0))

    f.defjvp(rule)

    def total(x, i):
        return cnp.sum(f(x, i)[0])

    x = cnp.ones(2)
    assert cv.grad(total)(x, 3).tolist() == [30.0, 30.0]
    assert cv.jit(cv.grad(total))(x, 3).tolist() == [30.0, 30.0]
    batched = cv.vmap(cv.grad(total), in_axes=(None, 0))(x, cnp.arange(2))
    assert batched.tolist() == [[0.0, 0.0], [10.0, 10.0]]


@dataclass
class Unhashable:
    k: float

    def __call__(self, x, y=2.0):
        return x * self.k * y


def test_callables_that_cannot_be_hashed():
    f = cv.custom_jvp(Unhashable(2.0))
    f.defjvp(lambda p, t: (p[0], 7 * t[0]))
    assert float(f(3.0)) == 12.0
    assert float(cv.grad(f)(3.0)) == 7.0


class Layer:
    k = 3.0

    @functools.partial(cv.custom_jvp, nondiff_argnums=(0,))
    def scaled(self, x):
        return x * self.k

    @scaled.defjvp
    def _(self, primals, tangents):
        return self.scaled(*primals), 9.0 * tangents[0]


def test_methods():
    assert float(Layer().scaled(2.0)) == 6.0
    assert float(cv.grad(Layer().scaled)(2.0)) == 9.0
    assert float(cv.jit(cv.grad(Layer().scaled))(2.0)) == 9.0


# -- rules -----------------------------------------------------------------------------


def test_one_rule_per_argument():
    @cv.custom_jvp
    def f(x, y, z):
        return x * y * z

    f.defjvps(lambda t, out, x, y, z: t * out, None, lambda t, out, x, y, z: 3 * t)
    found = cv.grad(f, argnums=(0, 1, 2))(1.0, 2.0, 3.0)
    assert [float(g) for g in found] == [6.0, 0.0, 3.0]


def test_no_rule_for_any_argument_is_a_zero_derivative():
    @cv.custom_jvp
    def f(x):
        return x, 3

    f.defjvps(None)
    assert float(cv.grad(lambda x: f(x)[0])(1.0)) == 0.0
    assert float(cv.jvp(lambda x: f(x)[0], (1.0,), (1.0,))[1]) == 0.0


def test_symbolic_zeros_say_which_arguments_do_not_move():
    seen = []

    @cv.custom_jvp
    def f(x, y):
        return x * y

    def rule(primals, tangents):
        seen.append([type(t).__name__ == "SymbolicZero" for t in tangents])
        assert (tangents[1].shape, tangents[1].dtype) == ((), np.float32)
        return f(*primals), primals[1] * tangents[0]

    f.defjvp(rule, symbolic_zeros=True)
    assert float(cv.grad(f)(2.0, 3.0)) == 3.0
    assert float(cv.jvp(lambda x: f(x, 3.0), (2.0,), (1.0,))[1]) == 3.0
    assert float(cv.jit(cv.grad(f))(2.0, 3.0)) == 3.0
    assert float(cv.grad(cv.jit(f))(2.0, 3.0)) == 3.0
    assert cv.vmap(cv.grad(f))(cnp.ones(2), cnp.ones(2)).tolist() == [1.0, 1.0]
    assert seen == [[False, True]] * 5


def test_symbolic_zeros_can_be_returned():
    @cv.custom_jvp
    def f(x, y):
        return x + 0, y + 0

    f.defjvp(lambda p, t: (f(*p), t), symbolic_zeros=True)
    tangent = cv.jvp(lambda x: f(x, 3.0), (2.0,), (5.0,))[1]
    assert [float(t) for t in tangent] == [5.0, 0.0]


def test_a_rule_that_returns_another_value_than_the_function():
    @cv.custom_jvp
    def f(x):
        return x

    f.defjvp(lambda p, t: ((p[0], p[0]), (t[0], t[0])))
    with pytest.raises(
        errors.TypeMismatch, match=r"value of the types .* f32\[\], but .* f32\[\], f32"
    ):
        cv.grad(cv.jit(f))(1.0)


# -- under other transformations -------------------------------------------------------

AROUND = {
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
    "jit of jit": lambda f: cv.jit(cv.jit(f)),
}


@pytest.mark.parametrize("around", AROUND.values(), ids=AROUND)
def test_the_rule_is_used_under(around):
    f = around(tenfold(square))
    assert float(f(3.0)) == 9.0
    assert float(cv.grad(f)(3.0)) == 60.0
    assert float(cv.jvp(f, (3.0,), (1.0,))[1]) == 60.0
    assert float(cv.jit(cv.grad(f))(3.0)) == 60.0
    assert cv.vmap(cv.grad(f))(cnp.array([1.0, 2.0])).tolist() == [20.0, 40.0]


@pytest.mark.parametrize("around", AROUND.values(), ids=AROUND)
def test_rules_can_be_differentiated_under(around):
    f = cv.custom_jvp(cnp.sin)
    f.defjvp(lambda p, t: (f(*p), cnp.cos(p[0]) * t[0]))
    second = cv.grad(cv.grad(around(f)))
    np.testing.assert_allclose(second(1.0), -np.sin(1), rtol=1e-6)
    np.testing.assert_allclose(cv.jit(second)(1.0), -np.sin(1), rtol=1e-6)


def closing(x, a):
    """A rule and a function that close over what may be traced."""

    @cv.custom_jvp
    def f(y):
        return y * a

    f.defjvp(lambda p, t: (p[0] * a, 10 * a * t[0]))
    return f(x)


@pytest.mark.parametrize("around", AROUND.values(), ids=AROUND)
def test_rules_that_close_over_traced_values_under(around):
    def f(x, a):
        return around(lambda x: closing(x, a))(x)

    assert float(cv.jit(cv.grad(f))(2.0, 3.0)) == 30.0
    assert float(cv.jit(cv.grad(cv.jit(f)))(2.0, 3.0)) == 30.0
    pairs = cnp.ones(2), cnp.array([1.0, 2.0])
    assert cv.vmap(cv.grad(f))(*pairs).tolist() == [10.0, 20.0]
    assert cv.jit(cv.vmap(cv.grad(f)))(*pairs).tolist() == [10.0, 20.0]


@pytest.mark.parametrize("around", AROUND.values(), ids=AROUND)
def test_collectives_in_a_rule_find_the_axis_of_the_batch_under(around):
    f = cv.custom_jvp(lambda x: lax.psum(x, "i"))
    f.defjvp(lambda p, t: (f(*p), 10 * lax.psum(t[0], "i")))
    x = cnp.array([1.0, 2.0, 3.0])
    assert cv.vmap(around(f), axis_name="i")(x).tolist() == [6.0] * 3
    gradient = cv.vmap(cv.grad(around(f)), axis_name="i")
    assert gradient(x).tolist() == [30.0] * 3
    assert cv.jit(gradient)(x).tolist() == [30.0] * 3


def test_the_row_of_a_scan_in_a_closure():
    def through(x):
        return lax.scan(lambda c, a: (closing(c, a), None), x, cnp.array([2.0, 3.0]))[0]

    assert float(through(1.0)) == 6.0
    assert float(cv.grad(through)(1.0)) == 600.0


def test_nested_functions_of_one_factory_that_close_over_traced_values():
    def make(a, inner=None):
        @cv.custom_jvp
        def f(y):
            return y * a if inner is None else inner(y) * a

        def rule(p, t):
            tangent = t[0] if inner is None else cv.jvp(inner, p, t)[1]
            return f(*p), tangent * a

        f.defjvp(rule)
        return f

    def outer(x, a):
        return make(a, make(2 * a))(x)

    for f in (outer, cv.jit(outer)):
        assert float(cv.grad(f)(1.0, 3.0)) == 18.0
        assert float(cv.jit(cv.grad(f))(1.0, 3.0)) == 18.0


def test_a_differentiated_value_of_a_closure_must_be_an_argument():
    with pytest.raises(errors.NotDifferentiable, match="Pass the value as an argument"):
        cv.grad(closing, argnums=1)(2.0, 3.0)


def twice_by_scan(x):
    return lax.scan(lambda c, _: (c * c, None), x, None, length=1)[0] * 2


def twice_by_while(x):
    return 2 * lax.while_loop(lambda c: c[0] < 1, lambda c: (1, c[1] ** 2), (0, x))[1]


#: rules in which one operation has to do with values and tangents
TOGETHER = {
    "jvp": lambda f: functools.partial(cv.jvp, f),
    "jit": lambda f: cv.jit(functools.partial(cv.jvp, f)),
    "cond": lambda f: (
        lambda p, t: lax.cond(p[0] > 0, lambda: cv.jvp(f, p, t), lambda: (f(*p), t[0]))
    ),
    "jvp of jvp": lambda f: functools.partial(
        cv.jvp, lambda x: cv.jvp(f, (x,), (cnp.ones_like(x),))[1] * x / 2
    ),
}


@pytest.mark.parametrize("rule", TOGETHER)
@pytest.mark.parametrize("f", [twice_by_scan, twice_by_while])
def test_a_rule_that_computes_values_and_tangents_together_serves_reverse_mode(f, rule):
    g = cv.custom_jvp(f)
    g.defjvp(TOGETHER[rule](f))
    value, slope = cv.value_and_grad(lambda x, y: g(x) * y)(3.0, 2.0)
    assert (value, slope) == (36.0, 24.0)


@pytest.mark.parametrize("nested", [False, True])
def test_a_rule_around_a_loop_whose_lanes_take_different_steps_is_transposed(nested):
    """The lanes are known before the tangents, whose loop must not mix the two."""

    def loop(x, count):
        return lax.fori_loop(0, count, lambda _, c: cnp.sin(c) + cnp.sqrt(c - 0.5), x)

    def either(x, count):
        return lax.cond(count > 1, loop, lambda x, _: x, x, count)

    def with_rule(x, count):
        fun = either if nested else loop
        f = cv.custom_jvp(lambda x: fun(x, count))
        f.defjvp(lambda p, t: cv.jvp(lambda x: fun(x, count), p, t))
        return f(x)

    x, counts = cnp.array([2.0, 0.5, 3.0]), cnp.array([2, 0, 4])
    found = cv.grad(lambda x: cnp.sum(cv.vmap(with_rule)(x, counts)))(x)
    wanted = [float(cv.grad(loop)(*each)) for each in zip(x, counts, strict=True)]
    np.testing.assert_allclose(found, wanted, rtol=1e-4)


def test_a_rule_around_a_jitted_function_with_rules_is_transposed():
    inner = cv.custom_vjp(cnp.sin)
    inner.defjvp(lambda p, t: cv.jvp(cnp.sin, p, t))
    inner.defvjp(lambda x: cv.vjp(cnp.sin, x), lambda pull, ct: pull(ct))
    f = cv.custom_jvp(lambda x: x * cv.jit(inner)(x))
    f.defjvp(lambda p, t: cv.jvp(f.fun, p, t))
    wanted = np.sin(0.5) + 0.5 * np.cos(0.5)
    for g in (f, cv.jit(f), cv.checkpoint(f)):
        np.testing.assert_allclose(cv.grad(g)(0.5), wanted, rtol=1e-6)

"""``custom_vmap`` and ``sequential_vmap``: batching rules of users."""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import errors, lax
from covector.custom_batching import custom_vmap, sequential_vmap

X = cnp.array([1.0, 2.0, 3.0])


def with_rule(fun, rule):
    f = custom_vmap(fun)
    f.def_vmap(rule)
    return f


def tenfold(x, y):
    """x·y, whose rule gives ten times that, so that one sees which was used."""
    return x * y


def tenfold_rule(axis_size, in_batched, x, y):
    return 10 * x * y, in_batched[0] or in_batched[1]


f = with_rule(tenfold, tenfold_rule)


# -- when the rule is asked ------------------------------------------------------------


def test_without_a_batch_it_is_the_function():
    assert float(f(2.0, 3.0)) == float(cv.jit(f)(2.0, y=3.0)) == 6.0
    assert float(cv.grad(f)(2.0, 3.0)) == float(cv.jit(cv.grad(f))(2.0, 3.0)) == 3.0
    assert float(cv.jvp(lambda x: f(x, 3.0), (2.0,), (1.0,))[1]) == 3.0


AROUND = {
    "nothing": lambda f: f,
    "jit": cv.jit,
    "jit of jit": lambda f: cv.jit(cv.jit(f)),
    "checkpoint": cv.checkpoint,
    "scan": lambda f: (
        lambda x, y: lax.scan(lambda c, _: (c, f(c, y)), x, None, length=2)[1][1]
    ),
    "cond": lambda f: lambda x, y: lax.cond(True, f, lambda x, y: x, x, y),
}


@pytest.mark.parametrize("around", AROUND.values(), ids=AROUND)
def test_a_batch_asks_the_rule_under(around):
    g = around(f)
    over = cv.vmap(g, in_axes=(0, None))
    assert over(X, 2.0).tolist() == cv.jit(over)(X, 2.0).tolist() == [20.0, 40.0, 60.0]
    named = cv.vmap(lambda x: lax.psum(g(x, 2.0), "i"), axis_name="i")
    assert named(X).tolist() == [120.0] * 3
    slopes = cv.grad(lambda y: cnp.sum(over(X, y)))
    assert float(slopes(2.0)) == float(cv.jit(slopes)(2.0)) == 60.0


def test_batched_arguments_have_the_axis_in_front_and_are_named():
    seen = []

    def rule(axis_size, in_batched, p, y):
        seen.append((axis_size, in_batched, p["a"].shape, p["b"].shape, y.shape))
        return {"out": p["a"] @ y}, {"out": True}

    g = with_rule(lambda p, y: {"out": p["a"] @ y}, rule)
    axes = ({"a": 2, "b": None}, None)
    given = {"a": cnp.ones((4, 2, 3)), "b": 1.0}
    out = cv.vmap(g, in_axes=axes)(given, cnp.ones(2))
    assert out["out"].shape == (3, 4)
    assert seen == [(3, [{"a": True, "b": False}, False], (3, 4, 2), (), (2,))]


def test_nothing_that_is_batched_is_no_batch():
    over = cv.vmap(lambda x: f(2.0, 3.0) + x)
    assert over(X).tolist() == [7.0, 8.0, 9.0]
    named = cv.vmap(lambda x: f(2.0, 3.0), axis_name="i", out_axes=None)
    assert float(named(X)) == 6.0


def test_the_axis_in_the_function_is_found_where_all_share_the_arguments():
    g = custom_vmap(lambda x: lax.psum(x, "i"))
    assert cv.vmap(lambda _: g(2.0), axis_name="i")(X).tolist() == [6.0] * 3


def test_a_result_may_be_the_same_for_the_whole_batch():
    g = with_rule(lambda x, y: (x, y), lambda size, mask, x, y: ((x, y), tuple(mask)))
    outs = cv.vmap(g, in_axes=(0, None), out_axes=(0, None))(X, 5.0)
    assert [np.asarray(o).tolist() for o in outs] == [[1.0, 2.0, 3.0], 5.0]


def test_of_nested_batches_the_inner_one_asks_the_rule():
    inner = cv.vmap(f, in_axes=(0, None))
    both = cv.vmap(inner, in_axes=(None, 0))(X, cnp.arange(2.0))
    assert both.tolist() == [[0.0, 0.0, 0.0], [10.0, 20.0, 30.0]]


# -- derivatives -----------------------------------------------------------------------


def test_in_forward_mode_the_derivative_has_the_derivative_of_the_rule():
    def slope(x, t):
        return cv.jvp(lambda x: f(x, 2.0), (x,), (t,))[1]

    ones = cnp.ones(3)
    assert cv.vmap(slope)(X, ones).tolist() == [20.0] * 3
    assert cv.vmap(slope, in_axes=(0, None))(X, 1.0).tolist() == [20.0] * 3
    assert cv.vmap(slope, in_axes=(None, 0))(1.0, X).tolist() == [20.0, 40.0, 60.0]
    assert cv.jit(cv.vmap(cv.jacfwd(f), in_axes=(0, None)))(X, 2.0).tolist() == [20] * 3


def test_in_forward_mode_of_second_order_too():
    def derivative(g):
        return lambda x: cv.jvp(g, (x,), (cnp.ones_like(x),))[1]

    twice = cv.vmap(derivative(derivative(lambda x: f(x, x))))
    assert twice(X).tolist() == cv.jit(twice)(X).tolist() == [20.0] * 3
    assert (
        cv.vmap(derivative(cv.jit(derivative(lambda x: f(x, x)))))(X).tolist()
        == [20.0] * 3
    )


def test_values_beside_derivatives_are_those_of_the_rule():
    def both(x):
        return cv.value_and_grad(f)(x, 2.0)

    for g in (both, cv.jit(both)):
        assert [a.tolist() for a in cv.vmap(g)(X)] == [[20.0, 40.0, 60.0], [2.0] * 3]


def test_in_reverse_mode_the_function_itself_is_differentiated():
    assert cv.vmap(cv.grad(f), in_axes=(0, None))(X, 2.0).tolist() == [2.0] * 3
    third = cv.grad(cv.grad(cv.grad(lambda x: f(x, x * x))))
    assert cv.vmap(third)(X).tolist() == cv.jit(cv.vmap(third))(X).tolist() == [6] * 3


def test_integer_results_have_no_tangent():
    g = with_rule(
        lambda x: (2 * x, cnp.int32(3)), lambda _, m, x: ((4 * x, 3), (True, False))
    )
    g2 = cv.vmap(lambda x: cv.jvp(lambda x: g(x)[0], (x,), (1.0,))[1])
    with pytest.raises(errors.TypeMismatch, match=r"result\[1\] .* i32\[\]"):
        cv.vmap(with_rule(lambda x: (x, 3), lambda _, m, x: ((x, 3.0), (True, False))))(
            X
        )
    assert g2(X).tolist() == [4.0] * 3


def test_rules_in_both_directions_by_custom_vjp():
    h = cv.custom_vjp(lambda x: f(x, 1.0))
    h.defvjp(lambda x: (f(x, 1.0), x), lambda x, ct: (f(ct * x, 7.0),))
    assert cv.vmap(cv.grad(h))(X).tolist() == [70.0, 140.0, 210.0]
    total = cv.grad(lambda x: cnp.sum(cv.vmap(h)(x)))
    assert total(X).tolist() == [70.0, 140.0, 210.0]


# -- closures --------------------------------------------------------------------------


def scaled_by(a):
    return with_rule(lambda x: x * a, lambda size, _, x: (10 * x * a, True))


def test_functions_and_rules_may_close_over_traced_values():
    def total(a):
        return cnp.sum(cv.vmap(scaled_by(a))(X))

    assert float(cv.jit(total)(2.0)) == 120.0
    assert float(cv.grad(total)(2.0)) == float(cv.jit(cv.grad(total))(2.0)) == 60.0
    assert float(cv.jvp(total, (2.0,), (1.0,))[1]) == 60.0
    inside = cv.jit(lambda a: cv.vmap(cv.jit(scaled_by(a)))(X))
    assert inside(2.0).tolist() == [20.0, 40.0, 60.0]


def test_what_differs_over_the_batch_must_be_an_argument():
    with pytest.raises(
        errors.AxisError, match=r"closes over a value of type f32\[\] that differs"
    ):
        cv.vmap(lambda x, a: scaled_by(a)(x))(X, X)


# -- one after another -----------------------------------------------------------------


def test_a_sequential_batch_is_a_loop():
    g = sequential_vmap(lambda p, y: {"out": p["x"] * y, "y": y})
    over = cv.vmap(g, in_axes=(0, None))
    out = over({"x": X}, 2.0)
    assert out["out"].tolist() == [2.0, 4.0, 6.0]
    assert out["y"].tolist() == [2.0] * 3
    names = [e.op.name for e in cv.make_jaxpr(over)({"x": X}, 2.0).eqns]
    assert "scan" in names
    twice = cv.vmap(over, in_axes=(None, 0))({"x": X}, cnp.arange(2.0))
    assert twice["out"].tolist() == [[0.0, 0.0, 0.0], [1.0 * x for x in (1, 2, 3)]]


def test_a_sequential_batch_is_differentiated():
    g = sequential_vmap(lambda x: x**3)
    total = cv.grad(lambda x: cnp.sum(cv.vmap(g)(x)))
    assert total(X).tolist() == cv.jit(total)(X).tolist() == [3.0, 12.0, 27.0]
    assert cv.vmap(cv.grad(cv.grad(g)))(X).tolist() == [6.0, 12.0, 18.0]
    tangent = cv.jvp(cv.vmap(g), (X,), (cnp.ones(3),))[1]
    assert tangent.tolist() == [3.0, 12.0, 27.0]


def test_a_sequential_batch_of_none():
    assert cv.vmap(sequential_vmap(lambda x: x + 1))(cnp.zeros((0, 2))).shape == (0, 2)


class Layer:
    k = 3.0

    @custom_vmap
    def scaled(self, x):
        return x * self.k


# A layer is not an array, so it stands in no batch.
cv.tree_util.register_static(Layer)
Layer.scaled.def_vmap(lambda size, mask, self, x: (10 * x * self.k, True))


def test_methods():
    layer = Layer()
    assert float(layer.scaled(2.0)) == 6.0
    assert cv.vmap(layer.scaled)(X).tolist() == [30.0, 60.0, 90.0]


# -- errors ----------------------------------------------------------------------------


def over(rule):
    return lambda: cv.vmap(with_rule(tenfold, rule))(X, X)


def test_a_function_without_a_rule():
    assert float(custom_vmap(tenfold)(2.0, 3.0)) == 6.0
    with pytest.raises(errors.MissingRule, match=r"@tenfold\.def_vmap before"):
        cv.vmap(custom_vmap(tenfold))(X, X)


@pytest.mark.parametrize(
    ("rule", "error", "words"),
    [
        (lambda s, m, x, y: x, errors.TypeMismatch, r"a pair .* returned f32\[3\]"),
        (
            lambda s, m, x, y: ((x, x), (True, True)),
            errors.TreeMismatch,
            "structure of that of the function",
        ),
        (
            lambda s, m, x, y: (x, (True, True)),
            errors.TreeMismatch,
            "out_batched from the batching rule of custom_vmap of tenfold",
        ),
        (lambda s, m, x, y: (x, 1), errors.TypeMismatch, "holds bools, but it has 1"),
        (
            lambda s, m, x, y: (x[:2], True),
            errors.TypeMismatch,
            r"the result is batched over 3, which is f32\[3\], but .* f32\[2\]",
        ),
        (
            lambda s, m, x, y: (x, False),
            errors.TypeMismatch,
            r"same for the whole batch, which is f32\[\], but .* f32\[3\]",
        ),
        (
            lambda s, m, x, y: (x > 0, True),
            errors.TypeMismatch,
            r"which is f32\[3\], but .* bool\[3\]",
        ),
    ],
    ids=["pair", "tree", "mask", "bools", "size", "shared", "dtype"],
)
def test_what_a_rule_returns_is_checked(rule, error, words):
    with pytest.raises(error, match=words):
        over(rule)()


def test_what_can_only_be_passed_by_keyword_is_refused():
    g = with_rule(lambda x, *, k=2.0: x * k, lambda s, m, x: (x, True))
    with pytest.raises(errors.TypeMismatch, match="k can only be passed by keyword"):
        g(1.0, k=3.0)

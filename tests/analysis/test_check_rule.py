"""``check_rule`` finds what is wrong with a rule, and says it."""

import functools

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import errors, lax
from covector.custom_batching import custom_vmap
from covector.test_util import check_grads

X = np.array([0.5, 1.0, 2.0], np.float32)
Y = np.array([1.5, -1.0, 0.7], np.float32)
Z = np.array([1 + 2j, 0.5 - 1j], np.complex64)


def product(x, y):
    return x * y * y


def with_jvp(rule, fun=product):
    f = cv.custom_jvp(fun)
    f.defjvp(lambda p, t: (fun(*p), rule(*p, *t)))
    return f


def with_vjp(bwd, fun=product):
    f = cv.custom_vjp(fun)
    f.defvjp(lambda *args: (fun(*args), args), lambda args, ct: bwd(*args, ct))
    return f


def right_jvp(x, y, dx, dy):
    return dx * y * y + 2 * x * y * dy


def right_vjp(x, y, ct):
    return ct * y * y, 2 * ct * x * y


# -- right rules -----------------------------------------------------------------------


RIGHT = {
    "no rules": product,
    "forward": with_jvp(right_jvp),
    "reverse": with_vjp(right_vjp),
    "jit": cv.jit(product),
}


@pytest.mark.parametrize("f", RIGHT.values(), ids=RIGHT)
def test_right_rules_pass(f):
    cv.check_rule(f, X, Y)
    cv.check_rule(f, 1.5, 2.0)


def test_right_rules_for_both_modes_pass():
    f = with_jvp(right_jvp)
    f.defvjp(lambda x, y: (product(x, y), (x, y)), lambda r, ct: right_vjp(*r, ct))
    cv.check_rule(f, X, Y)
    cv.check_rule(cv.jit(f), X, Y, modes=("rev", "fwd"))


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (cnp.exp, X),
        (cnp.log, X),
        (cnp.sqrt, X / 100),
        (lambda x: 1000 * x, X * 1000),
        (lambda x: x @ x, X),
        (lambda z: cnp.sum(cnp.abs(z) ** 2), Z),
        (lambda z: z * cnp.conj(z) * z, Z),
        (cnp.sort, Y),
        (lambda x: x, np.zeros((0, 3), np.float32)),
        (cnp.sin, cnp.asarray(X, "bfloat16")),
    ],
)
def test_derivatives_of_many_kinds_pass(f, x):
    cv.check_rule(f, x)


def test_double_precision_is_checked_more_closely():
    almost = with_jvp(lambda x, dx: dx * cnp.cos(x) * (1 + 1e-4), cnp.sin)
    cv.check_rule(almost, X)
    with cv.enable_x64(True), pytest.raises(errors.WrongRule, match="1 times as much"):
        cv.check_rule(almost, X.astype(float))


def test_tolerances_and_steps_are_options():
    off = with_jvp(lambda x, dx: 1.2 * dx, lambda x: x)
    with pytest.raises(errors.WrongRule, match=r"1\.2 times as much"):
        cv.check_rule(off, X)
    cv.check_rule(off, X, rtol=0.3)
    cv.check_rule(off, X, atol=10.0)
    near_zero = np.array([1e-3], np.float32)
    with pytest.raises(errors.WrongRule, match=r"no number: .* smaller eps"):
        cv.check_rule(cnp.log, near_zero)
    cv.check_rule(cnp.log, near_zero, eps=1e-4, rtol=0.05)


# -- wrong rules -----------------------------------------------------------------------


def wrong(f, *args, **options):
    with pytest.raises(errors.WrongRule) as caught:
        cv.check_rule(f, *args, **options)
    assert isinstance(caught.value, AssertionError)
    return str(caught.value)


def test_a_wrong_sign():
    message = wrong(with_jvp(lambda x, y, dx, dy: dx * y * y - 2 * x * y * dy), X, Y)
    first, line = message.splitlines()
    assert first.startswith("the forward-mode derivative of product (")
    assert line.startswith("  argument 1 → the result: the rule gives")
    assert line.endswith("other indices: the sign is wrong")
    message = wrong(with_vjp(lambda x, y, ct: (ct * y * y, -2 * ct * x * y)), X, Y)
    assert message.startswith("the reverse-mode derivative of product (")
    assert "argument 1 → the result: a random cotangent, pulled back" in message
    assert message.endswith("the sign is wrong")


def test_a_wrong_order_of_arguments():
    for f in (
        with_jvp(lambda x, y, dx, dy: right_jvp(x, y, dy, dx)),
        with_vjp(lambda x, y, ct: right_vjp(x, y, ct)[::-1]),
    ):
        lines = wrong(f, X, Y).splitlines()
        assert lines[1].startswith("  argument 0 → the result")
        assert lines[1].endswith("that is for argument 1")
        assert lines[2].endswith("that is for argument 0")


def test_a_forgotten_factor():
    for f in (
        with_jvp(lambda x, y, dx, dy: dx * y * y + x * y * dy),
        with_vjp(lambda x, y, ct: (ct * y * y, ct * x * y)),
    ):
        _, line = wrong(f, X, Y).splitlines()
        assert line.startswith("  argument 1 → the result")
        assert line.endswith("0.5 times as much")


def test_a_forgotten_argument():
    message = wrong(with_vjp(lambda x, y, ct: (ct * y * y, None)), X, Y)
    assert "argument 1" in message
    assert message.endswith("it gives zero")


def test_a_missing_conjugate():
    for f in (
        with_jvp(lambda z, dz: dz, cnp.conj),
        with_vjp(lambda z, ct: (ct,), cnp.conj),
    ):
        assert wrong(f, Z).endswith("its conjugate would be right")


def test_a_rule_that_is_not_linear():
    message = wrong(
        with_jvp(lambda x, y, dx, dy: right_jvp(x, y, cnp.sin(dx), dy)), X, Y
    )
    assert "argument 0 → the result: the rule is not linear in the tangent" in message
    message = wrong(with_vjp(lambda x, y, ct: right_vjp(x, y, ct * ct)), X, Y)
    assert "argument 0 → the result: the rule is not linear in the cotangent" in message


def test_a_rule_that_returns_another_value():
    f = cv.custom_jvp(product)
    f.defjvp(lambda p, t: (2 * product(*p), right_jvp(*p, *t)))
    message = wrong(f, 1.0, 1.0)
    assert "the rule returns the value 2, and the function 1" in message
    g = cv.custom_vjp(product)
    g.defvjp(lambda x, y: (-product(x, y), (x, y)), lambda r, ct: right_vjp(*r, ct))
    words = "where argument 1 is perturbed, the rule returns the value -1"
    assert words in wrong(g, 1.0, 1.0)


def test_of_two_rules_the_wrong_one():
    def both(forward, backward):
        f = with_jvp(forward)
        f.defvjp(lambda x, y: (product(x, y), (x, y)), lambda r, ct: backward(*r, ct))
        return f

    message = wrong(both(right_jvp, lambda x, y, ct: (ct * y * y, ct * x * y)), X, Y)
    assert message.startswith("the reverse-mode derivative")
    half = both(lambda x, y, dx, dy: right_jvp(x, y, dx, dy) / 2, right_vjp)
    assert wrong(half, X, Y).startswith("the forward-mode derivative")
    cv.check_rule(half, X, Y, modes=["rev"], order=1)


def test_a_rule_that_is_wrong_only_over_a_batch():
    double = custom_vmap(lambda x: 2 * x)
    double.def_vmap(lambda size, mask, x: (3 * x, True))
    f = with_vjp(lambda x, ct: (double(ct),), lambda x: 2 * x)
    message = wrong(f, X)
    assert message.splitlines()[0].endswith("is wrong, under vmap:")
    assert message.endswith("1.5 times as much")


def test_a_batching_rule_that_mixes_members():
    f = custom_vmap(cnp.sin)
    f.def_vmap(lambda size, mask, x: (cnp.sin(x) + 0 * x + (x - x[::-1]), True))
    assert "is wrong, under vmap" in wrong(f, 0.5)


def test_a_wrong_second_derivative():
    f = with_jvp(lambda x, dx: 3 * dx * lax.stop_gradient(x) ** 2, lambda x: x * x * x)
    message = wrong(f, X)
    assert message.startswith(
        "the forward-mode derivative of the forward-mode derivative"
    )
    assert "argument 0 → the tangent of the result" in message
    cv.check_rule(f, X, order=1)
    g = with_vjp(
        lambda x, ct: (3 * ct * lax.stop_gradient(x) ** 2,), lambda x: x * x * x
    )
    assert "argument 0 → the cotangent of argument 0" in wrong(g, X)


def test_arguments_and_results_are_named_by_their_paths():
    def f(p, n):
        return {"y": p["w"] * n, "s": cnp.sum(p["b"][0]), "n": n}

    def rule(p, n, dp, _):
        return {
            "y": dp["w"] * n,
            "s": 3 * cnp.sum(dp["b"][0]),
            "n": np.zeros((), cv.float0),
        }

    message = wrong(with_jvp(rule, f), {"w": X, "b": [Y]}, 3)
    _, line = message.splitlines()
    assert line.startswith("  argument 0['b'][0] → the result['s']: the rule gives")
    assert line.endswith("3 times as much")


def test_modes_that_a_function_has_not():
    with pytest.raises(errors.NotDifferentiable, match="only a reverse-mode rule"):
        cv.check_rule(with_vjp(right_vjp), X, Y, modes=("fwd",))
    with pytest.raises(errors.ArgumentError, match=r"\"rev\" or both, but got \('up',"):
        cv.check_rule(product, X, Y, modes=("up",))


def test_what_cannot_be_checked():
    with pytest.raises(errors.NotDifferentiable, match=r"floating-point .* i32\[\]"):
        cv.check_rule(lambda x: x, 3)


# -- covector.test_util ----------------------------------------------------------------


def test_check_grads_to_third_order():
    cv.test_util.check_grads(product, (X, Y), order=3)
    cv.test_util.check_grads(with_vjp(right_vjp), (X, Y), 2, modes="rev")
    with pytest.raises(AssertionError, match="reverse-mode derivative of product"):
        cv.test_util.check_grads(
            with_vjp(lambda x, y, ct: (ct, ct)), (X, Y), 1, modes=["rev"]
        )
    with pytest.raises(errors.ArgumentError, match="check_grads of product"):
        cv.test_util.check_grads(product, (X, Y), 1, modes=())


def test_check_jvp_of_a_derivative_that_is_given():
    cv.test_util.check_jvp(product, functools.partial(cv.jvp, product), (X, Y))

    def off(primals, tangents):
        value, tangent = cv.jvp(product, primals, tangents)
        return value, 2 * tangent

    with pytest.raises(AssertionError, match="of mine: the forward-mode derivative of"):
        cv.test_util.check_jvp(product, off, (X, Y), err_msg="of mine")


def test_check_vjp_of_a_derivative_that_is_given():
    cv.test_util.check_vjp(product, functools.partial(cv.vjp, product), (X, Y))

    def off(*primals):
        value, pull = cv.vjp(product, *primals)
        return value, lambda ct: pull(ct)[::-1]

    with pytest.raises(AssertionError, match="that is for argument 1"):
        cv.test_util.check_vjp(product, off, (X, Y))


def test_a_flat_direction_of_large_values_is_judged_by_what_they_are_rounded_by():
    def steep(x):
        return 1600 + 0.1 * x.sum()

    for value in range(40):
        check_grads(steep, (cnp.asarray([0.013 * value]),), order=1, atol=1e-4)
    wrong = cv.custom_jvp(steep)
    wrong.defjvp(lambda p, t: (steep(*p), 0.7 * t[0].sum()))
    with pytest.raises(AssertionError, match="the rule gives"):
        check_grads(wrong, (cnp.asarray([0.5]),), order=1)

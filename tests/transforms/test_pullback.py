"""Pullbacks that add gradients to references, and those of references."""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import lax
from covector.ad import DidntWant, DontWant, GradRef, GradValue
from covector.errors import RefError, TreeMismatch, TypeMismatch


def test_gradients_are_returned_or_added_to_references_or_not_wanted():
    def f(params, x):
        return params["w"] @ x + params["b"]

    w, b, x = cnp.arange(6.0).reshape(2, 3), cnp.ones(2), cnp.asarray([1.0, 2.0, 3.0])
    _, pull = cv.vjp(f, {"w": w, "b": b}, x)
    (wanted, of_x), ct = pull(cnp.ones(2)), cnp.ones(2)
    total = cv.new_ref(cnp.ones((2, 3)))
    into = pull.with_refs({"w": total, "b": DontWant()}, GradValue())
    for k in (1, 2):
        found, given = into(ct)
        assert type(found["w"]) is GradRef and type(found["b"]) is DidntWant
        np.testing.assert_array_equal(given, of_x)
        np.testing.assert_array_equal(total[...], 1 + k * wanted["w"])
    found, given = pull.with_refs(DontWant(), GradValue())(ct)
    assert type(found["w"]) is type(found["b"]) is DidntWant


def test_the_gradient_of_a_reference_is_that_of_what_it_held():
    def f(ref, y):
        ref[...] = cnp.sin(ref[...])
        return ref[...] ** 2 * y

    for run in (lambda g: g, cv.jit):
        ref, gradient = cv.new_ref(2.0), cv.new_ref(100.0)

        def differentiate(ref, gradient):
            value, pull = cv.vjp(f, ref, 3.0)
            return value, pull.with_refs(gradient, GradValue())(1.0)[1]

        value, of_y = run(differentiate)(ref, gradient)
        np.testing.assert_allclose(value, 3 * np.sin(2.0) ** 2, rtol=1e-6)
        np.testing.assert_allclose(of_y, np.sin(2.0) ** 2, rtol=1e-6)
        np.testing.assert_allclose(ref[...], np.sin(2.0), rtol=1e-6)
        np.testing.assert_allclose(gradient[...], 100 + 3 * np.sin(4.0), rtol=1e-6)


def test_a_loop_over_parts_of_a_batch_sums_their_gradients_in_a_reference():
    def loss(ws, xs):
        return cnp.mean(lax.scan(lambda x, w: (x @ w, None), xs, ws)[0])

    def whole(ws, parts):
        total = cv.new_ref(cnp.zeros_like(ws))

        def part(_, xs):
            value, pull = cv.vjp(lambda ws: loss(ws, xs), ws)
            pull.with_refs(total)(cnp.ones_like(value))
            return None, value

        _, losses = lax.scan(part, None, parts)
        return cv.freeze(total), losses

    ws = cnp.linspace(-1, 1, 12).reshape(3, 2, 2)
    parts = cnp.arange(8.0).reshape(2, 2, 2)
    found, losses = cv.jit(whole)(ws, parts)
    wanted = cv.grad(lambda ws: sum(loss(ws, xs) for xs in parts))(ws)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    assert losses.shape == (2,)


def test_where_a_gradient_cannot_go_is_refused_in_words():
    ref = cv.new_ref(2.0)
    _, pull = cv.vjp(lambda r: r[...] ** 2, ref)
    with pytest.raises(RefError, match=r"bind one for each with pull.with_refs"):
        pull(1.0)
    with pytest.raises(TypeMismatch, match=r"a reference to f32\[\], or DontWant\(\)"):
        pull.with_refs(GradValue())
    with pytest.raises(TypeMismatch, match=r"but got Ref{f32\[2\]}"):
        pull.with_refs(cv.new_ref(cnp.ones(2)))
    _, pull = cv.vjp(lambda x, y, n: x * y, 1.0, 2.0, 3)
    with pytest.raises(
        TypeMismatch, match=r"GradValue\(\), or DontWant\(\), but got 5"
    ):
        pull.with_refs(5, 6, 7)
    with pytest.raises(TypeMismatch, match=r"of type i32\[\], must be"):
        pull.with_refs(GradValue(), GradValue(), cv.new_ref(0))
    with pytest.raises(RefError, match="the same one"):
        pull.with_refs(ref, ref, GradValue())
    with pytest.raises(TreeMismatch):
        pull.with_refs(GradValue())
    with pytest.raises(RefError, match="the same one closed over"):
        cv.vjp(lambda r: r[...] * ref[...], ref)
    with pytest.raises(TypeMismatch, match=r"linearize of .* got a reference"):
        cv.linearize(lambda r: r[...], ref)
    assert float(ref[...]) == 2.0

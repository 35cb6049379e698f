"""A batch of predicates: each lane takes its branch, and is not harmed by the other.

The loops of these tests would not end for a lane that did not choose their branch,
and the slopes there are infinite.
"""

import warnings

import numpy as np
import pytest

import covector as cv
from covector import errors, lax
from covector import numpy as cnp

P = np.array([True, False, True, False])
X = np.array([1.0, -1.0, 3.0, 0.0], np.float32)


def doubled(x):
    """Without an end for what is not positive."""
    return lax.while_loop(lambda v: v < 10.0, lambda v: v * 2.0, x)


def counted(x):
    """With as many steps as x says, and no end in sight for −1."""
    count = x.astype(np.int32).astype(np.uint32)
    return lax.fori_loop(np.uint32(0), count, lambda i, v: v + 1.0, x)


def in_a_call(x):
    return cv.jit(doubled)(x)


def in_a_scan(x):
    return lax.scan(lambda c, _: (doubled(c), c), x, None, length=2)[0]


def in_a_cond(x):
    return lax.cond(cnp.sin(x) > -2.0, doubled, lambda x: x, x)


def in_a_custom_rule(x):
    f = cv.custom_jvp(doubled)
    f.defjvp(lambda primals, tangents: (f(*primals), tangents[0]))
    return f(x)


def in_a_map(x):
    return lax.map(doubled, cnp.stack([x, x + 1.0 * x]))[0]


LOOPS = [doubled, in_a_call, in_a_scan, in_a_cond, in_a_custom_rule, in_a_map]


@pytest.mark.parametrize("transform", [lambda f: f, cv.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("loop", LOOPS, ids=lambda f: f.__name__)
def test_a_loop_does_not_run_for_lanes_that_did_not_choose_it(loop, transform):
    f = transform(cv.vmap(lambda p, x: lax.cond(p, loop, lambda x: x - 1.0, x)))
    wanted = [float(loop(x)) if p else x - 1 for p, x in zip(P, X, strict=True)]
    assert f(P, X).tolist() == wanted
    assert f(P & False, X).tolist() == (X - 1).tolist()
    assert f(P | True, cnp.abs(X) + 1.0).tolist() == [16, 16, 16, 16]
    assert f(np.zeros(0, bool), X[:0]).shape == (0,)


def test_a_loop_with_traced_bounds_does_not_run_for_others():
    f = cv.jit(cv.vmap(lambda x: lax.cond(x >= 0.0, counted, lambda x: -x, x)))
    assert f(X).tolist() == [2, 1, 6, 0]


def test_of_many_branches_each_loops_for_its_own_lanes():
    branches = [lambda x: x, doubled, lambda x: doubled(-x), lambda x: -x]
    f = cv.jit(cv.vmap(lambda k, x: lax.switch(k, branches, x)))
    assert f(np.array([-5, 1, 2, 9]), X * [1, -1, -1, 1]).tolist() == [1, 16, 12, 0]
    assert f(np.array([0, 0, 3, 3]), X).tolist() == [1, -1, -3, 0]


def test_in_a_batch_of_batches_each_level_stops():
    either = lambda p, x: lax.cond(p, doubled, lambda x: x, x)  # noqa: E731
    pairs = np.stack([P, P & False]), np.stack([X, -X])
    wanted = [[16, -1, 12, 0], [-1, 1, -3, 0]]
    assert cv.jit(cv.vmap(cv.vmap(either)))(*pairs).tolist() == wanted
    rows = cv.vmap(cv.vmap(either, (None, 0)), (0, None))(P[:2], np.abs(X[:3]))
    assert rows.tolist() == [[16, 16, 12], [1, 1, 3]]


def test_lanes_that_communicate_all_take_part():
    """A sum over the batch is over all lanes, also those that do not choose it."""

    def total(x):
        return lax.fori_loop(0, 2, lambda i, v: v + lax.psum(x, "i"), x)

    f = cv.vmap(lambda p, x: lax.cond(p, total, lambda x: x, x), axis_name="i")
    assert f(P, X).tolist() == [7, -1, 9, 0]


def test_closed_over_batches_and_numbers_are_stood_in_for_too():
    def f(x, k, limit):
        return lax.cond(
            k > 0,
            lambda: lax.while_loop(lambda v: v < limit, lambda v: v + 1.0 * k, x),
            lambda: x,
        )

    out = cv.vmap(f, (0, 0, None))(X, np.array([2, 0, -1, 1]), np.float32(4))
    assert out.tolist() == [5, -1, 3, 4]


# -- derivatives -----------------------------------------------------------------------


def root(w, x):
    return lax.cond(x > 0.0, lambda x: cnp.sqrt(x * w), lambda x: 0.0 * w * x, x)


def looped_root(w, x):
    """The carry of a loop that did not run has an infinite slope after it."""
    grown = lambda x: cnp.sqrt(lax.fori_loop(0, 2, lambda i, v: v * w, x))  # noqa: E731
    return lax.cond(x > 0.0, grown, lambda x: 0.0 * w * x, x)


def of_three(w, x):
    branches = [lambda x: x * w, lambda x: cnp.log(x) * w, lambda x: 1.0 / (x * w)]
    return lax.switch((x > 0.0).astype(int) + (x > 1.0), branches, x)


def by_hand(f, w, xs):
    """Gradients, one lane after another: for each of them one branch runs."""
    found = [cv.grad(f, argnums=(0, 1))(w, x) for x in xs]
    return sum(float(d) for d, _ in found), [float(d) for _, d in found]


@pytest.mark.parametrize("transform", [lambda f: f, cv.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("xs", [X, -X, -np.abs(X), X[3:], X[:1]], ids=str)
@pytest.mark.parametrize("f", [root, looped_root, of_three], ids=lambda f: f.__name__)
def test_gradients_are_those_of_the_branches_taken(f, xs, transform):
    """Also that of a shared operand, to which all lanes contribute."""
    total = lambda w, xs: cnp.sum(cv.vmap(f, (None, 0))(w, xs))  # noqa: E731
    slopes = transform(cv.grad(total, argnums=(0, 1)))(np.float32(2), xs)
    for slope, wanted in zip(slopes, by_hand(f, np.float32(2), xs), strict=True):
        np.testing.assert_allclose(slope, wanted, rtol=1e-5)


def test_tangents_and_second_derivatives_are_not_harmed():
    each = cv.vmap(root, (None, 0))
    w, xs = np.float32(2), X
    _, tangent = cv.jvp(each, (w, xs), (np.float32(1), np.ones_like(xs)))
    np.testing.assert_allclose(tangent[:3], [(1 + 2) / 8**0.5, 0, 5 / 24**0.5], 1e-5)
    assert float(tangent[3]) == 0
    curve = cv.hessian(lambda w: cnp.sum(each(w, xs)))(w)
    wanted = -(2.0**-1.5) / 4 * (1 + 3**0.5)
    np.testing.assert_allclose(curve, wanted, rtol=1e-5)
    rows = cv.jacrev(lambda xs: each(w, xs))(xs)
    assert np.isfinite(np.asarray(rows)).all()


def test_a_batch_of_batches_has_gradients_too():
    def total(w, v, x):
        inner = cv.vmap(lambda x: root(w, x) * v)
        return cnp.sum(cv.vmap(inner)(x))

    x = np.array([[4.0, 0.0], [0.0, -1.0]], np.float32)
    found = cv.jit(cv.grad(total, argnums=(0, 1, 2)))(np.float32(2), np.float32(1), x)
    for slope in found:
        assert np.isfinite(np.asarray(slope)).all()
    np.testing.assert_allclose(found[0], 1 / 2**0.5, rtol=1e-6)


W = np.array([2.0, 3.0], np.float32)
ROOTS = np.array([[4.0, 0.0], [-1.0, 1.0]], np.float32)


@pytest.mark.parametrize("loop", [False, True], ids=["plain", "loop"])
@pytest.mark.parametrize("along", [0, 1])
def test_what_only_some_batches_share_has_its_own_stand_ins(along, loop):
    """One w for each row, or for each column."""
    f = looped_root if loop else root

    def total(w, x):
        if along == 0:
            return cv.vmap(lambda w, xs: cv.vmap(lambda x: f(w, x))(xs))(w, x).sum()
        return cv.vmap(lambda xs: cv.vmap(f)(w, xs))(x).sum()

    w = np.broadcast_to(W[:, None] if along == 0 else W, (2, 2))
    slope = (w**2 if loop else w) * ROOTS
    wanted_x = np.where(ROOTS > 0, np.sqrt(slope / np.where(ROOTS, ROOTS, 1)) / 2, 0)
    wanted_x = wanted_x / np.sqrt(np.where(ROOTS > 0, ROOTS, 1))
    for_w = np.sqrt(np.abs(ROOTS)) * (1 if loop else 0.5 / np.sqrt(w))
    wanted_w = np.where(ROOTS > 0, for_w, 0).sum(1 - along)
    for transform in (lambda g: g, cv.jit):
        found = transform(cv.grad(total, argnums=(0, 1)))(W, ROOTS)
        np.testing.assert_allclose(found[0], wanted_w, rtol=1e-5)
        np.testing.assert_allclose(found[1], wanted_x, rtol=1e-5)


def test_without_loops_and_derivatives_nothing_is_added():
    program = cv.jit(cv.vmap(lambda p, x: lax.cond(p, cnp.sin, cnp.cos, x)))
    text = program.lower(P, X).as_text()
    assert "dynamic_slice" not in text
    assert "stablehlo.case" not in text
    looping = cv.jit(cv.vmap(lambda p, x: lax.cond(p, doubled, cnp.cos, x)))
    assert "stablehlo.case" in looping.lower(P, X).as_text()


# -- the warning -----------------------------------------------------------------------


def sine_or_cosine(p, x):
    return lax.cond(p, cnp.sin, cnp.cos, x)


def third_of_three(k, x):
    return lax.switch(k, [cnp.sin, cnp.cos, cnp.tanh], x)


LINE = sine_or_cosine.__code__.co_firstlineno + 1
CHOICES = {
    "vmap": (cv.vmap(sine_or_cosine), P),
    "jit of vmap": (cv.jit(cv.vmap(sine_or_cosine)), P),
    "vmap of jit": (cv.vmap(cv.jit(sine_or_cosine)), P),
    "vmap of grad": (cv.vmap(cv.grad(sine_or_cosine, argnums=1)), P),
    "switch": (cv.vmap(third_of_three), P.astype(int)),
}


@pytest.mark.parametrize("name", CHOICES)
def test_whoever_asks_is_warned_of_choices_that_save_nothing(name):
    f, index = CHOICES[name]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with cv.warn_batched_cond(True):
            f(index, X)
    (warning,) = caught
    assert warning.category is errors.BatchedCondWarning
    assert warning.filename == __file__
    line = LINE if name != "switch" else third_of_three.__code__.co_firstlineno + 1
    assert warning.lineno == line
    assert "is by a batch of values, so every branch runs" in str(warning.message)
    names = "tanh" if name == "switch" else "the choice between cos, sin is"
    assert names in str(warning.message)


def test_without_asking_nobody_is_warned():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cv.vmap(sine_or_cosine)(P, X)
        with cv.warn_batched_cond(True):
            cv.vmap(sine_or_cosine, (None, 0))(True, X)


def test_the_option_can_be_set_for_the_process():
    cv.config.update("warn_batched_cond", True)
    try:
        with pytest.warns(
            errors.BatchedCondWarning, match="choose by what is the same"
        ):
            cv.vmap(sine_or_cosine)(P, X)
    finally:
        cv.config.update("warn_batched_cond", False)


def test_what_all_branches_forward_is_no_batch():
    def choose(p, x):
        return lax.cond(p > 0, lambda x: (x + p, x), lambda x: (x - p, x), x)

    over = cv.vmap(choose, in_axes=(0, None), out_axes=(0, None))
    chosen, same = over(np.arange(-1, 2, dtype="f"), 3.0)
    assert (chosen.tolist(), float(same)) == ([4, 3, 4], 3)

    def switch(i, x):
        branches = [lambda x, y: (x, y, x), lambda x, y: (x, x, y)]
        return lax.switch(i, branches, x, 2 * x)

    same, *others = cv.vmap(switch, in_axes=(0, None), out_axes=(None, 0, 0))(
        np.arange(2), 3.0
    )
    assert float(same) == 3
    assert [o.tolist() for o in others] == [[6, 3], [3, 6]]


@pytest.mark.parametrize(
    ("taken", "other"),
    [(cnp.sqrt, lambda x: 0.0 * x), (lambda x: 2 * x, lambda x: x)],
    ids=["sqrt", "linear"],
)
def test_the_gradient_of_a_batch_goes_through_a_choice_in_a_custom_jvp_rule(
    taken, other
):
    """What a rule computes on tangents and what it computes beside them stay apart."""

    def choice(x):
        return cnp.sin(lax.cond(x > 0, taken, other, x))

    ruled = cv.custom_jvp(choice)
    ruled.defjvp(lambda primals, tangents: cv.jvp(choice, primals, tangents))

    def total(f):
        return lambda x: cnp.sum(cv.vmap(f)(x))

    x = np.array([4.0, -1.0, 0.0], np.float32)
    slopes = cv.grad(total(ruled))(x)
    np.testing.assert_allclose(slopes, cv.grad(total(choice))(x), rtol=1e-6)
    assert cnp.all(cnp.isfinite(slopes))

"""A scan is the steps one after another, under every transformation."""

from typing import Any, NamedTuple

import numpy as np
import pytest

import covector as cv
from covector import errors, lax, tree
from covector import numpy as cnp
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.core.staging import stage
from covector.core.trace import current
from covector.lax.control_flow import cond, fori_loop, scan
from covector.operations.casting import convert
from covector.operations.joining import Stack
from covector.programs.control_flow.scan import Scan
from covector.transforms.vmap import vmap
from tests.programs.transformed import LONG, TRANSFORMATIONS, assert_alike

W, C, XS = (
    np.array([0.3, -0.8]),
    np.array([0.5, 1.1]),
    np.linspace(-1, 1, 10).reshape(5, 2),
)


def unrolled(f, init, xs=None, length=None, reverse=False, unroll=1):  # noqa: PLR0917
    """The meaning of scan."""
    xs = tree.map(as_array, xs)
    length = tree.leaves(xs)[0].type.shape[0] if length is None else length
    carry, rows = tree.map(as_array, init), []
    for i in reversed(range(length)) if reverse else range(length):
        carry, y = f(carry, tree.map(lambda x, i=i: x[i], xs))
        rows.append(y)
    if reverse:
        rows.reverse()
    return carry, tree.map(lambda *ys: Stack(0)(*map(as_array, ys)), *rows)


def running_sum(scan, w, c, xs):
    return scan(lambda c, x: (c + x, c * x), c, xs)


def recurrence(scan, w, c, xs):
    def step(c, x):
        c = cnp.sin(w * c + x)
        return c, c * w

    return scan(step, c, xs)


def backwards(scan, w, c, xs):
    return scan(lambda c, x: (cnp.sin(w * c) + x, c), c, xs, reverse=True)


def unrolled_by_three(scan, w, c, xs):
    return scan(lambda c, x: (cnp.sin(w * c) + x, c), c, xs, unroll=3)


def unrolled_whole(scan, w, c, xs):
    return scan(lambda c, x: (cnp.sin(w * c) + x, c), c, xs, unroll=True, reverse=True)


def perturbed_by_another(scan, w, c, xs):
    """The first carry has a tangent only through the second, and the third has none."""

    def step(carry, x):
        a, b, k = carry
        return (a + b * b, b * w + x, k + 1), a * b

    return scan(step, (np.zeros(2), c, 0), xs)


def counted(scan, w, c, xs):
    """The count is not linear, and the linear part needs it at each step."""

    def step(carry, x):
        k, c = carry
        return (k + 1, c * convert(k, c.dtype) + w * x), None

    return scan(step, (1, c), xs)


def loop_invariant(scan, w, c, xs):
    """What is made of w alone is a residual that is the same at every step."""

    def step(c, x):
        s = cnp.sin(w) * 3.0
        return c * s, c * s * x + cnp.sin(s)

    return scan(step, c, xs)


def forgetful(scan, w, c, xs):
    """The carry that comes back does not depend on the one that went in."""
    return scan(lambda c, x: (x, c * w), c, xs)


def unchanged(scan, w, c, xs):
    return scan(lambda c, x: (c, c * x), (c), xs)


def without_xs(scan, w, c, xs):
    return scan(lambda c, _: (cnp.sin(c) * w, c), c, None, length=4)


def without_outputs(scan, w, c, xs):
    return scan(lambda c, x: (c * w + x, None), c, xs)[0]


def without_carry(scan, w, c, xs):
    return scan(lambda _, x: (None, cnp.sin(x) * w), None, xs)[1]


def of_trees(scan, w, c, xs):
    def step(carry, x):
        h = cnp.sin(carry["h"][0]) * x[0]
        return {"h": (h, carry["h"][1] + x[1]["b"])}, {"y": h, "none": None}

    return scan(step, {"h": (c, w)}, (xs, {"b": xs * 2.0}))


def one_step(scan, w, c, xs):
    return scan(lambda c, x: (cnp.sin(c) * w, c * x), c, xs[:1])


def nested(scan, w, c, xs):
    def step(c, x):
        inner, ys = scan(
            lambda d, v: (cnp.sin(d) * v + x, d * v), c, Stack(0)(w, x, w * x)
        )
        return inner, cnp.sum(ys * c)

    return scan(step, c, xs)


def with_branches(scan, w, c, xs):
    def step(c, x):
        up = cnp.sum(x) > 0.0
        c = cond(up, lambda c: cnp.sin(c) * x, lambda c: c * w * x, c)
        return c, c * w

    return scan(step, c, xs)


def with_jitted_body(scan, w, c, xs):
    return scan(cv.jit(lambda c, x: (cnp.sin(c * w) + x, c * x)), c, xs)


def with_loop_inside(scan, w, c, xs):
    def step(c, x):
        return fori_loop(0, 3, lambda i, d: cnp.sin(d) * w + x, c), c

    return scan(step, c, xs)


BODIES = {
    f.__name__: f
    for f in (
        running_sum,
        recurrence,
        backwards,
        unrolled_by_three,
        unrolled_whole,
        perturbed_by_another,
        counted,
        loop_invariant,
        forgetful,
        unchanged,
        without_xs,
        without_outputs,
        without_carry,
        of_trees,
        one_step,
        nested,
        with_branches,
        with_jitted_body,
        with_loop_inside,
    )
}


SELECTED = ("recurrence", "perturbed_by_another", "counted", "nested", "with_branches")
ROWS = [
    (b, t) for b in BODIES for t in TRANSFORMATIONS if t not in LONG or b in SELECTED
]


@pytest.mark.parametrize(("body", "name"), ROWS)
def test_a_scan_is_its_steps(body, name):
    f = BODIES[body]
    assert_alike(
        lambda *args: f(scan, *args), lambda *args: f(unrolled, *args), (W, C, XS), name
    )


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("body", ["recurrence", "perturbed_by_another", "of_trees"])
def test_a_compiled_scan_is_one_that_steps_on_the_host(body, reverse, monkeypatch):
    f = BODIES[body]
    both = lambda f, init, xs: scan(f, init, xs, reverse=reverse)  # noqa: E731
    args = tuple(as_array(x.astype(np.float32)) for x in (W, C, XS))
    by_step = f(both, *args)
    monkeypatch.setattr(
        "covector.programs.higher_order.tiering.Budget.try_spend", lambda self: False
    )
    compiled = f(both, *args)
    for x, y in zip(tree.leaves(by_step), tree.leaves(compiled), strict=True):
        assert x.type is y.type
        np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=1e-6)


# -- zero length -----------------------------------------------------------------------


def nothing(w, c, xs):
    return scan(lambda c, x: (cnp.sin(c) * w, (c * x, x)), c, xs)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("transform", [lambda f: f, cv.jit])
def test_no_steps_give_the_initial_carry_and_empty_outputs(transform, reverse):
    f = lambda c, xs: scan(lambda c, x: (c + cnp.sum(x), x), c, xs, reverse=reverse)  # noqa: E731
    carry, ys = transform(f)(1.0, np.zeros((0, 2, 3), "f"))
    assert float(carry) == 1.0
    assert str(ys.type) == "f32[0,2,3]"


def test_no_steps_have_derivatives_and_batches():
    w, c, xs = W, C, np.zeros((0, 2))
    with cv.options.override(enable_x64=True):
        dw, dc, dxs = cv.grad(
            lambda w, c, xs: cnp.sum(nothing(w, c, xs)[0] * w), argnums=(0, 1, 2)
        )(w, c, xs)
        np.testing.assert_array_equal(dw, C)
        np.testing.assert_array_equal(dc, W)
        assert dxs.shape == (0, 2)
        carry, (ys, _) = vmap(nothing, (None, 0, None))(w, np.stack([c, c]), xs)
    assert carry.shape == (2, 2)
    assert ys.shape == (2, 0, 2)


# -- types -----------------------------------------------------------------------------


def test_a_python_zero_becomes_what_the_body_returns():
    total, sums = scan(lambda c, x: (c + x, c), 0, np.ones(3, np.float32))
    assert str(total.type) == "f32[]"
    assert not total.type.weak
    assert str(sums.type) == "f32[3]"
    assert float(total) == 3


def test_a_narrow_carry_is_widened():
    total, _ = scan(
        lambda c, x: (c + x, None), as_array(np.float16(1)), np.ones(3, np.float32)
    )
    assert str(total.type) == "f32[]"


def test_what_comes_back_narrower_is_converted():
    narrow = lambda c, x: (convert(c + x, cv.numpy.scalar_types.float16.dtype), c)  # noqa: E731
    total, carries = scan(narrow, as_array(np.float32(0)), np.ones(3, np.float32))
    assert str(total.type) == "f32[]"
    assert str(carries.type) == "f32[3]"


def test_widening_one_carry_may_widen_the_next():
    def step(carry, x):
        _, b, c = carry
        return (b, c, x), None

    last, _ = scan(step, (0, 0, 0), np.arange(4, dtype=np.float32))
    assert [str(x.type) for x in last] == ["f32[]"] * 3
    assert [float(x) for x in last] == [1, 2, 3]


def test_a_carry_that_starts_constant_has_a_gradient_after_widening():
    slope = cv.grad(lambda x: scan(lambda c, _: (c * x + x, None), 0, None, 3)[0])(2.0)
    assert float(slope) == 1 + 2 * 2 + 3 * 4  # x + x² + x³


def test_keys_and_bools_can_be_carried_and_stacked():
    keys = cv.core.key_types.KeyType("threefry2x32")
    key = cv.core.array.ConcreteArray(
        cv.core.types.ArrayType((2,), keys), np.array([3, 4], np.uint64)
    )

    def step(c, x):
        return (c[1], c[0]), (x, c[0])

    for run in (
        lambda: scan(step, (True, False), key),
        cv.jit(lambda: scan(step, (True, False), key)),
    ):
        (_, last), (ys, flags) = run()
        assert last.dtype == np.bool_
        assert ys.type is key.type
        np.testing.assert_array_equal(ys.host(), key.host())
        assert flags.tolist() == [True, False]


def test_large_closed_over_arrays_are_passed_and_not_copied_into_the_program():
    big = as_array(np.ones((64, 64), np.float32))
    staged = stage(
        lambda c: scan(lambda c, _: (c + cnp.sum(big), None), c, None, 3)[0:1],
        [big.type.with_shape(())],
    )
    assert staged.captured == [big] or staged.captured[0] is big
    (equation,) = [e for e in staged.jaxpr.equations if isinstance(e.op, Scan)]
    assert equation.op.num_consts == 1


def test_what_the_body_closes_over_is_read_anew_by_each_call():
    factor = 2.0

    def step(c, x):
        return c * factor + x, None

    xs = np.arange(3, dtype=np.float32)
    assert float(scan(step, 0.0, xs)[0]) == 4
    factor = 3.0
    assert float(scan(step, 0.0, xs)[0]) == 5


def test_equal_bodies_are_one_program():
    def total(x):
        return scan(lambda c, x: (c * 2.0 + x, None), 0.0, x)[0]

    staged = stage(lambda x: [total(x), total(x + 1.0)], [as_array(XS[:, 0]).type])
    first, second = [e.op for e in staged.jaxpr.equations if isinstance(e.op, Scan)]
    assert first is second


def test_residuals_that_stay_the_same_are_not_stacked():
    w = as_array(np.ones((3, 3), np.float32))

    def f(w, x):
        return cnp.sum(scan(lambda c, _: (c * cnp.sin(w), None), x, None, 7)[0])

    program = stage(lambda *a: [cv.vjp(f, *a)[0]], [w.type, w.type]).jaxpr
    (equation,) = [e for e in program.equations if isinstance(e.op, Scan)]
    stacked = [v.type for v in equation.outputs if v.type.ndim == 3]
    assert [str(t) for t in stacked] == ["f32[7,3,3]"]  # the carry, but not cos(w)


# -- a jitted loop is one loop ---------------------------------------------------------


def test_a_residual_beside_a_result_that_each_step_needs_is_defined_once():
    def step(carry, x):
        count, moved = lax.while_loop(
            lambda c: c[0] > 0, lambda c: (c[0] - 1, cnp.tanh(c[1])), (3, x)
        )
        return cnp.sin(carry + cnp.cos(moved)) + count

    def looped(x):
        return scan(lambda carry, _: (step(carry, x), None), 0.5, length=2)[0]

    x = cnp.array(0.3)
    value, slope = cv.jvp(cv.jit(looped), (x,), (cnp.array(1.0),))
    one_by_one = cv.jvp(lambda x: step(step(0.5, x), x), (x,), (cnp.array(1.0),))
    np.testing.assert_allclose((value, slope), one_by_one, rtol=1e-6)


def test_zero_stands_for_loops_that_are_not_unrolled_or_batched():
    xs = np.arange(3, dtype="f")
    carry, ys = scan(lambda c, x: (c + x, c), 0.0, xs, unroll=0)
    assert (float(carry), ys.tolist()) == (3, [0, 0, 1])
    assert int(fori_loop(0, 3, lambda i, v: v + i, 0, unroll=0)) == 3
    assert lax.map(lambda x: 2 * x, xs, batch_size=0).tolist() == [0, 2, 4]


def test_the_body_is_traced_once():
    calls = []

    def step(c, x):
        calls.append(1)
        return c + x, c

    cv.jit(lambda xs: scan(step, as_array(np.float32(0)), xs))(np.ones(100, np.float32))
    assert len(calls) == 1


def test_a_forward_derivative_keeps_nothing():
    def f(x):
        return scan(lambda c, _: (cnp.sin(c) * x, None), x, None, 9)[0]

    program = stage(
        lambda x, dx: list(cv.jvp(f, (x,), (dx,))), [as_array(1.0).type] * 2
    )
    (equation,) = [e for e in program.jaxpr.equations if isinstance(e.op, Scan)]
    assert all(v.type.ndim == 0 for v in equation.outputs)


# -- jit switched off ------------------------------------------------------------------


def test_without_jit_the_body_sees_values():
    seen = []

    def step(c, x):
        seen.append(float(x))
        return c + x, c * x

    with cv.options.override(disable_jit=True):
        total, ys = scan(step, 0.0, np.arange(4, dtype=np.float32), reverse=True)
    assert seen == [3, 2, 1, 0]
    assert float(total) == 6
    assert ys.tolist() == [0, 5, 6, 0]


# -- words -----------------------------------------------------------------------------


class Case(NamedTuple):
    call: Any
    error: type
    words: str


def _carry_to(out):
    return lambda: scan(lambda c, x: (out, x), {"h": (1, np.ones(3, np.float32))}, XS)


WORDS = {
    "not a pair": Case(
        lambda: scan(lambda c, x: c, 0, XS),
        TypeError,
        r"scan of .*<lambda> \(test_scan.py:\d+\) needs a function that returns a pair "
        r"\(carry, output\), but it returned i32\[\]. Return \(carry, None\)",
    ),
    "shape": Case(
        _carry_to({"h": (1, 2.0)}),
        errors.TypeMismatch,
        r"the carry at \['h'\]\[1\] starts as f32\[3\] but comes back from a step as "
        r"f32\[\]. "
        "A carry keeps its shape",
    ),
    "structure": Case(
        _carry_to({"h": 1}),
        errors.TreeMismatch,
        r"at \['h'\] the initial carry has a tuple of 2 where what comes back has a "
        r"leaf",
    ),
    "lengths": Case(
        lambda: scan(lambda c, x: (c, x), 0, {"a": XS, "b": XS[:3]}),
        ValueError,
        r"all of xs must have one length, but xs\['b'\] is f32\[3,2\] where xs\['a'\] "
        r"is "
        r"f32\[5,2\]",
    ),
    "length": Case(
        lambda: scan(lambda c, x: (c, x), 0, XS, length=4),
        ValueError,
        r"xs is f32\[5,2\] where length is 4",
    ),
    "scalar": Case(
        lambda: scan(lambda c, x: (c, x), 0, (XS, 1.0)),
        TypeError,
        r"but xs\[1\] is f32\[\], which has none. What is the same at every step",
    ),
    "no length": Case(
        lambda: scan(lambda c, x: (c, x), 0), TypeError, "needs xs or length"
    ),
    "length is not an integer": Case(
        lambda: scan(lambda c, x: (c, x), 0, length=3.5),
        TypeError,
        "length must be an integer, but got 3.5",
    ),
    "negative length": Case(
        lambda: scan(lambda c, x: (c, x), 0, length=-1),
        ValueError,
        "length must not be negative, but is -1",
    ),
    "traced length": Case(
        lambda: cv.jit(lambda n: scan(lambda c, x: (c, x), 0, length=n))(3),
        errors.TracerIntegerConversionError,
        "make the argument static",
    ),
    "traced unroll": Case(
        lambda: cv.jit(lambda n: scan(lambda c, x: (c, x), 0, XS, unroll=n))(3),
        errors.TracerIntegerConversionError,
        r"scan of .*: unroll must be known while the program is traced, but it "
        r"is a traced i32\[\]. .* for a number of steps that is known only when .*"
        "while_loop",
    ),
    "unroll is not an integer": Case(
        lambda: scan(lambda c, x: (c, x), 0, XS, unroll="all"),
        TypeError,
        "unroll must be an integer, but got 'all'",
    ),
    "negative unroll": Case(
        lambda: scan(lambda c, x: (c, x), 0, XS, unroll=-2),
        ValueError,
        "unroll must not be negative, but is -2",
    ),
    "no function": Case(
        lambda: scan(3, 0, XS), TypeError, "a function for f, but got 3 of type int"
    ),
    "a string among xs": Case(
        lambda: scan(lambda c, x: (c, x), 0, (XS, "a")),
        TypeError,
        r"xs\[1\] needs an array or a number, but got 'a' of type str",
    ),
    "a triple": Case(
        lambda: scan(lambda c, x: (c, x, x), 0, XS),
        TypeError,
        r"returns a pair \(carry, output\), but it returned a tuple of 3",
    ),
    "carry of None": Case(
        lambda: scan(lambda c, x: (None, x), 0, XS),
        errors.TreeMismatch,
        "the initial carry is a leaf where what comes back is None",
    ),
    "fori without a function": Case(
        lambda: fori_loop(0, 3, None, 0), TypeError, "needs a function for body_fun"
    ),
    "fori unroll": Case(
        lambda: fori_loop(0, 3, lambda i, v: v, 0, unroll=-1),
        ValueError,
        "fori_loop of .*unroll must not be negative, but is -1",
    ),
    "map to strings": Case(
        lambda: lax.map(lambda x: {"a": x, "b": "no"}, XS),
        TypeError,
        r"map of .*: the result\['b'\] needs an array or a number, but got 'no'",
    ),
    "map of nothing": Case(
        lambda: lax.map(lambda x: x, ()),
        TypeError,
        "map of .* needs an array in xs to know the number of steps",
    ),
    "map without a function": Case(
        lambda: lax.map(None, XS), TypeError, "needs a function for f, but got None"
    ),
    "batch size": Case(
        lambda: lax.map(lambda x: x, XS, batch_size=-1),
        ValueError,
        "batch_size must not be negative, but is -1",
    ),
    "unroll": Case(
        lambda: scan(lambda c, x: (c, x), 0, XS, unroll=-1),
        ValueError,
        "unroll must not be negative, but is -1",
    ),
    "no array": Case(
        lambda: scan(lambda c, x: (c, "y"), 0, XS),
        TypeError,
        r"must return arrays and numbers, but its result at \[1\] is 'y'",
    ),
}


@pytest.mark.parametrize("name", WORDS)
def test_errors_say_what_is_wrong(name):
    call, error, words = WORDS[name]
    before = current.trace
    with pytest.raises(error, match=words) as caught:
        call()
    assert isinstance(caught.value, errors.CovectorError)
    assert current.trace is before


def test_a_carry_without_a_common_dtype_names_the_line():
    keys = cv.core.key_types.KeyType("threefry2x32")
    key = cv.core.array.ConcreteArray(
        cv.core.types.ArrayType((), keys), np.array(3, np.uint64)
    )

    def step(c, x):
        made = x * 2.0
        return made, None

    with pytest.raises(errors.TypeMismatch) as caught:
        scan(step, key, np.ones(3, np.float32))
    words = str(caught.value)
    line = step.__code__.co_firstlineno + 1
    assert "the carry starts as key<fry>[] but comes back from a step as f32[]" in words
    assert f"made at {__file__}:{line}" in words
    assert "random keys are not numbers" in words


def test_an_error_in_the_body_leaves_nothing_behind():
    def step(c, x):
        raise RuntimeError("the user's own")

    before = current.trace
    for transform in (lambda f: f, cv.jit, cv.grad, vmap):
        with pytest.raises(RuntimeError, match="the user's own"):
            transform(lambda xs: cnp.sum(scan(step, 0.0, xs)[1]))(XS)
        assert current.trace is before
    assert isinstance(cnp.sin(as_array(1.0)), Array)


@pytest.mark.parametrize("length", [1, 2, 3])
def test_a_short_reversed_scan_gives_its_rows_in_the_order_of_its_input(length):
    _, (xs, counts) = scan(
        lambda c, x: (c + 1, (x, c)), 0, cnp.arange(length), reverse=True
    )
    assert xs.tolist() == [*range(length)]
    assert counts.tolist() == [*range(length)][::-1]


def test_a_compiled_scan_takes_the_steps_that_do_not_fill_a_turn():
    def running(xs):
        return scan(lambda c, x: (c + x, c + x), 0.0, xs, unroll=2)

    total, sums = cv.jit(running)(cnp.arange(5.0))
    assert (total, sums.tolist()) == (10.0, [0.0, 1.0, 3.0, 6.0, 10.0])

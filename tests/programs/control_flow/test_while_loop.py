"""A while loop is Python's own, under every transformation that it has."""

from typing import Any, NamedTuple

import numpy as np
import pytest

import covector as cv
from covector import errors, tree
from covector import numpy as cnp
from covector.core.convert import as_array
from covector.core.staging import stage
from covector.core.trace import current
from covector.lax.control_flow import cond, fori_loop, scan, while_loop
from covector.lax.parallel import psum
from covector.programs.control_flow.scan import Scan
from covector.programs.control_flow.while_loop import While
from covector.transforms.vmap import vmap
from tests.programs.transformed import LONG, TRANSFORMATIONS, assert_alike

X, W = np.array([0.7, -0.4]), np.array([1.2, 0.3])


def by_hand(test, body, value):
    """The meaning of while_loop, for a value whose primal is known."""
    value = tree.map(as_array, value)
    while _known(test(value)):
        value = tree.map(as_array, body(value))
    return value


def _known(x):
    while not hasattr(x, "host"):
        x = x.primal if hasattr(x, "primal") else x.value
    return x.host()


def small(x):
    return cnp.sum(x * x) < 20.0


def growing(while_loop, x, w):
    return while_loop(small, lambda x: x * 1.3 + cnp.sin(w), x)


def perturbed_by_another(while_loop, x, w):
    """What the test reads has a tangent only through the others; the count has none."""

    def body(carry):
        k, a, b = carry
        return k + 1, a + b * b, b + cnp.sin(w)

    return while_loop(lambda c: small(c[1]), body, (0, np.zeros(2), x))


def bounded_by_an_argument(while_loop, x, w):
    """The test closes over what is differentiated."""
    bound = cnp.sum(w * w) * 10.0
    return while_loop(lambda x: cnp.sum(x * x) < bound, lambda x: x * 1.5 - 0.1, x)


def never(while_loop, x, w):
    return while_loop(lambda x: cnp.sum(x) > 1e9, lambda x: x * w, x)


def nested(while_loop, x, w):
    def body(x):
        inner = while_loop(lambda y: cnp.sum(y * y) < 2.0, lambda y: y * 2.0, w)
        return x * 1.5 + cnp.sin(inner)

    return while_loop(small, body, x)


LOOPS = {
    f.__name__: f
    for f in (growing, perturbed_by_another, bounded_by_an_argument, never, nested)
}


STEPS = [
    (f, t) for f in LOOPS for t in TRANSFORMATIONS if t not in LONG or f == "growing"
]


@pytest.mark.parametrize(("loop", "name"), STEPS)
def test_a_loop_is_its_steps(loop, name):
    f = LOOPS[loop]
    assert_alike(
        lambda *args: f(while_loop, *args),
        lambda *args: f(by_hand, *args),
        (X, W),
        name,
    )


# -- fori_loop -------------------------------------------------------------------------


def counted_by_hand(lower, upper, body, value):
    value = tree.map(as_array, value)
    for i in range(lower, upper):
        value = tree.map(as_array, body(i, value))
    return value


def powers(fori_loop, x, w):
    return fori_loop(2, 6, lambda i, c: cnp.sin(c * w) * i + x, x)


def with_a_tree(fori_loop, x, w):
    def body(i, c):
        return {"a": c["a"] * w + i, "b": (c["b"][0] + c["a"], i)}

    return fori_loop(-1, 4, body, {"a": x, "b": (w, 0)})


def backwards(fori_loop, x, w):
    """No step at all."""
    return fori_loop(3, -2, lambda i, c: c * w, x)


COUNTED = {f.__name__: f for f in (powers, with_a_tree, backwards)}
ROWS = [
    (c, t) for c in COUNTED for t in TRANSFORMATIONS if t not in LONG or c == "powers"
]


@pytest.mark.parametrize(("loop", "name"), ROWS)
def test_a_loop_with_static_bounds_has_every_derivative(loop, name):
    f = COUNTED[loop]
    assert_alike(
        lambda *args: f(fori_loop, *args),
        lambda *args: f(counted_by_hand, *args),
        (X, W),
        name,
    )


@pytest.mark.parametrize("bounds", [(0, 5), (3, 3), (4, 1), (-3, 2)])
@pytest.mark.parametrize("dtype", ["int32", "int8", "uint8"])
def test_bounds_may_be_traced(bounds, dtype):
    lower, upper = [np.asarray(b).astype(dtype) for b in bounds]
    f = lambda lower, upper: fori_loop(lower, upper, lambda i, c: c * 2 + i, 1)  # noqa: E731
    wanted = 1
    for i in range(int(lower), int(upper)):
        wanted = wanted * 2 + i
    jitted = cv.jit(f)
    if int(upper) - int(lower) < 20:
        assert int(jitted(lower, upper)) == wanted
        assert int(f(lower, upper)) == wanted


def test_traced_bounds_have_a_forward_derivative():
    f = cv.jit(lambda n, x: fori_loop(0, n, lambda i, c: c * x, x))
    value, slope = cv.jvp(lambda x: f(3, x), (2.0,), (1.0,))
    assert (float(value), float(slope)) == (16, 32)


def test_bounds_that_differ_over_a_batch():
    out = vmap(lambda n: fori_loop(0, n, lambda i, c: c + i, 0))(np.array([0, 4, 2]))
    assert out.tolist() == [0, 6, 1]


def test_the_count_has_the_dtype_of_the_bounds():
    types = []

    def body(i, c):
        types.append(i.type)
        return c

    fori_loop(0, 3, body, 0)
    fori_loop(np.int8(0), 3, body, 0)
    fori_loop(np.int16(0), np.int32(3), body, 0)
    assert [(str(t), t.weak) for t in types] == [
        ("i32[]", True),
        ("i8[]", False),
        ("i32[]", False),
    ]


def test_static_bounds_make_a_scan_and_others_a_loop():
    types = [as_array(3).type]
    static = stage(lambda n: [fori_loop(0, 3, lambda i, c: c + n, 0)], types).jaxpr
    traced = stage(lambda n: [fori_loop(0, n, lambda i, c: c + n, 0)], types).jaxpr
    assert isinstance(static.equations[-1].op, Scan)
    assert isinstance(traced.equations[-1].op, While)


@pytest.mark.parametrize("unroll", [1, 2, 7, True, False, None])
def test_steps_written_out_are_the_same_steps(unroll):
    f = lambda x: fori_loop(0, 5, lambda i, c: c * x + i, x, unroll=unroll)  # noqa: E731
    assert float(f(2.0)) == float(cv.jit(f)(2.0)) == 2**6 + 1 * 8 + 2 * 4 + 3 * 2 + 4


# -- while_loop ------------------------------------------------------------------------


@pytest.mark.parametrize("steps", [0, 1, 5, 1000])
def test_a_long_loop_begins_on_the_host_and_ends_compiled(steps):
    f = lambda n: while_loop(  # noqa: E731
        lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] + c[0]), (0, 0)
    )
    wanted = [steps, steps * (steps - 1) // 2]
    assert [int(x) for x in f(steps)] == wanted
    assert [int(x) for x in cv.jit(f)(steps)] == wanted


def test_lanes_of_a_batch_stop_when_they_are_done():
    f = vmap(lambda x: while_loop(lambda v: v < 50.0, lambda v: v * 2.0, x))
    x = np.array([1, 100, 49, 3, np.nan], np.float32)
    for out in (f(x), cv.jit(f)(x)):
        np.testing.assert_array_equal(out, [64, 100, 98, 96, np.nan])


def test_a_batch_that_all_lanes_leave_together_is_one_loop():
    f = vmap(
        lambda x: while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * x), (0, x))
    )
    program = stage(lambda x: list(f(x)), [as_array(np.ones(4, "f")).type]).jaxpr
    (equation,) = [e for e in program.equations if isinstance(e.op, While)]
    assert [str(v.type) for v in equation.outputs] == ["i32[]", "f32[4]"]
    counts, values = f(np.array([1, 2], np.float32))
    assert counts.tolist() == [3, 3]
    assert values.tolist() == [1, 16]


def test_what_every_step_hands_on_is_no_batch():
    def power(x, n):
        step = lambda c: (c[0], c[1] * c[0], c[2] + 1)  # noqa: E731
        return while_loop(lambda c: c[2] < n, step, (x, x, 0))

    over = vmap(power, in_axes=(None, 0), out_axes=(None, 0, 0))
    same, powers, steps = over(2.0, np.arange(3))
    assert (float(same), powers.tolist(), steps.tolist()) == (2, [2, 4, 8], [0, 1, 2])

    def total(x):
        return over(x, np.arange(3))[1].sum()

    assert float(cv.grad(total)(2.0)) == float(cv.jit(cv.grad(total))(2.0)) == 17
    assert float(cv.grad(cv.grad(total))(2.0)) == 14


def test_floats_that_are_whole_numbers_bound_a_loop():
    def power(x):
        return fori_loop(1.0, 3.0, lambda i, c: c * x + i, 1.0)

    value, slope = cv.value_and_grad(power)(2.0)
    assert (float(value), float(slope)) == (8, 5)
    traced = cv.jit(lambda n: fori_loop(1.0, n, lambda i, c: c + i, 0.0))
    assert float(traced(3.5)) == 6


def test_an_empty_batch_takes_no_steps():
    f = vmap(lambda x: while_loop(lambda v: v < 50.0, lambda v: v * 2.0, x))
    assert f(np.ones((0,), np.float32)).shape == (0,)


def test_a_test_may_name_a_batch_axis():
    f = lambda x: while_loop(lambda v: psum(v, "i") < 100.0, lambda v: v * 2.0, x)  # noqa: E731
    out = vmap(f, axis_name="i")(np.array([1, 2], np.float32))
    assert out.tolist() == [64, 128]


def test_a_number_holds_unless_it_is_zero():
    f = lambda n: while_loop(lambda n: n, lambda n: n - 1, n)  # noqa: E731
    assert int(f(5)) == int(cv.jit(f)(5)) == 0


def test_a_carry_is_widened():
    assert str(while_loop(lambda c: c < 3, lambda c: c + 0.5, 0).type) == "f32[]"


def test_keys_can_be_carried():
    keys = cv.core.key_types.KeyType("threefry2x32")
    key = cv.core.array.ConcreteArray(
        cv.core.types.ArrayType((2,), keys), np.array([3, 4], np.uint64)
    )
    f = lambda n, key: while_loop(  # noqa: E731
        lambda c: c[0] < n, lambda c: (c[0] + 1, c[2], c[1]), (0, key[0], key[1])
    )
    for n, wanted in ((4, [3, 4]), (5, [4, 3])):
        _, a, b = cv.jit(f)(n, key)
        assert [a.host().tolist(), b.host().tolist()] == wanted
    _, a, _ = vmap(f, (0, None))(np.array([4, 5]), key)
    assert a.host().tolist() == [3, 4]


def test_an_empty_carry_of_a_loop_that_ends_at_once():
    assert cv.jit(lambda n: while_loop(lambda _: n > 3, lambda c: c, ()))(2) == ()


def test_a_loop_inside_a_branch_inside_a_loop():
    def f(x, xs):
        def step(c, x):
            grown = cond(
                x > 0.0,
                lambda c: while_loop(lambda v: v < 3.0, lambda v: v + x, c),
                lambda c: c - 1.0,
                c,
            )
            return grown, grown

        return scan(step, x, xs)

    xs = np.array([2, -1, 1], np.float32)
    for g in (f, cv.jit(f)):
        last, ys = g(0.5, xs)
        assert ys.tolist() == [4.5, 3.5, 3.5]
        assert float(last) == 3.5
    last, ys = vmap(f, (0, None))(np.array([0.5, 9.0], np.float32), xs)
    assert ys.tolist() == [[4.5, 3.5, 3.5], [9, 8, 8]]


def test_a_forward_derivative_is_one_loop():
    f = lambda x, dx: list(  # noqa: E731
        cv.jvp(lambda x: while_loop(lambda v: v < 9.0, lambda v: v * x, x), (x,), (dx,))
    )
    program = stage(f, [as_array(1.0).type] * 2).jaxpr
    assert sum(isinstance(e.op, While) for e in program.equations) == 1


def test_a_constant_loop_inside_a_gradient_is_no_obstacle():
    """The loop does not depend on what is differentiated."""
    f = lambda x: x * while_loop(lambda v: v < 9.0, lambda v: v * 2.0, 1.0)  # noqa: E731
    assert float(cv.grad(f)(3.0)) == 16
    assert float(cv.jit(cv.grad(f))(3.0)) == 16


def test_without_jit_the_body_sees_values():
    seen = []

    def body(x):
        seen.append(int(x))
        return x * 3

    with cv.options.override(disable_jit=True):
        assert int(while_loop(lambda x: x < 20, body, 1)) == 27
        assert int(fori_loop(0, 3, lambda i, c: c + int(i), 0)) == 3
    assert seen == [1, 3, 9]


def test_without_jit_lanes_of_a_batch_stop_when_they_are_done():
    def powers(n):
        loop = while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] * 2), (0, 1))
        return loop[1], fori_loop(0, n, lambda i, c: c + i, 0)

    with cv.disable_jit():
        doubled, summed = vmap(powers)(np.arange(4))
        assert (doubled.tolist(), summed.tolist()) == ([1, 2, 4, 8], [0, 0, 1, 3])
        loss = lambda x: while_loop(lambda c: c < 9, lambda c: c * x, x)  # noqa: E731
        assert float(cv.grad(cv.checkpoint(loss))(2.0)) == 32


def test_without_jit_a_body_cannot_change_the_first_carry():
    def step(i, x):
        x += i
        return x

    def run(start):
        return [
            fori_loop(0, 3, step, start).tolist(),
            while_loop(lambda c: c[0] < 5, lambda c: step(1, c), start).tolist(),
            scan(lambda c, x: (step(x, c), 0), start, np.arange(3))[0].tolist(),
        ]

    start = np.ones(1, np.int32)
    compiled = run(start)
    with cv.disable_jit():
        assert run(start) == compiled == [[4], [5], [4]]
    assert start.tolist() == [1]


# -- words -----------------------------------------------------------------------------


class Case(NamedTuple):
    call: Any
    error: type
    words: str


ONES = np.ones(3, np.float32)
WORDS = {
    "test is an array": Case(
        lambda: while_loop(lambda x: x > 1.0, lambda x: x, ONES),
        errors.TypeMismatch,
        r"while_loop of .* needs a test that returns one scalar bool, but .*<lambda> "
        r"\(test_while_loop.py:\d+\) returned bool\[3\]. For one answer of many use "
        r".any",
    ),
    "test returns nothing": Case(
        lambda: while_loop(lambda x: None, lambda x: x, ONES),
        TypeError,
        "returned nothing",
    ),
    "shape": Case(
        lambda: while_loop(
            lambda x: True, lambda c: {"x": cnp.sum(c["x"])}, {"x": ONES}
        ),
        errors.TypeMismatch,
        r"the carry at \['x'\] starts as f32\[3\] but comes back from a step as "
        r"f32\[\], made "
        r"at .*test_while_loop.py",
    ),
    "structure": Case(
        lambda: while_loop(lambda x: True, lambda x: (x, x), 1),
        errors.TreeMismatch,
        "the initial carry is a leaf where what comes back is a tuple of 2",
    ),
    "shape in fori_loop": Case(
        lambda: fori_loop(0, 3, lambda i, c: {"x": cnp.sum(c["x"])}, {"x": ONES}),
        errors.TypeMismatch,
        r"fori_loop of .*: the carry at \['x'\] starts as f32\[3\]",
    ),
    "structure in fori_loop": Case(
        lambda: fori_loop(0, 3, lambda i, c: (c, c), {"x": ONES}),
        errors.TreeMismatch,
        "the initial carry is a dict",
    ),
    "bound is a float": Case(
        lambda: fori_loop(0, 3.5, lambda i, c: c, 0),
        TypeError,
        r"upper must be a whole number, but is 3.5. Convert it with int",
    ),
    "bound is an array": Case(
        lambda: fori_loop(np.arange(3), 3, lambda i, c: c, 0),
        TypeError,
        r"lower must be a scalar integer, but got i32\[3\]",
    ),
    "unroll": Case(
        lambda: cv.jit(lambda n: fori_loop(0, n, lambda i, c: c, 0, unroll=2))(3),
        ValueError,
        "unroll needs static bounds",
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


@pytest.mark.parametrize("dtype", ["uint8", "uint32", "uint64"])
def test_an_unsigned_counter_that_counts_down_takes_its_last_step(dtype):
    def left(x):
        return while_loop(
            lambda c: c[0] > 0,
            lambda c: (c[0] - 1, cnp.tanh(x)),
            (cnp.array(3, dtype), x),
        )[0]

    with cv.enable_x64(True):
        assert cv.jit(left)(cnp.arange(3.0)) == 0

"""Window reductions as users call them, beside jax, and what they say."""

import numpy as np
import pytest

import covector
from covector.core.convert import as_array
from covector.core.key_types import KeyType
from covector.core.staging import stage
from covector.core.types import ArrayType
from covector.errors import ArgumentError, DTypeError, TypeMismatch
from covector.lax import windows as lax
from covector.operations.arithmetic import Add, add, mul, sub
from covector.operations.broadcasting import ReduceSum
from covector.operations.extrema import max_, min_
from covector.operations.logarithms import log1p
from covector.operations.transcendental import exp
from covector.operations.window_reductions import ReduceWindowSum
from covector.operations.window_selection import ReduceWindowMax, SelectAndGatherAdd
from covector.programs.higher_order.call import Call
from covector.transforms.batch import batch_flat

X = np.random.default_rng(0).permutation(42).reshape(6, 7).astype(np.float32) / 8 - 2
WINDOWS = [
    {"window_dimensions": (2, 3)},
    {"window_dimensions": (3, 3), "window_strides": (2, 1), "padding": "SAME"},
    {"window_dimensions": (2, 2), "window_strides": (1, 3), "padding": "SAME_LOWER"},
    {
        "window_dimensions": (2, 2),
        "padding": ((1, 0), (0, 2)),
        "base_dilation": (2, 1),
        "window_dilation": (1, 2),
    },
]
every_window = pytest.mark.parametrize("window", WINDOWS)


def circle(a, b):
    """a ∘ b = a + b + a·b/8, which is associative and has the identity 0."""
    return a + b + a * b / 8


def total(x):
    return ReduceSum(tuple(range(x.ndim)))(x)


@every_window
@pytest.mark.parametrize(
    ("ours", "name", "start"),
    [
        (add, "add", 0.0),
        (add, "add", 1.0),
        (max_, "max", -np.inf),
        (min_, "min", np.inf),
        (mul, "mul", 1.0),
        (circle, None, 0.0),
    ],
)
def test_values_are_those_of_jax(window, ours, name, start):
    jax = pytest.importorskip("jax")
    theirs = getattr(jax.lax, name) if name else circle
    wanted = jax.lax.reduce_window(X, start, theirs, **window)
    np.testing.assert_allclose(
        lax.reduce_window(X, start, ours, **window), wanted, rtol=1e-5, atol=1e-6
    )


@every_window
@pytest.mark.parametrize(("ours", "start"), [(circle, 0.0), (mul, 1.0)])
def test_the_derivative_of_any_combiner_is_that_of_differences(window, ours, start):
    direction = np.random.default_rng(1).standard_normal(X.shape).astype(np.float32)
    x = as_array(X / 4)

    def loss(x):
        return total(lax.reduce_window(x, start, ours, **window))

    slope = float(total(covector.grad(loss)(x) * direction))
    step = 1e-2
    ends = [float(loss(as_array(X / 4 + s * step * direction))) for s in (1, -1)]
    assert slope == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=2e-3)


@pytest.mark.parametrize("window", WINDOWS[:3])  # jax has no derivative of the last
def test_ties_in_a_window_go_to_the_first(window):
    jax = pytest.importorskip("jax")
    x = np.rint(X).astype(np.float32)

    def loss(reduce, combine, sum_):
        return lambda x: sum_(reduce(x, -np.inf, combine, **window) ** 2)

    wanted = jax.grad(loss(jax.lax.reduce_window, jax.lax.max, jax.numpy.sum))(x)
    got = covector.grad(loss(lax.reduce_window, max_, total))(as_array(x))
    np.testing.assert_allclose(got, wanted, rtol=1e-6)


@pytest.mark.parametrize("dims", [(0, None), (2, None), (1, 0), (None, 0)])
def test_any_combiner_over_a_batch_is_a_loop(dims):
    starts = np.array([0.0, 0.5], np.float32)
    args = [
        as_array(X if dims[0] is None else np.stack([X, X / 2], dims[0])),
        as_array(starts[0] if dims[1] is None else starts),
    ]
    (out,), (dim,) = batch_flat(
        lambda x, i: [lax.reduce_window(x, i, circle, (2, 3))], 2, args, dims
    )
    for k in range(2):
        x = X if dims[0] is None else (X, X / 2)[k]
        wanted = lax.reduce_window(
            x, starts[0 if dims[1] is None else k], circle, (2, 3)
        )
        got = np.take(np.asarray(out), k, dim)
        np.testing.assert_allclose(got, wanted, rtol=1e-5)


def test_an_operation_and_its_identity_have_an_operation_of_their_own():
    def ops(combine, start):
        program = stage(
            lambda x: [lax.reduce_window(x, start, combine, (2,))],
            [ArrayType((4,), "float32")],
        ).jaxpr
        return [type(e.op) for e in program.equations]

    assert ops(add, 0.0) == [ReduceWindowSum]
    assert ops(max_, -np.inf) == [ReduceWindowMax]
    assert ops(add, 1.0) == [ReduceWindowSum, Add]
    assert ops(circle, 0.0) == [Call]


def test_the_value_of_windows_is_the_same_beside_a_derivative():
    """Neither margins nor the order of elements make it another one."""

    def same(x):
        return lax.reduce_window(x, np.float32(1), add, (2,), (1,), "SAME")

    def differences(x):
        return lax.reduce_window(x, np.float32(0), sub, (2,), (1,), "VALID")

    ones, x = np.ones(3, "f"), np.array([2, 3, 4], "f")
    assert same(ones).tolist() == [3, 3, 2]
    assert covector.jvp(same, (ones,), (ones,))[0].tolist() == [3, 3, 2]
    value, gradient = covector.value_and_grad(lambda x: total(same(x)))(ones)
    assert (float(value), gradient.tolist()) == (8, [1, 2, 2])
    value, tangent = covector.jvp(differences, (x,), (ones,))
    assert (value.tolist(), tangent.tolist()) == ([-5, -7], [-2, -2])


@pytest.mark.parametrize("combine", [add, circle])
def test_windows_over_a_batch_of_initial_values_count_each_once(combine):
    def window(start):
        x = np.array([1, 2, 3], "f")
        return lax.reduce_window(x, start, combine, (2,), (1,), "SAME")

    starts = np.array([3, 4], "f")
    got = covector.vmap(window)(starts)
    np.testing.assert_allclose(got, [window(s) for s in starts])


@pytest.mark.parametrize("combine", [add, circle])
def test_windows_of_a_scalar_do_not_forget_the_initial_value(combine):
    def window(x):
        return lax.reduce_window(x, np.float32(8), combine, (), ())

    wanted = float(combine(as_array(8.0), as_array(2.0)))
    assert float(window(np.float32(2))) == wanted
    assert covector.vmap(window)(np.full(2, 2, "f")).tolist() == [wanted] * 2
    assert float(covector.jvp(window, (2.0,), (1.0,))[0]) == wanted


def test_margins_do_not_make_a_finite_derivative_infinite():
    def smooth_maximum(a, b):
        high, low = max_(a, b), min_(a, b)
        return add(high, log1p(exp(sub(low, high))))

    def loss(x):
        out = lax.reduce_window(x, -np.inf, smooth_maximum, (2,), (2,), ((3, 2),))
        return out[2]

    assert np.isfinite(covector.grad(loss)(np.arange(4, dtype="f"))).all()


def test_same_pads_as_for_an_operand_without_gaps():
    out = lax.reduce_window(np.zeros((4, 6)), 0.0, add, (2, 1), (2, 1), "SAME", (2, 3))
    assert out.shape == (3, 16)


def test_several_operands_are_reduced_together():
    values = {"a": X, "b": -X}
    out = lax.reduce_window(
        values,
        {"a": 0.0, "b": np.inf},
        lambda p, q: {"a": p["a"] + q["a"], "b": min_(p["b"], q["b"])},
        (1, 7),
    )
    np.testing.assert_allclose(out["a"][:, 0], X.sum(1), rtol=1e-6)
    np.testing.assert_allclose(out["b"][:, 0], -X.max(1))


def test_shapes_without_arrays():
    assert lax.reduce_window_shape_tuple((6, 5), (2, 2), (2, 1), "SAME") == (3, 5)
    dilated = lax.reduce_window_shape_tuple((5,), (2,), (1,), [(1, 0)], (2,), (3,))
    assert dilated == (7,)


# -- words -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            lambda: lax.reduce_window(X, 0.0, add, (2,)),
            TypeMismatch,
            r"reduce_window_sum of f32\[6,7\] needs a window dimension, a stride, "
            r"padding and dilations for each of its 2 axes, but got \(2,\), \(1,\)",
        ),
        (
            lambda: lax.reduce_window(X, 0.0, add, (2, 0), padding=[(0, 0)] * 2),
            TypeMismatch,
            r"reduce_window_sum of f32\[6,7\] needs windows, strides and dilations of "
            r"at least 1, but got \(2, 0\), \(1, 1\)",
        ),
        (
            lambda: lax.reduce_window(X, 0.0, add, (2, 2), padding="HALF"),
            ArgumentError,
            "padding is 'SAME', 'SAME_LOWER', 'VALID', .* but got 'HALF'",
        ),
        (
            lambda: lax.reduce_window(X, np.zeros(2, "f"), add, (2, 2)),
            TypeMismatch,
            r"reduce_window of f32\[6,7\] needs an initial value of type f32\[\]",
        ),
        (
            lambda: lax.reduce_window((X, X[0]), (0.0, 0.0), add, (2, 2)),
            TypeMismatch,
            r"reduce_window needs operands of one shape, but got f32\[6,7\], f32\[7\]",
        ),
        (
            lambda: SelectAndGatherAdd((2,), (1,), ((0, 0),), (1,), (1,), "ge")(
                as_array(np.zeros(3, "f")), as_array(np.zeros(4, "f"))
            ),
            TypeMismatch,
            r"select_and_gather_add needs f32\[4\] for its operand f32\[4\], but got "
            r"f32\[3\]",
        ),
        (
            lambda: SelectAndGatherAdd((2,), (1,), ((0, 0),), (1,), (1,), "ge")(
                as_array(np.zeros(4, "i")), as_array(np.zeros(4, "i"))
            ),
            DTypeError,
            r"select_and_gather_add needs floating-point numbers, but got i32\[4\]",
        ),
    ],
)
def test_what_does_not_go_together_is_named(call, error, words):
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize("op", [ReduceWindowSum, ReduceWindowMax])
def test_random_keys_cannot_be_reduced(op):
    made = op((2,), (1,), ((0, 0),), (1,), (1,))
    with pytest.raises(
        DTypeError, match=rf"{made.name} needs numbers, but got key<fry>"
    ):
        made.type_rule(ArrayType((4,), KeyType("threefry2x32")))

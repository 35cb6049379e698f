"""Reductions as users call them: any Python combiner, and the words of errors."""

import numpy as np
import pytest

import covector
from covector.core import dtypes
from covector.core.convert import as_array, scalar
from covector.core.key_types import KeyType
from covector.core.staging import stage
from covector.core.types import ArrayType
from covector.errors import ConcretizationTypeError, DTypeError, TypeMismatch
from covector.lax import reductions as lax
from covector.operations.argmax import Argmax
from covector.operations.comparison import eq, lt
from covector.operations.extrema import max_
from covector.operations.reductions import ReduceMax
from covector.operations.selection import where
from covector.programs.higher_order.call import Call
from covector.transforms.batch import batch_flat
from covector.transforms.linearize import jvp_flat

X = np.array([[0.5, -1.0, 2.0], [3.0, 0.25, -2.0]], np.float32)


def circle(a, b):
    """a ∘ b = a + b + a·b, which is associative and has the identity 0."""
    return a + b + a * b


def by_numpy(x, axis):
    return np.prod(1 + x, axis) - 1


# -- any combiner ----------------------------------------------------------------------


@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1), ()])
def test_reduce_takes_any_associative_function(axes):
    got = lax.reduce(X, 0.0, circle, axes)
    np.testing.assert_allclose(got, by_numpy(X, axes), rtol=1e-6)


def test_reduce_of_several_operands_combines_them_together():
    """The pair (largest, how often it occurs) folds."""

    def tally(a, b):
        value = max_(a["value"], b["value"])
        counts = [
            where(eq(side["value"], value), side["count"], scalar(0, dtypes.int32))
            for side in (a, b)
        ]
        return {"value": value, "count": counts[0] + counts[1]}

    values = np.array([[3, 1, 3], [2, 2, 2]], np.int32)
    out = lax.reduce(
        {"value": values, "count": np.ones_like(values)},
        {"value": -(2**31), "count": 0},
        tally,
        (1,),
    )
    assert out["value"].tolist() == [3, 2]
    assert out["count"].tolist() == [2, 3]


def test_reduce_of_nothing_is_the_initial_value():
    assert lax.reduce(np.zeros((0, 2), "f"), 7.0, circle, (0,)).tolist() == [7.0, 7.0]


def test_reduce_with_an_operation_is_its_own_reduction():
    program = stage(
        lambda x: [lax.reduce(x, -np.inf, max_, (1,))], [ArrayType((2, 3), "float32")]
    ).jaxpr
    assert [e.op for e in program.equations] == [ReduceMax((1,))]


def test_an_initial_value_that_is_not_the_identity_counts():
    assert lax.reduce(X, 10.0, lambda a, b: a + b, (1,)).tolist() == [11.5, 11.25]
    assert lax.reduce(X, 1.0, max_, (1,)).tolist() == [2.0, 3.0]


def test_the_derivative_of_reduce_is_that_of_the_tree():
    def loss(x):
        return lax.reduce(x, 0.0, circle, (0, 1))

    x = X / 4
    got = covector.grad(loss)(as_array(x))
    np.testing.assert_allclose(got, np.prod(1 + x) / (1 + x), rtol=1e-5)


def test_elements_keep_their_order_however_their_axes_are_transposed():
    def digits(x):
        return lax.reduce(x.T, 0.0, lambda a, b: a * 10 + b, (0, 1))

    x = as_array(np.array([[1, 2, 3], [4, 5, 6]], "f"))
    assert float(digits(x)) == float(covector.jit(digits)(x)) == 142536
    value, gradient = covector.value_and_grad(digits)(x)
    assert float(value) == 142536
    np.testing.assert_allclose(gradient, [[1e5, 1e3, 1e1], [1e4, 1e2, 1]])


def test_reduce_is_differentiated_in_its_initial_value():
    start = as_array(np.float32(0.5))
    got = covector.grad(lambda i: lax.reduce(X, i, circle, (0, 1)))(start)
    np.testing.assert_allclose(got, np.prod(1 + X), rtol=1e-6)


@pytest.mark.parametrize("dims", [(0, None), (1, None), (1, 0), (None, 0)])
def test_reduce_over_a_batch_is_a_loop(dims):
    x, start = np.stack([X, X / 2], dims[0] or 0), np.array([0.0, 0.5], np.float32)
    args = [
        as_array(a if d is not None else a[0])
        for a, d in zip((x, start), dims, strict=True)
    ]
    (out,), (dim,) = batch_flat(
        lambda x, i: [lax.reduce(x, i, circle, (1,))], 2, args, dims
    )
    for k in range(2):
        one = [
            np.take(a, k, d) if d is not None else a
            for a, d in zip(args, dims, strict=True)
        ]
        wanted = (1 + np.asarray(one[1])) * np.prod(1 + np.asarray(one[0]), 1) - 1
        np.testing.assert_allclose(np.take(out, k, dim), wanted, rtol=1e-6)


def test_a_combiner_written_twice_is_one_operation():
    def program():
        return stage(
            lambda x: [lax.reduce(x, 0.0, circle, (1,))], [ArrayType((2, 3), "float32")]
        ).jaxpr

    (first,), (second,) = program().equations, program().equations
    assert isinstance(first.op, Call)
    assert first.op is second.op


@pytest.mark.parametrize("shape", [(2**19,), (512, 1024), (2, 512, 512)])
@pytest.mark.parametrize("name", ["max", "min"])
def test_extrema_of_large_arrays_keep_nan(shape, name):
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    x.flat[[3, 700]], x.flat[300_000] = (np.inf, -np.inf), np.inf
    reduce = covector.jit(
        lambda x: getattr(lax, f"reduce_{name}")(x, (len(shape) - 1,))
    )
    wanted = getattr(np, name)
    np.testing.assert_array_equal(reduce(as_array(x)), wanted(x, -1))
    x.flat[[5, 400_000]] = np.nan
    np.testing.assert_array_equal(reduce(as_array(x)), wanted(x, -1))


# -- words -----------------------------------------------------------------------------


def test_a_tie_for_the_extremum_shares_the_derivative():
    x = as_array(np.array([2.0, 5.0, 5.0, 1.0], np.float32))
    _, (tangent,) = jvp_flat(
        lambda x: [lax.reduce_max(x, (0,))], [x], [as_array(np.arange(4, dtype="f"))]
    )
    assert float(tangent) == 1.5


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: lax.reduce_max(X, (2,)),
            r"reduce_max over axes \(2,\) of f32\[2,3\]: they must be different axes, "
            "from 0 to 1",
        ),
        (
            lambda: lax.argmax(X, 2, "int32"),
            r"argmax over axes \(2,\) of f32\[2,3\]: they must be different axes",
        ),
        (
            lambda: lax.argmin(np.zeros((2, 0)), 1, "int32"),
            r"argmin over axis 1 of f32\[2,0\]: no element is the smallest of none",
        ),
        (
            lambda: lax.argmax(np.zeros(200), 0, "int8"),
            r"argmax over axis 0 of f32\[200\]: the index_dtype i8 counts to 127 only",
        ),
        (
            lambda: lax.reduce(X, (0.0, 0.0), circle, (0,)),
            "reduce needs some operands, and an initial value for each of them, but "
            "the initial value is a tuple of 2 where the operand is a leaf",
        ),
        (
            lambda: lax.reduce((X, X[0]), (0.0, 0.0), circle, (0,)),
            r"reduce needs operands of one shape, but got f32\[2,3\], f32\[3\]",
        ),
        (
            lambda: lax.reduce(X, np.zeros(3, "f"), circle, (0,)),
            r"reduce of f32\[2,3\] needs an initial value of type f32\[\], but got "
            r"f32\[3\]",
        ),
        (
            lambda: lax.reduce(X, 0.0, lambda a, b: (a, b), (0,)),
            r"reduce needs a function that makes of two trees one like them, but of "
            r"the result of .*<lambda> \(test_reductions.py:\d+\): it is a tuple of 2",
        ),
        (
            lambda: lax.reduce(X, 0.0, lt, (0,)),
            r"reduce needs a function that returns f32\[\] for two of these, but "
            r"Lt\(\) returned bool\[\]. Convert its result",
        ),
    ],
)
def test_operands_that_do_not_go_together_are_named(call, words):
    with pytest.raises(TypeMismatch, match=words):
        call()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: lax.reduce_prod(np.array([True]), (0,)),
            r"reduce_prod needs numbers, but got bool\[1\]",
        ),
        (
            lambda: lax.reduce_and(X, (0,)),
            r"reduce_and needs integers or bools, but got f32\[2,3\]",
        ),
        (
            lambda: lax.argmax(X * 1j, 0, "int32"),
            r"argmax needs real numbers or bools, but got c64\[2,3\]",
        ),
        (
            lambda: lax.argmax(X, 0, "float32"),
            "argmax gives an index and needs an integer index_dtype, but got f32",
        ),
    ],
)
def test_element_types_that_cannot_be_reduced_are_named(call, words):
    with pytest.raises(DTypeError, match=words):
        call()


@pytest.mark.parametrize("op", [ReduceMax((0,)), Argmax(0, np.dtype("int32"))])
def test_random_keys_cannot_be_reduced(op):
    with pytest.raises(DTypeError, match=rf"{op.name} needs .*, but got key<fry>\[4\]"):
        op.type_rule(ArrayType((4,), KeyType("threefry2x32")))


def test_a_combiner_that_closes_over_a_traced_value_is_an_error():
    with pytest.raises(
        ConcretizationTypeError, match=r"uses a traced value .* from outside: f32\[\]"
    ):
        covector.jit(lambda y: lax.reduce(X, 0.0, lambda a, b: a + b + y, (0,)))(
            as_array(np.float32(1))
        )

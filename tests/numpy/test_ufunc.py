"""ufunc objects: calls, folds, updates and outer products; functions made into them."""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector.errors import ArgumentError, ImmutableArrayError, TypeMismatch

BINARY = [
    "add",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "logaddexp",
    "logaddexp2",
    "logical_and",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "multiply",
    "subtract",
]
#: NumPy refuses to fold this one over several axes, for its order matters
ORDERED = ["subtract"]


def operand(name: str, shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    random = np.random.RandomState(seed)
    if name.startswith("logadd"):
        return random.randn(*shape).astype(np.float32)
    return random.randint(0, 7, shape).astype(np.int32)


def close(got, wanted):
    assert got.shape == np.shape(wanted)
    np.testing.assert_allclose(np.asarray(got), wanted, rtol=1e-5)


@pytest.mark.parametrize("n", [1, 2, 3, 8, 13])
@pytest.mark.parametrize("name", BINARY)
def test_folds_are_numpys(name, n):
    ours, theirs, x = getattr(cnp, name), getattr(np, name), operand(name, (n, 3))
    for axis in (0, 1, -1):
        close(ours.reduce(x, axis), theirs.reduce(x, axis))
        close(
            ours.reduce(x, axis, keepdims=True), theirs.reduce(x, axis, keepdims=True)
        )
        close(ours.accumulate(x, axis), theirs.accumulate(x, axis))
    if name not in ORDERED:
        close(ours.reduce(x, None), theirs.reduce(x, None))
        close(ours.reduce(x, (0, 1)), theirs.reduce(x, (0, 1)))


@pytest.mark.parametrize("name", BINARY)
def test_folds_begin_with_a_value_and_leave_elements_out(name):
    ours, theirs, x = getattr(cnp, name), getattr(np, name), operand(name, (5, 3))
    mask = np.array([[True], [False], [True], [True], [False]])
    close(ours.reduce(x, 0, initial=2), theirs.reduce(x, 0, initial=2))
    close(
        ours.reduce(x, 0, initial=2, where=mask),
        theirs.reduce(x, 0, None, initial=2, where=mask),
    )
    if ours.identity is not None:
        close(ours.reduce(x, 0, where=mask), theirs.reduce(x, 0, where=mask))
        nothing = np.asarray(ours.reduce(x[:0], 0))
        np.testing.assert_array_equal(nothing, theirs.reduce(x[:0], 0))


@pytest.mark.parametrize("name", BINARY)
def test_updates_count_an_index_as_often_as_it_occurs(name):
    ours, theirs, x = getattr(cnp, name), getattr(np, name), operand(name, (4, 3))
    wanted, values = x.copy(), operand(name, (3, 3), 1)
    indices = np.array([0, 2, 0])
    theirs.at(wanted, indices, values)
    close(ours.at(x, indices, values, inplace=False), wanted)
    close(
        cv.jit(lambda x, i, v: ours.at(x, i, v, inplace=False))(x, indices, values),
        wanted,
    )


@pytest.mark.parametrize("name", BINARY)
def test_slices_are_folded_and_outer_products_made(name):
    ours, theirs, x = getattr(cnp, name), getattr(np, name), operand(name, (6, 2))
    got, wanted = ours.reduceat(x, [0, 3, 1, 4]), theirs.reduceat(x, [0, 3, 1, 4])
    if not name.startswith("logical"):
        close(got, wanted)
    close(ours.outer(x[:2], x[0]), theirs.outer(x[:2], x[0]))


def test_folds_are_differentiated():
    x = np.array([1.0, 2.0, 4.0], np.float32)
    slope = cv.grad(cnp.logaddexp.reduce)(x)
    np.testing.assert_allclose(slope, np.exp(x) / np.exp(x).sum(), rtol=1e-6)
    slope = cv.grad(lambda x: cnp.multiply.accumulate(x).sum())(x)
    np.testing.assert_allclose(slope, [11, 5, 2])


def weave(x, y):
    return x + 10 * y


def test_functions_become_ufuncs():
    f = cnp.frompyfunc(weave, 2, 1)
    assert f(cnp.arange(3), 1).tolist() == [10, 11, 12]
    assert f.outer(cnp.arange(2), cnp.arange(3)).tolist() == [[0, 10, 20], [1, 11, 21]]
    assert int(f.reduce(cnp.arange(5))) == 100
    assert int(f.reduce(cnp.arange(1))) == 0
    assert f.accumulate(cnp.arange(4)).tolist() == [0, 10, 30, 60]
    assert f.accumulate(cnp.arange(0)).tolist() == []
    assert f.reduce(cnp.arange(6).reshape(2, 3), 1).tolist() == [30, 93]
    assert f.at(cnp.zeros(3), np.array([1, 1]), 2.0, inplace=False).tolist() == [
        0,
        40,
        0,
    ]
    assert int(cv.jit(f.reduce)(cnp.arange(100))) == sum(range(100)) * 10
    both = cnp.frompyfunc(lambda x: (x, -x), 1, 2)
    assert [part.tolist() for part in both(cnp.arange(2))] == [[0, 1], [0, -1]]
    assert cnp.negative.at(cnp.arange(3), 1, inplace=False).tolist() == [0, -1, 2]


def test_a_ufunc_widens_what_its_function_makes_wider():
    f = cnp.frompyfunc(lambda x, y: x / 2 + y, 2, 1)
    assert float(f.reduce(cnp.array([1, 2, 4]))) == 5.25


def test_a_ufunc_says_what_it_is():
    assert (cnp.add.nin, cnp.add.nout, cnp.add.nargs, cnp.add.identity) == (2, 1, 2, 0)
    assert repr(cnp.add) == "<ufunc 'add'>"
    assert cnp.add.__name__ == "add"
    assert "x + y" in cnp.add.__doc__
    assert isinstance(cnp.add, cnp.ufunc)
    assert cv.jit(cnp.add)(1, 2) == 3
    assert cv.vmap(cnp.add)(cnp.arange(2), cnp.arange(2)).tolist() == [0, 2]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            lambda: cnp.add(1, 2, out=cnp.ones(1)),
            ImmutableArrayError,
            "add has no place to write to: arrays are immutable",
        ),
        (
            lambda: cnp.add(1, 2, where=True),
            ImmutableArrayError,
            "Use where(condition, add(…), other).",
        ),
        (
            lambda: cnp.maximum.reduce(cnp.ones((2, 0)), 1),
            ArgumentError,
            "maximum.reduce of f32[2,0] over axes (1,): maximum has no identity, so "
            "without elements, or with `where`, it needs `initial`.",
        ),
        (
            lambda: cnp.negative.reduce(cnp.ones(2)),
            ArgumentError,
            "negative.reduce needs a function of two operands and one result, but "
            "negative has 1 and 1.",
        ),
        (
            lambda: cnp.negative.outer(1, 2),
            ArgumentError,
            "negative.outer needs a function of two operands, but negative takes 1.",
        ),
        (
            lambda: cnp.add.at(cnp.ones(2), 0, 1),
            ImmutableArrayError,
            "add.at cannot change its first argument: arrays are immutable. With "
            "inplace=False it returns the changed array.",
        ),
        (
            lambda: cnp.add.at(cnp.ones(2), 0, inplace=False),
            ArgumentError,
            "add.at takes 1 operand beside the array.",
        ),
        (
            lambda: cnp.add.reduceat(cnp.ones(2), [2]),
            ArgumentError,
            "add.reduceat: the indices [2] must be from 0 to 1",
        ),
        (
            lambda: cnp.add.reduceat(cnp.ones(2), [0.5]),
            ArgumentError,
            "add.reduceat needs a list of indices, but got [0.5].",
        ),
        (lambda: cnp.add(1, 2, 3), TypeError, "takes 2 positional arguments but 3"),
        (lambda: cnp.frompyfunc(3, 1, 1), ArgumentError, "frompyfunc needs a function"),
    ],
)
def test_words_of_refusals(call, error, words):
    with pytest.raises(error) as caught:
        call()
    assert words in str(caught.value)


# -- vectorize -------------------------------------------------------------------------


def test_functions_of_scalars_are_applied_over_broadcast_arrays():
    def larger(a, b):
        assert a.shape == b.shape == ()
        return cnp.where(a > b, a, b)

    f = cnp.vectorize(larger)
    assert f(cnp.arange(3), cnp.ones((2, 1))).tolist() == [[1, 1, 2]] * 2
    assert f(3, 4) == 4
    assert f(cnp.ones((1, 1)), 2).shape == (1, 1)
    assert f.__name__ == "larger"


@pytest.mark.parametrize(
    ("signature", "fun", "shapes"),
    [
        ("(n),(n)->()", lambda a, b: (a * b).sum(), [(4, 1, 3), (2, 3)]),
        ("(n,m),(m)->(n)", lambda a, b: a @ b, [(5, 2, 3), (3,)]),
        ("(n)->(n),()", lambda a: (a[::-1], a.sum()), [(2, 3)]),
        ("(),(n)->(n)", lambda a, b: a * b, [(), (4,)]),
        ("(3),()->(3)", lambda a, b: a + b, [(2, 3), (2,)]),
        ("( n , m )->( m , n )", lambda a: a.T, [(7, 1, 2, 3)]),
    ],
)
def test_functions_of_small_arrays_are_applied_over_leading_axes(
    signature, fun, shapes
):
    random = np.random.RandomState(0)
    args = [np.float32(random.randn(*shape)) for shape in shapes]
    plain = signature.replace("(3),", "(k),").replace("(3)", "(k)")
    wanted = np.vectorize(fun, signature=plain)(*args)
    got = cnp.vectorize(fun, signature=signature)(*args)
    for g, w in zip(
        *[v if isinstance(v, tuple) else (v,) for v in (got, wanted)], strict=True
    ):
        close(g, w)


def test_arguments_can_be_left_out_and_named():
    f = cnp.vectorize(
        lambda x, how, *, by: x + by if how == "add" else x * by, excluded={1}
    )
    assert f(cnp.arange(3), "add", by=cnp.arange(3)).tolist() == [0, 2, 4]
    g = cnp.vectorize(
        lambda x, how=None: x if how is None else x + how, excluded={"how"}
    )
    assert g(cnp.arange(2), how=1).tolist() == [1, 2]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            lambda: cnp.vectorize(weave, signature="n,m->"),
            ArgumentError,
            "vectorize(weave): the signature 'n,m->' cannot be read.",
        ),
        (
            lambda: cnp.vectorize(weave, signature="(n)->()")(1, 2),
            ArgumentError,
            "the signature has 1 operand, but the call has 2.",
        ),
        (
            lambda: cnp.vectorize(weave, signature="(n),()->()")(1, 2),
            TypeMismatch,
            "operand 0 needs the core axes (n), but is i32[].",
        ),
        (
            lambda: cnp.vectorize(weave, signature="(n),(n)->(n)")(
                np.ones(2), np.ones(3)
            ),
            TypeMismatch,
            "the core axis n has length 2, but length 3 in operand 1, which is f32[3]",
        ),
        (
            lambda: cnp.vectorize(weave, signature="(n),(n)->()")(
                np.ones(2), np.ones(2)
            ),
            TypeMismatch,
            "result 0 needs the core axes (), but the function returned f32[2].",
        ),
        (
            lambda: cnp.vectorize(weave, signature="(),()->(),()")(1, 2),
            TypeMismatch,
            "the signature has 2 results, but the function returned 1.",
        ),
        (
            lambda: cnp.vectorize(weave)(np.ones(2), np.ones(3)),
            TypeMismatch,
            "the leading axes of f32[2], f32[3] do not broadcast",
        ),
        (
            lambda: cnp.vectorize(weave, excluded={1.5}),
            ArgumentError,
            "excluded holds positions and names of arguments",
        ),
    ],
)
def test_words_of_vectorize(call, error, words):
    with pytest.raises(error) as caught:
        call()
    assert words in str(caught.value)


def test_functions_are_applied_along_and_over_axes():
    x = np.random.RandomState(0).randn(2, 3, 4).astype(np.float32)
    for axis in (0, 1, -1):
        close(
            cnp.apply_along_axis(lambda v: v[::-1] * 2, axis, x),
            np.apply_along_axis(lambda v: v[::-1] * 2, axis, x),
        )
        close(
            cnp.apply_along_axis(lambda v, k: v.sum() + k, axis, x, 1),
            np.apply_along_axis(lambda v, k: v.sum() + k, axis, x, 1),
        )
    close(
        cnp.apply_over_axes(cnp.sum, x, (0, 2)), np.apply_over_axes(np.sum, x, (0, 2))
    )
    with pytest.raises(TypeMismatch, match="needs a function that keeps the axis"):
        cnp.apply_over_axes(lambda x, axis: x.sum(), x, 0)


def test_a_vmap_inside_a_vmap_goes_on_after_an_operation_of_the_outer_one():
    inner = cv.vmap(lambda i, j: 10 * i + j, in_axes=(None, 0))
    got = cv.vmap(inner, in_axes=(0, None))(cnp.arange(2), cnp.arange(3))
    assert got.tolist() == [[0, 1, 2], [10, 11, 12]]


def test_a_derivative_inside_a_vmap_goes_on_after_an_operation_on_the_batch():
    def slope(c):
        return cv.grad(lambda x: (2 * c) * x * x)(3.0)

    assert cv.vmap(slope)(cnp.arange(3.0)).tolist() == [0, 12, 24]


def test_an_ordered_fold_begins_with_a_value_and_leaves_elements_out():
    f = cnp.frompyfunc(lambda x, y: 2 * x + y, 2, 1)
    x = np.array([[1, 2], [3, 4], [5, 6]])
    assert f.reduce(x, initial=1).tolist() == [8 + 4 + 6 + 5, 8 + 8 + 8 + 6]
    mask = np.array([True, False, True])[:, None]
    assert f.reduce(x, initial=1, where=mask).tolist() == [4 + 2 + 5, 4 + 4 + 6]
    with pytest.raises(ArgumentError, match="has no identity"):
        f.reduce(x, where=mask)


def test_none_in_the_place_of_an_operand_without_core_axes_is_passed_on():
    def scaled(x, factor, bias=None):
        return x if factor is None else x * factor

    f = cnp.vectorize(scaled, signature="(n),()->(n)")
    assert f(cnp.ones((2, 3)), None).shape == (2, 3)
    assert f(cnp.ones((2, 3)), cnp.arange(2)).tolist() == [[0, 0, 0], [1, 1, 1]]
    assert cnp.vectorize(scaled)(cnp.arange(2), None).tolist() == [0, 1]
    excluded = cnp.vectorize(scaled, excluded={0}, signature="(),()->(n)")
    assert excluded(cnp.array([1, 2]), None, cnp.zeros(3)).tolist() == [[1, 2]] * 3
    with pytest.raises(ArgumentError, match=r"operand 0 has the core axes \(n\), so"):
        f(None, cnp.ones(2))


@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_running_extrema_of_bools_are_bools(name):
    x = np.array([[True, False, True], [False, False, True]])
    found = getattr(cnp, name).accumulate(x, 1)
    assert found.dtype == bool
    np.testing.assert_array_equal(found, getattr(np, name).accumulate(x, 1))


@pytest.mark.parametrize("name", ["logical_and", "logical_or", "logical_xor"])
def test_slices_of_one_element_reduce_to_truth(name):
    x = np.array([0.5, 0.0, 2.0], np.float32)
    found = getattr(cnp, name).reduceat(x, [1, 0, 2])
    assert found.dtype == bool
    np.testing.assert_array_equal(found, getattr(np, name).reduceat(x, [1, 0, 2]) != 0)


def test_subtracting_from_infinity_leaves_infinity():
    x = np.array([[np.inf, 1.0, 2.0], [3.0, 1.0, 2.0]], np.float32)
    close(cnp.subtract.reduce(x, 1), [np.inf, 0])
    close(cnp.subtract.accumulate(x, 1), np.subtract.accumulate(x, 1))


@pytest.mark.parametrize("name", ["add", "multiply"])
def test_bools_are_added_and_multiplied_at_indices(name):
    x, value = np.array([False, True, False]), np.array([True, False, True])
    wanted = x.copy()
    getattr(np, name).at(wanted, [0, 0, 1], value)
    found = getattr(cnp, name).at(x, np.array([0, 0, 1]), value, inplace=False)
    assert found.dtype == bool
    np.testing.assert_array_equal(found, wanted)

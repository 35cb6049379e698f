"""A branch is Python's own ``if``, under every transformation."""

from typing import Any, NamedTuple

import numpy as np
import pytest

import covector as cv
from covector import errors, tree
from covector import numpy as cnp
from covector.core.convert import as_array
from covector.core.staging import stage
from covector.core.trace import current
from covector.lax.control_flow import cond, scan, switch, while_loop
from covector.lax.parallel import psum
from covector.operations.bitwise import or_
from covector.operations.casting import convert
from covector.programs.control_flow.cond import Cond
from covector.transforms.vmap import vmap
from tests.programs.transformed import LONG, TRANSFORMATIONS, assert_alike

X, Y, Z = np.array([0.7, -0.4]), np.array([0.2, 1.3]), np.array([-1.5, 0.6])


def chosen(pred, true_fun, false_fun, *operands):
    """The meaning of cond, for a value whose primal is known."""
    return (true_fun if _known(pred) else false_fun)(*operands)


def chosen_of_many(index, branches, *operands):
    return branches[max(0, min(int(_known(index)), len(branches) - 1))](*operands)


def _known(x):
    while not hasattr(x, "host"):
        x = x.primal if hasattr(x, "primal") else x.value
    return x.host()


def two_ways(cond, switch, x, y, z):
    return cond(
        cnp.sum(z) < 0.0, lambda a, b: cnp.sin(a) * b, lambda a, b: a - b * b, x, y
    )


def residuals_of_their_own(cond, switch, x, y, z):
    """One branch keeps two residuals, the other one."""
    return cond(
        cnp.sum(z) < 0.0,
        lambda: (cnp.sin(x) * cnp.cos(y) * z, cnp.sum(y)),
        lambda: (cnp.sin(y * x), cnp.sum(x * x)),
    )


def one_constant(cond, switch, x, y, z):
    """Only one branch depends on the operand, and its results only in that branch."""
    return cond(
        cnp.sum(z) < 0.0,
        lambda x: (x * 2.0, np.ones(2), x),
        lambda x: (np.ones(2), x * x, np.ones(2)),
        y,
    )


def passed_through(cond, switch, x, y, z):
    return cond(cnp.sum(z) < 0.0, lambda x, y: (x, y), lambda x, y: (y, x), x, y)


def many(cond, switch, x, y, z):
    index = convert(cnp.sum(z) * 2.0 + 1.0, np.dtype("int32"))
    branches = [lambda a: cnp.sin(a) * y, lambda a: a * a, lambda a: y * z, lambda a: a]
    return switch(index, branches, x)


def inside_another(cond, switch, x, y, z):
    def outer(a):
        return cond(cnp.sum(a) < 1.0, lambda b: b * a * y, lambda b: cnp.sin(b) + a, z)

    return cond(cnp.sum(z) < 0.0, outer, lambda a: a * y, x)


def with_a_loop(cond, switch, x, y, z):
    return cond(
        cnp.sum(z) < 0.0,
        lambda a: scan(lambda c, v: (cnp.sin(c) * v, None), cnp.sum(a), y)[0],
        lambda a: cnp.sum(a * y),
        x,
    )


def with_a_tree(cond, switch, x, y, z):
    return cond(
        cnp.sum(z) < 0.0,
        lambda t: {"a": t[0] * 2.0, "n": None, "k": 1},
        lambda t: {"a": cnp.sin(t[1]["y"]), "n": None, "k": 2},
        (x, {"y": y}),
    )


CHOICES = {
    f.__name__: f
    for f in (
        two_ways,
        residuals_of_their_own,
        one_constant,
        passed_through,
        many,
        inside_another,
        with_a_loop,
        with_a_tree,
    )
}
SELECTED = ("residuals_of_their_own", "many", "inside_another")
ROWS = [
    (c, t) for c in CHOICES for t in TRANSFORMATIONS if t not in LONG or c in SELECTED
]


@pytest.mark.parametrize(("choice", "name"), ROWS)
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_a_branch_is_the_one_chosen(choice, name, sign):
    f = CHOICES[choice]
    assert_alike(
        lambda *args: f(cond, switch, *args),
        lambda *args: f(chosen, chosen_of_many, *args),
        (X, Y, sign * Z),
        name,
    )


# -- what runs -------------------------------------------------------------------------


@pytest.mark.parametrize("index", [-3, 0, 1, 2, 3, 100])
@pytest.mark.parametrize(
    "dtype", ["int8", "uint8", "int32", "uint32", "int64", "uint64"]
)
def test_an_index_out_of_range_is_taken_to_the_nearest(index, dtype):
    if index < 0 and dtype[0] == "u":
        index = -index + 2**7
    branches = [lambda: 10.0, lambda: 11.0, lambda: 12.0]
    wanted = 10.0 + max(0, min(index, 2))
    with cv.options.override(enable_x64=True):
        k = np.asarray(index, dtype)
        assert float(switch(k, branches)) == wanted
        assert float(cv.jit(lambda k: switch(k, branches))(k)) == wanted
        lanes = vmap(lambda k: switch(k, branches))(np.stack([k, k]))
        assert lanes.tolist() == [wanted, wanted]


@pytest.mark.parametrize("pred", [True, 2, -0.5, np.float32(np.nan), np.True_, 1j])
def test_a_number_holds_unless_it_is_zero(pred):
    for f in (cond, cv.jit(lambda *args: cond(args[0], lambda: 1, lambda: 2))):
        assert int(f(pred, lambda: 1, lambda: 2) if f is cond else f(pred)) == 1


@pytest.mark.parametrize("pred", [False, 0, -0.0, np.int8(0)])
def test_zero_does_not_hold(pred):
    assert int(cond(pred, lambda: 1, lambda: 2)) == 2
    assert int(cv.jit(lambda p: cond(p, lambda: 1, lambda: 2))(pred)) == 2


def test_where_the_predicate_is_known_the_program_has_one_branch():
    program = stage(
        lambda x: [cond(True, cnp.sin, cnp.cos, x)], [as_array(1.0).type]
    ).jaxpr
    assert [e.op.name for e in program.equations] == ["sin"]


def test_where_the_predicate_is_traced_the_program_has_both():
    program = stage(
        lambda p, x: [cond(p, cnp.sin, cnp.cos, x)],
        [as_array(True).type, as_array(1.0).type],
    ).jaxpr
    (equation,) = program.equations
    assert isinstance(equation.op, Cond)
    assert [b.equations[0].op.name for b in equation.op.branches] == ["cos", "sin"]


def test_one_predicate_for_a_whole_batch_stays_a_branch():
    f = vmap(lambda p, x: cond(p, cnp.sin, cnp.cos, x), (None, 0))
    types = [as_array(True).type, as_array(np.ones(3, "f")).type]
    program = stage(lambda *args: [f(*args)], types).jaxpr
    assert [e.op.name for e in program.equations] == ["cond"]


def test_a_large_branch_is_compiled_as_one_program():
    x = as_array(np.ones((300, 300), np.float32))
    out = cond(True, lambda x: cnp.sin(x) * x + x, lambda x: x, x)
    np.testing.assert_allclose(out, np.sin(np.ones((300, 300))) + 1, rtol=1e-6)


def test_the_branch_not_taken_is_not_run():
    """The loop of the other branch would not end."""
    f = lambda p, x: cond(  # noqa: E731
        p, lambda x: x, lambda x: while_loop(lambda v: v < v + 1.0, lambda v: v, x), x
    )
    assert float(f(True, 2.0)) == 2
    assert float(cv.jit(f)(True, 2.0)) == 2
    assert float(cv.grad(f, argnums=1)(True, 2.0)) == 1


def test_closed_over_values_of_both_branches_have_gradients():
    def f(p, x, y):
        return cond(p, lambda: x * y, lambda: x * x)

    for transform in (lambda g: g, cv.jit):
        g = transform(cv.grad(f, argnums=(1, 2)))
        assert [float(d) for d in g(True, 3.0, 5.0)] == [5, 3]
        assert [float(d) for d in g(False, 3.0, 5.0)] == [6, 0]


def test_branches_may_name_a_batch_axis():
    f = lambda p, x: cond(p, lambda x: psum(x, "i"), lambda x: x, x)  # noqa: E731
    xs = np.arange(3, dtype=np.float32)
    over = vmap(f, (None, 0), axis_name="i")
    assert over(True, xs).tolist() == [3, 3, 3]
    assert over(False, xs).tolist() == [0, 1, 2]
    assert cv.jit(over)(True, xs).tolist() == [3, 3, 3]
    mixed = vmap(f, axis_name="i")(np.array([True, False, True]), xs)
    assert mixed.tolist() == [3, 1, 3]


def test_results_that_are_keys_pass_through_a_batch_of_predicates():
    keys = cv.core.key_types.KeyType("threefry2x32")
    key = cv.core.array.ConcreteArray(
        cv.core.types.ArrayType((2,), keys), np.array([3, 4], np.uint64)
    )
    flags = np.array([True, False])
    out = vmap(lambda p, k, other: cond(p, lambda: k, lambda: other), (0, 0, None))(
        flags, key, key[0]
    )
    assert out.host().tolist() == [3, 3]


def test_no_results_are_no_error():
    assert cv.jit(lambda p: cond(p, lambda: None, lambda: None))(True) is None


def test_without_jit_it_is_an_if():
    seen = []
    with cv.options.override(disable_jit=True):
        cond(True, lambda x: seen.append(float(x)), lambda x: seen.append("no"), 2.0)
        switch(5, [lambda: seen.append(0), lambda: seen.append(1)])
    assert seen == [2.0, 1]


def test_without_jit_a_choice_that_is_not_known_is_compiled():
    def absolute(x):
        return cond(x > 0, lambda x: x, lambda x: -x, x)

    def shifted(x):
        return switch(x.astype(int), [lambda: x, lambda: 2 * x])

    x = cnp.array([1.0, -1.0, 0.0])
    with cv.disable_jit():
        assert cv.vmap(absolute)(x).tolist() == [1, 1, 0]
        assert cv.vmap(shifted)(x).tolist() == [2, -1, 0]
        assert float(cv.grad(cv.checkpoint(absolute))(-2.0)) == -1


def test_without_jit_a_branch_cannot_change_its_operand():
    given = np.ones(2, "f")

    def more(x):
        x += 1
        return x

    with cv.disable_jit():
        assert cond(True, more, more, given).tolist() == [2, 2]
    assert given.tolist() == [1, 1]


# -- types -----------------------------------------------------------------------------


def test_a_weak_result_gives_way():
    strong = as_array(np.float16(2))
    for pred, wanted in ((True, 1.0), (False, 2.0)):
        out = cond(pred, lambda: 1, lambda: strong)
        assert str(out.type) == "f16[]"
        assert not out.type.weak
        assert float(out) == wanted
        assert (
            cv.jit(lambda p: cond(p, lambda: 1, lambda: strong))(pred).type is out.type
        )


def test_weak_results_stay_weak():
    assert cond(True, lambda: 1, lambda: 2.0).type.weak
    assert str(cond(True, lambda: 1, lambda: 2.0).type) == "f32[]"


# -- words -----------------------------------------------------------------------------


class Case(NamedTuple):
    call: Any
    error: type
    words: str


ONES = np.ones(3, np.float32)
WORDS = {
    "pred is an array": Case(
        lambda: cond(ONES, lambda: 1, lambda: 2),
        TypeError,
        r"cond of .*<lambda> \(test_cond.py:\d+\) and .*: pred must be a scalar bool "
        r"or "
        r"number, but got f32\[3\]. To choose element by element use "
        r"covector.numpy.where",
    ),
    "pred is a string": Case(
        lambda: cond("yes", lambda: 1, lambda: 2),
        TypeError,
        "but got 'yes' of type str",
    ),
    "not a function": Case(
        lambda: cond(True, 1, lambda: 2),
        TypeError,
        "needs a function for true_fun, but got 1 of type int",
    ),
    "dtypes": Case(
        lambda: cond(True, lambda: {"a": ONES}, lambda: {"a": ONES.astype("int32")}),
        errors.TypeMismatch,
        r"must have the same types, but the dtypes at \['a'\] differ: f32\[3\] in "
        r"true_fun and i32\[3\] in false_fun. Convert one of them with .astype.",
    ),
    "shapes": Case(
        lambda: cond(True, lambda: 1.0, lambda: ONES),
        errors.TypeMismatch,
        r"the shapes differ: f32\[\] in true_fun and f32\[3\] in false_fun. Reshape or",
    ),
    "structures": Case(
        lambda: cond(True, lambda: {"a": 1}, lambda: (1, 2)),
        errors.TreeMismatch,
        "must have the same pytree structure, but that of true_fun is a dict with "
        "keys .* where that of false_fun is a tuple of 2",
    ),
    "operands twice": Case(
        lambda: cond(True, lambda x: x, lambda x: x, 1, operand=2),
        TypeError,
        "by position, or one by the keyword operand, but got both",
    ),
    "index is a float": Case(
        lambda: switch(2.0, [lambda: 1]),
        TypeError,
        r"the index must be a scalar integer, but got f32\[\]",
    ),
    "index is a bool": Case(
        lambda: switch(True, [lambda: 1, lambda: 2]),
        TypeError,
        r"got bool\[\].* use cond",
    ),
    "branches are no sequence": Case(
        lambda: switch(0, len),
        TypeError,
        "switch needs a sequence of functions as branches, but got <built-in function "
        "len>",
    ),
    "no branch": Case(lambda: switch(0, []), ValueError, "at least one branch"),
    "two of three differ": Case(
        lambda: switch(0, [lambda: 1, lambda: np.float32(1), lambda: np.int8(1)]),
        errors.TypeMismatch,
        r"differ: f32\[\] in branches\[1\] and i8\[\] in branches\[2\]",
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


def test_a_difference_of_results_names_the_lines():
    def up(x):
        return x * 2.0

    def down(x):
        return or_(convert(x, np.dtype("int32")), np.int32(1))

    with pytest.raises(errors.TypeMismatch) as caught:
        cond(True, up, down, 1.0)
    for fun in (up, down):
        assert f"made at {__file__}:{fun.__code__.co_firstlineno + 1}" in str(
            caught.value
        )


def test_an_error_in_a_branch_leaves_nothing_behind():
    def wrong(x):
        raise RuntimeError("the user's own")

    before = current.trace
    for transform in (lambda f: f, cv.jit, cv.grad):
        with pytest.raises(RuntimeError, match="the user's own"):
            transform(lambda x: cond(True, cnp.sin, wrong, x))(1.0)
        assert current.trace is before
    assert tree.leaves(cond(True, cnp.sin, cnp.sin, 0.0))[0].tolist() == 0


def test_the_older_form_has_an_operand_for_each_branch():
    def f(x, pred):
        return cond(pred, x, lambda x: x + 1, {"y": x}, lambda d: d["y"] * 2)

    assert [float(f(5.0, pred)) for pred in (True, False)] == [6, 10]
    assert [float(cv.jit(cv.grad(f))(5.0, pred)) for pred in (True, False)] == [1, 2]


def test_a_function_that_is_several_branches_is_traced_once():
    traced = []

    def branch(x):
        traced.append(x)
        return 2 * x

    def f(x, k):
        chosen = switch(k, [branch, lambda x: -x, branch], x)
        return chosen + cond(x > 0, branch, branch, x)

    assert [float(cv.jit(f)(3.0, k)) for k in (0, 1, 2)] == [12, 3, 12]
    assert len(traced) == 2

"""``BatchTrace``: a function run once for a whole batch of values."""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import lax
from covector.core import dtypes
from covector.core.jaxpr import run
from covector.core.primitive import Primitive
from covector.core.staging import stage
from covector.core.trace import current
from covector.core.types import ArrayType
from covector.errors import LeakedTracerError, MissingRule, UnexpectedTracerError
from covector.operations.arithmetic import add, mul, neg
from covector.operations.broadcasting import batched
from covector.operations.transcendental import sin
from covector.transforms.batch import (
    BatchTracer,
    ShardedAxis,
    batch_flat,
    batch_jaxpr,
    front_dims,
    name_of,
)
from tests.laws import array
from tests.transforms.traces import operations_of

F32 = ArrayType((3,), dtypes.float32)
ROWS = array(np.arange(6, dtype=np.float32).reshape(2, 3))
COLUMNS = array(np.arange(6, dtype=np.float32).reshape(2, 3).T.copy())
X = array(np.float32([1, 10, 100]))


class Alone(Primitive):
    """An operation that has no rule for batches."""

    def type_rule(self, x):
        return (x,)

    def on_host(self, x):
        return x


def fronts(outs, dims, size=2):
    """The results with their batch axes in front."""
    return [
        np.asarray(x if d is None else batched(size, x, d)).tolist()
        for x, d in zip(outs, dims, strict=True)
    ]


# -- functions -------------------------------------------------------------------------


def test_a_function_sees_one_of_the_batch():
    seen = []

    def fun(x):
        seen.append((type(x), x.shape, x.type))
        return [x]

    for values, dim in ((ROWS, 0), (COLUMNS, 1)):
        (out,), (found,) = batch_flat(fun, 2, [values], [dim])
        assert out is values and found == dim
    assert seen == [(BatchTracer, (3,), F32)] * 2


def test_results_say_along_which_axis_their_batch_lies():
    outs, dims = batch_flat(lambda x, y: [mul(x, y), x], 2, [ROWS, X], [0, None])
    assert dims == [0, 0]
    assert fronts(outs, dims)[0] == [[0, 10, 200], [3, 40, 500]]
    outs, dims = batch_flat(
        lambda x, y: [mul(x, y), neg(x)], 2, [COLUMNS, X], [1, None]
    )
    assert dims[1] == 1
    assert fronts(outs, dims)[0] == [[0, 10, 200], [3, 40, 500]]


def test_operands_with_batches_along_different_axes_meet():
    outs, dims = batch_flat(lambda x, y: [add(x, y)], 2, [ROWS, COLUMNS], [0, 1])
    assert fronts(outs, dims) == [[[0, 2, 4], [6, 8, 10]]]


def test_what_is_the_same_for_all_has_no_batch_axis():
    seen = []

    def fun(x, y):
        seen.append(sin(y))
        return [seen[0], y, X, 2.0, neg(x)]

    outs, dims = batch_flat(fun, 2, [ROWS, X], [0, None])
    assert dims == [None, None, None, None, 0]
    assert type(seen[0]) is type(X) and outs[1] is outs[2] is X


def test_what_is_the_same_for_all_is_computed_once_by_the_parent():
    ops = operations_of(
        lambda: batch_flat(lambda x, y: [mul(x, sin(y))], 2, [ROWS, X], [0, None])
    )
    assert ops[0] is sin and ops[-1] is mul


def test_batches_nest():
    square = array(np.arange(4, dtype=np.float32).reshape(2, 2))

    def rows(x):
        (out,), dims = batch_flat(lambda a: [mul(a, a)], 2, [x], [0])
        assert dims == [0]
        return [out]

    outs, dims = batch_flat(rows, 2, [square], [0])
    assert fronts(outs, dims) == [[[0, 1], [4, 9]]]


def test_front_dims_has_an_axis_where_the_mask_is_true():
    assert front_dims([True, False, True]) == (0, None, 0)


# -- named axes ------------------------------------------------------------------------


def test_collectives_find_a_named_axis_and_nobody_else_does():
    def fun(x, y):
        assert current.trace.axes == {"rows": 2}
        return [lax.psum(x, "rows"), lax.psum(y, "rows"), lax.axis_index("rows")]

    outs, dims = batch_flat(fun, 2, [ROWS, X], [0, None], "rows")
    assert dims == [None, None, 0]
    assert fronts(outs, dims) == [[3, 5, 7], [2, 20, 200], [0, 1]]
    assert current.trace.axes == {}


@pytest.mark.parametrize(
    ("inner", "wanted"), [("b", [3, 5, 7]), ("a", [[3] * 3, [12] * 3])]
)
def test_an_inner_axis_hides_the_outer_one_of_its_name(inner, wanted):
    def fun(x):
        (out,), (dim,) = batch_flat(lambda y: [lax.psum(y, "a")], 3, [x], [0], inner)
        return [batched(3, out, dim)]

    assert fronts(*batch_flat(fun, 2, [ROWS], [0], "a")) == [wanted]


def test_a_sharded_axis_may_have_a_name():
    assert name_of("rows") == "rows" and name_of(None) is None
    assert name_of(ShardedAxis("rows", ("x",))) == "rows"
    assert name_of(ShardedAxis(None, ("x",))) is None
    outs, dims = batch_flat(
        lambda x: [lax.psum(x, "rows")], 2, [ROWS], [0], ShardedAxis("rows", ("x",))
    )
    assert fronts(outs, dims) == [[3, 5, 7]]


# -- programs --------------------------------------------------------------------------


def program(fun, count=2):
    return stage(fun, [F32] * count, "f").jaxpr


def test_a_batched_program_says_where_the_batches_of_its_results_are():
    jaxpr = program(lambda x, y: [mul(x, y), sin(y), x, y])
    made, dims = batch_jaxpr(jaxpr, 2, (0, None))
    assert made.name == "f_batched" and dims == (0, None, 0, None)
    assert [t.shape for t in made.in_types] == [(2, 3), (3,)]
    outs = run(made, [ROWS, X])
    assert fronts(outs, dims)[0] == [[0, 10, 200], [3, 40, 500]]


def test_operands_of_a_batched_program_have_their_batch_where_it_is_said():
    made, dims = batch_jaxpr(program(lambda x, y: [neg(x)]), 2, (1, 0))
    assert [t.shape for t in made.in_types] == [(3, 2), (2, 3)]
    assert dims == (1,) and made.out_types[0].shape == (3, 2)


def test_forced_results_have_a_batch_axis_in_front_though_all_are_the_same():
    jaxpr = program(lambda x, y: [neg(x), neg(y), y])
    made, dims = batch_jaxpr(jaxpr, 2, (1, None), (False, True, False))
    assert dims == (0, 0, None)
    assert [t.shape for t in made.out_types] == [(2, 3), (2, 3), (3,)]
    first, second, third = run(made, [COLUMNS, X])
    assert fronts([first, second, third], dims) == [
        [[0, -1, -2], [-3, -4, -5]],
        [[-1, -10, -100]] * 2,
        [1, 10, 100],
    ]


def test_a_program_over_a_named_axis_communicates_along_it():
    programs = []

    def fun(x):
        programs.append(program(lambda y: [lax.psum(y, "rows")], 1))
        return [x]

    batch_flat(fun, 2, [ROWS], [0], "rows")
    (jaxpr,) = programs
    assert [e.op.axis_names for e in jaxpr.equations] == [("rows",)]
    made, dims = batch_jaxpr(jaxpr, 2, (0,), axis="rows")
    assert dims == (None,) and current.trace.axes == {}
    assert not any(e.op.axis_names for e in made.equations)
    assert np.asarray(run(made, [ROWS])[0]).tolist() == [3, 5, 7]


# -- what is left behind ---------------------------------------------------------------


@pytest.mark.parametrize("fails", ["rule", "function"])
def test_after_an_exception_the_trace_from_before_is_in_force(fails):
    kept = []

    def fun(x):
        kept.append(x)
        return [Alone()(x)] if fails == "rule" else [1 / 0]

    before = current.trace
    with pytest.raises(MissingRule if fails == "rule" else ZeroDivisionError):
        batch_flat(fun, 2, [ROWS], [0], "rows")
    assert current.trace is before and before.axes == {}
    assert not kept[0].owner.alive
    with pytest.raises(UnexpectedTracerError, match="had ended"):
        sin(kept[0])


def test_an_operation_without_a_rule_for_batches_is_named():
    words = r"alone has no `batch` rule, which vmap needs; its operands are f32\[2,3\]"
    with pytest.raises(MissingRule, match=words):
        batch_flat(lambda x: [Alone()(x)], 2, [ROWS], [0])


KEPT = []


def keeps(x):
    KEPT.append(x)
    return [cnp.sin(x)]


def test_a_tracer_that_is_kept_is_found_while_leaks_are_looked_for(with_all_objects):
    with cv.checking_leaks(), pytest.raises(LeakedTracerError, match="loss has ended"):
        with_all_objects(lambda: batch_flat(keeps, 2, [ROWS], [0], name="loss"))
    KEPT.clear()

"""The costs of operations, for the rows of the table of operations."""

import pytest

from covector import options
from covector.analysis import cost, dce
from covector.core import dtypes
from covector.core.jaxpr import Equation, Jaxpr, Var
from covector.core.primitive import Primitive
from covector.operations.composite import Composite
from covector.operations.families import Elementwise
from covector.operations.slicing import Pad
from covector.transforms.batch import batch_jaxpr
from tests.analysis.costs.by_xla import by_xla
from tests.operations.cases import CASES

ROWS = [(subject, case) for subject, cases in CASES.items() for case in cases]


@pytest.fixture(autouse=True)
def x64():
    with options.override(enable_x64=True):
        yield


def program_of(case):
    """The program of one operation, in float32 if it takes that."""
    first = next(iter(case.variants))
    dtype = dtypes.float32 if dtypes.float32 in case.variants else first
    types, outs = [[Var(t) for t in ts] for ts in case.types(dtype)]
    return Jaxpr(types, [Equation(case.op, types, outs, None)], outs, "f")


def test_every_operation_tells_what_it_costs():
    for _, case in ROWS:
        found = cost(program_of(case))
        assert not found.uncounted, case.label
        assert all(type(n) is int and n >= 0 for n in found.total), case.label


def is_one_of_xla(op):
    """Whether an elementwise operation is one of StableHLO for real numbers."""
    own = type(op).lower in (Primitive.lower, Elementwise.lower)
    return isinstance(op, Elementwise) and own and op.hlo.startswith("stablehlo.")


def test_operations_that_xla_has_cost_what_xla_says():
    subjects = {"broadcasting", "convolution", "reductions", "slicing", "transposing"}
    checked = 0
    for subject, case in ROWS:
        complex_ = any(dtypes.is_complex(a.dtype) for a in case.args)
        if complex_ or not (is_one_of_xla(case.op) or subject in subjects):
            continue
        program = program_of(case)
        if subject == "slicing" and "8-bit" in case.label:
            continue  # the indices are widened first
        assert cost(program).total[:2] == by_xla(program), case.label
        checked += 1
    assert checked > 200


def test_a_batch_costs_what_its_lanes_cost():
    for _, case in ROWS:
        # A batch of paddings needs a selection; a scalar operand is repeated first.
        if not case.args or isinstance(case.op, Pad | Composite):
            continue
        program = program_of(case)
        batch, _ = batch_jaxpr(program, 3, (0,) * len(program.inputs), None)
        one, all_ = [cost(dce(p)).total[:2] for p in (program, batch)]
        assert all_ == tuple([3 * n for n in one]), case.label

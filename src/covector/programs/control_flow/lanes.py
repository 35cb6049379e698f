"""Lanes of a batched loop, which runs until the last one stops.

A lane that has stopped keeps its carry, and computes nothing: where derivatives are
taken its step is given operands for which it has a meaning (``safe_operands``), since
an infinite slope times a cotangent of zero is not a zero.
"""

from collections.abc import Sequence
from typing import Any

from covector.core.annotations import Value
from covector.core.array_like import Array
from covector.core.jaxpr import Jaxpr, run
from covector.core.masks import Mask
from covector.core.staging import stage
from covector.operations.bitwise import and_
from covector.operations.reductions import ReduceOr
from covector.operations.selection import where
from covector.programs.control_flow.safe_operands import expand, if_taken


def until_all_stop(
    body: Jaxpr, test: Jaxpr, test_consts: int, mask: Mask, mixes: bool
) -> tuple[Jaxpr, Jaxpr]:
    """Test and body of a loop over a batch, whose carry begins with the mask of running
    lanes (memoise on the body).

    Test and body are those over the batch; ``mask`` is of the operands of the body
    that are per lane. The new body takes the consts of both. Where it ``mixes`` lanes,
    running ones see the carry of those that have stopped.
    """
    carry = len(mask) - len(body.outputs)
    count = test_consts + carry

    def step(*values: Value) -> list[Array]:
        running, operands = values[count], [*values[test_consts:count]]
        operands += values[count + 1 :]
        kept = step_running(body, mask, running, operands, carry, mixes)
        (more,) = run(test, [*values[:test_consts], *kept])
        return [and_(running, more), *kept]

    flags, types = test.out_types[0], body.in_types
    consts = [*test.in_types[:test_consts], *types[:carry]]
    stepped = stage(step, [*consts, flags, *types[carry:]], body.name)
    any_runs = stage(lambda *xs: [_any(xs[0])], [flags, *types[carry:]], "any")
    return any_runs.jaxpr, stepped.jaxpr


def until_all_fail(test: Jaxpr) -> Jaxpr:
    """Whether the test holds for any lane (memoise on the test over a batch)."""
    return stage(lambda *xs: [_any(*run(test, xs))], test.in_types, "any").jaxpr


def _any(flags: Value) -> Value:
    return ReduceOr(tuple(range(flags.type.ndim)))(flags)


def step_running(
    body: Jaxpr,
    mask: Mask,
    running: Value,
    operands: Sequence[Any],
    carry: int,
    mixes: bool = False,
) -> list[Any]:
    """The carry, which are the operands from number ``carry`` on, after a step of the
    running lanes. What is not per lane no step changes.
    """
    end = carry + len(body.outputs)
    axes = tuple([(m,) for m in mask])
    made = run(body, operands if mixes else if_taken(axes, running, operands))
    columns = zip(made, operands[carry:end], mask[carry:end], strict=True)
    return [where(expand(running, x), x, y) if m else y for x, y, m in columns]

"""The loop-invariant carry of a while loop: what each step hands on unchanged.

Over a batch whose lanes take different numbers of steps the carry has to be batched
too, since lanes stop with different carries. A loop-invariant carry is the same after
any number of steps: the batched loop takes it as a const, which may be shared.
"""

from collections.abc import Sequence
from typing import Any

from covector.core.jaxpr import Jaxpr
from covector.core.masks import drop, select
from covector.programs.higher_order.jaxpr_passes import forwarded_inputs


def loop_invariant_carry(body: Jaxpr, num_consts: int) -> list[bool]:
    """The mask of the carry that a body hands on unchanged (memoise on the body)."""
    inputs = forwarded_inputs([body], range(len(body.outputs)))
    return [i == num_consts + k for k, i in enumerate(inputs)]


def rearrange(
    loop: Any, invariant: Sequence[bool], operands: Sequence[Any]
) -> list[Any]:
    """Operands of a loop, or what is known of each, for the loop over the rest."""
    test_consts, consts, carry = loop.split(operands)
    invariants, rest = select(carry, invariant), drop(carry, invariant)
    return [*test_consts, *invariants, *consts, *invariants, *rest]


def loop_over_rest(body: Jaxpr, loop: Any) -> Any:
    """The loop with its loop-invariant carry as consts of test and body
    (memoise on the body).
    """
    invariant = body.memo(loop_invariant_carry, loop.body_nconsts)
    count, lanes = sum(invariant), loop.lanes
    if lanes.shape:
        # Lanes describe the operands after the consts of the test.
        mask = lanes.mask(0, loop.body_nconsts + len(invariant))
        per_lane = (*[False] * loop.cond_nconsts, *mask)
        per_lane = rearrange(loop, invariant, per_lane)[loop.cond_nconsts + count :]
        lanes = lanes._replace(per_lane=tuple(per_lane))
    body = _with_consts(body, loop.body_nconsts, invariant)
    return loop.replace(
        cond_jaxpr=_with_consts(loop.cond_jaxpr, loop.cond_nconsts, invariant),
        body_jaxpr=Jaxpr(
            body.inputs, body.equations, drop(body.outputs, invariant), body.name
        ),
        cond_nconsts=loop.cond_nconsts + count,
        body_nconsts=loop.body_nconsts + count,
        lanes=lanes,
    )


def _with_consts(program: Jaxpr, count: int, invariant: Sequence[bool]) -> Jaxpr:
    """A program of consts and a carry, which takes the invariant carry as consts."""
    carry = program.inputs[count:]
    inputs = [
        *program.inputs[:count],
        *select(carry, invariant),
        *drop(carry, invariant),
    ]
    return Jaxpr(inputs, program.equations, program.outputs, program.name)

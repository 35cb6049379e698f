"""The part of a while loop's carry that each step hands on as it is.

Over a batch whose members take different numbers of steps, the carry has to be a batch
too: members stop with different ones. Not so what is the same after any number of
steps. The loop over a batch takes it as a const, of which one may do for all members.
"""

from collections.abc import Sequence
from typing import Any

from covector.core.jaxpr import Jaxpr
from covector.core.masks import drop, select
from covector.programs.higher_order.jaxpr_passes import forwarded


def steady_carry(body: Jaxpr, num_consts: int) -> list[bool]:
    """Which of the carry a body hands on as it is (memoise on the body)."""
    inputs = forwarded([body], range(len(body.outputs)))
    return [i == num_consts + k for k, i in enumerate(inputs)]


def rearranged(loop: Any, steady: Sequence[bool], operands: Sequence[Any]) -> list[Any]:
    """Operands of a loop, or what is known of each, for the loop over the rest."""
    test_consts, consts, carry = loop.split(operands)
    fixed, rest = select(carry, steady), drop(carry, steady)
    return [*test_consts, *fixed, *consts, *fixed, *rest]


def loop_over_the_rest(body: Jaxpr, loop: Any) -> Any:
    """The loop with all that is steady in its carry as consts of test and body
    (memoise on the body).
    """
    steady = body.memo(steady_carry, loop.body_nconsts)
    count, members = sum(steady), loop.members
    if members.shape:
        # Members know of the operands behind the consts of the test.
        own = members.marks(0, loop.body_nconsts + len(steady))
        marks = (*[False] * loop.cond_nconsts, *own)
        marks = rearranged(loop, steady, marks)[loop.cond_nconsts + count :]
        members = members._replace(own=tuple(marks))
    body = _with_consts(body, loop.body_nconsts, steady)
    return loop.replace(
        cond_jaxpr=_with_consts(loop.cond_jaxpr, loop.cond_nconsts, steady),
        body_jaxpr=Jaxpr(
            body.inputs, body.equations, drop(body.outputs, steady), body.name
        ),
        cond_nconsts=loop.cond_nconsts + count,
        body_nconsts=loop.body_nconsts + count,
        members=members,
    )


def _with_consts(program: Jaxpr, count: int, steady: Sequence[bool]) -> Jaxpr:
    """A program of consts and a carry that takes the steady carry behind the consts."""
    carry = program.inputs[count:]
    inputs = [*program.inputs[:count], *select(carry, steady), *drop(carry, steady)]
    return Jaxpr(inputs, program.equations, program.outputs, program.name)

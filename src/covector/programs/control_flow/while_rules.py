"""The programs of a while loop, and of its reverse.

    counting    a body that counts its steps; the test that counts them again
    adjoint     the reverse of the reverse, for higher derivatives

The operations ``While`` and ``ReverseWhile`` ask here, and arrange their operands.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from covector.core import dtypes
from covector.core.annotations import Value
from covector.core.array_like import Array
from covector.core.convert import scalar
from covector.core.jaxpr import Equation, Jaxpr, Var, run
from covector.core.masks import Mask, drop, in_groups, merge, scatter, select
from covector.core.primitive import Linear
from covector.core.staging import stage
from covector.core.types import ArrayType
from covector.lowering.tokens import Thread
from covector.operations.arithmetic import add
from covector.operations.broadcasting import zeros
from covector.operations.comparison import lt
from covector.programs.control_flow.scan_rules import dependent_carry
from covector.programs.higher_order.jaxpr_passes import needed_part
from covector.transforms.transpose import backward as pull_back
from covector.transforms.transpose import instantiate


def testing_first(test: Jaxpr, loop: Any, thread: Thread) -> Jaxpr:
    """The loop, with a thread as first inputs and outputs, that its test changes
    (memoise on the test).
    """
    tested, stepped = thread.through(test), thread.through(loop.body_jaxpr)
    count, size = loop.cond_nconsts + loop.body_nconsts, len(thread.types)

    def step(*values: Value) -> list[Array]:
        test_consts, consts, (_, *rest) = loop.split(values)
        passed, carry = in_groups(rest, size)
        passed, carry = in_groups(run(stepped, [*passed, *consts, *carry]), size)
        *passed, holds = run(tested, [*passed, *test_consts, *carry])
        return [holds, *passed, *carry]

    def whole(*operands: Value) -> list[Any]:
        passed, operands = operands[:size], operands[size:]
        test_consts, consts, carry = loop.split(operands)
        *passed, holds = run(tested, [*passed, *test_consts, *carry])
        start = [holds, *passed, *carry]
        types = [x.type for x in start]
        body = stage(step, [*[x.type for x in operands[:count]], *types], test.name)
        result_of_test = stage(lambda holds, *_: [holds], types, "holds")
        again = loop.replace(
            cond_jaxpr=result_of_test.jaxpr,
            body_jaxpr=body.jaxpr,
            cond_nconsts=0,
            body_nconsts=count,
        )
        return again(*test_consts, *consts, *start)[1:]

    types = [*test.in_types[: loop.cond_nconsts], *loop.body_jaxpr.in_types]
    return stage(whole, [*thread.types, *types], test.name).jaxpr


# -- counting --------------------------------------------------------------------------


def counting_body(body: Jaxpr, num_consts: int, count: ArrayType) -> Jaxpr:
    """The body with the number of its step in front of the carry (memoise on it)."""
    before, after = Var(count), Var(count)
    up = Equation(add, [before, scalar(1, dtypes.int32)], [after], None)
    inputs = [*body.inputs[:num_consts], before, *body.inputs[num_consts:]]
    return Jaxpr(inputs, [*body.equations, up], [after, *body.outputs], body.name)


def repeating_test(body: Jaxpr, num_consts: int, count: ArrayType) -> Jaxpr:
    """Whether a step is below a count (memoise on the body that counts)."""
    types = [count, *body.in_types[num_consts:]]
    return stage(lambda n, k, *_: [lt(k, n)], types, "below").jaxpr


# -- reverse ---------------------------------------------------------------------------


class Adjoint(NamedTuple):
    """The reverse of a reverse loop.

    ``forward`` takes consts, and as carry the known primal carry and cotangents of the
    ct carry. ``backward`` takes that as primal carry, and as ct carry the known ct
    carry, cotangents of consts, which are accumulated, and of the primal carry.

    ``primal_carry`` and ``ct_carry`` are masks of what is linear.
    """

    forward: Jaxpr
    backward: Jaxpr
    primal_carry: Mask
    ct_carry: Mask


def _side_by_side(forward: Jaxpr, backward: Jaxpr, *sizes: int) -> Jaxpr:
    """Both programs of a step, on consts, ct carry and primal carry: the primal carry
    after it, and the ct carry before it.
    """

    def step(*operands: Value) -> list[Any]:
        consts, _, primals = in_groups(operands, *sizes)
        return [*run(forward, [*consts, *primals]), *run(backward, operands)]

    types = [t.strong() for t in backward.in_types]
    return stage(step, types, backward.name).jaxpr


def _known_part(jaxpr: Jaxpr, linear: Mask, linear_outputs: Mask) -> Jaxpr:
    """The program of the inputs and outputs outside of the masks."""
    known = [not m for m in linear]
    return needed_part(jaxpr, known, drop(jaxpr.outputs, linear_outputs))


def adjoint(
    forward: Jaxpr, backward: Jaxpr, consts: Mask, primals: Mask, cts: Mask
) -> Adjoint:
    """The transpose of a ``ReverseWhile``, for masks of what is linear (memoise on
    forward).

    A ct carry is linear in itself, with factors that depend on the primal carry alone.
    So its cotangents can be computed forwards, without its values; they become a part
    of the primal carry on which the cotangents of primal carry and consts are then
    computed backwards.
    """
    primals = dependent_carry(forward, consts, primals, ())
    cts = dependent_carry(backward, consts, cts, primals)
    masks, linear = (consts, cts, primals), (*consts, *cts, *primals)
    types = [t.strong() for t in backward.in_types]
    sizes = len(consts), len(cts)
    groups = [*zip(in_groups(types, *sizes), masks, strict=True)]
    known_consts, known_cts, known_primals = [drop(*group) for group in groups]
    of_consts, of_cts, of_primals = [select(*group) for group in groups]

    both = _side_by_side(forward, backward, *sizes)
    known_forward = _known_part(forward, (*consts, *primals), primals)
    known_backward = _known_part(backward, linear, cts)

    def pull(known: Sequence[Any], ct_primals: Any, ct_cts: Any) -> list[list[Any]]:
        """The cotangents of consts, ct carry and primal carry before a step, from those
        of primal carry and ct carry after it.
        """
        args = merge(known, [not m for m in linear], map(Linear, types))
        found = pull_back(both, args, [*ct_primals, *scatter(ct_cts, cts)])
        return in_groups(select(found, linear), len(of_consts), len(of_cts))

    def go_forward(*values: Value) -> list[Any]:
        split = len(known_consts), len(known_primals)
        consts, primal, ct_cts = in_groups(values, *split)
        # What is wanted depends on none of these, though an operation that carries
        # a program may take them beside what it does depend on.
        known = [*consts, *map(zeros, known_cts), *primal]
        _, after, _ = pull(known, [None] * len(primals), ct_cts)
        after = map(instantiate, after, of_cts)
        return [*run(known_forward, [*consts, *primal]), *after]

    parts = known_consts, known_cts, of_consts, of_primals, known_primals, of_cts

    def go_backward(*values: Value) -> list[Any]:
        split = [len(part) for part in parts[:-1]]
        consts, ct, sums, ct_primals, primal, ct_cts = in_groups(values, *split)
        known = [*consts, *ct, *primal]
        found, _, after = pull(known, scatter(ct_primals, primals), ct_cts)
        pairs = zip(sums, found, strict=True)
        sums = [total if x is None else add(total, x) for total, x in pairs]
        after = map(instantiate, after, of_primals)
        return [*run(known_backward, known), *sums, *after]

    name, ins = backward.name, [*known_consts, *known_primals, *of_cts]
    made = stage(go_forward, ins, f"{name}_forward").jaxpr
    back = stage(go_backward, [t for p in parts for t in p], f"{name}_backward").jaxpr
    return Adjoint(made, back, primals, cts)

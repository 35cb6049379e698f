"""The programs of a while loop, and of its reverse.

    counting         a body that counts its steps; the test that counts them again
    reverse          programs without what the reverse loop does not read
    adjoint          the reverse of the reverse, for higher derivatives

The operations ``While`` and ``ReverseWhile`` ask here, and arrange their operands.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from covector.core import dtypes
from covector.core.array_like import Array
from covector.core.convert import scalar
from covector.core.jaxpr import Equation, Jaxpr, Var, needed_equations, run
from covector.core.masks import Mask, drop, fixpoint, merge, scatter, select
from covector.core.staging import stage
from covector.core.types import ArrayType
from covector.errors import NotDifferentiable
from covector.lowering.tokens import TOKEN, with_token
from covector.ops.arithmetic import add
from covector.ops.broadcasting import zeros
from covector.ops.comparison import lt
from covector.programs.higher_order.jaxpr_passes import forward_slice
from covector.transforms.transpose import instantiate, transpose_jaxpr


def with_tangents(test: Jaxpr, mask: Sequence[bool]) -> Jaxpr:
    """The test, which ignores tangents (memoise on the test)."""
    carry = test.inputs[len(test.inputs) - len(mask) :]
    tangents = [Var(v.type.strong()) for v in select(carry, mask)]
    return Jaxpr([*test.inputs, *tangents], test.equations, test.outputs, test.name)


def testing_first(test: Jaxpr, loop: Any) -> Jaxpr:
    """The loop, with a token as first input and output, whose test has ordered effects
    (memoise on the test).
    """
    tested, stepped = test.memo(with_token), loop.body_jaxpr.memo(with_token)
    count = loop.cond_nconsts + loop.body_nconsts

    def step(*values: Any) -> list[Array]:
        test_consts, consts, (_, token, *carry) = loop.split(values)
        token, *carry = run(stepped, [token, *consts, *carry])
        token, holds = run(tested, [token, *test_consts, *carry])
        return [holds, token, *carry]

    def whole(token: Any, *operands: Any) -> list[Any]:
        test_consts, consts, carry = loop.split(operands)
        token, holds = run(tested, [token, *test_consts, *carry])
        start = [holds, token, *carry]
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
    return stage(whole, [TOKEN, *types], test.name).jaxpr


# -- counting --------------------------------------------------------------------------


def counting_body(body: Jaxpr, num_consts: int, count: ArrayType) -> Jaxpr:
    """The body with the number of its step in front of the carry (memoise on it)."""
    before, after = Var(count), Var(count)
    up = Equation(add, [before, scalar(1, dtypes.int32)], [after], None)
    inputs = [*body.inputs[:num_consts], before, *body.inputs[num_consts:]]
    return Jaxpr(inputs, [*body.equations, up], [after, *body.outputs], body.name)


def counting_test(test: Jaxpr, num_consts: int, count: ArrayType) -> Jaxpr:
    """The test, which ignores the count (memoise on the test)."""
    inputs = [*test.inputs[:num_consts], Var(count), *test.inputs[num_consts:]]
    return Jaxpr(inputs, test.equations, test.outputs, test.name)


def repeating_test(body: Jaxpr, num_consts: int, count: ArrayType) -> Jaxpr:
    """Whether a step is below a count (memoise on the body that counts)."""
    types = [count, *body.in_types[num_consts:]]
    return stage(lambda n, k, *_: [lt(k, n)], types, "below").jaxpr


class KnownLoop(NamedTuple):
    """The known part of a loop; ``consts`` and ``carry`` are masks of what is known."""

    test: Jaxpr
    body: Jaxpr
    consts: Mask
    carry: Mask


def known_loop(
    test: Jaxpr, body: Jaxpr, test_consts: int, body_consts: int, linear: Mask
) -> KnownLoop:
    """The part of a loop that is independent of the ``linear`` operands (memoise on the
    test).

    Raises:
      NotDifferentiable: the test depends on them.
    """
    split = test_consts + body_consts
    consts = linear[test_consts:split]

    def step(mask: Mask) -> tuple[None, Sequence[bool]]:
        return None, _depend(body, (*consts, *mask))

    _, carry = fixpoint(linear[split:], step)
    tested = (*linear[:test_consts], *carry)
    if any(_depend(test, tested)):
        raise NotDifferentiable(
            "while_loop cannot be transposed where its test depends on what it is "
            "linear in: how many steps it takes is not a linear function. Let the test "
            "depend on other values."
        )
    return KnownLoop(
        _known_part(test, tested, (False,)),
        _known_part(body, (*consts, *carry), carry),
        tuple([not m for m in consts]),
        tuple([not m for m in carry]),
    )


# -- reverse ---------------------------------------------------------------------------


class ReversePrograms(NamedTuple):
    """``forward`` takes consts and primal carry to the next primal carry, ``backward``
    takes consts, ct carry and primal carry to the ct carry before the step.

    The primal carry is reduced to ``primal_mask``: what neither reads is gone.
    """

    forward: Jaxpr
    backward: Jaxpr
    primal_mask: Mask


def reverse_programs(
    forward: Jaxpr, backward: Jaxpr, num_consts: int
) -> ReversePrograms:
    """The programs of a reverse loop, as small as they can be (memoise on forward).

    Results of ``forward`` besides the next primal carry are left out too.
    """
    num_primals = len(forward.inputs) - num_consts
    after = forward.outputs[:num_primals]
    start = len(backward.inputs) - num_primals
    backward_equations = needed_equations(backward.equations, backward.outputs)
    read = _read(backward_equations, backward.outputs)

    def step(mask: Mask) -> tuple[Any, Sequence[bool]]:
        outputs = select(after, mask)
        equations = needed_equations(forward.equations, outputs)
        found = _read(equations, outputs)
        return (equations, outputs), [v in found for v in forward.inputs[num_consts:]]

    wanted = [v in read for v in backward.inputs[start:]]
    (equations, outputs), mask = fixpoint(wanted, step)
    consts, primals = forward.inputs[:num_consts], forward.inputs[num_consts:]
    inputs = [*backward.inputs[:start], *select(backward.inputs[start:], mask)]
    return ReversePrograms(
        Jaxpr([*consts, *select(primals, mask)], equations, outputs, forward.name),
        Jaxpr(inputs, backward_equations, backward.outputs, backward.name),
        mask,
    )


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


def adjoint(
    forward: Jaxpr, backward: Jaxpr, consts: Mask, primal_carry: Mask, ct_carry: Mask
) -> Adjoint:
    """The transpose of a ``ReverseWhile`` (memoise on forward).

    A ct carry is linear in itself, with factors that depend on the primal carry alone.
    So its cotangents can be computed forwards, without its values; they become a part
    of the primal carry on which the cotangents of primal carry and consts are then
    computed backwards.
    """

    def next_primals(mask: Mask) -> tuple[None, Sequence[bool]]:
        return None, _depend(forward, (*consts, *mask))

    _, primal_carry = fixpoint(primal_carry, next_primals)

    def next_cts(mask: Mask) -> tuple[None, Sequence[bool]]:
        return None, _depend(backward, (*consts, *mask, *primal_carry))

    _, ct_carry = fixpoint(ct_carry, next_cts)
    made = _Adjoint(forward, backward, consts, primal_carry, ct_carry)
    return Adjoint(made.forward(), made.backward(), primal_carry, ct_carry)


class _Adjoint:
    """One adjoint being made; the masks are of what is linear."""

    def __init__(
        self, forward: Jaxpr, backward: Jaxpr, consts: Mask, primals: Mask, cts: Mask
    ) -> None:
        self.step_forward, self.step_backward = forward, backward
        self.consts, self.primals, self.cts = consts, primals, cts
        self.transposed = backward.memo(transpose_jaxpr, (*consts, *cts, *primals), cts)
        types = [t.strong() for t in backward.in_types]
        end = len(consts) + len(cts)
        self.const_types = types[: len(consts)]
        self.ct_types = types[len(consts) : end]
        self.primal_types = types[end:]

    def forward(self) -> Jaxpr:
        known = _known_part(
            self.step_forward, (*self.consts, *self.primals), self.primals
        )
        wanted = [*_nothing(self.consts), *self.cts, *_nothing(self.primals)]
        program, mask = _with_outputs(self.transposed, wanted)
        mask = mask[len(self.consts) : len(self.consts) + len(self.cts)]
        mask = select(mask, self.cts)
        groups = [
            drop(self.const_types, self.consts),
            drop(self.primal_types, self.primals),
            select(self.ct_types, self.cts),
        ]

        def forward(*values: Any) -> list[Any]:
            consts, primals, ct_cts = _groups(values, *groups)
            # What is wanted depends on none of these, though an operation that carries
            # a program may take them beside what it does depend on.
            unknown = [zeros(t) for t in drop(self.ct_types, self.cts)]
            outs = run(program, [*consts, *unknown, *primals, *ct_cts])
            after = merge(outs, mask, [zeros(t) for t in groups[2]])
            return [*run(known, [*consts, *primals]), *after]

        types = [t for group in groups for t in group]
        return stage(forward, types, f"{self.step_backward.name}_forward").jaxpr

    def backward(self) -> Jaxpr:
        known = _known_part(
            self.step_backward, (*self.consts, *self.cts, *self.primals), self.cts
        )
        wanted = [*self.consts, *_nothing(self.cts), *self.primals]
        program, mask = _with_outputs(self.transposed, wanted)
        over = self.step_forward.memo(
            transpose_jaxpr, (*self.consts, *self.primals), self.primals
        )
        groups = [
            drop(self.const_types, self.consts),
            drop(self.ct_types, self.cts),
            select(self.const_types, self.consts),
            select(self.primal_types, self.primals),
            drop(self.primal_types, self.primals),
            select(self.ct_types, self.cts),
        ]

        def backward(*values: Any) -> list[Any]:
            consts, cts, sums, primal_cts, primals, ct_cts = _groups(values, *groups)
            first = scatter(run(program, [*consts, *cts, *primals, *ct_cts]), mask)
            second = scatter(run(over[0], [*consts, *primals, *primal_cts]), over[1])
            count, end = len(self.consts), len(self.consts) + len(self.cts)
            first = [*first[:count], *first[end:]]
            columns = zip(first, second, (*self.consts, *self.primals), strict=True)
            found = [_sum(x, y) for x, y, m in columns if m]
            sums = [_sum(x, y) for x, y in zip(sums, found, strict=False)]
            primal_cts = [
                instantiate(x, t)
                for x, t in zip(found[len(sums) :], groups[3], strict=True)
            ]
            return [*run(known, [*consts, *cts, *primals]), *sums, *primal_cts]

        types = [t for group in groups for t in group]
        return stage(backward, types, f"{self.step_backward.name}_backward").jaxpr


def _depend(jaxpr: Jaxpr, mask: Mask) -> list[bool]:
    """The mask of the outputs that depend on the inputs in the mask."""
    found = forward_slice(jaxpr, mask)
    return [type(a) is Var and a in found for a in jaxpr.outputs]


def _known_part(jaxpr: Jaxpr, inputs: Mask, outputs: Mask) -> Jaxpr:
    """The program of the inputs outside one mask, to the outputs outside the other."""
    outs = drop(jaxpr.outputs, outputs)
    equations = needed_equations(jaxpr.equations, outs)
    return Jaxpr(drop(jaxpr.inputs, inputs), equations, outs, jaxpr.name)


def _with_outputs(
    transposed: tuple[Jaxpr, Mask], wanted: Sequence[bool]
) -> tuple[Jaxpr, list[bool]]:
    """A transposed program reduced to the cotangents wanted, and their mask."""
    program, nonzero = transposed
    outs = scatter(program.outputs, nonzero)
    mask = [z and w for z, w in zip(nonzero, wanted, strict=True)]
    outputs = select(outs, mask)
    equations = needed_equations(program.equations, outputs)
    return Jaxpr(program.inputs, equations, outputs, program.name), mask


def _read(equations: Sequence[Equation], outputs: Sequence[Any]) -> set[Var]:
    atoms = [a for e in equations for a in e.inputs]
    return {a for a in (*atoms, *outputs) if type(a) is Var}


def _sum(x: Any, y: Any) -> Any:
    return y if x is None else x if y is None else add(x, y)


def _nothing(mask: Mask) -> Mask:
    return (False,) * len(mask)


def _groups(values: Sequence[Any], *groups: Sequence[Any]) -> list[list[Any]]:
    """The values in groups as long as these."""
    rest = iter(values)
    return [[next(rest) for _ in group] for group in groups]

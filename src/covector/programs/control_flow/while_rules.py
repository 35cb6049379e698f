"""The programs of a while loop, and of the loop that takes its steps back.

    until all stop   a loop over lanes as one with a single test
    counting         a body that counts its steps; the test that counts them again
    rewinding        programs without what the way back does not read
    adjoint          the way back of the way back, by which higher derivatives come

The operations in ``while_loop`` ask here, and arrange their operands.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from covector.core import dtypes
from covector.core.convert import scalar
from covector.core.jaxpr import Equation, Jaxpr, Var, needed_equations, run
from covector.core.masks import drop, scatter, select
from covector.core.staging import stage
from covector.core.types import ArrayType
from covector.errors import NotDifferentiable
from covector.lowering.tokens import TOKEN, with_token
from covector.ops.arithmetic import add
from covector.ops.bitwise import and_
from covector.ops.broadcasting import zeros
from covector.ops.comparison import lt
from covector.ops.reductions import ReduceOr
from covector.programs.control_flow.lanes import Lanes, select_running
from covector.programs.control_flow.scan_rules import fixpoint
from covector.programs.higher_order.jaxpr_passes import forward_slice
from covector.transforms.transpose import instantiate, transpose_jaxpr

Marks = tuple[bool, ...]


def with_tangents(test: Jaxpr, marks: Sequence[bool]) -> Jaxpr:
    """The test, which takes no notice of tangents (memoise on the test)."""
    carry = test.inputs[len(test.inputs) - len(marks) :]
    tangents = [Var(v.type.strong()) for v, m in zip(carry, marks, strict=True) if m]
    return Jaxpr([*test.inputs, *tangents], test.equations, test.outputs, test.name)


def until_all_stop(
    body: Jaxpr, test: Jaxpr, test_consts: int, body_consts: int, lanes: Lanes
) -> tuple[Jaxpr, Jaxpr]:
    """Test and body for a carry that begins with the mask of running lanes (memoise on
    the body).

    The body takes the consts of both.
    """
    count = test_consts + body_consts
    carry_types = body.in_types[body_consts:]
    per_lane = lanes.mask(body_consts, len(carry_types))

    def turn(*values: Any) -> list[Any]:
        running, *carry = values[count:]
        made = run(body, [*values[test_consts:count], *carry])
        kept = select_running(per_lane, running, made, carry)
        (more,) = run(test, [*values[:test_consts], *kept])
        return [and_(running, more), *kept]

    def any_running(running: Any, *_: Any) -> list[Any]:
        return [ReduceOr(tuple(range(running.type.ndim)))(running)]

    flags = test.out_types[0]
    consts = [*test.in_types[:test_consts], *body.in_types[:body_consts]]
    turned = stage(turn, [*consts, flags, *carry_types], body.name)
    return stage(any_running, [flags, *carry_types], "any").jaxpr, turned.jaxpr


def testing_first(test: Jaxpr, loop: Any) -> Jaxpr:
    """The loop, with a token as first input and output, whose test has ordered effects
    (memoise on the test).
    """
    tested, stepped = test.memo(with_token), loop.body_jaxpr.memo(with_token)
    count = loop.cond_nconsts + loop.body_nconsts

    def turn(*values: Any) -> list[Any]:
        test_consts, consts, (_, token, *carry) = loop.split(values)
        token, *carry = run(stepped, [token, *consts, *carry])
        token, going = run(tested, [token, *test_consts, *carry])
        return [going, token, *carry]

    def whole(token: Any, *operands: Any) -> list[Any]:
        test_consts, consts, carry = loop.split(operands)
        token, going = run(tested, [token, *test_consts, *carry])
        start = [going, token, *carry]
        types = [x.type for x in start]
        turned = stage(turn, [*[x.type for x in operands[:count]], *types], test.name)
        asked = stage(lambda going, *_: [going], types, "going")
        again = loop.replace(
            cond_jaxpr=asked.jaxpr,
            body_jaxpr=turned.jaxpr,
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
    """The test, which takes no notice of the count (memoise on the test)."""
    inputs = [*test.inputs[:num_consts], Var(count), *test.inputs[num_consts:]]
    return Jaxpr(inputs, test.equations, test.outputs, test.name)


def repeating_test(body: Jaxpr, num_consts: int, count: ArrayType) -> Jaxpr:
    """Whether a step is below a count (memoise on the body that counts)."""
    types = [count, *body.in_types[num_consts:]]
    return stage(lambda n, k, *_: [lt(k, n)], types, "below").jaxpr


class KnownLoop(NamedTuple):
    """The part of a loop that is known; ``consts`` and ``carry`` mark which is."""

    test: Jaxpr
    body: Jaxpr
    consts: Marks
    carry: Marks


def known_loop(
    test: Jaxpr, body: Jaxpr, test_consts: int, body_consts: int, linear: Marks
) -> KnownLoop:
    """What does not depend on operands that are ``linear`` (memoise on the test).

    Raises:
      NotDifferentiable: the test depends on them.
    """
    split = test_consts + body_consts
    consts = linear[test_consts:split]

    def step(marks: Marks) -> tuple[None, Sequence[bool]]:
        return None, _moved(body, (*consts, *marks))

    _, carry = fixpoint(linear[split:], step)
    tested = (*linear[:test_consts], *carry)
    if any(_moved(test, tested)):
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


# -- the way back ----------------------------------------------------------------------


class Rewinding(NamedTuple):
    """``advance`` takes consts and a path to the next path, ``pull`` takes consts, a
    state and the path to the state before.

    Of the path there is only what ``path`` marks: what the others do not read is gone.
    """

    advance: Jaxpr
    pull: Jaxpr
    path: Marks


def rewinding(advance: Jaxpr, pull: Jaxpr, num_consts: int) -> Rewinding:
    """The programs of a way back, as small as they can be (memoise on advance).

    What ``advance`` gives besides the next path is left out too.
    """
    num_path = len(advance.inputs) - num_consts
    after = advance.outputs[:num_path]
    start = len(pull.inputs) - num_path
    pull_equations = needed_equations(pull.equations, pull.outputs)
    read = _read(pull_equations, pull.outputs)

    def step(marks: Marks) -> tuple[Any, Sequence[bool]]:
        outputs = select(after, marks)
        equations = needed_equations(advance.equations, outputs)
        found = _read(equations, outputs)
        return (equations, outputs), [v in found for v in advance.inputs[num_consts:]]

    wanted = [v in read for v in pull.inputs[start:]]
    (equations, outputs), marks = fixpoint(wanted, step)
    consts, path = advance.inputs[:num_consts], advance.inputs[num_consts:]
    pulled = [*pull.inputs[:start], *select(pull.inputs[start:], marks)]
    return Rewinding(
        Jaxpr([*consts, *select(path, marks)], equations, outputs, advance.name),
        Jaxpr(pulled, pull_equations, pull.outputs, pull.name),
        marks,
    )


class Adjoint(NamedTuple):
    """The way back of a way back.

    ``forward`` takes consts, and as carry the known path and cotangents of the state.
    ``pull`` takes that as path, and as state what is known of the state, cotangents of
    consts, which add up, and cotangents of the path.

    ``path`` and ``state`` mark what is linear.
    """

    forward: Jaxpr
    pull: Jaxpr
    path: Marks
    state: Marks


def adjoint(
    advance: Jaxpr, pull: Jaxpr, consts: Marks, path: Marks, state: Marks
) -> Adjoint:
    """How cotangents of a state come back through ``Rewind`` (memoise on advance).

    A state moves linearly in itself, with factors that depend on the path alone. So its
    cotangents can be taken forwards, without the state; they become a part of the path
    on which the cotangents of path and consts are then taken backwards.
    """

    def next_path(marks: Marks) -> tuple[None, Sequence[bool]]:
        return None, _moved(advance, (*consts, *marks))

    def next_state(marks: Marks) -> tuple[None, Sequence[bool]]:
        return None, _moved(pull, (*consts, *marks, *path))

    _, path = fixpoint(path, next_path)
    _, state = fixpoint(state, next_state)
    made = _Adjoint(advance, pull, consts, path, state)
    return Adjoint(made.forward(), made.backward(), path, state)


class _Adjoint:
    """One adjoint being made; the marks say what is linear."""

    def __init__(
        self, advance: Jaxpr, pull: Jaxpr, consts: Marks, path: Marks, state: Marks
    ) -> None:
        self.advance, self.pull = advance, pull
        self.consts, self.path, self.state = consts, path, state
        self.pulled = pull.memo(transpose_jaxpr, (*consts, *state, *path), state)
        types = [t.strong() for t in pull.in_types]
        end = len(consts) + len(state)
        self.const_types = types[: len(consts)]
        self.state_types = types[len(consts) : end]
        self.path_types = types[end:]

    def forward(self) -> Jaxpr:
        advanced = _known_part(self.advance, (*self.consts, *self.path), self.path)
        wanted = [*_nothing(self.consts), *self.state, *_nothing(self.path)]
        program, given = _only(self.pulled, wanted)
        of_state = given[len(self.consts) : len(self.consts) + len(self.state)]
        given = select(of_state, self.state)
        groups = [
            drop(self.const_types, self.consts),
            drop(self.path_types, self.path),
            select(self.state_types, self.state),
        ]

        def forward(*values: Any) -> list[Any]:
            consts, path, moved = _groups(values, *groups)
            # What is wanted depends on none of these, though an operation that carries
            # a program may take them beside what it does depend on.
            unknown = [zeros(t) for t in drop(self.state_types, self.state)]
            found = iter(run(program, [*consts, *unknown, *path, *moved]))
            after = [
                next(found) if g else zeros(t)
                for g, t in zip(given, groups[2], strict=True)
            ]
            return [*run(advanced, [*consts, *path]), *after]

        types = [t for group in groups for t in group]
        return stage(forward, types, f"{self.pull.name}_forward").jaxpr

    def backward(self) -> Jaxpr:
        known = _known_part(
            self.pull, (*self.consts, *self.state, *self.path), self.state
        )
        wanted = [*self.consts, *_nothing(self.state), *self.path]
        program, given = _only(self.pulled, wanted)
        over = self.advance.memo(transpose_jaxpr, (*self.consts, *self.path), self.path)
        groups = [
            drop(self.const_types, self.consts),
            drop(self.state_types, self.state),
            select(self.const_types, self.consts),
            select(self.path_types, self.path),
            drop(self.path_types, self.path),
            select(self.state_types, self.state),
        ]

        def backward(*values: Any) -> list[Any]:
            consts, state, totals, of_path, path, moved = _groups(values, *groups)
            first = scatter(run(program, [*consts, *state, *path, *moved]), given)
            second = scatter(run(over[0], [*consts, *path, *of_path]), over[1])
            count, end = len(self.consts), len(self.consts) + len(self.state)
            first = [*first[:count], *first[end:]]
            columns = zip(first, second, (*self.consts, *self.path), strict=True)
            found = [_sum(x, y) for x, y, m in columns if m]
            totals = [_sum(x, y) for x, y in zip(totals, found, strict=False)]
            of_path = [
                instantiate(x, t)
                for x, t in zip(found[len(totals) :], groups[3], strict=True)
            ]
            return [*run(known, [*consts, *state, *path]), *totals, *of_path]

        types = [t for group in groups for t in group]
        return stage(backward, types, f"{self.pull.name}_backward").jaxpr


def _moved(jaxpr: Jaxpr, marks: Marks) -> list[bool]:
    """Which outputs depend on the inputs that are marked."""
    found = forward_slice(jaxpr, marks)
    return [type(a) is Var and a in found for a in jaxpr.outputs]


def _known_part(jaxpr: Jaxpr, marks: Marks, outputs: Marks) -> Jaxpr:
    """The program of the inputs that are not marked, to such outputs."""
    outs = drop(jaxpr.outputs, outputs)
    equations = needed_equations(jaxpr.equations, outs)
    return Jaxpr(drop(jaxpr.inputs, marks), equations, outs, jaxpr.name)


def _only(
    transposed: tuple[Jaxpr, Marks], wanted: Sequence[bool]
) -> tuple[Jaxpr, list[bool]]:
    """A transposed program that gives no more than the cotangents that are wanted."""
    program, nonzero = transposed
    outs = scatter(program.outputs, nonzero)
    given = [z and w for z, w in zip(nonzero, wanted, strict=True)]
    outputs = select(outs, given)
    equations = needed_equations(program.equations, outputs)
    return Jaxpr(program.inputs, equations, outputs, program.name), given


def _read(equations: Sequence[Equation], outputs: Sequence[Any]) -> set[Var]:
    atoms = [a for e in equations for a in e.inputs]
    return {a for a in (*atoms, *outputs) if type(a) is Var}


def _sum(x: Any, y: Any) -> Any:
    return y if x is None else x if y is None else add(x, y)


def _nothing(marks: Marks) -> Marks:
    return (False,) * len(marks)


def _groups(values: Sequence[Any], *groups: Sequence[Any]) -> list[list[Any]]:
    """The values in groups as long as these."""
    given = iter(values)
    return [[next(given) for _ in group] for group in groups]

"""``While``: a program run for as long as another one says so.

    operands    consts of the test, consts of the body, carry
    results     the carry for which the test gave False

How many steps there will be is not known beforehand, so nothing can be kept for each of
them: there is a derivative forward, computed beside the values, and none backward.
"""

from collections.abc import Sequence
from typing import Any

from covector.core import dtypes
from covector.core.effects import Effect
from covector.core.jaxpr import Jaxpr, Var, run
from covector.core.primitive import Primitive, operation
from covector.core.staging import stage
from covector.core.trace import Trace, current
from covector.core.types import ArrayType, show_types
from covector.core.varying import Axes, Varying, of_programs
from covector.errors import NotDifferentiable, TypeMismatch
from covector.lowering.evaluate import evaluate_compiled
from covector.lowering.tokens import TOKEN, with_token
from covector.ops.bitwise import and_
from covector.ops.broadcasting import batched
from covector.ops.reductions import ReduceOr
from covector.programs.bodies import of_each_member
from covector.programs.call import call, named_axes
from covector.programs.eager import Budget
from covector.programs.one_by_one import one_by_one
from covector.programs.scan_bodies import jvp_body, least_carry
from covector.transforms.batch import batch_jaxpr
from covector.transforms.transpose import instantiate


@operation
class While(Primitive):
    """Run ``body_jaxpr`` on the carry while ``cond_jaxpr`` of it is True."""

    interned = False
    multiple_results = True
    name = "while"  # type: ignore[assignment]

    cond_jaxpr: Jaxpr
    body_jaxpr: Jaxpr
    cond_nconsts: int
    body_nconsts: int

    def __repr__(self) -> str:
        return f"While({self.cond_jaxpr.name}, {self.body_jaxpr.name})"

    def split(self, operands: Sequence[Any]) -> tuple[list[Any], list[Any], list[Any]]:
        """What belongs to consts of the test, consts of the body, and the carry."""
        start = self.cond_nconsts
        end = start + self.body_nconsts
        return [*operands[:start]], [*operands[start:end]], [*operands[end:]]

    def type_rule(self, *types: ArrayType) -> Sequence[ArrayType]:
        given = [t.strong() for t in types]
        test_consts, consts, carry = self.split(given)
        test, body = self.cond_jaxpr, self.body_jaxpr
        if _strong(test.in_types) != [*test_consts, *carry]:
            raise TypeMismatch(
                f"while_loop needs operands of types {show_types(test.in_types)} for "
                f"its test {test.name}, but got {show_types([*test_consts, *carry])}."
            )
        (going,) = test.out_types
        if going.shape or going.dtype != dtypes.bool_:
            raise TypeMismatch(
                f"the test {test.name} of while_loop must give one scalar bool, but "
                f"gives {show_types(test.out_types)}."
            )
        if (
            _strong(body.in_types) != [*consts, *carry]
            or _strong(body.out_types) != carry
        ):
            raise TypeMismatch(
                f"while_loop has a carry of types {show_types(carry)}, but its body "
                f"{body.name} takes {show_types(body.in_types)} and gives "
                f"{show_types(body.out_types)}."
            )
        return body.out_types

    def vary(self, types: Sequence[ArrayType], tracked: Axes) -> Varying:
        test_consts = self.cond_jaxpr.in_types[: self.cond_nconsts]
        return of_programs([*test_consts, *self.body_jaxpr.in_types])

    # -- values ------------------------------------------------------------------------

    def evaluate(self, *args: Any) -> Sequence[Any]:
        """The first steps on the host, where they are quick; then a compiled loop."""
        test, body = self.cond_jaxpr, self.body_jaxpr
        plan = self.plan(tuple([a.type for a in args]))
        if plan.executable is None and all([a.on_host() for a in args]):
            test_consts, consts, carry = self.split(args)
            budget = test.memo(Budget, (body,))
            while budget.pays():
                (going,) = run(test, [*test_consts, *carry])
                if not going.host():
                    return carry
                carry = run(body, [*consts, *carry])
            args = (*test_consts, *consts, *carry)
        return evaluate_compiled(self, plan, args)

    def with_token(self) -> tuple[Primitive, int]:
        """A token in the carry. A test gives nothing but its answer, so one with
        ordered effects is run before the loop and in its body.
        """
        if Effect.ORDERED in self.cond_jaxpr.effects:
            return call(self.cond_jaxpr.memo(_testing_first, self)), 0
        first, count = self.cond_nconsts, self.body_nconsts
        body, test = self.body_jaxpr.memo(with_token, count), self.cond_jaxpr
        inputs = [*test.inputs[:first], Var(TOKEN), *test.inputs[first:]]
        test = Jaxpr(inputs, test.equations, test.outputs, test.name)
        return make_while(test, body, first, count), first + count

    def lower(self, ctx: Any, *operands: Any) -> Any:
        test_consts, consts, carry = self.split(operands)
        types = ctx.out_types
        op = ctx.op("stablehlo.while", carry, types, regions=2)

        def test(inner: Any, *values: Any) -> Sequence[Any]:
            return inner.inline(self.cond_jaxpr, [*test_consts, *values])

        def body(inner: Any, *values: Any) -> Sequence[Any]:
            return inner.inline(self.body_jaxpr, [*consts, *values])

        ctx.region(op, 0, types, test)
        ctx.region(op, 1, types, body)
        return op

    # -- derivatives -------------------------------------------------------------------

    def differentiate(
        self, parent: Trace, tangent_trace: Trace, primals: Any, tangents: Any
    ) -> Any:
        """Where tangents are wanted at once, one loop computes both."""
        if tangent_trace is not parent:
            return super().differentiate(parent, tangent_trace, primals, tangents)
        current.trace = parent
        beside, marks = self._beside([t is not None for t in tangents])
        outs = beside(*self._both(primals, tangents, marks))
        return outs[: len(marks)], _spread(outs[len(marks) :], marks)

    def linearize(self, active: Sequence[bool], *primals: Any) -> Any:
        """The derivative runs the loop again, for it needs the values at each step."""
        beside, marks = self._beside(active)
        outs = self(*primals)

        def push(*tangents: Any) -> Sequence[Any]:
            if not any(marks):
                return [None] * len(marks)
            both = beside(*self._both(primals, tangents, marks))
            return _spread(both[len(marks) :], marks)

        return outs, push

    def _beside(self, active: Sequence[bool]) -> tuple["While", Sequence[bool]]:
        """The loop of values and tangents, and which of the carry moves."""
        _, consts, carry = self.split(active)
        made = self.body_jaxpr.memo(
            jvp_body, self.body_nconsts, len(carry), (*consts, *carry)
        )
        test = self.cond_jaxpr.memo(_with_tangents, made.carry)
        num_consts = self.body_nconsts + sum(consts)
        return make_while(test, made.jaxpr, self.cond_nconsts, num_consts), made.carry

    def _both(self, primals: Any, tangents: Any, marks: Sequence[bool]) -> list[Any]:
        """Operands of the loop of values and tangents."""
        test_consts, consts, carry = self.split(primals)
        _, moved_consts, moved = self.split(tangents)
        starts = zip(carry, moved, marks, strict=True)
        return [
            *test_consts,
            *consts,
            *[d for d in moved_consts if d is not None],
            *carry,
            *[instantiate(d, x.type.strong()) for x, d, m in starts if m],
        ]

    def transpose(self, cotangents: Sequence[Any], *args: Any) -> Sequence[Any]:
        lines = [e.line for e in self.body_jaxpr.equations if e.line is not None]
        where = f", here with a body at {lines[0]}" if lines else ""
        raise NotDifferentiable(
            "there is no reverse-mode derivative of while_loop, nor of fori_loop with "
            f"bounds that are known only when the program runs{where}: what each step "
            "needs would have to be kept for a number of steps that is not known "
            "beforehand. Use lax.scan, or lax.fori_loop with static bounds, which "
            "becomes a scan; or forward mode (jvp, jacfwd)."
        )

    # -- batches -----------------------------------------------------------------------

    def batch(self, size: int, args: Any, dims: Any) -> Any:
        return self.batch_named(None, size, args, dims)

    def batch_named(self, axis: Any, size: int, args: Any, dims: Any) -> Any:
        """A carry is batched if it starts so or is made so by another.

        Where members of the batch take different numbers of steps, all of it is.
        """
        test_consts, consts, carry = self.split(args)
        test_dims, const_dims, carry_dims = [tuple(d) for d in self.split(dims)]

        def step(marks: Any) -> Any:
            now = tuple([0 if m else None for m in marks])
            test, (going,) = self.cond_jaxpr.memo(
                batch_jaxpr, size, (*test_dims, *now), None, axis
            )
            body, outs = self.body_jaxpr.memo(
                batch_jaxpr, size, (*const_dims, *now), marks, axis
            )
            differ = going is not None
            return (test, body, differ), [differ or d is not None for d in outs]

        (test, body, differ), marks = least_carry(
            [d is not None for d in carry_dims], step
        )
        carry = [
            batched(size, x, d) if m else x
            for x, d, m in zip(carry, carry_dims, marks, strict=True)
        ]
        out_dims = [0 if m else None for m in marks]
        if not differ:
            loop = make_while(test, body, self.cond_nconsts, self.body_nconsts)
            return loop(*test_consts, *consts, *carry), out_dims
        if not self.pure:
            return one_by_one(self, axis, size, args, dims)
        loop = body.memo(_until_all_stop, test, self.cond_nconsts, self.body_nconsts)
        going = run(test, [*test_consts, *carry])
        return loop(*test_consts, *consts, *going, *carry)[1:], out_dims

    @property
    def axis_names(self) -> tuple[Any, ...]:  # type: ignore[override]
        names = [*self.cond_jaxpr.memo(named_axes), *self.body_jaxpr.memo(named_axes)]
        return tuple(dict.fromkeys(names))


def make_while(test: Jaxpr, body: Jaxpr, test_consts: int, body_consts: int) -> While:
    """The operation that loops over these programs; the same one each time."""
    return test.memo(While, body, test_consts, body_consts)


def _until_all_stop(
    body: Jaxpr, test: Jaxpr, test_consts: int, body_consts: int
) -> While:
    """The loop over a batch whose members stop at different times (memoise on the
    body).

    The carry begins with who is still going. The others keep what they have.
    """
    count = test_consts + body_consts
    carry_types = body.in_types[body_consts:]

    def turn(*values: Any) -> list[Any]:
        going, *carry = values[count:]
        made = run(body, [*values[test_consts:count], *carry])
        kept = [of_each_member(going, pair) for pair in zip(carry, made, strict=True)]
        (more,) = run(test, [*values[:test_consts], *kept])
        return [and_(going, more), *kept]

    members = test.out_types[0]
    types = [*test.in_types[:test_consts], *body.in_types[:body_consts]]
    turned = stage(turn, [*types, members, *carry_types], body.name)
    any_ = stage(
        lambda going, *_: [ReduceOr((0,))(going)], [members, *carry_types], "any"
    )
    return make_while(any_.jaxpr, turned.jaxpr, 0, count)


def _testing_first(test: Jaxpr, loop: While) -> Jaxpr:
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
        again = make_while(asked.jaxpr, turned.jaxpr, 0, count)
        return again(*test_consts, *consts, *start)[1:]

    types = [*test.in_types[: loop.cond_nconsts], *loop.body_jaxpr.in_types]
    return stage(whole, [TOKEN, *types], test.name).jaxpr


def _with_tangents(test: Jaxpr, marks: Sequence[bool]) -> Jaxpr:
    """The test, which takes no notice of tangents (memoise on the test)."""
    carry = test.inputs[len(test.inputs) - len(marks) :]
    tangents = [Var(v.type.strong()) for v, m in zip(carry, marks, strict=True) if m]
    return Jaxpr([*test.inputs, *tangents], test.equations, test.outputs, test.name)


def _strong(types: Sequence[ArrayType]) -> list[ArrayType]:
    return [t.strong() for t in types]


def _spread(values: Sequence[Any], marks: Sequence[bool]) -> list[Any]:
    given = iter(values)
    return [next(given) if m else None for m in marks]

"""Lowering of loops to ``stablehlo.while``: of ``while_loop``, and of ``scan``.

    i, carry, ys = 0, init, zeros
    while i < n:  carry, y = body(consts, carry, xs[i]);  ys[i] = y;  i += 1

Consts and xs are not operands of the loop: its regions read them from outside.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from covector.core import dtypes
from covector.core.jaxpr import Jaxpr, run
from covector.core.number_info import iinfo
from covector.core.staging import restage
from covector.core.types import ArrayType
from covector.lowering.element_loops import (
    LARGE_IN_LOOPS,
    several_steps,
    steps_at_once,
    with_element_loops,
)
from covector.lowering.long_rows import LEAST_IN_LOOPS, with_long_rows
from covector.lowering.short_floats import bits_of, cast
from covector.lowering.spelling import HloValue
from covector.operations.casting import convert
from covector.programs.control_flow.safe_operands import without_safe_operands
from covector.runtime.compile_options import SMALL_LOOP

if TYPE_CHECKING:
    from covector.lowering.module import Lowering

Values = list[Any]


def lower_while(
    op: Any, ctx: "Lowering", test_consts: Values, consts: Values, carry: Values
) -> Values:
    """The loop over values; consts are read from outside of its regions."""
    test, body = op.cond_jaxpr, op.body_jaxpr
    if not (ctx.is_of_one_cpu and _is_large_step(body)):
        body = _small_step(ctx, body, len(body.inputs))
        return _while(ctx, test, body, test_consts, consts, carry)
    in_passes = None
    if op.settles and not test_consts:
        in_passes = body.memo(_in_passes, test, len(consts))
    if in_passes is None:
        body = body.memo(with_long_rows, LEAST_IN_LOOPS)
        body = body.memo(with_element_loops, LARGE_IN_LOOPS)
        return _while(ctx, test, body, test_consts, consts, carry)
    test, body = in_passes
    mask, numbers = ctx.out_types[0], body.out_types[0]
    running = ctx.op("stablehlo.convert", [carry[0]], [numbers])
    running, *rest = _while(ctx, test, body, [], consts, [running, *carry[1:]])
    return [ctx.op("stablehlo.convert", [running], [mask]), *rest]


def _while(
    ctx: "Lowering",
    test: Jaxpr,
    body: Jaxpr,
    test_consts: Values,
    consts: Values,
    carry: Values,
) -> Values:
    """The loop of two programs, of which each takes consts, and the carry."""
    types = body.out_types
    carried = [_held(ctx, _signed(t)) for t in types]
    loop = ctx.op("stablehlo.while", cast(ctx, carry, types, carried), carried, 2)

    def lower_test(inner: "Lowering", *values: HloValue) -> Sequence[Any]:
        now = cast(inner, values, carried, types)
        return inner.inline(test, [*test_consts, *now])

    def lower_body(inner: "Lowering", *values: HloValue) -> Sequence[Any]:
        _prepare(inner, body)
        now = cast(inner, values, carried, types)
        outs = inner.inline(body, [*consts, *now])
        return cast(inner, outs, types, carried)

    ctx.region(loop, 0, carried, lower_test)
    ctx.region(loop, 1, carried, lower_body)
    return cast(ctx, loop.results, carried, types)


def _in_passes(body: Jaxpr, test: Jaxpr, consts: int) -> tuple[Jaxpr, Jaxpr] | None:
    """Test and body of a loop over lanes that settle, several steps in each pass over
    them; None where that is no better (memoise on the body).

    Of the carry the mask of running lanes comes first. Here it is of numbers: loops for
    several results are over arrays of one type.
    """
    mask, *carry = body.in_types[consts:]
    if not carry or not all([dtypes.is_floating(t.dtype) for t in carry]):
        return None
    number = carry[0].dtype
    types = [*body.in_types[:consts], mask.with_dtype(number), *carry]

    def step(*values: Any) -> list[Any]:
        fixed, running, carry = values[:consts], values[consts], values[consts + 1 :]
        still, *carry = run(bare, [*fixed, convert(running, dtypes.bool_), *carry])
        return [convert(still, number), *carry]

    bare = without_safe_operands(body)
    stepped = restage(step, types, body.name)
    at_once = stepped.memo(steps_at_once)
    if not at_once:
        return None

    def runs(running: Any, *carry: Any) -> Sequence[Any]:
        return run(test, [convert(running, dtypes.bool_), *carry])

    tested = restage(runs, types[consts:], test.name)
    return tested, several_steps(stepped, consts, at_once)


def _is_large_step(jaxpr: Jaxpr) -> bool:
    """Whether a step touches more than that of a loop that is one kernel."""
    sizes = [a.type.nbytes for a in jaxpr.outputs if type(a.type.size) is int]
    return 2 * sum(sizes) >= SMALL_LOOP


def _small_step(ctx: "Lowering", step: Jaxpr, whole: int) -> Jaxpr:
    """A step of a loop that may be one kernel; the first ``whole`` inputs are no
    elements of xs.
    """
    if not ctx.is_of_one_cpu or not any([v.type.ndim for v in step.inputs]):
        return step
    from covector.lowering import small_steps  # noqa: PLC0415  many have none

    return step.memo(small_steps.with_parts_in_memory, whole)


def _prepare(inner: "Lowering", step: Jaxpr) -> None:
    """For the lowering of the steps of a loop: where that is one kernel, nothing is too
    small to be read before it is overwritten.
    """
    if not _is_large_step(step):
        inner.least_in_place = 0


def _signed(type: ArrayType) -> ArrayType:
    """The type that a carry has in the compiled loop: counters are signed.

    XLA works out how often a loop runs that counts from a known number. Where the
    counter is unsigned and counts down, it forgets the last step, or ends the process.
    """
    if type.shape or not dtypes.is_unsigned(type.dtype):
        return type
    return type.with_dtype(dtypes.as_dtype(type.dtype.name.removeprefix("u")))


def _held(ctx: "Lowering", type: ArrayType) -> ArrayType:
    """The type in which a compiled loop holds arrays of which steps read or write a
    part.
    """
    return bits_of(type) if ctx.is_of_cpus else type


# -- scan ------------------------------------------------------------------------------


class ScanLowering:
    """One scan being lowered: what is the same at every step."""

    def __init__(self, scan: Any, ctx: "Lowering", consts: Values, xs: Values) -> None:
        self.scan = scan
        #: what a turn of the loop does
        self.program = scan.jaxpr
        self.x_types = ctx.in_types[len(ctx.in_types) - len(xs) :]
        self.read_types = [_held(ctx, t) for t in self.x_types]
        self.consts, self.xs = consts, cast(ctx, xs, self.x_types, self.read_types)
        self.y_types = ctx.out_types[scan.num_carry :]
        self.carry_types = ctx.out_types[: scan.num_carry]
        self.stored_types = [_held(ctx, t) for t in self.y_types]
        fits = int(scan.length) <= iinfo(dtypes.int32).max
        self.counter = ArrayType((), dtypes.int32 if fits else dtypes.int64)

    def step(
        self, ctx: "Lowering", i: HloValue, carry: Values, ys: Values
    ) -> tuple[Values, Values]:
        """The carry and ys after step ``i``, a value."""
        if self.scan.reverse:
            last = ctx.constant(self.scan.length - 1, self.counter)
            i = ctx.op("stablehlo.subtract", [last, i], [self.counter])
        elements = [
            self.element(ctx, x, t, i)
            for x, t in zip(self.xs, self.read_types, strict=True)
        ]
        x = cast(ctx, elements, _rows(self.read_types), _rows(self.x_types))
        outs = ctx.inline(self.program, [*self.consts, *carry, *x])
        count = self.scan.num_carry
        new = cast(ctx, outs[count:], _rows(self.y_types), _rows(self.stored_types))
        stored = [
            self.store(ctx, all_, y, t, i)
            for all_, y, t in zip(ys, new, self.stored_types, strict=True)
        ]
        return outs[:count], stored

    def element(
        self, ctx: "Lowering", x: HloValue, type_: ArrayType, i: HloValue
    ) -> HloValue:
        """``x[i]``."""
        row = type_.with_shape((1, *type_.shape[1:]))
        found = ctx.op(
            "stablehlo.dynamic_slice",
            [x, *self.start(ctx, type_, i)],
            [row],
            slice_sizes=row.shape,
        )
        return ctx.op("stablehlo.reshape", [found], [type_.without_axis(0)])

    def store(
        self, ctx: "Lowering", ys: HloValue, y: HloValue, type_: ArrayType, i: HloValue
    ) -> HloValue:
        """``ys`` with ``ys[i] = y``."""
        row = type_.with_shape((1, *type_.shape[1:]))
        y = ctx.op("stablehlo.reshape", [y], [row])
        start = self.start(ctx, type_, i)
        return ctx.op("stablehlo.dynamic_update_slice", [ys, y, *start], [type_])

    def start(self, ctx: "Lowering", type_: ArrayType, i: HloValue) -> Values:
        zero = ctx.constant(0, self.counter) if type_.ndim > 1 else None
        return [i, *[zero] * (type_.ndim - 1)]

    def plus(self, ctx: "Lowering", i: HloValue, k: int) -> HloValue:
        if not k:
            return i
        return ctx.op(
            "stablehlo.add", [i, ctx.constant(k, self.counter)], [self.counter]
        )

    def loop(
        self, ctx: "Lowering", steps: int, unroll: int, carry: Values, ys: Values
    ) -> tuple[Values, Values]:
        """The first ``steps`` steps, ``unroll`` of them in each turn of the loop."""
        plain = self.carry_types
        carried = [_held(ctx, t) for t in plain]
        types = [self.counter, *carried, *self.stored_types]
        first = cast(ctx, carry, plain, carried)
        start = [ctx.constant(0, self.counter), *first, *ys]
        op = ctx.op("stablehlo.while", start, types, regions=2)
        count = len(carry)

        def more(inner: "Lowering", i: HloValue, *_: HloValue) -> Sequence[Any]:
            end = inner.constant(steps, self.counter)
            flag = ArrayType((), dtypes.bool_)
            less = "#stablehlo<comparison_direction LT>"
            return [
                inner.op(
                    "stablehlo.compare", [i, end], [flag], comparison_direction=less
                )
            ]

        def step(inner: "Lowering", i: HloValue, *values: HloValue) -> Sequence[Any]:
            _prepare(inner, self.program)
            inner.apart = self.program if unroll == 1 else None
            carry, ys = cast(inner, values[:count], carried, plain), [*values[count:]]
            for k in range(unroll):
                carry, ys = self.step(inner, self.plus(inner, i, k), carry, ys)
            carry = cast(inner, carry, plain, carried)
            return [self.plus(inner, i, unroll), *carry, *ys]

        ctx.region(op, 0, types, more)
        ctx.region(op, 1, types, step)
        outs = list(op.results)
        return cast(ctx, outs[1 : 1 + count], carried, plain), outs[1 + count :]


def _rows(types: Sequence[ArrayType]) -> list[ArrayType]:
    """The types of what one step reads or writes of arrays."""
    return [t.without_axis(0) for t in types]


def lower_scan(
    scan: Any, ctx: "Lowering", consts: Values, carry: Values, xs: Values
) -> Values:
    """The results of a scan: carry and ys."""
    if ctx.is_of_one_cpu and not _is_large_step(scan.jaxpr):
        from covector.programs.control_flow import flat_steps  # noqa: PLC0415  not all

        flat = flat_steps.over_flat_arrays(scan, ctx.in_types)
        if flat is not None:
            return [*ctx.inline(flat, [*consts, *carry, *xs])]
    lowering = ScanLowering(scan, ctx, consts, xs)
    if _may_be_in_passes(scan, ctx):
        last = _lower_in_passes(scan, ctx, lowering, carry)
        if last is not None:
            return last
    taken = scan.num_consts + scan.num_carry
    if ctx.is_of_one_cpu and _is_large_step(scan.jaxpr):
        given = scan.num_carry
        program = scan.jaxpr.memo(with_long_rows, LEAST_IN_LOOPS, taken, given)
    else:
        program = _small_step(ctx, scan.jaxpr, taken)
    lowering.program = program
    ys = [ctx.constant(0, t) for t in lowering.stored_types]
    # A symbolic length has no known remainder.
    known = type(scan.length) is int
    unroll = max(1, min(scan.unroll, scan.length)) if known else 1
    turns = scan.length // unroll
    done = 0
    if int(turns) > 1:
        done = turns * unroll
        carry, ys = lowering.loop(ctx, done, unroll, carry, ys)
    for i in range(done, scan.length):
        step = ctx.constant(i, lowering.counter)
        carry, ys = lowering.step(ctx, step, carry, ys)
    return [*carry, *cast(ctx, ys, lowering.stored_types, lowering.y_types)]


def _may_be_in_passes(scan: Any, ctx: "Lowering") -> bool:
    """Whether the steps of a scan may be passes over arrays, each of several steps."""
    only_carry = scan.num_consts + scan.num_carry == len(scan.jaxpr.inputs)
    only_carry = only_carry and scan.num_carry == len(scan.jaxpr.outputs)
    counted = type(scan.length) is int and scan.unroll == 1
    return ctx.is_of_one_cpu and only_carry and counted and _is_large_step(scan.jaxpr)


def _lower_in_passes(
    scan: Any, ctx: "Lowering", lowering: ScanLowering, carry: Values
) -> Values | None:
    """The last carry of a scan without xs and ys, several steps in each turn of the
    loop, and what is left of them behind it; None where that is no better.
    """
    at_once = scan.jaxpr.memo(steps_at_once)
    if not at_once:
        return None
    turns, left = divmod(scan.length, at_once)
    if turns > 1:
        lowering.program = scan.jaxpr.memo(several_steps, scan.num_consts, at_once)
        carry, _ = lowering.loop(ctx, turns, 1, carry, [])
    else:
        left = scan.length
    if left:
        rest = scan.jaxpr.memo(several_steps, scan.num_consts, left)
        carry = ctx.inline(rest, [*lowering.consts, *carry])
    return carry

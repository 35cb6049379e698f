"""The lowering of a while loop: ``stablehlo.while``, with counters that are signed."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from covector.core import dtypes
from covector.core.types import ArrayType
from covector.lowering.hlo import HloValue

if TYPE_CHECKING:
    from covector.lowering.module import Lowering


def lower_while(
    op: Any, ctx: "Lowering", test_consts: Any, consts: Any, carry: Any
) -> list[Any]:
    """The loop over values; consts are read from outside of its regions."""
    types = ctx.out_types
    signed = [_signed(t) for t in types]
    loop = ctx.op("stablehlo.while", _cast(ctx, carry, types, signed), signed, 2)

    def test(inner: "Lowering", *values: HloValue) -> Sequence[Any]:
        now = _cast(inner, values, signed, types)
        return inner.inline(op.cond_jaxpr, [*test_consts, *now])

    def body(inner: "Lowering", *values: HloValue) -> Sequence[Any]:
        now = _cast(inner, values, signed, types)
        outs = inner.inline(op.body_jaxpr, [*consts, *now])
        return _cast(inner, outs, types, signed)

    ctx.region(loop, 0, signed, test)
    ctx.region(loop, 1, signed, body)
    return _cast(ctx, loop.results, signed, types)


def _signed(type: ArrayType) -> ArrayType:
    """The type that a carry has in the compiled loop: counters are signed.

    XLA works out how often a loop runs that counts from a known number. Where the
    counter is unsigned and counts down, it forgets the last step, or ends the process.
    """
    if type.shape or not dtypes.is_unsigned(type.dtype):
        return type
    return type.with_dtype(dtypes.as_dtype(type.dtype.name.removeprefix("u")))


def _cast(
    ctx: "Lowering", values: Iterable[Any], types: Sequence[Any], wanted: Sequence[Any]
) -> list[Any]:
    """The bits of values as those of other types, where the types differ."""
    return [
        x if now is then else ctx.op("stablehlo.bitcast_convert", [x], [then])
        for x, now, then in zip(values, types, wanted, strict=True)
    ]

"""``MultiplyAdd``: x·y + z rounded once, as compiled programs do it."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from covector.core import dtypes
from covector.core.annotations import HostArray, Value, Values
from covector.core.primitive import Linearized
from covector.core.types import ArrayType
from covector.core.work import Work
from covector.lowering.spelling import HloResults, HloValue
from covector.operations.arithmetic import add, mul, pushforward
from covector.operations.families import Elementwise, broadcast_operands

if TYPE_CHECKING:
    from covector.lowering.module import Lowering

#: where NumPy rounds so late that it seems to round once
_WIDER = {dtypes.float32: np.float64, dtypes.float64: np.longdouble}


class MultiplyAdd(Elementwise):
    """x · y + z.

    XLA fuses a product and a sum that follow each other, so that ``f32`` and ``f64``
    are rounded once. Written as two operations, the result would depend on whether they
    are compiled together. ``f16`` is rounded twice, except in programs on processors
    that have arithmetic for it.
    """

    accepts = staticmethod(dtypes.is_floating)
    accepted = "floating-point numbers"
    each = Work(flops=2)

    def on_host(self, x: HostArray, y: HostArray, z: HostArray) -> HostArray:
        wide = _WIDER.get(x.dtype)
        if wide is None:
            return x * y + z
        return (x.astype(wide) * y + z).astype(x.dtype)

    def written_out(self, types: Sequence[ArrayType]) -> Callable[..., Values]:
        return lambda x, y, z: [add(mul(x, y), z)]

    def linearize(
        self, active: Sequence[bool], x: Value, y: Value, z: Value
    ) -> Linearized:
        out = self(x, y, z)
        return (out,), pushforward(
            out, lambda dx: mul(dx, y), lambda dy: mul(x, dy), lambda dz: dz
        )

    def lower(self, ctx: "Lowering", *operands: HloValue) -> HloResults:
        x, y, z = broadcast_operands(ctx, operands)
        return ctx.op("stablehlo.add", [ctx.op("stablehlo.multiply", [x, y]), z])


multiply_add = MultiplyAdd()

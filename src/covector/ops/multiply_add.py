"""``MultiplyAdd``: x·y + z rounded once, as compiled programs do it."""

from typing import Any

import numpy as np

from covector.core import dtypes
from covector.ops.arithmetic import mul, pushforward
from covector.ops.families import Elementwise, broadcast_operands

#: where NumPy rounds so late that it seems to round once
_WIDER = {dtypes.float32: np.float64, dtypes.float64: np.longdouble}


class MultiplyAdd(Elementwise):
    """x · y + z.

    XLA fuses a product and a sum that follow each other, so that ``f32`` and ``f64``
    are rounded once. Written as two operations, the result would depend on whether they
    are compiled together.
    """

    accepts = staticmethod(dtypes.is_floating)
    accepted = "floating-point numbers"

    def on_host(self, x: Any, y: Any, z: Any) -> Any:
        wide = _WIDER.get(x.dtype)
        if wide is None:
            return x * y + z
        return (x.astype(wide) * y + z).astype(x.dtype)

    def linearize(self, active: Any, x: Any, y: Any, z: Any) -> Any:
        out = self(x, y, z)
        return (out,), pushforward(
            out, lambda dx: mul(dx, y), lambda dy: mul(x, dy), lambda dz: dz
        )

    def lower(self, ctx: Any, *operands: Any) -> Any:
        x, y, z = broadcast_operands(ctx, operands)
        return ctx.op("stablehlo.add", [ctx.op("stablehlo.multiply", [x, y]), z])


multiply_add = MultiplyAdd()

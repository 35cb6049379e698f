"""Families of operations, with the rules that their members share.

    Elementwise     each element of the result depends on that element of each operand;
                    operands have one shape, or are scalars, broadcast to it
    Bilinear        a product: linear in each of two operands

An elementwise operation names its StableHLO operation and its NumPy function, and gives
its differential.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from covector.core import dtypes
from covector.core.annotations import Batched, DType, HostArray, LinearMaps, Value
from covector.core.primitive import Primitive
from covector.core.types import ArrayType, show_types
from covector.core.work import Work
from covector.errors import DTypeError, TypeMismatch
from covector.lowering.spelling import HloResults, HloValue
from covector.operations.broadcasting import align_elementwise, with_axes_in_order
from covector.runtime import client

if TYPE_CHECKING:
    from covector.lowering.module import Lowering

#: elements (operands and results together) up to which NumPy works through vectors of
#: numbers as fast as a compiled call on a CPU does
VECTORS_LIMIT = 1 << 19

_NARROW = frozenset({*dtypes.NARROW_FLOATS, dtypes.bfloat16, dtypes.float16})


class Elementwise(Primitive):
    """An operation whose operands have one shape, and scalars: element by element.

    A subclass names the operation of StableHLO as ``hlo``, a NumPy function as
    ``on_host``, and its ``differential``; batching and the rest follow.
    """

    #: the StableHLO or CHLO operation
    hlo: str = ""
    #: which element types are meant: a test from ``dtypes``, and its name in messages
    accepts: Callable[[Any], bool] = staticmethod(dtypes.is_numeric)
    accepted: str = "numbers"
    # NumPy widens integers that are narrower than a byte; XLA does not.
    not_on_host: frozenset[np.dtype[Any]] = dtypes.SUB_BYTE
    #: the element types for which NumPy has the processor's instruction on vectors
    vectors: frozenset[np.dtype[Any]] = frozenset()
    element_wise = True
    #: what one element of the result costs
    each = Work(flops=1)

    def prefers_host(
        self, types: Sequence[ArrayType], outs: Sequence[ArrayType]
    ) -> bool:
        if super().prefers_host(types, outs):
            return True
        return (
            types[0].dtype in self.vectors
            and sum([t.size for t in (*types, *outs)]) <= VECTORS_LIMIT
            and client.default_platform() == "cpu"
        )

    def type_rule(self, *types: ArrayType) -> Sequence[ArrayType]:
        first = types[0]
        shape, dtype, weak = first.shape, first.dtype, first.weak
        for t in types[1:]:
            if t.dtype is not dtype and t.dtype != dtype:
                raise self._mismatch(types)
            if t.shape != shape:
                if shape == ():
                    shape = t.shape
                elif t.shape != ():
                    raise self._mismatch(types)
            weak = weak and t.weak
        if not type(self).accepts(dtype):
            raise DTypeError(
                f"{self.name} needs {self.accepted}, but got {show_types(types)}. "
                "Convert first, for instance with x.astype('float32')."
            )
        return (ArrayType(shape, self.out_dtype(dtype), weak),)

    def out_dtype(self, dtype: DType) -> DType:
        """The element type of the result."""
        return dtype

    def _mismatch(self, types: Sequence[ArrayType]) -> TypeMismatch:
        return TypeMismatch(
            f"{self.name} needs operands of one shape and dtype (or scalars), but got "
            f"{show_types(types)}. Functions of covector.numpy broadcast and promote.",
            page="dtypes",
        )

    def batch(
        self, size: int, args: Sequence[Value], dims: Sequence[int | None]
    ) -> Batched:
        aligned, dim = align_elementwise(size, args, dims)
        return (self(*aligned),), (dim,)

    def work(self, types: Sequence[ArrayType], outs: Sequence[ArrayType]) -> Work:
        return self.each.times(outs[0].size)

    def reordered(self, orders: Sequence[Any]) -> Any:  # type: ignore[override]
        return with_axes_in_order(self, orders)

    def of_elements(self, *types: ArrayType) -> Primitive | None:
        # Complex numbers are not in the processor's instructions on vectors.
        return None if any([dtypes.is_complex(t.dtype) for t in types]) else self

    def lower(self, ctx: "Lowering", *operands: HloValue) -> HloResults:
        return ctx.op(self.hlo, broadcast_operands(ctx, operands))


class Bilinear(Primitive):
    """A product: an operation that is linear in each of its two operands.

    A subclass says its ``type_rule``, ``transpose`` and ``batch``; derivatives follow.
    """

    def differential(self, out: Value, lhs: Value, rhs: Value) -> LinearMaps:
        if not dtypes.is_inexact(out.type.dtype):
            return [None, None]
        return [lambda dl: self(dl, rhs), lambda dr: self(lhs, dr)]


#: what one element costs of the functions that are counted apart from FLOPs
TRANSCENDENTAL = Work(transcendentals=1)


def widened(x: HostArray) -> HostArray:
    """Floats of 16 bits or fewer as float32, in which XLA works out their functions."""
    return x.astype(np.float32) if x.dtype in _NARROW else x


def broadcast_operands(ctx: "Lowering", operands: Sequence[Any]) -> list[Any]:
    """While lowering: scalar operands brought to the shape of the result."""
    shape = ctx.out_types[0].shape
    return [
        ctx.broadcast_scalar(x, t, shape)
        for x, t in zip(operands, ctx.in_types, strict=True)
    ]

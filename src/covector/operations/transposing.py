"""Reordering and regrouping axes, and what lies along them: ``Transpose``, ``Reshape``
and ``Rev``.

Each is its own kind of adjoint: the way back is another of the same.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from math import inf, prod
from operator import methodcaller
from typing import TYPE_CHECKING, Any

from covector.core.annotations import Batched, HostArray, LinearMaps, Value, Values
from covector.core.jaxpr import Equation, Jaxpr, Var, identity
from covector.core.primitive import Operand, Primitive, operation
from covector.core.types import ArrayType, Shape
from covector.core.work import costs_nothing, moves
from covector.errors import TypeMismatch, how_many
from covector.lowering.spelling import HloResults, HloValue

if TYPE_CHECKING:
    from covector.lowering.module import Lowering


#: Bytes of a line of the cache, and of those that a core keeps for itself; bytes of a
#: page of memory, and how many of these a core knows the places of.
_LINE, _CACHE, _PAGE, _PAGES = 64, 3 << 18, 4096, 1024


@operation
class Transpose(Primitive):
    """Axis k of the result is axis ``permutation[k]`` of the operand."""

    permutation: tuple[int, ...]
    work = moves

    def type_rule(self, x: ArrayType) -> Sequence[ArrayType]:
        if len(self.permutation) != x.ndim or not are_axes(self.permutation, x.ndim):
            raise TypeMismatch(
                f"transpose of {x} needs a permutation of its "
                f"{how_many(x.ndim, 'axis', 'axes')}, but got {self.permutation}."
            )
        return (x.with_shape(tuple([x.shape[p] for p in self.permutation])),)

    def prefers_host(self, types: Sequence[ArrayType], outs: Any) -> bool:
        # At any size where elements stay where they are.
        long = [p for p in self.permutation if types[0].shape[p] != 1]
        return long == sorted(long) or super().prefers_host(types, outs)

    def host_function(self, x: ArrayType) -> Callable[..., HostArray]:  # type: ignore[override]
        return methodcaller("transpose", self.permutation)

    def on_host(self, x: HostArray) -> HostArray:
        return x.transpose(self.permutation)

    def differential(self, out: Value, x: Value) -> LinearMaps:
        return [self]

    def transpose(self, cotangents: Values, x: Operand) -> Sequence[Value | None]:
        back = sorted(range(len(self.permutation)), key=self.permutation.__getitem__)
        return [Transpose(tuple(back))(cotangents[0])]

    def batch(self, size: int, args: Values, dims: Sequence[int]) -> Batched:
        (x,), (dim,) = args, dims
        rest = [p + (p >= dim) for p in self.permutation]
        return (Transpose((dim, *rest))(x),), (0,)

    def lower(self, ctx: "Lowering", x: HloValue) -> HloResults:
        (source,), (result,), whole = ctx.in_types, ctx.out_types, ctx.whole
        alone = (
            self._leaves_the_cache(source) and whole and _ends_the_program(ctx, whole)
        )
        if not whole or not alone:
            return ctx.op("stablehlo.transpose", [x], permutation=self.permutation)
        if ctx.equation.inputs[0] not in whole.inputs:
            x = by_itself(ctx, x, source)
        out = ctx.op("stablehlo.transpose", [x], permutation=self.permutation)
        last = ctx.equation.outputs[0] in whole.outputs
        return out if last else by_itself(ctx, out, result)

    def _leaves_the_cache(self, x: ArrayType) -> bool:
        """Whether a kernel that writes the result in order has read more than a core
        keeps, when it comes back to the line of the cache where it began.
        """
        if type(x.size) is not int:
            return False
        long = [p for p in self.permutation if x.shape[p] > 1]
        if not long or long[-1] == max(long):
            return False
        between = prod([x.shape[p] for p in long[long.index(max(long)) + 1 :]])
        distance = prod(x.shape[long[-1] + 1 :]) * x.storage.itemsize
        # At a multiple of a power of two, lines share the places that they can be at.
        shared = max(distance & -distance, _LINE) // _LINE
        if between * min(distance, _LINE) * shared > _CACHE:
            return True
        return between * min(distance, _PAGE) > _PAGES * _PAGE


def are_axes(axes: Sequence[int], ndim: int) -> bool:
    """Whether these are different axes of an array with ``ndim`` of them."""
    return len(set(axes)) == len(axes) and all(
        [hasattr(a, "__index__") and 0 <= a < ndim for a in axes]
    )


def _ends_the_program(ctx: "Lowering", whole: Jaxpr) -> bool:
    """Whether what becomes of a transpose, element by element, are results of a program
    for a CPU.

    XLA:CPU makes one kernel of that, which writes by long strides. A transpose that is
    a kernel by itself is done in blocks: x.T + 1 of 2048² takes 31 ms of processor time
    in one kernel, 3 in two.
    """
    if ctx.platform != "cpu" or ctx.on_several_devices:
        return False
    (out,) = ctx.equation.outputs
    while True:
        users = [e for e in whole.equations if out in e.inputs]
        if not users:
            return out in whole.outputs
        if len(users) > 1 or not _is_by_element(users[0], out):
            return False
        (out,) = users[0].outputs


def _is_by_element(user: Equation, x: Var) -> bool:
    """Whether each element of the result is of that of ``x``, and of scalars."""
    shapes = [a.type.shape for a in user.inputs if a is not x]
    same = [v.type.shape for v in user.outputs] == [x.type.shape]
    return user.op.reordered is not None and same and not any(shapes)


def by_itself(ctx: "Lowering", x: HloValue, type_: ArrayType) -> HloValue:
    """While lowering: ``x``, by kernels that nothing which reads it is fused with."""
    return ctx.call(identity(type_.strong(), "computed_once"), [x], separate=True)[0]


def in_memory(ctx: "Lowering", x: HloValue, type_: ArrayType) -> HloValue:
    """While lowering: ``x``, which nothing that reads it computes again."""
    return ctx.call_kernel(identity(type_.strong(), "in_memory"), [x])[0]


@operation
class Reshape(Primitive):
    """The same elements in row-major order, in another shape."""

    shape: Shape
    work = costs_nothing
    host_limit = inf  # a view costs nothing

    def type_rule(self, x: ArrayType) -> Sequence[ArrayType]:
        out = x.with_shape(self.shape)
        if out.size != x.size:
            raise TypeMismatch(
                f"reshape of {x} ({how_many(x.size, 'element')}) to the shape "
                f"{self.shape} ({how_many(out.size, 'element')}): the numbers of "
                "elements differ."
            )
        return (out,)

    def host_function(self, x: ArrayType) -> Callable[..., HostArray]:  # type: ignore[override]
        return methodcaller("reshape", self.shape)

    def on_host(self, x: HostArray) -> HostArray:
        return x.reshape(self.shape)

    def differential(self, out: Value, x: Value) -> LinearMaps:
        return [self]

    def transpose(self, cotangents: Values, x: Operand) -> Sequence[Value | None]:
        return [Reshape(x.type.shape)(cotangents[0])]

    def batch(self, size: int, args: Values, dims: Sequence[int]) -> Batched:
        (x,), (dim,) = args, dims
        count = prod(x.type.shape[:dim])
        for position in range(len(self.shape) + 1):
            if prod(self.shape[:position]) == count:
                # No element crosses the batch axis, so it can stay where it is.
                shape = (*self.shape[:position], size, *self.shape[position:])
                return (Reshape(shape)(x),), (position,)
        x = Transpose((dim, *[k for k in range(x.type.ndim) if k != dim]))(x)
        return (Reshape((size, *self.shape))(x),), (0,)

    def lower(self, ctx: "Lowering", x: HloValue) -> HloResults:
        return ctx.op("stablehlo.reshape", [x])


@operation
class Rev(Primitive):
    """The elements in opposite order along ``dimensions``."""

    dimensions: tuple[int, ...]
    work = moves

    @cached_property
    def key(self) -> tuple[slice, ...]:
        """The NumPy index of the slice."""
        count = max(self.dimensions, default=-1) + 1
        return tuple(
            [slice(None, None, -1 if k in self.dimensions else 1) for k in range(count)]
        )

    def type_rule(self, x: ArrayType) -> Sequence[ArrayType]:
        if not are_axes(self.dimensions, x.ndim):
            raise TypeMismatch(
                f"rev of {x} over axes {self.dimensions}: they must be different axes, "
                f"from 0 to {x.ndim - 1}."
            )
        return (x,)

    def on_host(self, x: HostArray) -> HostArray:
        return x[self.key]

    def differential(self, out: Value, x: Value) -> LinearMaps:
        return [self]

    def transpose(self, cotangents: Values, x: Operand) -> Sequence[Value | None]:
        return [self(cotangents[0])]

    def batch(self, size: int, args: Values, dims: Sequence[int]) -> Batched:
        (x,), (dim,) = args, dims
        return (Rev(tuple([a + (a >= dim) for a in self.dimensions]))(x),), (dim,)

    def lower(self, ctx: "Lowering", x: HloValue) -> HloResults:
        return ctx.op("stablehlo.reverse", [x], dimensions=self.dimensions)

"""Reordering and regrouping axes, and what lies along them: ``Transpose``, ``Reshape``
and ``Rev``.

Each is its own kind of adjoint: the way back is another of the same.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from math import inf, prod
from operator import methodcaller
from typing import TYPE_CHECKING, Any

from covector.core.annotations import Batched, HostArray, LinearMaps, Value, Values
from covector.core.jaxpr import (
    Atom,
    Equation,
    Jaxpr,
    Var,
    identity,
    makers,
    readers,
    variables,
)
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
#: elements of an array that may not meet itself transposed in one kernel
_LARGE = 1 << 17
#: Windows that read an element from which it is better computed once: two by two with a
#: stride of 1 gain (2.4 → 0.9 ms), three by three with a stride of 2 lose (0.9 → 1.0).
_MANY_WINDOWS = 4


@operation
class Transpose(Primitive):
    """Axis k of the result is axis ``permutation[k]`` of the operand."""

    permutation: tuple[int, ...]
    work = moves
    orders_axes = True

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
        if not self._is_by_itself(ctx):
            return ctx.op("stablehlo.transpose", [x], permutation=self.permutation)
        (source,), (result,) = ctx.in_types, ctx.out_types
        maker = ctx.jaxpr.memo(makers).get(ctx.equation.inputs[0])  # type: ignore[call-overload]
        if maker is not None and not _is_apart(maker):
            x = by_itself(ctx, x, source)
        out = ctx.op("stablehlo.transpose", [x], permutation=self.permutation)
        last = ctx.whole and ctx.equation.outputs[0] in ctx.whole.outputs
        return out if last else by_itself(ctx, out, result)

    def _is_by_itself(self, ctx: "Lowering") -> bool:
        """Whether it is a kernel by itself, on a CPU, which is done in blocks.

        With what is computed element by element before and after it, XLA:CPU makes one
        kernel. If all of that are arrays, it is done in blocks as well; but of an array
        that meets itself, these are read one element at a time: x + x.T of 1000² takes
        8 ms, and 1 in two kernels. Otherwise it writes by long strides: x.T + 1 of
        2048² takes 31 ms of processor time, and 3 in two kernels.
        """
        (x,), (source,) = ctx.in_types, ctx.equation.inputs
        if ctx.platform != "cpu" or ctx.on_several_devices or type(source) is not Var:
            return False
        far = self._leaves_the_cache(x)
        if not far and (type(x.size) is not int or x.size < _LARGE):
            return False
        (out,), jaxpr = ctx.equation.outputs, ctx.jaxpr
        after = _computed_of(jaxpr, out)
        ends = jaxpr is ctx.whole and out in jaxpr.outputs
        if after is None or not (after or ends) or self._undoes(jaxpr, source):
            return False
        inside = {out, *[v for e in after for v in e.outputs]}
        operands = [a for e in after for a in e.inputs]
        others = [a for a in operands if type(a) is not Var or a not in inside]
        before = _computed_from(jaxpr, [source], x.size)
        beside = _computed_from(jaxpr, others, x.size)
        if before is None or beside is None:
            return far
        return not before.isdisjoint(beside)

    def _undoes(self, jaxpr: Jaxpr, source: Var) -> bool:
        """Whether what it takes is computed, element by element, of what was transposed
        the other way: XLA leaves both out.
        """
        back = tuple(sorted(range(source.type.ndim), key=self.permutation.__getitem__))
        return any(e.op == Transpose(back) for e in makers_of_elements(jaxpr, source))

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


def _computed_of(jaxpr: Jaxpr, x: Var) -> list[Equation] | None:
    """What is computed of an array element by element, if all of that ends in memory:
    as an output, or where an operation that is no part of a kernel reads it.
    """
    read_by = jaxpr.memo(readers)
    found: dict[Equation, None] = {}
    pending = [x]
    while pending:
        v = pending.pop()
        for e in read_by.get(v, ()):
            if e.op.element_wise and e.outputs[0].type.shape == x.type.shape:
                if e not in found:
                    found[e] = None
                    pending += e.outputs
            elif v is x or not _is_apart(e):
                return None
    return list(found)


def _computed_from(jaxpr: Jaxpr, xs: Sequence[Atom], size: int) -> set[Var] | None:
    """Arrays of a size, and those that they are computed from element by element, if
    these are all in memory and of that size.
    """
    made_by = jaxpr.memo(makers)
    found: set[Var] = set()
    pending = list(xs)
    while pending:
        a = pending.pop()
        if type(a) is not Var or a.type.size != size:
            return None
        e = None if a in found else made_by.get(a)
        found.add(a)
        if e is not None and e.op.element_wise:
            pending += e.inputs
        elif e is not None and not _is_apart(e):
            return None
    return found


def makers_of_elements(jaxpr: Jaxpr, x: Var) -> Iterator[Equation]:
    """The equation that gives an array, and those that give what it is computed from
    element by element, each once.
    """
    made_by = jaxpr.memo(makers)
    seen, pending = {x}, [x]
    while pending:
        e = made_by.get(pending.pop())
        if e is None:
            continue
        yield e
        if e.op.element_wise:
            new = {*variables(e.inputs)} - seen
            seen |= new
            pending += new


def _is_apart(e: Equation) -> bool:
    """Whether an operation takes its operands from memory, and leaves results there."""
    from covector.lowering.long_rows import is_kernel  # noqa: PLC0415  for large arrays

    return bool(e.op.regions) or is_kernel(e)


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


def is_read_again(jaxpr: Jaxpr, x: Var) -> bool:
    """Whether several operations of the program read each element of ``x``, or one that
    does so many times: in another shape or order, or what is made of it element by
    element.
    """
    read_by = jaxpr.memo(readers)
    same, pending, count = {x}, [x], 0
    while pending:
        for e in read_by.get(pending.pop(), ()):
            if not _keeps_elements(e, x.type.size):
                count += 1 + _reads_many_times(e, x.type.size)
            elif same.isdisjoint(e.outputs):
                same.update(e.outputs)
                pending += e.outputs
    return count + len(same.intersection(variables(jaxpr.outputs))) > 1


def _keeps_elements(e: Equation, size: int) -> bool:
    """Whether an element of the result is made of one of the operand, of this size."""
    moved = e.op.name in {"reshape", "transpose", "broadcast_in_dim"}
    return (moved or e.op.element_wise) and e.outputs[0].type.size == size


def _reads_many_times(e: Equation, size: int) -> bool:
    """Whether it reads an element for many of the result."""
    if e.op.name == "broadcast_in_dim":
        return e.outputs[0].type.size > size
    return getattr(e.op, "windows_per_element", 0) >= _MANY_WINDOWS

"""Collectives: communication between the participants of a named axis.

A named axis is a batch axis of ``vmap`` that has a name, or an axis of the mesh of a
``shard_map``. Where the axis is batched, an operation that names it is told so
(``batch_named``) and becomes an ordinary operation along the batch axis: ``PSum`` a
sum, ``AllGather`` nothing but a move of axes. Over the axis of a mesh it is compiled to
communication (``operations/communication.py``). Sizes of axes are fields, so that
programs can be read, checked and remembered without their surroundings.

Inside ``shard_map`` types say what varies over an axis of the mesh: a sum, a maximum
and a gathered array do not, since all participants get the same.

Adjoint pairs: AllGather ⇄ PSumScatter; PSum is its own over an axis of vmap, and where
types say what varies PSum ⇄ PVary. Collectives that exchange data and
combine none are in ``operations/all_to_all.py``.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from covector.core import dtypes
from covector.core.annotations import (
    BatchDims,
    Batched,
    HostArray,
    LinearMaps,
    Value,
    Values,
)
from covector.core.convert import scalar
from covector.core.primitive import Linearized, Operand, Primitive, operation
from covector.core.types import ArrayType
from covector.core.varying import Axes, Varying, bind_cast
from covector.core.work import Work, costs_nothing, moves
from covector.errors import AxisError, DTypeError, TypeMismatch
from covector.lowering.spelling import HloResults, HloValue
from covector.operations.arithmetic import div, mul
from covector.operations.axis_index_groups import Groups, along_groups
from covector.operations.broadcasting import ReduceSum, batched, filled, move_axis
from covector.operations.casting import ConvertElementType
from covector.operations.communication import (
    all_gather,
    all_reduce,
    axis_index,
    extreme,
    reduce_scatter,
)
from covector.operations.comparison import eq
from covector.operations.creation import Iota
from covector.operations.dynamic_slicing import DynamicSlice
from covector.operations.identities import Identity, computed_once
from covector.operations.reductions import ReduceMax, ReduceMin
from covector.operations.transposing import Reshape

if TYPE_CHECKING:
    from covector.lowering.module import Lowering

Axis = Any


class Collective(Primitive):
    """An operation between the participants of named axes."""

    axis: Axis
    #: whether all participants that communicate get the same
    uniform = False
    #: which participants communicate with each other; None for all of them
    groups: Groups = None
    work = moves

    @property
    def axis_names(self) -> tuple[Axis, ...]:  # type: ignore[override]
        return (self.axis,)

    def varying_rule(self, types: Sequence[ArrayType], checked_axes: Axes) -> Varying:
        here = checked_axes.intersection(self.axis_names)
        operands = [t.varying | here for t in types]
        everywhere = here.union(*operands)
        same = self.uniform and self.groups is None
        return Varying(operands, everywhere - here if same else everywhere)

    def batch(self, size: int, args: Values, dims: Sequence[int]) -> Batched:
        """Over another axis than the named one: the same for each of the batch."""
        (x,), (dim,) = args, dims
        return (self.shifted(1)(move_axis(x, dim, 0)),), (0,)

    def batch_named(
        self, axis: Axis, size: int, args: Values, dims: BatchDims
    ) -> Batched:
        (x,), (dim,) = args, dims
        self.type_rule(x.type.without_axis(dim))  # raises what is wrong with it
        if self.groups is not None:
            return along_groups(self, self.groups, size, x, dim)
        return self.along(size, x, dim)

    def along(self, size: int, x: Value, dim: int | None) -> Any:
        """The operation along the batch axis ``dim`` (None: all participants have
        ``x``), where all participants communicate.
        """
        raise NotImplementedError

    def shifted(self, n: int) -> "Collective":
        """The same, with array axes counted past ``n`` new ones in front."""
        return self

    def evaluate(self, *args: Value) -> Values:
        raise self._unnamed(self.axis_names[0])

    def lower(self, ctx: "Lowering", *operands: HloValue) -> HloResults:
        for axis in self.axis_names:
            if ctx.module.mesh is None or axis not in ctx.module.mesh.axis_names:
                raise self._unnamed(axis)
        return self.communicate(ctx, *operands)

    def _unnamed(self, axis: Axis) -> AxisError:
        return AxisError(
            f"{self.name} over the axis {axis!r}, which nothing around it names. "
            f"Call it in a function under vmap(..., axis_name={axis!r}), or under "
            "shard_map over a mesh with that axis."
        )

    def communicate(self, ctx: "Lowering", *operands: HloValue) -> HloValue:
        """While lowering: the operation between devices."""
        raise NotImplementedError


class _Reduction(Collective):
    """An operation that combines the operands of all participants of named axes."""

    axes: tuple[Axis, ...]
    uniform = True

    @property
    def axis_names(self) -> tuple[Axis, ...]:  # type: ignore[override]
        return self.axes

    def work(self, types: Sequence[ArrayType], outs: Sequence[ArrayType]) -> Work:
        return Work(flops=outs[0].size)  # as if of two participants, as XLA has it

    def type_rule(self, x: ArrayType) -> Sequence[ArrayType]:
        return (x,)

    def batch_named(
        self, axis: Axis, size: int, args: Values, dims: BatchDims
    ) -> Batched:
        """Along the batch axis now; over the others, if any, as before."""
        outs, out_dims = super().batch_named(axis, size, args, dims)
        others = tuple([a for a in self.axes if a != axis])
        return ((type(self)(others)(*outs),) if others else outs), out_dims


@operation
class PSum(_Reduction):
    """The sum of the operand over the named axes, the same for all participants."""

    axes: tuple[Axis, ...]
    groups: Groups = None

    name = "psum"

    def type_rule(self, x: ArrayType) -> Sequence[ArrayType]:
        if not dtypes.is_numeric(x.dtype):
            raise DTypeError(
                f"psum needs numbers, but got {x}. Convert it with .astype."
            )
        return (x,)

    def differential(self, out: Value, x: Value) -> LinearMaps:
        return [self]

    def transpose(self, cotangents: Values, x: Operand) -> Sequence[Value | None]:
        (ct,) = cotangents
        if self.groups is not None:
            return [self(ct)]
        others = tuple([a for a in self.axes if a not in x.type.varying])
        if others:
            ct = PSum(others)(ct)
        varying = x.type.varying.intersection(self.axes)
        return [PVary(varying)(ct) if varying else ct]

    def communicate(self, ctx: "Lowering", x: HloValue) -> HloValue:
        return all_reduce(ctx, x, self.axes, "stablehlo.add", self.groups)

    def along(self, size: int, x: Value, dim: int | None) -> Any:
        if dim is None:
            return (mul(x, filled(size, x.type.with_shape(()))),), (None,)
        return (ReduceSum((dim,))(x),), (None,)


@operation
class _PExtreme(_Reduction):
    """The largest or smallest over the named axes.

    Where several participants have it, its derivative is shared among them.
    """

    axes: tuple[Axis, ...]
    groups: Groups = None

    reduce = ReduceMax
    combine = "stablehlo.maximum"

    def linearize(self, active: Sequence[bool], x: Value) -> Linearized:
        x = computed_once(x)
        out = self(x)
        if not dtypes.is_floating(x.type.dtype):
            return (out,), lambda dx: (None,)
        total = PSum(self.axes, self.groups)
        chosen = ConvertElementType(x.type.dtype)(eq(x, out))
        share = div(chosen, total(chosen))
        return (out,), lambda dx: (total(mul(dx, share)),)

    def communicate(self, ctx: "Lowering", x: HloValue) -> HloValue:
        return extreme(ctx, x, self.axes, self.combine, self.groups)

    def along(self, size: int, x: Value, dim: int | None) -> Any:
        return ((x if dim is None else self.reduce((dim,))(x)),), (None,)


class PMax(_PExtreme):
    """The maximum over the named axes, the same for all participants."""

    name = "pmax"


class PMin(_PExtreme):
    """The minimum over the named axes, the same for all participants."""

    name = "pmin"
    reduce = ReduceMin
    combine = "stablehlo.minimum"


@operation
class AxisIndex(Collective):
    """The index of each participant along the named axis, an i32 scalar."""

    axis: Axis
    work = costs_nothing

    def type_rule(self) -> Sequence[ArrayType]:
        return (ArrayType((), dtypes.int32),)

    def batch_named(
        self, axis: Axis, size: int, args: Values, dims: BatchDims
    ) -> Batched:
        return (Iota(dtypes.int32, (size,), 0)(),), (0,)

    def communicate(self, ctx: "Lowering") -> HloValue:
        return axis_index(ctx, self.axis)


@operation
class _Parts(Collective):
    """What has, along array axis ``at``, a part for each of ``size`` participants."""

    axis: Axis
    size: int
    at: int
    tiled: bool
    groups: Groups = None

    def shifted(self, n: int) -> "_Parts":
        return self.replace(at=self.at + n)

    def differential(self, out: Value, x: Value) -> LinearMaps:
        return [self]


class AllGather(_Parts):
    """The operands of all ``size`` participants, or those of the group, along array
    axis ``at``: a new one, or, when ``tiled``, end to end along an old one.
    """

    uniform = True

    def type_rule(self, x: ArrayType) -> Sequence[ArrayType]:
        shape = list(x.shape)
        if self.tiled:
            shape[self.at] *= self.size
        else:
            shape.insert(self.at, self.size)
        return (x.with_shape(tuple(shape)),)

    def transpose(self, cotangents: Values, x: Operand) -> Sequence[Value | None]:
        if self.groups is None and self.axis in x.type.varying:
            # The cotangent is that of all uses, the same everywhere: each takes its
            # part.
            return [self._own_part(cotangents[0], x.type)]
        return [PSumScatter(**self.parameters)(cotangents[0])]

    def _own_part(self, x: Value, type: ArrayType) -> Any:
        length = type.shape[self.at] if self.tiled else 1
        sizes = list(x.type.shape)
        sizes[self.at] = length
        start = mul(AxisIndex(self.axis)(), scalar(length, dtypes.int32))
        zero = scalar(0, dtypes.int32)
        starts = [start if k == self.at else zero for k in range(len(sizes))]
        return Reshape(type.shape)(DynamicSlice(tuple(sizes))(x, *starts))

    def communicate(self, ctx: "Lowering", x: HloValue) -> HloValue:
        return all_gather(ctx, x, self)

    def along(self, size: int, x: Value, dim: int | None) -> Any:
        x = batched(size, x, dim, self.at)
        return ((merged(x, self.at) if self.tiled else x),), (None,)


class PSumScatter(_Parts):
    """The sum over the named axis, of which each participant gets its part of array
    axis ``at``.
    """

    def type_rule(self, x: ArrayType) -> Sequence[ArrayType]:
        shape = list(x.shape)
        length = shape[self.at]
        if self.tiled and length % self.size == 0:
            shape[self.at] = length // self.size
        elif not self.tiled and length == self.size:
            del shape[self.at]
        else:
            need = "a multiple of" if self.tiled else "equal to"
            raise TypeMismatch(
                f"psum_scatter over {self.axis!r} of size {self.size} scatters axis "
                f"{self.at} of {x}: its length must be {need} {self.size}, but is "
                f"{length}."
            )
        return (x.with_shape(tuple(shape)),)

    def work(self, types: Sequence[ArrayType], outs: Sequence[ArrayType]) -> Work:
        return Work(flops=types[0].size - outs[0].size)

    def transpose(self, cotangents: Values, x: Operand) -> Sequence[Value | None]:
        return [AllGather(**self.parameters)(cotangents[0])]

    def communicate(self, ctx: "Lowering", x: HloValue) -> HloValue:
        return reduce_scatter(ctx, x, self)

    def along(self, size: int, x: Value, dim: int | None) -> Any:
        x = ReduceSum((0,))(batched(size, x, dim))
        return ((split_axis(x, self.at, size) if self.tiled else x),), (self.at,)


@operation
class PVary(Identity):
    """The operand itself, from here on a value of each device along the mesh axes.

    Its adjoint is the sum over them. It is inserted where values that vary meet others
    that do not, and what ``pvary`` writes.
    """

    axes: Axes

    name = "pvary"

    def varying_rule(self, types: Sequence[ArrayType], checked_axes: Axes) -> Varying:
        (x,) = types
        return Varying([x.varying], x.varying | (self.axes & checked_axes))

    def on_host(self, x: HostArray) -> HostArray:
        return x

    def differential(self, out: Value, x: Value) -> LinearMaps:
        return [self]

    def transpose(self, cotangents: Values, x: Operand) -> Sequence[Value | None]:
        (ct,) = cotangents
        axes = self.axes - x.type.varying
        return [PSum(tuple(sorted(axes, key=str)))(ct) if axes else ct]


bind_cast(PVary)


def merged(x: Value, at: int) -> Any:
    """Axes ``at`` and ``at + 1`` as one."""
    shape = x.type.shape
    return Reshape((*shape[:at], shape[at] * shape[at + 1], *shape[at + 2 :]))(x)


def split_axis(x: Any, at: int, size: int) -> Any:
    """Axis ``at`` as two, the first of length ``size``."""
    shape = x.type.shape
    return Reshape((*shape[:at], size, shape[at] // size, *shape[at + 1 :]))(x)

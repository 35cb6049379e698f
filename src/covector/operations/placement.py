"""Sharding constraints: hints to the compiler that change no value.

ShardingConstraint    this value has that sharding
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from covector.core.annotations import Batched, LinearMaps, Value, Values
from covector.core.array import ConcreteArray
from covector.core.array_like import Array
from covector.core.primitive import Operand, Primitive, operation
from covector.core.sharding.context_mesh import get_abstract_mesh
from covector.core.sharding.mesh import AbstractMesh, Mesh
from covector.core.sharding.shardings import NamedSharding
from covector.core.sharding.spec import UNCONSTRAINED, PartitionSpec
from covector.core.types import ArrayType
from covector.core.work import costs_nothing
from covector.errors import ShardingError
from covector.lowering.evaluate import evaluate_compiled
from covector.lowering.placement import on_mesh
from covector.lowering.sharding import sharding_text
from covector.lowering.spelling import HloResults, HloValue

if TYPE_CHECKING:
    from covector.lowering.module import Lowering


@operation
class ShardingConstraint(Primitive):
    """The operand itself, sharded over the axes of a mesh as ``sharding`` says.

    An axis whose length is not a multiple of its number of shards is padded inside of
    the program. ``P.UNCONSTRAINED`` leaves an axis to the compiler.
    """

    sharding: NamedSharding
    work = costs_nothing

    @property
    def mesh(self) -> Mesh | AbstractMesh:  # type: ignore[override]
        return self.sharding.mesh

    def stage(self, trace: Any, args: Sequence[Any]) -> None:  # type: ignore[override]
        manual = get_abstract_mesh().manual_axes
        taken = [name for name in self.sharding.spec.names() if name in manual]
        if taken:
            raise ShardingError(
                f"{self.name} names the axis {taken[0]!r} in {self.sharding.spec}, but "
                "it is called inside of a shard_map over that axis: what is there is "
                "one shard already. Name axes that the compiler shards "
                f"({', '.join(map(repr, get_abstract_mesh().auto_axes)) or 'here none'}"
                "), or leave the constraint out."
            )

    def type_rule(self, x: ArrayType) -> Sequence[ArrayType]:
        self.sharding.check_compatible_aval(x.shape)
        return (x,)

    def evaluate(self, x: ConcreteArray) -> Sequence[Array]:
        (type_,) = self.type_rule(x.type)
        sharding = self.sharding
        if not sharding.flat_devices or sharding.spec.is_open or not self._even(type_):
            return evaluate_compiled(self, self.plan((type_,)), [x])
        if x.placement is sharding:
            return (x,)
        return (ConcreteArray(type_, None, x.buffer_over(sharding), sharding),)

    def _even(self, type: ArrayType) -> bool:
        try:
            self.sharding.shard_shape(type.shape)
        except ShardingError:
            return False
        return True

    def differential(self, out: Value, x: Value) -> LinearMaps:
        return [self]

    def transpose(self, cotangents: Values, x: Operand) -> Sequence[Value | None]:
        return [self(cotangents[0])]

    def batch(self, size: int, args: Values, dims: Sequence[int]) -> Batched:
        return self._batched(UNCONSTRAINED, args, dims)

    def batch_named(
        self, axis: Any, size: int, args: Values, dims: Sequence[int]
    ) -> Batched:
        """Over a batch axis that is itself partitioned over axes of the mesh."""
        manual = get_abstract_mesh().manual_axes
        over = tuple([name for name in axis.over if name not in manual])
        return self._batched(over or UNCONSTRAINED, args, dims)

    def _batched(self, entry: Any, args: Values, dims: Sequence[int]) -> Any:
        """With an entry of the spec for the batch axis."""
        (dim,), (x,) = dims, args
        entries = list(self.sharding.spec)
        entries += [None] * (dim - len(entries))
        entries.insert(dim, entry)
        spec = PartitionSpec(*entries)
        return (ShardingConstraint(self.sharding.update(spec=spec))(x),), dims

    def lower(self, ctx: "Lowering", x: HloValue) -> HloResults:
        mesh = ctx.module.over
        if mesh is None:  # one device: there is nothing to shard
            return x
        (type_,) = ctx.in_types
        sharding = self.sharding
        if sharding.mesh is not mesh and not sharding.spec.is_open:
            sharding = on_mesh(sharding, type_.ndim, mesh, self.name)
        text = sharding_text(sharding.spec, type_.ndim)
        return ctx.op("sdy.sharding_constraint", [x], sharding=f"#sdy.sharding{text}")

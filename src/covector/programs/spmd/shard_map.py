"""``ShardMap``: a jaxpr that each device of a mesh runs on its shards of the operands.

    operands    global arrays, sharded by ``in_specs``
    results     global arrays, assembled from the shards by ``out_specs``

The jaxpr is traced for shards. In it a value *varies* over the mesh axes over which it
may differ between devices (``core/varying.py``): an operand over those that its spec
names, a result over no others than its spec names. Where a value that does not vary
meets one that does, it is cast (``pvary``), and the transpose of that cast is a sum
over the devices. That is why the rules below are short: a cotangent has exactly the
type of its primal, so the results of the transposed jaxpr have the specs of the
operands.

Without ``checked`` types do not track what varies. Then any value may differ: the
cotangent of a result is divided by the number of devices that hold copies of it, and
that of an operand is summed over the axes that its spec does not name.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from covector.core.annotations import AxisName, BatchDims, Batched, Value, Values
from covector.core.array import ConcreteArray
from covector.core.array_like import Array
from covector.core.effects import Effect
from covector.core.jaxpr import Jaxpr, run
from covector.core.masks import (
    Mask,
    drop,
    in_groups,
    present,
    present_mask,
    scatter,
    select,
)
from covector.core.primitive import Linearized, Operand, linear_mask, operation
from covector.core.sharding.mesh import Mesh
from covector.core.sharding.shardings import NamedSharding
from covector.core.sharding.spec import PartitionSpec
from covector.core.staging import restage
from covector.core.trace import current
from covector.core.types import ArrayType, show_types
from covector.core.varying import Axes, pvary_like
from covector.errors import ArgumentError, TypeMismatch, how_many
from covector.lowering.evaluate import evaluate_compiled
from covector.lowering.sharding import manual_axes_text, shardings_text
from covector.lowering.spelling import HloResults, HloValue
from covector.lowering.tokens import Thread
from covector.operations.arithmetic import div
from covector.operations.broadcasting import BroadcastInDim, filled
from covector.operations.collectives import PSum
from covector.operations.placement import ShardingConstraint
from covector.programs.higher_order.call import call
from covector.programs.higher_order.partition import Partition, Policy
from covector.programs.higher_order.program_primitive import (
    Devices,
    Execution,
    ProgramPrimitive,
    Where,
)
from covector.programs.higher_order.regions import carries_functions, named_axes
from covector.programs.higher_order.tiering import Budget
from covector.programs.spmd.manual import ManualAxes, global_type, insert_axis
from covector.programs.spmd.shard_map_interpret import (
    axes_in_front,
    invariant,
    run_on_host,
    runs_as_batch,
    shards_in_front,
)
from covector.programs.spmd.shard_map_linearize import (
    Specs,
    linearize_manual,
    partition_manual,
)
from covector.transforms.batch import ShardedAxis, batch_jaxpr
from covector.transforms.transpose import transpose_jaxpr

if TYPE_CHECKING:
    from covector.lowering.module import Lowering


@operation
class ShardMap(ProgramPrimitive):
    """Run ``jaxpr`` on each device of ``manual.mesh``, on shards of the operands."""

    name = "shard_map"

    jaxpr: Jaxpr
    manual: ManualAxes
    in_specs: Specs
    out_specs: Specs

    @property
    def mesh(self) -> Any:
        """The mesh on whose devices it runs."""
        return self.manual.mesh

    def __repr__(self) -> str:
        return f"ShardMap({self.jaxpr.name}, {self.mesh})"

    def type_rule(self, *types: ArrayType) -> Sequence[ArrayType]:
        given = [t.strong() for t in types]
        pairs = zip(self.jaxpr.in_types, self.in_specs, strict=True)
        wanted = [global_type(t, spec, self.manual).strong() for t, spec in pairs]
        if given != wanted:
            raise TypeMismatch(
                f"shard_map of {self.jaxpr.name} needs operands of types "
                f"{show_types(wanted)}, but got {show_types(given)}."
            )
        pairs = zip(self.jaxpr.out_types, self.out_specs, strict=True)
        return [global_type(t, spec, self.manual) for t, spec in pairs]

    @property
    def bound_axes(self) -> Axes:  # type: ignore[override]
        return self.manual.axes

    def threaded(self, thread: Thread) -> tuple[Any, int]:
        if thread.join is not None:
            specs = self.in_specs, self.out_specs
            return call(self.jaxpr.memo(_threaded, self.manual, *specs, thread)), 0
        same = (PartitionSpec(),) * len(thread.types)
        specs = [(*same, *specs) for specs in (self.in_specs, self.out_specs)]
        return self._like(thread.through(self.jaxpr), *specs), 0

    @property
    def with_token(self) -> Any:  # type: ignore[override]
        """On one device effects are in order; several have none between them."""
        if self.mesh.size == 1:
            return super().with_token
        if Effect.ORDERED in self.effects:
            raise ArgumentError(
                f"shard_map of {self.jaxpr.name} has ordered effects and runs on "
                f"{how_many(self.mesh.size, 'device')}, between which there is no "
                "order. Leave ordered=True out, take the effects out of shard_map, "
                "or use a mesh of one device."
            )
        return None

    # -- values ------------------------------------------------------------------------

    def evaluate(self, *args: ConcreteArray) -> Sequence[Array]:
        small = self.jaxpr.memo(runs_as_batch) and all([a.on_host() for a in args])
        # What each device does besides is not what each lane of a batch does.
        small = small and not self.effects
        # The host of one process need not have what those of others have.
        small = small and not self.mesh.is_multi_process
        if small and self.jaxpr.memo(Budget).try_spend():
            specs = self.in_specs, self.out_specs
            return run_on_host(self.jaxpr, self.manual, *specs, args)
        plan = self.plan(tuple([a.type for a in args]))
        pairs = zip(evaluate_compiled(self, plan, args), self.out_specs, strict=True)
        return [_in_words_of(x, spec, self.mesh) for x, spec in pairs]

    def lower(self, ctx: "Lowering", *operands: HloValue) -> HloResults:
        def body(inner: "Lowering", *values: HloValue) -> Sequence[Any]:
            module = ctx.module
            outer = module.mesh, module.manual_axes
            module.mesh, module.manual_axes = self.mesh, outer[1] | self.manual.axes
            try:
                return inner.inline(self.jaxpr, values)
            finally:
                module.mesh, module.manual_axes = outer

        if ctx.module.over is None:  # the mesh has one device: a shard is the array
            return body(ctx, *operands)
        made = ctx.op(
            "sdy.manual_computation",
            operands,
            ctx.out_types,
            regions=1,
            in_shardings=self._shardings(ctx, self.in_specs, self.jaxpr.in_types),
            out_shardings=self._shardings(ctx, self.out_specs, self.jaxpr.out_types),
            manual_axes=manual_axes_text(self.manual.order(self.manual.axes)),
        )
        ctx.region(made, 0, self.jaxpr.in_types, body, "sdy.return")
        return made

    def _shardings(
        self, ctx: "Lowering", specs: Specs, types: Sequence[ArrayType]
    ) -> str:
        # Over the axes that are not manual the compiler shards as it likes.
        mapped = ctx.module.manual_axes | self.manual.axes
        left = not mapped.issuperset(self.mesh.axis_names)
        return shardings_text(specs, [t.ndim for t in types], is_open=left)

    # -- derivatives -------------------------------------------------------------------

    def linearize(self, active: Sequence[bool], *primals: Value) -> Linearized:
        split, specs = self.jaxpr.memo(linearize_manual, self.manual, tuple(active))
        left = (*self.out_specs, *specs)
        specs = [*split.residuals(self.in_specs, left), *select(self.in_specs, active)]
        moved = select(self.out_specs, split.nonzero)
        split = split._replace(
            primal=self._like(split.primal, self.in_specs, left),
            linear=self._like(split.linear, specs, moved),
        )
        return split.at(primals, lambda op, args: op(*args))

    def transpose(
        self, cotangents: Sequence[Value | None], *args: Operand
    ) -> Sequence[Value | None]:
        linear = linear_mask(args)
        given = present_mask(cotangents)
        program, nonzero = self.jaxpr.memo(
            _transposed, self.manual, linear, given, self.in_specs, self.out_specs
        )
        specs = [*drop(self.in_specs, linear), *select(self.out_specs, given)]
        back = self._like(program, specs, select(self.in_specs, nonzero))
        return scatter(back(*drop(args, linear), *present(cotangents)), nonzero)

    # -- passes ------------------------------------------------------------------------

    def rebuild(self, programs: Sequence[Jaxpr], operands: Mask, results: Mask) -> Any:
        out_specs = select(self.out_specs, results)
        return self._like(programs[0], select(self.in_specs, operands), out_specs)

    def partition(
        self, types: Sequence[ArrayType], later: Mask, policy: Policy
    ) -> Partition:
        made, specs = self.jaxpr.memo(partition_manual, self.manual, later, policy)
        left = (*self.out_specs, *specs)
        specs = made.residuals(self.in_specs, left), select(self.out_specs, made.gives)
        return made._replace(
            forward=self._like(made.forward, self.in_specs, left),
            recompute=self._like(made.recompute, *specs),
        )

    def executions(self, operands: Sequence[Any]) -> Iterator[Execution]:
        """Once, by all devices together, as a batch with a lane for each."""
        pairs = zip(operands, self.in_specs, strict=True)
        shards = [shards_in_front(x, spec, self.manual) for x, spec in pairs]
        axes = self.manual.order(self.manual.axes)
        sizes = tuple([(a, self.mesh.shape[a]) for a in axes])
        fronts = tuple([axes_in_front(axes, spec) for spec in self.in_specs])
        program = self.jaxpr.memo(invariant)
        yield Execution(program, shards, Where(), Devices(sizes, fronts))

    # -- batches -----------------------------------------------------------------------

    def batch_named(
        self, axis: AxisName, size: int, args: Values, dims: BatchDims
    ) -> Batched:
        if isinstance(axis, ShardedAxis) and self._is_free(axis.over):
            return self._sharded_batch(axis, size, args, dims)
        program, out_dims = self.jaxpr.memo(
            _batched, self.manual, size, tuple(dims), axis
        )
        in_specs = map(insert_axis, self.in_specs, dims)
        out_specs = map(insert_axis, self.out_specs, out_dims)
        return self._like(program, in_specs, out_specs)(*args), out_dims

    def _is_free(self, axes: tuple[Any, ...]) -> bool:
        """Whether nothing here depends on where a device is along these axes, so that
        they can be left to the compiler.
        """
        used = {
            name for spec in self.in_specs + self.out_specs for name in spec.names()
        }
        used.update(self.jaxpr.memo(named_axes))
        return (
            self.manual.axes.issuperset(axes)
            and self.manual.axes != set(axes)
            and used.isdisjoint(axes)
            and not self.effects
            and not self.jaxpr.memo(carries_functions)
        )

    def _sharded_batch(
        self, axis: Any, size: int, args: Values, dims: BatchDims
    ) -> Any:
        """Over a batch that the compiler shards over axes of the mesh."""
        left = self.manual._replace(axes=self.manual.axes.difference(axis.over))
        op = shard_program(self.jaxpr, left, self.in_specs, self.out_specs)

        def sharded(x: Value, spec: PartitionSpec, dim: int | None) -> Value:
            if dim is None:
                return x
            spec = insert_axis(spec, dim, axis.over)
            return ShardingConstraint(NamedSharding(self.mesh, spec))(x)

        args = list(map(sharded, args, self.in_specs, dims))
        outs, out_dims = op.batch_named(axis, size, args, dims)
        return list(map(sharded, outs, self.out_specs, out_dims)), out_dims

    def _like(
        self,
        jaxpr: Jaxpr,
        in_specs: Iterable[PartitionSpec],
        out_specs: Iterable[PartitionSpec],
    ) -> "ShardMap":
        return shard_program(jaxpr, self.manual, tuple(in_specs), tuple(out_specs))


def shard_program(
    jaxpr: Jaxpr, manual: ManualAxes, in_specs: Specs, out_specs: Specs
) -> ShardMap:
    """The operation that runs a program on the shards; the same one each time."""
    return jaxpr.memo(ShardMap, manual, in_specs, out_specs)


# -- passes over the program, as it is seen on the devices -----------------------------


def _transposed(
    jaxpr: Jaxpr,
    manual: ManualAxes,
    linear: tuple[bool, ...],
    given: tuple[bool, ...],
    in_specs: Specs,
    out_specs: Specs,
) -> Any:
    """The transposed program, and which cotangents it gives."""
    with manual.inside():
        program, nonzero = jaxpr.memo(transpose_jaxpr, linear, given)
    if manual.checked:
        return program, nonzero

    def of_copies(*values: Value) -> list[Any]:
        known, cts = in_groups(values, len(program.inputs) - sum(given))
        pairs = zip(cts, select(out_specs, given), strict=True)
        cts = [_shared(ct, manual.copies(spec)) for ct, spec in pairs]
        outs = run(program, [*known, *cts])
        pairs = zip(outs, select(in_specs, nonzero), strict=True)
        return [_summed(ct, manual.unnamed(spec)) for ct, spec in pairs]

    return manual.stage(of_copies, program.in_types, program.name).jaxpr, nonzero


def _threaded(
    jaxpr: Jaxpr, manual: ManualAxes, in_specs: Specs, out_specs: Specs, thread: Any
) -> Jaxpr:
    """The program of all devices, through which a thread passes: each device has values
    of its own, and those that come out are made of them.
    """
    count = len(thread.types)
    with manual.inside():
        local = thread.on_devices(current.trace.checked_axes)
        program = local.through(jaxpr)

    def body(*operands: Value) -> list[Any]:
        passed, shards = in_groups(operands, count)
        passed = map(pvary_like, passed, local.types)
        passed, outs = in_groups(run(program, [*passed, *shards]), count)
        return [
            *[
                BroadcastInDim((1, *x.type.shape), tuple(range(1, x.type.ndim + 1)))(x)
                for x in passed
            ],
            *outs,
        ]

    staged = manual.stage(body, [*thread.types, *jaxpr.in_types], jaxpr.name)
    same, own = PartitionSpec(), PartitionSpec(manual.order(manual.axes))
    specs = (same,) * count + in_specs, (own,) * count + out_specs
    op = shard_program(staged.jaxpr, manual, *specs)

    def whole(*operands: Value) -> list[Any]:
        stacked, outs = in_groups(op(*operands), count)
        return [*thread.join(stacked), *outs]

    pairs = zip(jaxpr.in_types, in_specs, strict=True)
    types = [global_type(t, spec, manual) for t, spec in pairs]
    return restage(whole, [*thread.types, *types], jaxpr.name)


def _in_words_of(x: ConcreteArray, spec: PartitionSpec, mesh: Any) -> ConcreteArray:
    """A result whose sharding is spelled as the user spelled it."""
    if isinstance(mesh, Mesh) and x.placement is not None:
        named = NamedSharding(mesh, spec)
        if x.placement.is_equivalent_to(named, x.ndim):
            x.placement = named
    return x


def _shared(ct: Value, copies: int) -> Value:
    return ct if copies == 1 else div(ct, filled(copies, ct.type.with_shape(())))


def _summed(ct: Value, axes: Sequence[Any]) -> Value:
    return PSum(tuple(axes))(ct) if axes else ct


def _batched(
    jaxpr: Jaxpr, manual: ManualAxes, size: int, dims: tuple[int | None, ...], axis: Any
) -> Any:
    with manual.inside():
        return jaxpr.memo(batch_jaxpr, size, dims, None, axis)

"""Lowering of a jaxpr to a StableHLO module.

Each equation asks its operation to ``lower``; the ``Lowering`` it is handed knows the
types of the equation and where to put operations. A program that is called becomes a
function, one per program however often it is called, so repeated layers stay repeated
calls.
"""

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from types import MappingProxyType
from typing import Any

import numpy as np

from covector.core import dtypes
from covector.core.annotations import Value
from covector.core.array import ConcreteArray
from covector.core.jaxpr import Equation, Jaxpr, Var, type_of
from covector.core.sharding.mesh import Mesh
from covector.core.sharding.shardings import NamedSharding
from covector.core.sharding.spec import UNCONSTRAINED, PartitionSpec
from covector.core.source import attributes_lines_of_equations, running
from covector.core.staging import restage
from covector.core.types import ArrayType
from covector.lowering import hlo, sharding, short_floats, wide_keys
from covector.lowering.host_calls import axes_left, numpy_call
from covector.lowering.placement import MeshPlacement
from covector.lowering.spelling import HloValue

#: operations from which a function that is called more than once is compiled by itself
SEPARATE_FROM = 8
_SEPARATE = '{inlineable = "false"}'
# What XLA:CPU makes of a small loop, a call that is one kernel, it makes of this call.
_ONE_KERNEL = '{inlineable = "false", xla_cpu_small_call = "true"}'

_updates_part, _repeats = attrgetter("op.updates_part"), attrgetter("op.repeats")


class Lowering:
    """The context handed to ``lower``, for the equations of one function."""

    def __init__(self, module: "ModuleLowering", point: Any) -> None:
        self.module = module
        self.point = point
        self.equation: Equation = None  # type: ignore[assignment]  set for each equation
        #: the program whose equations are being lowered
        self.jaxpr: Jaxpr = None  # type: ignore[assignment]  set where they are
        #: the whole program, while its equations are lowered, and no others
        self.whole: Jaxpr | None = None
        #: the program that is a turn of a loop, or a kernel, while it is lowered
        self.apart: Jaxpr | None = None
        #: whether XLA keeps the program whose equations are being lowered apart from
        #: what is around it, and so its inputs from each other
        self.is_isolated = False
        self.location: Any = None
        #: what lowers operations on values with their axes in another order
        #: (``axis_orders``), once there are any
        self.orders: Any = None
        #: bytes of an array from which on parts of it that are overwritten are read
        #: before, by kernels of their own; more than these would take to copy
        self.least_in_place = 65_536
        #: values that several operations use, by what they are and of what
        self.shared: dict[Any, HloValue] = {}
        #: by identity: the array (kept alive, so the identity stays its own) and its
        #: value
        self._literals: dict[int, tuple[ConcreteArray, HloValue]] = {}

    # -- the equation at hand ----------------------------------------------------------

    @property
    def in_types(self) -> list[ArrayType]:
        return list(map(type_of, self.equation.inputs))

    @property
    def out_types(self) -> list[ArrayType]:
        return list(map(type_of, self.equation.outputs))

    @property
    def platform(self) -> str:
        return self.module.platform

    @property
    def is_partitioned(self) -> bool:
        """Whether XLA partitions what is lowered here, outside of a shard_map."""
        return self.module.over is not None and self.module.mesh is None

    @property
    def is_divided(self) -> bool:
        """Whether XLA partitions what is lowered here, if only along axes that a
        shard_map around it leaves.
        """
        return self.is_partitioned or bool(axes_left(self.module))

    @property
    def on_several_devices(self) -> bool:
        """Whether XLA partitions the program between devices."""
        return self.module.over is not None

    @property
    def is_of_cpus(self) -> bool:
        """Whether it is a program of CPUs that stays with covector."""
        return self.platform == "cpu" and not self.module.portable

    @property
    def is_of_one_cpu(self) -> bool:
        """Whether it is a program of one CPU that stays with covector: it may call
        NumPy, and is written as XLA for CPUs does best.
        """
        return self.module.is_of_one_cpu

    # -- operations --------------------------------------------------------------------

    def op(
        self,
        name: str,
        operands: Sequence[HloValue],
        types: Sequence[ArrayType] | None = None,
        regions: int = 0,
        **attributes: Any,
    ) -> Any:
        """Add one operation; attributes are MLIR spellings, tuples of ints, or
        attributes.

        The result types are those of the equation unless given. Returns the one result,
        or the operation when it has several results or regions still to be filled.
        """
        types = self.out_types if types is None else types
        module = self.module.module
        module.dtypes.update(map(hlo.storage_of, types))
        module.shapes.update(map(hlo.shape_of, types))
        module.scalars += bool(types) and not types[0].shape
        for key, value in attributes.items():
            attributes[key] = hlo.as_attribute(value)
        made = hlo.operation(
            name,
            list(map(hlo.tensor_type, types)),
            operands,
            attributes or None,
            self.location,
            self.point,
            regions,
        )
        return made if regions or len(types) != 1 else made.result

    def constant(self, values: Any, type: ArrayType) -> HloValue:
        """A constant; a scalar is broadcast to the shape of ``type``."""
        values = np.asarray(values).astype(type.storage, copy=False)
        if not type.size:
            values = np.zeros((), type.storage)
        if not values.ndim and type.ndim:
            scalar = self.constant(values, type.with_shape(()))
            return self.broadcast(scalar, type)
        value = hlo.constant(values, type)
        return self.op("stablehlo.constant", (), [type], value=value)

    def broadcast(
        self, x: HloValue, type: ArrayType, axes: tuple[int, ...] = ()
    ) -> HloValue:
        """``x`` broadcast to ``type``, its axis k becoming ``axes[k]``."""
        return self.op(
            "stablehlo.broadcast_in_dim", [x], [type], broadcast_dimensions=axes
        )

    def broadcast_scalar(
        self, x: HloValue, operand: ArrayType, shape: tuple[int, ...]
    ) -> HloValue:
        """An operand of type ``operand``, broadcast to ``shape`` if it is a scalar."""
        if operand.shape == shape:
            return x
        return self.broadcast(x, operand.with_shape(shape))

    def is_transposed(self, x: HloValue) -> bool:
        """Whether a value is an array with its axes in another order."""
        made = None if hlo.is_argument(x) else x.owner.operation.name
        return made == "stablehlo.transpose"

    def replicated(self, x: Value, type: ArrayType, free: int = 0) -> Value:
        """``x`` replicated, for an operation that cannot be partitioned but along the
        first ``free`` axes.

        Of what the first device alone has computed, that is its value, sent to all.
        Inside of a shard_map over some axes it is replicated over the others.
        """
        if not self.is_divided:
            return x
        spec = PartitionSpec(*[UNCONSTRAINED] * free)
        replicated = sharding.sharding_text(spec, type.ndim)
        attribute = f"#sdy.sharding{replicated}"
        return self.op("sdy.sharding_constraint", [x], [type], sharding=attribute)

    def region(
        self,
        op: Any,
        index: int,
        types: Sequence[ArrayType],
        body: Callable[..., Sequence[HloValue]],
        terminator: str = "stablehlo.return",
    ) -> None:
        """Fill a region: ``body(lowering, *arguments)`` gives its results."""

        def fill(point: Any, arguments: list[HloValue]) -> None:
            inner = Lowering(self.module, point)
            inner.equation, inner.location = self.equation, self.location
            inner.least_in_place = self.least_in_place
            outs = body(inner, *arguments)
            hlo.operation(terminator, [], list(outs), None, self.location, point)

        hlo.fill_region(op, index, types, fill)

    def through(
        self, fun: Callable[..., Any], *operands: HloValue
    ) -> Sequence[HloValue]:
        """Lower as ``fun``, a function of other operations on these operands."""
        return self.inline(restage(fun, self.in_types), operands)

    # -- programs ----------------------------------------------------------------------

    @attributes_lines_of_equations(or_none=True)
    def inline(self, jaxpr: Jaxpr, operands: Sequence[HloValue]) -> list[HloValue]:
        """The equations of a program, written here; the values of its outputs.

        What an operation is lowered as, staged meanwhile, has the line of its equation.
        """
        isolated = jaxpr is self.whole or jaxpr is self.apart
        if any(map(_updates_part, jaxpr.equations)) or any(
            map(_repeats, jaxpr.equations)
        ):
            jaxpr = self._for_one_cpu(jaxpr)
        env: dict[Var, HloValue] = dict(zip(jaxpr.inputs, operands, strict=True))
        outer = self.jaxpr, self.is_isolated, self.equation, self.location
        running_outside = running.equation
        self.jaxpr, self.is_isolated = jaxpr, isolated
        try:
            for equation in jaxpr.equations:
                values = [
                    env[a] if type(a) is Var else self._literal(a)
                    for a in equation.inputs
                ]
                self.equation = running.equation = equation
                line = equation.line
                file = "" if line is None else line.code.co_filename
                self.location = hlo.location(equation.op.name, line, file)
                if self.orders is not None:
                    outs = self.orders.lower(self, equation, values)
                elif equation.op.by_halves or equation.op.as_integers:
                    outs = self.lowered(equation, values)
                else:
                    outs = hlo.results(equation.op.lower(self, *values))
                env.update(zip(equation.outputs, outs, strict=True))
        finally:
            running.equation = running_outside
        self.jaxpr, self.is_isolated, self.equation, self.location = outer
        outs = [env[a] if type(a) is Var else self._literal(a) for a in jaxpr.outputs]
        if self.orders is not None:
            outs = [self.orders.plain(self, x) for x in outs]
        return outs

    def _for_one_cpu(self, jaxpr: Jaxpr) -> Jaxpr:
        """The program in which XLA finds what it needs to know on one CPU; for other
        devices as it is.
        """
        if not self.module.is_of_one_cpu:
            return jaxpr
        found = jaxpr
        if any(map(_updates_part, jaxpr.equations)):  # in few programs
            from covector.lowering.in_place import (  # noqa: PLC0415
                with_updates_in_place,
            )

            found = jaxpr.memo(with_updates_in_place, self.least_in_place)
        if any(map(_repeats, jaxpr.equations)):
            from covector.lowering.own_broadcasts import (  # noqa: PLC0415
                with_own_broadcasts,
            )

            found = found.memo(with_own_broadcasts)
        if jaxpr is self.whole:
            self.whole = found
        return found

    def lowered(
        self, equation: Equation, values: Sequence[HloValue]
    ) -> Sequence[HloValue]:
        """The results of the equation at hand, perhaps of elements in another form."""
        op = equation.op
        if op.by_halves and any(
            [dtypes.is_wide_key(v.type.dtype) for v in equation.outputs]
        ):
            return wide_keys.lowered_by_halves(self, equation, values)
        if op.as_integers and self.is_of_cpus and short_floats.are_in(equation):
            return short_floats.lowered_as_integers(self, equation, values)
        return hlo.results(op.lower(self, *values))

    def call(
        self, jaxpr: Jaxpr, operands: Sequence[HloValue], separate: bool | None = None
    ) -> list[HloValue]:
        """Call the function that holds the program, compiled separately or, for False,
        never so; for None, where it is called repeatedly.
        """
        return self.module.call(self, jaxpr, operands, separate)

    def call_kernel(self, jaxpr: Jaxpr, operands: Sequence[HloValue]) -> list[HloValue]:
        """Call the function that holds the program, on a CPU one kernel for one core.

        Kernels of few operations take longer to compile than the operations.
        """
        if self.platform != "cpu":
            return self.call(jaxpr, operands)
        self.module.kernels.add(id(jaxpr))
        outs = self.call(jaxpr, operands)
        call = outs[0].owner
        call.attributes["mhlo.frontend_attributes"] = hlo.attribute(_ONE_KERNEL)
        return outs

    def call_module(self, source: str, operands: Sequence[HloValue]) -> list[HloValue]:
        """Call the ``main`` of another module, whose functions are added to this one.

        What it is given and gives has the types of the equation.
        """
        made = hlo.operation(
            "func.call",
            list(map(hlo.tensor_type, self.out_types)),
            operands,
            {"callee": hlo.symbol(self.module.module.merge(source))},
            self.location,
            self.point,
        )
        return list(made.results)

    def call_numpy(
        self,
        name: str,
        operands: Sequence[HloValue],
        types: Sequence[ArrayType],
        overwritten: Mapping[int, int] = MappingProxyType({}),
    ) -> list[HloValue]:
        """Call a standard function of NumPy arrays, in a program of one CPU."""
        return numpy_call(self, name, operands, types, overwritten)

    def _literal(self, array: ConcreteArray) -> HloValue:
        found = self._literals.get(id(array))
        if found is None:
            value = self.constant(array.host(), array.type.strong())
            found = self._literals[id(array)] = (array, value)
        return found[1]


class ModuleLowering:
    """A module under construction, and the functions it has so far."""

    def __init__(
        self, name: str, platform: str, over: Mesh | None, portable: bool
    ) -> None:
        self.platform = platform
        #: whether others than this library may run the module
        self.portable = portable
        self.module = hlo.Module(name)
        #: the mesh whose devices run the module; None for one device
        self.over = over
        if over is not None:
            self.module.over_mesh(sharding.mesh_text(over), over.size)
        #: the mesh whose devices run what is being lowered, inside of a shard_map; and
        #: its manual axes
        self.mesh: Any = None
        self.manual_axes: frozenset[Any] = frozenset()
        #: how many operations between devices there are; each has a number of its own
        self.channels = 0
        #: functions by program (kept, so that its identity stays its own), with their
        #: calls
        self._functions: dict[int, tuple[Jaxpr, str, list[Any]]] = {}
        #: the programs among these that are kernels
        self.kernels: set[int] = set()

    @property
    def is_of_one_cpu(self) -> bool:
        alone = self.over is None and not self.portable
        return alone and self.platform == "cpu"

    def function(self, jaxpr: Jaxpr, name: str, public: bool = False) -> hlo.Function:
        function = self.module.function(name, jaxpr.in_types, jaxpr.out_types, public)
        lowering = Lowering(self, function.point)
        lowering.location = hlo.location(name, None)
        lowering.whole = jaxpr if public else None
        lowering.apart = jaxpr if id(jaxpr) in self.kernels else None
        outs = lowering.inline(jaxpr, function.arguments)
        hlo.operation("func.return", [], outs, None, lowering.location, function.point)
        return function

    def _called(self, jaxpr: Jaxpr) -> tuple[Jaxpr, str, list[Any]]:
        """The one function of a program, made when it is first asked for."""
        known = self._functions.get(id(jaxpr))
        if known is None:
            name = self.function(jaxpr, jaxpr.name or "call").name
            known = self._functions[id(jaxpr)] = (jaxpr, name, [])
        return known

    def symbol(self, jaxpr: Jaxpr) -> Any:
        """The name of the function that holds the program, as an attribute."""
        return hlo.symbol(self._called(jaxpr)[1])

    def call(
        self,
        lowering: Lowering,
        jaxpr: Jaxpr,
        operands: Sequence[HloValue],
        separate: bool | None,
    ) -> list[HloValue]:
        known = self._called(jaxpr)
        line = lowering.equation.line
        file = "" if line is None else line.file
        made = hlo.operation(
            "func.call",
            [hlo.tensor_type(t) for t in jaxpr.out_types],
            operands,
            {"callee": hlo.symbol(known[1])},
            hlo.location(f"jit({known[1]})", line, file),
            lowering.point,
        )
        if separate:
            made.attributes["mhlo.frontend_attributes"] = hlo.attribute(_SEPARATE)
        if separate is None:
            known[2].append(made)
        return list(made.results)

    def separate_repeated_calls(self) -> None:
        """Ask XLA to compile functions that are called repeatedly once, and not to
        inline them.
        """
        kept = hlo.attribute(_SEPARATE)
        for jaxpr, _, calls in self._functions.values():
            op_count = sum([e.op.op_count for e in jaxpr.equations])
            if len(calls) > 1 and op_count >= SEPARATE_FROM:
                for call in calls:
                    call.attributes["mhlo.frontend_attributes"] = kept


def lower_module(
    jaxpr: Jaxpr,
    name: str,
    platform: str,
    donated: Sequence[bool] = (),
    placement: MeshPlacement | None = None,
    results: Sequence[NamedSharding | None] = (),
    portable: bool = False,
) -> hlo.Module:
    """The StableHLO module of a program, verified.

    Args:
      placement: the mesh to run on, with the shardings of inputs; None for one device.
      results: the shardings of outputs, None where the compiler decides.
      portable: whether others than this library may run it.
    """
    lowering = ModuleLowering(name, platform, placement and placement.mesh, portable)
    main = lowering.function(jaxpr, "main", public=True)
    attributes = [{"jax.buffer_donor": "true"} if d else {} for d in donated]
    if placement is not None:
        ranks = [t.ndim for t in jaxpr.in_types]
        sharded = sharding.attributes(placement.shardings, ranks)
        given = attributes or [{}] * len(ranks)
        attributes = [a | b for a, b in zip(given, sharded, strict=True)]
        ranks = [t.ndim for t in jaxpr.out_types]
        main.result_attributes(
            sharding.attributes(results or [None] * len(ranks), ranks)
        )
    if any(attributes):
        main.argument_attributes(attributes)
    lowering.separate_repeated_calls()
    lowering.module.verify()
    return lowering.module

"""Evaluation of a small ``shard_map`` on the host, as a batch with a lane per device.

Each axis of the mesh is a batch axis of that name, and the jaxpr runs as under
``vmap``, in NumPy, in less than a hundredth of the time that it takes to compile it for
several devices.
"""

from collections.abc import Sequence
from math import prod
from typing import Any

from covector.core.annotations import Value
from covector.core.array import ConcreteArray
from covector.core.array_like import Array
from covector.core.jaxpr import Equation, Jaxpr, Var, read, run
from covector.core.sharding.shardings import NamedSharding
from covector.core.sharding.spec import PartitionSpec
from covector.core.types import INVARIANT
from covector.operations.broadcasting import batched
from covector.operations.joining import Unstack
from covector.operations.transposing import Reshape, Transpose
from covector.programs.spmd.manual import ManualAxes
from covector.transforms.batch import batch_flat


def runs_as_batch(jaxpr: Jaxpr) -> bool:
    """Whether the program carries no others, whose types would speak of devices
    (memoise on the program).
    """
    return not any([e.op.regions for e in jaxpr.equations])


def run_on_host(
    jaxpr: Jaxpr,
    manual: ManualAxes,
    in_specs: Sequence[PartitionSpec],
    out_specs: Sequence[PartitionSpec],
    args: Sequence[ConcreteArray],
) -> list[Array]:
    """The results of a program per device, on small arrays that are on the host."""
    axes = manual.order(manual.axes)
    takes = [axes_in_front(axes, spec) for spec in in_specs]
    gives = [axes_in_front(axes, spec) for spec in out_specs]

    def over(k: int, values: Sequence[Value]) -> list[Array]:
        if k == len(axes):
            return run(jaxpr, values)
        dims = [0 if axes[k] in names else None for names in takes]
        size = manual.mesh.shape[axes[k]]
        outs, found = batch_flat(
            lambda *shards: over(k + 1, shards), size, values, dims, axes[k]
        )
        rows = zip(outs, found, gives, strict=True)
        return [_in_front(x, d, size, axes[k] in names) for x, d, names in rows]

    values = [
        shards_in_front(x, spec, manual) for x, spec in zip(args, in_specs, strict=True)
    ]
    outs = []
    for x, spec in zip(over(0, values), out_specs, strict=True):
        out = _global_array(x, spec, manual)
        placement = NamedSharding(manual.mesh, spec)
        outs.append(ConcreteArray(out.type, out.host(), None, placement))
    return outs


def axes_in_front(axes: Sequence[Any], spec: PartitionSpec) -> tuple[Any, ...]:
    """The axes of the mesh that a spec names, in the order of the mesh."""
    named = spec.names()
    return tuple([a for a in axes if a in named])


def invariant(jaxpr: Jaxpr) -> Jaxpr:
    """The program with types that do not say what varies between devices, at any depth
    (memoise on the program): as a batch it runs on values of all devices.
    """
    new = {v: _invariant(v) for v in jaxpr.inputs}
    equations = []
    for e in jaxpr.equations:
        op: Any = e.op
        if op.regions:
            op = op.with_programs(lambda program: program.memo(invariant))
        inputs = read(new, e.inputs)
        new.update({v: _invariant(v) for v in e.outputs})
        equations.append(Equation(op, inputs, [new[v] for v in e.outputs], e.line))
    outputs = read(new, jaxpr.outputs)
    return Jaxpr([new[v] for v in jaxpr.inputs], equations, outputs, jaxpr.name)


def _invariant(v: Var) -> Var:
    return Var(v.type.with_varying(INVARIANT))


def _in_front(x: Value, dim: int | None, size: int, wanted: bool) -> Value:
    """The values of all lanes along a new first axis; or that of any of them."""
    if wanted:
        return batched(size, x, dim)
    return x if dim is None else Unstack(dim)(x)[0]


def shards_in_front(x: Value, spec: PartitionSpec, manual: ManualAxes) -> Value:
    """The shards of an array, with an axis in front for each axis of the mesh."""
    shape, names = [], []
    for k, n in enumerate(x.type.shape):
        here = spec.axes(k)
        shape += [*[manual.mesh.shape[a] for a in here], n // manual.divisor(spec, k)]
        names += [*here, None]
    array_axes = [k for k, a in enumerate(names) if a is None]
    order = [
        names.index(a) for a in axes_in_front(manual.mesh.axis_names, spec)
    ] + array_axes
    return Transpose(tuple(order))(Reshape(tuple(shape))(x))


def _global_array(x: Value, spec: PartitionSpec, manual: ManualAxes) -> Any:
    """The array whose shards stand along an axis in front for each axis of the mesh."""
    front = axes_in_front(manual.mesh.axis_names, spec)
    order, shape = [], []
    for k, n in enumerate(x.type.shape[len(front) :]):
        here = spec.axes(k)
        order += [*[front.index(a) for a in here], len(front) + k]
        shape.append(n * prod([manual.mesh.shape[a] for a in here]))
    return Reshape(tuple(shape))(Transpose(tuple(order))(x))

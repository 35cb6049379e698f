"""Batching: run a function once for a whole batch of values.

A ``BatchTracer`` is an array with one axis, at ``dim``, that the function does not see.
Each operation is asked for its ``batch`` rule, which says the same over the whole
batch. An operation that names the axis (a collective) is asked for ``batch_named``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from covector.core.jaxpr import Jaxpr, run
from covector.core.primitive import Primitive
from covector.core.staging import restage
from covector.core.trace import Trace, Tracer, current
from covector.errors import RefError
from covector.lowering.placement import meshes_named
from covector.operations.broadcasting import batched


class BatchTracer(Tracer):
    """One of a batch of values."""

    __slots__ = ("dim", "type", "value")

    def __init__(self, trace: Trace, value: Any, dim: int) -> None:
        self.owner = trace
        self.value = value
        self.dim = dim
        shape = value.type.shape
        self.type = value.type.with_shape(shape[:dim] + shape[dim + 1 :])


@dataclass(frozen=True)
class ShardedAxis:
    """A batch axis that is partitioned over mesh axes; it may have a name besides.

    Operations with shardings are told so, also in programs.
    """

    name: Any
    over: tuple[Any, ...]


def name_of(axis: Any) -> Any:
    """The name of a batch axis, by which collectives know it."""
    return axis.name if isinstance(axis, ShardedAxis) else axis


class BatchTrace(Trace):
    """Gives operations their meaning over a batch of ``size`` values."""

    def __init__(
        self, parent: Trace, size: int, axis: Any = None, name: str = ""
    ) -> None:
        self.parent = parent
        self.size = size
        self.axis, named = axis, name_of(axis)
        self.axis_name, self.partitioned = named, axis is not named
        self.axes = parent.axes if named is None else {**parent.axes, named: size}
        self.checked_axes, self.mesh = parent.checked_axes, parent.mesh
        self.name = name

    def process(self, op: Primitive, args: Sequence[Any]) -> Sequence[Any]:
        values: list[Any] = []
        dims: list[int | None] = []
        seen = False
        for a in args:
            if type(a) is BatchTracer and a.owner is self:
                values.append(a.value)
                dims.append(a.dim)
                seen = True
            else:
                values.append(a)
                dims.append(None)
        named = self.axis is not None and (
            op.carries_functions
            or self.axis_name in op.axis_names
            or (self.partitioned and seen and bool(meshes_named(op)))
        )
        current.trace = self.parent
        try:
            if not seen and not named:
                return self.parent.process(op, args)
            if named:
                axis = self.axis
                if self.partitioned and op.interned and op.mesh is None:
                    axis = self.axis_name  # to a collective it is no more than that
                outs, out_dims = op.batch_named(axis, self.size, values, dims)
            else:
                outs, out_dims = op.batch(self.size, values, dims)
        finally:
            current.trace = self
        return [
            out if d is None else BatchTracer(self, out, d)
            for out, d in zip(outs, out_dims, strict=True)
        ]

    def written_outside(self, x: Any) -> Any:
        raise RefError(
            f"{self.name or 'vmap'} writes to a reference that it closes over, or has "
            "under in_axes=None: which of the lanes of the batch writes last? Pass the "
            "reference as an argument with an axis for the batch, or return the value."
        )


def front_dims(mask: Sequence[bool]) -> tuple[int | None, ...]:
    """Batch axes of masked values, 0 where True and None elsewhere."""
    return tuple([0 if m else None for m in mask])


def batch_flat(
    fun: Callable[..., Sequence[Any]],
    size: int,
    args: Sequence[Any],
    dims: Sequence[int | None],
    axis: Any = None,
    name: str = "",
) -> tuple[list[Any], list[int | None]]:
    """The results of a flat function over a batch, and their batch axes."""
    trace = BatchTrace(current.trace, size, axis, name)
    inputs = [
        x if d is None else BatchTracer(trace, x, d)
        for x, d in zip(args, dims, strict=True)
    ]
    values: list[Any] = []
    out_dims: list[int | None] = []
    for out in trace.run(fun, inputs):
        mine = type(out) is BatchTracer and out.owner is trace
        values.append(out.value if mine else out)
        out_dims.append(out.dim if mine else None)
    return values, out_dims


def batch_jaxpr(
    jaxpr: Jaxpr,
    size: int,
    dims: tuple[int | None, ...],
    force: tuple[bool, ...] | None = None,
    axis: Any = None,
) -> tuple[Jaxpr, tuple[int | None, ...]]:
    """The program over a batch (memoise on the program), and its outputs' batch axes.

    Outputs that ``force`` masks get a batch axis in front in any case; with ``force``
    given, every batched output has it in front.
    """
    out_dims: list[int | None] = []

    def over_batch(*args: Any) -> list[Any]:
        outs, found = batch_flat(
            lambda *xs: run(jaxpr, xs), size, args, dims, axis, jaxpr.name
        )
        if force is not None:
            outs = [
                batched(size, x, d) if d is not None or f else x
                for x, d, f in zip(outs, found, force, strict=True)
            ]
            found = [
                0 if d is not None or f else None
                for d, f in zip(found, force, strict=True)
            ]
        out_dims[:] = found
        return outs

    types = [
        t if d is None else t.with_shape((*t.shape[:d], size, *t.shape[d:]))
        for t, d in zip(jaxpr.in_types, dims, strict=True)
    ]
    program = restage(over_batch, types, f"{jaxpr.name}_batched")
    return program, tuple(out_dims)

"""``jax.interpreters.batching``: rules of vmap."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import covector.numpy as cnp
from covector.compat.interpreters.tables import primitive_batchers
from covector.core.annotations import Value
from covector.core.convert import as_array
from covector.operations.broadcasting import batched, move_axis

#: the batch axis of what is not batched
not_mapped = None


class AxisData(NamedTuple):
    """The batch axis, as rules of ``fancy_primitive_batchers`` see it."""

    name: Any
    size: int
    spmd_name: Any = None


def broadcast(x: Any, sz: int, axis: int, mesh_axis: None = None) -> Value:
    """``x``, repeated along a new axis."""
    return batched(sz, as_array(x), None, axis)


def bdim_at_front(x: Any, bdim: int | None, size: int, mesh_axis: None = None) -> Value:
    """``x`` with its batch axis in front; it is repeated where it has none."""
    return batched(size, as_array(x), bdim)


def is_vmappable(x: Any) -> bool:
    """Whether vmap takes ``x`` apart by a rule of its class: there are no such rules
    here, and what vmap maps over are the leaves of pytrees.
    """
    return False


def defvectorized(prim: Any) -> None:
    """Set the rule of vmap of a primitive that acts on operands of one shape element by
    element.
    """

    def batch(args: Sequence[Any], dims: Sequence[Any], **params: Any) -> Any:
        to, size = _first_batch(args, dims)
        pairs = zip(args, dims, strict=True)
        out = prim.bind(*[batched(size, x, d, to) for x, d in pairs], **params)
        return out, _at(prim, out, to)

    primitive_batchers[prim] = batch


def defbroadcasting(prim: Any) -> None:
    """Set the rule of vmap of a primitive that acts element by element, and itself
    repeats operands along axes of size 1, and scalars.
    """

    def batch(args: Sequence[Any], dims: Sequence[Any], **params: Any) -> Any:
        # Batch axis in front, then the axes of the operand that has most of them.
        ndim = max([x.ndim - (d is not None) for x, d in zip(args, dims, strict=True)])
        values: list[Any] = []
        for x, d in zip(args, dims, strict=True):
            if d is not None:
                front = move_axis(x, d, 0)
                ones = (1,) * (ndim + 1 - x.ndim)
                values.append(
                    cnp.reshape(front, (front.shape[0], *ones, *front.shape[1:]))
                )
            else:
                values.append(x[None] if x.ndim else x)
        out = prim.bind(*values, **params)
        return out, _at(prim, out, 0)

    primitive_batchers[prim] = batch


def _first_batch(args: Sequence[Any], dims: Sequence[Any]) -> tuple[int, int]:
    """The batch axis of the first operand that has one, and the size of the batch."""
    return next(
        (d, x.shape[d]) for x, d in zip(args, dims, strict=True) if d is not None
    )


def _at(prim: Any, out: Any, axis: int) -> Any:
    """The batch axis of each result."""
    return [axis] * len(out) if prim.multiple_results else axis


def defreducer(prim: Any) -> None:
    """Set the rule of vmap of a primitive that reduces the axes in its ``axes``."""

    def batch(args: Sequence[Any], dims: Sequence[Any], *, axes: Any, **params: Any):
        (x,), (d,) = args, dims
        x = move_axis(x, d, 0)
        out = prim.bind(x, axes=tuple([a + 1 for a in axes]), **params)
        return out, _at(prim, out, 0)

    primitive_batchers[prim] = batch

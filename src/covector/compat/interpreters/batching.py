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
    _set_rule(prim, lambda size, x, d, ndim: batched(size, x, d))


def defbroadcasting(prim: Any) -> None:
    """Set the rule of vmap of a primitive that acts element by element, and itself
    repeats operands along axes of size 1, and scalars.
    """
    _set_rule(prim, _with_axes)


def _with_axes(size: int, x: Any, d: int | None, ndim: int) -> Any:
    """``x`` with its batch axis in front, then ``ndim`` axes."""
    if d is None:
        return x[None] if x.ndim else x
    lane = (*x.shape[:d], *x.shape[d + 1 :])
    ones = (1,) * (ndim - len(lane))
    return cnp.reshape(move_axis(x, d, 0), (size, *ones, *lane))


def defreducer(prim: Any) -> None:
    """Set the rule of vmap of a primitive that reduces the axes in its ``axes``."""
    _set_rule(
        prim,
        lambda size, x, d, ndim: batched(size, x, d),
        axes=lambda axes: tuple([a + 1 for a in axes]),
    )


def _set_rule(prim: Any, in_front: Any, **changes: Any) -> None:
    """Set the rule of vmap that binds a primitive again, with the batch axis in front.

    Args:
      in_front: an operand, of ``(size, operand, batch axis, most axes of a lane)``.
      changes: parameters, as functions of what they are for one lane.
    """

    def batch(args: Sequence[Any], dims: Sequence[Any], **params: Any) -> Any:
        pairs = list(zip(args, dims, strict=True))
        size = next(x.shape[d] for x, d in pairs if d is not None)
        ndim = max([x.ndim - (d is not None) for x, d in pairs])
        params |= {name: change(params[name]) for name, change in changes.items()}
        out = prim.bind(*[in_front(size, x, d, ndim) for x, d in pairs], **params)
        return out, [0] * len(out) if prim.multiple_results else 0

    primitive_batchers[prim] = batch

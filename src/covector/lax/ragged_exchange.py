"""``ragged_all_to_all``: participants send each other blocks of different lengths."""

from typing import Any

from covector import numpy as cnp
from covector.core.annotations import ArrayLike
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.errors import DTypeError, TypeMismatch
from covector.lax.named_axes import AxisName, IndexGroups
from covector.lax.parallel import all_gather, all_to_all, axis_size
from covector.numpy.promote import standard_promotion

__all__ = ["ragged_all_to_all"]


@standard_promotion
def ragged_all_to_all(
    operand: ArrayLike,
    output: ArrayLike,
    input_offsets: ArrayLike,
    send_sizes: ArrayLike,
    output_offsets: ArrayLike,
    recv_sizes: ArrayLike,
    *,
    axis_name: AxisName,
    axis_index_groups: IndexGroups = None,
) -> Array:
    """``output`` with the rows that all participants of a named axis send to this one.

    To participant j this one sends ``send_sizes[j]`` rows of ``operand`` from
    ``input_offsets[j]`` on; they are written to the ``output`` there from
    ``output_offsets[j]`` on.

    Args:
      operand: ``[n, ...]``. output: ``[m, ...]``, of the same type else.
      input_offsets, send_sizes, output_offsets: ``[p]`` integers, for p participants.
      recv_sizes: ``[p]``, how many rows each of them sends to this one.
      axis_index_groups: as for ``all_to_all``.

    Raises:
      TypeMismatch: shapes or dtypes do not fit. DTypeError: offsets are not integers.

    >>> import covector as cv
    >>> def send(x, start, sizes, there):
    ...     out = cnp.zeros(3, int)
    ...     return ragged_all_to_all(x, out, start, sizes, there, sizes, axis_name="i")
    >>> x = cnp.array([[1, 2, 3], [4, 5, 6]])
    >>> start, sizes = cnp.array([[0, 1], [0, 1]]), cnp.array([[1, 2], [1, 2]])
    >>> there = cnp.array([[0, 0], [1, 1]])
    >>> cv.vmap(send, axis_name="i")(x, start, sizes, there).tolist()
    [[1, 4, 0], [2, 5, 6]]
    """
    who = "ragged_all_to_all"
    rows, out = as_array(operand, who), as_array(output, who)
    if rows.shape[1:] != out.shape[1:] or not rows.ndim or rows.dtype != out.dtype:
        raise TypeMismatch(
            f"{who} needs rows of one type in the operand and the output, but got "
            f"{rows.type} and {out.type}."
        )
    tables = [input_offsets, send_sizes, output_offsets, recv_sizes]
    start, sizes, there, _ = (
        _table(who, x, axis_name, axis_index_groups) for x in tables
    )

    def exchanged(x: Array) -> Array:
        groups = axis_index_groups
        return all_to_all(x, axis_name, 0, 0, axis_index_groups=groups, tiled=True)

    start, sizes, there = exchanged(start), exchanged(sizes), exchanged(there)
    every = all_gather(rows, axis_name, axis_index_groups=axis_index_groups)
    row = cnp.arange(rows.shape[0]) - start[:, None]
    sent = (row >= 0) & (row < sizes[:, None])
    target = cnp.where(sent, row + there[:, None], out.shape[0])
    target = cnp.where(target < 0, out.shape[0], target)
    flat = every.reshape(-1, *rows.shape[1:])
    return out.at[target.reshape(-1)].set(flat, mode="drop")


def _table(who: str, x: Any, axis_name: AxisName, groups: IndexGroups) -> Array:
    """A number for each participant."""
    found = as_array(x, who)
    count = len(groups[0]) if groups else axis_size(axis_name)
    if found.dtype.kind not in "iu":
        raise DTypeError(
            f"{who} needs integer offsets and sizes, but got {found.type}."
        )
    if found.shape != (count,):
        raise TypeMismatch(
            f"{who} needs an offset and a size for each of {count} participants, but "
            f"got {found.type}."
        )
    return found

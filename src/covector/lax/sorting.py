"""Sorting of one array or several together, and ``top_k``."""

from collections.abc import Sequence
from typing import Any, overload

from covector.core import dtypes
from covector.core.annotations import ArrayLike, PyTree, with_parameters_of
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.errors import ArgumentError, DTypeKindError, TypeMismatch
from covector.numpy.axes import as_integer
from covector.operations.arithmetic import neg
from covector.operations.sorting import Sort
from covector.operations.top_k import TopK

__all__ = ["approx_max_k", "approx_min_k", "sort", "sort_key_val", "top_k"]


@overload
def sort(
    operand: ArrayLike, dimension: int = -1, is_stable: bool = True, num_keys: int = 1
) -> Array: ...
@overload
def sort(
    operand: Sequence[ArrayLike],
    dimension: int = -1,
    is_stable: bool = True,
    num_keys: int = 1,
) -> tuple[Array, ...]: ...
def sort(
    operand: Any, dimension: int = -1, is_stable: bool = True, num_keys: int = 1
) -> PyTree:
    """The elements along ``dimension`` in ascending order.

    −0 and 0 are equal, NaN is larger than all numbers, and complex numbers are ordered
    by their real parts, then by their imaginary parts.

    Args:
      operand: an array; or several of one shape, which move together. The first
        ``num_keys`` of them decide, one after the other.
      dimension: negative counts from the end.
      is_stable: elements that are equal keep their order.

    Returns:
      An array, or a tuple of as many as were given.

    Raises:
      TypeMismatch: shapes differ, there is no such axis, or are not so many keys.
      DTypeError: a key is neither of numbers nor of bools.

    >>> import covector.numpy as cnp
    >>> print(sort(cnp.array([3, 1, 2])))
    [1 2 3]
    >>> print(*sort((cnp.array([3, 1, 2]), cnp.array([0, 1, 2]))))
    [1 2 3] [1 2 0]

    See also: ``top_k``, ``covector.numpy.sort``, ``covector.numpy.argsort``.
    """
    several = isinstance(operand, Sequence)
    arrays = [as_array(x, "sort") for x in (operand if several else [operand])]
    if not arrays:
        raise TypeMismatch("sort needs at least one array, but got none.")
    dimension = as_integer("sort", dimension, "dimension")
    axis = dimension + arrays[0].type.ndim if dimension < 0 else dimension
    outs = Sort(axis, bool(is_stable), num_keys)(*arrays)
    return tuple(outs) if several else outs[0]


def sort_key_val(
    keys: ArrayLike, values: ArrayLike, dimension: int = -1, is_stable: bool = True
) -> tuple[Array, Array]:
    """Keys in ascending order along ``dimension``; values in the order of their keys.

    Args:
      keys, values: of one shape; ``values`` may be of any type.
      dimension: negative counts from the end.
      is_stable: values whose keys are equal keep their order.

    Raises:
      TypeMismatch: shapes differ, or there is no such axis.
      DTypeError: the keys are neither numbers nor bools.

    >>> import covector.numpy as cnp
    >>> print(*sort_key_val(cnp.array([3, 1, 2]), cnp.array([0.5, 1.5, 2.5])))
    [1 2 3] [1.5 2.5 0.5]
    """
    keys, values = sort((keys, values), dimension, is_stable)
    return keys, values


def top_k(operand: ArrayLike, k: int, *, axis: int = -1) -> tuple[Array, Array]:
    """The k largest elements along ``axis``, largest first, and their indices (int32).

    Of equal elements the first comes first; NaN comes before all numbers. For the k
    smallest, negate floats.

    Args:
      operand: ``[..., n, ...]``, real numbers or bools.
      k: how many; a Python integer of at most n.
      axis: the axis of length n; negative counts from the end.

    Returns:
      ``(values, indices)``, each with length k along ``axis``.

    Raises:
      TypeMismatch: there is no such axis, or are not k elements along it.
      DTypeError: the elements are neither real numbers nor bools.

    >>> import covector.numpy as cnp
    >>> print(*top_k(cnp.array([3.0, 1.0, 2.0]), 2))
    [3. 2.] [0 2]

    See also: ``sort``, ``covector.numpy.argsort``, ``argmax``.
    """
    x = as_array(operand, "top_k")
    found = TopK(as_integer("top_k", k, "k"), axis + x.type.ndim if axis < 0 else axis)(
        x
    )
    return found[0], found[1]


def approx_max_k(
    operand: ArrayLike,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> tuple[Array, Array]:
    """The k largest elements along an axis, largest first, and their indices (int32).

    They are all found, whatever part of them would be enough.

    Args:
      operand: floating-point numbers.
      reduction_dimension: the axis; negative counts from the end.
      recall_target: the part of the largest elements that must be found, at most 1.
      reduction_input_size_override, aggregate_to_topk: accepted, and without effect.

    Raises:
      TypeMismatch: there is no such axis, or are not k elements along it.
      DTypeKindError: the elements are no floating-point numbers.
      ArgumentError: the part is not between 0 and 1.

    >>> import covector.numpy as cnp
    >>> print(*approx_max_k(cnp.array([3.0, 1.0, 2.0]), 2))
    [3. 2.] [0 2]
    """
    del reduction_input_size_override, aggregate_to_topk
    x = as_array(operand, "approx_max_k")
    if not dtypes.is_floating(x.type.dtype):
        raise DTypeKindError(
            f"approx_max_k and approx_min_k need floating-point numbers, but got "
            f"{x.type}. For others there is top_k."
        )
    if not 0 < recall_target <= 1:
        raise ArgumentError(
            f"approx_max_k and approx_min_k: recall_target must be above 0 and at most "
            f"1, but is {recall_target}."
        )
    return top_k(x, k, axis=reduction_dimension)


@with_parameters_of(approx_max_k)
def approx_min_k(operand: Any, *args: Any, **options: Any) -> tuple[Array, Array]:
    """The k smallest elements along an axis, smallest first, and their indices (int32).

    Arguments are those of ``approx_max_k``.

    >>> import covector.numpy as cnp
    >>> print(*approx_min_k(cnp.array([3.0, 1.0, 2.0]), 2))
    [1. 2.] [1 2]
    """
    x = as_array(operand, "approx_min_k")
    largest, positions = approx_max_k(neg(x), *args, **options)
    return neg(largest), positions

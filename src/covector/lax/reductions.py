"""Reductions over axes, and the index of an extremum along an axis."""

from collections.abc import Callable, Sequence
from typing import Any

from covector import tree
from covector.core.annotations import ArrayLike, DTypeLike, PyTree
from covector.core.array_like import Array
from covector.core.convert import as_array, asked_dtype
from covector.core.flat import check_functions
from covector.core.sharding.as_sharding import ShardingLike
from covector.core.types import show_types
from covector.dispatch.debug_nans import as_one
from covector.errors import TypeMismatch
from covector.numpy.axes import as_integer
from covector.operations.argmax import Argmax, Argmin
from covector.operations.broadcasting import ReduceSum
from covector.operations.reductions import (
    ReduceAnd,
    ReduceMax,
    ReduceMin,
    ReduceOr,
    ReduceProd,
    ReduceXor,
)
from covector.programs.control_flow.reduce import combiner, initial_value, reduce_flat

__all__ = [
    "argmax",
    "argmin",
    "reduce",
    "reduce_and",
    "reduce_max",
    "reduce_min",
    "reduce_or",
    "reduce_prod",
    "reduce_sum",
    "reduce_xor",
]


def reduce(
    operands: PyTree,
    init_values: PyTree,
    computation: Callable[[Any, Any], Any],
    dimensions: Sequence[int],
    out_sharding: ShardingLike | None = None,
) -> PyTree:
    """The elements along ``dimensions`` combined into one by a Python function.

    Args:
      operands: an array, or a tree of arrays of one shape, reduced together.
      init_values: a scalar for each, from which the combination starts; it must not
        matter how often it is combined with.
      computation: takes two trees of scalars like ``operands`` and combines them into
        one. It must be associative: the order is left to the compiler.
      dimensions: axes, counted from 0.

    Raises:
      TypeMismatch: trees, shapes or dtypes do not go together.
      ConcretizationTypeError: the computation uses a traced value from outside.

    >>> import covector.numpy as cnp
    >>> x = cnp.array([[1.0, 2.0], [3.0, 4.0]])
    >>> print(reduce(x, 0.0, lambda a, b: cnp.sqrt(a * a + b * b), (1,)))
    [2.236068 5.      ]
    """
    structure, arrays, initial, program = combination(
        "reduce", operands, init_values, computation
    )
    outs = as_one(
        lambda *xs: reduce_flat(program, xs, initial, tuple(dimensions)), *arrays
    )
    return tree.unflatten(structure, outs)


def combination(
    who: str, operands: Any, init_values: Any, computation: Callable[[Any, Any], Any]
) -> tuple[Any, list[Any], list[Any], Any]:
    """The tree of the operands, they and the initial values flat, and the program that
    combines two scalars of each.
    """
    check_functions(who, computation=computation)
    leaves, structure = tree.flatten(operands)
    arrays = [as_array(x, who) for x in leaves]
    starts, found = tree.flatten(init_values)
    difference = tree.describe_difference(
        found, structure, ("the initial value", "the operand")
    )
    if difference or not arrays:
        raise TypeMismatch(
            f"{who} needs some operands, and an initial value for each of them, but "
            f"{difference or 'got none'}."
        )
    types = [x.type for x in arrays]
    if any([t.shape != types[0].shape for t in types]):
        raise TypeMismatch(
            f"{who} needs operands of one shape, but got {show_types(types)}."
        )
    initial = [initial_value(who, i, x) for i, x in zip(starts, arrays, strict=True)]
    program = combiner(who, computation, structure, [t.dtype for t in types])
    return structure, arrays, initial, program


def reduce_sum(
    operand: ArrayLike, axes: Sequence[int], *, out_sharding: ShardingLike | None = None
) -> Array:
    """The sum of the elements along ``axes``, in their dtype: integers wrap around.

    All of ``reduce_sum`` … ``reduce_xor`` take axes, and refuse others, in this way.

    Raises:
      TypeMismatch: ``axes`` are not different axes of the operand, counted from 0.
      DTypeError: the elements are not numbers.

    >>> import covector.numpy as cnp
    >>> print(reduce_sum(cnp.array([[1, 2], [3, 4]]), (0,)))
    [4 6]
    """
    return ReduceSum(tuple(axes))(as_array(operand, "reduce_sum"))


def reduce_prod(operand: ArrayLike, axes: Sequence[int]) -> Array:
    """The product of the elements along ``axes``, in their dtype, as ``reduce_sum``.

    >>> import covector.numpy as cnp
    >>> print(reduce_prod(cnp.array([[1, 2], [3, 4]]), (1,)))
    [ 2 12]
    """
    return ReduceProd(tuple(axes))(as_array(operand, "reduce_prod"))


def reduce_max(operand: ArrayLike, axes: Sequence[int]) -> Array:
    """The largest element along ``axes``: NaN if any is, −∞ of no elements.

    Complex numbers are ordered by their real, then by their imaginary parts. Elements
    that tie share the derivative evenly.

    Raises:
      DTypeError: the elements are neither numbers nor bools.

    >>> import covector.numpy as cnp
    >>> print(reduce_max(cnp.array([[1, 5], [3, 4]]), (0,)))
    [3 5]

    See also: ``argmax``, ``max`` of two arrays, ``covector.numpy.max``.
    """
    return ReduceMax(tuple(axes))(as_array(operand, "reduce_max"))


def reduce_min(operand: ArrayLike, axes: Sequence[int]) -> Array:
    """The smallest element along ``axes``: NaN if any is, ∞ of no elements.

    In all else as ``reduce_max``.

    >>> import covector.numpy as cnp
    >>> print(reduce_min(cnp.array([[1, 5], [3, 4]]), (0,)))
    [1 4]
    """
    return ReduceMin(tuple(axes))(as_array(operand, "reduce_min"))


def reduce_and(operand: ArrayLike, axes: Sequence[int]) -> Array:
    """The bits set in all elements along ``axes``; of bools, whether all are True.

    Raises:
      DTypeError: the elements are neither integers nor bools.

    >>> import covector.numpy as cnp
    >>> print(reduce_and(cnp.array([6, 12]), (0,)))
    4
    """
    return ReduceAnd(tuple(axes))(as_array(operand, "reduce_and"))


def reduce_or(operand: ArrayLike, axes: Sequence[int]) -> Array:
    """The bits set in any element along ``axes``; of bools, whether any is True.

    Of integers and bools, as ``reduce_and``.

    >>> import covector.numpy as cnp
    >>> print(reduce_or(cnp.array([6, 12]), (0,)))
    14
    """
    return ReduceOr(tuple(axes))(as_array(operand, "reduce_or"))


def reduce_xor(operand: ArrayLike, axes: Sequence[int]) -> Array:
    """The bits set in an odd number of elements along ``axes``.

    Of integers and bools, as ``reduce_and``.

    >>> import covector.numpy as cnp
    >>> print(reduce_xor(cnp.array([6, 12]), (0,)))
    10
    """
    return ReduceXor(tuple(axes))(as_array(operand, "reduce_xor"))


def argmax(operand: ArrayLike, axis: int, index_dtype: DTypeLike) -> Array:
    """The index of the largest element along ``axis``, the first if several are.

    NaN counts as larger than any number.

    Raises:
      TypeMismatch: there is no such axis (counted from 0), no element along it, or too
        many to be counted in ``index_dtype``.
      DTypeError: complex elements, or an ``index_dtype`` that is not of integers.

    >>> import covector.numpy as cnp
    >>> print(argmax(cnp.array([[1, 5, 5], [3, 4, 0]]), 1, "int32"))
    [1 1]

    See also: ``argmin``, ``top_k``, ``covector.numpy.argmax``.
    """
    axis = as_integer("argmax", axis, "axis")
    return Argmax(axis, asked_dtype(index_dtype))(as_array(operand, "argmax"))


def argmin(operand: ArrayLike, axis: int, index_dtype: DTypeLike) -> Array:
    """The index of the smallest element along ``axis``, the first if several are.

    NaN counts as smaller than any number. In all else as ``argmax``.

    >>> import covector.numpy as cnp
    >>> print(argmin(cnp.array([[1, 5, 1], [3, 4, 0]]), 1, "int32"))
    [0 2]
    """
    axis = as_integer("argmin", axis, "axis")
    return Argmin(axis, asked_dtype(index_dtype))(as_array(operand, "argmin"))

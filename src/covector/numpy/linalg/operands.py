"""What the functions of linear algebra ask of their operands, and of their results."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from covector.core.annotations import ArrayLike, Value
from covector.core.array import ConcreteArray
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.core.trace import current
from covector.core.types import show_types
from covector.errors import (
    ArgumentError,
    LinAlgError,
    NotSquare,
    TypeMismatch,
    how_many,
)
from covector.lowering.evaluate import base
from covector.numpy.promote import (
    broadcast_shapes,
    broadcast_to,
    inexact,
    promote_dtypes_inexact,
)
from covector.operations.transposing import Reshape

__all__ = []


def matrices(who: str, a: ArrayLike) -> Array:
    """A stack of matrices of floating-point or complex numbers."""
    x = inexact(who, as_array(a, who))
    check_matrix(who, x)
    return x


def square_matrices(who: str, a: ArrayLike) -> Array:
    """A stack of square matrices of floating-point or complex numbers."""
    x = matrices(who, a)
    check_square(who, x)
    return x


def two_operands(who: str, a: ArrayLike, b: ArrayLike) -> tuple[Array, Array]:
    """Matrices and right-hand sides, in one element type."""
    x, y = promote_dtypes_inexact(who, as_array(a, who), as_array(b, who))
    check_matrix(who, x)
    return x, y


def right_sides(who: str, x: Value, y: Value) -> tuple[Array, bool]:
    """Right-hand sides as matrices, and whether it was one vector.

    Raises:
      TypeMismatch: they have not as many rows as the matrices.
    """
    n, one = x.type.shape[-1], y.type.ndim == 1
    if not y.type.ndim or y.type.shape[-1 if one else -2] != n:
        raise TypeMismatch(
            f"{who} of {x.type} needs right-hand sides [{n}] or [..., {n}, m], but got "
            f"{y.type}."
        )
    return (Reshape((n, 1))(y) if one else y), one


def as_given(x: Array, one: bool) -> Array:
    """Solutions, as a vector where the right-hand side was one vector."""
    return Reshape(x.type.shape[:-1])(x) if one else x


def in_one_stack(who: str, *operands: Value) -> list[Array]:
    """Matrices with the axes in front broadcast to common ones."""
    stacks = [x.type.with_shape(x.type.shape[:-2]) for x in operands]
    stack = broadcast_shapes(who, stacks)
    return [broadcast_to(x, (*stack, *x.type.shape[-2:])) for x in operands]


def check_matrix(who: str, x: Value) -> None:
    """Raise unless there are two axes at least."""
    if x.type.ndim < 2:
        raise NotSquare(
            f"{who} needs matrices, with two axes at least, but got {x.type}."
        )


def check_square(who: str, x: Value) -> None:
    """Raise unless matrices are square."""
    if x.type.shape[-1] != x.type.shape[-2]:
        raise NotSquare(f"{who} needs square matrices, but got {show_types([x.type])}.")


def values_of(x: Value) -> Any:
    """The values of a result that is computed eagerly, or None.

    What other processes hold is not fetched.
    """
    if type(x) is ConcreteArray and current.trace is base:
        return x.host() if x.on_host() or x.is_fully_addressable else None
    return None


def refuse_nan(x: Value, problem: str) -> None:
    """Raise LinAlgError where a result that is known has NaN in it."""
    values = values_of(x)
    if values is not None and np.isnan(values).any():
        raise LinAlgError(problem)


def subset_of(who: str, chosen: tuple[int, int] | None, count: int) -> tuple[int, int]:
    """The first of the values that are asked for by index, and the end of them."""
    first, last = (0, count) if chosen is None else chosen
    if not 0 <= first <= last <= count:
        raise ArgumentError(
            f"{who} got subset_by_index={chosen}: it must be a first index and an end, "
            f"among {how_many(count, 'value')}."
        )
    return first, last


def singular_subset(
    outs: Sequence[Array], chosen: tuple[int, int] | None, full_matrices: bool
) -> Sequence[Array]:
    """What is asked for, by index, of U, S and Vᴴ, or of S alone."""
    if chosen is None:
        return outs
    if full_matrices and len(outs) > 1:
        raise ArgumentError(
            "svd gives a subset of the singular vectors or full matrices of them, not "
            "both: pass full_matrices=False."
        )
    s = outs[len(outs) // 2]
    part = slice(*subset_of("svd", chosen, s.type.shape[-1]))
    if len(outs) == 1:
        return [s[..., part]]
    return [outs[0][..., part], s[..., part], outs[2][..., part, :]]

"""Initializers that are orthogonal matrices."""

import math
from collections.abc import Sequence

import covector.numpy as cnp
from covector import random
from covector.core.annotations import ArrayLike, DType, DTypeLike, Value
from covector.core.array_like import Array
from covector.errors import TypeMismatch
from covector.nn.drawing import Initializer, initializer_of


def orthogonal(
    scale: ArrayLike = 1.0, column_axis: int = -1, dtype: DTypeLike | None = None
) -> Initializer:
    """``scale`` times an orthogonal matrix, all equally likely (Saxe et al. 2014).

    Args:
      column_axis: the axis of the outputs. All others together are the other axis of
        the matrix; the shorter of its rows and columns are orthonormal.

    Raises:
      TypeMismatch: the shape has less than two axes, or not that one.

    >>> from covector import random
    >>> w = orthogonal()(random.key(0), (4, 2))
    >>> bool(cnp.allclose(w.T @ w, cnp.eye(2), atol=1e-5))
    True
    """

    def draw(key: ArrayLike, shape: Sequence[int], kind: DType) -> Array:
        shape = tuple(shape)
        if len(shape) < 2 or not -len(shape) <= column_axis < len(shape):
            raise TypeMismatch(
                "orthogonal needs a shape with two axes or more, among them "
                f"column_axis={column_axis}, but got {shape}."
            )
        axis = column_axis % len(shape)
        rows, rest = shape[axis], shape[:axis] + shape[axis + 1 :]
        short, long = sorted([rows, math.prod(rest)])
        q = random.orthogonal(key, long, (), kind, short)
        w = q if rows > short else q.T
        return cnp.moveaxis(w.reshape(rows, *rest), 0, axis)

    return initializer_of(dtype, draw, scale)


def delta_orthogonal(
    scale: ArrayLike = 1.0, column_axis: int = -1, dtype: DTypeLike | None = None
) -> Initializer:
    """Kernels of convolutions that are an orthogonal matrix at their centre, else 0.

    For shapes ``[*window, inputs, outputs]`` of one to three axes of a window, with no
    more inputs than outputs (Xiao et al. 2018). Arguments are those of ``orthogonal``.

    Raises:
      TypeMismatch: the shape is another.

    >>> from covector import random
    >>> w = delta_orthogonal()(random.key(0), (3, 3, 2, 4))
    >>> bool(cnp.allclose(w[1, 1] @ w[1, 1].T, cnp.eye(2), atol=1e-5))
    True
    """
    at_centre = orthogonal(scale, column_axis)

    def draw(key: Value, shape: Sequence[int], kind: DType) -> Array:
        shape = tuple(shape)
        if not 3 <= len(shape) <= 5 or shape[-2] > shape[-1]:
            raise TypeMismatch(
                "delta_orthogonal needs a shape [*window, inputs, outputs] with one to "
                "three axes of a window and no more inputs than outputs, but got "
                f"{shape}."
            )
        centre = tuple([(n - 1) // 2 for n in shape[:-2]])
        return cnp.zeros(shape, kind).at[centre].set(at_centre(key, shape[-2:], kind))

    return initializer_of(dtype, draw)

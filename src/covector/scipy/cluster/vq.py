"""Vector quantization: points, and the nearest of some centres."""

from covector import namespaces
from covector.core.annotations import ArrayLike
from covector.core.array_like import Array
from covector.core.types import show_types
from covector.errors import TypeMismatch
from covector.numpy.linalg import norm
from covector.numpy.promote import promote_dtypes_inexact
from covector.numpy.reductions import min
from covector.numpy.searching import argmin

__all__ = ["vq"]
__dir__ = namespaces.completions(globals())


def vq(
    obs: ArrayLike, code_book: ArrayLike, check_finite: bool = True
) -> tuple[Array, Array]:
    """The nearest code for each observation, and how far it is.

    Args:
      obs: ``[m, n]``, or ``[m]`` for numbers.
      code_book: ``[k, n]`` or ``[k]``, with as many axes.
      check_finite: for SciPy's sake; nothing is checked.

    Returns:
      The indices of codes, ``[m]``, the first of those that are equally near; and
      the distances, floating point ``[m]``.

    Raises:
      TypeMismatch: the operands have not as many axes, 1 or 2, or the codes are of
        other length than the observations, or there are none.

    >>> import covector.numpy as cnp
    >>> codes, distances = vq(cnp.array([[1.0, 1.0], [4.0, 4.0]]), cnp.eye(2))
    >>> print(codes, distances)
    [0 0] [1. 5.]
    """
    x, centres = promote_dtypes_inexact("vq", obs, code_book)
    shapes = x.type.shape, centres.type.shape
    same = len(shapes[0]) == len(shapes[1]) and shapes[0][1:] == shapes[1][1:]
    if not same or len(shapes[0]) not in (1, 2) or not shapes[1][0]:
        raise TypeMismatch(
            "vq needs observations [m, n] and one code [k, n] at least, or [m] and "
            f"[k], but got {show_types([x.type, centres.type])}."
        )
    if len(shapes[0]) == 1:
        x, centres = x[:, None], centres[:, None]
    distances = norm(x[:, None] - centres[None], axis=-1)
    return argmin(distances, -1), min(distances, -1)

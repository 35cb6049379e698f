"""What changes no value, only how derivatives see it."""

from typing import TypeVar

from covector import tree
from covector.core import dtypes
from covector.core.array_like import Array
from covector.ops import identities

__all__ = ["stop_gradient"]

T = TypeVar("T")


def stop_gradient(x: T) -> T:
    """``x``, an array or a tree of arrays, as a constant: derivatives do not pass.

    What has no derivative anyway, integers and what is no array, stays as it is.

    >>> import covector as cv
    >>> cv.grad(lambda x: x * stop_gradient(x))(3.0).tolist()
    3.0
    """

    def stopped(leaf: object) -> object:
        if isinstance(leaf, Array) and dtypes.is_inexact(leaf.dtype):
            return identities.stop_gradient(leaf)
        return leaf

    return tree.map(stopped, x)

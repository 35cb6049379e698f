"""Identities that change derivatives or compilation, such as ``stop_gradient``."""

from typing import TypeVar

from covector import tree
from covector.core import dtypes
from covector.core.array_like import Array
from covector.core.flat import arrays
from covector.operations import barrier, identities

__all__ = ["optimization_barrier", "stop_gradient"]

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


def optimization_barrier(operand: T, /) -> T:
    """``operand``, a tree of arrays; the compiler does not optimise across it.

    All of it is computed before anything uses any of it, and what comes after is not
    found to be the same as something before, nor merged with it.

    >>> import covector.numpy as cnp
    >>> x, y = optimization_barrier((cnp.ones(2), 3.0))
    >>> print(x, y)
    [1. 1.] 3.0
    """
    leaves, structure = tree.flatten(operand)
    if not leaves:
        return operand
    outs = barrier.optimization_barrier(*arrays(leaves, "optimization_barrier"))
    return structure.unflatten(outs)

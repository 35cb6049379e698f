"""Identities that change derivatives or compilation, such as ``stop_gradient``.

A token is a value of which no use is made but to wait for it: a bool.
"""

from typing import TypeVar

from covector import tree
from covector.core import dtypes
from covector.core.annotations import ArrayLike
from covector.core.array_like import Array
from covector.core.convert import scalar
from covector.core.flat import arrays
from covector.errors import TypeMismatch
from covector.operations import barrier, identities

__all__ = [
    "after_all",
    "create_token",
    "dce_sink",
    "optimization_barrier",
    "stop_gradient",
]

T = TypeVar("T")


def stop_gradient(x: T) -> T:
    """``x`` as a constant of derivatives: its gradient is 0.

    Use it for targets, baselines and other values that a loss uses but must not change.
    It acts in forward and reverse mode. What has no derivative anyway, integers and
    what is not an array, stays as it is.

    Args:
      x: an array, or a tree of them.

    Returns:
      The same values.

    >>> import covector as cv
    >>> cv.grad(lambda x: x * stop_gradient(x))(3.0).tolist()
    3.0

    See also: ``covector.custom_vjp`` to give another gradient than 0.
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


def dce_sink(val: object, *, prevent_mlir_dce: bool = False) -> None:
    """Use ``val``, a tree of arrays: what it needs is not dropped from programs here.

    Equations whose results nobody reads are dropped before a program is compiled. Those
    of ``val`` are not, so that a dump or a pass over the program finds them. XLA may
    still drop what no result of the program needs.

    Args:
      prevent_mlir_dce: taken, and without effect: no pass over MLIR drops anything.

    >>> import covector as cv, covector.numpy as cnp
    >>> "sine" in cv.jit(lambda x: dce_sink(cnp.sin(x))).lower(1.0).as_text()
    True
    """
    barrier.dce_sink(*arrays(tree.leaves(val), "dce_sink"))


def create_token(_: object = None) -> Array:
    """A token that waits for nothing. The argument is not looked at.

    >>> token = create_token()
    >>> x, token = optimization_barrier((2.0, token))  # x is there before the token is
    """
    return barrier.optimization_barrier(scalar(False, dtypes.bool_))[0]


def after_all(*operands: ArrayLike) -> Array:
    """A token that waits for all of these tokens.

    Raises:
      TypeMismatch: one of them is not a token.

    >>> both = after_all(create_token(), create_token())
    """
    tokens = arrays(operands, "after_all")
    for token in tokens:
        if token.type.shape or token.type.dtype is not dtypes.bool_:
            raise TypeMismatch(
                "after_all needs tokens, as create_token makes them, but got "
                f"{token.type}. optimization_barrier waits for arrays."
            )
    return optimization_barrier((*tokens, create_token()))[-1]

"""Greatest common divisors and least common multiples, of integers only."""

from functools import lru_cache
from typing import Any

import numpy as np

from covector.core import dtypes
from covector.core.annotations import ArrayLike, Value
from covector.core.array_like import Array
from covector.core.convert import scalar
from covector.core.staging import stage
from covector.core.types import ArrayType
from covector.errors import DTypeError
from covector.numpy.fuse import fuse
from covector.numpy.promote import broadcast_to, promote
from covector.operations.arithmetic import div, mul, rem
from covector.operations.casting import convert
from covector.operations.comparison import eq, ne
from covector.operations.magnitude import abs_
from covector.operations.reductions import ReduceOr
from covector.operations.selection import where
from covector.programs.control_flow.while_loop import While

__all__ = ["gcd", "lcm"]


def gcd(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The greatest common divisor of |x| and |y|; of 0 and y it is |y|.

    Raises:
      DTypeError: the operands are not integers.

    >>> import covector.numpy as cnp
    >>> print(gcd(cnp.array([12, 18, 0]), 8))
    [4 2 8]
    """
    return _gcd(*_integers("gcd", x1, x2))


def lcm(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The least common multiple of |x| and |y|, integers; of 0 and y it is 0.

    >>> import covector.numpy as cnp
    >>> print(lcm(cnp.array([4, 6, 0]), 10))
    [20 30  0]
    """
    return _lcm(*_integers("lcm", x1, x2))


def _integers(who: str, x1: ArrayLike, x2: Any) -> tuple[Array, ...]:
    x, y = promote(who, x1, x2)
    if not dtypes.is_integer(x.type.dtype):
        raise DTypeError(f"{who} needs integers, but got {x.type} and {y.type}.")
    return x, y


@fuse(host=np.gcd)
def _gcd(x: Value, y: Value) -> Array:
    dtype, weak = x.type.dtype, x.type.weak and y.type.weak
    x, y = _magnitude(x), _magnitude(y)
    shape = x.type.shape or y.type.shape
    x, y = broadcast_to(x, shape), broadcast_to(y, shape)
    return convert(_euclid(x.type)(x, y)[0], dtype, weak)


@lru_cache
def _euclid(type: ArrayType) -> While:
    """(x, y) → (y, x rem y) for as long as some y is not 0: x is the divisor then."""
    zero = scalar(0, type.dtype, True)

    def going(x: Value, y: Value) -> list[Array]:
        return [ReduceOr(tuple(range(type.ndim)))(ne(y, zero))]

    def step(x: Value, y: Value) -> list[Array]:
        done = eq(y, zero)
        return [where(done, x, y), where(done, zero, rem(x, y))]

    programs = [stage(f, [type, type], "gcd").jaxpr for f in (going, step)]
    return While(*programs, cond_nconsts=0, body_nconsts=0)


@fuse(host=np.lcm)
def _lcm(x: Value, y: Value) -> Array:
    dtype, weak = x.type.dtype, x.type.weak and y.type.weak
    x, y, divisor = (_magnitude(n) for n in (x, y, _gcd(x, y)))
    one, zero = (scalar(n, divisor.type.dtype, True) for n in (1, 0))
    multiple = mul(div(x, where(eq(divisor, zero), one, divisor)), y)
    return convert(multiple, dtype, weak)


def _magnitude(x: Value) -> Array:
    """|x| in the unsigned dtype; that of the smallest integer fits no other."""
    return convert(abs_(x), np.dtype(f"u{x.type.dtype.itemsize}"))

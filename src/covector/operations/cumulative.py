"""Cumulative results along an axis: entry k combines the elements 0 to k.

    Cumsum  Cumprod  Cummax  Cummin  Cumlogsumexp          from the end when ``reverse``

``Cumsum`` is linear, and its adjoint runs the other way. The others are differentiated
as a tree of their combining operation (``tree_reduce``): no element is divided by, and
elements that tie share. On CPUs they are loops (``cumulative_loops``), elsewhere trees.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from covector.core import dtypes
from covector.core.annotations import Batched, DType, HostArray, Value, Values
from covector.core.primitive import Linearized, Operand, Primitive, operation
from covector.core.types import ArrayType
from covector.core.work import Work
from covector.errors import DTypeError, TypeMismatch
from covector.lowering.spelling import HloResults, HloValue
from covector.operations.arithmetic import add, mul
from covector.operations.casting import convert
from covector.operations.cumulative_loops import lower_on_cpu
from covector.operations.extrema import max_, min_
from covector.operations.logaddexp import logaddexp
from covector.operations.reductions import highest, is_short_float, lowest
from covector.operations.transposing import Rev
from covector.operations.tree_reduce import Combine, primal_only, scan, with_jvp

if TYPE_CHECKING:
    from covector.lowering.module import Lowering


@operation
class Cumulative(Primitive):
    """The elements up to each index along ``axis`` combined; or from it on."""

    axis: int
    reverse: bool = False

    #: the associative operation on two elements, and what accumulates it in NumPy
    combine = add
    ufunc = np.add
    accepts = staticmethod(dtypes.is_numeric)
    accepted = "numbers"
    #: whether floats of 16 bits or fewer are combined in float32
    widens = True
    not_on_host = dtypes.SUB_BYTE

    def identity(self, dtype: DType) -> Any:
        """The identity of the combination."""
        raise self._missing("identity", "accumulating", [])

    def type_rule(self, x: ArrayType) -> Sequence[ArrayType]:
        if not self.accepts(x.dtype):
            raise DTypeError(f"{self.name} needs {self.accepted}, but got {x}.")
        if not 0 <= self.axis < x.ndim:
            raise TypeMismatch(
                f"{self.name} along axis {self.axis} of {x}: it must be an axis of the "
                "operand, counted from 0."
            )
        return (x,)

    def on_host(self, x: HostArray) -> HostArray:
        wide = np.float32 if self.widens and is_short_float(x.dtype) else x.dtype
        if not self.reverse:
            return self.ufunc.accumulate(x, self.axis, wide).astype(x.dtype, copy=False)
        key = (slice(None),) * self.axis + (slice(None, None, -1),)
        out = self.ufunc.accumulate(x[key], self.axis, wide)
        return out.astype(x.dtype, copy=False)[key]

    def linearize(self, active: Sequence[bool], x: Value) -> Linearized:
        out, push = self.by_tree(with_jvp(self.combine), x)
        return (out,), lambda dx: (push(dx),)

    def by_tree(self, combine: Combine, x: Value) -> tuple[Any, Any]:
        """The result by a tree of combinations, and the pushforward."""
        if not self.reverse:
            return scan(combine, x, self.axis)
        turn = Rev((self.axis,))
        out, push = scan(combine, turn(x), self.axis)
        return turn(out), lambda dx: turn(push(turn(dx)))

    def batch(self, size: int, args: Values, dims: Sequence[int]) -> Batched:
        (x,), (dim,) = args, dims
        axis = self.axis + (dim <= self.axis)
        return (type(self)(axis, self.reverse)(x),), dims

    def work(self, types: Sequence[ArrayType], outs: Sequence[ArrayType]) -> Work:
        (x,) = types
        lanes = x.size // max(x.shape[self.axis], 1)
        return self.combine.each.times(x.size - lanes)

    def lower(self, ctx: "Lowering", x: HloValue) -> HloResults:
        (type_,) = ctx.in_types
        if self.widens and is_short_float(type_.dtype):
            wide = dtypes.float32
            return ctx.through(
                lambda x: [convert(self(convert(x, wide)), type_.dtype)], x
            )
        if int(type_.shape[self.axis]) < 2 or not int(type_.size):
            return x
        if ctx.platform == "cpu" or type(type_.size) is not int:
            return lower_on_cpu(self, ctx, x)
        return ctx.through(lambda x: [self.by_tree(primal_only(self.combine), x)[0]], x)


class Cumsum(Cumulative):
    """The sum of the elements up to each index; integers wrap around."""

    combine = add

    def identity(self, dtype: DType) -> Any:
        return -0.0 if dtypes.is_floating(dtype) else 0  # 0.0 + -0.0 is 0.0

    def linearize(self, active: Sequence[bool], x: Value) -> Linearized:
        return (self(x),), lambda dx: (self(dx),)

    def transpose(self, cotangents: Values, x: Operand) -> Sequence[Value | None]:
        return [Cumsum(self.axis, not self.reverse)(cotangents[0])]


class Cumprod(Cumulative):
    """The product of the elements up to each index; integers wrap around."""

    combine = mul
    ufunc = np.multiply

    def identity(self, dtype: DType) -> Any:
        return 1


class _Extreme(Cumulative):
    """An extreme element up to each index; NaN from the first NaN on.

    Complex numbers are ordered by their real parts, then by their imaginary parts.
    Where two parts of the tree tie, each has the partial derivative ½.
    """

    widens = False


class Cummax(_Extreme):
    """The largest element up to each index."""

    combine, ufunc = max_, np.maximum

    def identity(self, dtype: DType) -> Any:
        return lowest(dtype)


class Cummin(_Extreme):
    """The smallest element up to each index."""

    combine, ufunc = min_, np.minimum

    def identity(self, dtype: DType) -> Any:
        return highest(dtype)


class Cumlogsumexp(Cumulative):
    """The logarithm of the sum of the exponentials up to each index."""

    combine = logaddexp
    ufunc = np.logaddexp
    not_on_host = Cumulative.not_on_host.union(dtypes.COMPLEX)
    accepts = staticmethod(dtypes.is_inexact)
    accepted = "floating-point or complex numbers"

    def identity(self, dtype: DType) -> Any:
        return -np.inf

"""Softmax and its relatives, standardization, and labels as unit vectors."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Literal, overload

import numpy as np

import covector.numpy as cnp
from covector import lax, options
from covector.core import dtypes
from covector.core.annotations import ArrayLike, DType, DTypeLike, HostArray, Value
from covector.core.array_like import Array
from covector.core.convert import as_array, asked_dtype
from covector.errors import TypeMismatch
from covector.numpy.axes import as_count, canonical_axes, canonical_axis
from covector.numpy.fuse import fuse
from covector.numpy.promote import broadcast_shapes, inexact
from covector.numpy.reduction_base import reduce
from covector.numpy.reductions import MAXIMUM
from covector.numpy.xp_function import XpArray, xp_function
from covector.operations.arithmetic import div
from covector.operations.broadcasting import ReduceSum
from covector.operations.reductions import ReduceMaxOfNumbers
from covector.operations.transcendental import exp
from covector.operations.windows import wide
from covector.programs.custom_rules.custom_derivative import custom_jvp
from covector.transforms.derivatives import jvp

__all__ = [
    "log_softmax",
    "logmeanexp",
    "logsumexp",
    "one_hot",
    "softmax",
    "standardize",
]

Axis = Any


#: A maximum that may miss NaN: where there is NaN, what is left of it is NaN anyway.
_LARGEST = replace(MAXIMUM, operation=ReduceMaxOfNumbers)


def _largest(x: Value, axis: Axis, where: ArrayLike | None) -> Array:
    """The largest element, as a constant; the lowest there is of none.

    Nothing infinite stands in for what does not count, where one looks for infinities.
    """
    lowest = -np.inf if where is None else cnp.finfo(x.dtype).min
    return reduce(_LARGEST, lax.stop_gradient(x), axis, True, lowest, where)


def _finite(top: Value) -> Array:
    """``top``, or 0 where that is infinite: then nothing is subtracted."""
    return cnp.where(cnp.isfinite(top), top, 0)


def _below_infinity(top: Value) -> Array:
    """``top``, or the largest finite number below inf. Where ``top`` is −inf, so are
    all elements, and the result is NaN in any case.

    XLA:CPU computes a softmax in one kernel, in which it cannot choose.
    """
    return cnp.minimum(top, cnp.array(cnp.finfo(top.dtype).max, top.dtype))


def _shifted(
    x: Value, axis: Axis, where: ArrayLike | None, bounded: Callable[[Any], Array]
) -> tuple[Array, Array]:
    """``x`` less its largest element, which is ``bounded``, or 0 where it does not
    count; and that element.

    What does not count is taken out before the exponential: behind it, its derivative
    would be 0 · ∞.
    """
    if where is not None:
        x = cnp.where(where, x, 0)
    top = _largest(cnp.real(x), axis, where)
    shifted = x - bounded(top).astype(x.dtype)
    top = top.astype(x.dtype)
    return (shifted if where is None else cnp.where(where, shifted, 0)), top


def _softmax_on_host(x: HostArray, *, axes: tuple[int, ...]) -> HostArray:
    """``_softmax`` of NumPy arrays."""
    top: Any = np.maximum.reduce(x.real, axis=axes, keepdims=True, initial=-np.inf)
    top = np.minimum(top, np.asarray(cnp.finfo(top.dtype).max, top.dtype))
    powers = exp.on_host(x - top.astype(x.dtype))
    return div.on_host(powers, ReduceSum(axes).on_host(powers).reshape(top.shape))


@fuse(host=_softmax_on_host)
def _softmax(x: Value, *, axes: tuple[int, ...]) -> Array:
    """The softmax of all elements."""
    powers = cnp.exp(_shifted(x, axes, None, _below_infinity)[0])
    return powers * _inverse(cnp.sum(powers, axes, keepdims=True))


def _inverse(total: Value) -> Array:
    """1 / total, which is multiplied by: XLA writes a division so in any case, but not
    the derivative of one, which reads its result and its operand.
    """
    return 1 / total


def softmax(x: ArrayLike, axis: Axis = -1, where: ArrayLike | None = None) -> Array:
    """Probabilities in proportion to eˣ, exp(x) / Σ exp(x), computed without overflow.

    Args:
      x: logits; integers are promoted to floats.
      axis: the axis, or axes, of the sum: the last one by default; None for all.
      where: the elements that count, broadcast against ``x``; others are 0 in the
        result, and get no gradient. Where none counts, all are 0.

    Returns:
      Like ``x``. It adds up to 1 along ``axis``; NaN where all elements are −inf.

    Raises:
      AxisError: ``x`` has no such axis.

    >>> softmax(cnp.zeros(4)).tolist()
    [0.25, 0.25, 0.25, 0.25]

    See also: ``log_softmax``, which is more accurate than the logarithm of this;
    ``logsumexp``.
    """
    x = inexact("softmax", x)
    if where is None:
        return _softmax(x, axes=canonical_axes("softmax", axis, x.type.ndim))
    powers = cnp.exp(_shifted(x, axis, where, _below_infinity)[0])
    powers = cnp.where(where, powers, 0)
    total = cnp.sum(powers, axis, keepdims=True)
    return powers * _inverse(cnp.where(total == 0, 1, total))


def log_softmax(x: ArrayLike, axis: Axis = -1, where: ArrayLike | None = None) -> Array:
    """The logarithm of ``softmax``, accurate also where that is small.

    Use it for a cross entropy: the logarithm of a softmax that rounds to 0 is −inf.

    Args:
      x: logits; integers are promoted to floats.
      axis: the axis, or axes, of the sum: the last one by default; None for all.
      where: the elements that count; others are −inf in the result. Do not multiply
        them by a mask, for 0 · −inf is NaN: select.

    Returns:
      Like ``x``, at most 0.

    Raises:
      AxisError: ``x`` has no such axis.

    >>> round(float(log_softmax(cnp.zeros(4))[0]), 4)
    -1.3863

    See also: ``softmax``, ``logsumexp``.
    """
    x = inexact("log_softmax", x)
    shifted, _ = _shifted(x, axis, where, _below_infinity)
    total = cnp.sum(cnp.exp(shifted), axis, where=where, keepdims=True)
    if where is None:
        return shifted - cnp.log(total)
    result = shifted - cnp.log(cnp.where(total == 0, 1, total))
    return cnp.where(where, result, -np.inf)


@overload
def logsumexp(
    a: ArrayLike,
    axis: Axis = None,
    b: ArrayLike | None = None,
    keepdims: bool = False,
    return_sign: Literal[False] = False,
    where: ArrayLike | None = None,
) -> Array: ...
@overload
def logsumexp(
    a: ArrayLike,
    axis: Axis = None,
    b: ArrayLike | None = None,
    keepdims: bool = False,
    *,
    return_sign: Literal[True],
    where: ArrayLike | None = None,
) -> tuple[Array, Array]: ...
def logsumexp(
    a: ArrayLike,
    axis: Axis = None,
    b: ArrayLike | None = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: ArrayLike | None = None,
) -> Any:
    """log(Σ b · exp(a)) over an axis or axes, computed without overflow.

    Args:
      a: ``[..., n, ...]``; integers are promoted to floats.
      axis: the axis, or axes, of the sum; all by default (``softmax`` takes the last).
      b: factors, broadcast against ``a``. Where the sum is negative, the result is NaN
        unless ``return_sign``.
      keepdims: keep the axes of the sum, with length 1.
      return_sign: return the log of the absolute value, and the sign of the sum.
      where: the elements that count. Where none does, the result is −inf.

    The derivative is ``softmax(a)``; where the largest elements are infinite, they
    share it and the others have none.

    Returns:
      Without these axes, or with them at length 1; with ``return_sign`` a pair.

    Raises:
      AxisError: ``a`` has no such axis.

    >>> round(float(logsumexp(cnp.zeros(4))), 4)
    1.3863

    See also: ``log_softmax``, ``covector.numpy.logaddexp``.
    """
    a = inexact("logsumexp", a)
    if b is not None:
        b = as_array(b, "logsumexp")
        broadcast_shapes("logsumexp", [a.type, b.type])  # raises where they do not fit
        where = b != 0 if where is None else cnp.logical_and(where, b != 0)
    if b is None and where is None and not return_sign:
        outs = [_log_sum(a, canonical_axes("logsumexp", axis, a.ndim))]
    else:
        outs = [x for x in _careful(a, axis, b, where, return_sign) if x is not None]
    if not keepdims:
        outs = [cnp.squeeze(x, axis) for x in outs]
    return tuple(outs) if return_sign else outs[0]


@partial(custom_jvp, nondiff_argnums=(1,))
def _log_sum(a: Value, axes: tuple[int, ...]) -> Array:
    """``_careful`` of one array, for its value: the derivatives are those of that."""
    shifted, top = _shifted(a, axes, None, _finite)
    total = cnp.sum(cnp.exp(shifted), axes, keepdims=True)
    return cnp.log(total) + _finite(top)


@_log_sum.defjvp
def _log_sum_jvp(axes: tuple[int, ...], primals: Any, tangents: Any) -> Any:
    return jvp(lambda a: _careful(a, axes, None, None, False)[0], primals, tangents)


def _careful(
    a: Value, axis: Axis, b: Value | None, where: ArrayLike | None, signed: bool
) -> tuple[Array, Array | None]:
    """The log of |Σ b · exp(a)|, and the sign of the sum.

    Its derivatives are right where the sum is 0 or infinite, too.
    """
    shifted, top = _shifted(a, axis, where, _finite)
    largest = _finite(top)
    if b is None and not dtypes.is_complex(a.dtype):
        shifted = _from_infinity(shifted, lax.stop_gradient(a), top)
        largest = cnp.where(cnp.isinf(top), top, largest)
    powers = cnp.exp(shifted)
    if where is not None:
        powers = cnp.where(where, powers, 0)
    if b is not None:
        powers = powers * b
    total = cnp.sum(powers, axis, keepdims=True)
    sign = cnp.where(largest == -np.inf, 0, cnp.sign(total)) if signed else None
    if signed:
        total = cnp.abs(total)
    return (cnp.log(total) if where is None else _log(total)) + largest, sign


@custom_jvp
def _from_infinity(shifted: Value, a: Value, top: Value) -> Array:
    """``shifted``, but where the largest element is infinite: 0 for those that are the
    same, NaN for those that are, and so low that the exponential is 0 for others.

    It moves with ``shifted`` everywhere: elements that are the same share the
    derivative of the sum, as equal ones do, and others multiply theirs by 0.
    """
    lowest = cnp.array(cnp.finfo(a.dtype).min, a.dtype)
    others = cnp.where(cnp.isnan(a), a, lowest)
    return cnp.where(cnp.isinf(top), cnp.where(a == top, 0, others), shifted)


@_from_infinity.defjvp
def _from_infinity_jvp(primals: Any, tangents: Any) -> Any:
    return _from_infinity(*primals), tangents[0]


def _log(total: Value) -> Array:
    """The logarithm, which does not move at 0: there nothing counts."""
    nothing = total == 0
    at_zero = cnp.log(lax.stop_gradient(total))
    return cnp.where(nothing, at_zero, cnp.log(cnp.where(nothing, 1, total)))


def logmeanexp(
    x: ArrayLike,
    axis: Axis = None,
    where: ArrayLike | None = None,
    keepdims: bool = False,
) -> Array:
    """The log of the mean of exp(x) over an axis or axes.

    >>> float(logmeanexp(cnp.zeros(4)))
    0.0
    """
    x = inexact("logmeanexp", x)
    counted = (
        cnp.ones_like(x) if where is None else cnp.where(where, cnp.ones_like(x), 0)
    )
    count = cnp.sum(counted, axis, keepdims=keepdims)
    return logsumexp(x, axis, where=where, keepdims=keepdims) - cnp.log(count)


def standardize(
    x: ArrayLike,
    axis: Axis = -1,
    mean: ArrayLike | None = None,
    variance: ArrayLike | None = None,
    epsilon: ArrayLike = 1e-5,
    where: ArrayLike | None = None,
    *,
    algorithm: str = "fast",
) -> Array:
    """(x − mean) / √(variance + epsilon) over an axis or axes: mean 0 and variance 1.

    Args:
      x: ``[..., n, ...]``; integers are promoted to floats.
      axis: the axis, or axes, of mean and variance; the last one by default.
      mean, variance: computed over ``axis`` where they are not given.
      epsilon: keeps the result finite where all elements are equal.
      where: the elements that count for mean and variance.
      algorithm: of the variance: "fast" as E[x²] − E[x]², "stable" from the
        differences.

    >>> standardize(cnp.array([1.0, 3.0]), epsilon=0.0).tolist()
    [-1.0, 1.0]
    """
    if algorithm not in ("fast", "stable"):
        raise TypeMismatch(
            f"standardize: algorithm is 'fast' or 'stable', but got {algorithm!r}."
        )
    x = inexact("standardize", x)
    counted = x if where is None else cnp.where(where, x, 0)
    if mean is None:
        mean = cnp.mean(counted, axis, keepdims=True, where=where)
    if variance is None and algorithm == "stable":
        squares = cnp.square(counted - mean)
        variance = cnp.mean(squares, axis, keepdims=True, where=where)
    elif variance is None:
        square = cnp.mean(cnp.square(counted), axis, keepdims=True, where=where)
        variance = cnp.maximum(square - cnp.square(mean), 0)
    return (x - mean) * lax.rsqrt(as_array(variance) + epsilon)


def one_hot(
    x: Any,
    num_classes: int,
    *,
    dtype: DTypeLike | None = None,
    axis: int = -1,
) -> Array:
    """Class indices as unit vectors; zeros for an index that is not a class.

    A negative index is not a class either: it does not count from the end.

    Args:
      x: ``[...]`` integers, or a list of them.
      num_classes: the length of the vectors.
      dtype: of the result; by default the default floating-point one.
      axis: where the new axis of length ``num_classes`` stands in the result.

    Returns:
      ``[..., num_classes]``, or with the new axis elsewhere.

    Raises:
      ArgumentError: ``num_classes`` is not an integer, or negative.
      AxisError: the result has no such axis.

    >>> one_hot(cnp.array([1, 0]), 2).tolist()
    [[0.0, 1.0], [1.0, 0.0]]

    See also: ``covector.numpy.take_along_axis`` to pick elements without the vectors.
    """
    num_classes = as_count("one_hot", num_classes, "num_classes")
    if type(x) is int:  # no class stays none, however far away
        x = min(max(x, -1), num_classes)
    x = cnp.asarray(x) if isinstance(x, list | tuple) else as_array(x, "one_hot")
    if not dtypes.is_inexact(x.dtype):
        x = wide(x)  # a short dtype may not have the numbers of all classes
    wanted = dtype or dtypes.default_float(options.current().enable_x64)
    return _unit_vectors(
        x,
        count=num_classes,
        at=canonical_axis("one_hot", axis, x.type.ndim + 1),
        dtype=asked_dtype(wanted),
    )


@xp_function
def _unit_vectors(xp: Any, x: XpArray, *, count: int, at: int, dtype: DType) -> Any:
    """For each number the vector of so many zeros, along a new axis, and a one."""
    rest = (1,) * (x.ndim - at)
    classes = xp.arange(count, dtype=x.dtype).reshape((count, *rest))
    return (x.reshape((*x.shape[:at], 1, *x.shape[at:])) == classes).astype(dtype)

"""Cosine transforms of the types 1 to 4, along one axis or several.

With N elements x[j], and all sums over j = 0 … N − 1 unless another range is given:

    type 1    y[k] = x[0] + (−1)ᵏ x[N−1] + 2 Σ_{0 < j < N−1} x[j] cos(πjk / (N−1))
    type 2    y[k] = 2 Σ x[j] cos(π(2j + 1) k / 2N)
    type 3    y[k] = x[0] + 2 Σ_{j > 0} x[j] cos(πj(2k + 1) / 2N)
    type 4    y[k] = 2 Σ x[j] cos(π(2j + 1) (2k + 1) / 4N)

Up to a factor, 2N or for type 1 2(N − 1), type 3 is the inverse of type 2, and the
others are their own inverses. Each is a Fourier transform of the same or twice the
length (J. Makhoul, A fast cosine transform in one and two dimensions, 1980).
"""

import math
from collections.abc import Sequence

import numpy as np

from covector.core import dtypes
from covector.core.annotations import ArrayLike, Axes, HostArray, ShapeLike, Value
from covector.core.array import from_host
from covector.core.array_like import Array
from covector.errors import ArgumentError
from covector.numpy.axes import known_length
from covector.numpy.axis_order import flip, moveaxis
from covector.numpy.concatenation import concatenate
from covector.numpy.fft import fft, irfft, rfft
from covector.numpy.fft.transforms import (
    asked_axes,
    asked_lengths,
    check_lengths,
    check_norm,
    resized,
)
from covector.numpy.filling import zeros_like
from covector.numpy.promote import single_or_double
from covector.operations.complex import complex_, imag, real
from covector.operations.tree_reduce import interleave

__all__ = ["dct", "dctn", "idct", "idctn"]


def dct(
    x: ArrayLike,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
) -> Array:
    """The cosine transform of the ``type`` 1, 2, 3 or 4 along ``axis``.

    Args:
      x: real numbers; of complex ones both parts are transformed.
      n: the length of the signal: ``x`` is cut off there, or padded with zeros.
      norm: what divides: ``"backward"`` or None: the inverse transform, by 2n (by
        2 (n − 1) for type 1); ``"forward"``: this one; ``"ortho"``: both, by the square
        root, and the first element (of type 1, the first and the last) has another
        weight, so that the matrix of the transform is orthogonal.

    Returns:
      n elements along ``axis``, float32 or float64, or complex.

    Raises:
      ArgumentError: there is no such type or norm; n is less than 1, of type 1 than 2.

    >>> import covector.numpy as cnp
    >>> print(dct(cnp.array([1.0, 2.0, 3.0])).round(3))
    [12.    -3.464 -0.   ]
    """
    return _along_axes("dct", x, type, _one_length(n), (axis,), norm)


def idct(
    x: ArrayLike,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
) -> Array:
    """The inverse of ``dct`` with the same arguments.

    >>> import covector.numpy as cnp
    >>> print(idct(dct(cnp.array([1.0, 2.0, 3.0]))).round(3))
    [1. 2. 3.]
    """
    return _along_axes("idct", x, type, _one_length(n), (axis,), norm)


def dctn(
    x: ArrayLike,
    type: int = 2,
    s: ShapeLike | None = None,
    axes: Axes = None,
    norm: str | None = None,
) -> Array:
    """The cosine transform along several axes, one after the other.

    Args:
      s: the lengths of the signal along ``axes``, by default those of ``x``, for which
        −1 stands too.
      axes: axes that differ; None stands for all, or for the last ones where ``s`` is
        given.
      type, norm: as in ``dct``, whose errors there are.

    >>> import covector.numpy as cnp
    >>> print(dctn(cnp.array([[1.0, 2.0], [3.0, 4.0]])).round(3))
    [[ 40.     -5.657]
     [-11.314   0.   ]]
    """
    return _along_axes("dctn", x, type, s, axes, norm)


def idctn(
    x: ArrayLike,
    type: int = 2,
    s: ShapeLike | None = None,
    axes: Axes = None,
    norm: str | None = None,
) -> Array:
    """The inverse of ``dctn`` with the same arguments.

    >>> import covector.numpy as cnp
    >>> print(idctn(dctn(cnp.array([[1.0, 2.0], [3.0, 4.0]]))).round(3))
    [[1. 2.]
     [3. 4.]]
    """
    return _along_axes("idctn", x, type, s, axes, norm)


def _one_length(n: int | None) -> tuple[int] | None:
    """The lengths along one axis; there −1 is too few."""
    return None if n is None else (0 if n == -1 else n,)


# -- along axes ------------------------------------------------------------------------

#: the type that undoes a type
_INVERSES = {1: 1, 2: 3, 3: 2, 4: 4}


def _along_axes(
    who: str, a: ArrayLike, type: int, s: ShapeLike | None, axes: Axes, norm: str | None
) -> Array:
    """The transform along axes, the inverse one if its name begins with i."""
    x = single_or_double(who, a)
    if type not in _INVERSES:
        raise ArgumentError(f"{who}: type must be 1, 2, 3 or 4, but got {type!r}.")
    check_norm(who, norm)
    name = "axes" if who.endswith("n") else "axis"
    given, among = asked_axes(who, s, axes, x.type.ndim, name)
    have = tuple([x.type.shape[k] for k in among])
    lengths = asked_lengths(who, given, have, among)
    check_lengths(who, x, lengths, among)
    if type == 1 and 1 in lengths:
        raise ArgumentError(
            f"{who} of type 1 needs a signal of two elements at least, but the lengths "
            f"along the axes {among} would be {lengths}."
        )
    inverse = who.startswith("i")
    x = resized(x, lengths, among)
    parts = [real(x), imag(x)] if dtypes.is_complex(x.type.dtype) else [x]
    for axis in among:
        parts = [_along_axis(p, axis, type, norm, inverse) for p in parts]
    return parts[0] if len(parts) == 1 else complex_(*parts)


def _along_axis(
    x: Value, axis: int, type: int, norm: str | None, inverse: bool
) -> Array:
    """The transform of a real signal along an axis."""
    x = moveaxis(x, axis, -1)
    n = known_length("a cosine or sine transform", x.type.shape[-1])
    count = 2 * (n - 1) if type == 1 else 2 * n
    type = _INVERSES[type] if inverse else type
    before = after = np.ones(n)
    if norm == "ortho":
        scale = 1 / math.sqrt(count)
        before, after = _orthogonal_weights(type, n)
    else:
        scale = 1 / count if (norm == "forward") != inverse else 1.0
    x = _TYPES[type](_weighted(x, before))
    return moveaxis(_weighted(x, scale * after), -1, axis)


def _orthogonal_weights(type: int, n: int) -> Sequence[HostArray]:
    """The weights of elements before and after a transform that make it orthogonal."""
    before, after = np.ones(n), np.ones(n)
    ends = [0, n - 1] if type == 1 else [0]
    if type in (1, 3):
        before[ends] = math.sqrt(2)
    if type in (1, 2):
        after[ends] = math.sqrt(0.5)
    return before, after


def _weighted(x: Value, weights: HostArray) -> Value:
    if (weights == 1).all():
        return x
    return x * from_host(weights.astype(x.type.dtype))


# -- along the last axis ---------------------------------------------------------------


def _first(x: Value) -> Value:
    """Of a signal that is continued as its mirror image, the transform is real."""
    return real(rfft(concatenate([x, flip(x[..., 1:-1], -1)], -1)))


def _second(x: Value) -> Value:
    n = x.type.shape[-1]
    mixed = concatenate([x[..., ::2], flip(x[..., 1::2], -1)], -1)
    turned = rfft(mixed) * _turns(x, np.arange(n // 2 + 1), n)
    last = flip(imag(turned)[..., 1 : (n + 1) // 2], -1)
    return 2 * concatenate([real(turned), -last], -1)


def _third(x: Value) -> Value:
    """The steps of ``_second`` backwards, which give 2N times its inverse."""
    n = x.type.shape[-1]
    last = flip(x[..., (n + 1) // 2 :], -1)
    turned = complex_(
        x[..., : n // 2 + 1], -concatenate([zeros_like(x[..., :1]), last], -1)
    )
    mixed = n * irfft(turned / _turns(x, np.arange(n // 2 + 1), n), n)
    even, odd = mixed[..., : (n + 1) // 2], mixed[..., (n + 1) // 2 :]
    return interleave(even, flip(odd, -1), x.type.ndim - 1)


def _fourth(x: Value) -> Value:
    n = x.type.shape[-1]
    k = np.arange(n)
    spectrum = fft(x * _turns(x, k, n), 2 * n)[..., :n]
    return 2 * real(spectrum * _turns(x, k + 0.5, n))


def _turns(x: Value, k: HostArray, n: int) -> Value:
    """exp(−iπ k/2n), as complex numbers as precise as ``x``."""
    turns = np.exp(-0.5j * np.pi * k / n)
    return from_host(turns.astype(dtypes.complex_of(x.type.dtype)))


_TYPES = {1: _first, 2: _second, 3: _third, 4: _fourth}

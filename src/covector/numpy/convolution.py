"""One-dimensional convolution and correlation."""

from typing import Any

from covector.core import dtypes
from covector.core.annotations import ArrayLike, DTypeLike, Value
from covector.core.array_like import Array
from covector.core.convert import asked_dtype
from covector.errors import ArgumentError, TypeMismatch
from covector.numpy.promote import promote_dtypes_inexact
from covector.operations.complex import conj
from covector.operations.convolution import ConvDimensionNumbers, ConvGeneralDilated
from covector.operations.precision import PrecisionLike, exactness
from covector.operations.transposing import Reshape, Rev

__all__ = ["convolve", "correlate"]


def convolve(
    a: ArrayLike,
    v: ArrayLike,
    mode: str = "full",
    *,
    precision: PrecisionLike | None = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """The convolution out[k] = Σ_j a[j] · v[k − j].

    Args:
      mode: which k: ``"full"``: all where the two overlap at all; ``"valid"``: those
        where the shorter lies inside the longer; ``"same"``: as many as the longer has
        elements, from the middle of the full result.
      precision: how exactly products of floats are formed on accelerators.
      preferred_element_type: of the result, and of the sums.

    >>> import covector.numpy as cnp
    >>> print(cnp.convolve(cnp.array([1.0, 2.0, 3.0]), cnp.array([1.0, 10.0])))
    [ 1. 12. 23. 30.]
    """
    x, y = _operands("convolve", a, v, mode)
    if x.type.size < y.type.size:
        x, y = y, x
    n = y.type.size
    pads = {"full": (n - 1, n - 1), "same": (n // 2, n - n // 2 - 1), "valid": (0, 0)}
    how = (precision, preferred_element_type)
    return _slide("convolve", x, Rev((0,))(y), pads[mode], how)


def correlate(
    a: ArrayLike,
    v: ArrayLike,
    mode: str = "valid",
    *,
    precision: PrecisionLike | None = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """The correlation out[k] = Σ_j a[j + k] · v[j]*, with v conjugated.

    Arguments are those of ``convolve``.

    >>> import covector.numpy as cnp
    >>> print(cnp.correlate(cnp.array([1.0, 2.0, 3.0]), cnp.array([0.0, 1.0])))
    [2. 3.]
    """
    x, y = _operands("correlate", a, v, mode)
    y = conj(y) if dtypes.is_complex(y.type.dtype) else y
    swapped = x.type.size < y.type.size
    if swapped:
        x, y = Rev((0,))(y), Rev((0,))(x)
    n = y.type.size
    middle = (n // 2, n - n // 2 - 1)
    pads = {
        "full": (n - 1, n - 1),
        "same": middle[::-1] if swapped else middle,  # what is reversed ends first
        "valid": (0, 0),
    }
    how = (precision, preferred_element_type)
    return _slide("correlate", x, y, pads[mode], how)


def _operands(who: str, a: ArrayLike, v: ArrayLike, mode: str) -> tuple[Array, ...]:
    x, y = promote_dtypes_inexact(who, a, v)
    if mode not in ("full", "same", "valid"):
        raise ArgumentError(
            f"{who}: mode must be 'full', 'same' or 'valid', but got {mode!r}."
        )
    if not x.type.ndim == y.type.ndim == 1 or not (x.type.size and y.type.size):
        raise TypeMismatch(
            f"{who} needs two arrays with one axis and at least one element, but got "
            f"{x.type} and {y.type}."
        )
    return x, y


def _slide(
    who: str, x: Value, window: Value, pads: tuple[int, int], how: tuple[Any, Any]
) -> Array:
    """Sums of ``window`` times the part of ``x``, padded with zeros, that it lies
    over.
    """
    precision, preferred = how
    numbers = ConvDimensionNumbers((0, 1, 2), (0, 1, 2), (0, 1, 2))
    slide = ConvGeneralDilated(
        (1,),
        (pads,),
        (1,),
        (1,),
        numbers,
        1,
        1,
        exactness(precision, who),
        None if preferred is None else asked_dtype(preferred),
    )
    out = slide(
        Reshape((1, 1, x.type.size))(x), Reshape((1, 1, window.type.size))(window)
    )
    return Reshape((out.type.size,))(out)

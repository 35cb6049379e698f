"""Convolution and correlation of arrays of any number of axes.

    full[k] = Σ_j in1[j] in2[k − j]

Where ``in1`` has m and ``in2`` has n elements along an axis, k is from 0 to m + n − 2.
The modes are parts of that: ``"same"`` as many as ``in1`` has, from the middle;
``"valid"`` those where the shorter lies inside the longer.
"""

import functools
import math
from collections.abc import Sequence

from covector.core import dtypes
from covector.core.annotations import ArrayLike, Axes, Shape, Value
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.core.types import show_types
from covector.errors import ArgumentError, TypeMismatch
from covector.lax.convolution import conv_general_dilated
from covector.numpy.axes import canonical_axes
from covector.numpy.axis_order import flip
from covector.numpy.complex import conj
from covector.numpy.fft import fftn, ifftn, irfftn, rfftn
from covector.numpy.padding import pad
from covector.numpy.promote import promote_dtypes_inexact
from covector.operations.casting import convert
from covector.operations.precision import PrecisionLike

__all__ = ["convolve", "convolve2d", "correlate", "correlate2d", "fftconvolve"]


def convolve(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str = "full",
    method: str = "auto",
    precision: PrecisionLike = None,
) -> Array:
    """The convolution Σ_j in1[j] in2[k − j] of arrays with as many axes.

    Args:
      mode: which k: ``"full"``: all where the two overlap at all; ``"valid"``: those
        where one lies inside the other; ``"same"``: as many as ``in1`` has elements,
        from the middle of the full result.
      method: ``"direct"``: sums of products; ``"fft"``: by Fourier transforms, where
        errors are relative to the largest results, and what is not finite is in all of
        them; ``"auto"``: the one of fewer operations, sums of products for integers.
      precision: how exactly products of floats are formed on accelerators.

    Returns:
      Numbers in the inexact dtype to which the operands are promoted.

    Raises:
      TypeMismatch: the numbers of axes differ, an operand has no elements, or for
        ``"valid"`` none lies inside the other.
      ArgumentError: there is no such mode or method.

    >>> import covector.numpy as cnp
    >>> print(convolve(cnp.array([1, 2, 3, 2, 1]), cnp.array([1, 1, 1]), "same"))
    [3. 6. 7. 6. 3.]
    """
    return _convolved("convolve", in1, in2, mode, method, precision)


def correlate(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str = "full",
    method: str = "auto",
    precision: PrecisionLike = None,
) -> Array:
    """The correlation Σ_j in1[j + k] in2[j]*, of arrays with as many axes.

    It is the convolution of ``in1`` with ``in2`` reversed and conjugated; arguments and
    errors are those of ``convolve``.

    >>> import covector.numpy as cnp
    >>> print(correlate(cnp.array([1, 2, 3]), cnp.array([0, 1, 0.5])))
    [0.5 2.  3.5 3.  0. ]
    """
    reverse = conj(flip(as_array(in2, "correlate")))
    return _convolved("correlate", in1, reverse, mode, method, precision)


def convolve2d(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str = "full",
    boundary: str = "fill",
    fillvalue: ArrayLike = 0,
    precision: PrecisionLike = None,
) -> Array:
    """The convolution of two matrices, as sums of products.

    Args:
      boundary: what lies around ``in1``: ``"fill"``: ``fillvalue``; ``"wrap"``: the
        matrix again; ``"symm"``: its mirror image, with the edge.
      mode, precision: as in ``convolve``, whose errors there are.

    >>> import covector.numpy as cnp
    >>> print(convolve2d(cnp.ones((2, 3)), cnp.ones((2, 2))))
    [[1. 2. 2. 1.]
     [2. 4. 4. 2.]
     [1. 2. 2. 1.]]
    """
    return _convolved_matrices(
        "convolve2d", in1, in2, mode, boundary, fillvalue, precision
    )


def correlate2d(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str = "full",
    boundary: str = "fill",
    fillvalue: ArrayLike = 0,
    precision: PrecisionLike = None,
) -> Array:
    """The correlation of two matrices, the second one conjugated.

    Arguments and errors are those of ``convolve2d``.

    >>> import covector.numpy as cnp
    >>> print(correlate2d(cnp.eye(2), cnp.array([[1.0, 2.0]]), "same"))
    [[1. 0.]
     [2. 1.]]
    """
    # Reversed, the middle of an even number is where SciPy has it.
    reverse, other = flip(as_array(in1, "correlate2d")), conj(in2)
    return flip(
        _convolved_matrices(
            "correlate2d", reverse, other, mode, boundary, fillvalue, precision
        )
    )


def fftconvolve(
    in1: ArrayLike, in2: ArrayLike, mode: str = "full", axes: Axes = None
) -> Array:
    """The convolution by Fourier transforms, along ``axes`` (None: along all).

    Along other axes the operands broadcast. Errors of results are relative to the
    largest of them; other arguments and errors are those of ``convolve``.

    >>> import covector.numpy as cnp
    >>> print(fftconvolve(cnp.array([1, 2, 3]), cnp.array([1, 1])).round(3))
    [1. 3. 5. 3.]
    """
    x, y = _operands("fftconvolve", in1, in2)
    among = canonical_axes("fftconvolve", axes, x.type.ndim, "axes")
    for k, (m, n) in enumerate(zip(x.type.shape, y.type.shape, strict=True)):
        if k not in among and m != n and 1 not in (m, n):
            raise TypeMismatch(
                "fftconvolve needs operands that broadcast along the axes other than "
                f"{among}, but got {show_types([x.type, y.type])}."
            )
    return _by_transforms("fftconvolve", x, y, mode, among)


# -- operands and modes ----------------------------------------------------------------


def _operands(who: str, in1: ArrayLike, in2: ArrayLike) -> Sequence[Array]:
    x, y = promote_dtypes_inexact(who, in1, in2)
    if x.type.ndim != y.type.ndim or not (x.type.size and y.type.size):
        raise TypeMismatch(
            f"{who} needs arrays with as many axes, and elements along each, but got "
            f"{show_types([x.type, y.type])}."
        )
    return x, y


def _part(
    who: str, mode: str, x: Value, y: Value, axes: Sequence[int]
) -> list[tuple[int, int]]:
    """Of the full result, the start and the number of elements along each axis."""
    sizes = [(x.type.shape[k], y.type.shape[k]) for k in axes]
    if mode == "full":
        return [(0, m + n - 1) for m, n in sizes]
    if mode == "same":
        return [((n - 1) // 2, m) for m, n in sizes]
    if mode != "valid":
        raise ArgumentError(
            f"{who}: mode must be 'full', 'same' or 'valid', but got {mode!r}."
        )
    if any(m < n for m, n in sizes) and any(m > n for m, n in sizes):
        raise TypeMismatch(
            f"{who} with mode='valid' needs one operand that is nowhere longer than "
            f"the other, but got {show_types([x.type, y.type])}."
        )
    return [(min(m, n) - 1, abs(m - n) + 1) for m, n in sizes]


def _convolved(
    who: str,
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str,
    method: str,
    precision: PrecisionLike,
) -> Array:
    x, y = _operands(who, in1, in2)
    exact = not any(as_array(a, who).type.inexact for a in (in1, in2))
    if method == "auto":
        method = "fft" if not exact and _is_quicker(x, y) else "direct"
    if method == "direct":
        return _by_sums(who, x, y, mode, precision)
    if method == "fft":
        return _by_transforms(who, x, y, mode, range(x.type.ndim))
    raise ArgumentError(
        f"{who}: method must be 'auto', 'direct' or 'fft', but got {method!r}."
    )


# -- sums of products ------------------------------------------------------------------


def _by_sums(
    who: str, x: Value, y: Value, mode: str, precision: PrecisionLike
) -> Array:
    ndim = x.type.ndim
    part = _part(who, mode, x, y, range(ndim))
    if not ndim:
        return x * y
    if x.type.size < y.type.size:
        x, y = y, x  # the shorter one is the window
    pads = [
        (n - 1 - start, start + count - m)
        for m, n, (start, count) in zip(x.type.shape, y.type.shape, part, strict=True)
    ]
    window = flip(y)[None, None]
    return conv_general_dilated(
        x[None, None], window, (1,) * ndim, pads, precision=precision
    )[0, 0]


_BOUNDARIES = {"fill": "constant", "wrap": "wrap", "symm": "symmetric"}


def _convolved_matrices(
    who: str,
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str,
    boundary: str,
    fillvalue: ArrayLike,
    precision: PrecisionLike,
) -> Array:
    x, y = _operands(who, in1, in2)
    if x.type.ndim != 2:
        raise TypeMismatch(
            f"{who} needs two matrices, but got {show_types([x.type, y.type])}."
        )
    if boundary not in _BOUNDARIES:
        raise ArgumentError(
            f"{who}: boundary must be 'fill', 'wrap' or 'symm', but got {boundary!r}."
        )
    fills_zeros = boundary == "fill" and type(fillvalue) is int and fillvalue == 0
    if mode == "valid" or fills_zeros:
        return _by_sums(who, x, y, mode, precision)
    part = _part(who, mode, x, y, range(2))
    margins = [(n - 1, n - 1) for n in y.type.shape]
    named = {"constant_values": fillvalue} if boundary == "fill" else {}
    x = pad(x, margins, _BOUNDARIES[boundary], **named)
    return _cut(_by_sums(who, x, y, "valid", precision), part, range(2))


# -- Fourier transforms ----------------------------------------------------------------


def _by_transforms(
    who: str, x: Value, y: Value, mode: str, axes: Sequence[int]
) -> Array:
    dtype = x.type.dtype
    part = _part(who, mode, x, y, axes)
    lengths = [x.type.shape[k] + y.type.shape[k] - 1 for k in axes]
    lengths = [next_fast_length(n) if type(n) is int else n for n in lengths]
    if not axes:
        return x * y
    forward, back = (rfftn, irfftn) if not dtypes.is_complex(dtype) else (fftn, ifftn)
    product = forward(x, lengths, axes) * forward(y, lengths, axes)
    return convert(_cut(back(product, lengths, axes), part, axes), dtype)


def _cut(x: Value, part: Sequence[tuple[int, int]], axes: Sequence[int]) -> Array:
    """Some of the elements along axes: the start and the number for each."""
    key = [slice(None)] * x.type.ndim
    for k, (start, count) in zip(axes, part, strict=True):
        key[k] = slice(start, start + count)
    return x[tuple(key)]


@functools.cache
def next_fast_length(n: int) -> int:
    """The least length from n on without prime factors above 5."""
    while True:
        rest = n
        for factor in (2, 3, 5):
            while rest % factor == 0:
                rest //= factor
        if rest == 1:
            return n
        n += 1


def _is_quicker(x: Value, y: Value) -> bool:
    """Whether transforms are, as measured: a sum of products takes as long for six
    terms as transforms for a doubling of the length.
    """
    full: Shape = tuple(
        [m + n - 1 for m, n in zip(x.type.shape, y.type.shape, strict=True)]
    )
    return min(x.type.size, y.type.size) > 6 * math.log2(math.prod(full))

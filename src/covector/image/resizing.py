"""Images resampled: ``resize`` and ``scale_and_translate``."""

import enum
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from covector import numpy as cnp
from covector.core.annotations import ArrayLike, ShapeLike, Value
from covector.core.array import from_host
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.core.types import show_types
from covector.errors import ArgumentError, TypeMismatch
from covector.image import sampling
from covector.numpy.axes import canonical_axes, canonical_shape
from covector.numpy.axis_order import moveaxis
from covector.numpy.contraction import tensordot
from covector.numpy.indexing_take import take
from covector.numpy.linalg.operands import values_of
from covector.numpy.promote import inexact, single_or_double
from covector.operations.casting import convert
from covector.operations.precision import Precision, PrecisionLike

__all__ = ["ResizeMethod", "resize", "scale_and_translate"]


class ResizeMethod(enum.Enum):
    """Methods by which elements of a resized image are computed from those near them.

    Functions take names too: "nearest", "linear", "cubic", "cubic-pytorch", "lanczos3",
    "lanczos5" and "area".
    """

    NEAREST = 0
    LINEAR = 1
    LANCZOS3 = 2
    LANCZOS5 = 3
    CUBIC = 4
    CUBIC_PYTORCH = 5
    AREA = 6

    @staticmethod
    def from_string(s: str) -> "ResizeMethod":
        """The method of a name: ``"linear"``, ``"bilinear"``, ``"lanczos3"``, ….

        >>> ResizeMethod.from_string("bicubic")
        <ResizeMethod.CUBIC: 4>
        """
        return _method("ResizeMethod.from_string", s)


_NAMES = {
    ResizeMethod.NEAREST: ("nearest",),
    ResizeMethod.LINEAR: ("linear", "bilinear", "trilinear", "triangle"),
    ResizeMethod.LANCZOS3: ("lanczos3",),
    ResizeMethod.LANCZOS5: ("lanczos5",),
    ResizeMethod.CUBIC: ("cubic", "bicubic", "tricubic"),
    ResizeMethod.CUBIC_PYTORCH: ("cubic-pytorch", "bicubic-pytorch"),
    ResizeMethod.AREA: ("area",),
}
_METHODS = {name: method for method, names in _NAMES.items() for name in names}
_KERNELS = {
    ResizeMethod.LINEAR: sampling.triangle,
    ResizeMethod.LANCZOS3: sampling.lanczos3,
    ResizeMethod.LANCZOS5: sampling.lanczos5,
    ResizeMethod.CUBIC: sampling.cubic,
    ResizeMethod.CUBIC_PYTORCH: sampling.cubic,
}


def resize(
    image: ArrayLike,
    shape: ShapeLike,
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: PrecisionLike = Precision.HIGHEST,
) -> Array:
    """The image in another size.

    Args:
      shape: the length of every axis; those of batches and channels as they are.
      method: a ``ResizeMethod`` or its name: ``"nearest"``; ``"linear"``,
        ``"bilinear"``, ``"trilinear"`` or ``"triangle"``; ``"cubic"``, ``"bicubic"``,
        ``"tricubic"`` (R. Keys); ``"cubic-pytorch"``, ``"bicubic-pytorch"``: as in
        PyTorch, which differs without ``antialias``; ``"lanczos3"``, ``"lanczos5"``;
        ``"area"``: the mean over the area of an element.
      antialias: whether axes that become shorter are smoothed.
      precision: how exactly products are formed on accelerators.

    Returns:
      The dtype of the image, if that is inexact or the method is ``"nearest"``;
      otherwise floating point.

    Raises:
      TypeMismatch: there are not as many lengths as axes, or no elements to read.
      ArgumentError: there is no such method, or a length is negative.

    >>> import covector.numpy as cnp
    >>> print(resize(cnp.array([0.0, 1.0, 2.0, 3.0]), (2,), "linear").round(3))
    [0.714 2.286]
    """
    x, lengths = _operands("resize", image, shape)
    method = _method("resize", method)
    changed = [k for k, n in enumerate(lengths) if n != x.type.shape[k]]
    if method is ResizeMethod.NEAREST:
        for k in changed:
            x = _nearest(x, lengths[k], k)
        return x
    how = _Sampling(np, method, antialias)
    weights = [
        how.weights(m, n, n / m, 0.0)
        for m, n in [(x.type.shape[k], lengths[k]) for k in changed]
    ]
    return _resampled(inexact("resize", x), changed, weights, precision)


def _nearest(x: Array, count: int, axis: int) -> Array:
    """The elements that are nearest to so many places along an axis."""
    n = x.type.shape[axis]
    is_known = type(n) is type(count) is int
    # Adjoints of a repetition and of a slice are a sum and a pad, and no scatter.
    if is_known and count and count % n == 0:
        return cnp.repeat(x, count // n, axis)
    if is_known and count and n % count == 0:
        step = n // count
        index = (*[slice(None)] * axis, slice(step // 2, None, step))
        return x[index]
    places = np.arange(count) if is_known else cnp.arange(count)
    indices = (2 * places + 1) * n // (2 * max(count, 1))
    return take(x, as_array(indices.astype(np.int32)), axis)


def scale_and_translate(
    image: ArrayLike,
    shape: ShapeLike,
    spatial_dims: Sequence[int],
    scale: ArrayLike,
    translation: ArrayLike,
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: PrecisionLike = Precision.HIGHEST,
) -> Array:
    """The image stretched and shifted: what was at x is at x · scale + translation.

    Elements have their centres at ½, 1½, …. What lies outside of the image is 0, but
    for ``"cubic-pytorch"`` without ``antialias``, where it is the edge. Both ``scale``
    and ``translation`` may be traced and differentiated.

    Args:
      shape: the length of every axis of the result.
      spatial_dims: the axes that are stretched and shifted.
      scale, translation: ``[k]``, one number for each of these axes.
      method, antialias, precision: as in ``resize``, but not ``"nearest"``.

    Raises:
      TypeMismatch: there are not as many lengths as axes, or numbers as spatial axes;
        or the length of another axis differs.
      ArgumentError: there is no such method, or a length is negative.

    >>> import covector.numpy as cnp
    >>> x, one = cnp.array([1.0, 2.0, 3.0]), cnp.ones(1)
    >>> print(scale_and_translate(x, (4,), (0,), one, one, "linear"))
    [0. 1. 2. 3.]
    """
    who = "scale_and_translate"
    x, lengths = _operands(who, image, shape)
    axes = canonical_axes(who, tuple(spatial_dims), x.type.ndim, "spatial_dims")
    method = _method(who, method)
    if method is ResizeMethod.NEAREST:
        raise ArgumentError(
            "scale_and_translate has no method 'nearest': use 'linear', or resize."
        )
    scale, translation = [single_or_double(who, v) for v in (scale, translation)]
    if not scale.type.shape == translation.type.shape == (len(axes),):
        raise TypeMismatch(
            f"scale_and_translate needs a scale and a translation for each of the axes "
            f"{axes}, but got {show_types([scale.type, translation.type])}."
        )
    others = [k for k in range(x.type.ndim) if k not in axes]
    if any(lengths[k] != x.type.shape[k] for k in others):
        raise TypeMismatch(
            f"scale_and_translate of {x.type} to the shape {lengths} would change an "
            f"axis that is not one of spatial_dims={axes}."
        )
    known = [values_of(v) for v in (scale, translation)]
    if any(v is None for v in known):
        xp, numbers = cnp, [scale, translation]
    else:
        xp, numbers = np, [np.asarray(v, np.float64) for v in known]
    how = _Sampling(xp, method, antialias)
    weights = [
        how.weights(x.type.shape[k], lengths[k], by, to)
        for k, by, to in zip(axes, *numbers, strict=True)
    ]
    return _resampled(inexact(who, x), axes, weights, precision)


def _operands(
    who: str, image: ArrayLike, shape: ShapeLike
) -> tuple[Array, tuple[int, ...]]:
    x = as_array(image, who)
    lengths = canonical_shape(who, shape)
    if len(lengths) != x.type.ndim or (not x.type.size and 0 not in lengths):
        raise TypeMismatch(
            f"{who} needs an image with elements, and a length for each of its axes, "
            f"but got {x.type} and the shape {lengths}."
        )
    if any(n < 0 for n in lengths):
        raise ArgumentError(f"{who} cannot make an image of the shape {lengths}.")
    return x, lengths


def _method(who: str, method: str | ResizeMethod) -> ResizeMethod:
    if isinstance(method, ResizeMethod):
        return method
    if method not in _METHODS:
        raise ArgumentError(
            f"{who}: method must be one of {', '.join(_METHODS)}, but got {method!r}."
        )
    return _METHODS[method]


class _Sampling(NamedTuple):
    """The way in which elements are read; for ``xp`` see ``sampling``."""

    xp: Any
    method: ResizeMethod
    antialias: bool

    def weights(self, n: int, count: int, scale: Any, translation: Any) -> Any:
        """``[n, count]``: those of elements along an axis, for each of the result."""
        if not n or not count:
            return np.zeros((n, count))
        xp, width = self.xp, 1 / scale
        if not type(n) is type(count) is int:
            xp = cnp  # symbolic sizes
        places = (xp.arange(count) + 0.5 - translation) * width
        if self.method is ResizeMethod.AREA:
            return sampling.by_area(xp, n, places, width)
        if self.method is ResizeMethod.CUBIC_PYTORCH and not self.antialias:
            return sampling.by_edges(xp, n, places)
        width = xp.maximum(width, 1.0) if self.antialias else 1.0
        return sampling.by_kernel(_KERNELS[self.method], xp, n, places, width)


def _resampled(
    x: Value, axes: Sequence[int], weights: Sequence[Any], precision: PrecisionLike
) -> Array:
    """``x`` with the elements along axes weighted and summed, those first that become
    fewest.
    """
    dtype = x.type.dtype
    pairs = list(zip(axes, weights, strict=True))
    if {int}.issuperset([type(n) for w in weights for n in w.shape]):  # not symbolic
        pairs.sort(key=lambda pair: pair[1].shape[1] / pair[1].shape[0])
    for axis, w in pairs:
        cast = (
            from_host(w.astype(dtype)) if type(w) is np.ndarray else convert(w, dtype)
        )
        along: Any = ((axis,), (0,))
        product = tensordot(x, cast, along, precision=precision)
        x = moveaxis(product, -1, axis)
    return x

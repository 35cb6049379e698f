"""The weights with which the elements along an axis make those of the resampled axis.

Element i is the interval from i to i + 1, with its centre at i + ½. The centre of
element j of the result is the place (j + ½ − translation) / scale. What is made of the
elements around that place is up to the method:

    triangle, cubic, lanczos     a kernel at the distance of each centre, and divided by
                                 the sum, as there are fewer elements near an edge;
                                 against aliasing it is as wide as an element of the
                                 result, where that is wider than one of the image
    area                         the overlap with an element of the result
    cubic-pytorch                four elements around, where an edge goes on forever

Functions are written for ``xp``, which is NumPy where all numbers are known, so that
places are exact, and ``covector.numpy`` where some are traced.
"""

from collections.abc import Callable
from typing import Any

Kernel = Callable[[Any, Any], Any]


def by_kernel(kernel: Kernel, xp: Any, n: int, places: Any, width: Any) -> Any:
    """``[n, count]``: a kernel, stretched to a width, between centres and places."""
    distance = abs(places[None, :] - xp.arange(n)[:, None] - 0.5)
    weights = kernel(xp, distance / width)
    total = weights.sum(0)
    # Sums that are but rounding errors lie beyond all elements.
    none = abs(total) <= 1000 * xp.finfo(total.dtype).eps
    weights = xp.where(none, 0, weights / xp.where(none, 1, total))
    return xp.where(_is_inside(n, places), weights, 0)


def by_area(xp: Any, n: int, places: Any, width: Any) -> Any:
    """``[n, count]``: the overlap of elements with intervals around the places."""
    k = xp.arange(n)[:, None]
    overlap = xp.minimum(k + 1, places + width / 2) - xp.maximum(k, places - width / 2)
    weights = xp.maximum(overlap, 0)
    total = weights.sum(0)
    weights = weights / xp.where(total > 0, total, 1)
    return xp.where(_is_inside(n, places), weights, 0)


def by_edges(xp: Any, n: int, places: Any) -> Any:
    """``[n, count]``: a cubic kernel at four elements, of which those beyond an edge
    are the edge.
    """
    first = xp.floor(places - 0.5) - 1
    k = xp.arange(n)[:, None]
    weights: Any = 0
    for j in range(4):
        weight = _cubic(-0.75)(xp, abs(places - 0.5 - first - j))
        weights = weights + xp.where(k == xp.clip(first + j, 0, n - 1), weight, 0)
    return weights


def _is_inside(n: int, places: Any) -> Any:
    return (places >= 0) & (places <= n)


# -- kernels over the distance, in elements --------------------------------------------


def triangle(xp: Any, x: Any) -> Any:
    """1 − x, up to the distance 1."""
    return xp.maximum(0, 1 - x)


def _cubic(a: float) -> Kernel:
    """Cubic convolution (R. Keys, 1981), with the slope ``a`` at 1; up to 2."""

    def kernel(xp: Any, x: Any) -> Any:
        near = ((a + 2) * x - (a + 3)) * x * x + 1
        far = a * (((x - 5) * x + 8) * x - 4)
        return xp.where(x <= 1, near, xp.where(x < 2, far, 0))

    return kernel


def _lanczos(radius: int) -> Kernel:
    """sinc(x) sinc(x / radius), up to the radius."""

    def kernel(xp: Any, x: Any) -> Any:
        inside = xp.minimum(x, radius)
        return xp.where(x <= radius, xp.sinc(inside) * xp.sinc(inside / radius), 0)

    return kernel


cubic, lanczos3, lanczos5 = _cubic(-0.5), _lanczos(3), _lanczos(5)

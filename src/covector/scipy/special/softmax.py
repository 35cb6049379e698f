"""The logarithm of a sum of exponentials, and softmax: those of ``covector.nn``."""

from typing import Any

from covector import nn
from covector.core.annotations import ArrayLike
from covector.core.array_like import Array
from covector.nn.normalization import logsumexp

__all__ = ["log_softmax", "logsumexp", "softmax"]


def softmax(x: ArrayLike, /, *, axis: Any = None) -> Array:
    """Probabilities in proportion to eˣ, exp(x) / Σ exp(x).

    Args:
      axis: the axis, or axes, of the sum: all by default, as in SciPy.

    >>> from covector import numpy as cnp
    >>> from covector.scipy.special import softmax
    >>> softmax(cnp.zeros(2)).tolist()
    [0.5, 0.5]

    See also: ``covector.nn.softmax``, over the last axis by default.
    """
    return nn.softmax(x, axis)


def log_softmax(x: ArrayLike, /, *, axis: Any = None) -> Array:
    """log(softmax(x)) over an axis or axes, all of them for None.

    >>> from covector import numpy as cnp
    >>> from covector.scipy.special import log_softmax
    >>> round(float(log_softmax(cnp.zeros(2))[0]), 4)
    -0.6931
    """
    return nn.log_softmax(x, axis)

"""Activation functions: elementwise, and differentiable wherever they can be.

At a kink the derivative is that of the flat side (``relu`` has slope 0 at 0). Functions
that would overflow on the side they do not use are computed from an argument that is
safe there, so that gradients are finite too.
"""

import numpy as np

import covector.numpy as cnp
from covector import lax
from covector.core import dtypes
from covector.core.annotations import ArrayLike
from covector.core.array_like import Array
from covector.core.convert import as_array, scalar
from covector.numpy.promote import inexact
from covector.operations.selection import where

__all__ = [
    "celu",
    "elu",
    "gelu",
    "glu",
    "hard_sigmoid",
    "hard_silu",
    "hard_swish",
    "hard_tanh",
    "identity",
    "leaky_relu",
    "log1mexp",
    "log_sigmoid",
    "mish",
    "relu",
    "relu6",
    "selu",
    "sigmoid",
    "silu",
    "soft_sign",
    "softplus",
    "sparse_plus",
    "sparse_sigmoid",
    "squareplus",
    "swish",
    "tanh",
]


def identity(x: ArrayLike) -> Array:
    """``x`` itself.

    >>> float(identity(2.0))
    2.0
    """
    return as_array(x, "identity")


def relu(x: ArrayLike) -> Array:
    """The rectifier max(x, 0), with slope 0 at 0; NaN stays NaN.

    Args:
      x: real numbers; the dtype stays.

    Returns:
      Like ``x``.

    Raises:
      DTypeError: ``x`` is not an array or a number.

    >>> relu(cnp.array([-1.0, 2.0])).tolist()
    [0.0, 2.0]

    See also: ``leaky_relu``, ``softplus``, ``gelu``.
    """
    x = as_array(x, "relu")
    return where(x <= 0, scalar(0, x.type.dtype, x.type.weak), x)


def relu6(x: ArrayLike) -> Array:
    """min(max(x, 0), 6), with slope 0 at 0 and at 6.

    >>> relu6(cnp.array([-1.0, 2.0, 8.0])).tolist()
    [0.0, 2.0, 6.0]
    """
    x = inexact("relu6", x)
    return cnp.where(x >= 6, cnp.full_like(x, 6), relu(x))


def leaky_relu(x: ArrayLike, negative_slope: ArrayLike = 0.01) -> Array:
    """The input where it is not negative, and ``negative_slope`` · x where it is.

    >>> leaky_relu(cnp.array([-1.0, 2.0]), 0.5).tolist()
    [-0.5, 2.0]

    See also: ``relu``, ``elu``.
    """
    x = inexact("leaky_relu", x)
    return cnp.where(x >= 0, x, negative_slope * x)


def sigmoid(x: ArrayLike) -> Array:
    """The logistic function 1 / (1 + e⁻ˣ), from 0 to 1.

    Args:
      x: floating-point or complex numbers; integers are promoted to floats.

    Returns:
      Like ``x``.

    Raises:
      DTypeError: ``x`` is not an array or a number.

    >>> float(sigmoid(0.0))
    0.5

    See also: ``log_sigmoid`` for a cross entropy; ``covector.scipy.special.logit``
    inverts it.
    """
    return lax.logistic(inexact("sigmoid", x))


def tanh(x: ArrayLike, /) -> Array:
    """Hyperbolic tangent.

    >>> float(tanh(0.0))
    0.0
    """
    return cnp.tanh(x)


def softplus(x: ArrayLike) -> Array:
    """log(1 + eˣ), a smooth ``relu``; it does not overflow for large x.

    Args:
      x: floating-point or complex numbers; integers are promoted to floats.

    Returns:
      Like ``x``.

    Raises:
      DTypeError: ``x`` is not an array or a number.

    >>> round(float(softplus(0.0)), 4)
    0.6931

    See also: ``log_sigmoid``, ``relu``.
    """
    return cnp.logaddexp(x, 0.0)


def log_sigmoid(x: ArrayLike) -> Array:
    """log(sigmoid(x)) = −log(1 + e⁻ˣ), accurate also where the sigmoid rounds to 0.

    Of −x, it is the logarithm of 1 − sigmoid(x): the cross entropy of two classes needs
    both.

    >>> round(float(log_sigmoid(0.0)), 4)
    -0.6931

    See also: ``sigmoid``, ``softplus``.
    """
    return -softplus(-inexact("log_sigmoid", x))


def silu(x: ArrayLike) -> Array:
    """The product x · sigmoid(x), also known as ``swish``.

    Hendrycks & Gimpel 2016; Ramachandran et al. 2017.

    >>> float(silu(0.0))
    0.0

    See also: ``gelu``, ``sigmoid``.
    """
    x = inexact("silu", x)
    return x * sigmoid(x)


swish = silu


def gelu(x: ArrayLike, approximate: bool = True) -> Array:
    """The product x · Φ(x), with Φ the normal distribution function.

    Args:
      x: real numbers; integers are promoted to floats.
      approximate: by tanh(√(2/π) (x + 0.044715 x³)), which differs by at most 5e-4, as
        by default; False for Φ itself (Hendrycks & Gimpel 2016).

    >>> round(float(gelu(1.0, approximate=False)), 4)
    0.8413

    See also: ``silu``, ``relu``.
    """
    x = inexact("gelu", x)
    if approximate:
        # Beyond ±20 tanh is ±1 in every dtype, and its slope 0: the square need not
        # grow, and would overflow.
        square = cnp.minimum(x * x, 400.0)
        inner = np.sqrt(2 / np.pi).item() * x * (1.0 + 0.044715 * square)
        return x * (0.5 * (1.0 + cnp.tanh(inner)))
    return 0.5 * x * lax.erfc(-x * np.sqrt(0.5).item())


def elu(x: ArrayLike, alpha: ArrayLike = 1.0) -> Array:
    """The input where it is positive, alpha · (eˣ − 1) elsewhere (Clevert et al. 2015).

    >>> elu(cnp.array([2.0, 0.0])).tolist()
    [2.0, 0.0]

    See also: ``relu``, ``softplus``.
    """
    x = inexact("elu", x)
    safe = cnp.where(x > 0, cnp.zeros_like(x), x)
    return cnp.where(x > 0, x, alpha * cnp.expm1(safe))


def celu(x: ArrayLike, alpha: ArrayLike = 1.0) -> Array:
    """max(x, 0) + min(0, alpha · (exp(x / alpha) − 1)) (Barron 2017).

    >>> celu(cnp.array([2.0, 0.0])).tolist()
    [2.0, 0.0]
    """
    x = inexact("celu", x)
    safe = cnp.where(x > 0, cnp.zeros_like(x), x)
    return cnp.where(x > 0, x, alpha * cnp.expm1(safe / alpha))


def selu(x: ArrayLike) -> Array:
    """The scaled elu that keeps mean 0 and variance 1 (Klambauer et al. 2017).

    >>> round(float(selu(1.0)), 4)
    1.0507
    """
    return 1.0507009873554804934193349852946 * elu(x, 1.6732632423543772848170429916717)


def soft_sign(x: ArrayLike) -> Array:
    """X / (1 + |x|).

    >>> float(soft_sign(1.0))
    0.5
    """
    x = inexact("soft_sign", x)
    return x / (cnp.abs(x) + 1)


def hard_tanh(x: ArrayLike) -> Array:
    """x, kept between −1 and 1; slope 1 at both ends.

    >>> hard_tanh(cnp.array([-3.0, 0.5, 3.0])).tolist()
    [-1.0, 0.5, 1.0]
    """
    x = as_array(x, "hard_tanh")
    beyond = (x < -1) | (x > 1)
    return cnp.where(beyond, lax.stop_gradient(cnp.clip(x, -1, 1)), x)


def hard_sigmoid(x: ArrayLike) -> Array:
    """relu6(x + 3) / 6, a sigmoid of three straight pieces.

    >>> float(hard_sigmoid(0.0))
    0.5
    """
    return relu6(inexact("hard_sigmoid", x) + 3) / 6


def hard_silu(x: ArrayLike) -> Array:
    """X · hard_sigmoid(x) (Howard et al. 2019, as hard-swish); slope 0 at −3, 1 at 3.

    >>> float(hard_silu(3.0))
    3.0
    """
    x = inexact("hard_silu", x)
    # Beyond ±3 nothing is multiplied: an infinite x has a value and a slope.
    bent = cnp.where(cnp.abs(x) >= 3, 0, x)
    return cnp.where(x >= 3, x, bent * (bent + 3) / 6)


hard_swish = hard_silu


def mish(x: ArrayLike) -> Array:
    """X · tanh(softplus(x)) (Misra 2019).

    >>> float(mish(0.0))
    0.0
    """
    x = inexact("mish", x)
    if dtypes.is_complex(x.dtype):
        return x * cnp.tanh(softplus(x))
    # With t = eˣ, the factor is t (t + 2) / (t (t + 2) + 2): 1 as it is rounded, and
    # finite, from here on.
    t = cnp.exp(cnp.minimum(x, 5.5 if x.dtype == dtypes.float16 else 20.0))
    product = t * (t + 2.0)
    return x * (product / (product + 2.0))


def squareplus(x: ArrayLike, b: ArrayLike = 4) -> Array:
    """(x + √(x² + b)) / 2, a smooth relu without exponentials (Barron 2021).

    >>> float(squareplus(0.0))
    1.0
    """
    x = inexact("squareplus", x)
    return (x + cnp.sqrt(x * x + b)) / 2


def sparse_plus(x: ArrayLike) -> Array:
    """0 up to −1, x from 1 on, and (x + 1)² / 4 between.

    >>> sparse_plus(cnp.array([-2.0, 0.0, 2.0])).tolist()
    [0.0, 0.25, 2.0]
    """
    x = inexact("sparse_plus", x)
    near = cnp.clip(x, -1.0, 1.0)
    between = (near + 1) * (near + 1) / 4
    above = cnp.where(x >= 1, x, between)
    return cnp.where(x <= -1, cnp.zeros_like(x), above)


def sparse_sigmoid(x: ArrayLike) -> Array:
    """0 up to −1, 1 from 1 on, and (x + 1) / 2 between: the slope of sparse_plus.

    >>> float(sparse_sigmoid(0.0))
    0.5
    """
    return 0.5 * cnp.clip(inexact("sparse_sigmoid", x) + 1.0, 0.0, 2.0)


def log1mexp(x: ArrayLike) -> Array:
    """log(1 − e⁻ˣ) for x > 0, accurate at both ends (Mächler 2012).

    >>> round(float(log1mexp(1.0)), 4)
    -0.4587
    """
    x = inexact("log1mexp", x)
    near = x < np.log(2.0).item()
    small = cnp.where(near, x, cnp.ones_like(x))
    large = cnp.where(near, cnp.ones_like(x), x)
    return cnp.where(near, cnp.log(-cnp.expm1(-small)), cnp.log1p(-cnp.exp(-large)))


def glu(x: ArrayLike, axis: int = -1) -> Array:
    """The gated linear unit: half of an axis, times the sigmoid of its other half.

    The sigmoid is of the second half (Dauphin et al. 2017). The axis of the result is
    half as long.

    Raises:
      ArgumentError: the axis has odd length.

    >>> glu(cnp.array([3.0, 0.0])).tolist()
    [1.5]
    """
    x = inexact("glu", x)
    first, second = cnp.split(x, 2, axis)
    return first * sigmoid(second)

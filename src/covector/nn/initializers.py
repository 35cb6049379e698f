"""Initializers: functions of a key, a shape and a dtype that give the first weights.

The usual ones keep the variance of signals on their way through a layer: weights are
drawn with variance scale / fan, where ``fan`` counts the inputs of a unit (He, LeCun),
its outputs, or their mean (Glorot).
"""

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

import covector.numpy as cnp
from covector import namespaces, random
from covector.core import dtypes
from covector.core.annotations import (
    ArrayLike,
    DType,
    DTypeLike,
    Shape,
    ShapeLike,
    with_parameters_of,
)
from covector.core.array_like import Array
from covector.core.sharding.as_sharding import ShardingLike
from covector.errors import TypeMismatch
from covector.nn.drawing import Initializer, dtype_of_weights, initializer_of
from covector.nn.orthogonal import delta_orthogonal, orthogonal
from covector.numpy.axes import canonical_shape, with_out_sharding
from covector.numpy.promote import standard_promotion

__all__ = [
    "Initializer",
    "constant",
    "delta_orthogonal",
    "glorot_normal",
    "glorot_uniform",
    "he_normal",
    "he_uniform",
    "kaiming_normal",
    "kaiming_uniform",
    "lecun_normal",
    "lecun_uniform",
    "normal",
    "ones",
    "orthogonal",
    "truncated_normal",
    "uniform",
    "variance_scaling",
    "xavier_normal",
    "xavier_uniform",
    "zeros",
]
__dir__ = namespaces.completions(globals())

Axes = int | Sequence[int]
Mode = Literal["fan_in", "fan_out", "fan_avg", "fan_geo_avg"]
Distribution = Literal[
    "truncated_normal",
    "normal",
    "uniform",
    "complex_truncated_normal",
    "complex_normal",
    "complex",
]


def zeros(
    key: ArrayLike,
    shape: ShapeLike,
    dtype: DTypeLike | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """An initializer that gives zeros, whatever the key.

    Most others are made by a call, as in ``normal()``; this one is used as it is.

    Args:
      key: not read; None will do.
      shape: the shape of the result.
      dtype: by default the default floating-point one.

    >>> zeros(None, (2,)).tolist()
    [0.0, 0.0]
    """
    return with_out_sharding(cnp.zeros(shape, dtype_of_weights(dtype)), out_sharding)


@with_parameters_of(zeros)
def ones(
    key: ArrayLike, shape: ShapeLike, dtype: Any = None, out_sharding: Any = None
) -> Array:
    """An initializer that gives ones, whatever the key. Used as it is, like ``zeros``.

    >>> ones(None, (2,)).tolist()
    [1.0, 1.0]
    """
    return with_out_sharding(cnp.ones(shape, dtype_of_weights(dtype)), out_sharding)


def constant(value: ArrayLike, dtype: DTypeLike | None = None) -> Initializer:
    """An initializer that gives one value everywhere, or an array that broadcasts.

    >>> constant(3.0)(None, (2,)).tolist()
    [3.0, 3.0]
    """
    return initializer_of(dtype, lambda key, shape, kind: cnp.full(shape, value, kind))


def uniform(scale: ArrayLike = 0.01, dtype: DTypeLike | None = None) -> Initializer:
    """An initializer that draws uniform weights between 0 and ``scale``.

    Args:
      scale: the upper bound. Weights are not negative: for others,
        ``variance_scaling`` with ``"uniform"``.
      dtype: of the weights, unless the call gives one.

    >>> from covector import random
    >>> uniform(1.0)(random.key(0), (2, 3)).shape
    (2, 3)
    """
    return initializer_of(dtype, random.uniform, scale)


def normal(stddev: ArrayLike = 0.01, dtype: DTypeLike | None = None) -> Initializer:
    """An initializer that draws normal weights of mean 0.

    Call it to get the initializer: ``normal()(key, shape)``.

    Args:
      stddev: the standard deviation.
      dtype: of the weights, unless the call gives one.

    >>> from covector import random
    >>> normal()(random.key(0), (2, 3)).shape
    (2, 3)

    See also: ``truncated_normal``, ``variance_scaling``.
    """
    return initializer_of(dtype, random.normal, stddev)


def truncated_normal(
    stddev: ArrayLike = 0.01,
    dtype: DTypeLike | None = None,
    lower: ArrayLike = -2.0,
    upper: ArrayLike = 2.0,
) -> Initializer:
    """Standard normal cut off at ``lower`` and ``upper``, then times ``stddev``.

    >>> from covector import random
    >>> bool(cnp.all(cnp.abs(truncated_normal(1.0)(random.key(0), (9,))) <= 2))
    True
    """

    def draw(key: ArrayLike, shape: ShapeLike, kind: DType) -> Array:
        return random.truncated_normal(key, lower, upper, shape, kind)

    return initializer_of(dtype, draw, stddev)


def _fans(
    shape: Sequence[int], in_axis: Axes, out_axis: Axes, batch_axis: Axes
) -> tuple[float, float]:
    """Inputs and outputs of each unit of a kernel of this shape.

    What no axis names belongs to both; an axis that is both, as of a table of vectors
    that are looked up, belongs to neither.
    """
    named = [(a,) if isinstance(a, int) else a for a in (in_axis, out_axis, batch_axis)]
    if not all(-len(shape) <= a < len(shape) for axes in named for a in axes):
        raise TypeMismatch(
            "variance_scaling needs a shape with an input and an output axis, here "
            f"in_axis={in_axis}, out_axis={out_axis} and batch_axis={batch_axis}, but "
            f"got {tuple(shape)}. Name the axes that it has, () for none; for biases "
            "use zeros."
        )
    inputs, outputs, batch = (math.prod(shape[a] for a in axes) for axes in named)
    rest = math.prod(shape) / max(1, inputs * outputs * batch)
    return inputs * rest, outputs * rest


def variance_scaling(
    scale: float,
    mode: Mode,
    distribution: Distribution,
    in_axis: Axes = -2,
    out_axis: Axes = -1,
    batch_axis: Axes = (),
    dtype: DTypeLike | None = None,
) -> Initializer:
    """An initializer of weights of mean 0 and variance ``scale`` / fan.

    The fan is the number of inputs that go into an output, or of outputs that an input
    goes to. For a kernel ``[..., inputs, outputs]`` the axes need not be given.

    Args:
      scale: the variance times the fan.
      mode: which fan: ``"fan_in"``, ``"fan_out"``, or ``"fan_avg"`` or
        ``"fan_geo_avg"``, their arithmetic or geometric mean.
      distribution: ``"truncated_normal"``, ``"normal"`` or ``"uniform"``.
      in_axis, out_axis, batch_axis: axes of the kernel; others belong to both fans.
      dtype: of the weights, unless the call gives one.

    Returns:
      ``init(key, shape, dtype)``.

    Raises:
      TypeMismatch: an unknown mode or distribution, or a shape with too few axes.

    >>> from covector import random
    >>> variance_scaling(1.0, "fan_in", "normal")(random.key(0), (4, 2)).shape
    (4, 2)

    See also: ``lecun_normal``, ``he_normal``, ``glorot_uniform``.
    """

    def draw(key: ArrayLike, shape: Sequence[int], kind: DType) -> Array:
        shape = canonical_shape("an initializer", shape)
        fan_in, fan_out = _fans(shape, in_axis, out_axis, batch_axis)
        fans = {
            "fan_in": fan_in,
            "fan_out": fan_out,
            "fan_avg": (fan_in + fan_out) / 2,
            "fan_geo_avg": (fan_in * fan_out) ** 0.5,
        }
        if mode not in fans:
            raise TypeMismatch(
                f"variance_scaling: mode is one of {', '.join(fans)}, but got {mode!r}."
            )
        return _drawn(key, shape, kind, scale / max(fans[mode], 1.0), distribution)

    return initializer_of(dtype, draw)


def _drawn(
    key: ArrayLike, shape: Shape, kind: DType, variance: float, distribution: str
) -> Array:
    """Random weights of the given variance."""
    name = distribution.removeprefix("complex_")
    if name == "normal":
        return random.normal(key, shape, kind) * cnp.array(math.sqrt(variance), kind)
    if name == "truncated_normal" and dtypes.is_floating(kind):
        # The standard normal cut off at ±2 has this standard deviation.
        stddev = math.sqrt(variance) / 0.87962566103423978
        drawn = random.truncated_normal(key, -2.0, 2.0, shape, kind)
        return drawn * cnp.array(stddev, kind)
    if name == "uniform" and dtypes.is_floating(kind):
        drawn = random.uniform(key, shape, kind, -1.0, 1.0)
        return drawn * cnp.array(math.sqrt(3 * variance), kind)
    if name in ("truncated_normal", "uniform"):
        return _complex_disc(key, shape, kind, variance, truncated=name != "uniform")
    raise TypeMismatch(
        "variance_scaling: distribution is truncated_normal, normal or uniform, but "
        f"got {distribution!r}."
    )


@standard_promotion
def _complex_disc(
    key: ArrayLike, shape: Shape, kind: DType, variance: float, truncated: bool
) -> Array:
    """Complex weights with a random angle, uniform in a disc or normal in one of radius
    2.
    """
    radius_key, angle_key = random.split(key)
    real = dtypes.real_part(kind)
    u = random.uniform(radius_key, shape, real)
    if truncated:
        u = (1 - cnp.exp(cnp.array(-4.0, real))) * u
        radius = cnp.sqrt(-cnp.log1p(-u)) / 0.95311164380491208
    else:
        radius = cnp.sqrt(2 * u)
    angle = 2 * np.pi * random.uniform(angle_key, shape, real)
    return (math.sqrt(variance) * radius * cnp.exp(1j * angle)).astype(kind)


def glorot_uniform(
    in_axis: Axes = -2,
    out_axis: Axes = -1,
    batch_axis: Axes = (),
    dtype: DTypeLike | None = None,
) -> Initializer:
    """Uniform, variance 1 / mean fan (Glorot & Bengio 2010).

    >>> from covector import random
    >>> glorot_uniform()(random.key(0), (4, 2)).shape
    (4, 2)
    """
    axes = in_axis, out_axis, batch_axis
    return variance_scaling(1.0, "fan_avg", "uniform", *axes, dtype)


@with_parameters_of(glorot_uniform)
def glorot_normal(*args: Any, **options: Any) -> Initializer:
    """Truncated normal, variance 1 / mean fan (Glorot & Bengio 2010).

    >>> from covector import random
    >>> glorot_normal()(random.key(0), (4, 2)).shape
    (4, 2)
    """
    return variance_scaling(1.0, "fan_avg", "truncated_normal", *args, **options)


@with_parameters_of(glorot_uniform)
def lecun_uniform(*args: Any, **options: Any) -> Initializer:
    """Uniform, variance 1 / fan-in (LeCun et al. 1998).

    >>> from covector import random
    >>> lecun_uniform()(random.key(0), (4, 2)).shape
    (4, 2)
    """
    return variance_scaling(1.0, "fan_in", "uniform", *args, **options)


@with_parameters_of(glorot_uniform)
def lecun_normal(*args: Any, **options: Any) -> Initializer:
    """Truncated normal, variance 1 / fan-in (LeCun et al. 1998).

    >>> from covector import random
    >>> lecun_normal()(random.key(0), (4, 2)).shape
    (4, 2)
    """
    return variance_scaling(1.0, "fan_in", "truncated_normal", *args, **options)


@with_parameters_of(glorot_uniform)
def he_uniform(*args: Any, **options: Any) -> Initializer:
    """Uniform, variance 2 / fan-in (He et al. 2015).

    >>> from covector import random
    >>> he_uniform()(random.key(0), (4, 2)).shape
    (4, 2)
    """
    return variance_scaling(2.0, "fan_in", "uniform", *args, **options)


@with_parameters_of(glorot_uniform)
def he_normal(*args: Any, **options: Any) -> Initializer:
    """Truncated normal, variance 2 / fan-in (He et al. 2015).

    >>> from covector import random
    >>> he_normal()(random.key(0), (4, 2)).shape
    (4, 2)
    """
    return variance_scaling(2.0, "fan_in", "truncated_normal", *args, **options)


xavier_uniform = glorot_uniform
xavier_normal = glorot_normal
kaiming_uniform = he_uniform
kaiming_normal = he_normal

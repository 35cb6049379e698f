"""Neural networks as pairs of functions.

    init_fun, apply_fun = serial(Dense(64), Relu, Dense(10))
    output_shape, params = init_fun(key, (-1, 28 * 28))
    outputs = apply_fun(params, inputs)

A layer is such a pair, and so is what ``serial`` and ``parallel`` make of several.
Shapes are those of batches; the batch may have any length, which is written -1.
Layers that draw random numbers take the keyword ``rng``, a key.
"""

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

from covector import namespaces, nn, random
from covector import numpy as cnp
from covector.errors import ArgumentError
from covector.example_libraries.windows import (
    AvgPool,
    Conv,
    Conv1DTranspose,
    ConvTranspose,
    GeneralConv,
    GeneralConvTranspose,
    Layer,
    MaxPool,
    Shape,
    SumPool,
)
from covector.nn.activations import elu, gelu, leaky_relu, relu, selu, sigmoid, softplus
from covector.nn.initializers import glorot_normal, normal, ones, zeros
from covector.nn.normalization import log_softmax, softmax

__all__ = [
    "AvgPool",
    "BatchNorm",
    "Conv",
    "Conv1DTranspose",
    "ConvTranspose",
    "Dense",
    "Dropout",
    "Elu",
    "Exp",
    "FanInConcat",
    "FanInSum",
    "FanOut",
    "Flatten",
    "Gelu",
    "GeneralConv",
    "GeneralConvTranspose",
    "Identity",
    "LeakyRelu",
    "LogSoftmax",
    "MaxPool",
    "Relu",
    "Selu",
    "Sigmoid",
    "Softmax",
    "Softplus",
    "SumPool",
    "Tanh",
    "elementwise",
    "glorot",
    "logsoftmax",
    "ones",
    "parallel",
    "randn",
    "serial",
    "shape_dependent",
    "softmax",
    "zeros",
]
__dir__ = namespaces.completions(globals())

# The names by which the field's programs know these.
glorot = glorot_normal
randn = normal
logsoftmax = log_softmax


# -- layers with parameters ------------------------------------------------------------


def Dense(out_dim: int, W_init: Any = None, b_init: Any = None) -> Layer:
    """Linear in the last axis: ``x @ W + b``.

    >>> import covector as cv, covector.numpy as cnp
    >>> init_fun, apply_fun = Dense(3)
    >>> shape, params = init_fun(cv.random.key(0), (-1, 5))
    >>> shape, apply_fun(params, cnp.ones((2, 5))).shape
    ((-1, 3), (2, 3))
    """
    W_init, b_init = W_init or glorot_normal(), b_init or normal()

    def init_fun(rng: Any, input_shape: Shape) -> Any:
        of_w, of_b = random.split(rng)
        W = W_init(of_w, (input_shape[-1], out_dim))
        return (*input_shape[:-1], out_dim), (W, b_init(of_b, (out_dim,)))

    def apply_fun(params: Any, inputs: Any, **_: Any) -> Any:
        W, b = params
        return inputs @ W + b

    return init_fun, apply_fun


def BatchNorm(  # noqa: PLR0913, PLR0917  the names of the field
    axis: int | Sequence[int] = (0, 1, 2),
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
    beta_init: Any = zeros,
    gamma_init: Any = ones,
) -> Layer:
    """Mean 0 and variance 1 over ``axis``, of this batch; then ``gamma · z + beta``.

    >>> import covector as cv, covector.numpy as cnp
    >>> init_fun, apply_fun = BatchNorm(axis=0)
    >>> _, params = init_fun(cv.random.key(0), (-1, 1))
    >>> apply_fun(params, cnp.array([[1.0], [3.0]])).ravel().round(2).tolist()
    [-1.0, 1.0]
    """
    axes = (axis,) if isinstance(axis, int) else tuple(axis)

    def init_fun(rng: Any, input_shape: Shape) -> Any:
        shape = tuple([n for i, n in enumerate(input_shape) if i not in axes])
        of_beta, of_gamma = random.split(rng)
        beta = beta_init(of_beta, shape) if center else ()
        gamma = gamma_init(of_gamma, shape) if scale else ()
        return input_shape, (beta, gamma)

    def apply_fun(params: Any, x: Any, **_: Any) -> Any:
        beta, gamma = params
        z = nn.standardize(x, axes, epsilon=epsilon)
        if scale:
            z = z * cnp.expand_dims(gamma, axes)
        return z + cnp.expand_dims(beta, axes) if center else z

    return init_fun, apply_fun


# -- layers without parameters ---------------------------------------------------------


def _same_shape(rng: Any, input_shape: Shape) -> Any:
    return input_shape, ()


def elementwise(fun: Callable[..., Any], **fun_kwargs: Any) -> Layer:
    """A function that keeps the shape.

    >>> import covector.numpy as cnp
    >>> _, apply_fun = elementwise(cnp.clip, min=0.0)
    >>> float(apply_fun((), -1.0))
    0.0
    """

    def apply_fun(params: Any, inputs: Any, **_: Any) -> Any:
        return fun(inputs, **fun_kwargs)

    return _same_shape, apply_fun


#: the layer of an activation function: hyperbolic tangent
Tanh: Layer = elementwise(cnp.tanh)
#: the layer of an activation function: the larger of the input and zero
Relu: Layer = elementwise(relu)
#: the layer of an activation function: exponential
Exp: Layer = elementwise(cnp.exp)
#: the layer of an activation function: logarithm of softmax, along the last axis
LogSoftmax: Layer = elementwise(log_softmax, axis=-1)
#: the layer of an activation function: softmax, along the last axis
Softmax: Layer = elementwise(softmax, axis=-1)
#: the layer of an activation function: log(1 + exp(x))
Softplus: Layer = elementwise(softplus)
#: the layer of an activation function: 1 / (1 + exp(−x))
Sigmoid: Layer = elementwise(sigmoid)
#: the layer of an activation function: exponential linear unit
Elu: Layer = elementwise(elu)
#: the layer of an activation function: leaky rectified linear unit
LeakyRelu: Layer = elementwise(leaky_relu)
#: the layer of an activation function: scaled exponential linear unit
Selu: Layer = elementwise(selu)
#: the layer of an activation function: Gaussian error linear unit
Gelu: Layer = elementwise(gelu)
#: the layer that returns its input
Identity: Layer = elementwise(lambda x: x)


def _flatten_shape(rng: Any, input_shape: Shape) -> Any:
    return (input_shape[0], math.prod(input_shape[1:])), ()


def _flatten(params: Any, inputs: Any, **_: Any) -> Any:
    return inputs.reshape(inputs.shape[0], -1)


#: the layer that makes one axis of all axes but the first
Flatten: Layer = _flatten_shape, _flatten


def Dropout(rate: float, mode: str = "train") -> Layer:
    """Inputs of which each is kept with the probability ``rate``, and then divided by
    it; in another ``mode`` than ``"train"`` the inputs as they are.

    Raises:
      ArgumentError: ``apply_fun`` is called without a key ``rng``.

    >>> import covector as cv, covector.numpy as cnp
    >>> _, apply_fun = Dropout(0.5)
    >>> sorted({*apply_fun((), cnp.ones(20), rng=cv.random.key(0)).tolist()})
    [0.0, 2.0]
    """

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        rng = kwargs.get("rng")
        if rng is None:
            raise ArgumentError(
                "Dropout needs a key: call apply_fun(params, inputs, rng=key), with a "
                "new key each time."
            )
        if mode != "train":
            return inputs
        kept = random.bernoulli(rng, rate, inputs.shape)
        return cnp.where(kept, inputs / rate, 0)

    return _same_shape, apply_fun


# -- several inputs and outputs --------------------------------------------------------


def FanOut(num: int) -> Layer:
    """The input ``num`` times, for ``parallel``.

    >>> FanOut(2)[1]((), 1.0)
    [1.0, 1.0]
    """

    def init_fun(rng: Any, input_shape: Shape) -> Any:
        return [input_shape] * num, ()

    def apply_fun(params: Any, inputs: Any, **_: Any) -> Any:
        return [inputs] * num

    return init_fun, apply_fun


def _sum_shape(rng: Any, input_shape: Sequence[Shape]) -> Any:
    return input_shape[0], ()


def _sum(params: Any, inputs: Sequence[Any], **_: Any) -> Any:
    return functools.reduce(operator.add, inputs)


#: the layer that adds several inputs of one shape
FanInSum: Layer = _sum_shape, _sum


def FanInConcat(axis: int = -1) -> Layer:
    """Several inputs joined along an axis.

    >>> FanInConcat()[0](None, [(-1, 2), (-1, 3)])[0]
    (-1, 5)
    """

    def init_fun(rng: Any, input_shape: Sequence[Shape]) -> Any:
        first = input_shape[0]
        at = axis % len(first)
        joined = sum([shape[at] for shape in input_shape])
        return (*first[:at], joined, *first[at + 1 :]), ()

    def apply_fun(params: Any, inputs: Sequence[Any], **_: Any) -> Any:
        return cnp.concatenate(inputs, axis)

    return init_fun, apply_fun


# -- layers of layers ------------------------------------------------------------------


def _keys(rng: Any, count: int) -> Any:
    """A key for each of several layers, if there is one."""
    return [None] * count if rng is None else random.split(rng, count)


def serial(*layers: Layer) -> Layer:
    """One layer after the other.

    >>> import covector as cv, covector.numpy as cnp
    >>> init_fun, apply_fun = serial(Dense(4), Relu, Dense(2))
    >>> shape, params = init_fun(cv.random.key(0), (-1, 3))
    >>> shape, len(params), apply_fun(params, cnp.ones((5, 3))).shape
    ((-1, 2), 3, (5, 2))
    """

    def init_fun(rng: Any, input_shape: Any) -> Any:
        params = []
        for (init, _), key in zip(layers, _keys(rng, len(layers)), strict=True):
            input_shape, param = init(key, input_shape)
            params.append(param)
        return input_shape, params

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        keys = _keys(kwargs.pop("rng", None), len(layers))
        for (_, apply), param, key in zip(layers, params, keys, strict=True):
            inputs = apply(param, inputs, rng=key, **kwargs)
        return inputs

    return init_fun, apply_fun


def parallel(*layers: Layer) -> Layer:
    """Each layer on the input of its number, as ``FanOut`` gives them.

    >>> import covector as cv
    >>> init_fun, _ = serial(FanOut(2), parallel(Dense(3), Identity), FanInConcat())
    >>> init_fun(cv.random.key(0), (-1, 4))[0]
    (-1, 7)
    """

    def init_fun(rng: Any, input_shape: Sequence[Shape]) -> Any:
        columns = zip(layers, _keys(rng, len(layers)), input_shape, strict=True)
        made = [init(key, shape) for (init, _), key, shape in columns]
        return [shape for shape, _ in made], [params for _, params in made]

    def apply_fun(params: Any, inputs: Sequence[Any], **kwargs: Any) -> Any:
        keys = _keys(kwargs.pop("rng", None), len(layers))
        columns = zip(layers, params, inputs, keys, strict=True)
        return [apply(p, x, rng=key, **kwargs) for (_, apply), p, x, key in columns]

    return init_fun, apply_fun


def shape_dependent(make_layer: Callable[[Any], Layer]) -> Layer:
    """The layer that ``make_layer`` makes for the shape of the inputs.

    >>> init_fun, _ = shape_dependent(lambda shape: Dense(2 * shape[-1]))
    >>> import covector as cv
    >>> init_fun(cv.random.key(0), (-1, 3))[0]
    (-1, 6)
    """

    def init_fun(rng: Any, input_shape: Any) -> Any:
        return make_layer(input_shape)[0](rng, input_shape)

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        return make_layer(inputs.shape)[1](params, inputs, **kwargs)

    return init_fun, apply_fun

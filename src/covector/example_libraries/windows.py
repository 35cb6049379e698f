"""Layers of ``stax`` that look at windows: convolutions and pooling."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from covector import lax, random
from covector import numpy as cnp
from covector.core.convert import ShapeDtypeStruct
from covector.core.dtypes import float32
from covector.dispatch.inspection import eval_shape
from covector.nn.initializers import glorot_normal, normal

#: ``init_fun(key, input_shape) → (output_shape, params)`` and ``apply_fun(params,
#: inputs, **kwargs) → outputs``
Layer = tuple[Callable[..., Any], Callable[..., Any]]
Shape = tuple[int, ...]


def GeneralConv(  # noqa: PLR0913, PLR0917  the names of the field
    dimension_numbers: Any,
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Any = "VALID",
    W_init: Any = None,
    b_init: Any = None,
) -> Layer:
    """A convolution to ``out_chan`` features, of axes in any order.

    Args:
      dimension_numbers: the axes of inputs, of the filter and of outputs, as in
        ``lax.conv_general_dilated``.

    >>> import covector as cv
    >>> init_fun, _ = GeneralConv(("NCHW", "OIHW", "NCHW"), 4, (3, 3), (2, 2), "SAME")
    >>> init_fun(cv.random.key(0), (-1, 3, 8, 8))[0]
    (-1, 4, 4, 4)
    """
    layer = _Convolution(dimension_numbers, out_chan, filter_shape, W_init, b_init)
    return layer.by(lax.conv_general_dilated, strides, padding)


def GeneralConvTranspose(  # noqa: PLR0913, PLR0917  the names of the field
    dimension_numbers: Any,
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Any = "VALID",
    W_init: Any = None,
    b_init: Any = None,
) -> Layer:
    """As ``GeneralConv``, by ``lax.conv_transpose``.

    >>> import covector as cv
    >>> init_fun, _ = ConvTranspose(4, (3, 3), (2, 2), "SAME")
    >>> init_fun(cv.random.key(0), (-1, 8, 8, 3))[0]
    (-1, 16, 16, 4)
    """
    layer = _Convolution(dimension_numbers, out_chan, filter_shape, W_init, b_init)
    return layer.by(lax.conv_transpose, strides, padding)


class _Convolution:
    """The common part of both kinds of convolutions."""

    def __init__(
        self,
        numbers: Any,
        features: int,
        window: Sequence[int],
        W_init: Any,
        b_init: Any,
    ) -> None:
        self.numbers = numbers
        self.features = features
        self.window = window
        _, filter_spec, _ = numbers
        axes = filter_spec.index("I"), filter_spec.index("O")
        self.W_init = W_init or glorot_normal(*axes)
        self.b_init = b_init or normal(1e-6)

    def by(self, function: Any, strides: Sequence[int] | None, padding: Any) -> Layer:
        """The layer that applies ``function``."""
        spec, filter_spec, out_spec = self.numbers
        strides = strides or (1,) * len(self.window)

        def apply_fun(params: Any, inputs: Any, **_: Any) -> Any:
            W, b = params
            numbers = {"dimension_numbers": self.numbers}
            return function(inputs, W, strides, padding, **numbers) + b

        def init_fun(rng: Any, input_shape: Shape) -> Any:
            window = iter(self.window)
            sizes = {"I": input_shape[spec.index("C")], "O": self.features}
            shape = [sizes[a] if a in sizes else next(window) for a in filter_spec]
            bias = [self.features if a == "C" else 1 for a in out_spec]
            of_w, of_b = random.split(rng)
            params = self.W_init(of_w, shape), self.b_init(of_b, bias)
            batch = spec.index("N"), out_spec.index("N")
            apply = functools.partial(apply_fun, params)
            return output_shape(apply, input_shape, *batch), params

        return init_fun, apply_fun


def output_shape(fun: Any, shape: Shape, batch: int = 0, out_batch: int = 0) -> Shape:
    """The shape that a function of a batch, of any length, gives for this shape."""
    length = shape[batch]
    one = (*shape[:batch], 1, *shape[batch + 1 :])
    out = eval_shape(fun, ShapeDtypeStruct(one, float32)).shape
    return (*out[:out_batch], length, *out[out_batch + 1 :])


#: ``GeneralConv`` of images, with axes ``NHWC`` and kernels ``HWIO``
Conv: Callable[..., Layer] = functools.partial(GeneralConv, ("NHWC", "HWIO", "NHWC"))
#: ``GeneralConvTranspose`` of sequences, with axes ``NHC`` and kernels ``HIO``
Conv1DTranspose: Callable[..., Layer] = functools.partial(
    GeneralConvTranspose, ("NHC", "HIO", "NHC")
)
#: ``GeneralConvTranspose`` of images, with axes ``NHWC`` and kernels ``HWIO``
ConvTranspose: Callable[..., Layer] = functools.partial(
    GeneralConvTranspose, ("NHWC", "HWIO", "NHWC")
)


# -- pooling ---------------------------------------------------------------------------


def _pooling(
    window_shape: Sequence[int],
    strides: Sequence[int] | None,
    spec: str | None,
    pool: Callable[..., Any],
) -> Layer:
    """The layer of ``pool(inputs, window, strides)``, over all axes of the inputs."""
    batch, features = (0, -1) if spec is None else (spec.index("N"), spec.index("C"))

    def over_all(sizes: Sequence[int], ndim: int) -> tuple[int, ...]:
        inner = iter(sizes)
        left = {batch, features % ndim}
        return tuple([1 if k in left else next(inner) for k in range(ndim)])

    def apply_fun(params: Any, inputs: Any, **_: Any) -> Any:
        steps = strides or (1,) * len(window_shape)
        window, steps = [
            over_all(sizes, inputs.ndim) for sizes in (window_shape, steps)
        ]
        return pool(inputs, window, steps)

    def init_fun(rng: Any, input_shape: Shape) -> Any:
        apply = functools.partial(apply_fun, ())
        return output_shape(apply, input_shape, batch, batch), ()

    return init_fun, apply_fun


def MaxPool(
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: str = "VALID",
    spec: str | None = None,
) -> Layer:
    """The largest element of windows along the axes that are neither batch nor
    features; ``spec``, by default ``"NHWC"``, names the axes.

    >>> import covector.numpy as cnp
    >>> _, apply_fun = MaxPool((2,), (2,))
    >>> apply_fun((), cnp.arange(4.0).reshape(1, 4, 1)).ravel().tolist()
    [1.0, 3.0]
    """

    def pool(x: Any, window: Shape, steps: Shape) -> Any:
        return lax.reduce_window(x, -cnp.inf, lax.max, window, steps, padding)

    return _pooling(window_shape, strides, spec, pool)


def SumPool(
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: str = "VALID",
    spec: str | None = None,
) -> Layer:
    """The sum of windows, otherwise as ``MaxPool``.

    >>> import covector.numpy as cnp
    >>> _, apply_fun = SumPool((2,))
    >>> apply_fun((), cnp.arange(4.0).reshape(1, 4, 1)).ravel().tolist()
    [1.0, 3.0, 5.0]
    """

    def pool(x: Any, window: Shape, steps: Shape) -> Any:
        return lax.reduce_window(x, 0.0, lax.add, window, steps, padding)

    return _pooling(window_shape, strides, spec, pool)


def AvgPool(
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: str = "VALID",
    spec: str | None = None,
) -> Layer:
    """The mean of the elements in windows, without padding, otherwise as ``MaxPool``.

    >>> import covector.numpy as cnp
    >>> _, apply_fun = AvgPool((2,), (2,), "SAME")
    >>> apply_fun((), cnp.arange(3.0).reshape(1, 3, 1)).ravel().tolist()
    [0.5, 2.0]
    """

    def pool(x: Any, window: Shape, steps: Shape) -> Any:
        def total(x: Any) -> Any:
            return lax.reduce_window(x, 0.0, lax.add, window, steps, padding)

        return total(x) / total(cnp.ones_like(x))

    return _pooling(window_shape, strides, spec, pool)

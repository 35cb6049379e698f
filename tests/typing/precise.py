# pyright: strict
"""What pyright knows of transformed functions, and mypy does not."""

from functools import partial
from typing import assert_type

import covector as cv
import covector.numpy as cnp
from covector import Array
from covector.typing import ArrayLike


def cube(x: float) -> float:
    """A function of a number."""
    return x**3


def power(x: ArrayLike, n: int = 2) -> Array:
    """A function of whatever can be made an array."""
    return cnp.asarray(x) ** n


def vector(x: Array) -> Array:
    """A function of arrays."""
    return cnp.stack([x[0] * x[1], cnp.sin(x[0])])


@partial(cv.jit, static_argnums=1)
def repeated(x: Array, times: int) -> list[Array]:
    """Compiled, with a static argument."""
    return [x] * times


class Model:
    """A class with a compiled method."""

    @partial(cv.jit, static_argnums=0)
    def apply(self, x: Array) -> Array:
        """Compiled once per model."""
        return x


x = cnp.arange(2.0)
assert_type(cv.grad(cube)(2.0), Array)
assert_type(cv.value_and_grad(cube)(2.0), tuple[float, Array])
assert_type(cv.grad(power)(2.0, n=3), Array)
assert_type(cv.grad(cv.grad(power))(2.0), Array)
assert_type(cv.jacobian(vector)(x), Array)
assert_type(cv.jacfwd(vector)(x), Array)
assert_type(cv.jacrev(vector)(x), Array)
assert_type(cv.hessian(power)(2.0), Array)
assert_type(repeated(x, 2), list[Array])
assert_type(Model().apply(x), Array)

"""The core classes, under the names by which the ecosystem knows them."""

from typing import Any

from covector.core.jaxpr import Equation as JaxprEqn
from covector.core.jaxpr import Jaxpr, Var
from covector.core.jaxpr import run as _run
from covector.core.primitive import Primitive
from covector.core.trace import Trace, Tracer
from covector.core.types import ArrayType
from covector.core.types import ArrayType as ShapedArray

ClosedJaxpr = Jaxpr


def eval_jaxpr(jaxpr: Jaxpr, consts: list[Any], *args: object) -> list[Any]:
    """The outputs of a program on arguments; ``consts`` go before them.

    >>> import covector as cv
    >>> program = cv.make_jaxpr(lambda x: x + 1)(1.0)
    >>> [float(x) for x in eval_jaxpr(program, [], cv.numpy.float32(2))]
    [3.0]
    """
    return _run(jaxpr, [*consts, *args])


__all__ = [
    "ArrayType",
    "ClosedJaxpr",
    "Jaxpr",
    "JaxprEqn",
    "Primitive",
    "ShapedArray",
    "Trace",
    "Tracer",
    "Var",
    "eval_jaxpr",
]

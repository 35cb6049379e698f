"""``explain(f)(*args)``: what a program does, by the lines of the user's code."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from covector.analysis.explain.assemble import assemble
from covector.analysis.explain.data import Data, plain
from covector.analysis.explain.origin import Origin, find_origin
from covector.core.flat import who_of
from covector.core.source import wraps
from covector.programs.jit.stages import Compiled, Lowered, Traced


@dataclass(frozen=True, repr=False)
class Explanation(Data):
    """What a program does, what it costs and what it holds, by line of its source.

    Its attributes are the data (``docs/explain.md``). Printed, it is a table for the
    terminal.
    """

    origin: Origin = field(compare=False)

    def to_dict(self) -> dict[str, Any]:
        """The data, as JSON has it: dictionaries, lists, strings and numbers."""
        everything = plain(self)
        del everything["origin"]
        return everything


def explain(fun: Any) -> Callable[..., Explanation]:
    """A function that explains what ``fun`` does with its arguments.

    Args:
      fun: a function, transformed or not, jitted or not; or what ``jit(f).trace``,
        ``lower`` and ``compile`` give, which needs no arguments.

    Returns:
      A function of the arguments of ``fun``, which may be ``ShapeDtypeStruct``s, to an
      ``Explanation``. Nothing is run.

    >>> import covector as cv, covector.numpy as cnp
    >>> explanation = explain(lambda x: cnp.sum(cnp.sin(x) ** 2))(cnp.ones(3))
    >>> [equation.operation for equation in explanation.equations]
    ['sin', 'integer_pow', 'reduce_sum']
    """
    if isinstance(fun, Traced | Lowered | Compiled):
        return lambda *args, **kwargs: _explain(find_origin(fun, args, kwargs))
    who_of("explain", fun)  # raises where it is no function

    @wraps(fun)
    def explained(*args: Any, **kwargs: Any) -> Explanation:
        return _explain(find_origin(fun, args, kwargs))

    return explained


def _explain(origin: Origin) -> Explanation:
    return Explanation(origin=origin, **assemble(origin))

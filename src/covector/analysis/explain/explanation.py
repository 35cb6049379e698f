"""``explain(f)(*args)``: what a program does, by the lines of the user's code."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from covector.analysis.compiled.programs import Function
from covector.analysis.explain.assemble import assemble
from covector.analysis.explain.data import Data, plain
from covector.analysis.explain.html import render
from covector.analysis.explain.measuring import measure
from covector.analysis.explain.origin import Origin, find_origin
from covector.analysis.explain.slicing import chosen_equations, restrict
from covector.analysis.explain.tables import MOST_LINES, tables
from covector.analysis.terminal import plain_text, show
from covector.core.flat import who_of
from covector.core.source import wraps
from covector.dispatch.stages import Compiled, Lowered, Traced
from covector.errors import MissingLibrary

__all__ = ["Explanation"]

#: how a notebook shows the page
_FRAME = "width: 100%; height: 40rem; border: 0"


@dataclass(frozen=True, repr=False)
class Explanation(Data):
    """The work of a program, its cost and its memory, by line of its source.

    Its attributes are the data (``docs/explain.md``). Printed, it is a table for the
    terminal.
    """

    origin: Origin = field(compare=False)
    #: of a slice, the numbers of its equations in the whole program
    part: tuple[int, ...] | None = None

    def to_dict(self) -> dict[str, Any]:
        """The data, as JSON has it: dictionaries, lists, strings and numbers."""
        return plain(self, Data)

    def __repr__(self) -> str:
        return plain_text(tables(self))

    def show(self, lines: int = MOST_LINES, width: int | None = None) -> None:
        """Print it as tables in colours; ``print`` shows the same as plain text.

        Args:
          lines: how many lines of the program are shown, the costliest ones.
          width: of the output in characters; None for that of the terminal.

        Raises:
          MissingLibrary: rich is not installed; the extra ``inspect`` brings it.
        """
        show(tables(self, lines), width)

    def html(self, path: str | os.PathLike[str]) -> None:
        """Write a page that shows it: one file, which needs no other.

        Raises:
          MissingLibrary: the extra ``inspect`` is not installed.
        """
        Path(path).write_text(render(self.to_dict()), encoding="utf-8")

    def _repr_html_(self) -> str:
        # A page of its own: its style and scripts stay away from those of the notebook.
        try:
            page = escape(render(self.to_dict()), quote=True)
        except MissingLibrary:
            return f"<pre>{escape(repr(self))}</pre>"
        return f'<iframe srcdoc="{page}" style="{_FRAME}"></iframe>'

    def slice(
        self, output: str | int | None = None, input: str | int | None = None
    ) -> "Explanation":
        """The part that an output needs, or that depends on an input, or both.

        Args:
          output: the path of a leaf of the result, as ``"result['w']"``, or of what
            holds leaves; or the number of a leaf. None for any.
          input: the same of the arguments, as ``"params['w']"``.

        Returns:
          An explanation of what is left. Its shares are those of the whole program.

        Raises:
          ArgumentError: there is no such leaf.
        """
        wanted = set(chosen_equations(self.origin, output, input))
        part = range(len(self.equations)) if self.part is None else self.part
        return self._restricted([i for i, old in enumerate(part) if old in wanted])

    def _restricted(self, equations: Sequence[int]) -> "Explanation":
        made, kept = restrict(self, equations)
        part = kept if self.part is None else [self.part[i] for i in kept]
        return Explanation(origin=self.origin, part=tuple(part), **made)

    def run(self, repeats: int | None = None) -> "Explanation":
        """Run the program on the arguments that it was explained for, and measure it.

        Args:
          repeats: how often; by default for half a second, and at least three times.

        Returns:
          The explanation with what was measured: the time of a run, of each kernel,
          and the share of each line.

        Raises:
          ArgumentError: it was explained for types, or for what ``jit(f).trace``,
            ``lower`` and ``compile`` give, so there are no values to run on.
        """
        fields = assemble(self.origin, measure(self.origin, repeats))
        whole = Explanation(origin=self.origin, **fields)
        return whole if self.part is None else whole._restricted(self.part)


def explain(fun: Function) -> Callable[..., Explanation]:
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
    who_of("explain", fun)  # raises where it is not a function

    @wraps(fun)
    def explained(*args: Any, **kwargs: Any) -> Explanation:
        return _explain(find_origin(fun, args, kwargs))

    return explained


def _explain(origin: Origin) -> Explanation:
    return Explanation(origin=origin, **assemble(origin))

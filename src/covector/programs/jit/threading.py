"""References as arguments of programs, and as values that programs capture.

A jitted function has references of its own in place of those among its arguments, so
that one program serves all references of a type. So the same one cannot come in twice.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from covector.core.jaxpr import Jaxpr
from covector.core.references import (
    Ref,
    check_names,
    on_values,
    values_of,
    write_back,
)
from covector.core.staging import Staged, stage
from covector.core.types import AbstractRef


class References(NamedTuple):
    """How references are threaded through a program."""

    #: the numbers of the leaves of the arguments that are references
    arguments: tuple[int, ...]
    #: for each of the last outputs of the program the reference whose new value it is:
    #: one that is captured, or the number of a leaf of the arguments
    changed: Sequence[Ref | int]

    def values(
        self, captured: Sequence[Any], leaves: Sequence[Any], who: str
    ) -> tuple[list[Any], list[Any]]:
        """What the references among the operands hold.

        Raises:
          RefError: one is passed twice, or passed and closed over as well.
        """
        check_names([x for x in (*captured, *leaves) if type(x) is Ref], who)
        return values_of(captured), values_of(leaves)

    def write_back(self, leaves: Sequence[Any], outs: Sequence[Any]) -> Sequence[Any]:
        """The results of the user's function, without the values that are written."""
        count = len(outs) - len(self.changed)
        refs = [leaves[x] if isinstance(x, int) else x for x in self.changed]
        write_back(refs, outs[count:])
        return outs[:count]


def stage_on_values(
    fun: Callable[..., Any], types: Sequence[Any], name: str
) -> tuple[Staged, References]:
    """The program of a flat function, on what the references among its arguments hold,
    and how these are threaded through it.
    """
    mask = [type(t) is AbstractRef for t in types]
    given = [t.inner_aval if m else t for t, m in zip(types, mask, strict=True)]
    jaxpr, captured, changed = stage(on_values(fun, mask), given, name, references=True)
    numbers = [i for i, m in enumerate(mask) if m]
    first = len(jaxpr.outputs) - len(numbers) - len(changed)
    after = dict(zip(numbers, jaxpr.outputs[first:], strict=False))
    before = jaxpr.inputs[len(captured) :]
    written = [i for i in numbers if after[i] is not before[i]]
    outs = [*jaxpr.outputs[:first], *[after[i] for i in written]]
    outs += jaxpr.outputs[first + len(numbers) :]
    program = Jaxpr(jaxpr.inputs, jaxpr.equations, outs, jaxpr.name)
    return Staged(program, captured), References(tuple(numbers), (*written, *changed))

"""References as arguments of programs, and as values that programs capture.

A jitted function has references of its own in place of those among its arguments, so
that one program serves all references of a type. So the same one cannot come in twice.

A program that changes a large reference takes over its memory. Where somebody has read
the array meanwhile, and so may still have it, the program is given a copy.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from covector.core.jaxpr import Jaxpr
from covector.core.references import Ref, check_names, on_values, values_of, write_back
from covector.core.staging import Staged, stage
from covector.core.types import AbstractRef

#: bytes from which a reference gives up the memory of the value that it had
DONATED_BYTES = 1 << 16


class References(NamedTuple):
    """The way of references through a program."""

    #: the numbers of the leaves of the arguments that are references
    arguments: tuple[int, ...]
    #: for each of the last outputs of the program the reference whose new value it is:
    #: one that is captured, or the number of a leaf of the arguments
    changed: Sequence[Ref | int]
    #: the inputs of the program whose memory is given up
    given_up: frozenset[int]

    def values(
        self, captured: Sequence[Any], leaves: Sequence[Any], who: str, executed: bool
    ) -> tuple[list[Any], list[Any]]:
        """The values of references among the operands, for a program that is staged or
        ``executed``.

        Raises:
          RefError: one is passed twice, or passed and closed over as well.
        """
        check_names([x for x in (*captured, *leaves) if type(x) is Ref], who)
        if not executed:
            return values_of(captured), values_of(leaves)
        found = [
            x.lend(i in self.given_up) if type(x) is Ref else x
            for i, x in enumerate((*captured, *leaves))
        ]
        return found[: len(captured)], found[len(captured) :]

    def write_back(
        self, leaves: Sequence[Any], outs: Sequence[Any], executed: bool
    ) -> Sequence[Any]:
        """The results of the user's function, without the values that are written."""
        count = len(outs) - len(self.changed)
        refs = [leaves[x] if isinstance(x, int) else x for x in self.changed]
        write_back(refs, outs[count:])
        for ref in refs:
            ref.shared = not executed
        return outs[:count]


def references_of(
    jaxpr: Jaxpr,
    captured: Sequence[Any],
    arguments: Sequence[int],
    changed: Sequence[Ref | int],
) -> References:
    """The way of references through a program.

    One that calls Python, which may fail in its midst, takes over no memory.
    """
    inputs = {id(x): i for i, x in enumerate(captured)}
    given_up: list[int] = []
    if not jaxpr.effects:
        for x in changed:
            i = len(captured) + x if isinstance(x, int) else inputs[id(x)]
            type_ = jaxpr.inputs[i].type
            if type_.size * type_.storage.itemsize >= DONATED_BYTES:
                given_up.append(i)
    return References(tuple(arguments), changed, frozenset(given_up))


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
    references = references_of(program, captured, numbers, (*written, *changed))
    return Staged(program, captured), references

"""Hash-consing: equal jaxprs become one object and share derivatives and executables.

A loop or a branch is traced anew each time it is called, which is the only way to see
what its function closes over now. But to compile it anew would cost a thousand times as
much. So its jaxpr is looked up by structure: its operations, how they are wired, its
types, literals and lines, and by the context in force (``Context``). Executables and
derivatives live on the jaxpr that is found.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from covector.core.array import ConcreteArray
from covector.core.jaxpr import Equation, Jaxpr, Var
from covector.core.trace import context

#: interned jaxprs: the most recently used ones are kept
_CAPACITY = 1024

_programs: OrderedDict[tuple, Jaxpr] = OrderedDict()


def intern(jaxpr: Jaxpr) -> Jaxpr:
    """The first jaxpr seen that is structurally equal to ``jaxpr``; perhaps itself."""
    key = structure(jaxpr, lambda e: (e.op, e.line))
    found = _programs.setdefault(key, jaxpr)
    try:
        _programs.move_to_end(key)
        if len(_programs) > _CAPACITY:
            _programs.popitem(last=False)
    except KeyError:
        pass  # another thread dropped it meanwhile; it is found all the same
    return found


def forget_programs() -> None:
    """Drop the jaxprs that were interned, and so their executables."""
    _programs.clear()


def structure(jaxpr: Jaxpr, of: Callable[[Equation], Hashable]) -> tuple:
    """The structure of a jaxpr. Variables are numbered as they are defined.

    ``of`` gives what equal equations have in common besides operands and types.
    """
    numbers: dict[Var, int] = {v: i for i, v in enumerate(jaxpr.inputs)}
    parts: list[Any] = [context(), jaxpr.name, jaxpr.in_types]
    for e in jaxpr.equations:
        parts += [
            of(e),
            *[numbers[a] if type(a) is Var else of_literal(a) for a in e.inputs],
            *[v.type for v in e.outputs],
        ]
        for v in e.outputs:
            numbers[v] = len(numbers)
    parts.append(None)
    parts += [numbers[a] if type(a) is Var else of_literal(a) for a in jaxpr.outputs]
    return tuple(parts)


def of_literal(array: ConcreteArray) -> tuple:
    """Where and what a literal is."""
    return array.type, array.placement, np.asarray(array.host()).tobytes()

"""Equal programs become one object, so that what was worked out about one serves all.

A loop or a branch is written down anew each time it is called, which is the only way to
see what its function closes over now. But to compile it anew would cost a thousand
times as much. So a program is looked up by what it says: its operations, how they are
wired, its types, literals and lines, and by what surrounds it (``Context``).
Executables and derivatives live on the program that is found.
"""

from collections import OrderedDict
from typing import Any

import numpy as np

from covector.core.array import ConcreteArray
from covector.core.jaxpr import Jaxpr, Var
from covector.core.trace import context

#: programs that are remembered, the most recently used ones
_CAPACITY = 1024

_programs: OrderedDict[tuple, Jaxpr] = OrderedDict()


def canonical(jaxpr: Jaxpr) -> Jaxpr:
    """The first program seen that says the same as ``jaxpr``; perhaps that itself."""
    key = _content(jaxpr)
    found = _programs.setdefault(key, jaxpr)
    try:
        _programs.move_to_end(key)
        if len(_programs) > _CAPACITY:
            _programs.popitem(last=False)
    except KeyError:
        pass  # another thread dropped it meanwhile; it is found all the same
    return found


def forget_programs() -> None:
    """Drop the programs that were remembered, and so what they were compiled to."""
    _programs.clear()


def _content(jaxpr: Jaxpr) -> tuple:
    """What a program says. Variables are numbered as they are defined."""
    numbers: dict[Var, int] = {v: i for i, v in enumerate(jaxpr.inputs)}
    parts: list[Any] = [context(), jaxpr.name, jaxpr.in_types]
    for e in jaxpr.equations:
        parts += [
            e.op,
            e.line,
            *[numbers[a] if type(a) is Var else _literal(a) for a in e.inputs],
            *[v.type for v in e.outputs],
        ]
        for v in e.outputs:
            numbers[v] = len(numbers)
    parts.append(None)
    parts += [numbers[a] if type(a) is Var else _literal(a) for a in jaxpr.outputs]
    return tuple(parts)


def _literal(array: ConcreteArray) -> tuple:
    return array.type, array.placement, np.asarray(array.host()).tobytes()

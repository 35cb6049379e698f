"""What the tests of traces share: a trace that watches, and arrays."""

from collections.abc import Callable

import numpy as np

from covector.core.primitive import Primitive
from covector.core.trace import Trace, current
from tests.laws import array


class Recording(Trace):
    """The current trace, and the operations that it is asked for meanwhile."""

    def __init__(self):
        self.parent = current.trace
        self.ops: list[Primitive] = []

    def process(self, op, args):
        self.ops.append(op)
        return self.parent.process(op, args)


def operations_of(fun: Callable[[], object]) -> list[Primitive]:
    """The operations that ``fun`` runs in the current trace."""
    current.trace = trace = Recording()
    try:
        fun()
    finally:
        current.trace = trace.parent
    return trace.ops


def vector(*numbers):
    return array(np.float32(numbers))


def values(results):
    """Arrays as lists; what is absent stays so."""
    return [None if x is None else np.asarray(x).tolist() for x in results]

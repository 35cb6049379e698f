"""Which loops and branches are not worth compiling when they are run by themselves.

A compiled program costs some 30 ms or more to make and 5 µs to call; on the host each
operation costs 1 to 3 µs, every time.
"""

from covector.core.jaxpr import Equation, Jaxpr

#: operations, of all steps together, up to which a loop runs on the host
FEW = 64


def runs_on_host(jaxpr: Jaxpr) -> bool:
    """Whether all that a program does is quicker in NumPy (memoise on the program)."""
    return all([_is_quick(e) for e in jaxpr.equations])


def _is_quick(equation: Equation) -> bool:
    op = equation.op
    if op.evaluate is None:
        return op.plan(tuple([a.type for a in equation.inputs])).small
    # Of the operations that carry programs only a choice runs them one by one.
    branches = getattr(op, "branches", ())
    return bool(branches) and all([b.memo(runs_on_host) for b in branches])

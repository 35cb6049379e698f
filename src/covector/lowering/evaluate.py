"""The base trace: operations run.

    small, values at hand      NumPy, in well under a microsecond      ``op.on_host``
    everything else            one compiled operation, kept            ``op.lower``

XLA needs some 25 ms to compile one addition and 4 µs to run it; NumPy runs it in 0.3
µs. So what is small is never compiled.
"""

import contextvars
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from covector.core.array import ConcreteArray
from covector.core.convert import as_array
from covector.core.primitive import Plan, Primitive
from covector.core.trace import Trace, Tracer, check_scope
from covector.lowering.compile import compile_operation
from covector.lowering.places import Spread, common_place, meshes_named


class _Quiet(threading.local):
    """A context, per thread, in which NumPy does not warn: infinities are answers."""

    def __init__(self) -> None:
        context = contextvars.Context()
        context.run(np.seterr, all="ignore")
        self.run = context.run


#: ``quiet.run(function, *values)`` runs NumPy without warnings
quiet = _Quiet()


class EvalTrace(Trace):
    """Runs operations on concrete arrays."""

    name = "evaluation"

    # Every operation comes this way: taken apart, it would cost a tenth more.
    def process(  # noqa: C901, PLR0912
        self, op: Primitive, args: Sequence[Any]
    ) -> Sequence[Any]:
        types, hosts, committed, at_hand = [], [], None, True
        for a in args:
            if type(a) is not ConcreteArray:
                return self.process(op, [_concrete(a, op) for a in args])
            types.append(a.type)
            host = a._host
            hosts.append(host)
            if host is None:
                at_hand = False
            if a.placement is not None:
                committed = a.placement
        signature = tuple(types)
        try:
            plan = op.plans[signature]
        except KeyError:
            if op.evaluate is not None:
                return op.evaluate(*args)
            plan = op.plan(signature)
        if not plan.small:
            # Programs may have a plan too, from having been written down.
            if op.evaluate is not None:
                return op.evaluate(*args)
            return evaluate_compiled(op, plan, args)
        if committed is not None:
            place, committed = common_place(args, op.name)
            if type(place) is Spread:
                return evaluate_compiled(op, plan, args)
        if not at_hand:
            if not all([a.on_host() for a in args]):
                return evaluate_compiled(op, plan, args)
            hosts = [a.host() for a in args]
        outs = quiet.run(op.on_host, *hosts)
        if op.multiple_results:
            return [
                ConcreteArray(t, out, None, committed)
                for t, out in zip(plan.outs, outs, strict=True)
            ]
        return (ConcreteArray(plan.outs[0], outs, None, committed),)


#: the meaning of operations where no transformation is running
base = EvalTrace()


def evaluate_compiled(op: Primitive, plan: Plan, args: Sequence[Any]) -> Sequence[Any]:
    """``op`` as a compiled program of one operation, where its operands are."""
    if plan.executable is None:
        plan.meshes = meshes_named(op)
        plan.executable = {}
    place, committed = common_place(args, op.name, plan.meshes)
    compiled = plan.executable.get(place)
    if compiled is None:
        compiled = compile_operation(op, [a.type for a in args], place)
        plan.executable[place] = compiled
    return compiled(args, committed)


def _concrete(a: Any, op: Primitive) -> Any:
    if isinstance(a, Tracer):
        check_scope(a, None)
    return as_array(a, op.name)

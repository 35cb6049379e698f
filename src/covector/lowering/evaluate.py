"""The base trace: evaluates operations on concrete arrays.

    small, values at hand      NumPy, in well under a microsecond      ``op.on_host``
    large, the first times     NumPy, until compiling would have paid  ``op.on_host``
    everything else            one compiled operation, kept            ``op.lower``

XLA needs some 25 ms to compile one addition and 4 µs to run it; NumPy runs it in 0.3
µs. So what is small is never compiled.
"""

import contextvars
import threading
from collections.abc import Sequence
from itertools import repeat
from typing import Any

import numpy as np

from covector.core.array import ConcreteArray
from covector.core.convert import as_array
from covector.core.host_budget import HostBudget
from covector.core.operation_caches import OpPlan
from covector.core.primitive import Primitive
from covector.core.staging import KNOWN_LIMIT
from covector.core.trace import Trace, Tracer, check_scope, current
from covector.lowering.loading import compiling
from covector.lowering.placement import (
    MeshPlacement,
    common_placement,
    meshes_named,
    placements_of_results,
)
from covector.runtime import client, memory


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

    def process(self, op: Primitive, args: Sequence[Any]) -> Sequence[Any]:
        try:
            # One or two operands with their values at hand, as most have: no loop.
            if len(args) == 1:
                (x,) = args
                if type(x) is ConcreteArray and x.placement is None:
                    host, plan = x._host, op.plans.get((x.type,))
                    if host is not None and plan is not None and plan.one_on_host:
                        out = quiet.run(plan.one_on_host, host)
                        return (ConcreteArray(plan.outs[0], out),)
            elif len(args) == 2:
                x, y = args
                if (
                    type(x) is ConcreteArray
                    and type(y) is ConcreteArray
                    and x.placement is y.placement is None
                ):
                    one, two, plan = x._host, y._host, op.plans.get((x.type, y.type))
                    if (
                        one is not None
                        and two is not None
                        and plan is not None
                        and plan.one_on_host
                    ):
                        out = quiet.run(plan.one_on_host, one, two)
                        return (ConcreteArray(plan.outs[0], out),)
            return self._process_several(op, args)
        except MemoryError as error:
            if op.evaluate is not None:  # a function of the user's may have run
                raise
            raise memory.out_of_memory(error) from None

    def _process_several(self, op: Primitive, args: Sequence[Any]) -> Sequence[Any]:
        types, hosts, unread = [], [], False
        for a in args:
            if type(a) is not ConcreteArray or a.placement is not None:
                return self._process_anywhere(op, args)
            host = a._host
            if host is None:
                unread = True
            types.append(a.type)
            hosts.append(host)
        plan = op.plans.get(tuple(types))
        if plan is None or plan.on_host is None:
            return self._process_anywhere(op, args)
        if unread:  # as what a program gave
            if not all([a.on_host() for a in args]):
                return self._process_anywhere(op, args)
            hosts = [a.host() for a in args]
        outs = quiet.run(plan.on_host, *hosts)
        if plan.multiple_results:
            return list(map(ConcreteArray, plan.outs, outs))
        return (ConcreteArray(plan.outs[0], outs),)

    def _process_anywhere(self, op: Primitive, args: Sequence[Any]) -> Sequence[Any]:
        """``process`` where values are not all small and at hand."""
        args = [a if type(a) is ConcreteArray else _concrete(a, op) for a in args]
        if op.evaluate is not None:
            return op.evaluate(*args)
        plan = op.plan(tuple([a.type for a in args]))
        if plan.on_host is None and not is_deferred(plan.budget, args):
            return evaluate_compiled(op, plan, args)
        placement = committed = None
        if any([a.placement is not None for a in args]):
            placement, committed = common_placement(args, op.name)
        if type(placement) is MeshPlacement or not all([a.on_host() for a in args]):
            return evaluate_compiled(op, plan, args)
        if any([t.nbytes >= memory.LARGE for t in plan.outs]):
            memory.keep_memory()
        outs = quiet.run(op.on_host, *[a.host() for a in args])
        if not op.multiple_results:
            outs = [outs]
        placements: Any = repeat(None)
        if committed is not None:
            placements = placements_of_results(committed, args, plan.outs)
        return list(map(ConcreteArray, plan.outs, outs, repeat(None), placements))


#: the meaning of operations where no transformation is running
base = EvalTrace()


def is_deferred(budget: HostBudget | None, args: Sequence[Any]) -> bool:
    """Whether compiling waits: large operands, all at hand, meet in NumPy this time."""
    return (
        budget is not None
        and all([a.placement is None and a.on_host() for a in args])
        and client.default_platform() == "cpu"
        and budget.try_spend()
    )


def evaluate_compiled(
    op: Primitive, plan: OpPlan, args: Sequence[Any]
) -> Sequence[Any]:
    """``op`` as a compiled program of one operation, where its operands are."""
    if plan.executable is None:
        plan.meshes = meshes_named(op)
        plan.executable = {}
    placement, committed = common_placement(args, op.name, plan.meshes)
    compiled = plan.executable.get(placement)
    if compiled is None:
        compiled = compiling().compile_operation(op, [a.type for a in args], placement)
        plan.executable[placement] = compiled
    return compiled(args, committed)


def _concrete(a: Any, op: Primitive) -> Any:
    if isinstance(a, Tracer):
        if a.literal is not None:
            return a.literal
        check_scope(a, None)
    return as_array(a, op.name)


def at_hand(size: int) -> bool:
    """Whether an array that is made of nothing is made in host memory, with its values.

    Otherwise an operation makes it: where it is large and belongs on another device, or
    into a program.
    """
    if current.trace is not base:
        return type(size) is int and size <= KNOWN_LIMIT
    return size <= Primitive.host_limit or client.default_platform() == "cpu"

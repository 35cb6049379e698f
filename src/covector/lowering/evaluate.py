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

from covector import options
from covector.core.array import ConcreteArray
from covector.core.convert import as_array
from covector.core.primitive import Plan, Primitive
from covector.core.trace import Trace, Tracer, check_scope
from covector.errors import DeviceMismatch
from covector.lowering.compile import compile_operation
from covector.runtime import client


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
    def process(  # noqa: C901
        self, op: Primitive, args: Sequence[Any]
    ) -> Sequence[Any]:
        types, hosts, committed = [], [], None
        for a in args:
            if type(a) is not ConcreteArray:
                return self.process(op, [_concrete(a, op) for a in args])
            types.append(a.type)
            hosts.append(a._host)
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
        for i, host in enumerate(hosts):
            if host is None:
                if not args[i].on_host():
                    return evaluate_compiled(op, plan, args)
                hosts[i] = args[i].host()
        if committed is not None:
            committed = common_device(args, op.name)[1]
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
    """``op`` as a compiled program of one operation, on the device of its operands."""
    device, committed = common_device(args, op.name)
    if plan.executable is None:
        plan.executable = {}
    compiled = plan.executable.get(device)
    if compiled is None:
        compiled = compile_operation(op, [a.type for a in args], device)
        plan.executable[device] = compiled
    return compiled(args, committed)


def common_device(args: Sequence[ConcreteArray], who: str) -> tuple[Any, Any]:
    """Where to run on these operands, and the device the user chose, if any."""
    chosen = {a.placement for a in args if a.placement is not None}
    if len(chosen) > 1:
        raise DeviceMismatch(
            f"{who} needs operands on one device, but they were put on "
            f"{', '.join(sorted(map(str, chosen)))}. Bring them together with "
            "covector.device_put."
        )
    if chosen:
        (device,) = chosen
        return device, device
    return options.current().default_device or client.default_device(), None


def _concrete(a: Any, op: Primitive) -> Any:
    if isinstance(a, Tracer):
        check_scope(a, None)
    return as_array(a, op.name)

"""``debug_nans`` and ``debug_infs``: the operation that made a NaN or an infinity.

While one of them is on, in any thread, the base trace checks the results of every
operation that computes, and a jitted function its own results. A jaxpr with a bad
result is run once more, operation by operation. The search goes back from the bad
result, operand by operand, to the first operation that made bad values of good ones,
and enters calls, loops and branches on the way. While both are off, no path does any of
this work.
"""

import contextlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from covector import options, tree
from covector.core import dtypes
from covector.core.annotations import Value
from covector.core.array import ConcreteArray
from covector.core.array_like import Array
from covector.core.effects import Effect
from covector.core.flat import FlatFunction
from covector.core.jaxpr import Equation, Jaxpr, Var, read
from covector.core.primitive import Primitive
from covector.core.source import user_line
from covector.core.staging import StagingTrace, stage
from covector.core.trace import current
from covector.errors import NonFiniteError
from covector.lowering.evaluate import EvalTrace, base
from covector.operations.broadcasting import BroadcastInDim
from covector.operations.transposing import Reshape, Transpose
from covector.programs.higher_order.call import call
from covector.transforms.linearize import LinearTrace

#: operations that bring operands together, for promotion and over batches: what is
#: made of the operands is looked at
_MOVING = (BroadcastInDim, Reshape, Transpose)
#: numbers of an operand up to which a message shows them all
_SHOWN = 8


class Watch(NamedTuple):
    """The kinds of values that are looked for."""

    nans: bool
    infs: bool

    def found_in(self, x: Any) -> str | None:
        """The kind of bad value in ``x``, in a word; None if there is none."""
        if type(x) is not ConcreteArray or not dtypes.is_inexact(x.type.dtype):
            return None
        values = np.asarray(x.host())
        if self.nans and np.isnan(values).any():
            return "NaN"
        return "infinity" if self.infs and np.isinf(values).any() else None

    def first(self, values: Sequence[Value]) -> int | None:
        """The index of the first bad value; None if there is none."""
        return next((i for i, x in enumerate(values) if self.found_in(x)), None)


def _watch() -> Watch:
    now = options.current()
    return Watch(now.debug_nans, now.debug_infs)


# -- when results are looked at --------------------------------------------------------


def _install(on: bool) -> None:
    LinearTrace.lines = on
    if on:
        base.process = _checked_process  # type: ignore[method-assign]
    else:
        vars(base).pop("process", None)


def _checked_process(op: Primitive, args: Sequence[Value]) -> Sequence[Array]:
    """Evaluate an operation as the base trace does, and check the results."""
    watch = _watch()
    if not any(watch) or type(op) in _MOVING:
        return EvalTrace.process(base, op, args)
    # What a formula makes on the way, to leave it out, is no concern of the user's.
    whole = op.executions is not None or hasattr(op, "formula")
    with unwatched() if whole else contextlib.nullcontext():
        outs = EvalTrace.process(base, op, args)
    if watch.first(outs) is not None:
        equation = Equation(op, [*args], [], user_line())
        with unwatched():
            found = _inside(watch, equation, list(args), outs, "")
        raise NonFiniteError(found)
    return outs


def as_one(fun: Callable[..., Any], *operands: Any) -> Any:
    """``fun(*operands)``, looked at as if it were one operation.

    What covector's own functions make on the way, to leave it out again, is no concern
    of the user's.
    """
    if not options.current().checks_values or not _runs_at_once():
        return fun(*operands)
    watch = _watch()
    with unwatched():
        if current.trace is base:
            out = fun(*operands)
            if watch.first(tree.leaves(out)) is None:
                return out
        leaves, in_tree = tree.flatten((operands, {}))
        flat = FlatFunction(fun, in_tree, "as_one")
        staged = stage(flat, [x.type for x in leaves])
    outs = call(staged.jaxpr)(*staged.captured, *leaves)
    return tree.unflatten(flat.out_tree, outs)


def _runs_at_once() -> bool:
    """Whether no trace, from the one that is watching on, stages operations."""
    trace = current.trace
    while trace is not None and type(trace) is not StagingTrace:
        trace = trace.parent
    return trace is None


def copies(args: Sequence[Any], indices: Sequence[int]) -> list[Any]:
    """Arguments, with copies of those at these indices, for a program that takes them.

    What it was given would be gone when one wants to look at it again.
    """
    kept = list(args)
    for i in indices:
        x = kept[i]
        kept[i] = ConcreteArray(x.type, np.array(x.host()), None, x.placement)
    return kept


def check_results(
    jaxpr: Jaxpr,
    args: Sequence[Any],
    outs: Sequence[Any],
    who: str,
    name: Callable[[int], str],
) -> None:
    """Raise where results of a compiled program are bad, and say what made them so.

    ``name`` says in words which input of the program is meant.
    """
    watch = _watch()
    k = watch.first(outs)
    if k is None:
        return
    found: str | None = "it has effects, so it is not run again to find out where"
    if Effect.LASTS not in jaxpr.effects:
        with unwatched():
            try:
                found = _locate(watch, jaxpr, args, "")
            except _InArgument as error:
                i, kind = error.index, watch.found_in(args[error.index])
                found = f"{kind} came in with {name(i)}, {_shown(args[i])}"
    what = watch.found_in(outs[k])
    raise NonFiniteError(
        f"{who} gave {what} in a result {outs[k].type}; "
        + (found or "run operation by operation it gives none, so compilation makes it")
    )


def unwatched() -> Any:
    """While nothing is looked for."""
    return options.override(debug_nans=False, debug_infs=False)


# -- from a bad result back to the operation -------------------------------------------


class _InArgument(Exception):
    """The bad values were there before the program began."""

    def __init__(self, index: int) -> None:
        self.index = index


def _locate(watch: Watch, jaxpr: Jaxpr, args: Sequence[Any], trail: str) -> str | None:
    """The first operation that makes bad values of good ones, in words."""
    env: dict[Var, Any] = dict(zip(jaxpr.inputs, args, strict=True))
    makers: dict[Var, Equation] = {}
    for equation in jaxpr.equations:
        outs = base.process(equation.op, read(env, equation.inputs))
        env.update(zip(equation.outputs, outs, strict=True))
        makers.update(dict.fromkeys(equation.outputs, equation))
    k = watch.first(read(env, jaxpr.outputs))
    if k is None:
        return None
    atom = jaxpr.outputs[k]
    while type(atom) is Var and atom in makers:
        equation = makers[atom]
        operands = read(env, equation.inputs)
        i = watch.first(operands)
        if i is None:
            outs = read(env, equation.outputs)
            return _inside(watch, equation, operands, outs, trail)
        atom = equation.inputs[i]
    if type(atom) is Var:
        raise _InArgument(jaxpr.inputs.index(atom))
    return f"{watch.found_in(atom)} stands in the program as a constant{trail}"


def _inside(
    watch: Watch,
    equation: Equation,
    operands: list[Any],
    outs: Sequence[Any],
    trail: str,
) -> str:
    """The operation inside one that made bad values of good ones."""
    op = equation.op
    again = Effect.LASTS not in op.effects and watch.first(operands) is None
    if op.executions is not None and again:
        for jaxpr, args, where in op.executions(operands):
            if watch.first(call(jaxpr)(*args)) is not None:
                found = _locate(watch, jaxpr, args, where + trail)
                if found is not None:
                    return found
    k = watch.first(outs)
    assert k is not None, "a result is bad"
    what = watch.found_in(outs[k])
    made = f" made at {equation.line}" if equation.line else ""
    shown = ", ".join(map(_shown, operands))
    return f"first {what}: {op.name} of {shown}{made}{trail}"


def _shown(x: Any) -> str:
    """An operand in short: its type, and its values or their range."""
    if type(x) is not ConcreteArray or not hasattr(x.type.dtype, "kind"):
        return str(getattr(x, "type", x))
    values = np.asarray(x.host())
    if not values.size or (values.dtype.kind == "c" and values.size > _SHOWN):
        return str(x.type)
    if values.size <= _SHOWN:
        return f"{x.type} {np.array2string(values, precision=6, separator=', ')}"
    known = values[~np.isnan(values)] if dtypes.is_inexact(x.type.dtype) else values
    if not known.size:
        return f"{x.type}, all nan"
    return f"{x.type} from {known.min():.6g} to {known.max():.6g}"


options.Switch(("debug_nans", "debug_infs"), _install)

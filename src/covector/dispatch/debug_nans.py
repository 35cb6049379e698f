"""``debug_nans`` and ``debug_infs``: the operation that made a NaN or an infinity.

While one of them is on, in any thread, the base trace checks the results of every
operation that computes, and a jitted function its own results. A jaxpr with a bad
result is run once more, operation by operation (``nonfinite/``, which is
imported then), to find the first that made bad values of good ones; the function is
traced afresh for that, so that the lane of a ``vmap`` is known. While both are off, no
path does any of this work.
"""

import contextlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from covector import options, tree
from covector.core.annotations import Value
from covector.core.array import ConcreteArray
from covector.core.array_like import Array
from covector.core.effects import Effect
from covector.core.flat import FlatFunction
from covector.core.jaxpr import Equation, Jaxpr
from covector.core.primitive import Primitive
from covector.core.source import user_line
from covector.core.staging import StagingTrace, stage
from covector.core.trace import current
from covector.errors import CovectorError, NonFiniteError
from covector.lowering.evaluate import EvalTrace, base
from covector.operations.broadcasting import BroadcastInDim
from covector.operations.slicing import index_axis
from covector.operations.transposing import Reshape, Transpose
from covector.programs.higher_order.call import call
from covector.transforms.batch import BatchTrace, BatchTracer
from covector.transforms.linearize import LinearTrace

if TYPE_CHECKING:
    from covector.nonfinite.kinds import Kinds
    from covector.nonfinite.origin import Origin

#: operations that bring operands together, for promotion and over batches: what is
#: made of the operands is looked at
_MOVING = (BroadcastInDim, Reshape, Transpose)


def _watch() -> "Kinds":
    from covector.nonfinite.kinds import Kinds  # noqa: PLC0415  when asked for

    now = options.current()
    return Kinds(now.debug_nans, now.debug_infs)


# -- when results are looked at --------------------------------------------------------


def _install(on: bool) -> None:
    LinearTrace.lines = on
    if on:
        base.process = _checked_process  # type: ignore[method-assign]
        BatchTrace.process = _process_of_lanes  # type: ignore[method-assign]
    else:
        vars(base).pop("process", None)
        BatchTrace.process = _process_batch  # type: ignore[method-assign]


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
        from covector.nonfinite.origins import origin_at  # noqa: PLC0415  "

        with unwatched():
            equation = Equation(op, [*args], [], user_line())
            origin = origin_at(watch, equation, outs)
        raise _error(origin.sentence, origin)
    return outs


#: what a batch does while nobody looks
_process_batch = BatchTrace.process


def _process_of_lanes(
    trace: BatchTrace, op: Primitive, args: Sequence[Value]
) -> Sequence[Any]:
    """Run an operation on a batch; the lane is told of which a result is bad."""
    try:
        return _process_batch(trace, op, args)
    except NonFiniteError:
        if trace.axis_name in op.axis_names or not _runs_at_once():
            raise  # its lanes communicate, or have no values yet
        origin = _in_first_lane(trace, op, args)
        if origin is None:
            raise
    raise _error(origin.sentence, origin)


def _in_first_lane(
    trace: BatchTrace, op: Primitive, args: Sequence[Value]
) -> "Origin | None":
    """The origin in the first lane in which an operation gives a bad value."""
    outer, current.trace = current.trace, trace.parent
    try:
        for i in range(trace.size):
            with unwatched():
                lane = [_lane_of(trace, x, i) for x in args]
            try:
                trace.parent.process(op, lane)
            except NonFiniteError as error:
                return error.origin and error.origin.in_lane(i)
    finally:
        current.trace = outer
    return None


def _lane_of(trace: BatchTrace, x: Value, i: int) -> Value:
    """An operand, as lane i has it."""
    if type(x) is not BatchTracer or x.owner is not trace:
        return x
    return index_axis(x.value.type.shape, x.dim, i)(x.value)


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
    again: "Callable[[], Replayed] | None" = None,
) -> None:
    """Raise where results of a compiled program are bad, and say what made them so.

    ``name`` says in words which input of the program is meant, and ``again`` traces the
    program afresh.
    """
    watch = _watch()
    k = watch.first(outs)
    if k is None:
        return
    from covector.nonfinite.origins import origin_in  # noqa: PLC0415  "

    found, origin = "it has effects, so it is not run again to find out where", None
    if Effect.LASTS not in jaxpr.effects:
        found = "run operation by operation it gives none, so compilation makes it"
        origin = None if again is None else _origin_with_lanes(watch, again)
        if origin is None:
            with unwatched():
                origin = origin_in(watch, jaxpr, args, name)
    what = watch.found_in(outs[k])
    said = found if origin is None else origin.sentence
    raise _error(f"{who} gave {what} in a result {outs[k].type}; {said}", origin)


class Replayed(NamedTuple):
    """A program that is run again, what it takes, and the names of that in words."""

    jaxpr: Jaxpr
    args: Sequence[Any]
    name: Callable[[int], str]


def _origin_with_lanes(
    watch: "Kinds", again: "Callable[[], Replayed]"
) -> "Origin | None":
    """The origin in a program that still knows its lanes; None where it has none, or
    cannot be traced so.
    """
    from covector.nonfinite.lane_by_lane import lanes_apart  # noqa: PLC0415  "
    from covector.nonfinite.origins import origin_in  # noqa: PLC0415  "

    try:
        with lanes_apart() as search:
            replayed = again()
            if not search.has_lanes:
                return None
            return origin_in(watch, *replayed, search.maker)
    except CovectorError:
        return None


def _error(text: str, origin: "Origin | None") -> NonFiniteError:
    error = NonFiniteError(text)
    error.origin = origin
    if origin is not None and origin.reason is not None:
        instead = origin.suggestion and f"; write {origin.suggestion}"
        error.add_note(f"why: {origin.reason}{instead or ''}")
    return error


def unwatched() -> Any:
    """While nothing is looked for."""
    return options.override(debug_nans=False, debug_infs=False)


options.Switch(("debug_nans", "debug_infs"), _install)

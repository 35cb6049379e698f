"""Reductions along axes, and of windows, by an arbitrary combiner of two scalars.

The combiner is a jaxpr that maps (x₁, …, xₖ) and (y₁, …, yₖ), one element of each
operand, to one such tuple, and must be associative. If it is a single operation that
has a reduction operation, such as ``add``, that is used instead.

With any other combiner a reduction is a call of a program on whole arrays, in which
neighbours are combined in pairs; windows are built from slices (``slide``), whose
padding and holes contain no elements and are never combined. ``stablehlo.reduce`` and
``reduce_window`` are not used: XLA takes the elements in an order of its choice, which
is only correct for a commutative combiner, and sampling cannot establish that one is
commutative (decision 15).
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from covector import tree
from covector.core import dtypes
from covector.core.annotations import DType, Value
from covector.core.array import ConcreteArray
from covector.core.array_like import Array
from covector.core.convert import as_array, scalar
from covector.core.jaxpr import Jaxpr
from covector.core.primitive import Primitive
from covector.core.source import function_line, function_name
from covector.core.staging import Staged, stage
from covector.core.types import ArrayType, is_none, show_types
from covector.errors import ArgumentError, ConcretizationTypeError, TypeMismatch
from covector.operations.arithmetic import Add, Mul
from covector.operations.bitwise import And, Or, Xor, and_, or_
from covector.operations.broadcasting import BroadcastInDim, ReduceSum, reduced_type
from covector.operations.casting import convert
from covector.operations.extrema import Max, Min
from covector.operations.joining import Stack
from covector.operations.reductions import (
    ReduceAnd,
    ReduceMax,
    ReduceMin,
    ReduceOr,
    ReduceProd,
    ReduceXor,
    highest,
    lowest,
)
from covector.operations.slicing import Pad, Slice
from covector.operations.transposing import Reshape, Transpose
from covector.operations.window_reductions import ReduceWindowSum, Windowed, slide
from covector.operations.window_selection import ReduceWindowMax, ReduceWindowMin
from covector.programs.control_flow.combiners import (
    choose,
    combined,
    looks_associative,
    reduce_in_order,
    reduce_in_pairs,
)
from covector.programs.higher_order.call import call
from covector.programs.higher_order.hash_consing import intern

#: operations on two elements that have reductions of their own, along axes and of
#: windows, and their identities
REDUCTIONS: dict[type[Primitive], tuple[Any, Any, Callable[[Any], Any]]] = {
    Add: (ReduceSum, ReduceWindowSum, lambda dtype: 0),
    Mul: (ReduceProd, None, lambda dtype: 1),
    Max: (ReduceMax, ReduceWindowMax, lowest),
    Min: (ReduceMin, ReduceWindowMin, highest),
    And: (ReduceAnd, None, lambda dtype: -1),
    Or: (ReduceOr, None, lambda dtype: 0),
    Xor: (ReduceXor, None, lambda dtype: 0),
}


def reduce_flat(
    jaxpr: Jaxpr,
    operands: Sequence[Value],
    initial: Sequence[Value],
    dimensions: tuple[int, ...],
) -> Sequence[Array]:
    """Operands reduced by a combining program, from these initial values."""
    reduction, _, identity = _reductions(jaxpr)
    settings = reduction, identity, whole_program, (dimensions,)
    return _reduced(jaxpr, operands, initial, *settings)


def reduce_windows_flat(
    jaxpr: Jaxpr,
    operands: Sequence[Value],
    initial: Sequence[Value],
    fields: Sequence[Any],
) -> Sequence[Array]:
    """Windows of operands reduced by a combining program, from these initial values."""
    _, reduction, identity = _reductions(jaxpr)
    if reduction is not ReduceWindowSum and dtypes.is_complex(operands[0].type.dtype):
        reduction = None
    settings = reduction, identity, sliding_program, fields
    return _reduced(jaxpr, operands, initial, *settings)


def _reductions(jaxpr: Jaxpr) -> tuple[Any, Any, Any]:
    """The reductions of the operation that a combining program consists of, if any."""
    return REDUCTIONS.get(type(single_operation(jaxpr)), (None, None, None))


def window_identity(jaxpr: Jaxpr, dtype: DType) -> Any:
    """What can stand around the operand of a reduction of windows by this program, and
    change nothing; None where that is not known.
    """
    _, reduction, identity = _reductions(jaxpr)
    return identity(dtype) if reduction is not None else None


def _reduced(
    jaxpr: Jaxpr,
    operands: Sequence[Value],
    initial: Sequence[Value],
    reduction: Any,
    identity: Any,
    make_program: Callable[..., Jaxpr],
    fields: Sequence[Any],
) -> Sequence[Array]:
    if reduction is None:
        types = tuple([x.type.strong() for x in (*operands, *initial)])
        return call(jaxpr.memo(make_program, types, *fields))(*operands, *initial)
    (start,) = initial
    out = reduction(*fields)(*operands)
    known = is_known(start, identity(out.type.dtype))
    return [out if known else single_operation(jaxpr)(start, out)]


def is_known(x: Any, value: Any) -> bool:
    """Whether ``x`` is known and this number."""
    if type(x) is not ConcreteArray:
        return False
    return bool(x.host() == np.asarray(value).astype(x.type.storage))


def whole_program(
    jaxpr: Jaxpr, types: tuple[ArrayType, ...], dimensions: tuple[int, ...]
) -> Jaxpr:
    """The reduction as a program of whole arrays (memoise on the combining program)."""
    k = len(types) // 2
    kept = reduced_type("reduce", types[0], dimensions).shape

    def reduced(*args: Value) -> Sequence[Any]:
        rows = [_merged_in_front(x, dimensions) for x in args[:k]]
        starts = [BroadcastInDim(kept, ())(i) for i in args[k:]]
        if not rows[0].type.shape[0]:
            return starts
        if jaxpr.memo(looks_associative):
            return combined(jaxpr, starts, reduce_in_pairs(jaxpr, rows))
        return reduce_in_order(jaxpr, rows, starts)

    return stage(reduced, types, f"reduce_{jaxpr.name}").jaxpr


def _merged_in_front(x: Any, axes: tuple[int, ...]) -> Any:
    """``x`` with these axes as one, the first."""
    axes = tuple(sorted(axes))
    kept = [k for k in range(x.type.ndim) if k not in axes]
    shape = [x.type.shape[k] for k in kept]
    count = math.prod([x.type.shape[a] for a in axes])
    return Reshape((count, *shape))(Transpose((*axes, *kept))(x))


# -- windows ---------------------------------------------------------------------------


def sliding_program(jaxpr: Jaxpr, types: tuple[ArrayType, ...], *fields: Any) -> Jaxpr:
    """The reduction as a program of whole arrays (memoise on the combining program)."""
    op, k = Windowed(*fields), len(types) // 2
    shape = op.num_positions(types[0])

    def reduced(*args: Any) -> Sequence[Any]:
        starts = [BroadcastInDim(shape, ())(i) for i in args[k:]]
        if is_none(starts[0].type.size) or is_none(types[0].size):
            return starts
        padded = _with_holes(op, args[:k])
        if not jaxpr.memo(looks_associative):
            present, taps = _split(_taps(op, padded), k)
            return reduce_in_order(jaxpr, taps, starts, present)
        whole = slide(
            lambda a, b: _where_present(jaxpr, a, b),
            padded,
            op.inside,
            op.window_dimensions,
        )
        present, found = _split(whole, k)
        outs = combined(jaxpr, starts, found)
        return outs if present is None else choose(present, outs, starts)

    return stage(reduced, types, f"reduce_window_{jaxpr.name}").jaxpr


def _with_holes(op: Windowed, xs: Sequence[Any]) -> list[Any]:
    """The operands with gaps and margins; if there are any, behind an array that is
    true at their elements.

    What is in the gaps is never used, but combined with others on the way. That they
    are elements of the operands keeps its derivative as finite as theirs.
    """
    if not any(map(any, op.margins)):
        return list(xs)
    first = [Reshape(())(Slice((0,) * x.type.ndim, (1,) * x.type.ndim)(x)) for x in xs]
    known = BroadcastInDim(xs[0].type.shape, ())(scalar(True, dtypes.bool_))
    present = Pad(op.margins)(known, scalar(False, dtypes.bool_))
    return [present, *[Pad(op.margins)(x, f) for x, f in zip(xs, first, strict=True)]]


def _split(values: Sequence[Any], k: int) -> tuple[Any, Sequence[Any]]:
    """The mask of the positions that hold elements, or None, and the k arrays."""
    return (values[0], values[1:]) if len(values) > k else (None, values)


def _where_present(jaxpr: Jaxpr, a: Sequence[Any], b: Sequence[Any]) -> Sequence[Any]:
    """Two arrays combined where both have elements; else what one of them has."""
    (some, xs), (others, ys) = [_split(v, len(jaxpr.outputs)) for v in (a, b)]
    both = combined(jaxpr, xs, ys)
    if some is None:
        return both
    of_one = choose(some, xs, ys)
    return [or_(some, others), *choose(and_(some, others), both, of_one)]


def _taps(op: Windowed, padded: Sequence[Any]) -> Sequence[Any]:
    """The elements that all windows meet at once, along a new first axis."""
    axes = zip(op.inside, padded[0].type.shape, op.window_dimensions, strict=True)
    spans = [(w.num_positions(n, k) - 1) * w.stride + 1 for w, n, k in axes]
    cuts = []
    for position in np.ndindex(*op.window_dimensions):
        low = [k * w.rhs_dilation for k, w in zip(position, op.inside, strict=True)]
        high = [a + span for a, span in zip(low, spans, strict=True)]
        cuts.append(Slice(tuple(low), tuple(high), op.window_strides))
    return [Stack(0)(*[cut(x) for cut in cuts]) for x in padded]


# -- from a Python function ------------------------------------------------------------


def combiner(
    who: str, fun: Callable[..., Any], structure: Any, dtypes_: Sequence[DType]
) -> Jaxpr:
    """The program of a Python function that combines two trees of scalars."""
    elements = [ArrayType((), dtype) for dtype in dtypes_]
    k = len(elements)

    def flat(*xy: Any) -> list[Array]:
        out = fun(tree.unflatten(structure, xy[:k]), tree.unflatten(structure, xy[k:]))
        outs, found = tree.flatten(out)
        difference = tree.describe_difference(found, structure, ("it", "each argument"))
        if difference:
            raise TypeMismatch(
                f"{who} needs a function that makes of two trees one like them, but of "
                f"the result of {function_line(fun)}: {difference}."
            )
        return outs

    staged = stage(flat, elements * 2, function_name(fun, "combine"))
    _check_combiner(who, fun, staged, elements)
    return intern(staged.jaxpr)


def _check_combiner(
    who: str, fun: Callable[..., Any], staged: Staged, elements: list[ArrayType]
) -> None:
    """Raise where a program does not combine pairs of elements, or does more."""
    if staged.captured:
        raise ConcretizationTypeError(
            f"{who} needs a function of its two arguments alone, but "
            f"{function_line(fun)} uses a traced value or a large array from outside: "
            f"{show_types([c.type for c in staged.captured])}. Fold with "
            "covector.lax.scan, whose carry can hold it."
        )
    if [t.strong() for t in staged.jaxpr.out_types] != elements:
        raise TypeMismatch(
            f"{who} needs a function that returns {show_types(elements)} for two of "
            f"these, but {function_line(fun)} returned "
            f"{show_types(staged.jaxpr.out_types)}. Convert its result."
        )
    if staged.jaxpr.effects:
        raise ArgumentError(
            f"{who} combines elements in any order and as often as it likes, so that "
            f"{function_line(fun)} cannot call Python on the way (callbacks, "
            "debug.print). Look at what goes in and what comes out; or fold "
            "with covector.lax.scan, one element after the other."
        )


def single_operation(jaxpr: Jaxpr) -> Any:
    """The operation on two elements that a combining program consists of, if any."""
    if len(jaxpr.equations) != 1:
        return None
    (equation,) = jaxpr.equations
    if set(equation.inputs) != set(jaxpr.inputs) or len(jaxpr.inputs) != 2:
        return None
    return equation.op if tuple(equation.outputs) == jaxpr.outputs else None


def initial_value(who: str, value: Any, operand: Any) -> Any:
    """An initial value as a scalar of the dtype of its operand."""
    dtype = operand.type.dtype
    if isinstance(value, bool | int | float | complex) and not isinstance(
        value, np.generic
    ):
        return scalar(value, dtype)
    start = as_array(value, who)
    if start.type.shape != () or (start.type.dtype != dtype and not start.type.weak):
        raise TypeMismatch(
            f"{who} of {operand.type} needs an initial value of type "
            f"{operand.type.with_shape(())}, but got {start.type}."
        )
    return convert(start, dtype)

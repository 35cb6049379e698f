"""Reduction along axes by an arbitrary combiner, a jaxpr on two scalars.

The combiner maps (x₁, …, xₖ) and (y₁, …, yₖ), one element of each operand, to one such
tuple, and must be associative. If it is a single operation that has a reduction
operation, such as ``add``, ``reduce_flat`` uses that instead.

With any other combiner it is a call of a program on whole arrays, in which neighbours
are combined in pairs. ``stablehlo.reduce`` is not used: XLA takes the elements in an
order of its choice, which is only correct for a commutative combiner, and sampling
cannot establish that one is commutative (decision 15).
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from covector import tree
from covector.core.annotations import DType, Value
from covector.core.array import ConcreteArray
from covector.core.array_like import Array
from covector.core.convert import as_array, scalar
from covector.core.jaxpr import Jaxpr
from covector.core.primitive import Primitive
from covector.core.source import function_line
from covector.core.staging import Staged, stage
from covector.core.types import ArrayType, show_types
from covector.errors import ArgumentError, ConcretizationTypeError, TypeMismatch
from covector.ops.arithmetic import Add, Mul
from covector.ops.bitwise import And, Or, Xor
from covector.ops.broadcasting import BroadcastInDim, ReduceSum, reduced_type
from covector.ops.casting import convert
from covector.ops.extrema import Max, Min
from covector.ops.reductions import (
    ReduceAnd,
    ReduceMax,
    ReduceMin,
    ReduceOr,
    ReduceProd,
    ReduceXor,
    highest,
    lowest,
)
from covector.ops.transposing import Reshape, Transpose
from covector.programs.control_flow.combiners import (
    combined,
    looks_associative,
    reduce_in_order,
    reduce_in_pairs,
)
from covector.programs.higher_order.call import call
from covector.programs.higher_order.hash_consing import intern

#: operations on two elements that have a reduction of their own, and their identities
REDUCTIONS: dict[type[Primitive], tuple[Any, Callable[[Any], Any]]] = {
    Add: (ReduceSum, lambda dtype: 0),
    Mul: (ReduceProd, lambda dtype: 1),
    Max: (ReduceMax, lowest),
    Min: (ReduceMin, highest),
    And: (ReduceAnd, lambda dtype: -1),
    Or: (ReduceOr, lambda dtype: 0),
    Xor: (ReduceXor, lambda dtype: 0),
}


def reduce_flat(
    jaxpr: Jaxpr,
    operands: Sequence[Value],
    initial: Sequence[Value],
    dimensions: tuple[int, ...],
) -> Sequence[Array]:
    """Operands reduced by a combining program, from these initial values."""
    op = single_operation(jaxpr)
    if op is None or type(op) not in REDUCTIONS:
        types = tuple([x.type.strong() for x in (*operands, *initial)])
        return call(jaxpr.memo(whole_program, dimensions, types))(*operands, *initial)
    reduction, identity = REDUCTIONS[type(op)]
    (start,) = initial
    out = reduction(dimensions)(*operands)
    return [out if is_known(start, identity(out.type.dtype)) else op(start, out)]


def is_known(x: Any, value: Any) -> bool:
    """Whether ``x`` is known and this number."""
    if type(x) is not ConcreteArray:
        return False
    return bool(x.host() == np.asarray(value).astype(x.type.storage))


def whole_program(
    jaxpr: Jaxpr, dimensions: tuple[int, ...], types: tuple[ArrayType, ...]
) -> Jaxpr:
    """The reduction as a program of whole arrays (memoise on the combining program)."""
    k = len(types) // 2
    kept = reduced_type("reduce", types[0], dimensions).shape

    def reduced(*args: Any) -> Sequence[Any]:
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

    staged = stage(flat, elements * 2, getattr(fun, "__name__", "combine"))
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


def single_operation(jaxpr: Jaxpr) -> Primitive | None:
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

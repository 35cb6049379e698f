"""Operations that combine elements: reductions, products, windows, transforms."""

from collections.abc import Callable, Sequence
from typing import Any

from covector import lax
from covector.compat.jaxprs import ClosedJaxpr, eval_jaxpr
from covector.compat.operation_primitives import (
    EXPANSIONS,
    PRIMITIVES,
    OperationPrimitive,
    Parameter,
    Types,
    composition,
    enter,
    primitive,
)
from covector.compat.restaging import as_closed
from covector.operations import (
    argmax,
    cumulative,
    reductions,
    window_reductions,
    window_selection,
)
from covector.operations.arithmetic import SumOfProducts, add, mul
from covector.operations.broadcasting import ReduceSum
from covector.operations.contraction import DotGeneral
from covector.operations.convolution import ConvGeneralDilated
from covector.operations.fft import FFT
from covector.operations.multiply_add import MultiplyAdd

primitive("reduce_sum", ReduceSum, constant={"out_sharding": None})
for _cls in [
    *[reductions.ReduceMax, reductions.ReduceMin, reductions.ReduceProd],
    *[reductions.ReduceAnd, reductions.ReduceOr, reductions.ReduceXor],
    *[cumulative.Cumsum, cumulative.Cumprod, cumulative.Cummax, cumulative.Cummin],
    cumulative.Cumlogsumexp,
]:
    primitive(_cls.name, _cls)

_AXES = Parameter("axis", lambda axis: (axis,), lambda axes: axes[0])
primitive("argmax", argmax.Argmax, axes=_AXES)
primitive("argmin", argmax.Argmin, axes=_AXES)
primitive("dot_general", DotGeneral, constant={"out_sharding": None})
primitive("conv_general_dilated", ConvGeneralDilated, constant={"out_sharding": None})
primitive("fft", FFT, fft_lengths="lengths")


# -- windows ---------------------------------------------------------------------------

for _cls in [
    *[window_reductions.ReduceWindowSum, window_selection.ReduceWindowMax],
    window_selection.ReduceWindowMin,
]:
    primitive(_cls.name, _cls)

_SELECT = Parameter("select", PRIMITIVES.__getitem__, lambda compare: compare.name)
_DILATIONS = ("base_dilation", "window_dilation")


class _SelectAndScatterAdd(OperationPrimitive):
    """``select_and_scatter_add``, which has dilations only where there are some."""

    def params_of(self, op: Any, types: Types) -> dict[str, Any]:
        shown = super().params_of(op, types)
        ones = (1,) * types[1].ndim
        return {k: v for k, v in shown.items() if k not in _DILATIONS or v != ones}

    def operation(self, params: Any, types: Types = ()) -> Any:
        ones = dict.fromkeys(_DILATIONS, (1,) * types[1].ndim)
        return super().operation(ones | params, types)


primitive(
    "select_and_gather_add", window_selection.SelectAndGatherAdd, select_prim=_SELECT
)
enter(
    _SelectAndScatterAdd(
        "select_and_scatter_add",
        window_selection.SelectAndScatterAdd,
        {"select_prim": _SELECT},
    )
)


# -- functions of covector -------------------------------------------------------------


def _halves(values: Sequence[Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    count = len(values) // 2
    return tuple(values[:count]), tuple(values[count:])


def _combine(program: Any, consts: Sequence[Any] = ()) -> Callable[..., Any]:
    """The function that a program of two groups of scalars is."""
    closed = ClosedJaxpr(program, consts) if consts else as_closed(program)
    return lambda a, b: tuple(eval_jaxpr(closed.jaxpr, closed.consts, *a, *b))


def _reduce(*args: Any, jaxpr: Any, dimensions: Any, computation: Any = None) -> Any:
    return lax.reduce(*_halves(args), _combine(jaxpr), dimensions)


def _reduce_window(*args: Any, jaxpr: Any, consts: Any = (), **windows: Any) -> Any:
    operands, initial = _halves(args)
    starts: Any = initial
    return lax.reduce_window(operands, starts, _combine(jaxpr, consts), **windows)


def _approx_top_k(x: Any, *, is_max_k: bool, **params: Any) -> Any:
    return (lax.approx_max_k if is_max_k else lax.approx_min_k)(x, **params)


composition("approx_top_k", _approx_top_k, multiple_results=True)
composition("ragged_dot_general", lax.ragged_dot_general)
composition("create_token", lax.create_token)
composition("after_all", lax.after_all)
composition("reduce", _reduce, multiple_results=True)
composition("reduce_window", _reduce_window, multiple_results=True)


# -- several operations of the field ---------------------------------------------------


def _sum_of_products(op: Any, types: Types) -> Callable[..., Any]:
    return lambda a, b, c, d: [add(mul(a, b), mul(c, d))]


def _product_then_sum(op: Any, types: Types) -> Callable[..., Any]:
    return lambda x, y, z: [add(mul(x, y), z)]


EXPANSIONS[SumOfProducts] = _sum_of_products
EXPANSIONS[MultiplyAdd] = _product_then_sum
composition("add_any", add)
composition("mulhi", lax.mulhi)

"""Operations with parameters or results that ``names/operations.txt`` cannot say, and
primitives of the field that are functions of covector.
"""

from collections.abc import Callable, Sequence
from typing import Any

from covector import lax, random
from covector.compat.jaxprs import ClosedJaxpr, jaxpr_as_fun
from covector.compat.operation_primitives import (
    OperationPrimitive,
    Parameter,
    Params,
    Types,
    composition,
    one,
    primitive,
)
from covector.compat.restaging import as_closed
from covector.core import dtypes
from covector.core.trace import Trace, current
from covector.core.types import ArrayType
from covector.operations.arithmetic import add
from covector.operations.linear_algebra.lu import LUPivotsToPermutation
from covector.operations.random import THREEFRY
from covector.programs.custom_rules.ruled_program import halves

primitive("conj", derived={"input_dtype": lambda op, types: types[0].dtype})
primitive("random_seed", constant={"impl": THREEFRY})
primitive(
    "sharding_constraint layout:None context_mesh~None",
    ignored={"unconstrained_dims": frozenset()},
)

# -- between the participants of named axes --------------------------------------------


def _names(axes: Any) -> tuple[Any, ...]:
    return axes if type(axes) is tuple else (axes,)


def _size(axis: Any) -> int:
    return current.trace.axes[axis]


def _size_to_exchange(params: Params) -> int:
    groups = params.get("axis_index_groups")
    return len(groups[0]) if groups else _size(one("axis").taken(params["axis_name"]))


primitive(
    "all_to_all axis_name=(axis) split_axis=split concat_axis=concat "
    "axis_index_groups=groups",
    implied={"size": _size_to_exchange},
)
primitive(
    "ppermute perm=pairs",
    parameters={"axis_name": Parameter("axes", taken=_names)},
    implied={"sizes": lambda params: tuple(map(_size, _names(params["axis_name"])))},
)
primitive("pvary", parameters={"axes": Parameter("axes", taken=frozenset)})

# -- on matrices -----------------------------------------------------------------------

primitive(
    "svd compute_uv=vectors subset_by_index:None algorithm~None",
    order=lambda op: (1, 0, 2) if op.vectors else (0,),
)


class _LU(OperationPrimitive):
    """``lu``, which gives the order of the rows as well."""

    def results_of(self, op: Any, types: Types) -> Sequence[int | ArrayType]:
        (a,) = types
        order = ArrayType(a.shape[:-1], dtypes.int32, varying=a.varying)
        return (0, 1, order)

    def process(
        self, trace: Trace, operands: Sequence[Any], params: Any
    ) -> Sequence[Any]:
        factors, pivots = super().process(trace, operands, params)
        order = LUPivotsToPermutation(operands[0].type.shape[-2])
        return (factors, pivots, *trace.process(order, [pivots]))


primitive("lu", kind=_LU)

# -- functions of covector -------------------------------------------------------------


def _combine(program: Any, consts: Sequence[Any] = ()) -> Callable[..., Any]:
    """The function that a program of two groups of scalars is."""
    fun = jaxpr_as_fun(ClosedJaxpr(program, consts) if consts else as_closed(program))
    return lambda a, b: tuple(fun(*a, *b))


def _reduce(*args: Any, jaxpr: Any, dimensions: Any, computation: Any = None) -> Any:
    return lax.reduce(*halves(args), _combine(jaxpr), dimensions)


def _reduce_window(*args: Any, jaxpr: Any, consts: Any = (), **windows: Any) -> Any:
    operands, initial = halves(args)
    starts: Any = initial
    return lax.reduce_window(operands, starts, _combine(jaxpr, consts), **windows)


def _approx_top_k(x: Any, *, is_max_k: bool, **params: Any) -> Any:
    return (lax.approx_max_k if is_max_k else lax.approx_min_k)(x, **params)


def _random_gamma(key: Any, a: Any, *, log_space: bool = False) -> Any:
    draw = random.loggamma if log_space else random.gamma
    return draw(key, a, a.shape, a.dtype)


def _scatter_sub(
    *args: Any, update_jaxpr: Any = None, update_consts: Any = (), **params: Any
) -> Any:
    return lax.scatter_sub(*args, **params)


def _closed_call(*args: Any, call_jaxpr: Any, **_: Any) -> list[Any]:
    return jaxpr_as_fun(as_closed(call_jaxpr))(*args)


composition("add_any", add)
composition("approx_top_k", _approx_top_k, several=True)
composition(
    "call", lambda fun, *args, **_: fun.call_wrapped(*args), several=True, calls=True
)
composition("closed_call", _closed_call, several=True, calls=True)
composition("random_gamma", _random_gamma)
composition("reduce", _reduce, several=True)
composition("reduce_window", _reduce_window, several=True)
composition("rng_bit_generator", lax.rng_bit_generator, several=True)
composition("scatter-sub", _scatter_sub)
for _name in ("after_all", "create_token", "mulhi", "tile"):
    composition(_name, getattr(lax, _name))
for _name in ("ragged_all_to_all", "ragged_dot_general"):
    composition(_name, getattr(lax, _name))

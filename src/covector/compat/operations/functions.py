"""Primitives of the field that are functions of covector, and operations of covector
that are several of the field.
"""

from collections.abc import Callable, Sequence
from typing import Any

from covector import lax, random
from covector.compat.jaxprs import ClosedJaxpr, jaxpr_as_fun
from covector.compat.operation_primitives import EXPANSIONS, composition
from covector.compat.restaging import as_closed
from covector.operations.arithmetic import SumOfProducts, add, mul
from covector.operations.multiply_add import MultiplyAdd

EXPANSIONS[SumOfProducts] = lambda op, types: (
    lambda a, b, c, d: [add(mul(a, b), mul(c, d))]
)
EXPANSIONS[MultiplyAdd] = lambda op, types: lambda x, y, z: [add(mul(x, y), z)]


def _halves(values: Sequence[Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    count = len(values) // 2
    return tuple(values[:count]), tuple(values[count:])


def _combine(program: Any, consts: Sequence[Any] = ()) -> Callable[..., Any]:
    """The function that a program of two groups of scalars is."""
    fun = jaxpr_as_fun(ClosedJaxpr(program, consts) if consts else as_closed(program))
    return lambda a, b: tuple(fun(*a, *b))


def _reduce(*args: Any, jaxpr: Any, dimensions: Any, computation: Any = None) -> Any:
    return lax.reduce(*_halves(args), _combine(jaxpr), dimensions)


def _reduce_window(*args: Any, jaxpr: Any, consts: Any = (), **windows: Any) -> Any:
    operands, initial = _halves(args)
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


def _call(fun: Any, *args: Any, **_: Any) -> Any:
    return fun.call_wrapped(*args)


def _closed_call(*args: Any, call_jaxpr: Any, **_: Any) -> list[Any]:
    return jaxpr_as_fun(as_closed(call_jaxpr))(*args)


composition("add_any", add)
composition("after_all", lax.after_all)
composition("approx_top_k", _approx_top_k, several=True)
composition("call", _call, several=True, calls=True)
composition("closed_call", _closed_call, several=True, calls=True)
composition("create_token", lax.create_token)
composition("mulhi", lax.mulhi)
composition("ragged_all_to_all", lax.ragged_all_to_all)
composition("ragged_dot_general", lax.ragged_dot_general)
composition("random_gamma", _random_gamma)
composition("reduce", _reduce, several=True)
composition("reduce_window", _reduce_window, several=True)
composition("rng_bit_generator", lax.rng_bit_generator, several=True)
composition("scatter-sub", _scatter_sub)
composition("tile", lax.tile)

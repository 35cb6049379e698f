"""Programs as data: ``make_jaxpr`` and the classes of what it gives.

closed = jax.make_jaxpr(f)(x)
closed.jaxpr.eqns[0].primitive is jax.lax.sin_p
jax.core.eval_jaxpr(closed.jaxpr, closed.consts, x)
"""

from collections.abc import Callable, Sequence
from typing import Any

import covector.compat.operations  # noqa: F401  fills the tables
from covector.compat.jaxprs import (
    Atom,
    ClosedJaxpr,
    DebugInfo,
    DropVar,
    Jaxpr,
    JaxprEqn,
    Literal,
    SourceInfo,
    Var,
    eval_jaxpr,
    gensym,
    jaxpr_as_fun,
    jaxprs_in_params,
    new_jaxpr_eqn,
    subjaxprs,
)
from covector.compat.views import closed_jaxpr
from covector.core.source import wraps
from covector.programs.jit.inspection import staged_function
from covector.programs.jit.stages import struct

__all__ = [
    "Atom",
    "ClosedJaxpr",
    "DebugInfo",
    "DropVar",
    "Jaxpr",
    "JaxprEqn",
    "Literal",
    "SourceInfo",
    "Var",
    "eval_jaxpr",
    "gensym",
    "jaxpr_as_fun",
    "jaxprs_in_params",
    "make_jaxpr",
    "new_jaxpr_eqn",
    "subjaxprs",
]


def make_jaxpr(
    fun: Callable[..., Any],
    static_argnums: int | Sequence[int] = (),
    axis_env: Sequence[tuple[Any, int]] | None = None,
    return_shape: bool = False,
) -> Callable[..., Any]:
    """A function that gives the ``ClosedJaxpr`` of ``fun`` for its arguments.

    Its consts are what ``fun`` closes over, the same objects.

    Args:
      static_argnums: arguments that are part of the program.
      axis_env: named axes, with sizes, that collectives in ``fun`` may name.
      return_shape: give the tree of shapes of the result as well.

    >>> import covector.numpy as cnp
    >>> print(make_jaxpr(lambda x: cnp.sin(x) * 2)(1.0))
    { lambda ; a:f32[]. let
        b:f32[] = sin[accuracy=None] a
        c:f32[] = mul b 2.0:f32[]
      in (c,) }
    """
    traced = staged_function(fun, static_argnums, axis_env)

    @wraps(fun)
    def program(*args: Any, **kwargs: Any) -> Any:
        (staged, captured, _), out_tree = traced(*args, **kwargs)
        closed = closed_jaxpr(staged, captured)
        if not return_shape:
            return closed
        types = closed.out_avals[: out_tree.num_leaves]
        return closed, out_tree.unflatten(list(map(struct, types)))

    return program

"""``checkpoint`` with policies that are written in the field's terms.

def policy(primitive, *avals, **params):
return primitive is jax.lax.dot_general_p
"""

import functools
from collections.abc import Callable
from typing import Any

from covector.compat.operation_primitives import primitive_of
from covector.compat.programs import params_of
from covector.core.primitive import Primitive
from covector.core.source import is_own
from covector.core.types import ArrayType
from covector.dispatch import checkpoint as ours


def checkpoint(
    fun: Callable[..., Any] | None = None, *, policy: Any = None, **options: Any
) -> Any:
    """``covector.checkpoint``, whose policy is asked in the field's terms."""
    if fun is None:
        return functools.partial(checkpoint, policy=policy, **options)
    return ours.checkpoint(fun, policy=policy and adapted(policy), **options)


@functools.lru_cache(256)
def adapted(policy: Callable[..., Any]) -> Callable[..., Any]:
    """A policy that is asked with primitives and parameters of the field; the same one
    each time, since programs are kept by their policies.
    """
    code = getattr(policy, "__code__", None)
    if code is None or is_own(code.co_filename):  # covector's own go by names
        return policy

    def asked(op: Primitive, *types: ArrayType, **_: Any) -> Any:
        primitive = primitive_of(op, types)
        return policy(primitive, *types, **params_of(primitive, op, types))

    return asked

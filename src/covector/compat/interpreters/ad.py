"""``jax.interpreters.ad``: rules of derivatives, and the zeros that they meet.

A tangent or cotangent that is zero is None in covector, and a ``Zero`` in rules of the
field, which knows its type.
"""

import functools
from collections.abc import Sequence
from typing import Any

from covector import numpy as cnp
from covector import tree, tree_util
from covector.compat.interpreters.tables import (
    Rule,
    primitive_jvps,
    primitive_transposes,
)
from covector.core.convert import as_array
from covector.core.primitive import Linear
from covector.core.types import ArrayType
from covector.custom_derivatives import SymbolicZero
from covector.transforms.derivatives import instantiate_tangent


class Zero(SymbolicZero):
    """A tangent or a cotangent that is zero; in a pytree, a node without leaves."""

    @staticmethod
    def from_primal_value(x: Any) -> "Zero":
        """The zero tangent of a value."""
        return Zero(as_array(x).type.tangent())

    def instantiate(self) -> Any:
        """It as an array of zeros."""
        return zeros_like_aval(self.aval)


class UndefinedPrimal(Linear):
    """An operand of a transpose rule: the one that it is linear in."""

    aval: Any = property(lambda self: self.type)


for _kind in (Zero, UndefinedPrimal):
    tree_util.register_pytree_node(
        _kind, lambda x: ((), x.aval), lambda aval, _, kind=_kind: kind(aval)
    )


def zeros_like_aval(aval: ArrayType) -> Any:
    """Zeros of a type."""
    return instantiate_tangent(None, aval)


def instantiate_zeros(tangent: Any) -> Any:
    """Zeros for a ``Zero``; anything else as it is."""
    if isinstance(tangent, SymbolicZero):
        return zeros_like_aval(tangent.aval)
    return tangent


def is_undefined_primal(x: Any) -> bool:
    """Whether a transpose rule is to give a cotangent for this operand."""
    return type(x) is UndefinedPrimal


def add_tangents(x: Any, y: Any) -> Any:
    """The sum of two tangents, of which each may be a ``Zero``."""
    if type(x) is Zero:
        return y
    return x if type(y) is Zero else cnp.add(x, y)


# -- rules from formulas ---------------------------------------------------------------


def defjvp(primitive: Any, *jvprules: Rule | None) -> None:
    """Set the derivative by one linear map per operand: ``rule(tangent, *primals)``."""

    def without_result(rule: Rule) -> Rule:
        return lambda g, out, *primals, **params: rule(g, *primals, **params)

    defjvp2(primitive, *[rule and without_result(rule) for rule in jvprules])


def defjvp2(primitive: Any, *jvprules: Rule | None) -> None:
    """Set the derivative by maps ``rule(tangent, result, *primals)``; None is zero."""

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        out = primitive.bind(*primals, **params)
        total: Any = Zero.from_primal_value(out)
        for rule, tangent in zip(jvprules, tangents, strict=True):
            if rule is not None and type(tangent) is not Zero:
                total = add_tangents(total, rule(tangent, out, *primals, **params))
        return out, total

    primitive_jvps[primitive] = jvp


def defjvp_zero(primitive: Any) -> None:
    """Set the derivative to zero."""
    primitive_jvps[primitive] = functools.partial(_zero_jvp, primitive)


def _zero_jvp(primitive: Any, primals: Any, tangents: Any, **params: Any) -> Any:
    out = primitive.bind(*primals, **params)
    return out, tree.map(Zero.from_primal_value, out)


def linear_jvp(primitive: Any, primals: Any, tangents: Any, **params: Any) -> Any:
    """The rule for derivatives of a primitive that is linear in all of its operands."""
    if all([type(t) is Zero for t in tangents]):
        return _zero_jvp(primitive, primals, tangents, **params)
    moved = map(instantiate_zeros, tangents)
    return primitive.bind(*primals, **params), primitive.bind(*moved, **params)


def deflinear(primitive: Any, transpose_rule: Rule) -> None:
    """Set the rules of a linear primitive, by ``transpose_rule(cotangent, **params)``,
    which gives a cotangent for each operand.
    """
    deflinear2(primitive, lambda ct, *operands, **params: transpose_rule(ct, **params))


def deflinear2(primitive: Any, transpose_rule: Rule) -> None:
    """Set the rules of a linear primitive, by ``transpose_rule(cotangent, *operands,
    **params)``, which gives a cotangent for each operand.
    """
    primitive_jvps[primitive] = functools.partial(linear_jvp, primitive)
    primitive_transposes[primitive] = _zero_for_zero(transpose_rule)


def _zero_for_zero(transpose_rule: Rule) -> Rule:
    """The rule, which is not asked where the cotangent of the one result is zero."""

    def transpose(cotangent: Any, *operands: Any, **params: Any) -> Any:
        if type(cotangent) is Zero:
            return Zero
        return transpose_rule(cotangent, *operands, **params)

    return transpose


def defbilinear(primitive: Any, lhs_rule: Rule, rhs_rule: Rule) -> None:
    """Set the rules of a product: ``rule(cotangent, x, y, **params)`` gives the
    cotangent of x, or of y.
    """
    bind: Rule = primitive.bind

    def transpose(cotangent: Any, x: Any, y: Any, **params: Any) -> Any:
        if is_undefined_primal(x):
            return [lhs_rule(cotangent, x, y, **params), None]
        return [None, rhs_rule(cotangent, x, y, **params)]

    defjvp(
        primitive,
        lambda g, x, y, **params: bind(g, y, **params),
        lambda g, x, y, **params: bind(x, g, **params),
    )
    primitive_transposes[primitive] = _zero_for_zero(transpose)

"""Functions whose derivatives are given by rules, and what such rules meet."""

from covector.dispatch.inspection import closure_convert
from covector.programs.custom_rules.custom_derivative import (
    CustomVJPPrimal,
    custom_jvp,
    custom_vjp,
    custom_vjp_primal_tree_values,
)
from covector.programs.custom_rules.custom_gradient import custom_gradient
from covector.programs.custom_rules.derivative_checks import (
    SymbolicZero,
    zero_from_primal,
)
from covector.programs.custom_rules.linear_call import linear_call

__all__ = [
    "CustomVJPPrimal",
    "SymbolicZero",
    "closure_convert",
    "custom_gradient",
    "custom_jvp",
    "custom_vjp",
    "custom_vjp_primal_tree_values",
    "linear_call",
    "zero_from_primal",
]

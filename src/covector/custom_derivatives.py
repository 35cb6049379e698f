"""Functions whose derivatives are given by rules, and what such rules meet."""

from covector.programs.custom_function import (
    CustomVJPPrimal,
    custom_vjp_primal_tree_values,
)
from covector.programs.custom_gradient import custom_gradient
from covector.programs.custom_jvp import custom_jvp
from covector.programs.custom_vjp import custom_vjp
from covector.programs.inspection import closure_convert
from covector.programs.linear_call import linear_call
from covector.programs.rules import SymbolicZero, zero_from_primal

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

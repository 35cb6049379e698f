"""Minima of functions of several variables."""

from typing import TYPE_CHECKING

from covector import namespaces
from covector.scipy.optimize.minimization import OptimizeResults, minimize

__all__ = ["OptimizeResults", "minimize"]
__dir__ = namespaces.completions(globals())
if not TYPE_CHECKING:
    __getattr__ = namespaces.missing(__name__)

"""Minima of functions of several variables."""

from covector import namespaces
from covector.scipy.optimize.minimization import OptimizeResults, minimize

__all__ = ["OptimizeResults", "minimize"]
__dir__ = namespaces.completions(globals())

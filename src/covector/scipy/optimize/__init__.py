"""Minima of functions of several variables."""

from covector.scipy.optimize.minimization import OptimizeResults, minimize

__all__ = ["OptimizeResults", "minimize"]

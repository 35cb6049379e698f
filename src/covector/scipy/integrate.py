"""Integrals of functions that are known at points."""

from covector import namespaces
from covector.numpy.differences import trapezoid

__all__ = ["trapezoid"]
__dir__ = namespaces.completions(globals())

"""Integrals of functions that are known at points."""

from covector.numpy.differences import trapezoid

__all__ = ["trapezoid"]

"""Integrals of functions that are known at points."""

from typing import TYPE_CHECKING

from covector import namespaces
from covector.numpy.differences import trapezoid

__all__ = ["trapezoid"]
__dir__ = namespaces.completions(globals())
if not TYPE_CHECKING:
    __getattr__ = namespaces.missing(__name__)

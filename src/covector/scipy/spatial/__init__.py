"""Geometry of space: rotations."""

from covector import namespaces
from covector.scipy.spatial import transform

__all__ = ["transform"]
__dir__ = namespaces.completions(globals())

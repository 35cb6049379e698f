"""Geometry of space: rotations."""

from typing import TYPE_CHECKING

from covector import namespaces
from covector.scipy.spatial import transform

__all__ = ["transform"]
__dir__ = namespaces.completions(globals())
if not TYPE_CHECKING:
    __getattr__ = namespaces.missing(__name__)

"""Geometry of space: rotations."""

from covector.scipy.spatial import transform

__all__ = ["transform"]

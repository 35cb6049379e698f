"""Equations with matrices that are known by what they do to a vector."""

from covector.scipy.sparse import linalg

__all__ = ["linalg"]

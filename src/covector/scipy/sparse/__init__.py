"""Solvers for linear systems given by matrix-vector products."""

from covector.scipy.sparse import linalg

__all__ = ["linalg"]

"""Solvers for linear systems given by matrix-vector products."""

from covector import namespaces
from covector.scipy.sparse import linalg

__all__ = ["linalg"]
__dir__ = namespaces.completions(globals())

"""Solvers for linear systems given by matrix-vector products."""

from typing import TYPE_CHECKING

from covector import namespaces
from covector.scipy.sparse import linalg

__all__ = ["linalg"]
__dir__ = namespaces.completions(globals())
if not TYPE_CHECKING:
    __getattr__ = namespaces.missing(__name__)

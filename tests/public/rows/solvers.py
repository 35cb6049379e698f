"""Rows of ``covector.scipy.sparse.linalg``: solutions of systems of equations."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.public.draws import Draw, Maker
from tests.public.table import rows


def system(symmetric: bool) -> Maker:
    """A well conditioned matrix, a right-hand side, and perhaps where to start.

    All systems have one size, so that they share their programs.
    """

    def make(draw: Draw) -> Any:
        size = 3
        dtype = np.float64 if draw.smooth else np.float32
        matrix = draw.values(dtype, (size, size), (-0.3, 0.3))
        matrix = matrix + symmetric * matrix.T + 3 * np.eye(size, dtype=dtype)
        right = draw.values(dtype, (size,), (-2, 2))
        named = {"x0": draw.values(dtype, (size,), (-1, 1))} if draw.chance(0.3) else {}
        tolerance = 1e-13 if draw.smooth else 1e-6
        return (matrix, right), {"tol": tolerance, **named}

    return make


def solution(solve: Callable[..., Any], *args: Any, **named: Any) -> Any:
    """The second result is about success, and differs among the libraries."""
    return solve(*args, **named)[0]


SOLVED: dict[str, Any] = {
    "rounding": 1 << 10, "cancels": True, "shuffled": False, "calling": solution,
    "numpy": lambda matrix, right, **named: np.linalg.solve(matrix, right),
}  # fmt: skip
rows("scipy.sparse.linalg", "cg", system(symmetric=True), **SOLVED)
rows("scipy.sparse.linalg", "bicgstab gmres", system(symmetric=False), **SOLVED)

"""Rows of ``numpy.linalg`` and ``lax.linalg``.

Matrices are such that what is asked for exists, and is not far from singular. Vectors
that may have another sign or phase are compared by what does not depend on it.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.public.draws import Draw, Maker
from tests.public.table import rows

#: how exactly results are known: sums of a few products, and divisions
FACTORS: dict[str, Any] = {
    "rounding": 1 << 10, "cancels": True, "zeros": False, "shuffled": False, "promotes": True,
}  # fmt: skip


def numbers(draw: Draw, kinds: str = "ifc") -> Any:
    """A dtype that LAPACK has, or integers, which are promoted."""
    if draw.smooth:
        return draw.pick(np.float64, np.complex128) if "c" in kinds else np.float64
    letter = draw.pick(*kinds)
    if letter == "i":
        return np.int32
    narrow, wide = {"f": (np.float32, np.float64), "c": (np.complex64, np.complex128)}[letter]
    return draw.pick(narrow, wide) if draw.x64 else narrow


def stack(draw: Draw) -> tuple[int, ...]:
    return draw.pick((), (), (2,))


def general(draw: Draw, m: int, n: int, kinds: str = "ifc", front: Any = None) -> np.ndarray:
    """Matrices with large numbers on the diagonal, no two alike."""
    dtype = numbers(draw, kinds)
    front = stack(draw) if front is None else front
    values = draw.values(dtype, (*front, m, n), (-1, 2))
    heavy = np.eye(m, n) * (2 * np.arange(1, n + 1) + 1)
    return (values + heavy).astype(dtype)


def square(kinds: str = "ifc", **keywords: Any) -> Maker:
    def make(draw: Draw) -> Any:
        n = draw.pick(1, 3, 3)
        return (general(draw, n, n, kinds),), draw.some(**keywords)

    return make


def symmetric(kinds: str = "ifc", **keywords: Any) -> Maker:
    """Hermitian and positive definite."""

    def make(draw: Draw) -> Any:
        n = draw.pick(1, 3, 3)
        x = general(draw, n, n, kinds)
        return (x + np.conj(np.swapaxes(x, -1, -2)),), draw.some(**keywords)

    return make


def any_shape(kinds: str = "ifc", **keywords: Any) -> Maker:
    def make(draw: Draw) -> Any:
        m, n = draw.pick((2, 3), (3, 2), (3, 3))
        return (general(draw, m, n, kinds),), draw.some(**keywords)

    return make


def system(draw: Draw) -> Any:
    n, front = draw.pick(1, 3), stack(draw)
    x = general(draw, n, n, front=front)
    dtype = x.dtype if draw.chance(0.6) else numbers(draw)
    shape = draw.pick((n,), (*front, n, 2), (n, 2), (2, n, 2))
    return x, draw.values(dtype, shape, (-2, 3))


def problem(draw: Draw) -> Any:
    m, n = draw.pick((3, 2), (3, 3), (2, 3))
    x = general(draw, m, n, front=())
    return x, draw.values(x.dtype, draw.pick((m,), (m, 2)), (-2, 3))


def magnitudes(function: Callable[..., Any], *args: Any, **named: Any) -> Any:
    """Of vectors the magnitudes of their components; values as they are."""
    found = function(*args, **named)
    several = found if isinstance(found, tuple | list) else [found]
    return [abs(x) for x in several]


def sorted_values(function: Callable[..., Any], x: Any) -> Any:
    """Eigenvalues in the order of their real parts, then of their imaginary ones."""
    found = function(x)
    w = found[0] if isinstance(found, tuple | list) else found
    return [abs(w).sum(-1), (w * w).sum(-1).real]


def solution(function: Callable[..., Any], *args: Any, **named: Any) -> Any:
    """What least squares gives without the residuals, which NumPy leaves out."""
    x, _, rank, s = function(*args, **named)
    return x, rank, s


VECTORS = FACTORS | {"calling": magnitudes}

# -- numpy.linalg ----------------------------------------------------------------------

rows("numpy.linalg", "cholesky", symmetric(upper=(True,)), **FACTORS)
rows("numpy.linalg", "qr", any_shape(mode=("reduced", "complete", "r")),
     **VECTORS | {"derivative": False})
rows("numpy.linalg", "svd", any_shape(full_matrices=(True, False)),
     **VECTORS | {"derivative": False})
rows("numpy.linalg", "svdvals", any_shape(), **FACTORS)
rows("numpy.linalg", "eigh", symmetric(UPLO=("L", "U")), **VECTORS | {"derivative": False})
rows("numpy.linalg", "eigvalsh", symmetric(UPLO=("L", "U")), **FACTORS)
rows("numpy.linalg", "eig eigvals", square(), **FACTORS | {"calling": sorted_values})
rows("numpy.linalg", "solve", system, **FACTORS)
rows("numpy.linalg", "inv det", square(), **FACTORS)
rows("numpy.linalg", "slogdet", square(), **FACTORS)
rows("numpy.linalg", "pinv", any_shape(), **FACTORS)
rows("numpy.linalg", "lstsq", problem, **FACTORS | {"calling": solution})
rows("numpy.linalg", "matrix_rank", any_shape(rtol=(1e-3,)), **FACTORS)
rows("numpy.linalg", "cond", square("if", p=(1, 2, -2, np.inf, "fro")), **FACTORS)
rows("numpy.linalg", "matrix_power", lambda d: (square()(d)[0][0], d.integer(-2, 4)), **FACTORS)
rows("numpy.linalg", "multi_dot",
     lambda d: ([d.values(np.float32 if not d.smooth else np.float64, s, (-2, 2))
                 for s in d.pick([(2,), (2, 3), (3, 2), (2,)], [(2, 3), (3, 4), (4, 1)])],),
     **FACTORS)
rows("numpy.linalg", "tensorinv", lambda d: (general(d, 4, 4, front=()).reshape(2, 2, 4),), **FACTORS)
rows("numpy.linalg", "tensorsolve",
     lambda d: ((x := general(d, 4, 4, front=())).reshape(2, 2, 4),
                d.values(x.dtype, (2, 2), (-2, 3))), **FACTORS)


def normed(draw: Draw) -> Any:
    axis = draw.pick(None, 0, 1, (0, 1), (1, 0))
    matrix = draw.pick(None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)
    vector = draw.pick(None, 0, 1, 2, 3, -1, 0.5, np.inf, -np.inf)
    ord = vector if isinstance(axis, int) else matrix
    x = draw.values(numbers(draw), (2, 3), (1, 4))
    return (x,), {"ord": ord, "axis": axis} | draw.some(keepdims=(True,))


rows("numpy.linalg", "norm", normed, **FACTORS)
rows("numpy.linalg", "vector_norm",
     lambda d: ((d.values(numbers(d), (2, 3), (1, 4)),),
                d.some(axis=(0, 1, None, (0, 1)), keepdims=(True,), ord=(0, 1, 2, 3, np.inf))),
     **FACTORS)
rows("numpy.linalg", "matrix_norm",
     lambda d: ((d.values(numbers(d), (*stack(d), 2, 3), (1, 4)),),
                d.some(keepdims=(True,), ord=("fro", "nuc", 1, -1, 2, -2, np.inf))), **FACTORS)
rows("numpy.linalg", "outer",
     lambda d: (d.array("if", (2,), (-4, 5)), d.array("if", (3,), (-4, 5))), **FACTORS)
rows("numpy.linalg", "cross",
     lambda d: (d.array("if", (2, 3), (-4, 5)), d.array("if", (2, 3), (-4, 5))), **FACTORS)
rows("numpy.linalg", "diagonal trace",
     lambda d: ((d.array("ifc", (2, 3, 2), (-4, 5)),), d.some(offset=(-1, 1))), cancels=True)

# -- lax.linalg ------------------------------------------------------------------------

FLOATS = "fc"
rows("lax.linalg", "cholesky", symmetric(FLOATS, symmetrize_input=(True, False)), **FACTORS)
rows("lax.linalg", "eigh", symmetric(FLOATS, lower=(True, False)), **VECTORS | {"derivative": False})
rows("lax.linalg", "svd", any_shape(FLOATS, full_matrices=(True, False), compute_uv=(True, False)),
     **VECTORS | {"derivative": False})
rows("lax.linalg", "qr", any_shape(FLOATS, full_matrices=(True, False), pivoting=(True, False)),
     **VECTORS | {"derivative": False})
rows("lax.linalg", "lu", any_shape(FLOATS), **FACTORS)
rows("lax.linalg", "eig", square(FLOATS), **FACTORS | {"calling": sorted_values})
rows("lax.linalg", "schur", square("f", compute_schur_vectors=(True, False)),
     **VECTORS | {"derivative": False})
rows("lax.linalg", "hessenberg", square(FLOATS), **VECTORS)
rows("lax.linalg", "tridiagonal", symmetric(FLOATS, lower=(True, False)), **VECTORS)
rows("lax.linalg", "lu_pivots_to_permutation",
     lambda d: (d.values(np.int32, (*stack(d), 2), (0, 3)), 3))


def triangular(draw: Draw) -> Any:
    named = draw.some(left_side=(True,), lower=(True,), transpose_a=(True,),
                      conjugate_a=(True,), unit_diagonal=(True,))  # fmt: skip
    front = stack(draw)
    x = general(draw, 3, 3, FLOATS, front)
    shape = (*front, *((3, 2) if "left_side" in named else (2, 3)))
    return (x, draw.values(x.dtype, shape, (-2, 2))), named


rows("lax.linalg", "triangular_solve", triangular, **FACTORS)


def reflections(draw: Draw) -> Any:
    dtype = numbers(draw, FLOATS)
    return draw.values(dtype, (3, 2), (-1, 1)), draw.values(dtype, (2,), (0.5, 1.5))


def reflected(draw: Draw) -> Any:
    a, taus = reflections(draw)
    named = draw.some(left=(True, False), transpose=(True, False))
    shape = (3, 2) if named.get("left", True) else (2, 3)
    return (a, taus, draw.values(a.dtype, shape, (-2, 2))), named


rows("lax.linalg", "householder_product", reflections, **FACTORS)
rows("lax.linalg", "ormqr", reflected, **FACTORS)


def tridiagonal(draw: Draw) -> Any:
    front, dtype = stack(draw), numbers(draw, FLOATS)
    dl, du = [draw.values(dtype, (*front, 3), (-1, 1)) for _ in "ab"]
    d = draw.values(dtype, (*front, 3), (3, 4))
    return (dl, d, du, draw.values(dtype, (*front, 3, 2), (-2, 2))), draw.some(
        perturb_singular=(True,)
    )


rows("lax.linalg", "tridiagonal_solve", tridiagonal, **FACTORS)
rows("lax.linalg", "symmetric_product",
     lambda d: ((a := general(d, 2, 3, "f", ()), np.eye(2, dtype=a.dtype)),
                d.some(alpha=(2.0,), beta=(0.5,))), **FACTORS)
rows("lax.linalg", "cholesky_update",
     lambda d: ((r := np.triu(general(d, 3, 3, "f", ()))), d.values(r.dtype, (3,), (-2, 2))),
     **FACTORS)


def polar_factors(function: Callable[..., Any], x: Any) -> Any:
    """Without the number of iterations."""
    return function(x)[:2]


rows("lax.linalg", "qdwh", lambda d: (general(d, 3, d.pick(2, 3), "f", ()),),
     **FACTORS | {"calling": polar_factors})

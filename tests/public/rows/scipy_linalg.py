"""Rows of ``scipy.linalg``, beside SciPy's functions and JAX's."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

from tests.public.draws import Draw, Function
from tests.public.rows.linear_algebra import (
    FACTORS,
    VECTORS,
    any_shape,
    general,
    numbers,
    square,
    symmetric,
)
from tests.public.table import rows

SPACE = "scipy.linalg"

# -- of vectors and of a size ----------------------------------------------------------


def vectors(draw: Draw, *lengths: int, kinds: str = "ifc", least: float = -4) -> Any:
    """A vector or two of some lengths; the first numbers are not zero."""
    made = [draw.values(numbers(draw, kinds), (n,), (least, 5)) for n in lengths]
    for x in made:
        x[0] = x[0] + (x[0] == 0)
    return tuple(made)


def of_length(least: int, *, second: bool = False, kinds: str = "ifc") -> Any:
    def make(draw: Draw) -> Any:
        lengths = [draw.integer(least, 5)]
        if second and draw.chance(0.5):
            lengths.append(draw.integer(1, 5))
        return vectors(draw, *lengths, kinds=kinds)

    return make


def sizes(least: int, **keywords: Any) -> Any:
    return lambda draw: ((draw.integer(least, 7),), draw.some(**keywords))


BUILT: dict[str, Any] = {"zeros": False, "shuffled": False}
CONSTANT: dict[str, Any] = {"derivative": False, "zeros": False}
rows(SPACE, "toeplitz hankel", of_length(1, second=True), **BUILT)
rows(SPACE, "circulant", of_length(1), **BUILT)
rows(SPACE, "fiedler", of_length(1), **BUILT)
rows(SPACE, "companion", of_length(2), **BUILT | {"cancels": True})
rows(SPACE, "fiedler_companion", of_length(3), **BUILT | {"cancels": True})
rows(
    SPACE,
    "leslie",
    lambda d: vectors(d, (n := d.integer(2, 5)), n - 1, kinds="if"),
    **BUILT,
)
rows(
    SPACE,
    "convolution_matrix",
    lambda d: (
        (*vectors(d, d.integer(1, 5)), d.integer(1, 5)),
        d.some(mode=("full", "same", "valid")),
    ),
    **BUILT,
)
rows(
    SPACE,
    "block_diag",
    lambda d: tuple(
        [
            d.array("if", s, (-4, 5))
            for s in [(2, 1), (1, 3), (2,), ()][: d.integer(1, 5)]
        ]
    ),
    **BUILT,
)
rows(SPACE, "dft", sizes(1, scale=("sqrtn", "n")), **CONSTANT | {"cancels": True})
rows(
    SPACE,
    "hadamard",
    lambda d: ((d.pick(1, 2, 4, 8),), d.some(dtype=(np.float32, np.int32))),
    **CONSTANT,
)
rows(SPACE, "helmert", sizes(2, full=(True,)), **CONSTANT)
rows(SPACE, "hilbert", sizes(1), **CONSTANT)
# JAX has these by logarithms of gamma functions.
rows(SPACE, "invhilbert", sizes(1), jax=None, **CONSTANT)
rows(
    SPACE,
    "pascal invpascal",
    sizes(1, kind=("symmetric", "lower", "upper")),
    jax=None,
    **CONSTANT,
)

# -- equations -------------------------------------------------------------------------


def equations(draw: Draw) -> Any:
    """A symmetric matrix, so that it may be taken for any, and right-hand sides."""
    (x,), _ = symmetric()(draw)
    x = x if x.ndim == 2 else x[0]
    n = x.shape[-1]
    dtype = x.dtype if draw.chance(0.6) else numbers(draw)
    return x, draw.values(dtype, draw.pick((n,), (n, 2)), (-2, 3))


def solved(draw: Draw) -> Any:
    return equations(draw), draw.some(
        lower=(True, False), assume_a=("gen", "pos", "her")
    )


def triangular(draw: Draw) -> Any:
    return equations(draw), draw.some(
        trans=(0, 1, 2, "N", "T", "C"), lower=(True,), unit_diagonal=(True,)
    )


def factored(draw: Draw) -> Any:
    x, b = equations(draw)
    return ((x, draw.pick(True, False)), b)


def with_pivots(draw: Draw) -> Any:
    x, b = equations(draw)
    n = len(x)
    pivots = np.array([draw.integer(i, n) for i in range(n)], np.int32)
    return ((x, pivots), b), draw.some(trans=(0, 1, 2))


def sylvester(draw: Draw) -> Any:
    a, b = general(draw, 3, 3, "f", ()), general(draw, 2, 2, "f", ())
    return a, b, draw.values(a.dtype, (3, 2), (-2, 3))


rows(SPACE, "solve", solved, **FACTORS)
rows(SPACE, "solve_triangular", triangular, **FACTORS | {"rounding": 1 << 14})
rows(SPACE, "cho_solve", factored, **FACTORS | {"rounding": 1 << 14})
rows(SPACE, "lu_solve", with_pivots, **FACTORS | {"rounding": 1 << 14})
rows(SPACE, "inv det", square(), **FACTORS)
rows(SPACE, "solve_sylvester", sylvester, **FACTORS | {"rounding": 1 << 13})

# -- factorizations --------------------------------------------------------------------


def upper(function: Callable[..., Any], *args: Any, **named: Any) -> Any:
    """Without what SciPy leaves in the other triangle."""
    size = abs(function(*args, **named)[0])
    return [size * np.triu(np.ones(size.shape[-2:], size.dtype))]


def one_matrix(make: Any) -> Any:
    def made(draw: Draw) -> Any:
        (x,), named = make(draw)
        return (x.reshape(-1, *x.shape[-2:])[0],), named

    return made


def multiplied(draw: Draw) -> Any:
    m, n = draw.pick((3, 3), (3, 2))
    x = general(draw, m, n, front=())
    named = draw.some(mode=("left", "right"), pivoting=(True,), conjugate=(True,))
    left = named.get("mode") == "left"
    shape = draw.pick((n,), (n, 2)) if left else draw.pick((m,), (2, m))
    return (x, draw.values(x.dtype, shape, (-2, 3))), named


def squares(function: Callable[..., Any], *args: Any, **named: Any) -> Any:
    """Sums of squares of the elements, which turns leave alone, of each result."""
    return [(abs(x) ** 2).sum((-2, -1)) for x in function(*args, **named)]


def generalized(draw: Draw) -> Any:
    (a,), _ = one_matrix(symmetric())(draw)
    if draw.chance(0.5):
        return (a,), draw.some(eigvals_only=(True,))
    b = general(draw, len(a), len(a), front=())
    b = b @ np.conj(b.T) + np.eye(len(a), dtype=b.dtype)
    b = b + np.conj(b.T)  # to the last bit: each library reads another triangle
    return (a, b), draw.some(eigvals_only=(True,), type=(1, 2, 3))


def tridiagonal(draw: Draw) -> Any:
    dtype = numbers(draw, "f")
    d, e = draw.values(dtype, (4,), (-3, 4)), draw.values(dtype, (3,), (1, 2))
    return (d, e), {"eigvals_only": True} | draw.some(select=("a",))


NO_DERIVATIVE = {"derivative": False}
rows(SPACE, "cholesky", symmetric(lower=(True,)), **FACTORS)
rows(
    SPACE,
    "cho_factor",
    symmetric(lower=(False,)),
    **FACTORS | {"calling": upper} | NO_DERIVATIVE,
)
rows(SPACE, "lu", one_matrix(any_shape(permute_l=(True,))), **FACTORS)
rows(SPACE, "lu_factor", one_matrix(any_shape()), **FACTORS)
rows(
    SPACE,
    "qr",
    one_matrix(any_shape(mode=("full", "economic", "r"), pivoting=(True,))),
    **VECTORS | NO_DERIVATIVE,
)
rows(SPACE, "qr_multiply", multiplied, **VECTORS | NO_DERIVATIVE)
rows(SPACE, "polar", one_matrix(any_shape(side=("left", "right"))), **FACTORS, jax=None)
rows(SPACE, "svd", any_shape(full_matrices=(True, False)), **VECTORS | NO_DERIVATIVE)
rows(SPACE, "svdvals", any_shape(), **FACTORS)
rows(
    SPACE,
    "schur",
    one_matrix(square(output=("real", "complex"))),
    **FACTORS | {"calling": squares} | NO_DERIVATIVE,
    jax=None,
)
rows(
    SPACE,
    "rsf2csf",
    lambda d: tuple(
        [
            x.astype(np.float64 if d.smooth else np.float32)
            for x in scipy.linalg.schur(general(d, 3, 3, "f", ()).astype(np.float64))
        ]
    ),
    **FACTORS | NO_DERIVATIVE,
)
rows(
    SPACE,
    "hessenberg",
    one_matrix(square("fc", calc_q=(True,))),
    **VECTORS,
)
rows(SPACE, "eigh", generalized, **VECTORS | NO_DERIVATIVE, jax=None)
rows(SPACE, "eigvalsh", one_matrix(symmetric()), **FACTORS)
rows(SPACE, "eigh_tridiagonal", tridiagonal, **FACTORS)

# -- functions of matrices -------------------------------------------------------------


def scaled(draw: Draw) -> Any:
    x = general(draw, 3, 3, "if", ())
    return (x if x.dtype.kind == "i" else x / 4,), {}


def directed(draw: Draw) -> Any:
    (x,), _ = scaled(draw)
    return (x, draw.values(x.dtype, x.shape, (-1, 2))), draw.some(
        compute_expm=(True, False)
    )


def of_function(draw: Draw) -> Any:
    x = general(draw, 3, 3, "f", ()) / 4
    name = draw.pick("exp", "sin", "cosh")
    return x, Function(lambda xp: getattr(xp, name), name)


# In one or two dtypes: these are long programs, which are compiled for each.
MATRIX_FUNCTION = FACTORS | {"rounding": 1 << 13}
rows(SPACE, "expm", scaled, **MATRIX_FUNCTION)
rows(SPACE, "expm_frechet", directed, **MATRIX_FUNCTION | NO_DERIVATIVE)
rows(SPACE, "sqrtm", lambda d: (general(d, 3, 3, "f", ()) + 4 * np.eye(3, dtype=np.float32),), **MATRIX_FUNCTION)
rows(SPACE, "funm", of_function, **MATRIX_FUNCTION)

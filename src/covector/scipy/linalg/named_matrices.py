"""Matrices with a name and a size: ``hilbert``, ``pascal``, ``dft`` ….

They are computed in exact or double precision and rounded once.
"""

import math
from collections.abc import Callable

import numpy as np

from covector.core.annotations import DTypeLike, HostArray
from covector.core.array_like import Array
from covector.core.number_info import issubdtype
from covector.errors import ArgumentError, DTypeError
from covector.numpy.axes import as_integer
from covector.numpy.creation import array

__all__ = [
    "dft",
    "hadamard",
    "helmert",
    "hilbert",
    "invhilbert",
    "invpascal",
    "pascal",
]


def size_of(who: str, n: int, least: int = 0) -> int:
    n = as_integer(who, n, "n")
    if n < least:
        raise ArgumentError(f"{who} needs a size of at least {least}, but got {n}.")
    return n


def _kind(who: str, kind: str | None) -> str:
    kinds = ("symmetric", "lower", "upper")
    if kind is not None and kind not in kinds:
        raise ArgumentError(f"{who} got the kind {kind!r}; there are {kinds}.")
    return kind or "symmetric"


def dft(n: int, scale: str | None = None, *, dtype: DTypeLike | None = None) -> Array:
    """The matrix of the discrete Fourier transform: ``dft(n) @ x = fft(x)``.

    Args:
      scale: what it is divided by: None for 1, ``"sqrtn"`` for √n, ``"n"`` for n.
      dtype: a complex one; by default the default complex dtype.

    Raises:
      ArgumentError: there is no such scale.
      DTypeError: the dtype is not complex.

    >>> print(dft(2).real)
    [[ 1.  1.]
     [ 1. -1.]]
    """
    n = size_of("dft", n)
    if scale not in (None, "sqrtn", "n"):
        raise ArgumentError(
            f"dft got the scale {scale!r}; there are None, 'sqrtn' and 'n'."
        )
    if dtype is not None and not issubdtype(dtype, np.complexfloating):
        raise DTypeError(f"dft needs a complex dtype, but got {dtype}.")
    turns = np.outer(range(n), range(n)) % max(n, 1) / max(n, 1)
    size = {None: 1.0, "sqrtn": math.sqrt(n), "n": float(n)}[scale]
    return array(np.exp(-2j * np.pi * turns) / (size or 1.0), dtype)


def hadamard(n: int, dtype: DTypeLike = int) -> Array:
    """The Hadamard matrix of ones and minus ones whose rows are orthogonal.

    Args:
      n: a power of two.
      dtype: a dtype of numbers.

    Raises:
      ArgumentError: n is not a power of two.
      DTypeError: the dtype is none of signed numbers.

    >>> print(hadamard(2))
    [[ 1  1]
     [ 1 -1]]
    """
    n = as_integer("hadamard", n, "n")
    if n < 1 or n & (n - 1):
        raise ArgumentError(f"hadamard needs a power of two, but got {n}.")
    if issubdtype(dtype, np.bool_):
        raise DTypeError("hadamard needs a dtype of numbers, but got bool.")
    out = np.ones((1, 1), np.int8)
    while len(out) < n:
        out = np.block([[out, out], [out, -out]])
    return array(out).astype(dtype)


def helmert(n: int, full: bool = False) -> Array:
    """The Helmert matrix, whose rows are contrasts: orthonormal, with the sum zero.

    Args:
      n: at least 1.
      full: with a first row of equal elements, and so square and orthogonal.

    Returns:
      ``[n − 1, n]``, or ``[n, n]``.

    Raises:
      ArgumentError: n is not positive.

    >>> print(helmert(3).round(3))
    [[ 0.707 -0.707  0.   ]
     [ 0.408  0.408 -0.816]]
    """
    n = size_of("helmert", n, 1)
    k = np.arange(1, n)[:, None]
    column = np.arange(n)
    contrasts = np.where(column < k, 1.0, np.where(column == k, -k, 0.0))
    contrasts = contrasts / np.sqrt(k * (k + 1.0))
    first = np.full((int(full), n), 1 / math.sqrt(n))
    return array(np.concatenate([first, contrasts]))


def hilbert(n: int) -> Array:
    """The Hilbert matrix, with elements 1 / (i + j + 1).

    >>> print(hilbert(2).round(3))
    [[1.    0.5  ]
     [0.5   0.333]]
    """
    row = np.arange(size_of("hilbert", n))
    return array(1.0 / (1.0 + np.add.outer(row, row)))


def invhilbert(n: int) -> Array:
    """The inverse of ``hilbert(n)``, whose elements are whole numbers.

    >>> print(invhilbert(2))
    [[ 4. -6.]
     [-6. 12.]]
    """
    n = size_of("invhilbert", n)

    def element(i: int, j: int) -> int:
        size = (i + j + 1) * math.comb(n + i, n - j - 1) * math.comb(n + j, n - i - 1)
        return (-1) ** (i + j) * size * math.comb(i + j, i) ** 2

    return array(_rounded(n, element))


def pascal(n: int, kind: str | None = None) -> Array:
    """The matrix of binomial coefficients.

    Args:
      kind: ``"symmetric"``, the default, with elements (i + j)! / (i! j!);
        ``"lower"``, with those of the power i in row i; ``"upper"``, its transpose.

    Raises:
      ArgumentError: there is no such kind.

    >>> print(pascal(3))
    [[1. 1. 1.]
     [1. 2. 3.]
     [1. 3. 6.]]
    """
    n, kind = size_of("pascal", n), _kind("pascal", kind)
    if kind == "symmetric":
        return array(_rounded(n, lambda i, j: math.comb(i + j, i)))
    lower = _rounded(n, math.comb)
    return array(lower if kind == "lower" else lower.T)


def invpascal(n: int, kind: str | None = None) -> Array:
    """The inverse of ``pascal(n, kind)``, whose elements are whole numbers.

    Raises:
      ArgumentError: there is no such kind.

    >>> print(invpascal(3))
    [[ 3. -3.  1.]
     [-3.  5. -2.]
     [ 1. -2.  1.]]
    """
    n, kind = size_of("invpascal", n), _kind("invpascal", kind)
    if kind == "symmetric":
        return array(_rounded(n, lambda i, j: (-1) ** (i + j) * _inner(n, i, j)))
    lower = _rounded(n, lambda i, j: (-1) ** (i + j) * math.comb(i, j))
    return array(lower if kind == "lower" else lower.T)


def _inner(n: int, i: int, j: int) -> int:
    """The product of columns i and j of the lower Pascal matrix."""
    return sum([math.comb(k, i) * math.comb(k, j) for k in range(n)])


def _rounded(n: int, element: Callable[[int, int], int]) -> HostArray:
    """The matrix of exact elements, each rounded once."""
    out = np.zeros((n, n))
    for i, j in np.ndindex(n, n):
        out[i, j] = element(i, j)
    return out

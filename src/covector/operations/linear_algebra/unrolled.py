"""Many small matrices: elimination written out, element by element, over a whole stack.

A call of LAPACK costs more than the arithmetic of a small matrix. Here each element of
a matrix is an array of its own, with one number for each matrix of the stack, and an
algorithm is straight-line code on these: XLA makes vector instructions of it, and each
number is computed from its own matrix alone, whatever the others are.

    rows = elements(x)              x [..., m, n] as m lists of n arrays [...]
    matrices(rows)                  … and back

Pivots are chosen by comparison and selection; results are those of LAPACK's algorithms,
to rounding. (Decision 18 has the times.)
"""

import functools
import operator
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from covector.core import dtypes
from covector.core.annotations import Value
from covector.core.convert import scalar
from covector.core.types import ArrayType
from covector.operations.barrier import optimization_barrier
from covector.operations.broadcasting import filled
from covector.operations.comparison import eq, gt
from covector.operations.joining import Concatenate
from covector.operations.magnitude import abs_
from covector.operations.roots import sqrt
from covector.operations.selection import where
from covector.operations.slicing import Slice
from covector.operations.transposing import Reshape

#: matrices of at most so many rows and columns are small, …
LARGEST = 4
#: … and from so many on they are many
MANY = 256

#: a matrix by its rows, of which each element is an array over the stack
Rows: TypeAlias = list[list[Value]]


def is_small(type: ArrayType) -> bool:
    """Whether matrices of a type are small and real."""
    small = max(map(int, type.shape[-2:])) <= LARGEST  # a symbolic size is large
    return small and not dtypes.is_complex(type.dtype)


def are_many_and_small(type: ArrayType) -> bool:
    """Whether matrices of a type are better computed here than by LAPACK."""
    *_, m, n = type.shape
    return is_small(type) and int(type.size) >= MANY * m * n > 0


def elements(x: Value) -> Rows:
    """The elements of matrices ``[..., m, n]``, each an array ``[...]``."""
    *stack, m, n = x.type.shape
    flat, none = Reshape(tuple(stack)), (0,) * len(stack)

    def element(i: int, j: int) -> Value:
        return flat(Slice((*none, i, j), (*stack, i + 1, j + 1))(x))

    return [[element(i, j) for j in range(n)] for i in range(m)]


def matrices(rows: Sequence[Sequence[Value]]) -> Value:
    """The matrices that have these elements."""
    return _joined([vectors(row) for row in rows], 2)


def vectors(values: Sequence[Value]) -> Value:
    """The vectors ``[..., n]`` that have these elements."""
    return _joined(values, 1)


def _joined(values: Sequence[Value], axis: int) -> Value:
    """Values side by side along a new axis, so many axes from the end."""
    shape = list(values[0].type.shape)
    shape.insert(len(shape) - axis + 1, 1)
    values = [Reshape(tuple(shape))(x) for x in values]
    return Concatenate(len(shape) - axis)(*values)


def computed(rows: Rows) -> Rows:
    """The same, of which XLA computes each element once, and not for each use of it."""
    values = iter(optimization_barrier(*[x for row in rows for x in row]))
    return [[next(values) for _ in row] for row in rows]


# -- Cholesky factors ------------------------------------------------------------------


def cholesky(a: Value) -> Value:
    """L of A = L Lᵀ, from the lower triangle of A; NaN where A is not positive."""
    x, n = elements(a), a.type.shape[-1]
    zero, no_number = [scalar(k, a.type.dtype) for k in (0, np.nan)]
    found: Rows = []
    for i in range(n):
        row: list[Value] = []
        for j in range(i + 1):
            left = x[i][j]
            for p, q in zip(row, found[j] if j < i else row, strict=False):
                left = left - p * q
            row.append(left / found[j][j] if j < i else sqrt(left))
        found.append(row)
    # Where a pivot is not positive, nothing of the matrix is a number.
    positive = [gt(row[-1], zero) for row in found]
    done = functools.reduce(operator.and_, positive)
    none = [filled(0, done.type.with_dtype(a.type.dtype))] * n
    return matrices(
        [
            [where(done, x, no_number) for x in [*row, *none[len(row) :]]]
            for row in found
        ]
    )


# -- Gaussian elimination --------------------------------------------------------------


def solve(a: Value, b: Value) -> Value:
    """The x with A x = b."""
    x, y, _ = _eliminated(elements(a), elements(b))
    return matrices(_substituted(x, y))


def inverse(a: Value) -> Value:
    """The inverses, by as many right-hand sides."""
    x, n = elements(a), a.type.shape[-1]
    values = [filled(k, x[0][0].type) for k in (0, 1)]
    x, y, _ = _eliminated(x, [[values[i == j] for j in range(n)] for i in range(n)])
    return matrices(_substituted(x, y))


def pivots(a: Value) -> tuple[list[Value], Value]:
    """The pivots, and the sign of the permutation of the rows: 1 or −1."""
    x, _, sign = _eliminated(elements(a), [[] for _ in range(a.type.shape[-1])])
    return [row[k] for k, row in enumerate(x)], sign


def _eliminated(x: Rows, b: Rows) -> tuple[Rows, Rows, Value]:
    """U and the right-hand sides, by partial pivoting; the sign of the permutation."""
    n = len(x)
    rows = [[*left, *right] for left, right in zip(x, b, strict=True)]
    zero, one, minus = [scalar(k, x[0][0].type.dtype) for k in (0, 1, -1)]
    sign = filled(1, x[0][0].type)
    for k in range(n):
        for i in range(k + 1, n):
            better = gt(abs_(rows[i][k]), abs_(rows[k][k]))
            sign = sign * where(better, minus, one)
            for j in range(k, len(rows[k])):
                upper, lower = rows[k][j], rows[i][j]
                rows[k][j] = where(better, lower, upper)
                rows[i][j] = where(better, upper, lower)
        # Below a pivot that is zero, nothing is left to eliminate.
        pivot = where(eq(rows[k][k], zero), one, rows[k][k])
        for i in range(k + 1, n):
            factor = rows[i][k] / pivot
            for j in range(k + 1, len(rows[k])):
                rows[i][j] = rows[i][j] - factor * rows[k][j]
        rows = computed(rows)
    return [row[:n] for row in rows], [row[n:] for row in rows], sign


def _substituted(x: Rows, b: Rows) -> Rows:
    """The solution of an upper triangular system."""
    n, found = len(x), list(b)
    for k in reversed(range(n)):
        for i in range(k + 1, n):
            pairs = zip(found[k], found[i], strict=True)
            found[k] = [y - x[k][i] * z for y, z in pairs]
        found[k] = [y / x[k][k] for y in found[k]]
    return found

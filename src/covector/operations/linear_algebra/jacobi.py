"""Many small matrices: eigenvalues and singular values by Jacobi's rotations.

A sweep turns each pair of axes such that the element that belongs to the two becomes
zero (``Eigh``), or such that two columns become orthogonal (``SVD``, Hestenes). A fixed
number of sweeps are steps on the numbers of one matrix (``unrolled``). Jacobi's method
finds eigenvalues and singular values as exactly as LAPACK does, and small ones often
more exactly (Demmel and Veselić, 1992).

The sign of vectors is up to whoever computes them. So that it does not depend on how
many matrices there are, small ones obey a rule here and where LAPACK computes them
(``signed_columns``, ``signed_triplets``).
"""

import functools
import operator
from collections.abc import Sequence
from itertools import chain, islice

import numpy as np

from covector.core import dtypes
from covector.core.annotations import DType, Value
from covector.core.convert import scalar
from covector.core.types import ArrayType
from covector.operations.broadcasting import filled
from covector.operations.casting import BitcastConvertType
from covector.operations.comparison import eq, ge, gt, lt
from covector.operations.linear_algebra.unrolled import (
    Rows,
    Step,
    by_rows,
    columns_of,
    elements,
    matrices,
)
from covector.operations.magnitude import abs_
from covector.operations.roots import sqrt
from covector.operations.selection import where

#: sweeps for so many axes, in 32 bits
_SWEEPS = {1: 1, 2: 2, 3: 5, 4: 6}

# -- eigenvalues -----------------------------------------------------------------------


def eigh(n: int, dtype: DType, vectors_too: bool) -> list[Step]:
    """V and the ascending w of a symmetric matrix by its lower triangle; or w."""
    triangle = n * (n + 1) // 2

    def start(*numbers: Value) -> Sequence[Value]:
        rows = by_rows(numbers, n)
        read = [x for i, row in enumerate(rows) for x in row[: i + 1]]
        scale = _power_of_two(read)
        columns = _identity(n, scale.type) if vectors_too else []
        return [scale, *[x / scale for x in read], *chain(*columns)]

    def split(numbers: Sequence[Value]) -> tuple[Rows, Rows]:
        given = iter(numbers[:triangle])
        rows = [list(islice(given, i + 1)) for i in range(n)]
        return rows, by_rows(numbers[triangle:], n)

    def sweep(scale: Value, *numbers: Value) -> Sequence[Value]:
        rows, columns = split(numbers)
        for p, q in _pairs(n):
            _rotate_symmetric(rows, p, q, columns)
        return [scale, *chain(*rows), *chain(*columns)]

    def finish(scale: Value, *numbers: Value) -> Sequence[Value]:
        rows, columns = split(numbers)
        columns = columns or [[] for _ in rows]
        pairs = zip(rows, columns, strict=True)
        groups = _sorted([[row[-1], *column] for row, column in pairs])
        found = [group[0] * scale for group in groups]
        if vectors_too:
            columns = _signed([group[1:] for group in groups])
            found = [*chain(*columns_of(columns)), *found]
        return _where_a_number(scale, found)

    return [start, *[sweep] * _sweeps(n, dtype), finish]


def _identity(n: int, type: ArrayType) -> Rows:
    values = [filled(k, type) for k in (0, 1)]
    return [[values[i == j] for j in range(n)] for i in range(n)]


def _rotate_symmetric(rows: Rows, p: int, q: int, columns: Rows) -> None:
    """Turn the axes p < q such that the element (q, p) becomes zero."""
    tangent, sine, half = _rotation(rows[p][p], rows[q][q], rows[q][p])
    change = tangent * rows[q][p]
    rows[p][p], rows[q][q] = rows[p][p] - change, rows[q][q] + change
    rows[q][p] = filled(0, change.type)
    for k in range(len(rows)):
        if k not in (p, q):
            first, second = (max(p, k), min(p, k)), (max(q, k), min(q, k))
            x, y = rows[first[0]][first[1]], rows[second[0]][second[1]]
            x, y = _turn(x, y, sine, half)
            rows[first[0]][first[1]], rows[second[0]][second[1]] = x, y
    if columns:
        _turn_columns(columns, p, q, sine, half)


def _rotation(first: Value, second: Value, between: Value) -> tuple[Value, ...]:
    """The tangent and sine of the angle that makes an element zero, and tan(angle / 2).

    The smaller one of the two angles (Rutishauser, 1966). The largest element is about
    1, and what is below ``least`` is no more than its rounding, and turns little.
    """
    dtype = first.type.dtype
    zero, one = [scalar(k, dtype) for k in (0, 1)]
    least = scalar(float(np.sqrt(np.finfo(dtype).tiny)), dtype)
    gap, twice = second - first, between + between
    whole = abs_(gap) + sqrt(gap * gap + twice * twice) + least
    tangent = where(lt(gap, zero), -twice, twice) / whole
    secant = sqrt(one + tangent * tangent)
    share = tangent / (secant * (one + secant))
    return tangent, share * (one + secant), share * secant


def _turn(x: Value, y: Value, sine: Value, half: Value) -> tuple[Value, Value]:
    """A rotation by an angle, from its sine and the tangent of half of it."""
    return x - sine * (y + half * x), y + sine * (x - half * y)


def _turn_columns(columns: Rows, p: int, q: int, sine: Value, half: Value) -> None:
    """The same for two columns."""
    pairs = zip(columns[p], columns[q], strict=True)
    columns[p], columns[q] = columns_of([_turn(x, y, sine, half) for x, y in pairs])


# -- singular values -------------------------------------------------------------------


def svd(
    m: int, n: int, dtype: DType, full_matrices: bool, vectors_too: bool
) -> list[Step]:
    """U, the descending s and Vᵀ; or s alone."""
    wide = n > m
    k, long = min(m, n), max(m, n)

    def start(*numbers: Value) -> Sequence[Value]:
        scale, rows = _power_of_two(numbers), by_rows(numbers, n)
        # The columns of A, or of Aᵀ where that has fewer.
        image = rows if wide else columns_of(rows)
        right = _identity(k, scale.type) if vectors_too else []
        return [scale, *[x / scale for x in chain(*image)], *chain(*right)]

    def split(numbers: Sequence[Value]) -> tuple[Rows, Rows]:
        end = k * long
        return by_rows(numbers[:end], long), by_rows(numbers[end:], k)

    def sweep(scale: Value, *numbers: Value) -> Sequence[Value]:
        image, right = split(numbers)
        for p, q in _pairs(k):
            _make_orthogonal(image, right, p, q)
        return [scale, *chain(*image), *chain(*right)]

    def finish(scale: Value, *numbers: Value) -> Sequence[Value]:
        found = _sorted_triplets(*split(numbers))
        s = [norm * scale for norm, _, _ in found]
        if not vectors_too:
            return _where_a_number(scale, s)
        left = _orthonormal([group[:2] for group in found], full_matrices)
        right = [group[2] for group in found]
        signs = [_sign(x if wide else y) for x, y in zip(left, right, strict=False)]
        for columns in (left, right):
            columns[:k] = map(_scaled, columns[:k], signs)
        left[k:] = _signed(left[k:])
        left, right = (right, left) if wide else (left, right)
        return _where_a_number(scale, [*chain(*columns_of(left)), *s, *chain(*right)])

    return [start, *[sweep] * _sweeps(k, dtype), finish]


def _make_orthogonal(image: Rows, right: Rows, p: int, q: int) -> None:
    """Turn the columns p < q of A V, and of V, such that those are orthogonal."""
    x, y = image[p], image[q]
    _, sine, half = _rotation(_dot(x, x), _dot(y, y), _dot(x, y))
    _turn_columns(image, p, q, sine, half)
    if right:
        _turn_columns(right, p, q, sine, half)


def _dot(x: Sequence[Value], y: Sequence[Value]) -> Value:
    terms = [a * b for a, b in zip(x, y, strict=True)]
    return sum(terms[1:], terms[0])


def _sorted_triplets(
    image: Rows, right: Rows
) -> list[tuple[Value, list[Value], list[Value]]]:
    """The norms of the columns, which descend, the columns, and those of V."""
    m, norms = len(image[0]), [sqrt(_dot(x, x)) for x in image]
    together = zip(norms, image, right or [[]] * len(image), strict=True)
    groups = _sorted([[-norm, *x, *v] for norm, x, v in together])
    return [(-group[0], group[1 : m + 1], group[m + 1 :]) for group in groups]


def _orthonormal(
    columns: Sequence[tuple[Value, list[Value]]], full: bool
) -> list[list[Value]]:
    """Orthogonal columns with the length 1, and others in place of those without one.

    By reflections of columns that have the length 1 already, or are zero: their product
    is orthogonal whatever they are.
    """
    zero, one = [scalar(k, columns[0][0].type.dtype) for k in (0, 1)]
    m = len(columns[0][1])
    rest = []
    for norm, column in columns:
        empty = eq(norm, zero)
        rest.append([where(empty, zero, x / where(empty, one, norm)) for x in column])
    reflections, ends = [], []
    for k in range(len(rest)):
        below = rest[k][k:]
        length = sqrt(_dot(below, below))
        end = where(lt(below[0], zero), length, -length)
        axis = [below[0] - end, *below[1:]]
        size = _dot(axis, axis)
        none = eq(size, zero)
        factor = where(none, zero, (one + one) / where(none, one, size))
        reflections.append((axis, factor))
        ends.append(where(gt(end, zero), one, -one))
        rest[k + 1 :] = [_reflected(x, axis, factor, k) for x in rest[k + 1 :]]
    type = columns[0][0].type
    found = []
    for i in range(m if full else len(rest)):
        column = _identity(m, type)[i]
        for k in reversed(range(len(reflections))):
            axis, factor = reflections[k]
            column = _reflected(column, axis, factor, k)
        found.append([x * ends[i] for x in column] if i < len(ends) else column)
    return found


def _reflected(
    column: list[Value], axis: Sequence[Value], factor: Value, start: int
) -> list[Value]:
    """A column, reflected in its elements from an index on."""
    share = factor * _dot(axis, column[start:])
    return column[:start] + [
        x - share * v for x, v in zip(column[start:], axis, strict=True)
    ]


# -- signs -----------------------------------------------------------------------------


def signed_columns(v: Value) -> Value:
    """Eigenvectors with signs such that their largest components are positive."""
    columns = _signed(columns_of(by_rows(elements(v), v.type.shape[-1])))
    return matrices(chain(*columns_of(columns)), v.type.shape)


def signed_triplets(u: Value, s: Value, vh: Value) -> list[Value]:
    """Singular vectors with signs such that those on the right have positive ones."""
    left, right = [by_rows(elements(x), x.type.shape[-1]) for x in (u, vh)]
    left, count = columns_of(left), s.type.shape[-1]
    signs = [_sign(column) for column in right[:count]]
    for columns in (left, right):
        pairs = zip(columns, signs, strict=False)
        columns[:count] = [_scaled(column, sign) for column, sign in pairs]
        columns[count:] = _signed(columns[count:])
    return [
        matrices(chain(*columns_of(left)), u.type.shape),
        s,
        matrices(chain(*right), vh.type.shape),
    ]


def _signed(columns: Rows) -> Rows:
    """Each column with its largest component positive."""
    return [_scaled(column, _sign(column)) for column in columns]


def _scaled(column: Sequence[Value], factor: Value) -> list[Value]:
    return [x * factor for x in column]


def _sign(column: Sequence[Value]) -> Value:
    """The sign of the largest component: the first that is so but for a thousandth.

    So rounding errors do not choose among components that are equal.
    """
    zero, one = [scalar(k, column[0].type.dtype) for k in (0, 1)]
    largest = _largest(column) * 0.999
    chosen = column[-1]
    for x in reversed(column[:-1]):
        chosen = where(ge(abs_(x), largest), x, chosen)
    return where(lt(chosen, zero), -one, one)


# -- what both share -------------------------------------------------------------------


def _sweeps(n: int, dtype: DType) -> int:
    """The number of sweeps that leave of a matrix a rounding error.

    Convergence is quadratic: random matrices of two axes need 1, of three 4 and of
    four 5 sweeps in 32 bits, and one more in 64.
    """
    return _SWEEPS[n] + (dtype == dtypes.float64)


def _pairs(n: int) -> list[tuple[int, int]]:
    """The pairs of axes p < q, in the order of a sweep."""
    return [(p, q) for p in range(n - 1) for q in range(p + 1, n)]


def _sorted(groups: list[list[Value]]) -> list[list[Value]]:
    """Groups of values in the ascending order of their first ones."""
    for end in reversed(range(1, len(groups))):
        for i in range(end):
            swap = lt(groups[i + 1][0], groups[i][0])
            pairs = list(zip(groups[i], groups[i + 1], strict=True))
            groups[i] = [where(swap, y, x) for x, y in pairs]
            groups[i + 1] = [where(swap, x, y) for x, y in pairs]
    return groups


def _largest(values: Sequence[Value]) -> Value:
    """The largest magnitude."""
    found = abs_(values[0])
    for x in values[1:]:
        found = where(gt(abs_(x), found), abs_(x), found)
    return found


def _power_of_two(values: Sequence[Value]) -> Value:
    """A power of two near the largest magnitude, so that no square leaves the range.

    NaN where a value is not finite.
    """
    largest = _largest(values)
    dtype = largest.type.dtype
    exponent, bits = {
        dtypes.float32: (0x7F800000, dtypes.int32),
        dtypes.float64: (0x7FF0000000000000, dtypes.int64),
    }[dtype]
    found = BitcastConvertType(bits)(largest) & scalar(exponent, bits)
    power = BitcastConvertType(dtype)(found)
    zero, one = [scalar(k, dtype) for k in (0, 1)]
    nothing = functools.reduce(operator.add, [x * zero for x in values])
    return where(eq(power, zero), one, power) + nothing


def _where_a_number(scale: Value, found: Sequence[Value]) -> list[Value]:
    """Results where the scale is a number, and NaN elsewhere."""
    return [where(eq(scale, scale), x, scale) for x in found]

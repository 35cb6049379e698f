"""Many small matrices: eigenvalues and singular values by Jacobi's rotations.

A sweep turns each pair of axes such that the element that belongs to the two becomes
zero (``Eigh``), or such that two columns become orthogonal (``SVD``, Hestenes). It is
straight-line code over the whole stack (``unrolled``); a fixed number of sweeps is a
loop. Jacobi's method finds eigenvalues and singular values as exactly as LAPACK does,
and small ones often more exactly (Demmel and Veselić, 1992).

The sign of vectors is up to whoever computes them. So that it does not depend on how
many matrices there are, small ones obey a rule here and where LAPACK computes them
(``signed_columns``, ``signed_triplets``).
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from covector.core import dtypes
from covector.core.annotations import Value
from covector.core.convert import scalar
from covector.core.staging import restage
from covector.core.types import ArrayType
from covector.lowering.hlo import HloValue
from covector.operations.broadcasting import filled
from covector.operations.casting import BitcastConvertType
from covector.operations.comparison import eq, ge, gt, is_finite, lt
from covector.operations.cumulative_loops import counted_loop
from covector.operations.linear_algebra import lapack
from covector.operations.linear_algebra.unrolled import (
    Rows,
    elements,
    matrices,
    vectors,
)
from covector.operations.magnitude import abs_
from covector.operations.roots import sqrt
from covector.operations.selection import where

if TYPE_CHECKING:
    from covector.lowering.module import Lowering

#: sweeps for so many axes, in 32 bits
_SWEEPS = {1: 1, 2: 2, 3: 5, 4: 6}

# -- eigenvalues -----------------------------------------------------------------------


def eigh(ctx: "Lowering", a: HloValue, vectors_too: bool) -> list[HloValue]:
    """V and the ascending w of symmetric matrices by their lower triangles; or w."""
    (type,) = [t.strong() for t in ctx.in_types]
    n = type.shape[-1]
    one = type.with_shape(type.shape[:-2])
    triangle, whole = n * (n + 1) // 2, n * n if vectors_too else 0

    def start(a: Value) -> Sequence[Value]:
        rows = elements(a)
        values = [rows[i][j] for i in range(n) for j in range(i + 1)]
        scale = _power_of_two(values)
        return [x / scale for x in values] + _identity(n, one) * vectors_too

    def sweep(*state: Value) -> Sequence[Value]:
        rows, columns = _triangle(state, n), _square(state[triangle:], n)
        for p in range(n - 1):
            for q in range(p + 1, n):
                _rotate_symmetric(rows, p, q, columns)
        values = [x for row in rows for x in row]
        return values + [x for column in columns for x in column]

    def finish(a: Value, *state: Value) -> Sequence[Value]:
        rows = _triangle(state, n)
        w = [rows[i][i] for i in range(n)]
        columns = _square(state[triangle:], n)
        groups = _sorted([[x, *c] for x, c in zip(w, columns or [[]] * n, strict=True)])
        read = [x for i, row in enumerate(elements(a)) for x in row[: i + 1]]
        scale = _power_of_two(read)
        found = [vectors([group[0] * scale for group in groups])]
        if vectors_too:
            columns = _signed([group[1:] for group in groups])
            found = [matrices(_rows(columns)), *found]
        return _where_finite(read, found)

    state = ctx.inline(restage(start, [type]), [a])
    state = _swept(ctx, state, [one] * (triangle + whole), sweep, n)
    types = [type, *[one] * len(state)]
    return ctx.inline(restage(finish, types), [a, *state])


def _triangle(values: Sequence[Value], n: int) -> Rows:
    """The rows of a lower triangle."""
    given = iter(values)
    return [[next(given) for _ in range(i + 1)] for i in range(n)]


def _square(values: Sequence[Value], n: int) -> Rows:
    """The columns of matrices, or none where there are no values."""
    return [list(values[i : i + n]) for i in range(0, len(values), n)]


def _identity(n: int, type: ArrayType) -> list[Value]:
    values = [filled(k, type) for k in (0, 1)]
    return [values[i == j] for i in range(n) for j in range(n)]


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

    The smaller one of the two angles (Rutishauser, 1966).
    """
    zero, one, two = [scalar(k, first.type.dtype) for k in (0, 1, 2)]
    none = eq(between, zero)
    ratio = (second - first) / where(none, one, two * between)
    direction = where(lt(ratio, zero), -one, one)
    tangent = direction / (abs_(ratio) + sqrt(one + ratio * ratio))
    tangent = where(none, zero, tangent)
    cosine = one / sqrt(one + tangent * tangent)
    sine = tangent * cosine
    return tangent, sine, sine / (one + cosine)


def _turn(x: Value, y: Value, sine: Value, half: Value) -> tuple[Value, Value]:
    """A rotation by an angle, from its sine and the tangent of half of it."""
    return x - sine * (y + half * x), y + sine * (x - half * y)


def _turn_columns(columns: Rows, p: int, q: int, sine: Value, half: Value) -> None:
    """The same for two columns."""
    pairs = zip(columns[p], columns[q], strict=True)
    columns[p], columns[q] = _rows([_turn(x, y, sine, half) for x, y in pairs])


# -- singular values -------------------------------------------------------------------


def svd(
    ctx: "Lowering", a: HloValue, full_matrices: bool, vectors_too: bool
) -> list[HloValue]:
    """U, the descending s and Vᵀ; or s alone."""
    (type,) = [t.strong() for t in ctx.in_types]
    wide = type.shape[-1] > type.shape[-2]
    m, n = sorted(type.shape[-2:], reverse=True)
    one = type.with_shape(type.shape[:-2])

    def tall(a: Value) -> Rows:
        """The columns of A, or of Aᵀ where that has fewer."""
        rows = elements(a)
        return rows if wide else [list(column) for column in zip(*rows, strict=True)]

    def start(a: Value) -> Sequence[Value]:
        values = [x for column in tall(a) for x in column]
        scale = _power_of_two(values)
        return [x / scale for x in values] + _identity(n, one) * vectors_too

    def sweep(*state: Value) -> Sequence[Value]:
        image, right = _square(state[: m * n], m), _square(state[m * n :], n)
        for p in range(n - 1):
            for q in range(p + 1, n):
                _make_orthogonal(image, right, p, q)
        # Here and not after the loop, where XLA would compute signs for each result.
        for k, (x, y) in enumerate(zip(image, right, strict=vectors_too)):
            sign = _sign(x if wide else y)
            image[k], right[k] = _scaled(x, sign), _scaled(y, sign)
        return [x for column in image + right for x in column]

    def finish(a: Value, *state: Value) -> Sequence[Value]:
        image, right = _square(state[: m * n], m), _square(state[m * n :], n)
        values = [x for column in tall(a) for x in column]
        scale = _power_of_two(values)
        found = _sorted_triplets(image, right)
        s = vectors([norm * scale for norm, _, _ in found])
        if not vectors_too:
            return _where_finite(values, [s])
        left = _orthonormal([group[:2] for group in found], full_matrices)
        right = [group[2] for group in found]
        left[n:] = _signed(left[n:])
        left, right = (right, left) if wide else (left, right)
        return _where_finite(values, [matrices(_rows(left)), s, matrices(right)])

    state = ctx.inline(restage(start, [type]), [a])
    state = _swept(ctx, state, [one] * len(state), sweep, n)
    types = [type, *[one] * len(state)]
    return ctx.inline(restage(finish, types), [a, *state])


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
        column = _identity(m, type)[i * m : (i + 1) * m]
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
    return matrices(_rows(_signed(_rows(elements(v)))))


def signed_triplets(u: Value, s: Value, vh: Value) -> list[Value]:
    """Singular vectors with signs such that those on the right have positive ones."""
    left, right, count = _rows(elements(u)), elements(vh), s.type.shape[-1]
    signs = [_sign(column) for column in right[:count]]
    for columns in (left, right):
        pairs = zip(columns, signs, strict=False)
        columns[:count] = [_scaled(column, sign) for column, sign in pairs]
        columns[count:] = _signed(columns[count:])
    return [matrices(_rows(left)), s, matrices(right)]


def _rows(columns: Sequence[Sequence[Value]]) -> Rows:
    """The rows of columns, or the columns of rows."""
    return [list(row) for row in zip(*columns, strict=True)]


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


def _swept(
    ctx: "Lowering",
    state: Sequence[HloValue],
    types: Sequence[ArrayType],
    sweep: Callable[..., Sequence[Value]],
    n: int,
) -> list[HloValue]:
    """The state after as many sweeps as make what is left of it a rounding error.

    Convergence is quadratic: random matrices of two axes need 1, of three 4 and of
    four 5 sweeps in 32 bits, and one more in 64.
    """
    count = _SWEEPS[n] + (types[0].dtype == dtypes.float64)
    body = restage(sweep, types)

    def step(inner: "Lowering", i: HloValue, *state: HloValue) -> Sequence[HloValue]:
        return inner.inline(body, state)

    return list(counted_loop(ctx, count, state, types, step))


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
    """A power of two near the largest magnitude, so that no square leaves the range."""
    largest = _largest(values)
    dtype = largest.type.dtype
    exponent, bits = {
        dtypes.float32: (0x7F800000, dtypes.int32),
        dtypes.float64: (0x7FF0000000000000, dtypes.int64),
    }[dtype]
    found = BitcastConvertType(bits)(largest) & scalar(exponent, bits)
    power = BitcastConvertType(dtype)(found)
    return where(eq(power, scalar(0, dtype)), scalar(1, dtype), power)


def _where_finite(read: Sequence[Value], found: Sequence[Value]) -> list[Value]:
    """Results of matrices whose elements are finite, and NaN for others."""
    finite = is_finite(_total(read))
    info = where(finite, scalar(0, dtypes.int32), scalar(1, dtypes.int32))
    return [lapack.where_done(info, x) for x in found]


def _total(values: Sequence[Value]) -> Value:
    """Zero; NaN where a value is not finite."""
    zero = scalar(0, values[0].type.dtype)
    terms = [x * zero for x in values]
    return sum(terms[1:], terms[0])

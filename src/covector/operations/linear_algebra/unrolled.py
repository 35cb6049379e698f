"""Many small matrices: algorithms written out on their elements, over a whole stack.

A call of LAPACK costs more than the arithmetic of a small matrix. Here an algorithm is
straight-line code on numbers, the elements of one matrix by rows, in a few steps.
``side_by_side`` makes of it a loop over the matrices of a stack: XLA makes vector
instructions of its body, and nothing that is worked out between leaves the registers
and the first cache. Each number is computed from its own matrix alone, whatever the
others are.

Pivots are chosen by comparison and selection; results are those of LAPACK's algorithms,
to rounding. (Decision 18 has the times.)
"""

import functools
import math
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, compress, islice
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from covector.core import dtypes
from covector.core.annotations import Value
from covector.core.convert import scalar
from covector.core.jaxpr import Jaxpr, used_inputs
from covector.core.staging import restage
from covector.core.types import ArrayType, Shape
from covector.lowering.element_loops import lower_loop
from covector.lowering.spelling import HloValue
from covector.operations.broadcasting import filled
from covector.operations.comparison import eq, gt
from covector.operations.joining import Concatenate
from covector.operations.logarithms import log
from covector.operations.magnitude import abs_, sign
from covector.operations.roots import sqrt
from covector.operations.selection import where
from covector.operations.slicing import Slice
from covector.operations.transposing import Reshape

if TYPE_CHECKING:
    from covector.lowering.module import Lowering

#: matrices of at most so many rows and columns are small for elimination, …
LARGEST = 8
#: … for rotations, …
LARGEST_TURNED = 4
#: … and from so many on they are many, …
MANY = 256
#: … or if they are larger than for rotations, and take longer to compile
MANY_LARGER = 2048
#: elements that matrices of equations and right-hand sides have together, if small
MOST_NUMBERS = 100
#: Operations that one loop may have. Of more than 2,000 XLA makes functions that call
#: each other, and compute what they share again for each call.
LONGEST = 1500
#: Elements of which each is taken out of the matrices by a kernel of its own, on all
#: cores. More take long to compile.
FEW = 16

#: a matrix by its rows, of numbers or of arrays of them
Rows: TypeAlias = list[list[Value]]
#: a function of numbers, which gives those that the next one takes
Step: TypeAlias = Callable[..., Sequence[Value]]


def is_small(type: ArrayType, largest: int = LARGEST) -> bool:
    """Whether matrices of a type are small and real."""
    small = max(map(int, type.shape[-2:])) <= largest  # a symbolic size is large
    return small and not dtypes.is_complex(type.dtype)


def are_many_and_small(type: ArrayType, largest: int = LARGEST) -> bool:
    """Whether matrices of a type are better computed here than by LAPACK."""
    *_, m, n = type.shape
    if not is_small(type, largest):
        return False
    many = MANY if max(m, n) <= LARGEST_TURNED else MANY_LARGER
    return int(type.size) >= many * m * n > 0


def are_many_and_small_systems(a: ArrayType, b: ArrayType) -> bool:
    """The same of equations; 8 × 8 with 8 right-hand sides are no faster."""
    if not (are_many_and_small(a) and are_many_and_small(b)):
        return False
    return math.prod(a.shape[-2:]) + math.prod(b.shape[-2:]) <= MOST_NUMBERS


# -- loops over a stack ----------------------------------------------------------------


def side_by_side(
    ctx: "Lowering", steps: Sequence[Step], operands: Sequence[HloValue]
) -> list[HloValue]:
    """The results of an equation, by steps from the elements of one matrix of each
    operand to those of one matrix of each result, in row-major order.
    """
    types, outs = [t.strong() for t in ctx.in_types], ctx.out_types
    count = types[0].ndim - 2
    stack = types[0].with_shape((math.prod(types[0].shape[:count]),))
    # XLA partitions no loop between devices, but operations on arrays.
    element = stack if ctx.is_partitioned else stack.with_shape(())
    sizes = [math.prod(t.shape[count:]) for t in types]
    programs = list(_programs(steps, sum(sizes), element))
    columns = _apart(ctx, types, operands, used_inputs(programs[0]), stack)

    def together(*columns: Value) -> Sequence[Value]:
        given = iter(columns)
        sizes = [math.prod(t.shape[count:]) for t in outs]
        return [
            matrices(islice(given, size), t.shape)
            for t, size in zip(outs, sizes, strict=True)
        ]

    if ctx.is_partitioned:
        for program in programs:
            columns = ctx.inline(program, columns)
    else:
        for group in _groups(programs):
            columns = lower_loop(ctx, group, columns, stack)
    return ctx.inline(restage(together, [stack] * len(columns)), columns)


def _apart(
    ctx: "Lowering",
    types: Sequence[ArrayType],
    operands: Sequence[HloValue],
    used: Sequence[bool],
    stack: ArrayType,
) -> list[HloValue]:
    """The elements of matrices, each a vector over the stack; of those that are not
    used, others.
    """

    def apart(*xs: Value) -> Sequence[Value]:
        flat = [Reshape((*stack.shape, *x.type.shape[-2:]))(x) for x in xs]
        return list(compress([x for y in flat for x in elements(y)], used))

    program = restage(apart, types)
    few = sum(used) <= FEW or ctx.is_partitioned
    found = (ctx.inline if few else ctx.call_kernel)(program, operands)
    given = iter(found)
    return [next(given) if u else found[0] for u in used]


def _programs(steps: Sequence[Step], count: int, type: ArrayType) -> Iterator[Jaxpr]:
    """The steps as programs, the first one of so many values of a type."""
    staged: dict[tuple[Step, int], Jaxpr] = {}
    for step in steps:
        key = step, count
        program = staged[key] = staged.get(key) or restage(step, [type] * count)
        yield program
        count = len(program.outputs)


def _groups(programs: Iterable[Jaxpr]) -> list[list[Jaxpr]]:
    """Programs that follow each other, as few loops of no more than ``LONGEST``."""
    groups: list[list[Jaxpr]] = [[]]
    length = 0
    for program in programs:
        size = len(program.equations)
        if groups[-1] and length + size > LONGEST:
            groups.append([])
            length = 0
        groups[-1].append(program)
        length += size
    return groups


def by_rows(numbers: Iterable[Value], columns: int) -> Rows:
    """The rows of so many numbers each."""
    given = iter(numbers)
    return [row for row in iter(lambda: list(islice(given, columns)), [])]


def elements(x: Value) -> list[Value]:
    """The elements of matrices ``[..., m, n]`` by rows, each an array ``[...]``."""
    *stack, m, n = x.type.shape
    flat, none = Reshape(tuple(stack)), (0,) * len(stack)
    indices = [(i, j) for i in range(m) for j in range(n)]
    cuts = [Slice((*none, i, j), (*stack, i + 1, j + 1)) for i, j in indices]
    return [flat(cut(x)) for cut in cuts]


def matrices(values: Iterable[Value], shape: Shape) -> Value:
    """The matrices ``[..., m, n]`` that have these elements; also vectors, numbers."""
    columns = [Reshape((*x.type.shape, 1))(x) for x in values]
    return Reshape(shape)(Concatenate(columns[0].type.ndim - 1)(*columns))


def columns_of(rows: Sequence[Sequence[Value]]) -> Rows:
    """The columns of rows, or the rows of columns."""
    return [list(column) for column in zip(*rows, strict=True)]


# -- Cholesky factors ------------------------------------------------------------------


def cholesky(*numbers: Value) -> list[Value]:
    """L of A = L Lᵀ, from the lower triangle of A; NaN where A is not positive."""
    n = math.isqrt(len(numbers))
    x, type = by_rows(numbers, n), numbers[0].type
    zero, no_number = [scalar(k, type.dtype) for k in (0, np.nan)]
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
    rows = [row + [filled(0, type)] * (n - len(row)) for row in found]
    return [where(done, x, no_number) for row in rows for x in row]


# -- Gaussian elimination --------------------------------------------------------------


def solve(n: int, sides: int) -> list[Step]:
    """The x with A x = b, for so many right-hand sides."""

    def start(*numbers: Value) -> Sequence[Value]:
        a, b = by_rows(numbers[: n * n], n), by_rows(numbers[n * n :], sides)
        rows = [[*left, *right] for left, right in zip(a, b, strict=True)]
        return [filled(1, numbers[0].type), *chain(*rows)]

    def finish(_: Value, *numbers: Value) -> Sequence[Value]:
        return list(chain(*_substituted(by_rows(numbers, n + sides))))

    return [start, *_eliminations(n), finish]


def inverse(n: int) -> list[Step]:
    """The inverse, by as many right-hand sides."""

    def start(*numbers: Value) -> Sequence[Value]:
        values = [filled(k, numbers[0].type) for k in (0, 1)]
        return [*numbers, *[values[i == j] for i in range(n) for j in range(n)]]

    return [start, *solve(n, n)]


def determinant(n: int) -> list[Step]:
    """The product of the pivots, with the sign of the permutation."""

    def finish(order: Value, *numbers: Value) -> Sequence[Value]:
        return [functools.reduce(operator.mul, _pivots(numbers, n), order)]

    return [_with_order, *_eliminations(n), finish]


def sign_and_log_determinant(n: int) -> list[Step]:
    """The sign of the determinant, and the logarithm of its magnitude."""

    def finish(order: Value, *numbers: Value) -> Sequence[Value]:
        pivots = _pivots(numbers, n)
        logs = [log(abs_(x)) for x in pivots]
        direction = functools.reduce(operator.mul, map(sign, pivots), order)
        return direction, functools.reduce(operator.add, logs)

    return [_with_order, *_eliminations(n), finish]


def _with_order(*numbers: Value) -> Sequence[Value]:
    return [filled(1, numbers[0].type), *numbers]


def _pivots(numbers: Sequence[Value], n: int) -> list[Value]:
    return [row[k] for k, row in enumerate(by_rows(numbers, n))]


def _eliminations(n: int) -> list[Step]:
    """To U, and beside it the right-hand sides, by partial pivoting.

    In front of the n rows is the sign of their permutation, 1 or −1.
    """

    def step(k: int) -> Step:
        def eliminate(order: Value, *numbers: Value) -> Sequence[Value]:
            return _eliminated(order, by_rows(numbers, len(numbers) // n), k)

        return eliminate

    return [step(k) for k in range(n)]


def _eliminated(order: Value, rows: Rows, k: int) -> list[Value]:
    """The largest of column k as a pivot, and zeros below it, which are not written."""
    n, width = len(rows), len(rows[0])
    zero, one, minus = [scalar(x, order.type.dtype) for x in (0, 1, -1)]
    for i in range(k + 1, n):
        better = gt(abs_(rows[i][k]), abs_(rows[k][k]))
        order = order * where(better, minus, one)
        for j in range(k, width):
            upper, lower = rows[k][j], rows[i][j]
            rows[k][j] = where(better, lower, upper)
            rows[i][j] = where(better, upper, lower)
    # Below a pivot that is zero, nothing is left to eliminate.
    pivot = where(eq(rows[k][k], zero), one, rows[k][k])
    for i in range(k + 1, n):
        factor = rows[i][k] / pivot
        for j in range(k + 1, width):
            rows[i][j] = rows[i][j] - factor * rows[k][j]
    return [order, *chain(*rows)]


def _substituted(rows: Rows) -> Rows:
    """The solution of an upper triangular system, with the sides beside the matrix."""
    n = len(rows)
    found = [row[n:] for row in rows]
    for k in reversed(range(n)):
        for i in range(k + 1, n):
            pairs = zip(found[k], found[i], strict=True)
            found[k] = [y - rows[k][i] * z for y, z in pairs]
        found[k] = [y / rows[k][k] for y in found[k]]
    return found

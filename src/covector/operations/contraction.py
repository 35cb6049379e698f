"""``DotGeneral``: products summed over contracted axes.

    out[b, i, j] = Σ_k lhs[b, i, k] · rhs[b, j, k]

Each of b, i, j, k stands for any number of axes: batch axes b are in both operands,
free axes i and j in one, contracted axes k in both and not in the result.
``DotGeneral`` is linear in each operand; its adjoints and batches are contractions.
"""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from covector.core import dtypes
from covector.core.annotations import (
    BatchDims,
    Batched,
    DType,
    HostArray,
    Value,
    Values,
)
from covector.core.host_budget import CALL
from covector.core.primitive import Linear, Operand, operation
from covector.core.types import ArrayType, Shape
from covector.core.work import Work
from covector.errors import DTypeError, TypeMismatch
from covector.lowering.spelling import HloResults, HloValue
from covector.operations.casting import ConvertElementType, convert
from covector.operations.families import Bilinear
from covector.operations.precision import (
    BLAS,
    ON_HOST,
    DotAlgorithm,
    Exactness,
    algorithm_of,
    hints,
    lower_converted,
    operand_dtype,
    spelled,
    storage_of,
    swapped,
    working_dtype,
)
from covector.operations.transposing import Transpose

if TYPE_CHECKING:
    from covector.lowering.module import Lowering

Axes: TypeAlias = tuple[int, ...]
#: ((contracted of lhs, of rhs), (batch of lhs, of rhs))
DotDimensionNumbers: TypeAlias = tuple[tuple[Axes, Axes], tuple[Axes, Axes]]

#: multiplications up to which NumPy beats a compiled call, with BLAS and without
BLAS_LIMIT = 128**3
LOOP_LIMIT = 2**16
#: multiplications that BLAS does in a µs
BLAS_PACE = 10_000


class Side(NamedTuple):
    """The axes of one operand; batch and contracted axes pair with the other's."""

    batch: Axes
    free: Axes
    contracted: Axes


@operation
class DotGeneral(Bilinear):
    """Products of ``lhs`` and ``rhs`` summed over the contracting axes.

    The axes of the result are the batch axes, the free axes of ``lhs``, then those of
    ``rhs``. Floats narrower than 32 bits are summed in float32 and rounded once;
    integers wrap around; booleans give whether any pair is true in both.

    ``preferred_element_type`` is the dtype of the result. Products are formed and
    summed in what it and the dtype of the operands have in common.
    """

    dimension_numbers: DotDimensionNumbers
    precision: Exactness = None
    preferred_element_type: Any = None

    linear_operands = ((0,), (1,))

    # -- types -------------------------------------------------------------------------

    def type_rule(self, lhs: ArrayType, rhs: ArrayType) -> Sequence[ArrayType]:
        self._check_axes(lhs, rhs)
        if lhs.dtype != rhs.dtype:
            raise TypeMismatch(
                f"dot_general needs operands of one dtype, but got {lhs} and {rhs}. "
                "covector.numpy.matmul and covector.lax.dot_general promote them."
            )
        if not (dtypes.is_numeric(lhs.dtype) or dtypes.is_bool(lhs.dtype)):
            raise DTypeError(f"dot_general needs numbers, but got {lhs} and {rhs}.")
        left, right = self.sides(lhs.ndim, rhs.ndim)
        shape = (
            *[lhs.shape[a] for a in (*left.batch, *left.free)],
            *[rhs.shape[a] for a in right.free],
        )
        weak = lhs.weak and rhs.weak and self.preferred_element_type is None
        return (ArrayType(shape, self.preferred_element_type or lhs.dtype, weak),)

    def _check_axes(self, lhs: ArrayType, rhs: ArrayType) -> None:
        (contracted, others), (batch, other_batch) = self.dimension_numbers
        for name, type, axes in (
            ("lhs", lhs, batch + contracted),
            ("rhs", rhs, other_batch + others),
        ):
            if any(not 0 <= a < type.ndim for a in axes) or len(set(axes)) < len(axes):
                raise TypeMismatch(
                    f"dot_general of {lhs} and {rhs}: the batch and contracting axes "
                    f"of {name}, here {axes}, must be different axes of it, from 0 to "
                    f"{type.ndim - 1}."
                )
        for name, ours, theirs in (
            ("contracting", contracted, others),
            ("batch", batch, other_batch),
        ):
            lengths = [lhs.shape[a] for a in ours], [rhs.shape[a] for a in theirs]
            if lengths[0] != lengths[1]:
                raise TypeMismatch(
                    f"dot_general of {lhs} and {rhs}: the {name} axes {ours} of lhs "
                    f"and {theirs} of rhs must pair up in number and length, but have "
                    f"the lengths {tuple(lengths[0])} and {tuple(lengths[1])}."
                )

    @lru_cache(4096)  # noqa: B019  operations live for ever in any case
    def sides(self, left: int, right: int) -> tuple[Side, Side]:
        """The axes of operands of these ranks."""
        (contracted, others), (batch, other_batch) = self.dimension_numbers
        return (
            Side(batch, _rest(left, batch + contracted), contracted),
            Side(other_batch, _rest(right, other_batch + others), others),
        )

    # -- values ------------------------------------------------------------------------

    def is_same_on_host(
        self, types: Sequence[ArrayType], outs: Sequence[ArrayType]
    ) -> bool:
        return algorithm_of(self.precision, *[x.dtype for x in types]) is None

    def prefers_host(
        self, types: Sequence[ArrayType], outs: Sequence[ArrayType]
    ) -> bool:
        fast = working_dtype(types[0].dtype, outs[0].dtype) in BLAS
        return self._products(types[0], outs[0]) <= (BLAS_LIMIT if fast else LOOP_LIMIT)

    def host_time(
        self, types: Sequence[ArrayType], outs: Sequence[ArrayType]
    ) -> float | None:
        if working_dtype(types[0].dtype, outs[0].dtype) not in BLAS:
            return None
        return CALL + self._products(types[0], outs[0]) / BLAS_PACE

    def _products(self, lhs: ArrayType, out: ArrayType) -> int:
        """The multiplications of elements."""
        (contracted, _), _ = self.dimension_numbers
        return out.size * max(math.prod([lhs.shape[a] for a in contracted]), 1)

    def host_function(  # type: ignore[override]
        self, lhs: ArrayType, rhs: ArrayType
    ) -> Callable[..., HostArray]:
        given = {lhs.dtype, rhs.dtype, self.preferred_element_type or lhs.dtype}
        if len(given) > 1 or lhs.dtype not in BLAS:
            return self.on_host
        return self._product(lhs.shape, rhs.shape)

    def on_host(self, lhs: HostArray, rhs: HostArray) -> HostArray:
        out = self.preferred_element_type or lhs.dtype
        working = working_dtype(lhs.dtype, out)
        working = ON_HOST.get(working, working)
        if lhs.dtype != working:
            lhs, rhs = lhs.astype(working), rhs.astype(working)
        product = self._product(lhs.shape, rhs.shape)(lhs, rhs)
        if product.dtype == out:
            return product
        return ConvertElementType(out).on_host(np.asarray(product))

    @lru_cache(4096)  # noqa: B019  operations live for ever in any case
    def _product(self, left: Shape, right: Shape) -> Callable[..., HostArray]:
        """The function that multiplies operands of these shapes as matrices."""
        (contracted, others), (batch, _) = self.dimension_numbers
        vectors_or_matrices = len(left) <= 2 and len(right) <= 2 and not batch
        if vectors_or_matrices and (contracted, others) == ((len(left) - 1,), (0,)):
            return np.ndarray.dot
        one, two = self.sides(len(left), len(right))
        first = one.batch + one.free + one.contracted
        second = two.batch + two.contracted + two.free
        if len(one.free) == len(contracted) == len(two.free) == 1:
            return lambda x, y: np.matmul(x.transpose(first), y.transpose(second))
        groups = [
            tuple([shape[a] for a in axes])
            for shape, axes in (
                (left, one.batch),
                (left, one.free),
                (left, contracted),
                (right, two.free),
            )
        ]
        n, m, k, p = map(math.prod, groups)
        shape = (*groups[0], *groups[1], *groups[3])

        # Where nothing is summed, a matrix product would add to 0, and lose the −0.
        multiplied = np.matmul if contracted else np.multiply

        def product(x: HostArray, y: HostArray) -> HostArray:
            x = x.transpose(first).reshape(n, m, k)
            return multiplied(x, y.transpose(second).reshape(n, k, p)).reshape(shape)

        return product

    # -- derivatives -------------------------------------------------------------------

    def transpose(
        self, cotangents: Values, lhs: Operand, rhs: Operand
    ) -> Sequence[Value | None]:
        (ct,) = cotangents
        if type(lhs) is Linear:
            return [self._adjoint(ct, rhs, lhs.type, True), None]
        return [None, self._adjoint(ct, lhs, rhs.type, False)]

    def _adjoint(self, ct: Any, other: Any, type: ArrayType, of_lhs: bool) -> Value:
        """The cotangent of one operand, which has this type, beside the other."""
        steps = self._adjoint_steps(ct.type, other.type, type, of_lhs)
        working, product, ct_first, order = steps
        ct, other = convert(ct, working), convert(other, working)
        made = product(ct, other) if ct_first else product(other, ct)
        return convert(made if order is None else order(made), type.dtype)

    @lru_cache(4096)  # noqa: B019  operations live for ever in any case
    def _adjoint_steps(
        self, ct: ArrayType, other: ArrayType, type: ArrayType, of_lhs: bool
    ) -> tuple[DType, "DotGeneral", bool, Transpose | None]:
        """The dtype, the product, whether ``ct`` is its first operand, and the order of
        the axes that it leaves to be made.

        ``ct`` is contracted with the other operand over the free axes of that. Which of
        the two comes first decides the order of the result: the one that needs no
        transposition is taken, if there is one.
        """
        op = self if of_lhs else self._flipped()
        axes, side = op.sides(type.ndim, other.ndim)
        positions, n = tuple(range(ct.ndim)), len(axes.batch)
        middle = n + len(axes.free if of_lhs else side.free)
        batch, rows, columns = positions[:n], positions[n:middle], positions[middle:]
        over = columns if of_lhs else rows
        order = sorted(range(len(side.contracted)), key=side.contracted.__getitem__)
        contracted = tuple([axes.contracted[k] for k in order])
        first = axes.batch + axes.free + contracted
        last = axes.batch + contracted + axes.free
        working = working_dtype(type.dtype, ct.dtype)
        if list(last) == sorted(last) and list(first) != sorted(first):
            numbers = ((side.free, over), (side.batch, batch))
            return working, DotGeneral(numbers, swapped(op.precision)), False, None
        product = DotGeneral(((over, side.free), (batch, side.batch)), op.precision)
        moved = tuple(sorted(range(len(first)), key=first.__getitem__))
        in_order = list(first) == sorted(first)
        return working, product, True, None if in_order else Transpose(moved)

    def _flipped(self) -> "DotGeneral":
        """The product with its operands the other way round."""
        (contracted, others), (batch, other_batch) = self.dimension_numbers
        numbers = ((others, contracted), (other_batch, batch))
        return DotGeneral(numbers, swapped(self.precision), self.preferred_element_type)

    # -- batches -----------------------------------------------------------------------

    def batch(self, size: int, args: Values, dims: BatchDims) -> Batched:
        """A batch of both operands is a batch axis; of one, a free axis of that."""
        (lhs, rhs), (at_left, at_right) = args, dims
        (contracted, others), (batch, other_batch) = self.dimension_numbers
        contracted, batch = _past(contracted, at_left), _past(batch, at_left)
        others, other_batch = _past(others, at_right), _past(other_batch, at_right)
        if at_left is not None and at_right is not None:
            batch, other_batch = (at_left, *batch), (at_right, *other_batch)
        numbers = ((contracted, others), (batch, other_batch))
        op = DotGeneral(numbers, self.precision, self.preferred_element_type)
        left, right = op.sides(lhs.type.ndim, rhs.type.ndim)
        if at_right is None:
            dim = len(batch) + left.free.index(at_left)
        elif at_left is None:
            dim = len(batch) + len(left.free) + right.free.index(at_right)
        else:
            dim = 0
        return (op(lhs, rhs),), (dim,)

    # -- compilation -------------------------------------------------------------------

    def work(self, types: Sequence[ArrayType], outs: Sequence[ArrayType]) -> Work:
        (contracted, _), _ = self.dimension_numbers
        terms = math.prod([types[0].shape[a] for a in contracted])
        return Work(flops=2 * outs[0].size * terms)

    def lower(self, ctx: "Lowering", lhs: HloValue, rhs: HloValue) -> HloResults:
        left, right = ctx.in_types
        (out,) = ctx.out_types
        algorithm = algorithm_of(self.precision, left.dtype, right.dtype)
        if ctx.platform == "cpu" and algorithm is None:
            from covector.operations import contraction_on_cpu  # noqa: PLC0415

            made = contraction_on_cpu.lower(self, ctx, lhs, rhs)
            if made is not None:
                return made
        if algorithm is not None:
            kinds = [storage_of(kind, algorithm) for kind in algorithm[:2]]
            working = algorithm.accumulation_type
        else:
            kinds = [operand_dtype(left.dtype, out.dtype)] * 2
            working = working_dtype(left.dtype, out.dtype)
        lhs = lower_converted(ctx, lhs, left, kinds[0])
        rhs = lower_converted(ctx, rhs, right, kinds[1])
        made = ctx.op(
            "stablehlo.dot_general",
            [lhs, rhs],
            [out.with_dtype(working)],
            **self._attributes(algorithm, ctx.platform),
        )
        return lower_converted(ctx, made, out.with_dtype(working), out.dtype)

    def _attributes(
        self, algorithm: DotAlgorithm | None, platform: str
    ) -> dict[str, Any]:
        (contracted, others), (batch, other_batch) = self.dimension_numbers
        numbers = (
            f"#stablehlo.dot<lhs_batching_dimensions = {list(batch)}, "
            f"rhs_batching_dimensions = {list(other_batch)}, "
            f"lhs_contracting_dimensions = {list(contracted)}, "
            f"rhs_contracting_dimensions = {list(others)}>"
        )
        found = {"dot_dimension_numbers": numbers, **hints(self.precision)}
        if algorithm is not None and platform != "cpu":
            found["algorithm"] = spelled(algorithm)
        return found


def _rest(rank: int, axes: Axes) -> Axes:
    return tuple([a for a in range(rank) if a not in axes])


def _past(axes: Axes, dim: int | None) -> Axes:
    """Axes after the insertion of a batch axis at ``dim``."""
    return axes if dim is None else tuple([a + (a >= dim) for a in axes])

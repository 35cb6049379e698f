"""Convolutions: windows of one operand weighted by the other, and summed.

    out[n, o, p] = Σ_c Σ_k lhs[n, c, p·stride + k·rhs_dilation − low] · rhs[o, c, k]

Positions p and k have any number of axes. ``lhs_dilation − 1`` zeros stand between the
elements of ``lhs``, then zeros are put around them or elements cut off (``padding``).
With ``feature_group_count`` G, the features o of group g see the features c of that
group only; with ``batch_group_count`` they see the entries n of that group, and the
results of the groups stand side by side as features.

``ConvGeneralDilated`` is linear in each operand, and the whole family is closed: both
adjoints and all batches are convolutions of the same kind.
"""

import math
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from covector.core import dtypes
from covector.core.annotations import BatchDims, Batched, HostArray, Value, Values
from covector.core.primitive import Linear, operation
from covector.core.source import running
from covector.core.types import ArrayType
from covector.core.work import Work
from covector.errors import DTypeError, TypeMismatch
from covector.lowering.spelling import HloResults, HloValue
from covector.operations.axis_groups import folded, regrouped, unfolded
from covector.operations.broadcasting import zeros
from covector.operations.casting import ConvertElementType, convert
from covector.operations.convolution_checks import check_axes, check_groups
from covector.operations.convolution_on_cpu import (
    prefers_features_last,
    remedy,
    with_features_last,
)
from covector.operations.families import Bilinear
from covector.operations.precision import (
    BLAS,
    ON_HOST,
    Exactness,
    hints,
    lower_converted,
    operand_dtype,
    working_dtype,
)
from covector.operations.sliding_windows import Window, features_last, sliding_view
from covector.operations.transposing import Reshape, Rev, in_memory, is_read_again

if TYPE_CHECKING:
    from covector.lowering.module import Lowering

Axes: TypeAlias = tuple[int, ...]
Padding: TypeAlias = tuple[tuple[int, int], ...]

#: multiplications up to which NumPy beats a compiled call, with BLAS and without
BLAS_LIMIT = 2**20
LOOP_LIMIT = 2**16


class ConvDimensionNumbers(NamedTuple):
    """The numbers of the axes of a convolution.

    ``lhs_spec`` and ``out_spec`` give the batch axis, the feature axis and the spatial
    axes; ``rhs_spec`` the axis of features of the result, that of features of the
    operand, and the spatial axes.
    """

    lhs_spec: Axes
    rhs_spec: Axes
    out_spec: Axes


@operation
class ConvGeneralDilated(Bilinear):
    """Windows of ``lhs`` weighted by ``rhs``; the formula stands above.

    Floats narrower than 32 bits are summed in float32 and rounded once; integers wrap
    around. ``preferred_element_type`` is the dtype of the result.
    """

    window_strides: tuple[int, ...]
    padding: Padding
    lhs_dilation: tuple[int, ...]
    rhs_dilation: tuple[int, ...]
    dimension_numbers: ConvDimensionNumbers
    feature_group_count: int = 1
    batch_group_count: int = 1
    precision: Exactness = None
    preferred_element_type: Any = None

    linear_operands = ((0,), (1,))
    orders_axes = True

    @cached_property
    def windows(self) -> tuple[Window, ...]:
        """The convolution along each spatial axis."""
        lows, highs = [p[0] for p in self.padding], [p[1] for p in self.padding]
        return tuple(
            map(
                Window,
                self.window_strides,
                lows,
                highs,
                self.lhs_dilation,
                self.rhs_dilation,
            )
        )

    def changed(self, windows: Sequence[Window] | None = None, **fields: Any) -> Any:
        """This operation with other windows or fields."""
        if windows is not None:
            fields["window_strides"] = tuple([w.stride for w in windows])
            fields["padding"] = tuple([(w.low, w.high) for w in windows])
            fields["lhs_dilation"] = tuple([w.lhs_dilation for w in windows])
            fields["rhs_dilation"] = tuple([w.rhs_dilation for w in windows])
        return ConvGeneralDilated(*(self.parameters | fields).values())

    @property
    def groups(self) -> int:
        """The number of groups, of features or of batch entries."""
        return self.feature_group_count * self.batch_group_count

    # -- types -------------------------------------------------------------------------

    def type_rule(self, lhs: ArrayType, rhs: ArrayType) -> Sequence[ArrayType]:
        if lhs.dtype != rhs.dtype:
            raise TypeMismatch(
                f"conv_general_dilated needs operands of one dtype, but got {lhs} and "
                f"{rhs}. Convert one of them with .astype."
            )
        if not dtypes.is_numeric(lhs.dtype):
            raise DTypeError(
                f"conv_general_dilated needs numbers, but got {lhs} and {rhs}."
            )
        check_axes(self, lhs, rhs)
        check_groups(self, lhs, rhs)
        a, b, c = self.dimension_numbers
        shape = [0] * lhs.ndim
        shape[c[0]] = lhs.shape[a[0]] // self.batch_group_count
        shape[c[1]] = rhs.shape[b[0]]
        for window, i, j, k in zip(self.windows, a[2:], b[2:], c[2:], strict=True):
            shape[k] = window.num_positions(lhs.shape[i], rhs.shape[j])
        weak = lhs.weak and rhs.weak and self.preferred_element_type is None
        dtype = self.preferred_element_type or lhs.dtype
        return (ArrayType(tuple(shape), dtype, weak),)

    # -- values ------------------------------------------------------------------------

    def prefers_host(
        self, types: Sequence[ArrayType], outs: Sequence[ArrayType]
    ) -> bool:
        _, rhs = types
        weights = rhs.size // max(rhs.shape[self.dimension_numbers.rhs_spec[0]], 1)
        fast = working_dtype(rhs.dtype, outs[0].dtype) in BLAS
        limit = BLAS_LIMIT if fast else LOOP_LIMIT
        return outs[0].size * max(weights, 1) <= limit

    def host_time(self, types: Sequence[ArrayType], outs: Sequence[ArrayType]) -> None:
        return None  # the rows of windows would take many times the memory

    def on_host(self, lhs: HostArray, rhs: HostArray) -> HostArray:
        """Windows side by side as rows of a matrix, one matrix per group."""
        out = self.preferred_element_type or lhs.dtype
        working = working_dtype(lhs.dtype, out)
        working = ON_HOST.get(working, working)
        a, b, c = self.dimension_numbers
        weights = rhs.astype(working, copy=False).transpose(b)
        x = lhs.astype(working, copy=False).transpose(a)
        windows = sliding_view(x, self.windows, weights.shape[2:])
        batch, features, *rest = windows.shape
        positions, taps = rest[: len(rest) // 2], rest[len(rest) // 2 :]
        g, h = self.feature_group_count, self.batch_group_count
        # Group first, then batch and indices, then features and taps.
        split = windows.reshape(h, batch // h, g, features // g, *rest)
        k = 4 + len(positions)
        rows = split.transpose(0, 2, 1, *range(4, k), 3, *range(k, k + len(taps)))
        terms, outs = math.prod(weights.shape[1:]), weights.shape[0] // (g * h)
        rows = rows.reshape(g * h, (batch // h) * math.prod(positions), terms)
        columns = weights.reshape(g * h, outs, terms).swapaxes(1, 2)
        product = np.matmul(rows, columns)
        product = product.reshape(g * h, batch // h, *positions, outs)
        product = np.moveaxis(np.moveaxis(product, 0, -2), (-2, -1), (1, 2))
        product = product.reshape(batch // h, weights.shape[0], *positions)
        product = product.transpose(np.argsort(c))
        if product.dtype == out:
            return product
        return ConvertElementType(out).on_host(product)

    # -- derivatives -------------------------------------------------------------------

    def transpose(
        self, cotangents: Values, lhs: Any, rhs: Any
    ) -> Sequence[Value | None]:
        (ct,) = cotangents
        first = type(lhs) is Linear
        operand, other = (lhs.type, rhs) if first else (rhs.type, lhs)
        if 0 in (ct.type.size, other.type.size):
            made = zeros(operand)
        else:
            working = working_dtype(operand.dtype, ct.type.dtype)
            adjoint = self._adjoint_of_lhs if first else self._adjoint_of_rhs
            made = adjoint(convert(ct, working), convert(other, working), operand)
        made = convert(made, operand.dtype)
        return [made, None] if first else [None, made]

    def _adjoint_of_lhs(self, ct: Value, rhs: Value, type: ArrayType) -> Value:
        """The cotangent slides over reversed windows; features change their roles.

        The groups that the features of the result had are now those of the operand, and
        batch groups come out as groups of features.
        """
        a, b, c = self.dimension_numbers
        axes = zip(self.windows, a[2:], b[2:], strict=True)
        windows = [w.of_lhs(type.shape[i], rhs.type.shape[j]) for w, i, j in axes]
        turned = tuple([j for j in b[2:] if rhs.type.shape[j] > 1])
        weights = Rev(turned)(rhs) if turned else rhs
        op = self.changed(
            windows,
            dimension_numbers=ConvDimensionNumbers(c, (b[1], b[0], *b[2:]), a),
            feature_group_count=self.groups,
            batch_group_count=1,
            preferred_element_type=None,
        )
        made = op(ct, regrouped(weights, b[0], b[1], self.groups))
        return regrouped(made, a[1], a[0], self.batch_group_count)

    def _adjoint_of_rhs(self, ct: Value, lhs: Value, type: ArrayType) -> Value:
        """The cotangent is the window; features and batch of both change roles."""
        a, b, c = self.dimension_numbers
        axes = zip(self.windows, a[2:], b[2:], strict=True)
        windows = [w.of_rhs(lhs.type.shape[i], type.shape[j]) for w, i, j in axes]
        op = self.changed(
            windows,
            dimension_numbers=ConvDimensionNumbers(
                *[(axes[1], axes[0], *axes[2:]) for axes in (a, c, b)]
            ),
            feature_group_count=self.batch_group_count,
            batch_group_count=self.feature_group_count,
            preferred_element_type=None,
        )
        return op(lhs, ct)

    # -- batches -----------------------------------------------------------------------

    def batch(self, size: int, args: Values, dims: Any) -> Batched:
        """A batch of both is groups; of one, more of its batch entries or features."""
        (lhs, rhs), (at_left, at_right) = args, dims
        a, b, c = self.dimension_numbers
        if not size:
            return self._batch_of_nothing(args, dims)
        if at_right is None:
            lhs = folded(lhs, at_left, a[0], self.batch_group_count)
            return unfolded(self(lhs, rhs), c[0], 1, size)
        if at_left is None:
            rhs = folded(rhs, at_right, b[0], self.groups)
            return unfolded(self(lhs, rhs), c[1], self.groups, size)
        groups = self.groups * size
        if self.batch_group_count > 1:
            lhs = folded(lhs, at_left, a[0], 1)
            op = self.changed(batch_group_count=groups)
        else:
            lhs = folded(lhs, at_left, a[1], 1)
            op = self.changed(feature_group_count=groups)
        rhs = folded(rhs, at_right, b[0], 1)
        return unfolded(op(lhs, rhs), c[1], 1, size)

    def _batch_of_nothing(self, args: Sequence[Value], dims: BatchDims) -> Any:
        """No entries, of the type that each would have: there cannot be zero groups."""
        types = [x.type.without_axis(d) for x, d in zip(args, dims, strict=True)]
        (out,) = self.type_rule(*types)
        return (zeros(out.with_shape((0, *out.shape))),), (0,)

    # -- compilation -------------------------------------------------------------------

    def work(self, types: Sequence[ArrayType], outs: Sequence[ArrayType]) -> Work:
        """A product and a sum for each weight that meets an element, and no margin."""
        (lhs, rhs), (out,) = types, outs
        a, b, c = self.dimension_numbers
        met = [
            w.num_meetings(lhs.shape[i], rhs.shape[k])
            for w, i, k in zip(self.windows, a[2:], b[2:], strict=True)
        ]
        return Work(
            flops=2
            * out.shape[c[0]]
            * out.shape[c[1]]
            * rhs.shape[b[1]]
            * math.prod(met)
        )

    def lower(self, ctx: "Lowering", lhs: HloValue, rhs: HloValue) -> HloResults:
        left, right = ctx.in_types
        (out,) = ctx.out_types
        if 0 in (left.size, right.size, out.size):
            return ctx.constant(0, out)
        if not self.windows:
            return ctx.through(self._along_an_axis, lhs, rhs)
        if ctx.platform == "cpu":
            other_way = remedy(self, left, right)
            # XLA takes other operations for cheap ones, that each which reads the
            # result may compute again.
            (result,) = running.equation.outputs
            once = other_way is not None and is_read_again(ctx.jaxpr, result)
            if prefers_features_last(self, left, right):
                return self._with_features_last(ctx, lhs, rhs, once)
            if other_way is not None:
                (made,) = ctx.through(other_way, lhs, rhs)
                return in_memory(ctx, made, out) if once else made
        working = working_dtype(left.dtype, out.dtype)
        kind = operand_dtype(left.dtype, out.dtype)
        made = ctx.op(
            "stablehlo.convolution",
            [
                lower_converted(ctx, lhs, left, kind),
                lower_converted(ctx, rhs, right, kind),
            ],
            [out.with_dtype(working)],
            **self._attributes(),
        )
        return lower_converted(ctx, made, out.with_dtype(working), out.dtype)

    def _with_features_last(
        self, ctx: "Lowering", lhs: HloValue, rhs: HloValue, once: bool
    ) -> Any:
        """The convolution in XLA's order of axes, in which its result stays for what
        comes next, too; ``once`` in memory.
        """
        from covector.lowering import axis_orders  # noqa: PLC0415  many have none

        (out,), order = ctx.out_types, [0] * len(self.dimension_numbers.out_spec)
        (made,) = ctx.through(lambda x, w: [with_features_last(self, x, w)], lhs, rhs)
        last = features_last(out.ndim)[2]
        for a, b in zip(last, self.dimension_numbers.out_spec, strict=True):
            order[a] = b
        if once:
            there = out.with_shape(tuple([out.shape[k] for k in order]))
            made = in_memory(ctx, made, there)
        made = axis_orders.reordered(made, tuple(order), out)
        if ctx.on_several_devices:
            return axis_orders.plain(ctx, made)
        ctx.orders = axis_orders
        return [made]

    def reordered(self, orders: Sequence[Any]) -> Any:  # type: ignore[override]
        """The result has the order of ``lhs``."""
        left, right = [
            o or tuple(range(len(self.dimension_numbers[0]))) for o in orders
        ]
        numbers = [
            tuple([order.index(axis) for axis in axes])
            for axes, order in zip(
                self.dimension_numbers, (left, right, left), strict=True
            )
        ]
        op = self.changed(dimension_numbers=ConvDimensionNumbers(*numbers))
        return op, [left, right], left

    def _along_an_axis(self, lhs: Value, rhs: Value) -> list[Value]:
        """The same with a spatial axis of length 1: XLA takes minutes without one."""
        numbers = [(*axes, 2) for axes in self.dimension_numbers]
        op = self.changed(
            [Window(1, 0, 0, 1, 1)], dimension_numbers=ConvDimensionNumbers(*numbers)
        )
        made = op(*[Reshape((*x.type.shape, 1))(x) for x in (lhs, rhs)])
        return [Reshape(made.type.shape[:2])(made)]

    def _attributes(self) -> dict[str, Any]:
        pairs = ", ".join([f"[{low:d}, {high:d}]" for low, high in self.padding])
        found: dict[str, Any] = {
            "window_strides": self.window_strides,
            "padding": f"dense<[{pairs}]> : tensor<{len(self.windows)}x2xi64>",
            "lhs_dilation": self.lhs_dilation,
            "rhs_dilation": self.rhs_dilation,
            "dimension_numbers": _spelled(self.dimension_numbers),
            "feature_group_count": f"{self.feature_group_count} : i64",
            "batch_group_count": f"{self.batch_group_count} : i64",
        }
        return found | hints(self.precision)


def _spelled(numbers: ConvDimensionNumbers) -> str:
    """Dimension numbers in StableHLO."""
    names = (
        ("input", "batch", "feature"),
        ("kernel", "output_feature", "input_feature"),
        ("output", "batch", "feature"),
    )
    parts = []
    for (who, first, second), axes in zip(names, numbers, strict=True):
        parts.append(f"{who}_{first}_dimension = {axes[0]}")
        parts.append(f"{who}_{second}_dimension = {axes[1]}")
        parts.append(f"{who}_spatial_dimensions = {list(axes[2:])}")
    return f"#stablehlo.conv<raw {', '.join(parts)}>"

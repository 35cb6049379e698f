"""Checks of convolutions: whether operands go with the parameters."""

from typing import TYPE_CHECKING

from covector.core.types import ArrayType
from covector.errors import ArgumentError, TypeMismatch, how_many
from covector.operations.sliding_windows import dilated

if TYPE_CHECKING:
    from covector.operations.convolution import ConvGeneralDilated


def check_axes(op: "ConvGeneralDilated", lhs: ArrayType, rhs: ArrayType) -> None:
    """Raise where dimension numbers, strides, padding or dilations do not fit."""
    who = f"conv_general_dilated of {lhs} and {rhs}"
    rank = len(op.window_strides)
    if not lhs.ndim == rhs.ndim == rank + 2:
        raise TypeMismatch(
            f"{who}: operands need a batch and a feature axis and as many spatial "
            f"axes as there are window strides, here {rank}."
        )
    for name, axes in op.dimension_numbers._asdict().items():
        if sorted(axes) != list(range(rank + 2)):
            raise ArgumentError(
                f"{who}: {name} of the dimension numbers must name each of the "
                f"axes 0 to {rank + 1} once, but is {axes}."
            )
    for name in ("padding", "lhs_dilation", "rhs_dilation"):
        if len(getattr(op, name)) != rank:
            raise ArgumentError(
                f"{who}: {name} needs an entry for each of the "
                f"{how_many(rank, 'spatial axis', 'spatial axes')}, but is "
                f"{getattr(op, name)}."
            )
    check_steps(who, op)
    for window, axis in zip(op.windows, op.dimension_numbers.lhs_spec[2:], strict=True):
        length = dilated(lhs.shape[axis], window.lhs_dilation)
        if length + window.low + window.high < 0:
            raise TypeMismatch(
                f"{who}: the padding {(window.low, window.high)} cuts off more "
                f"than there is along axis {axis} of lhs."
            )


def check_steps(who: str, op: "ConvGeneralDilated") -> None:
    """Raise where a stride or a dilation is not positive."""
    for name in ("window_strides", "lhs_dilation", "rhs_dilation"):
        if any(step < 1 for step in getattr(op, name)):
            raise ArgumentError(
                f"{who}: {name} must be positive, but is {getattr(op, name)}."
            )


def check_groups(op: "ConvGeneralDilated", lhs: ArrayType, rhs: ArrayType) -> None:
    """Raise where features or batch entries do not divide into the groups."""
    a, b, _ = op.dimension_numbers
    features, batch = lhs.shape[a[1]], lhs.shape[a[0]]
    outs, ins = rhs.shape[b[0]], rhs.shape[b[1]]
    groups, batch_groups = op.feature_group_count, op.batch_group_count
    who = f"conv_general_dilated of {lhs} and {rhs}"
    if groups < 1 or batch_groups < 1 or (groups > 1 and batch_groups > 1):
        raise ArgumentError(
            f"{who}: feature_group_count and batch_group_count are positive, and "
            f"one of them is 1, but they are {groups} and {batch_groups}."
        )
    if features != groups * ins:
        raise TypeMismatch(
            f"{who}: lhs has {how_many(features, 'feature')}, and rhs weighs {ins} "
            f"in each group, with feature_group_count={groups}. The first must be "
            "the product of the others; the dimension numbers say which axes are "
            f"meant: {op.dimension_numbers}."
        )
    for name, count, grouped in (
        ("features of the result", outs, groups * batch_groups),
        ("batch entries of lhs", batch, batch_groups),
    ):
        if count % grouped:
            raise TypeMismatch(
                f"{who}: the {count} {name} do not divide into "
                f"{how_many(grouped, 'group')}."
            )

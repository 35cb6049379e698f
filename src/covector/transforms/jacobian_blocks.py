"""The blocks of a Jacobian: unit tangents pushed, and unit cotangents pulled, in
batches.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

from covector.core import dtypes
from covector.core.annotations import PyTree, Shape, Value
from covector.core.jaxpr import run
from covector.core.primitive import Linear
from covector.core.types import ArrayType
from covector.operations.broadcasting import batched, move_axis, zeros
from covector.operations.casting import convert
from covector.operations.comparison import eq
from covector.operations.creation import Iota
from covector.operations.selection import ones_where
from covector.operations.slicing import Slice
from covector.operations.transposing import Reshape
from covector.transforms.batch import batch_flat
from covector.transforms.linearize import Linearization
from covector.transforms.transpose import backward

#: by the indices of result and argument, what the one contributes to the other
Blocks: TypeAlias = dict[tuple[int, int], Value]


class LinearizedFunction(NamedTuple):
    """A linearised function, flat, and the trees around it."""

    linear: Linearization
    in_tree: Any
    out_tree: Any
    in_types: list[ArrayType]
    out_types: list[ArrayType]
    single: bool
    aux: PyTree
    holomorphic: bool

    def allows(self, pushed: Sequence[int], pulled: Sequence[int]) -> bool:
        """Whether unit directions say all: one of a complex number does so only for a
        holomorphic function.
        """
        return self.holomorphic or not self.complex_types(pushed, pulled)

    def complex_types(
        self, pushed: Sequence[int], pulled: Sequence[int]
    ) -> list[ArrayType]:
        types = [self.in_types[j] for j in pushed] + [self.out_types[i] for i in pulled]
        return [t for t in types if dtypes.is_complex(t.dtype)]


def jacobian_blocks(
    p: LinearizedFunction, pushed: Sequence[int], pulled: Sequence[int]
) -> Blocks:
    """Block (result, argument) by index, zeros where the result has no tangent.

    A block that is pushed is weak where its result is, as a tangent; others where their
    argument is, as a cotangent.
    """
    blocks: Blocks = {}
    if pushed:
        blocks |= _push_units(p, pushed)
    if pulled:
        blocks |= _pull_units(p, pulled)
    for i, o in enumerate(p.out_types):
        for j, t in enumerate(p.in_types):
            block = blocks.get((i, j))
            if block is None:
                block = zeros(ArrayType((*o.shape, *t.shape), o.dtype))
            weak = o.weak if j in pushed else t.weak
            blocks[i, j] = convert(block, block.type.dtype, weak)
    return blocks


def _units(types: Sequence[ArrayType]) -> list[Value]:
    """For arrays of these types, all unit directions, stacked in front."""
    total = sum([t.size for t in types])
    units: list[Value] = []
    start = 0
    for t in types:
        row = Iota(dtypes.int32, (total, t.size), 0)()
        column = Iota(dtypes.int32, (total, t.size), 1)()
        unit = ones_where(eq(row, column + start), t.dtype, t.weak)
        units.append(Reshape((total, *t.shape))(unit))
        start += t.size
    return units


def _push_units(p: LinearizedFunction, pushed: Sequence[int]) -> Blocks:
    jaxpr, residuals, nonzero = p.linear
    pushed = [j for j in pushed if p.in_types[j].inexact]
    units = dict(zip(pushed, _units([p.in_types[j] for j in pushed]), strict=True))
    total = sum([p.in_types[j].size for j in pushed])

    def push(*given: Value) -> list[Value]:
        found = iter(given)
        tangents = [
            next(found) if j in units else zeros(t.strong())
            for j, t in enumerate(p.in_types)
            if t.inexact
        ]
        return run(jaxpr, [*residuals, *tangents])

    outs, dims = batch_flat(push, total, list(units.values()), [0] * len(units))
    columns = iter([batched(total, x, d) for x, d in zip(outs, dims, strict=True)])
    blocks: Blocks = {}
    for i, m in enumerate(nonzero):
        if not m:
            continue
        column, start = next(columns), 0
        for j in pushed:
            size = p.in_types[j].size
            part = _rows(column, start, start + size)
            blocks[i, j] = _behind(part, p.out_types[i].shape, p.in_types[j].shape)
            start += size
    return blocks


def _pull_units(p: LinearizedFunction, pulled: Sequence[int]) -> Blocks:
    jaxpr, residuals, nonzero = p.linear
    pulled = [i for i in pulled if nonzero[i]]
    units = dict(zip(pulled, _units([p.out_types[i] for i in pulled]), strict=True))
    total = sum([p.out_types[i].size for i in pulled])
    tangent_types = [v.type for v in jaxpr.inputs[len(residuals) :]]

    def pull(*given: Value) -> list[Value]:
        found = iter(given)
        cts_out = [
            next(found) if i in units else None for i, m in enumerate(nonzero) if m
        ]
        args = [*residuals, *[Linear(t) for t in tangent_types]]
        cts_in = backward(jaxpr, args, cts_out)[len(residuals) :]
        return [
            zeros(t) if ct is None else ct
            for ct, t in zip(cts_in, tangent_types, strict=True)
        ]

    if not pulled:
        return {}
    outs, dims = batch_flat(pull, total, list(units.values()), [0] * len(units))
    rows = [batched(total, x, d) for x, d in zip(outs, dims, strict=True)]
    blocks: Blocks = {}
    active = [j for j, t in enumerate(p.in_types) if t.inexact]
    for j, row in zip(active, rows, strict=True):
        start = 0
        for i in pulled:
            o = p.out_types[i]
            part = _rows(row, start, start + o.size)
            blocks[i, j] = Reshape((*o.shape, *p.in_types[j].shape))(part)
            start += o.size
    return blocks


def _rows(x: Value, start: int, stop: int) -> Value:
    if (start, stop) == (0, x.type.shape[0]):
        return x
    rest = x.type.shape[1:]
    return Slice((start,) + (0,) * len(rest), (stop, *rest))(x)


def _behind(x: Value, out_shape: Shape, in_shape: Shape) -> Value:
    """``[n, *out]`` as ``[*out, *in]``."""
    return Reshape((*out_shape, *in_shape))(move_axis(x, 0, x.type.ndim - 1))

"""Calls of LAPACK in programs, and the base of operations that are lowered to them.

A routine takes and gives stacks of matrices in column-major order, and one vector or
number for each matrix of a stack in row-major order; XLA rearranges what is otherwise.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from covector.core import dtypes
from covector.core.annotations import Batched, DType, Value, Values
from covector.core.convert import scalar
from covector.core.primitive import ManyResults
from covector.core.staging import stage
from covector.core.types import ArrayType, Shape, show_types
from covector.core.work import Work
from covector.errors import DeviceError, DTypeError, TypeMismatch
from covector.lowering import spelling
from covector.lowering.spelling import HloValue
from covector.operations.broadcasting import BroadcastInDim, align, filled
from covector.operations.comparison import eq
from covector.operations.selection import where
from covector.runtime import lapack

if TYPE_CHECKING:
    from covector.lowering.module import Lowering

_LETTERS = {
    dtypes.float32: "s",
    dtypes.float64: "d",
    dtypes.complex64: "c",
    dtypes.complex128: "z",
}


class OnMatrices(ManyResults):
    """An operation on stacks of matrices: over a batch, the stacks have an axis more.

    ``kernel`` lowers it where no result is empty; ``without_elements`` gives the
    results where one is, since LAPACK takes no empty matrices.
    """

    orders_axes = True

    def batch(self, size: int, args: Values, dims: Sequence[int]) -> Batched:
        outs = self(*align(size, args, dims))
        return outs, [0] * len(outs)

    def lower(self, ctx: "Lowering", *operands: HloValue) -> Sequence[HloValue]:
        types = ctx.in_types
        if not all([t.size for t in (*types, *ctx.out_types)]):
            outs = ctx.out_types
            return finished(ctx, lambda: self.without_elements(*outs), [], [])
        return self.kernel(ctx, *operands)

    def without_elements(self, *types: ArrayType) -> Sequence[Value]:
        """The results of these types, of which one or an operand is empty."""
        return [filled(0, t) for t in types]

    def kernel(self, ctx: "Lowering", *operands: HloValue) -> Sequence[HloValue]:
        """The operation as calls of LAPACK."""
        raise self._missing("kernel", "compilation", ctx.in_types)


# -- types -----------------------------------------------------------------------------


def check_matrices(who: str, *types: ArrayType, square: bool = False) -> None:
    """Raise unless all are stacks of matrices in one dtype that LAPACK has."""
    for t in types:
        if t.ndim < 2:
            raise TypeMismatch(
                f"{who} needs matrices, with two axes at least, but got "
                f"{show_types(types)}."
            )
    check_dtypes(who, *types)
    if square and types[0].shape[-1] != types[0].shape[-2]:
        raise TypeMismatch(f"{who} needs square matrices, but got {types[0]}.")


def check_dtypes(who: str, *types: ArrayType) -> None:
    """Raise unless all are in one dtype that LAPACK has."""
    if any([t.dtype not in _LETTERS for t in types]):
        raise DTypeError(
            f"{who} needs float32, float64, complex64 or complex128, but got "
            f"{show_types(types)}. Convert first, for instance with "
            "x.astype('float32')."
        )
    if any([t.dtype != types[0].dtype for t in types]):
        raise TypeMismatch(
            f"{who} needs operands of one dtype, but got {show_types(types)}. "
            "Functions of covector.numpy.linalg promote them."
        )


def stack_of(x: ArrayType, shape: Shape = (), dtype: DType | None = None) -> ArrayType:
    """The type of an array of this shape for each matrix of a stack."""
    return ArrayType((*x.shape[:-2], *shape), dtype or x.dtype)


def real_stack_of(x: ArrayType, shape: Shape) -> ArrayType:
    """The type of real numbers for each matrix of a stack."""
    return stack_of(x, shape, dtypes.real_part(x.dtype))


def work_on(x: ArrayType, flops: float) -> Work:
    """The work of so many FLOPs for each matrix of a stack."""
    return Work(flops=math.prod(x.shape[:-2]) * round(flops))


def info_of(x: ArrayType) -> ArrayType:
    """The type of what a routine reports: for each matrix, 0 where it succeeds."""
    return stack_of(x, dtype=dtypes.int32)


# -- calls -----------------------------------------------------------------------------


class Routine(NamedTuple):
    """A routine of LAPACK: ``potrf``, or ``syevd/heevd`` for real and complex numbers.

    ``attributes``: letters, such as the one that tells which triangle is read; bools;
    int32 numbers. ``overwritten``: the results that are to be where operands were.

    ``transposed``: it is given the transposed matrices, and its results are transposed
    back. What XLA has in row-major order is in column-major order the transposed
    matrix: so no element moves, while for others XLA writes operands, and reads
    results, by long strides. A Cholesky factor of 1024 × 1024 takes 4.3 instead of
    15 ms.
    """

    name: str
    attributes: Mapping[str, str | bool | int] = {}
    overwritten: Mapping[int, int] = {}
    transposed: bool = False

    def target(self, dtype: DType) -> str:
        """The name of the kernel for an element type."""
        if self.name == lapack.PERTURBED:
            return self.name
        real, _, complex_ = self.name.partition("/")
        name = complex_ if complex_ and dtypes.is_complex(dtype) else real
        return f"{lapack.PREFIX}{_LETTERS[dtype]}{name}_ffi"


def call(
    ctx: "Lowering",
    routine: Routine,
    operands: Sequence[HloValue],
    in_types: Sequence[ArrayType],
    out_types: Sequence[ArrayType],
) -> list[HloValue]:
    """The results of a LAPACK routine on a stack of matrices.

    Raises:
      DeviceError: the program is not for a CPU.
    """
    _check_platform(ctx)
    lapack.prepare()
    rank = max([t.ndim for t in (*in_types, *out_types)])
    stack = rank - 2
    swapped = (*range(stack), stack + 1, stack) if routine.transposed else ()

    def moved(x: HloValue, t: ArrayType) -> HloValue:
        if not swapped or t.ndim < rank:
            return x
        return ctx.op("stablehlo.transpose", [x], [t], permutation=swapped)

    ins, outs = [
        [_transposed(t) if swapped and t.ndim == rank else t for t in types]
        for types in (in_types, out_types)
    ]
    ctx.module.module.lapack_calls.add((routine.name, tuple(ins[0].shape[-2:])))
    partitioning: dict[str, Any] = {}
    if ctx.is_divided:
        partitioning = _partitioning(ins, outs, stack)
    pairs = zip(operands, ins, strict=True)
    made = ctx.op(
        "stablehlo.custom_call",
        [ctx.replicated(moved(x, t), t, stack) for x, t in pairs],
        outs,
        call_target_name=f'"{routine.target(ins[0].dtype)}"',
        api_version="4 : i32",
        has_side_effect="false",
        backend_config=_config(routine.attributes),
        operand_layouts=_layouts(ins, rank),
        result_layouts=_layouts(outs, rank),
        output_operand_aliases=spelling.aliases(routine.overwritten, len(outs)),
        **partitioning,
    )
    results = [made] if len(outs) == 1 else made.results
    found = zip(results, outs, out_types, strict=True)
    return [moved(ctx.replicated(x, t, stack), out) for x, t, out in found]


def _check_platform(ctx: "Lowering") -> None:
    if ctx.platform != "cpu":
        raise DeviceError(
            f"{ctx.equation.op.name} has no kernel for the platform {ctx.platform!r} "
            "yet. Move its operands to a CPU: "
            "covector.device_put(x, covector.devices('cpu')[0])."
        )


def _transposed(t: ArrayType) -> ArrayType:
    return t.with_shape((*t.shape[:-2], t.shape[-1], t.shape[-2]))


def _partitioning(
    in_types: Sequence[ArrayType], out_types: Sequence[ArrayType], stack: int
) -> dict[str, str]:
    """The attribute that lets XLA divide a stack between devices, along its first axes.

    These are factors that operands and results have in common; each axis of a matrix,
    or of what belongs to one, is a factor of its own.
    """
    lengths = list(in_types[0].shape[:stack])
    sides = []
    for types in (in_types, out_types):
        tensors = []
        for t in types:
            inner = range(len(lengths), len(lengths) + t.ndim - stack)
            lengths += t.shape[stack:]
            tensors.append(
                f"[{', '.join([_factor(k) for k in (*range(stack), *inner)])}]"
            )
        sides.append(f"({', '.join(tensors)})")
    sizes = ", ".join([f"{_factor(k)}={n}" for k, n in enumerate(lengths)])
    rule = f"{'->'.join(sides)} {{{sizes}}}"
    return {
        "sdy.sharding_rule": f"#sdy.op_sharding_rule<{rule}, custom>",
        "mhlo.frontend_attributes": f'{{num_batch_dims = "{stack}"}}',
    }


def _factor(k: int) -> str:
    """The name of a factor in Shardy: i to z, then z_1, z_2, …."""
    letters = "ijklmnopqrstuvwxyz"
    return letters[k] if k < len(letters) else f"z_{k - len(letters) + 1}"


def _config(attributes: Mapping[str, str | bool | int]) -> str:
    """Attributes as MLIR spells them: letters are bytes."""

    def spelled(value: str | bool | int) -> str:
        if isinstance(value, str):
            return f"{ord(value)} : ui8"
        return str(value).lower() if isinstance(value, bool) else f"{value} : i32"

    words = [f"{name} = {spelled(value)}" for name, value in attributes.items()]
    return f"{{{', '.join(words)}}}"


def _layouts(types: Sequence[ArrayType], rank: int) -> str:
    """Column-major matrices, which have the most axes; all else is row-major."""
    orders = []
    for t in types:
        axes = list(range(t.ndim))[::-1]
        if t.ndim == rank:
            axes[:2] = axes[1::-1]
        orders.append(axes)
    return spelling.layouts(orders)


def finished(
    ctx: "Lowering",
    fun: Callable[..., Sequence[Value]],
    types: Sequence[ArrayType],
    values: Sequence[HloValue],
) -> list[HloValue]:
    """The results of a function of operations on those of a routine."""
    return ctx.inline(stage(fun, types).jaxpr, values)


def where_done(info: Value, x: Value) -> Value:
    """``x`` for the matrices for which a routine reports success, and NaN for others.

    ``info`` has one number for each matrix, 0 for success.
    """
    done = eq(info, scalar(0, dtypes.int32))
    shape = x.type.shape
    done = BroadcastInDim(shape, tuple(range(done.type.ndim)))(done)
    return where(done, x, scalar(np.nan, x.type.dtype))

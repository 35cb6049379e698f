"""Calls of functions of other languages in programs, by the names of their targets.

What a target does is unknown here: it gives results of promised types. Attributes are
kept in MLIR's spelling, which is a value that can be compared and printed.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from covector.callbacks.opaque import Opaque, in_batch
from covector.core import dtypes
from covector.core.annotations import BatchDims, Batched, Values
from covector.core.effects import LASTS, NONE
from covector.core.primitive import operation
from covector.core.sharding.as_sharding import Layout
from covector.core.types import ArrayType
from covector.errors import ArgumentError
from covector.lowering import hlo, spelling
from covector.lowering.spelling import HloResults, HloValue
from covector.programs.control_flow.batch_sequentially import batch_sequentially
from covector.runtime import foreign_functions

if TYPE_CHECKING:
    from covector.lowering.module import Lowering

#: the version of the typed interface, in which attributes have names and types
TYPED = 4
#: the axes of an operand or a result from major to minor; None for row-major
Order = tuple[int, ...] | None


@operation
class ForeignCall(Opaque):
    """Call the function that is known to XLA as ``target``."""

    target: str
    results: tuple[ArrayType, ...]  # type: ignore[override]
    #: the attributes, in braces and in MLIR's spelling; or text, for older interfaces
    config: str = "{}"
    input_orders: tuple[Order, ...] = ()
    output_orders: tuple[Order, ...] = ()
    #: pairs of an operand and the result that is to be where it was
    overwritten: tuple[tuple[int, int], ...] = ()
    vmap_method: str | None = None
    lasts: bool = False
    api_version: int = TYPED

    def __post_init__(self) -> None:
        object.__setattr__(self, "effects", LASTS if self.lasts else NONE)

    @property
    def who(self) -> str:  # type: ignore[override]
        return f"ffi_call of {self.target}"

    def type_rule(self, *types: ArrayType) -> Sequence[ArrayType]:
        for k, out in self.overwritten:
            if (types[k].shape, types[k].dtype) != (
                self.results[out].shape,
                self.results[out].dtype,
            ):
                raise ArgumentError(
                    f"{self.who} is to write result {out}, {self.results[out]}, where "
                    f"operand {k}, {types[k]}, was: they must be of one type."
                )
        return self.results

    def batch(self, size: int, args: Values, dims: BatchDims) -> Batched:
        method = self.vmap_method
        if method is not None and method.startswith("sequential"):
            return batch_sequentially(self, None, size, args, dims)
        given = in_batch(self.who, method, size, args, dims)
        ranks = [x.type.ndim - (d is not None) for x, d in zip(args, dims, strict=True)]
        added = [x.type.ndim > rank for x, rank in zip(given, ranks, strict=True)]
        over = self.replace(
            results=tuple([t.with_axis(0, size) for t in self.results]),
            input_orders=_batched(self.input_orders, added),
            output_orders=_batched(self.output_orders, [True] * len(self.results)),
        )
        outs = over(*given)
        return outs, [0] * len(outs)

    def lower(self, ctx: "Lowering", *operands: HloValue) -> HloResults:
        pairs = zip(operands, ctx.in_types, strict=True)
        made = custom_call(
            ctx,
            self.target,
            [ctx.replicated(x, t) for x, t in pairs],
            self.config,
            (
                _minor_to_major(self.input_orders, ctx.in_types),
                _minor_to_major(self.output_orders, ctx.out_types),
            ),
            api_version=self.api_version,
            has_side_effect=self.lasts,
            overwritten=dict(self.overwritten),
        )
        pairs = zip(hlo.results(made), ctx.out_types, strict=True)
        return [ctx.replicated(x, t) for x, t in pairs]


def custom_call(
    ctx: "Lowering",
    target: str,
    operands: Sequence[HloValue],
    config: str,
    layouts: tuple[Sequence[Sequence[int]], Sequence[Sequence[int]]] | None,
    *,
    api_version: int,
    has_side_effect: bool,
    overwritten: Mapping[int, int],
) -> Any:
    """The call in StableHLO; ``layouts`` are those of operands and of results, the
    axes of each from the one that changes fastest.
    """
    foreign_functions.prepare(target)
    further = {}
    if layouts is not None:
        further["operand_layouts"], further["result_layouts"] = map(
            spelling.layouts, layouts
        )
    return ctx.op(
        "stablehlo.custom_call",
        operands,
        call_target_name=spelled(target),
        backend_config=config,
        api_version=f"{api_version} : i32",
        has_side_effect=str(has_side_effect).lower(),
        output_operand_aliases=spelling.aliases(overwritten, len(ctx.out_types)),
        **further,
    )


def _batched(orders: tuple[Order, ...], added: Sequence[bool]) -> tuple[Order, ...]:
    """The orders of arrays of which some have a leading axis more."""
    return tuple(
        [
            (0, *[axis + 1 for axis in order]) if more and order is not None else order
            for order, more in zip(orders, added, strict=True)
        ]
    )


def _minor_to_major(
    orders: Sequence[Order], types: Sequence[ArrayType]
) -> list[Sequence[int]]:
    return [
        range(t.ndim)[::-1] if order is None else order[::-1]
        for order, t in zip(orders, types, strict=True)
    ]


def order_of(layout: Any, type: ArrayType, who: str) -> Order:
    """The axes of a layout, of a sequence of axes, or None.

    Raises:
      ArgumentError: it is no order of the axes of ``type``.
    """
    if layout is None:
        return None
    axes = layout.major_to_minor if isinstance(layout, Layout) else tuple(layout)
    if sorted(axes) != [*range(type.ndim)]:
        raise ArgumentError(
            f"{who} got the layout {axes} for {type}: it must have the axes 0 to "
            f"{type.ndim - 1} in some order, the slowest first."
        )
    return tuple(axes)


# -- attributes ------------------------------------------------------------------------


def spelled_attributes(attributes: Mapping[str, Any], who: str) -> str:
    """Attributes by name in MLIR's spelling.

    Raises:
      ArgumentError: one has a value that is no attribute.
    """
    words = [f"{name} = {spelled(v, who)}" for name, v in sorted(attributes.items())]
    return f"{{{', '.join(words)}}}"


def spelled(value: Any, who: str = "ffi_call") -> str:
    """A value in MLIR's spelling; numbers of Python have 64 bits, NumPy's their own."""
    if isinstance(value, str):
        escaped = [
            chr(byte) if 31 < byte < 127 and byte not in b'"\\' else f"\\{byte:02X}"
            for byte in value.encode()
        ]
        return f'"{"".join(escaped)}"'
    if isinstance(value, bool | np.bool_):
        return str(bool(value)).lower()
    if isinstance(value, np.ndarray | np.generic | int | float):
        values = np.asarray(value, np.int64 if type(value) is int else None)
        return _spelled_numbers(values, who)
    if isinstance(value, Mapping):
        return spelled_attributes(value, who)
    if isinstance(value, list | tuple):
        return f"[{', '.join([spelled(v, who) for v in value])}]"
    raise ArgumentError(
        f"{who} takes numbers, bools, strings, arrays of NumPy, and sequences and "
        f"dictionaries of these as attributes, but got {value!r} of type "
        f"{type(value).__name__}. Arrays of covector are operands."
    )


def _spelled_numbers(values: np.ndarray, who: str) -> str:
    """Numbers with all their bits, and their element type."""
    dtype = values.dtype
    real = (
        dtypes.is_integer(dtype) or dtypes.is_floating(dtype) or dtypes.is_bool(dtype)
    )
    if not real or (values.ndim and not values.size):
        raise ArgumentError(
            f"{who} takes no attribute of {dtype} and shape {values.shape}."
        )
    element = spelling.element_name(dtype)

    def nested(part: Any) -> str:
        if part.ndim:
            return f"[{', '.join(map(nested, part))}]"
        if dtypes.is_floating(dtype):
            bits = part.view(f"u{dtype.itemsize}")
            return f"0x{int(bits):0{2 * dtype.itemsize}X}"
        return str(part.item()).lower()

    if not values.ndim:
        return f"{nested(values)} : {element}"
    shape = "x".join(map(str, values.shape))
    return f"dense<{nested(values)}> : tensor<{shape}x{element}>"

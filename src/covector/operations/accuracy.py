"""Functions that are computed in several ways.

Some accelerators offer a choice of accuracies. CPUs have one, and compute some
functions of large arrays in 64 bits.
"""

import enum
import functools
import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from covector import options
from covector.core import dtypes
from covector.core.annotations import Value
from covector.core.jaxpr import Equation, Jaxpr
from covector.core.primitive import operation
from covector.core.staging import restage
from covector.core.types import ArrayType
from covector.errors import SettingError
from covector.lowering.spelling import HloResults, HloValue
from covector.operations.families import TRANSCENDENTAL, Elementwise
from covector.operations.precision import lower_converted

if TYPE_CHECKING:
    from covector.lowering.module import Lowering


#: elements from which some hundreds of calls pay for a longer compilation
_MANY = 4096
_UP_TO_32_BITS = frozenset({dtypes.float32, dtypes.bfloat16, dtypes.float16})


class AccuracyMode(enum.Enum):
    """The most accurate of the ways that the hardware has, or its usual one."""

    HIGHEST = 1
    DEFAULT = 2


@dataclass(frozen=True)
class Tolerance:
    """The largest error wanted: absolute, relative, or in units in the last place.

    Raises:
      SettingError: a number is negative, or all are zero.

    >>> Tolerance(rtol=1e-5)
    Tolerance(atol=0.0, rtol=1e-05, ulps=0)
    """

    atol: float = 0.0
    rtol: float = 0.0
    ulps: int = 0

    def __post_init__(self) -> None:
        if min(self.atol, self.rtol, self.ulps) < 0 or not any(
            (self.atol, self.rtol, self.ulps)
        ):
            raise SettingError(
                "a tolerance needs numbers that are not negative and not all zero, but "
                f"got {self}. Leave the accuracy out to take what there is."
            )


Accuracy: TypeAlias = AccuracyMode | Tolerance | None


@operation
class HasAccuracy(Elementwise):
    """A function with an ``accuracy``, for hardware with several implementations."""

    each = TRANSCENDENTAL
    #: whether XLA's result in 16 bits is wrong, and not only slow
    fails_in_16_bits = False

    accuracy: Accuracy = None

    def type_rule(self, *types: ArrayType) -> Sequence[ArrayType]:
        if not isinstance(self.accuracy, Accuracy):
            raise SettingError(
                f"{self.name} needs for its accuracy an AccuracyMode, a Tolerance or "
                f"None, but got {self.accuracy!r}."
            )
        return super().type_rule(*types)

    def lower(self, ctx: "Lowering", x: HloValue) -> HloResults:
        (type_,) = ctx.in_types
        wanted = self.requested()
        if type_.dtype != dtypes.float16 or (
            ctx.platform != "cpu" and not self.fails_in_16_bits
        ):
            return ctx.op(self.hlo, [x], **wanted)
        # XLA:CPU takes elements of 16 bits one by one: exp takes three times as long.
        wide = type_.with_dtype(dtypes.float32)
        x = lower_converted(ctx, x, type_, wide.dtype)
        made = ctx.op(self.hlo, [x], [wide], **wanted)
        return lower_converted(ctx, made, wide, type_.dtype)

    def requested(self) -> dict[str, Any]:
        """The attribute that asks for the accuracy, if one is asked for."""
        wanted = self.accuracy
        if wanted in (None, AccuracyMode.DEFAULT):
            return {}
        if isinstance(wanted, Tolerance):
            mode = "TOLERANCE"
            bounds = f"atol = {wanted.atol:e}, rtol = {wanted.rtol:e}, "
            bounds += f"ulps = {wanted.ulps}, "
        else:
            mode, bounds = "HIGHEST", ""
        mode = f"mode = #stablehlo.result_accuracy_mode<{mode}>"
        return {"result_accuracy": f"#stablehlo.result_accuracy<{bounds}{mode}>"}


class ByVectors(Elementwise):
    """One that the CPU computes in 64 bits for large arrays of float32 or less."""

    each = TRANSCENDENTAL

    #: the function of ``single_precision_on_cpu``
    on_cpu: str = ""

    def of_elements(self, *types: ArrayType) -> None:
        """None: XLA makes vector instructions of 64 bits in its own kernels only."""
        return

    def lower(self, ctx: "Lowering", *operands: HloValue) -> HloResults:
        if is_by_vectors(ctx):
            return lower_by_vectors(ctx, self.on_cpu, *operands)
        return super().lower(ctx, *operands)


def is_by_vectors(ctx: "Lowering") -> bool:
    """Whether the result is a large array for the CPU, of float32 or less."""
    (out,) = ctx.out_types
    many = type(out.size) is not int or out.size >= _MANY
    return many and ctx.platform == "cpu" and out.dtype in _UP_TO_32_BITS


def lower_by_vectors(
    ctx: "Lowering",
    name: str,
    *operands: HloValue,
    module: str = "single_precision_on_cpu",
) -> HloResults:
    """Lower as a call of the function of this name of a module, which XLA puts in its
    place.
    """
    # Found by name: it is made of operations, some of which are lowered so. And many
    # programs have none of them.
    found = importlib.import_module(f"covector.operations.{module}")
    program = _program(getattr(found, name), tuple(ctx.in_types))
    return ctx.call(program, operands, separate=False)


@functools.lru_cache(256)
def _program(fun: Callable[..., list[Value]], types: tuple[ArrayType, ...]) -> Jaxpr:
    with options.override(enable_x64=True):  # for the numbers of Python
        made = restage(fun, types, fun.__name__)
    # Callers share it, so what is inside has the lines of its calls.
    equations = [Equation(e.op, e.inputs, e.outputs, None) for e in made.equations]
    return Jaxpr(made.inputs, equations, made.outputs, made.name)

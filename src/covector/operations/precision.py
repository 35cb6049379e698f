"""Precision of products: accumulation dtypes, precisions, named algorithms.

    working_dtype(f16, f32) is f32      products of f16 are summed for a result in f32
    Precision.HIGH                      a hint to accelerators, for each operand
    DotAlgorithmPreset.BF16_BF16_F32    operands rounded to bfloat16, sums in float32

On the CPU every precision is the full one. There an algorithm says how operands are
rounded and sums are formed; tensor floats and split operands are full float32.
"""

import enum
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from covector import options
from covector.core import dtypes
from covector.core.annotations import DType, Named
from covector.core.promotion import promote
from covector.core.types import ArrayType
from covector.errors import ArgumentError, TypePromotionError
from covector.lowering.spelling import HloValue, element_name

if TYPE_CHECKING:
    from covector.lowering.module import Lowering

# -- dtypes ----------------------------------------------------------------------------

#: in which dtype NumPy multiplies what it cannot, or not as XLA does
ON_HOST: dict[Any, Any] = {
    **dict.fromkeys(dtypes.NARROW_FLOATS, dtypes.float32),
    **dict.fromkeys((dtypes.bfloat16, dtypes.float16), dtypes.float32),
    **dict.fromkeys((dtypes.int2, dtypes.int4), dtypes.int32),
    **dict.fromkeys((dtypes.uint2, dtypes.uint4), dtypes.int32),
}
#: the dtypes in which NumPy multiplies with BLAS, on the host
BLAS = frozenset([dtypes.float32, dtypes.float64, dtypes.complex64, dtypes.complex128])


def working_dtype(dtype: DType, out: DType) -> DType:
    """The dtype in which operands of ``dtype`` are multiplied for dtype ``out``."""
    if out == dtype:
        return dtype
    try:
        return promote((dtype, False), (out, False), x64=True)[0]
    except TypePromotionError:  # between narrow floats
        return out


def operand_dtype(dtype: DType, out: DType) -> DType:
    """The dtype of operands of ``dtype`` as XLA gets them, for a result in ``out``.

    It widens floats to floats and integers to integers by itself, as it sums.
    """
    working = working_dtype(dtype, out)
    floats = dtypes.is_floating(dtype) and dtypes.is_floating(working)
    integers = dtypes.is_signed(dtype) and dtypes.is_signed(working)
    return dtype if working == out and (floats or integers) else working


def lower_converted(
    ctx: "Lowering", x: HloValue, type: ArrayType, dtype: DType
) -> HloValue:
    """A value of ``type`` in another dtype, while lowering."""
    if type.dtype == dtype:
        return x
    return ctx.op("stablehlo.convert", [x], [type.with_dtype(dtype)])


# -- precisions ------------------------------------------------------------------------


class Precision(enum.Enum):
    """The precision of products of 32-bit floats on an accelerator.

    ``DEFAULT`` is the fastest (one pass in bfloat16 on a TPU), ``HIGH`` takes three
    passes or tensor floats, ``HIGHEST`` is full float32.

    >>> Precision("tensorfloat32"), Precision("highest")
    (Precision.HIGH, Precision.HIGHEST)

    See also: ``covector.numpy.matmul``, ``covector.default_matmul_precision``.
    """

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2

    @classmethod
    def _missing_(cls, value: object) -> "Precision | None":
        return _SPELLINGS.get(value)

    def __repr__(self) -> str:
        return f"Precision.{self.name}"

    def __str__(self) -> str:
        return self.name


_SPELLINGS: dict[object, Precision] = {
    "default": Precision.DEFAULT,
    "fastest": Precision.DEFAULT,
    "bfloat16": Precision.DEFAULT,
    "high": Precision.HIGH,
    "bfloat16_3x": Precision.HIGH,
    "tensorfloat32": Precision.HIGH,
    "highest": Precision.HIGHEST,
    "float32": Precision.HIGHEST,
}


# -- algorithms ------------------------------------------------------------------------


class DotAlgorithm(NamedTuple):
    """An algorithm of products: operands rounded to these types, summed in that one.

    With component counts above one, an operand is split into as many numbers of its
    type, and ``num_primitive_operations`` products of components are summed.
    """

    lhs_precision_type: Any
    rhs_precision_type: Any
    accumulation_type: Any
    lhs_component_count: int = 1
    rhs_component_count: int = 1
    num_primitive_operations: int = 1
    allow_imprecise_accumulation: bool = False


class DotAlgorithmPreset(enum.Enum):
    """Algorithms by name: types of the operands, of the sum, products per product."""

    DEFAULT = enum.auto()
    ANY_F8_ANY_F8_F32 = enum.auto()
    ANY_F8_ANY_F8_F32_FAST_ACCUM = enum.auto()
    ANY_F8_ANY_F8_ANY = enum.auto()
    ANY_F8_ANY_F8_ANY_FAST_ACCUM = enum.auto()
    F16_F16_F16 = enum.auto()
    F16_F16_F32 = enum.auto()
    BF16_BF16_BF16 = enum.auto()
    BF16_BF16_F32 = enum.auto()
    BF16_BF16_F32_X3 = enum.auto()
    BF16_BF16_F32_X6 = enum.auto()
    BF16_BF16_F32_X9 = enum.auto()
    TF32_TF32_F32 = enum.auto()
    TF32_TF32_F32_X3 = enum.auto()
    F32_F32_F32 = enum.auto()
    F64_F64_F64 = enum.auto()

    def __repr__(self) -> str:
        return f"DotAlgorithmPreset.{self.name}"

    def __str__(self) -> str:
        return self.name


#: the spelling in StableHLO of a type of operands that no array has
TF32 = "tf32"
_TYPES: dict[str, Any] = {
    "F16": dtypes.float16,
    "BF16": dtypes.bfloat16,
    "TF32": TF32,
    "F32": dtypes.float32,
    "F64": dtypes.float64,
}

#: what functions take as ``precision``: a ``Precision`` or an algorithm, or its name,
#: one for both operands or one for each; None is the default of the options
PrecisionLike: TypeAlias = (
    str
    | Precision
    | DotAlgorithm
    | DotAlgorithmPreset
    | Sequence[str | Precision | None]
    | None
)
if not TYPE_CHECKING:
    PrecisionLike = Named("PrecisionLike", PrecisionLike)
#: what was asked for, as operations keep it
Exactness: TypeAlias = (
    tuple[Precision, Precision] | DotAlgorithm | DotAlgorithmPreset | None
)


def exactness(precision: PrecisionLike, who: str) -> Exactness:
    """The precision as operations keep it; for None, the default of the options.

    Raises:
      ArgumentError: there is no such precision or algorithm.
    """
    if precision is None:
        precision = options.current().default_matmul_precision
    if precision is None or precision is DotAlgorithmPreset.DEFAULT:
        return None
    if isinstance(precision, DotAlgorithm):
        return precision._replace(
            lhs_precision_type=dtypes.as_dtype(precision.lhs_precision_type),
            rhs_precision_type=dtypes.as_dtype(precision.rhs_precision_type),
            accumulation_type=dtypes.as_dtype(precision.accumulation_type),
        )
    if isinstance(precision, DotAlgorithmPreset):
        return precision
    if isinstance(precision, str) and precision in DotAlgorithmPreset.__members__:
        return exactness(DotAlgorithmPreset[precision], who)
    several = isinstance(precision, tuple | list)
    pair = tuple(precision) if several else (precision, precision)
    if len(pair) != 2 or not all(p is None or _is_precision(p) for p in pair):
        names = ", ".join([*map(str, _SPELLINGS), *DotAlgorithmPreset.__members__])
        raise ArgumentError(
            f"{who} got the precision {precision!r}. It can be a Precision, a "
            f"DotAlgorithm or a DotAlgorithmPreset, one of the names {names}, or a "
            "pair of precisions, one for each operand."
        )
    first, second = [Precision.DEFAULT if p is None else Precision(p) for p in pair]
    return None if first is second is Precision.DEFAULT else (first, second)


def _is_precision(x: object) -> bool:
    return isinstance(x, Precision) or (isinstance(x, str) and x in _SPELLINGS)


def swapped(precision: Exactness) -> Exactness:
    """The same for the product with its operands the other way round."""
    if isinstance(precision, DotAlgorithm):
        return precision._replace(
            lhs_precision_type=precision.rhs_precision_type,
            rhs_precision_type=precision.lhs_precision_type,
            lhs_component_count=precision.rhs_component_count,
            rhs_component_count=precision.lhs_component_count,
        )
    return (precision[1], precision[0]) if isinstance(precision, tuple) else precision


def algorithm_of(precision: Exactness, lhs: DType, rhs: DType) -> DotAlgorithm | None:
    """The algorithm that is asked for, for operands of these dtypes."""
    if isinstance(precision, DotAlgorithm):
        return precision
    if not isinstance(precision, DotAlgorithmPreset):
        return None
    if "F8" not in precision.name:
        left, right, total, *products = precision.name.split("_")
        count = int(products[0].removeprefix("X")) if products else 1
        return DotAlgorithm(_TYPES[left], _TYPES[right], _TYPES[total], 1, 1, count)
    for dtype in (lhs, rhs):
        if not dtypes.short_name(dtype).startswith("f8"):
            raise ArgumentError(
                f"the algorithm {precision} multiplies float8 operands, but got "
                f"{dtypes.short_name(lhs)} and {dtypes.short_name(rhs)}. Convert them "
                "with .astype('float8_e4m3fn')."
            )
    return DotAlgorithm(lhs, rhs, dtypes.float32, 1, 1, 1, "FAST" in precision.name)


def hints(precision: Exactness) -> dict[str, str]:
    """The attribute of StableHLO operations that holds a pair of precisions."""
    if not isinstance(precision, tuple) or isinstance(precision, DotAlgorithm):
        return {}
    names = [f"#stablehlo<precision {p.name}>" for p in precision]
    return {"precision_config": f"[{', '.join(names)}]"}


def spelled(algorithm: DotAlgorithm) -> str:
    """An algorithm in StableHLO."""
    kinds = [kind if kind == TF32 else element_name(kind) for kind in algorithm[:3]]
    values = [*kinds, *[str(x).lower() for x in algorithm[3:]]]
    pairs = zip(DotAlgorithm._fields, values, strict=True)
    return f"#stablehlo.dot_algorithm<{', '.join(f'{k} = {v}' for k, v in pairs)}>"


def storage_of(kind: DType, algorithm: DotAlgorithm) -> DType:
    """The dtype in which an operand of this precision type is handed over."""
    split = kind == TF32 or algorithm.num_primitive_operations > 1
    return dtypes.float32 if split else kind

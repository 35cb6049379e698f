"""StableHLO as operations write it: the names of its values, the spelling of types.

What lowering rules need where they are defined. MLIR itself (``hlo``) takes half as
long to import as NumPy, and is there when the first program is lowered.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

#: a value of a program in MLIR, an ``ir.Value``; MLIR has no types for checkers
HloValue: TypeAlias = Any
#: what a lowering rule returns: a value, several, or the operation that gives them
HloResults: TypeAlias = Any | Sequence[Any]

_ELEMENTS = {
    "bool": "i1",
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float64": "f64",
    "complex64": "complex<f32>",
    "complex128": "complex<f64>",
    "float8_e4m3fn": "f8E4M3FN",
    "float8_e5m2": "f8E5M2",
    "float8_e4m3": "f8E4M3",
    "float8_e3m4": "f8E3M4",
    "float8_e4m3b11fnuz": "f8E4M3B11FNUZ",
    "float8_e4m3fnuz": "f8E4M3FNUZ",
    "float8_e5m2fnuz": "f8E5M2FNUZ",
    "float8_e8m0fnu": "f8E8M0FNU",
    "float4_e2m1fn": "f4E2M1FN",
}


def element_name(dtype: np.dtype) -> str:
    """The MLIR spelling of a NumPy dtype: ``ui32`` for uint32."""
    name = dtype.name
    if name in _ELEMENTS:
        return _ELEMENTS[name]
    return name.replace("uint", "ui").replace("int", "i")


def layouts(orders: Iterable[Sequence[int]]) -> str:
    """The layouts of tensors in MLIR's spelling; of each its axes, from the one that
    changes fastest.
    """
    spelled = [f"dense<{[*axes]}> : tensor<{len(axes)}xindex>" for axes in orders]
    return f"[{', '.join(spelled)}]"


def row_major(ranks: Iterable[int]) -> str:
    """The layouts of tensors of these ranks whose last axis changes fastest."""
    return layouts([range(n)[::-1] for n in ranks])


def aliases(overwritten: Mapping[int, int], count: int) -> str:
    """Which of ``count`` results are where operands were, in MLIR's spelling: results
    by operands.
    """
    spelled = [
        "#stablehlo.output_operand_alias<output_tuple_indices = "
        f"[{out if count > 1 else ''}], operand_index = {operand}, "
        "operand_tuple_indices = []>"
        for operand, out in overwritten.items()
    ]
    return f"[{', '.join(spelled)}]"

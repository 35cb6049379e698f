"""Operands of elementwise functions of ``lax``: checked and matched in type and shape.

Unlike in ``covector.numpy``, element types are never promoted. Three things bend: a
Python number takes the element type of the arrays it meets, a scalar broadcasts to any
shape, and axes of length 1 are repeated where the numbers of axes agree.
"""

from typing import Any

from covector.core import dtypes
from covector.core.annotations import DType
from covector.core.array_like import Array
from covector.core.convert import as_array, scalar
from covector.numpy.promote import broadcast

#: Python's numbers, and the element types that hold all of each
_HOLDS = {
    bool: lambda dtype: True,
    int: dtypes.is_numeric,
    float: dtypes.is_inexact,
    complex: dtypes.is_complex,
}


def operands(who: str, *args: Any) -> list[Array]:
    """Arrays that go together, as far as that takes no promotion."""
    found = [a if type(a) in _HOLDS else as_array(a, who) for a in args]
    dtype = next((a.type.dtype for a in found if type(a) not in _HOLDS), None)
    arrays = [a if type(a) not in _HOLDS else _number(a, dtype, who) for a in found]
    shapes = {a.type.shape for a in arrays if a.type.ndim}
    if len(shapes) > 1 and len({len(s) for s in shapes}) == 1:
        return broadcast(who, *arrays)
    return arrays


def _number(x: Any, dtype: DType | None, who: str) -> Array:
    if dtype is None or dtypes.is_key(dtype) or not _HOLDS[type(x)](dtype):
        return as_array(x, who)
    return scalar(x, dtype, type(x) is not bool)

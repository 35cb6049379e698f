"""Types for annotations of functions that take arrays."""

from typing import Any, TypeAlias

import numpy as np

from covector.core.array_like import Array

#: what functions accept as an array
ArrayLike: TypeAlias = Array | np.ndarray | np.generic | bool | int | float | complex
#: what functions accept as an element type
DTypeLike: TypeAlias = Any

__all__ = ["Array", "ArrayLike", "DTypeLike"]

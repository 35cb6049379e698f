"""Types for annotations of functions that take arrays."""

from covector import namespaces
from covector.core.annotations import ArrayLike, DTypeLike
from covector.core.array_like import Array

__all__ = ["Array", "ArrayLike", "DTypeLike"]
__dir__ = namespaces.completions(globals())

"""Types for annotations of functions that take arrays."""

from typing import TYPE_CHECKING

from covector import namespaces
from covector.core.annotations import ArrayLike, DTypeLike
from covector.core.array_like import Array

if not TYPE_CHECKING:  # the unions, which programs that check annotations take apart
    ArrayLike, DTypeLike = ArrayLike.value, DTypeLike.value

__all__ = ["Array", "ArrayLike", "DTypeLike"]
__dir__ = namespaces.completions(globals())

"""The tables of rules of ``ad``, ``batching`` and ``mlir``, which packages write to."""

from collections.abc import Callable
from typing import Any

from covector.core.types import ArrayType

Rule = Callable[..., Any]


class Zero:
    """A tangent or cotangent that is zero, of the type ``aval``."""

    def __init__(self, aval: ArrayType) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return f"Zero({self.aval})"


class UndefinedPrimal:
    """The operand of a transpose rule in which the operation is linear."""

    def __init__(self, aval: ArrayType) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return f"UndefinedPrimal({self.aval})"


primitive_jvps: dict[Any, Rule] = {}
primitive_transposes: dict[Any, Rule] = {}
primitive_batchers: dict[Any, Rule] = {}
fancy_primitive_batchers: dict[Any, Rule] = {}
lowerings: dict[Any, Rule] = {}

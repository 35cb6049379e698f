"""The linear functions that ``vjp``, ``linearize`` and ``linear_transpose`` return.

Each is a linear program with the values that it needs, its residuals. It is a pytree
whose leaves are the residuals, so that it may be passed to, and returned from,
transformed functions: what is computed forward can be handed to what runs backward.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

from covector.core.array import ConcreteArray
from covector.core.jaxpr import Equation, Jaxpr, Var
from covector.core.types import ArrayType
from covector.tree.nodes import register_pytree_with_keys
from covector.tree.registry import GetAttrKey, PyTreeDef


class FunctionTypes(NamedTuple):
    """The name of a function for messages; trees and types of arguments and results."""

    who: str
    in_tree: PyTreeDef
    #: arrays or, of a pullback, references
    in_types: tuple[Any, ...]
    out_tree: PyTreeDef
    out_types: tuple[ArrayType, ...]


class LinearFunction:
    """A linear program of ``residuals`` and then of arguments.

    ``nonzero`` masks the results of the linearized function for which the program has
    outputs; integers, which have no derivative, have none.
    """

    __slots__ = ("__weakref__", "jaxpr", "nonzero", "of", "residuals")

    #: what it is called in messages
    what: ClassVar[str]

    def __init_subclass__(cls) -> None:
        register_pytree_with_keys(cls, _with_keys, cls._unflatten, _flatten)

    def __init__(
        self,
        of: FunctionTypes,
        jaxpr: Jaxpr,
        residuals: Sequence[Any],
        nonzero: tuple[bool, ...],
    ) -> None:
        self.of = of
        self.jaxpr = jaxpr
        self.residuals = residuals
        self.nonzero = nonzero

    def __repr__(self) -> str:
        return f"{self.what} of {self.of.who}"

    @classmethod
    def _unflatten(cls, static: Any, residuals: Any) -> "LinearFunction":
        of, jaxpr, nonzero = static
        return cls(of, jaxpr, tuple(residuals), nonzero)


def _flatten(function: LinearFunction) -> tuple[tuple[Any, ...], Any]:
    """All values are residuals here: also those that are written in the program."""
    program, values = function.jaxpr.memo(without_values)
    residuals = (*values, *function.residuals)
    return residuals, (function.of, program, function.nonzero)


def _with_keys(function: LinearFunction) -> tuple[tuple[Any, ...], Any]:
    residuals, static = _flatten(function)
    keys = [GetAttrKey(f"residuals[{i}]") for i in range(len(residuals))]
    return tuple(zip(keys, residuals, strict=True)), static


def without_values(jaxpr: Jaxpr) -> tuple[Jaxpr, Sequence[ConcreteArray]]:
    """The program with further inputs, in front, for the arrays that are written in it
    (memoise on the program); and those arrays.
    """
    values: dict[int, tuple[Var, ConcreteArray]] = {}

    def named(atom: Any) -> Any:
        if type(atom) is not ConcreteArray:
            return atom
        return values.setdefault(id(atom), (Var(atom.type), atom))[0]

    equations = [
        Equation(e.op, [named(a) for a in e.inputs], e.outputs, e.line)
        for e in jaxpr.equations
    ]
    outputs = [named(o) for o in jaxpr.outputs]
    if not values:
        return jaxpr, ()
    variables, arrays = zip(*values.values(), strict=True)
    inputs = [*variables, *jaxpr.inputs]
    return Jaxpr(inputs, equations, outputs, jaxpr.name), arrays

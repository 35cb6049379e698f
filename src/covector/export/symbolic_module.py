"""Programs for every size: modules in which some integers stand for expressions.

A function is traced twice, with its symbolic sizes at two points (``symbolic_scope``).
The texts of the two modules differ in integers alone; each that does is an expression
that was made while it was traced, which has the one value at the first point and the
other at the second. Everything else is the same for all sizes.

    point b = 10007    tensor<10007x3xf32>    dense<20014> : tensor<i64>
    point b = 12600    tensor<12600x3xf32>    dense<25200> : tensor<i64>
                              b                     2*b

So the two modules, and the expressions by pairs of integers, are the program for every
size: where the texts differ, the integers are written anew for the sizes of a call.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from covector.core.convert import ShapeDtypeStruct
from covector.core.jaxpr import Jaxpr
from covector.core.types import ArrayType, HasType
from covector.errors import ArgumentError, ExportError, TypeMismatch
from covector.export.expressions import Expression, Values
from covector.export.symbolic_scope import Dimension, SymbolicScope
from covector.runtime import modules

#: texts in quotes; integers that stand by themselves, or are a size of a tensor
_PARTS = re.compile(
    r'"(?:[^"\\]|\\.)*"|(?<![\w.%#$@-])-?\d+(?![\w.])|(?<=[<x])\d+(?=x)'
)


@dataclass(frozen=True)
class SymbolTable:
    """The expressions that pairs of integers stand for, and their scope."""

    scope: SymbolicScope
    expressions: Mapping[tuple[int, int], Expression]
    #: the symbolic shapes of the arguments
    in_avals: Sequence[ArrayType]

    def solve(self, types: Sequence[ArrayType], who: str) -> "Sizes":
        """The sizes of variables, for arguments of these types.

        Raises:
          TypeMismatch: there are none, or a constraint does not hold for them.
        """
        wanted = [t.shape for t in self.in_avals]
        values = solved(wanted, [t.shape for t in types])
        for name in sorted(self.scope.values()):
            if name not in values:
                continue
            if not values[name] >= 1:
                raise TypeMismatch(
                    f"{who} is for sizes of at least 1, but {name} is {values[name]}."
                )
        for constraint in self.scope.constraints:
            if not constraint.holds(values):
                shown = ", ".join([f"{k} = {v}" for k, v in values.items()])
                raise TypeMismatch(f"{who} needs {constraint.text}, but got {shown}.")
        return Sizes(values)

    def written_for(self, texts: Sequence[str], sizes: "Sizes") -> str:
        """The text of the module for these sizes, from those at the two points."""
        text, other = texts
        others = iter(_PARTS.findall(other))

        def written(found: re.Match[str]) -> str:
            word, other_word = found[0], next(others)
            if word == other_word:
                return word
            expression = self.expressions[int(word), int(other_word)]
            return format(sizes.of(expression), "d")

        return _PARTS.sub(written, text)


@dataclass(frozen=True)
class Sizes:
    """Values of the variables of a symbolic program."""

    values: Values

    def of(self, expression: Expression) -> Any:
        """The value of an expression."""
        return expression.evaluate(self.values)

    def shape(self, shape: Sequence[Any]) -> tuple[Any, ...]:
        """A shape with its symbolic sizes filled in."""
        return tuple(
            [self.of(n.expression) if isinstance(n, Dimension) else n for n in shape]
        )


def solved(
    wanted: Sequence[Sequence[Any]], given: Sequence[Sequence[Any]]
) -> dict[str, Any]:
    """The variables for which symbolic shapes are the given ones, as far as single
    sizes tell: each is a number times a variable, and others that are known.
    """
    pairs = [
        (size.expression, int_or_symbol)
        for one, other in zip(wanted, given, strict=True)
        for size, int_or_symbol in zip(one, other, strict=False)
        if isinstance(size, Dimension)
    ]
    values: dict[str, Any] = {}
    before = -1
    while len(values) > before:
        before = len(values)
        for expression, size in pairs:
            unknown = expression.variables - values.keys()
            if len(unknown) != 1:
                continue
            (name,) = unknown
            of_name = [(m, k) for m, k in expression.terms if name in m]
            rest = Expression(tuple([t for t in expression.terms if t not in of_name]))
            if len(of_name) != 1 or name in rest.variables:
                continue
            ((monomial, factor),) = of_name
            others = list(monomial)
            others.remove(name)
            by = Expression(((tuple(others), factor),))
            if name not in by.variables:
                values[name] = (size - rest.evaluate(values)) // by.evaluate(values)
    return values


def symbols_of(
    jaxprs: Sequence[Jaxpr], lowered: Sequence[bytes], name: str
) -> SymbolTable:
    """The table of a program, from those at two points and their modules.

    Raises:
      ExportError: a size went another way than through expressions; or cannot be found
        from the arguments.
      Coincidence: the points do not tell expressions apart.
    """
    who = f"export of {name}"
    in_avals = jaxprs[0].in_types
    scopes = [scope_of([_struct(t) for t in j.in_types], who) for j in jaxprs]
    first, second = [s for s in scopes if s is not None]
    known = solved([t.shape for t in in_avals], [t.shape for t in in_avals])
    unknown = sorted(first.values().keys() - known.keys())
    if unknown:
        raise ExportError(
            f"{who}: the sizes of arguments do not tell {', '.join(unknown)}. Let each "
            "variable be the size of an axis, perhaps of an argument more."
        )
    for e in first.made:
        same = e.evaluate(first.values()) == e.evaluate(second.values())
        if same and first.bounds(e) != (e.evaluate(first.values()),) * 2:
            raise Coincidence(who)
    texts = list(map(modules.from_portable, lowered))
    return SymbolTable(first, _table(first, second, texts, who), in_avals)


def _table(
    first: SymbolicScope, second: SymbolicScope, texts: Sequence[str], who: str
) -> dict[tuple[int, int], Expression]:
    by_values: dict[tuple[int, int], list[Expression]] = {}
    for expression in first.made:
        one, two = [expression.evaluate(s.values()) for s in (first, second)]
        by_values.setdefault((one, two), []).append(expression)
    words, others = map(_PARTS.findall, texts)
    rest, other_rest = [_PARTS.sub("", text) for text in texts]
    if rest != other_rest or len(words) != len(others):
        raise _depends(who, "its operations, or numbers in it,")
    found: dict[tuple[int, int], Expression] = {}
    for word, other in zip(words, others, strict=True):
        if word == other:
            continue
        if '"' in (word[0], other[0]):
            raise _depends(who, f"the text {word}")
        pair = int(word), int(other)
        if pair not in by_values:
            raise _depends(who, f"the number {word}")
        expression, *more = by_values[pair]
        if not all([first.bounds(expression - e) == (0, 0) for e in more]):
            raise Coincidence(who)
        found[pair] = expression
    return found


def merged(one: SymbolTable | None, two: SymbolTable) -> SymbolTable:
    """The table of the modules of several platforms."""
    if one is None:
        return two
    return SymbolTable(one.scope, {**one.expressions, **two.expressions}, one.in_avals)


def scope_of(leaves: Sequence[Any], who: str) -> SymbolicScope | None:
    """The scope of the symbolic sizes of arguments, if there are any.

    Raises:
      ArgumentError: there are several.
    """
    shapes = [x.shape for x in leaves if isinstance(x, HasType)]
    found = {n.scope for shape in shapes for n in shape if isinstance(n, Dimension)}
    if len(found) > 1:
        raise ArgumentError(
            f"{who} got symbolic sizes of {len(found)} scopes. Make them in one: pass "
            "scope=SymbolicScope(…) to each symbolic_shape, or use symbolic_args_specs."
        )
    return next(iter(found), None)


def variables_in(leaves: Sequence[Any]) -> list[str]:
    """The names of the variables in the shapes of arguments, in order."""
    shapes = [x.shape for x in leaves if isinstance(x, HasType)]
    sizes = [n for shape in shapes for n in shape if isinstance(n, Dimension)]
    return [*dict.fromkeys(v for n in sizes for v in sorted(n.expression.variables))]


def in_scope(x: Any, scope: SymbolicScope) -> Any:
    """The stand-in of an argument, with its symbolic sizes in another scope."""
    if not isinstance(x, ShapeDtypeStruct):
        return x
    return x.update(shape=shape_in_scope(x.shape, scope))


def shape_in_scope(shape: Sequence[Any], scope: SymbolicScope) -> tuple[Any, ...]:
    """A shape with its symbolic sizes in another scope."""
    return tuple(
        [
            scope.dimension(n.expression) if isinstance(n, Dimension) else n
            for n in shape
        ]
    )


def _struct(type: ArrayType) -> ShapeDtypeStruct:
    return ShapeDtypeStruct(type.shape, type.dtype)


class Coincidence(ExportError):
    """At these points, expressions cannot be told apart: others are tried."""

    def __init__(self, who: str) -> None:
        super().__init__(
            f"{who}: its symbolic sizes cannot be told from other numbers in it. Give "
            "them fewer constraints from above, and use no min and max of them."
        )


def _depends(who: str, what: str) -> ExportError:
    return ExportError(
        f"{who}: {what} would be another for other sizes, and not by an expression of "
        "them. A symbolic size was used as a number of Python, NumPy or another "
        "library: as float(n), range(n), numpy.arange(n), or kept from another call. "
        "Use covector.numpy, and sizes from the shapes of arguments."
    )

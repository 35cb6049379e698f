"""Expressions of symbolic sizes: polynomials with whole coefficients.

    3·b + floordiv(b, 2)·c − 1     {b: 3, floordiv(b, 2)·c: 1, 1: −1}

A polynomial is a mapping from monomials to coefficients, so equal ones are equal
mappings. The factors of a monomial are *atoms*: a variable, or one of the functions
``floordiv``, ``mod``, ``max`` and ``min`` of two expressions.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, Union

#: values of variables by name
Values: TypeAlias = Mapping[str, Any]
Atom: TypeAlias = Union[str, "Function"]
#: atoms in order, one as often as its power says; that of a constant is empty
Monomial: TypeAlias = tuple[Atom, ...]

#: of a quotient; longer ones are not looked for
_MOST_TERMS = 16
FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "max": max,
    "min": min,
}


@dataclass(frozen=True)
class Function:
    """``floordiv(b, 2)``: a function of two expressions."""

    name: str
    left: "Expression"
    right: "Expression"

    def __str__(self) -> str:
        return f"{self.name}({self.left}, {self.right})"


@dataclass(frozen=True)
class Expression:
    """A polynomial: pairs of a monomial and its coefficient, in order, none of it 0."""

    terms: tuple[tuple[Monomial, int], ...]

    @property
    def constant(self) -> int | None:
        """Its value, where that depends on no variable."""
        if not self.terms:
            return 0
        monomial, coefficient = self.terms[0]
        return coefficient if len(self.terms) == 1 and not monomial else None

    @property
    def variables(self) -> frozenset[str]:
        """The names of the variables in it."""
        found: set[str] = set()
        for monomial, _ in self.terms:
            for atom in monomial:
                if isinstance(atom, Function):
                    found |= atom.left.variables | atom.right.variables
                else:
                    found.add(atom)
        return frozenset(found)

    def __add__(self, other: "Expression") -> "Expression":
        return _collected([*self.terms, *other.terms])

    def __sub__(self, other: "Expression") -> "Expression":
        return self + other.scaled(-1)

    def __mul__(self, other: "Expression") -> "Expression":
        return _collected(
            [
                (tuple(sorted((*m, *n), key=str)), j * k)
                for m, j in self.terms
                for n, k in other.terms
            ]
        )

    def scaled(self, factor: int) -> "Expression":
        """This expression times a number."""
        return _collected([(m, k * factor) for m, k in self.terms])

    def evaluate(self, values: Values) -> Any:
        """Its value for these values of the variables."""
        total: Any = 0
        for monomial, coefficient in self.terms:
            product: Any = coefficient
            for atom in monomial:
                if isinstance(atom, Function):
                    arguments = atom.left.evaluate(values), atom.right.evaluate(values)
                    product = product * FUNCTIONS[atom.name](*arguments)
                else:
                    product = product * values[atom]
            total = total + product
        return total

    def __str__(self) -> str:
        shown = ""
        for monomial, coefficient in sorted(self.terms, key=lambda t: not t[0]):
            sign = " - " if coefficient < 0 else " + "
            parts = [str(abs(coefficient))] if abs(coefficient) != 1 else []
            text = "*".join([*parts, *map(str, monomial)]) or "1"
            shown += sign + text if shown else "-" * (coefficient < 0) + text
        return shown or "0"


def _collected(terms: Iterable[tuple[Monomial, int]]) -> Expression:
    found: dict[Monomial, int] = {}
    for monomial, coefficient in terms:
        found[monomial] = found.get(monomial, 0) + coefficient
    kept = [(m, k) for m, k in found.items() if k]
    kept.sort(key=lambda term: (-len(term[0]), tuple(map(str, term[0]))))
    return Expression(tuple(kept))


def number(value: int) -> Expression:
    """A constant."""
    return _collected([((), int(value))])


def variable(name: str) -> Expression:
    """A variable."""
    return _collected([((name,), 1)])


def function(name: str, left: Expression, right: Expression) -> Expression:
    """A function of two expressions, worked out as far as that goes."""
    if left.constant is not None and right.constant is not None:
        return number(FUNCTIONS[name](left.constant, right.constant))
    if left == right:
        return {"floordiv": number(1), "mod": number(0)}.get(name, left)
    by = right.constant
    if name in ("floordiv", "mod") and by is not None and by > 0:
        # What is a multiple comes out: (6·b + c + 4) // 3 is 2·b + 1 + (c + 1) // 3.
        numbers = [(m, k) for m, k in left.terms if k % by == 0 or not m]
        whole = _collected([(m, k // by) for m, k in numbers])
        rest = left - whole.scaled(by)
        if name == "floordiv" and rest.terms[:1] and rest.terms[0][1] < 0:
            # Rounded up, and not down: one way to write it.
            up = function("floordiv", number(by - 1) - rest, right)
            return whole - up
        if name == "mod":
            left, whole = rest, number(0)
        if rest.constant is not None:
            return whole + number(FUNCTIONS[name](rest.constant, by))
        atom = Function(name, rest, right)
        return whole + _collected([((atom,), 1)])
    if name in ("floordiv", "mod"):
        exact = _quotient(left, right)
        if exact is not None:
            return exact if name == "floordiv" else number(0)
    return _collected([((Function(name, left, right),), 1)])


def _quotient(left: Expression, right: Expression) -> Expression | None:
    """``left / right`` where that is an expression: ``b*c`` by ``b``, ``b*b - 1`` by
    ``b + 1``. It is a division of polynomials, the largest powers first.
    """
    if not right.terms:
        return None
    found = number(0)
    for _ in range(_MOST_TERMS):
        if not left.terms:
            return found
        term = _quotient_of_terms(left.terms[0], right.terms[0])
        if term is None:
            return None
        found += term
        left -= term * right
    return None


def _quotient_of_terms(
    left: tuple[Monomial, int], right: tuple[Monomial, int]
) -> Expression | None:
    (monomial, coefficient), (divisor, k) = left, right
    rest = list(monomial)
    for atom in divisor:
        if atom not in rest:
            return None
        rest.remove(atom)
    return None if coefficient % k else _collected([(tuple(rest), coefficient // k)])

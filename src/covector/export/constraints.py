"""What is known of symbolic sizes: inequalities and equations of expressions."""

from typing import NamedTuple

from covector.errors import ArgumentError
from covector.export.expressions import Expression, Function, Values, function, number
from covector.export.parsing import parse


class Constraint(NamedTuple):
    """``expression >= 0``, or ``== 0``; and as it was written."""

    expression: Expression
    equal: bool
    text: str

    def holds(self, values: Values) -> bool:
        """Whether it holds for these sizes."""
        found = self.expression.evaluate(values)
        return bool(found == 0 if self.equal else found >= 0)


def read_constraints(text: str) -> list[Constraint]:
    """The constraint that a text spells, and what follows from it.

    Raises:
      ArgumentError: it spells none.
    """
    for sign in (">=", "<=", "=="):
        left, found, right = text.partition(sign)
        if found:
            a, b = parse(left), parse(right)
            if sign != "==":
                return [Constraint(a - b if sign == ">=" else b - a, False, text)]
            made = [Constraint(a - b, True, text)]
            match a.terms:
                case (((Function(name="mod") as mod,), 1),):
                    # mod(x, k) == r: then k·floordiv(x, k) is x − r
                    whole = function("floordiv", mod.left, mod.right)
                    rest = whole * mod.right + b - mod.left
                    made.append(Constraint(rest, True, text))
                    if not b.terms and len(mod.left.terms) == 1:  # one of at least 1
                        made.append(Constraint(mod.left - mod.right, False, text))
            return made
    raise ArgumentError(
        "a constraint is like 'b >= 4', '2*b <= c' or 'mod(b, 8) == 0', but got "
        f"{text!r}."
    )


def of_quotients(expression: Expression) -> list[Constraint]:
    """The bounds of each ``q = floordiv(x, k)`` in it: ``0 <= x - k*q <= k - 1``."""
    found = []
    for monomial, _ in expression.terms:
        for atom in monomial:
            if isinstance(atom, Function) and atom.name == "floordiv":
                k = atom.right.constant
                if k is not None and k > 0:
                    quotient = Expression((((atom,), 1),))
                    rest = atom.left - quotient.scaled(k)
                    most = number(k - 1) - rest
                    found += [Constraint(rest, False, ""), Constraint(most, False, "")]
    return found

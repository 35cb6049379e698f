"""Symbolic sizes: integers that stand for every size.

A ``Dimension`` is an expression, and at the same time the integer that it is for one
choice of sizes, the *point* of its scope. As an integer it can stand wherever a size
can: in shapes, types and programs. As an expression it answers comparisons, by what
holds for all sizes, or not at all: an ``InconclusiveDimensionOperation``. So a program
that is traced with it does not depend on the point.
"""

import itertools
import math
import operator
import random
import sys
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Any

from covector import options
from covector.core import dtypes, source
from covector.core.convert import as_array
from covector.core.failing_call import failing_call
from covector.core.primitive import Primitive
from covector.core.types import HasType
from covector.errors import ArgumentError, InconclusiveDimensionOperation
from covector.export import expressions
from covector.export.constraints import Constraint, of_quotients, read_constraints
from covector.export.expressions import Expression, Function, number
from covector.export.size_of_dimension import SizeOfDimension
from covector.numpy.indexing import index

Bounds = tuple[float, float]
#: sizes to begin with: primes, whose products differ; and multiples of all numbers up
#: to 10, where what is left over by a division differs from that of primes. Of the
#: primes, the first three are 1 more than a multiple of 64, so that halves of halves,
#: rounded up, are odd; the next three are 1 less, so that those rounded down are.
_SIZES = (
    (10177, 13633, 17729, 11839, 15551, 19391, 21569, 25793, 23743, 27967),
    tuple([2520 * k for k in (5, 7, 8, 9, 11, 12, 13, 16, 17, 19)]),
)
_TRIES = 20_000


class SymbolicScope:
    """Variables for sizes, and what is known of them: each is at least 1.

    Args:
      constraints_str: such as "b >= 4", "2*b <= c" and "mod(b, 8) == 0".

    Raises:
      ArgumentError: a constraint cannot be read.

    >>> from covector.export import symbolic_shape
    >>> (b,) = symbolic_shape("b", scope=SymbolicScope(["b >= 4"]))
    >>> b > 3, b - 4 >= 0, b == 4
    (True, True, False)
    """

    def __init__(self, constraints_str: Sequence[str] = ()) -> None:
        if isinstance(constraints_str, str):
            constraints_str = [constraints_str]
        self.constraints: list[Constraint] = []
        self._names: dict[str, None] = {}
        self._seed = 0
        self._values: dict[str, int] = {}
        #: every expression that was made
        self.made: dict[Expression, None] = {}
        for text in constraints_str:
            self.constraints += read_constraints(text)
        for constraint in self.constraints:
            self._add(constraint.expression.variables)

    def twin(self, seed: int, names: Sequence[str]) -> "SymbolicScope":
        """Some of the variables, and the constraints on them, at another point."""
        made = SymbolicScope()
        made._names = dict.fromkeys(names)
        made.constraints = [
            c for c in self.constraints if c.expression.variables <= made._names.keys()
        ]
        made._seed = seed
        return made

    def _add(self, names: Any) -> None:
        new = sorted(set(names) - self._names.keys())
        self._names.update(dict.fromkeys(new))
        if new:
            self._values = {}

    def values(self) -> dict[str, int]:
        """The point: sizes for which all constraints hold.

        Raises:
          ArgumentError: there seem to be none.
        """
        if self._values.keys() != self._names.keys():
            self._values = next(self._points())
        return self._values

    def _points(self) -> Iterator[dict[str, int]]:
        draw = random.Random(self._seed)
        names = list(self._names)
        sizes, shift = _SIZES[self._seed % 2], self._seed // 2
        rotated = [*sizes[shift:], *sizes[:shift]]
        first = dict(zip(names, itertools.cycle(rotated), strict=False))
        factors = {
            abs(atom.right.constant)
            for c in self.constraints
            for monomial, _ in c.expression.terms
            for atom in monomial
            if isinstance(atom, Function) and atom.right.constant
        }
        multiple = math.lcm(*factors)
        for k in range(_TRIES):
            values = dict(first)
            if k:
                most = 4 ** draw.randint(1, 9)
                step = draw.choice((1, multiple))
                values = {n: step * draw.randint(1, most) for n in names}
            self._solve_equalities(values)
            if min(values.values(), default=1) >= 1 and all(
                [c.holds(values) for c in self.constraints]
            ):
                yield values
        shown = ", ".join([c.text for c in self.constraints])
        raise ArgumentError(f"no sizes were found for which all of {shown} hold.")

    def _solve_equalities(self, values: dict[str, int]) -> None:
        """Change variables that equalities determine by the others."""
        for constraint in self.constraints:
            if constraint.equal:
                for monomial, k in constraint.expression.terms:
                    if len(monomial) == 1 and isinstance(monomial[0], str):
                        name = monomial[0]
                        rest = constraint.expression - Expression(((monomial, k),))
                        if name not in rest.variables and abs(k) == 1:
                            values[name] = -k * rest.evaluate(values)
                            break

    # -- expressions -------------------------------------------------------------------

    def dimension(self, expression: Expression) -> "Dimension | int":
        """An expression as a size; one without variables is a number."""
        if expression.constant is not None:
            return expression.constant
        self._add(expression.variables)
        self.made[expression] = None
        made = int.__new__(Dimension, expression.evaluate(self.values()))
        made.expression, made.scope = expression, self
        return made

    def bounds(self, expression: Expression) -> Bounds:
        """Between which numbers it is, for all sizes that there may be."""
        low, high = self._rough_bounds(expression)
        if low == high:
            return low, high
        return (
            max(low, self._least(expression, 2)),
            -max(-high, self._least(expression.scaled(-1), 2)),
        )

    def _least(self, expression: Expression, depth: int) -> float:
        """A number that it is not below, with so many constraints put to use."""
        least = self._rough_bounds(expression)[0]
        if depth == 0:
            return least
        for constraint in [*self.constraints, *of_quotients(expression)]:
            for monomial, k in constraint.expression.terms:
                j = dict(expression.terms).get(monomial, 0) if monomial else 0
                # Less a multiple of what is not negative, so that a term falls out.
                if j and (constraint.equal or j * k > 0):
                    times = abs(k) // math.gcd(j, k)
                    known = constraint.expression.scaled(j * times // k)
                    rest = expression.scaled(times) - known
                    of_rest = self._least(rest, depth - 1)
                    least = max(least, -_floor(-of_rest, times))
        return least

    def _rough_bounds(self, expression: Expression) -> Bounds:
        low = high = 0.0
        for monomial, coefficient in expression.terms:
            bounds: Bounds = (coefficient, coefficient)
            for atom in monomial:
                bounds = _product(bounds, self._bounds_of_atom(atom))
            low, high = low + bounds[0], high + bounds[1]
        return low, high

    def _of_variable(self, name: str) -> Bounds:
        """What constraints on this variable alone say."""
        low, high = 1.0, math.inf
        for constraint in self.constraints:
            rest = dict(constraint.expression.terms)
            factor = rest.pop((name,), 0)
            bound = -rest.pop((), 0)
            if rest or abs(factor) != 1:
                continue
            if factor > 0 or constraint.equal:
                low = max(low, bound * factor)
            if factor < 0 or constraint.equal:
                high = min(high, bound * factor)
        return low, high

    def _bounds_of_atom(self, atom: expressions.Atom) -> Bounds:
        if isinstance(atom, str):
            return self._of_variable(atom)
        (a, b), (c, d) = map(self._rough_bounds, (atom.left, atom.right))
        if atom.name == "max":
            return max(a, c), max(b, d)
        if atom.name == "min":
            return min(a, c), min(b, d)
        if c <= 0:
            return -math.inf, math.inf
        if atom.name == "mod":
            return 0, d - 1
        ends = [_floor(x, y) for x in (a, b) for y in (c, d)]
        return min(ends), max(ends)


def _floor(x: float, y: float) -> float:
    if math.isinf(x):
        return x if not math.isinf(y) else math.copysign(math.inf, x)
    return (0 if x >= 0 else -1) if math.isinf(y) else x // y


def _product(one: Bounds, two: Bounds) -> Bounds:
    ends = [0.0 if 0 in (x, y) else x * y for x in one for y in two]
    return min(ends), max(ends)


def _asking_call(frame: FrameType | None) -> str:
    """``covector.numpy.split got ary=f32[b]: ``, the call of the user's that asks about
    a size; nothing where he asks himself.
    """
    call = ""
    while frame is not None and source.is_own(frame.f_code.co_filename):
        op, indexed = frame.f_locals.get("self"), frame.f_locals.get("x")
        if frame.f_code is index.__code__ and isinstance(indexed, HasType):
            call = f"an index of {indexed.type}"
        elif isinstance(op, Primitive):
            call = call or op.name
        call = failing_call(frame, public=True) or call
        frame = frame.f_back
    return f"{call}: " if call else ""


def _hint(size: "Dimension", sign: str, other: Any) -> str:
    """A constraint that decides the comparison."""
    least = 1 if sign == "!=" else other + 1 if sign in (">", "<=") else other
    match size.expression.terms:
        case (((Function(name="mod"),), 1),) if sign in ("!=", "<"):
            text = f"{size} == 0"
        case _:
            text = f"{size} >= {least}"
    return f'symbolic_shape(…, constraints=["{text}"])'


class Dimension(int):
    """A size that is an expression of variables: ``b``, or ``2*b + 1``.

    Printed it is its expression; formatted as a number (``f"{n:d}"``), as programs are
    written, the integer at the point.
    """

    expression: Expression
    scope: SymbolicScope

    def _with(self, other: Any) -> Expression | None:
        if isinstance(other, Dimension):
            if other.scope is not self.scope:
                raise ArgumentError(
                    f"the symbolic sizes {self} and {other} belong to two scopes. "
                    "Make them in one (scope=SymbolicScope(…)); inside of a function "
                    "that is exported, take sizes from the shapes of its arguments."
                )
            return other.expression
        return number(other) if isinstance(other, int) else None

    def _combined(self, name: str, left: Any, right: Any) -> Any:
        a, b = self._with(left), self._with(right)
        if a is None or b is None:
            other = right if left is self else left
            if isinstance(other, float | complex):
                operands = [as_array(x) if x is self else x for x in (left, right)]
                return getattr(operator, name)(*operands)
            # An array, which takes this as an operand.
            return NotImplemented
        if name in expressions.FUNCTIONS:
            made = expressions.function(name, a, b)
        else:
            made = getattr(a, name)(b)
        return self.scope.dimension(made)

    def __add__(self, other: Any) -> Any:
        return self._combined("__add__", self, other)

    def __sub__(self, other: Any) -> Any:
        return self._combined("__sub__", self, other)

    def __mul__(self, other: Any) -> Any:
        return self._combined("__mul__", self, other)

    def __floordiv__(self, other: Any) -> Any:
        return self._combined("floordiv", self, other)

    def __mod__(self, other: Any) -> Any:
        return self._combined("mod", self, other)

    def __radd__(self, other: Any) -> Any:
        return self._combined("__add__", other, self)

    def __rsub__(self, other: Any) -> Any:
        return self._combined("__sub__", other, self)

    def __rmul__(self, other: Any) -> Any:
        return self._combined("__mul__", other, self)

    def __rfloordiv__(self, other: Any) -> Any:
        return self._combined("floordiv", other, self)

    def __rmod__(self, other: Any) -> Any:
        return self._combined("mod", other, self)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __neg__(self) -> Any:
        return self * -1

    def __pos__(self) -> "Dimension":
        return self

    def __abs__(self) -> Any:
        return self if self >= 0 else -self

    def __lshift__(self, bits: int) -> Any:
        return self * 2**bits

    def __rshift__(self, bits: int) -> Any:
        return self // 2**bits

    def __pow__(self, power: Any, modulus: None = None) -> Any:
        if type(power) is not int or power < 0:
            return as_array(self) ** power
        return math.prod([self] * power)

    def __truediv__(self, other: Any) -> Any:
        return as_array(self) / other

    def __rtruediv__(self, other: Any) -> Any:
        return other / as_array(self)

    def __jax_array__(self) -> Any:
        """The size as a value of the program, known where the program runs."""
        dtype = dtypes.default_int(options.current().enable_x64)
        return self.in_dtype(dtype, True)

    def in_dtype(self, dtype: Any, weak: bool = False) -> Any:
        """The size as a value of the program, in a dtype."""
        return SizeOfDimension(self, dtype, weak)()

    # -- comparisons -------------------------------------------------------------------

    def _difference(self, other: Any) -> Bounds | None:
        right = self._with(other)
        if right is None:
            return None
        return self.scope.bounds(self.expression - right)

    def __eq__(self, other: object) -> bool:
        """Whether they are equal for all sizes."""
        if isinstance(other, Dimension) and other.scope is not self.scope:
            return False
        return self._difference(other) == (0, 0)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return int.__hash__(self)

    def __ge__(self, other: Any) -> bool:
        return self._decided(">=", other, lambda low, high: (low >= 0, high < 0))

    def __gt__(self, other: Any) -> bool:
        return self._decided(">", other, lambda low, high: (low > 0, high <= 0))

    def __le__(self, other: Any) -> bool:
        return self._decided("<=", other, lambda low, high: (high <= 0, low > 0))

    def __lt__(self, other: Any) -> bool:
        return self._decided("<", other, lambda low, high: (high < 0, low >= 0))

    def __bool__(self) -> bool:
        return self._decided(
            "!=", 0, lambda low, high: (low > 0 or high < 0, low == high)
        )

    def _decided(self, sign: str, other: Any, decide: Any) -> Any:
        if isinstance(other, float) and math.isfinite(other):
            # A size is above 2.5 where it is above 2, and at least 3.
            up = sign in (">=", "<")
            other = math.ceil(other) if up else math.floor(other)
        difference = self._difference(other)
        if difference is None:
            return NotImplemented
        yes, no = decide(*difference)
        if not (yes or no):
            raise InconclusiveDimensionOperation(
                f"{_asking_call(sys._getframe(2))}{self} {sign} {other} holds for some "
                "sizes and not for others, so a program for all of them cannot depend "
                f"on it. Say what is known, such as {_hint(self, sign, other)}."
            )
        return yes

    def __repr__(self) -> str:
        return str(self.expression)

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return int.__format__(self, spec) if spec else str(self)

    # Where covector itself chooses between ways to the same result, a symbolic size
    # counts as the number at the point, a large one. Users would not know.
    def __int__(self) -> int:
        self._refuse_users("int", sys._getframe(1))
        return int.__index__(self)

    def __float__(self) -> float:
        self._refuse_users("float", sys._getframe(1))
        return float(int.__index__(self))

    def _refuse_users(self, kind: str, frame: FrameType) -> None:
        if not source.is_own(frame.f_code.co_filename):
            raise InconclusiveDimensionOperation(
                f"{kind}({self}): the symbolic size has no value while a program for "
                "all sizes is traced. Compute with it as it is, or with "
                f"covector.numpy.asarray({self})."
            )

    def __reduce__(self) -> Any:
        raise InconclusiveDimensionOperation(f"the symbolic size {self} has no value.")

"""Evidence: what is known of an operation that gave a bad value.

Its operands at the bad element; what its operands were made of; and the operations that
came from the same expression of the user's, of which one may be the one that this is
the derivative of.
"""

from functools import cached_property
from typing import Any

import numpy as np

from covector.core.jaxpr import Equation, Jaxpr, Var
from covector.nonfinite.origin import Origin, Spot
from covector.nonfinite.replay import Finding
from covector.nonfinite.source_text import operand_texts
from covector.operations.selection import SelectN

#: operations with an infinite slope, where that is, in words, and what avoids it
SLOPES = {
    "log": "at 0",
    "sqrt": "at 0",
    "rsqrt": "at 0",
    "cbrt": "at 0",
    "pow": "at 0, of an exponent below 1",
    "div": "where the divisor is 0",
    "acos": "at -1 and 1",
    "asin": "at -1 and 1",
    "acosh": "at 1",
    "atanh": "at -1 and 1",
    "log1p": "at -1",
    "erf_inv": "at -1 and 1",
    "atan2": "where both operands are 0",
}
#: operations of which derivatives are made
_DERIVATIVES = ("div", "mul", "rsqrt", "pow")
#: selections that users write
_SELECTIONS = ("where", "select")
#: equations behind an operand that are looked at
_BEHIND = 40


class Evidence:
    """Facts about an operation that gave a bad value."""

    def __init__(self, whole: Jaxpr, origin: Origin, finding: Finding) -> None:
        self.whole, self.origin, self.finding = whole, origin, finding
        equation = finding.equation
        assert equation is not None, "an operation is to blame"
        self.equation: Equation = equation
        self.op = equation.op.name
        self.nan = origin.kind == "NaN"
        self.spot = Spot(origin.kind or "", origin.shard or {}, origin.index or ())

    @cached_property
    def values(self) -> list[Any]:
        """The elements of the operands that the bad one was made of; None where that is
        not one.
        """
        return [x.here for x in self.origin.operands]

    def value(self, k: int = 0) -> float:
        """The element of operand k, NaN where it is not known."""
        found = self.values[k] if k < len(self.values) else None
        return found if isinstance(found, int | float) else np.nan

    @property
    def dtype(self) -> Any:
        """The element type of the result."""
        return self.finding.level.env[self.equation.outputs[0]].type.dtype

    @cached_property
    def forward(self) -> list[tuple[Jaxpr, Equation]]:
        """The operations that came from the same expression, not run backwards."""
        here, found = self.equation.line, []
        for jaxpr in _programs(self.whole):
            for e in jaxpr.equations:
                line = e.line
                same = line is not None and here is not None and line[:2] == here[:2]
                if same and line is not None and not line.backward:
                    found.append((jaxpr, e))
        return found

    @cached_property
    def steep(self) -> tuple[Jaxpr, Equation] | None:
        """The operation with an infinite slope that this one is the derivative of, or
        computes again.
        """
        names = set(SLOPES)
        if self.op in names and not self.backward:
            own = self._divides_by_its_slope
            names = names - {self.op} if own else {self.op}
        return next(((j, e) for j, e in self.forward if e.op.name in names), None)

    @property
    def _divides_by_its_slope(self) -> bool:
        """Whether it divides as the derivative of log (by its operand), of sqrt (by
        twice its result) or of asin and its like (by a root) does, in forward mode.
        """
        line, level = self.equation.line, self.finding.level
        if self.op == "rsqrt":
            return not set(SLOPES).isdisjoint(self._alongside)
        if self.op != "div" or line is None:
            return False
        divisor = self.equation.inputs[1]
        maker = level.maker(divisor)
        same = maker is not None and maker.line is not None
        for e in level.jaxpr.equations:
            if e.op.name not in SLOPES or e.op.name == "div" or e.line is None:
                continue
            here = e.line[:2] == line[:2]
            twice = same and maker is not None and set(maker.inputs) == {*e.outputs}
            if here and (any([a is divisor for a in e.inputs]) or twice):
                return True
        return False

    @property
    def _alongside(self) -> list[str]:
        """The names of other operations that came from the same expression."""
        return [e.op.name for _, e in self.forward if e.op.name != self.op]

    @property
    def backward(self) -> bool:
        """Whether it is known to be run backwards."""
        return self.origin.forward_line is not None

    @property
    def of_derivative(self) -> bool:
        """Whether it belongs to the derivative of an operation, at a point where that
        is infinite.
        """
        if self.steep is None or self.op not in _DERIVATIVES or not self._is_infinite:
            return False
        e, first = self.equation, self.steep[1]
        if self.backward or e.op.name != first.op.name:
            return True
        # The same operation with another literal: x ** -0.5, beside x ** 0.5.
        return _literals(e) != _literals(first)

    @property
    def _is_infinite(self) -> bool:
        """Whether the slope is infinite, or was made so by the same expression."""
        if self.op != "mul":
            return self.value(self.op == "div") <= 0
        line, cause = self.equation.line, self.cause
        if cause is None or cause.line is None or line is None:
            return bool(np.isinf([self.value(0), self.value(1)]).any())
        return cause.line[:2] == line[:2]

    def behind(self, k: int = 0) -> list[str]:
        """The names of operations that operand k depends on, the nearest first."""
        return [e.op.name for e in self._makers(k)]

    def _makers(self, k: int) -> list[Equation]:
        level, found = self.finding.level, []
        atoms = list(self.equation.inputs)
        waiting = [atoms[k]] if k < len(atoms) else []
        for atom in waiting:
            maker = level.maker(atom)
            if maker is not None and len(found) < _BEHIND:
                found.append(maker)
                waiting += maker.inputs
        return found

    @property
    def empty(self) -> bool:
        """Whether it was made of an array without elements."""
        made_of = [a for e in self._makers(0) for a in e.inputs]
        return any([0 in a.type.shape for a in made_of])

    @cached_property
    def discarding(self) -> tuple[Equation, int] | None:
        """The selection that discards the value of the operation this is the derivative
        of, or computes again; and which of its operands that is.
        """
        found = None if self.steep is None else _selection_after(*self.steep)
        if found is None or not self._discards(*found):
            return None
        if self.of_derivative:
            return found
        return found if self.op in SLOPES and self._is_differentiated else None

    def _discards(self, selection: Equation, k: int) -> bool:
        """Whether a selection, as far as its values are known, does not take operand k
        for the bad element.
        """
        env = self.finding.level.env
        which, out = selection.inputs[0], selection.outputs[0]
        if type(which) is not Var or out not in env:
            return True
        values = self.spot.on_device(env[which])
        chosen = None if values is None else self.spot.here(values, out.type.shape)
        return chosen is None or int(chosen) != k - 1

    @property
    def _is_differentiated(self) -> bool:
        """Whether the expression is also run backwards."""
        here = self.equation.line
        return here is not None and any(
            [
                e.line is not None and e.line.backward and e.line[:2] == here[:2]
                for jaxpr in _programs(self.whole)
                for e in jaxpr.equations
            ]
        )

    @property
    def cause(self) -> Origin | None:
        """The maker of the infinity that it was given."""
        return self.origin.cause


def _programs(jaxpr: Jaxpr) -> list[Jaxpr]:
    """A program and those that it carries, at any depth."""
    found = {id(jaxpr): jaxpr}
    waiting = [jaxpr]
    for program in waiting:
        inner = [r.jaxpr for e in program.equations for r in e.op.regions]
        waiting += [p for p in inner if id(p) not in found]
        found.update([(id(p), p) for p in inner])
    return [*found.values()]


def _literals(e: Equation) -> list[str]:
    return [str(a) for a in e.inputs if type(a) is not Var]


def _selection_after(jaxpr: Jaxpr, e: Equation) -> tuple[Equation, int] | None:
    """The first selection that takes what an equation made as one of its cases, and
    which of its operands that is.
    """
    reached: set[Any] = set(e.outputs)
    for later in jaxpr.equations:
        if later.line is not None and later.line.backward:
            continue
        read = [
            k for k, a in enumerate(later.inputs) if type(a) is Var and a in reached
        ]
        if isinstance(later.op, SelectN) and any(read) and _is_users(later):
            return later, read[-1]
        if read:
            reached.update(later.outputs)
    return None


def _is_users(selection: Equation) -> bool:
    """Whether it stands so in the user's program, and is not part of a function."""
    texts = operand_texts(selection.line)
    return texts is None or texts[0].endswith(_SELECTIONS)

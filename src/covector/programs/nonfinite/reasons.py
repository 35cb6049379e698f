"""The classical reasons for NaN and infinity: a catalogue.

Each row says in words why an operation gave a bad value, what to write instead, and by
a predicate on the evidence where it applies. The first row that applies is the reason.
Rows of derivatives stand before those of values, since their operations are those of a
formula and not of the user's.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from covector.core import dtypes
from covector.core.jaxpr import Equation, Jaxpr, Var
from covector.core.number_info import finfo
from covector.core.source import Line
from covector.operations.selection import SelectN
from covector.programs.nonfinite.kinds import Kinds
from covector.programs.nonfinite.origin import Origin, Spot, describe
from covector.programs.nonfinite.replay import Finding, source_of_infinity
from covector.programs.nonfinite.source_text import operand_texts, with_operand

#: equations behind an operand that are looked at
_BEHIND = 40


class Evidence:
    """What is known of an operation that gave a bad value."""

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
        names = set(_SLOPES)
        if self.op == "rsqrt" and not names.isdisjoint(self._alongside):
            names.remove("rsqrt")  # of the derivative of asin and its like
        elif self.op in names and not self.backward:
            names = {self.op}
        return next(((j, e) for j, e in self.forward if e.op.name in names), None)

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
        """Whether it belongs to the derivative of an operation."""
        if self.steep is None or self.op not in _DERIVATIVES:
            return False
        e, first = self.equation, self.steep[1]
        if self.backward or e.op.name != first.op.name:
            return True
        # The same operation with another literal: x ** -0.5, beside x ** 0.5.
        return _literals(e) != _literals(first)

    def behind(self, k: int = 0) -> list[str]:
        """The names of operations that operand k depends on, the nearest first."""
        level, names = self.finding.level, []
        atoms = list(self.equation.inputs)
        waiting = [atoms[k]] if k < len(atoms) else []
        for atom in waiting:
            maker = level.maker(atom)
            if maker is not None and len(names) < _BEHIND:
                names.append(maker.op.name)
                waiting += maker.inputs
        return names

    @cached_property
    def discarding(self) -> tuple[Equation, int] | None:
        """The selection that discards the value of the operation this is the derivative
        of, or computes again; and which of its operands that is.
        """
        found = None if self.steep is None else _selection_after(*self.steep)
        if found is None or self.of_derivative or self.op not in _SLOPES:
            return found if self.of_derivative else None
        chosen = self.finding.level.env.get(found[0].outputs[0])
        passes_on = chosen is not None and Kinds(True, True).found_in(chosen)
        return None if passes_on else found

    @property
    def cause(self) -> Origin | None:
        """What made the infinity that it was given."""
        return self.origin.cause


def _programs(jaxpr: Jaxpr) -> list[Jaxpr]:
    found = [jaxpr]
    for program in found:
        for e in program.equations:
            found += [r.jaxpr for r in e.op.regions if r.jaxpr not in found]
    return found


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
        if isinstance(later.op, SelectN) and any(read):
            return later, read[-1]
        if read:
            reached.update(later.outputs)
    return None


# -- the catalogue ---------------------------------------------------------------------


class Reason(NamedTuple):
    """A reason: where it applies, why, and what to write instead."""

    applies: Callable[[Evidence], bool]
    why: Callable[[Evidence], str]
    instead: Callable[[Evidence], str | None]


#: operations with an infinite slope, where that is, in words, and what avoids it
_SLOPES = {
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
    "tan": "at its poles",
}
#: operations of which derivatives are made
_DERIVATIVES = ("div", "mul", "rsqrt", "pow", "log", "integer_pow")


def _short(line: Line | None) -> str:
    return "" if line is None else f"{line.file.rpartition('/')[2]}:{line.number}"


def _discarded(at: Evidence) -> str:
    assert at.steep is not None, "the predicate found it"
    assert at.discarding is not None, "the predicate found it"
    forward, (where, _) = at.steep[1], at.discarding
    factor = "NaN" if at.op == forward.op.name and at.op != "div" else "inf"
    return (
        f"0 · {factor} in the adjoint of {forward.op.name}, {_short(forward.line)}; "
        f"the `where` at {_short(where.line)} discarded its forward value, not its "
        "derivative; put the safe operand inside"
    )


def _safe_inside(at: Evidence) -> str | None:
    """The line with ``where`` around the operand, by the condition of the selection."""
    assert at.steep is not None, "the predicate found it"
    assert at.discarding is not None, "the predicate found it"
    forward, (selection, k) = at.steep[1], at.discarding
    texts = operand_texts(selection.line)
    if texts is None or len(texts[1]) != 3:
        return None
    where, condition = texts[0], texts[1][0]
    # Its operands are the condition, the case where that fails, and the other.
    case = "{}, {{}}, 1.0" if k == 2 else "{}, 1.0, {{}}"
    safe = f"{where}({case.format(condition)})"
    return with_operand(forward.line, 1 if forward.op.name == "div" else 0, safe.format)


def _slope(at: Evidence) -> str:
    name = at.steep[1].op.name if at.steep else at.op
    zero = ", and 0 · inf is NaN" if at.nan else ""
    return f"the slope of {name} is infinite {_SLOPES[name]}{zero}"


def _away_from_zero(at: Evidence) -> str:
    if at.steep and at.steep[1].op.name == "sqrt":
        safe = "where(s > 0, s, 1.0)"
        return (
            "covector.numpy.linalg.norm or std, which have a gradient at 0; or sqrt of "
            f"s + eps; or sqrt({safe}), with a `where` around it as well"
        )
    return "keep the operand away from there: add a small number, or clip it"


def _outside(low: float, high: float) -> Callable[[Evidence], bool]:
    return lambda at: not low <= at.value() <= high and np.isfinite(at.value())


def _beyond(at: Evidence) -> str:
    bounds = {"log1p": "(-1, ∞)", "acosh": "[1, ∞)"}.get(at.op, "[-1, 1]")
    return f"{at.op} of {at.value():.9g}, which is outside of {bounds}"


def _clipped(at: Evidence) -> str | None:
    if at.op in ("acosh", "log1p"):
        return None
    return with_operand(
        at.equation.line, 0, lambda x: f"covector.numpy.clip({x}, -1, 1)"
    )


def _given(*values: float) -> Callable[[Evidence], bool]:
    def applies(at: Evidence) -> bool:
        pairs = zip(at.values, values, strict=False)
        return len(at.values) >= len(values) and all(
            [x is not None and np.isclose(x, v) for x, v in pairs]
        )

    return applies


def _is(*names: str) -> Callable[[Evidence], bool]:
    return lambda at: at.op in names


def _infinite(at: Evidence, k: int) -> bool:
    return bool(np.isinf(at.value(k)))


def _overflows(at: Evidence) -> bool:
    """Whether finite operands gave an infinity, and no division by zero did."""
    finite = [Kinds(True, True).mask(x) is None for x in at.finding.operands]
    by_zero = at.op in ("div", "pow", "rsqrt", "log", "rem", "integer_pow")
    return not at.nan and all(finite) and not by_zero


def _largest(at: Evidence) -> str:
    dtype = at.dtype
    if not dtypes.is_inexact(dtype) or dtypes.is_complex(dtype):
        return f"a result is beyond the largest {dtype}"
    largest = float(finfo(dtype).max)
    return f"a result is beyond the largest {dtype}, {largest:.6g}"


def _wider(at: Evidence) -> str:
    if at.op == "exp":
        return "subtract the maximum first, as covector.nn.softmax and logsumexp do"
    narrow = dtypes.is_inexact(at.dtype) and np.dtype(at.dtype).itemsize < 4
    return "compute this in float32" if narrow else "scale the operands first"


def _smallest_eigenvalue(at: Evidence) -> str:
    values = at.spot.on_device(at.finding.operands[0])
    shown = ""
    if values is not None and values.ndim >= 2:
        matrix = values[at.spot.index[:-2]] if values.ndim > 2 else values
        if np.isfinite(matrix).all():
            matrix = matrix.astype(complex if matrix.dtype.kind == "c" else float)
            shown = f": its smallest eigenvalue is {np.linalg.eigvalsh(matrix)[0]:.3g}"
    return f"the matrix is not positive definite{shown}"


def _caused_by(*names: str) -> Callable[[Evidence], bool]:
    return lambda at: at.cause is not None and at.cause.operation in names


def _of_cause(at: Evidence) -> str | None:
    return at.cause.reason if at.cause else None


def _and(*predicates: Callable[[Evidence], bool]) -> Callable[[Evidence], bool]:
    return lambda at: all([applies(at) for applies in predicates])


def _nan(at: Evidence) -> bool:
    return at.nan


def _behind_has(k: int, *names: str) -> Callable[[Evidence], bool]:
    return lambda at: not set(names).isdisjoint(at.behind(k))


def _says(text: str) -> Callable[[Evidence], str]:
    return lambda at: text


_nothing: Callable[[Evidence], str | None] = lambda at: None  # noqa: E731

_LOG_OF_ZERO = "the logarithm of 0"
_STABLE = "covector.nn.softmax, log_softmax or logsumexp, which subtract the maximum"
_LOGITS = (
    "covector.nn.log_sigmoid of the logits: log σ(x) = log_sigmoid(x), and "
    "log(1 - σ(x)) = log_sigmoid(-x)"
)

REASONS: tuple[Reason, ...] = (
    # -- of derivatives
    Reason(lambda at: at.discarding is not None, _discarded, _safe_inside),
    Reason(lambda at: at.of_derivative, _slope, _away_from_zero),
    # -- of values: logarithms, roots and powers
    Reason(
        _and(_is("log"), lambda at: at.value() < 0),
        lambda at: f"the logarithm of a negative number, {at.value():.6g}",
        _says("keep it positive, or log(abs(x)) if that is meant"),
    ),
    Reason(
        _and(_is("log", "log1p"), _behind_has(0, "logistic")),
        _says("the logarithm of a saturated sigmoid, which is rounded to 0 or 1"),
        _says(_LOGITS),
    ),
    Reason(
        _and(_is("log", "log1p"), _behind_has(0, "exp")),
        _says("the logarithm of exponentials that underflowed to 0"),
        _says(_STABLE),
    ),
    Reason(
        _and(_is("log"), _given(0)),
        _says(_LOG_OF_ZERO),
        _says("add a small number; for x · log x use covector.scipy.special.xlogy"),
    ),
    Reason(
        _and(_is("sqrt", "rsqrt"), lambda at: at.value() < 0),
        lambda at: (
            f"the square root of a negative number, {at.value():.6g}"
            + (
                "; a difference of squares (E[x²] - E[x]²) may be negative by rounding"
                if at.value() > -1e-2 and "sub" in at.behind()
                else ""
            )
        ),
        _says("covector.numpy.var for a variance, or maximum(x, 0)"),
    ),
    Reason(
        _and(_is("pow"), lambda at: at.value() < 0),
        lambda at: (
            f"a negative base, {at.value():.6g}, to the power {at.value(1):.6g}, which "
            "is no integer"
        ),
        _says("a base that is not negative, or an int as the exponent"),
    ),
    Reason(
        _and(_is("pow"), _given(0)),
        _says("0 to a negative power"),
        _nothing,
    ),
    Reason(
        _and(_is("acos", "asin", "atanh", "erf_inv"), _outside(-1, 1)),
        _beyond,
        _clipped,
    ),
    Reason(_and(_is("acosh"), _outside(1, np.inf)), _beyond, _clipped),
    Reason(_and(_is("log1p"), _outside(-1, np.inf)), _beyond, _clipped),
    # -- divisions
    Reason(
        _and(_is("div"), _given(0, 0), _behind_has(1, "sqrt", "rsqrt")),
        _says("0 / 0: a normalisation by a norm or a standard deviation that is 0"),
        _says("add a small number to the divisor, or where(n > 0, n, 1.0)"),
    ),
    Reason(
        _and(_is("div"), _given(0, 0), _behind_has(1, "reduce_sum")),
        _says("0 / 0: a normalisation by a sum that is 0"),
        _says("maximum(n, 1) where it counts, or where(n != 0, n, 1.0)"),
    ),
    Reason(
        _and(_is("div"), _given(0, 0)),
        _says("0 / 0"),
        _says("where(d != 0, d, 1.0) as the divisor"),
    ),
    Reason(
        _and(_is("rem"), lambda at: at.value(1) == 0),
        _says("the remainder of a division by 0"),
        _says("where(d != 0, d, 1) as the divisor"),
    ),
    Reason(
        lambda at: _is("div")(at) and not at.nan and at.value(1) == 0,
        _says("a division by 0"),
        _says("where(d != 0, d, 1.0) as the divisor"),
    ),
    # -- infinities that meet
    Reason(
        _and(_nan, _is("div"), lambda at: _infinite(at, 0) and _infinite(at, 1)),
        lambda at: (
            "inf / inf: the exponentials overflowed, as in a softmax by hand"
            if _caused_by("exp")(at)
            else "inf / inf"
        ),
        lambda at: _STABLE if _caused_by("exp")(at) else None,
    ),
    Reason(
        _and(_nan, _is("mul", "dot_general"), lambda at: _of_cause(at) == _LOG_OF_ZERO),
        _says("0 · log 0, of which the limit is 0"),
        _says("covector.scipy.special.xlogy(x, y), which is 0 there"),
    ),
    Reason(
        _and(_nan, _is("mul", "dot_general")),
        lambda at: "0 · inf" + (f": {_of_cause(at)}" if _of_cause(at) else ""),
        lambda at: at.cause.suggestion if at.cause else None,
    ),
    Reason(
        _and(_nan, _is("sub"), _behind_has(1, "reduce_max")),
        _says("-inf - (-inf): all elements are masked, so that their maximum is -inf"),
        _says("a large negative number in place of -inf, or where= of softmax"),
    ),
    Reason(
        _and(_nan, _is("sub", "add", "reduce_sum", "cumsum", "neg")),
        _says("inf - inf"),
        lambda at: _STABLE if _caused_by("exp")(at) else None,
    ),
    Reason(
        _and(_nan, _is("sin", "cos", "tan")),
        lambda at: f"{at.op} of an infinity has no value",
        _nothing,
    ),
    # -- linear algebra
    Reason(
        _is("cholesky"),
        _smallest_eigenvalue,
        _says("add eps · I, or make it symmetric: (a + a.T) / 2"),
    ),
    # -- what is too large
    Reason(
        _and(_is("exp"), _overflows),
        lambda at: f"exp overflows: {_largest(at)}",
        _wider,
    ),
    Reason(_overflows, _largest, _wider),
)


def _too_large_to_write(finding: Finding) -> str | None:
    dtype = finding.operands[0].type.dtype
    narrow = np.dtype(dtype).itemsize < 4
    return f"inf, or a number beyond the largest {dtype}" if narrow else None


def reason_in(whole: Jaxpr) -> Callable[[Origin, Finding], Origin]:
    """What adds to an origin in this program its reason, and what made an infinity."""

    def explained(origin: Origin, finding: Finding) -> Origin:
        if finding.constant and origin.kind == "infinity":
            return replace(origin, reason=_too_large_to_write(finding))
        if finding.input is not None or finding.constant:
            return origin
        if origin.kind == "NaN":
            source = source_of_infinity(finding)
            if source is not None and source.equation is not finding.equation:
                infs = Kinds(False, True)
                known = describe(infs, source, lambda i: "an argument", explained)
                origin = replace(origin, cause=known)
        at = Evidence(whole, origin, finding)
        for row in REASONS:
            if row.applies(at):
                return replace(origin, reason=row.why(at), suggestion=row.instead(at))
        return origin

    return explained

"""The classical reasons for NaN and infinity: a catalogue.

Each row says in words why an operation gave a bad value, what to write instead, and by
a predicate on the evidence where it applies. The first row that applies is the reason.
Rows of derivatives stand before those of values, since their operations are those of a
formula and not of the user's.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from covector.core import dtypes
from covector.core.jaxpr import Jaxpr
from covector.core.number_info import finfo
from covector.core.source import Line
from covector.nonfinite.evidence import SLOPES, Evidence
from covector.nonfinite.kinds import INFINITIES, Kinds
from covector.nonfinite.origin import Origin, describe
from covector.nonfinite.replay import Finding, source_of_infinity
from covector.nonfinite.source_text import operand_texts, with_operand


class Reason(NamedTuple):
    """A reason: where it applies, why, and what to write instead."""

    applies: Callable[[Evidence], bool]
    why: Callable[[Evidence], str]
    instead: Callable[[Evidence], str | None]


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
    return f"the slope of {name} is infinite {SLOPES[name]}{zero}"


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
    texts = operand_texts(at.equation.line)
    module = texts[0].rpartition(".")[0] if texts else ""
    clip = f"{module or 'covector.numpy'}.clip"
    return with_operand(at.equation.line, 0, lambda x: f"{clip}({x}, -1, 1)")


_TINY = 1.2e-38


def _given(*values: float) -> Callable[[Evidence], bool]:
    def applies(at: Evidence) -> bool:
        # A subnormal number counts as zero where it is compiled.
        return all([abs(at.value(k) - v) < _TINY for k, v in enumerate(values)])

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
            triangle = "U" if at.op == "upper_cholesky" else "L"
            least = np.linalg.eigvalsh(matrix, triangle)[0]
            shown = f": its smallest eigenvalue is {least:.3g}"
    return f"the matrix is not positive definite{shown}"


def _singular(at: Evidence) -> str:
    values = at.spot.on_device(at.finding.operands[0])
    shown = ""
    if values is not None and values.ndim == 2 and np.isfinite(values).all():
        least = np.linalg.svd(values.astype(float), compute_uv=False)[-1]
        shown = f": its smallest singular value is {least:.3g}"
    return f"the matrix is singular{shown}"


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
        lambda at: (
            "covector.numpy.var for a variance, or maximum(x, 0)"
            if "sub" in at.behind()
            else "maximum(x, 0)"
        ),
    ),
    Reason(
        _and(_is("pow"), lambda at: at.value() < 0),
        lambda at: (
            f"a negative base, {at.value():.6g}, to the power {at.value(1):.6g}, which "
            "is not an integer"
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
        _and(_is("div"), lambda at: at.empty),
        _says("0 / 0: the mean of an array without elements"),
        _says("a value of its own for that case: x.mean() if x.size else 0.0"),
    ),
    Reason(
        _and(
            _is("div"),
            _given(0, 0),
            _behind_has(1, "sqrt", "rsqrt"),
            _behind_has(1, "reduce_sum"),
        ),
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
        _and(_nan, _is("dot_general")),
        _says("a product with infinities: 0 · inf, or inf - inf in its sums"),
        lambda at: at.cause.suggestion if at.cause else None,
    ),
    Reason(
        _and(_nan, _is("mul")),
        lambda at: "0 · inf" + (f": {_of_cause(at)}" if _of_cause(at) else ""),
        lambda at: at.cause.suggestion if at.cause else None,
    ),
    Reason(
        _and(
            _nan,
            _is("sub"),
            _behind_has(1, "reduce_max"),
            lambda at: at.value(1) == -np.inf,
        ),
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
        _is("cholesky", "upper_cholesky"),
        _smallest_eigenvalue,
        _says("add eps · I, or make it symmetric: (a + a.T) / 2"),
    ),
    Reason(
        _is("inv", "solve", "triangular_solve", "lu"),
        _singular,
        _says("covector.numpy.linalg.pinv or lstsq; or add eps · I"),
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


def reason_in(
    whole: Jaxpr, name: Callable[[int], str]
) -> Callable[[Origin, Finding], Origin]:
    """The function that adds to an origin in this program its reason, and the origin of
    an infinity; ``name`` says which input is meant.
    """

    def explained(origin: Origin, finding: Finding) -> Origin:
        if finding.constant and origin.kind == "infinity":
            return replace(origin, reason=_too_large_to_write(finding))
        if finding.input is not None or finding.constant:
            return origin
        if origin.kind == "NaN":
            source = source_of_infinity(finding)
            if source is not None and source.equation is not finding.equation:
                known = describe(INFINITIES, source, name, explained)
                origin = replace(origin, cause=known)
        at = Evidence(whole, origin, finding)
        for row in REASONS:
            if row.applies(at):
                return replace(origin, reason=row.why(at), suggestion=row.instead(at))
        return origin

    return explained

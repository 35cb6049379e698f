"""The derivative of a function at a point, compared with difference quotients.

One argument is perturbed at a time, and in reverse mode one result at a time has a
cotangent, so that the message can name the one that is wrong.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from covector import tree
from covector.analysis.difference_quotients import (
    Quotient,
    direction,
    precision,
    quotients,
    step_for,
    wide,
)
from covector.core.array_like import Array
from covector.core.flat import FlatFunction, argument_path, arrays
from covector.core.source import function_line
from covector.core.types import ArrayType, show_types
from covector.errors import NotDifferentiable
from covector.operations.broadcasting import zeros
from covector.transforms.derivatives import instantiate_tangent

#: tangents, of which None is zero → values, tangents
Push = Callable[[Sequence[Any]], tuple[Sequence[Any], Sequence[Any]]]
#: cotangents → cotangents
Pull = Callable[[Sequence[Any]], Sequence[Any]]


class Limits(NamedTuple):
    """The step of quotients, what derivatives may differ by, and of random directions.

    None is for what suits the precision.
    """

    eps: float | None
    atol: float | None
    rtol: float | None
    seed: int = 0


@dataclass(frozen=True)
class Point:
    """A flat function, the point where it is differentiated, and names for messages."""

    fun: Callable[..., Sequence[Any]]
    subject: str
    primals: Sequence[Array]
    argument: Callable[[int], str]
    result: Callable[[int], str]
    step: float
    atol: float
    rtol: float
    seed: int
    #: quotients that were computed
    known: dict[int, list[Quotient | None]] = field(default_factory=dict)

    @classmethod
    def at(
        cls,
        f: Callable[..., Any],
        args: tuple,
        who: str,
        limits: Limits,
    ) -> "Point":
        """A function of trees, at ``args``."""
        leaves, in_tree = tree.flatten((args, {}))
        flat = FlatFunction(f, in_tree, who)
        primals = arrays(leaves, who)
        involved = [*primals, *flat(*primals)]
        if not any([p.type.inexact for p in primals]):
            shown = show_types([p.type for p in primals])
            raise NotDifferentiable(
                f"{who} needs floating-point arguments, but got {shown}."
            )
        usual = 20 * precision(involved) ** 0.5
        eps, atol, rtol, seed = limits
        return cls(
            flat,
            function_line(f),
            primals,
            lambda i: argument_path(in_tree, i),
            lambda k: f"the result{tree.keystr(tree.leaf_path(flat.out_tree, k))}",
            step_for(involved) if eps is None else eps,
            usual if atol is None else atol,
            usual if rtol is None else rtol,
            seed,
        )

    @property
    def active(self) -> list[int]:
        return [i for i, p in enumerate(self.primals) if p.type.inexact]

    def tangent(self, i: int) -> Any:
        return direction(self.primals[i].type, np.random.default_rng([self.seed, i]))

    def cotangent(self, k: int, type: ArrayType) -> Any:
        return direction(type, np.random.default_rng([self.seed, k, 1]))

    def only(self, i: int, x: Any) -> list[Any]:
        """Tangents that are ``x`` for argument i, and zero for the others."""
        return [x if j == i else None for j in range(len(self.primals))]

    def quotients(self, i: int) -> list[Quotient | None]:
        """The derivative of each result in argument i, by differences."""
        if i not in self.known:
            self.known[i] = self.along(i, self.tangent(i))
        return self.known[i]

    def along(self, i: int, tangent: Any) -> list[Quotient | None]:
        return quotients(self.fun, self.primals, self.only(i, tangent), self.step)


def forward(point: Point, push: Push, i: int) -> list[str]:
    """The fault of a forward-mode derivative, in words."""
    tangent = point.tangent(i)
    outs, found = push(point.only(i, tangent))
    lines = _values(point, i, outs)
    _, twice = push(point.only(i, tangent + tangent))
    for k, expected in enumerate(point.quotients(i)):
        if expected is None:
            continue
        type = outs[k].type.strong()
        rule, doubled = (
            wide(instantiate_tangent(t, type)) for t in (found[k], twice[k])
        )
        where = f"{point.argument(i)} → {point.result(k)}"
        if not near(point, doubled, Quotient(2 * rule, np.zeros(()))):
            lines.append(f"{where}: the rule is not linear in the tangent")
        elif not near(point, rule, expected):
            quotients = {j: _with(point, j, tangent, k) for j in _others(point, i)}
            shown = _apart(point, rule, expected)
            clue = hint(point, rule, rule.conj(), expected, quotients)
            lines.append(f"{where}: {shown}{clue}")
    return lines


def reverse(point: Point, outs: Sequence[Any], pull: Pull, i: int) -> list[str]:
    """The fault of a reverse-mode derivative that comes with ``outs``, in words."""
    tangent = point.tangent(i)
    lines = _values(point, i, outs)
    for k, expected in enumerate(point.quotients(i)):
        if expected is None:
            continue
        ct = point.cotangent(k, outs[k].type)

        def pulled(ct: Any, k: int = k) -> np.ndarray:
            cts = [ct if j == k else zeros(o.type.strong()) for j, o in enumerate(outs)]
            return wide(pull(cts)[i])

        where = f"{point.argument(i)} → {point.result(k)}"
        back, ct_values, along = pulled(ct), wide(ct), wide(tangent)
        if not near(point, pulled(ct + ct), Quotient(2 * back, np.zeros(()))):
            lines.append(f"{where}: the rule is not linear in the cotangent")
            continue
        rule, wanted = inner(back, along), _against(ct_values, expected)
        if not near(point, rule, wanted, np.abs(ct_values * expected.value).sum()):
            quotients = {
                j: _against(ct_values, _with(point, j, tangent, k))
                for j in _others(point, i)
            }
            clue = hint(point, rule, inner(back.conj(), along), wanted, quotients)
            lines.append(
                f"{where}: a random cotangent, pulled back by the rule, is "
                f"{rule:.4g} along a random tangent, but by differences "
                f"{wanted.value:.4g}{clue}"
            )
    return lines


def _values(point: Point, i: int, outs: Sequence[Any]) -> list[str]:
    """The fault of the values that rules return with a derivative, in words."""
    lines = []
    pairs = zip(outs, point.fun(*point.primals), strict=True)
    for k, (out, expected) in enumerate(pairs):
        if not expected.type.inexact:
            continue
        given, wanted = wide(out), wide(expected)
        if not near(point, given, Quotient(wanted, np.zeros(()))):
            lines.append(
                f"{point.result(k)}: where {point.argument(i)} is perturbed, the rule "
                f"returns the value {_first(given)}, and the function {_first(wanted)}"
            )
    return lines


# -- numbers ---------------------------------------------------------------------------


def inner(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """⟨x, y⟩ as transposes have it: real, without conjugation."""
    return np.asarray(np.real(x * y).sum())


def _against(ct: np.ndarray, quotient: Quotient) -> Quotient:
    error = np.abs(ct) * quotient.error
    return Quotient(inner(ct, quotient.value), np.asarray(error.sum()))


def _others(point: Point, i: int) -> list[int]:
    """Other arguments of the same type."""
    of = point.primals[i].type
    return [
        j
        for j in point.active
        if j != i and point.primals[j].type.strong() is of.strong()
    ]


def _with(point: Point, j: int, tangent: Any, k: int) -> Quotient:
    """The derivative of result k in argument j, along the tangent of another one."""
    found = point.along(j, tangent)[k]
    assert found is not None, "the result is differentiable"
    return found


def _within(point: Point, x: Any, wanted: Quotient, size: Any = 0.0) -> Any:
    magnitude = np.maximum(np.abs(wanted.value), size)
    allowed = point.atol + point.rtol * magnitude + 2 * wanted.error
    known = np.isfinite(wanted.error)
    with np.errstate(invalid="ignore"):
        near = known & (np.abs(x - wanted.value) <= allowed)
    return near | (x == wanted.value) | (np.isnan(x) & np.isnan(wanted.value))


def near(point: Point, x: Any, wanted: Quotient, size: Any = 0.0) -> bool:
    """Whether x is what is wanted, relative to that or to ``size``."""
    return bool(np.all(_within(point, x, wanted, size)))


# -- words -----------------------------------------------------------------------------


def _first(x: np.ndarray) -> str:
    return f"{x.ravel()[0]:.4g}{', …' if x.size > 1 else ''}"


def _apart(point: Point, rule: np.ndarray, expected: Quotient) -> str:
    """The index at which the two differ most, and their values there."""
    wrong = ~_within(point, rule, expected)
    distance = np.abs(rule - expected.value)
    distance = np.where(wrong, np.where(np.isnan(distance), np.inf, distance), -1.0)
    position = np.unravel_index(int(np.argmax(distance)), rule.shape)
    where = f" at {tuple(map(int, position))}" if rule.ndim else ""
    if wrong.sum() > 1:
        where += f" and {wrong.sum() - 1} other indices"
    if not np.isfinite(expected.error[position]):
        return (
            f"the rule gives {rule[position]:.4g}{where}, where differences give no "
            "number: check inside the domain, or with a smaller eps"
        )
    return (
        f"the rule gives {rule[position]:.4g}, but differences give "
        f"{expected.value[position]:.4g}{where}"
    )


def hint(
    point: Point,
    rule: np.ndarray,
    conjugate: np.ndarray,
    wanted: Quotient,
    quotients: dict[int, Quotient],
) -> str:
    """A hint at what the rule gives instead, if that can be recognised."""
    if not np.any(rule):
        return ": it gives zero"
    if near(point, -rule, wanted):
        return ": the sign is wrong"
    if np.any(conjugate != rule) and near(point, conjugate, wanted):
        return ": its conjugate would be right"
    for j, other in quotients.items():
        if near(point, rule, other):
            return f": that is for {point.argument(j)}"
    with np.errstate(all="ignore"):
        factor = np.vdot(wanted.value, rule) / np.vdot(wanted.value, wanted.value)
        same = np.all(np.abs(rule - factor * wanted.value) <= 0.02 * np.abs(rule))
    if not same or not np.isfinite(factor):
        return ""
    if abs(factor.imag) < 0.02 * abs(factor):
        factor = factor.real
    return f": {factor:.4g} times as much"

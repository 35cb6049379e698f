"""``check_gradients``: a gradient leaf by leaf, and what is wrong with it.

    wrong              it is not what difference quotients give, in random directions
    stopped, unused    the loss does not depend on the leaf, or not by a derivative
    zero, tiny, huge   it would not move the leaf, or too far
    nan, infinite      it is not a number; or the second derivative is none

A cause is looked for where one of these is found: the rule of a user, or the line at
which the derivative stops.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import Any

import numpy as np

import covector.numpy as cnp
from covector.analysis.comparisons import Limits, Point
from covector.analysis.difference_quotients import wide
from covector.analysis.gradients.compare import (
    Comparison,
    WrongRuleOf,
    compare,
    point_of,
    sized_direction,
    wrong_rules,
)
from covector.analysis.gradients.loss import Loss, loss_at
from covector.analysis.gradients.report import (
    GradientFault,
    GradientReport,
    LeafGradient,
)
from covector.analysis.gradients.stops import Backward, Stop
from covector.analysis.passes.dependence import dependence
from covector.configuration import enable_x64
from covector.core.convert import as_array
from covector.core.flat import argument_numbers
from covector.core.number_info import finfo
from covector.core.source import wraps
from covector.errors import MissingRule, NotDifferentiable, how_many
from covector.transforms.linearize import linearize_flat
from covector.transforms.pullback import pull_back

__all__ = ["check_gradients"]

_NO_COMPARISON = Comparison(np.nan, np.nan, np.nan, None, "")


def check_gradients(  # noqa: PLR0913  options, all with defaults
    loss: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    *,
    order: int = 2,
    tiny: float | None = None,
    huge: float = 1e4,
    eps: float | None = None,
    atol: float | None = None,
    rtol: float | None = None,
    seed: int = 0,
) -> Callable[..., GradientReport]:
    """A function that checks the gradient of ``loss`` for its arguments.

    Each leaf is compared with difference quotients in a random direction; at a kink the
    gradient may be that of either side. A leaf has a *fault* if its gradient is wrong,
    zero everywhere, tiny, huge, NaN or infinite, if the second derivative is not
    finite, or if the loss does not depend on it. The report names the rule of yours
    (``custom_vjp``) that is wrong, and the line at which a derivative stops:
    ``stop_gradient``, a conversion to integers, ``argmax``, a comparison, a rounding.
    What goes through ``stop_gradient`` is held while the loss is compared: a gradient
    that is right for the rest is right.

    Args:
      loss: returns a real scalar (or, with ``has_aux``, a pair of it and anything).
        Where it can be traced, it is compiled, and its prints are left out.
      argnums: the positional argument, or arguments, whose gradient is checked.
      order: 1 leaves out second derivatives.
      tiny: a gradient is tiny if the root of its mean square is below this times that
        of the leaf, or of the median gradient; default the machine epsilon.
      huge: it is huge if it is above this times that of the leaf, or 1.
      eps: the step of the quotients, relative to the leaf. By default they are taken in
        double precision, with 1e-5, where the loss has the same value there; else it is
        ε^⅕ / 2.
      atol, rtol: what a gradient may differ by, besides what the quotients are
        uncertain by; default 0 and 20 √ε, relative to a sum of random signs.
      seed: of the random directions.

    Returns:
      A function of the arguments of ``loss`` that gives a report: ``.ok``, ``.leaves``
      (by path), ``.to_dict()``, ``.raise_if_wrong()``; printed, a table of the norms.

    Raises:
      NotScalar: the loss is not a real scalar.
      ArgumentError: an argument that there is not, or one that is being traced.

    >>> import covector as cv, covector.numpy as cnp
    >>> def loss(params, x):
    ...     hidden = cnp.round(x @ params["w"])
    ...     return cnp.sum(hidden * params["scale"]) ** 2
    >>> params = {"w": cnp.ones((2, 3)), "scale": cnp.ones(3)}
    >>> report = check_gradients(loss)(params, cnp.array([0.4, 0.8]))
    >>> report.ok, [(leaf.path, leaf.ok) for leaf in report.leaves]
    (False, [("params['scale']", True), ("params['w']", False)])
    >>> report.leaves[1].faults[0].text[:62]
    "params['w']: zero everywhere: the derivative stops at round, w"
    """
    numbers = argument_numbers("check_gradients", "argnums", argnums)
    limits = Limits(eps, atol, rtol, seed)

    @wraps(loss)
    def checked(*args: Any, **kwargs: Any) -> GradientReport:
        where = loss_at(loss, numbers, has_aux, args, kwargs)
        return _Check(where, limits, tiny, huge).report(order)

    return checked


class _Check:
    """One check, and what is found out once for all leaves."""

    def __init__(
        self, loss: Loss, limits: Limits, tiny: float | None, huge: float
    ) -> None:
        self.loss = loss
        self.limits = limits
        self.tiny = tiny
        self.huge = huge
        self.value, found = loss.value_and_gradients(loss.primals)
        self.gradients = dict(zip(loss.active, found, strict=True))
        sizes = [size for size in map(_size, found) if np.isfinite(size)]
        self.median = float(np.median(sizes or [0.0]))
        self.notes: list[str] = []

    def report(self, order: int) -> GradientReport:
        second = self._second() if order > 1 else {}
        chosen = [i for i, c in enumerate(self.loss.chosen) if c]
        leaves = tuple([self._leaf(i, second.get(i)) for i in chosen])
        if self.loss.program is None:
            self.notes.append(
                "The loss looks at values while it runs, and has no program: lines at "
                "which derivatives stop are not known."
            )
        notes = tuple(dict.fromkeys(self.notes))
        return GradientReport(float(self.value), leaves, notes)

    @cached_property
    def backward(self) -> Backward | None:
        program = self.loss.program
        return None if program is None else Backward(self.loss, program)

    @cached_property
    def point(self) -> Point:
        """Where differences are taken."""
        return point_of(self.loss, self.value, self.double, self.limits)

    @cached_property
    def double(self) -> Loss | None:
        """The loss in double precision, if it can be taken there."""
        with enable_x64(True):
            return self.loss.in_double(self.value)

    def _precision(self) -> AbstractContextManager[Any]:
        return nullcontext() if self.double is None else enable_x64(True)

    @cached_property
    def wrong_rules(self) -> list[WrongRuleOf]:
        return wrong_rules(self.loss, self.limits)

    def _second(self) -> dict[int, Any]:
        """The derivative of the gradient, along a random direction."""
        loss, seed = self.loss, self.limits.seed
        primals = loss.primals
        moved = {i: sized_direction(primals[i], [seed, i]) for i in loss.active}

        def along(*xs: Any) -> list[Any]:
            _, gradients = loss.value_and_gradients(xs)
            pairs = zip(gradients, moved.values(), strict=True)
            return [as_array(sum([cnp.sum(cnp.real(g * u)) for g, u in pairs]))]

        types = [p.type for p in primals]
        mask = [i in moved for i in range(len(primals))]
        try:
            (out,), linear = linearize_flat(along, primals, mask, loss.who)
            cts = pull_back(linear, types, mask, [cnp.ones_like(out)])
        except (NotDifferentiable, MissingRule) as error:
            self.notes.append(f"There is no second derivative: {error}")
            return {}
        return {i: cts[i] for i in moved}

    def _leaf(self, i: int, second: Any) -> LeafGradient:
        x, path = self.loss.primals[i], self.loss.paths[i]
        layer = self.loss.layers[i]
        if i not in self.gradients:
            text = f"{path}: it is of {x.type.dtype}, which has no derivatives."
            fault = GradientFault("no derivative", text)
            return LeafGradient(path, layer, str(x.type), faults=(fault,))
        gradient = wide(self.gradients[i])
        finite = bool(np.isfinite(gradient).all())
        found = self._compared(i, gradient) if finite and x.size else _NO_COMPARISON
        faults = self._faults(i, gradient, found) if x.size else []
        if finite and second is not None and not np.isfinite(wide(second)).all():
            text = f"{path}: the second derivative is not finite here."
            faults.append(GradientFault("second derivative", text))
        return LeafGradient(
            path,
            layer,
            str(x.type),
            _size(x),
            _size(gradient),
            float(np.linalg.norm(gradient)),
            float(np.mean(gradient == 0)) if x.size else 0.0,
            found.along,
            found.expected,
            found.uncertain,
            found.agrees is not None,
            tuple(faults),
        )

    def _compared(self, i: int, gradient: Any) -> Comparison:
        """The gradient by differences, where these can tell."""
        path = self.loss.paths[i]
        with self._precision():
            found = compare(self.point, i, gradient, self._alike(i))
        nested = []
        if found.agrees is False and self.backward:
            nested = self.backward.nested_stops(i)
        if nested:
            self.notes.append(
                f"{path} is not compared: its derivative stops in a loop or a branch, "
                f"at {nested[0]}."
            )
            return found._replace(agrees=None)
        if found.agrees is None and gradient.any():
            self.notes.append(
                f"{path} is not compared: differences are too uncertain, by "
                f"{found.uncertain:.2g} for {found.along:.4g}."
            )
        return found

    def _alike(self, i: int) -> list[int]:
        """Other leaves of the same type, whose gradient this one might be."""
        type_ = self.loss.primals[i].type.strong()
        others = [j for j in self.loss.active if j != i]
        return [j for j in others if self.loss.primals[j].type.strong() is type_]

    # -- faults ------------------------------------------------------------------------

    def _faults(self, i: int, gradient: Any, found: Comparison) -> list[GradientFault]:
        path = self.loss.paths[i]
        if not np.isfinite(gradient).all():
            return [self._not_finite(i, gradient)]
        if not self.needed[i]:
            return [self._unused(i)]
        rules = [] if found.agrees else self._rules_between(i)
        if found.agrees is False or rules:
            return [self._wrong(i, found, rules)]
        if not gradient.any():
            return [self._zero(i)]
        size, of_leaf = _size(gradient), _size(self.loss.primals[i])
        eps = finfo(self.loss.primals[i].dtype).eps if self.tiny is None else self.tiny
        if size < eps * max(of_leaf, self.median):
            text = f"{path}: tiny: its elements are of size {size:.3g}, "
            return [
                GradientFault(
                    "tiny", text + f"those of the leaf of size {of_leaf:.3g}."
                )
            ]
        if size > self.huge * max(of_leaf, 1.0):
            text = f"{path}: huge: its elements are of size {size:.3g}, "
            return [
                GradientFault(
                    "huge", text + f"those of the leaf of size {of_leaf:.3g}."
                )
            ]
        return []

    @cached_property
    def needed(self) -> Sequence[bool]:
        """The mask of the leaves that the loss depends on."""
        program = self.loss.program
        if program is None:
            return [True] * len(self.loss.primals)
        return dependence(program, outputs=[0]).inputs[len(self.loss.captured) :]

    def _unused(self, i: int) -> GradientFault:
        last = self.backward and self.backward.last(i)
        why = f" {last}." if last else " nothing reads it."
        text = f"{self.loss.paths[i]}: the loss does not depend on it:{why}"
        return GradientFault("unused", text, _line(last))

    def _not_finite(self, i: int, gradient: Any) -> GradientFault:
        kind = "nan" if np.isnan(gradient).any() else "infinite"
        count = int((~np.isfinite(gradient)).sum())
        cause = self.backward and self.backward.breaks(i)
        word = "NaN" if kind == "nan" else "infinity"
        text = f"{self.loss.paths[i]}: {word} in {count} of "
        text += how_many(gradient.size, "element")
        text += f", first made {cause}." if cause else "."
        if not np.isfinite(wide(self.value)):
            text += f" The loss itself is {float(self.value)}."
        text += " covector.explain_nan(covector.grad(loss))(...) says more."
        return GradientFault(kind, text, _line(cause))

    def _zero(self, i: int) -> GradientFault:
        path = self.loss.paths[i]
        stops = self.backward.stops(i) if self.backward else []
        if not stops:
            text = (
                f"{path}: zero everywhere, though derivatives pass: the point is "
                "stationary, or parts of the gradient cancel."
            )
            return GradientFault("zero", text)
        always = any([stop.always for stop in stops])
        words = "; and ".join(map(str, stops))
        text = f"{path}: zero everywhere: the derivative stops at {words}."
        return GradientFault("stopped" if always else "zero", text, _line(stops[0]))

    def _wrong(
        self, i: int, found: Comparison, rules: Sequence[WrongRuleOf]
    ) -> GradientFault:
        words = f"{self.loss.paths[i]}: wrong"
        if found.agrees is False:
            words += (
                f": in a random direction the gradient is {found.along:.4g}, but by "
                f"differences {found.expected:.4g}"
            )
            words += f": {found.hint}" if found.hint else ""
        words += "."
        for rule in rules:
            words += f" The rule of {rule.who} is wrong."
            self.notes.append(f"The rule of {rule.who}: {rule.words}.")
        passed = self.backward.rules(i) if self.backward and not rules else ()
        if passed:
            words += f" On the way to the loss: {', '.join(sorted(passed))}."
        stops = self._stops_of_zero(i) if not rules else []
        if stops:
            words += f" The derivative stops at {'; and '.join(map(str, stops))}."
        line = rules[0].line if rules else (stops[0].line if stops else None)
        return GradientFault("wrong", words, None if line is None else str(line))

    def _stops_of_zero(self, i: int) -> list[Stop]:
        if self.backward is None or wide(self.gradients[i]).any():
            return []
        return self.backward.stops(i)

    def _rules_between(self, i: int) -> list[WrongRuleOf]:
        """The wrong rules that are called between a leaf and the loss."""
        through = self.backward
        if through is None:
            return []
        passed = through.rules(i)
        return [r for r in self.wrong_rules if r.who in passed]


def _size(x: Any) -> float:
    """The root of the mean square of the elements."""
    values = np.abs(wide(x))
    return float(np.sqrt(np.mean(np.square(values)))) if values.size else 0.0


def _line(stop: Stop | None) -> str | None:
    return None if stop is None or stop.line is None else str(stop.line)

"""``JetTrace``: runs a function on truncated power series.

A ``JetTracer`` is a series x₀ + x₁t + x₂t² + …, whose terms are computed when they are
asked for. What an operation makes of series needs no rule of its own:

    linear           yₖ = f(xₖ)
    multilinear      yₖ = Σ f(uᵢ, vⱼ), i + j = k
    division         yₖ = (uₖ − Σ vⱼ yₖ₋ⱼ) / v₀, j > 0
    anything else    y′ = f′(x) x′, so yₖ = (f′(x) x′)ₖ₋₁ / k

The rule for derivatives is run on series, too: f′(x) is then one, and it may name y
itself, of which only the terms that are known already are read. As the terms come one
by one, and as the same operation on the same series is the same series, that finds the
recurrence which one would write by hand: sin asks for cos, which asks for sin.

Loops and branches run programs on series: arrays with an axis for the terms.
"""

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

from covector import lax
from covector.core.annotations import Value
from covector.core.array import ConcreteArray
from covector.core.array_like import Array
from covector.core.convert import scalar
from covector.core.jaxpr import Jaxpr, run
from covector.core.primitive import Linear, Primitive
from covector.core.staging import restage
from covector.core.trace import Trace, Tracer, as_current, current
from covector.core.types import ArrayType
from covector.operations.arithmetic import Div, add, div, mul, neg, sub
from covector.operations.broadcasting import zeros
from covector.operations.joining import Stack
from covector.programs.higher_order.program_primitive import ProgramPrimitive
from covector.programs.higher_order.regions import Kind, Region

#: elements up to which known arrays are compared by value, and not by identity
_SMALL = 16

#: of a series and k: term k
Later = Callable[[Any, int], Value | None]


class JetTracer(Tracer):
    """A power series; None is a term that is zero."""

    __slots__ = ("later", "terms", "type")

    def __init__(
        self, trace: Trace, type: ArrayType, terms: Sequence[Any], later: Later
    ) -> None:
        self.owner = trace
        self.type = type
        self.terms = list(terms)
        #: ``later(self, k)``: term k, where those before are known
        self.later = later

    def term(self, k: int) -> Value | None:
        """Term k, in the meaning of the trace below."""
        while len(self.terms) <= k:
            self.terms.append(self.later(self, len(self.terms)))
        return self.terms[k]

    def filled(self, k: int) -> Value:
        """Term k, as an array also where it is zero."""
        term = self.term(k)
        return zeros(self.type) if term is None else term


class JetTrace(Trace):
    """Computes the terms up to ``order`` of series, in ``parent``."""

    def __init__(self, parent: Trace, order: int, name: str = "") -> None:
        self.parent = parent
        self.axes, self.mesh = parent.axes, parent.mesh
        self.checked_axes = parent.checked_axes
        self.order = order
        self.name = name
        #: while the terms of one operation are computed: what was made so far
        self.made: dict[Any, Any] | None = None

    def value(self, x: Any) -> Any:
        return x.filled(0) if self._is_series(x) else x

    def _is_series(self, x: Any) -> bool:
        return type(x) is JetTracer and x.owner is self

    def series(self, type: ArrayType, terms: Sequence[Any]) -> JetTracer:
        """The series with these terms, and no others."""
        return JetTracer(self, type, terms, lambda _, k: None)

    def process(self, op: Primitive, args: Sequence[Any]) -> Sequence[Any]:
        if not any(map(self._is_series, args)):
            return self._below(self.parent.process, op, args)
        inlined = _inlined(op)
        if inlined is not None:
            return run(inlined.jaxpr, inlined.taken(args))
        if self.made is not None:
            return self._remembered(op, args)
        self.made = {}
        try:
            outs = self._remembered(op, args)
            for out in outs:  # now, so that nothing asks far back for it
                if self._is_series(out):
                    self._below(out.term, self.order)
        finally:
            self.made = None
        return outs

    def _below(self, compute: Callable[..., Any], *args: Any) -> Any:
        """Compute in the meaning of the trace below."""
        with as_current(self.parent):
            return compute(*args)

    def _remembered(self, op: Primitive, args: Sequence[Any]) -> Sequence[Any]:
        """The results of an operation; the same ones for the same operands."""
        assert self.made is not None, "set by process"
        key = (op, *map(_identity, args))
        if key not in self.made:
            # With the operands, so that their identities stay theirs.
            self.made[key] = self._below(self._made, op, args), args
        return self.made[key][0]

    def _made(self, op: Primitive, args: Sequence[Any]) -> Sequence[Any]:
        if _repeats(op):
            return self._stacked(op, args)
        outs = self.parent.process(op, list(map(self.value, args)))
        later = self._later(op, args)
        return [
            JetTracer(self, out.type, [out], later(i)) if out.type.inexact else out
            for i, out in enumerate(outs)
        ]

    # -- terms of results --------------------------------------------------------------

    def _later(self, op: Any, args: Sequence[Any]) -> Callable[[int], Later]:
        """For the number of a result, the function that gives its later terms."""
        series = [i for i, a in enumerate(args) if self._is_series(a)]

        def linear_in(indices: Sequence[int]) -> bool:
            linear = {i: Linear(args[i].type) for i in indices}
            return op.linear_in([linear.get(i, a) for i, a in enumerate(args)])

        ruled = isinstance(op, ProgramPrimitive) and op.rules_read_operands
        if ruled:  # what a user says is the derivative
            return self._by_derivative(op, args)
        if linear_in(series):
            # Constants that are added, and do not multiply, have no later terms.
            others = [n for n, a in enumerate(args) if a.type.inexact]
            added = [n for n in others if n in series or linear_in([*series, n])]
            return lambda i: lambda _, k: self._linear_term(op, args, added, k, i)
        if all([linear_in([i]) for i in series]):
            return lambda i: lambda _, k: self._product_term(op, args, series, k)
        if isinstance(op, Div):
            return lambda i: lambda y, k: _quotient_term(y, args[0], args[1], k)
        return self._by_derivative(op, args)

    def _by_derivative(self, op: Any, args: Sequence[Any]) -> Callable[[int], Later]:
        slopes = functools.cache(lambda: self._slopes(op, args))
        return lambda i: lambda _, k: self._integrated(slopes()[i], k)

    def _linear_term(
        self, op: Any, args: Sequence[Any], linear: Sequence[int], k: int, i: int
    ) -> Value | None:
        terms = [args[n].term(k) if self._is_series(args[n]) else None for n in linear]
        if all([t is None for t in terms]):
            return None
        operands = [*args]
        for n, term in zip(linear, terms, strict=True):
            operands[n] = zeros(args[n].type) if term is None else term
        return self.parent.process(op, operands)[i]

    def _product_term(
        self, op: Any, args: Sequence[Any], series: Sequence[int], k: int
    ) -> Value | None:
        total = None
        for powers in itertools.product(range(k + 1), repeat=len(series) - 1):
            columns = zip(series, (*powers, k - sum(powers)), strict=True)
            terms = {n: args[n].term(p) if p >= 0 else None for n, p in columns}
            if any([t is None for t in terms.values()]):
                continue
            operands = [terms.get(n, a) for n, a in enumerate(args)]
            (product,) = self.parent.process(op, operands)
            total = product if total is None else add(total, product)
        return total

    def _slopes(self, op: Any, args: Sequence[Any]) -> Sequence[Any]:
        """The derivatives of the results, by the rule, which is run on series."""
        tangents = [self._slope(a) if self._is_series(a) else None for a in args]
        with as_current(self):
            return op.differentiate(self, self, args, tangents)[1]

    def _slope(self, x: JetTracer) -> JetTracer:
        """The derivative of a series: term k is (k + 1) xₖ₊₁."""

        def later(_: Any, k: int) -> Value | None:
            term = x.term(k + 1)
            return term if not k or term is None else mul(term, _number(k + 1, term))

        return JetTracer(self, x.type.strong(), [], later)

    def _integrated(self, slope: Any, k: int) -> Value | None:
        """Term k of a series with this derivative."""
        if self._is_series(slope):
            slope = slope.term(k - 1)
        elif k > 1:  # a constant
            return None
        return slope if slope is None or k == 1 else div(slope, _number(k, slope))

    # -- programs ----------------------------------------------------------------------

    def _stacked(self, op: Any, args: Sequence[Any]) -> Sequence[Any]:
        """The results of a loop or a branch, on operands with an axis for the terms."""
        types, count = [a.type for a in args], self.order + 1
        taken = [(r.operands, r.jaxpr.in_types) for r in op.regions]
        operands = [
            self.value(a) if axis is None else Stack(axis)(*self.all_terms(a))
            for a, axis in zip(args, _term_axes(types, taken), strict=True)
        ]
        made = op.with_programs(lambda program: program.memo(on_series, self.order))
        outs = self.parent.process(made, operands)
        out_types = op.type_rule(*types)
        given = [(r.results, r.jaxpr.out_types) for r in op.regions]
        columns = zip(outs, out_types, _term_axes(out_types, given), strict=True)
        return [
            out if axis is None else self.series(t, _unstacked(out, count, axis))
            for out, t, axis in columns
        ]

    def all_terms(self, x: Any) -> list[Value]:
        """All terms of a series, or of a constant."""
        if self._is_series(x):
            return [x.filled(k) for k in range(self.order + 1)]
        return [x, *[zeros(x.type.strong())] * self.order]


def _quotient_term(y: JetTracer, u: Any, v: JetTracer, k: int) -> Value | None:
    """Term k of y = u / v."""
    rest = u.term(k) if type(u) is JetTracer and u.owner is y.owner else None
    for j in range(1, k + 1):
        factor, before = v.term(j), y.term(k - j)
        if factor is not None and before is not None:
            product = mul(factor, before)
            rest = neg(product) if rest is None else sub(rest, product)
    return None if rest is None else div(rest, v.filled(0))


def _number(k: int, like: Value) -> Array:
    return scalar(k, like.type.dtype)


def _identity(x: Any) -> Any:
    """A key by which operands are the same: small known ones by value."""
    if type(x) is ConcreteArray and x.type.size <= _SMALL and x.on_host():
        return x.type, x.host().tobytes()
    return id(x)


# -- operations that carry programs ----------------------------------------------------


def _inlined(op: Any) -> Region | None:
    """The program that an operation runs once, as if it stood in its place."""
    if len(op.regions) != 1 or op.carries_functions:
        return None
    if op.rules_read_operands or op.bound_axes:
        return None
    (region,) = op.regions
    return region if region.kind is Kind.CALL else None


def _repeats(op: Any) -> bool:
    """Whether an operation chooses or repeats programs."""
    kinds = {region.kind for region in op.regions}
    return bool(kinds) and kinds <= {Kind.BRANCH, Kind.LOOP} and not op.bound_axes


def _term_axes(types: Sequence[ArrayType], inner: Sequence[Any]) -> list[int | None]:
    """Where operands, or results, get an axis for their terms: in front, as programs
    take them; so behind the steps of a loop, where a step takes one element.

    ``inner`` has, for each program, their numbers and their types in it.
    """
    axes: list[int | None] = [None] * len(types)
    for numbers, inner_types in inner:
        for i, type_ in zip(numbers, inner_types, strict=True):
            if i is not None and type_.inexact:
                axes[i] = types[i].ndim - type_.ndim
    return axes


def on_series(jaxpr: Jaxpr, order: int) -> Jaxpr:
    """The program on series: its inexact inputs and outputs have a leading axis for the
    terms (memoise on the program).
    """
    count = order + 1

    def whole(*args: Any) -> list[Any]:
        given = zip(args, jaxpr.in_types, strict=True)
        inputs = [_unstacked(x, count) if t.inexact else [x] for x, t in given]
        outs = jet_flat(lambda *xs: run(jaxpr, xs), inputs, order, jaxpr.name)
        found = zip(outs, jaxpr.out_types, strict=True)
        return [Stack(0)(*terms) if t.inexact else terms[0] for terms, t in found]

    types = [t.with_axis(0, count) if t.inexact else t for t in jaxpr.in_types]
    return restage(whole, types, f"{jaxpr.name}_series")


def _unstacked(x: Value, count: int, axis: int = 0) -> list[Array]:
    return [lax.index_in_dim(x, k, axis, keepdims=False) for k in range(count)]


def jet_flat(
    fun: Callable[..., Sequence[Any]],
    inputs: Sequence[Sequence[Any]],
    order: int,
    name: str,
) -> list[list[Any]]:
    """The terms of the results of a flat function, up to an order, for those of its
    inputs. Of what is not a series there is one term.
    """
    trace = JetTrace(current.trace, order, name)
    series = [
        trace.series(xs[0].type, xs) if xs[0].type.inexact else xs[0] for xs in inputs
    ]
    outs = trace.run(fun, series)
    return [trace.all_terms(o) if o.type.inexact else [o] for o in outs]

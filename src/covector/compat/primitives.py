"""``Primitive``: the open style in which packages of the field define operations.

A ``Primitive`` is a name, and its rules are entered one by one, into tables that anyone
may write to (``interpreters/tables.py``), at any time. For covector each call of
``bind`` is an operation (``Bound``): the primitive with its parameters. Its rules are
looked up in the tables when a trace asks for them, and not before. The page "Operations
of your own" has an example of each.
"""

import functools
from collections.abc import Callable, Collection, Sequence
from typing import Any

from covector.compat.interpreters import mlir
from covector.compat.interpreters.ad import UndefinedPrimal, Zero
from covector.compat.interpreters.batching import AxisData
from covector.compat.interpreters.tables import (
    fancy_primitive_batchers,
    lowerings,
    missing,
    primitive_batchers,
    primitive_jvps,
    primitive_transposes,
)
from covector.core import primitive as core
from covector.core.annotations import BatchDims, Tangents, Value, Values
from covector.core.array_like import Array
from covector.core.convert import as_array, type_of
from covector.core.effects import LASTS
from covector.core.operation_caches import same_data
from covector.core.trace import Trace, Tracer, as_current, current
from covector.core.types import ArrayType
from covector.errors import TypeMismatch, how_many
from covector.lowering.evaluate import base, evaluate_compiled
from covector.programs.custom_rules.derivative_checks import checked
from covector.transforms.batch import ShardedAxis, name_of
from covector.transforms.linearize import SplitTrace


class Primitive:
    """An operation by its name, with rules that are entered one by one."""

    #: whether it gives a list of results
    multiple_results = False
    #: whether its first operand is a function that it calls; kept for those who ask
    call_primitive = False
    map_primitive = False
    #: parameters that are a ``Jaxpr`` and not a ``ClosedJaxpr``
    opened: Collection[str] = ()

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name

    # -- its rules ---------------------------------------------------------------------

    def def_impl(self, impl: Callable[..., Any]) -> Callable[..., Any]:
        """Set what it is on arrays: ``impl(*arrays, **params)``."""
        self.impl = impl
        return impl

    def def_abstract_eval(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Set which types come out: ``rule(*avals, **params)``."""
        self.abstract_eval = lambda *avals, **params: (rule(*avals, **params), ())
        return rule

    def def_effectful_abstract_eval(
        self, rule: Callable[..., Any]
    ) -> Callable[..., Any]:
        """Set which types come out, and which effects it has: a pair of them.

        An operation with effects is kept where nobody reads its results.
        """
        self.abstract_eval = rule
        return rule

    def impl(self, *args: Any, **params: Any) -> Any:
        """What it is on arrays: where nobody says it, it is compiled by itself."""
        if self not in lowerings:
            wanted = "{p}.def_impl(rule), with rule(*arrays, **params)."
            raise missing(self.name, "evaluation", wanted)
        return self.apply(*args, **params)

    def abstract_eval(self, *avals: Any, **params: Any) -> Any:
        """The types that come out, and the effects."""
        raise missing(
            self.name,
            "types, which tracing needs",
            "{p}.def_abstract_eval(rule), where rule(*avals, **params) gives a "
            "ShapedArray for each result.",
        )

    def rule_entered(self, method: str) -> None:
        """A rule was entered into a table, for this rule of operations."""

    # -- calls -------------------------------------------------------------------------

    def bind(self, *args: Any, **params: Any) -> Any:
        """It on these operands, in the meaning of the current trace."""
        operands = [as_array(a, self.name) for a in args]
        trace = current.trace
        if trace is base and not any([isinstance(x, Tracer) for x in operands]):
            return self.impl(*operands, **params)
        outs = trace.process(self.operation(params), operands)
        return list(outs) if self.multiple_results else outs[0]

    def bind_with_trace(
        self, trace: Trace, args: Sequence[Any], avals: Any, params: dict[str, Any], /
    ) -> Any:
        """It on these operands, in the meaning of a trace."""
        with as_current(trace):
            return self.bind(*args, **params)

    def operation(
        self, params: dict[str, Any], types: Sequence[ArrayType] = ()
    ) -> core.Primitive:
        """The operation of covector that it is with these parameters, for operands of
        these types.
        """
        return Bound(self, params)

    def params_of(self, op: Any, types: Sequence[ArrayType]) -> dict[str, Any]:
        """The parameters of an operation of this primitive, on operands of these types;
        programs are still those of covector.
        """
        return op.params

    def results_of(
        self, op: Any, types: Sequence[ArrayType]
    ) -> Sequence[int | ArrayType]:
        """For each result in the field the number of ours, or else its type."""
        return range(len(op.plan(tuple(types)).outs))

    def get_bind_params(self, params: dict[str, Any]) -> dict[str, Any]:
        """The parameters that ``bind`` takes, from those of an equation."""
        return dict(params)

    def apply(self, *args: Any, **params: Any) -> Any:
        """It on arrays, compiled by itself: an ``impl`` for primitives that have rules
        for types and for compilation. What is compiled is kept.
        """
        op: Any = _kept(self.operation(params))
        operands = [as_array(a, self.name) for a in args]
        plan = op.plan(tuple([x.type for x in operands]))
        outs = evaluate_compiled(op, plan, operands)
        return list(outs) if self.multiple_results else outs[0]


@functools.lru_cache(1024)
def _kept(op: core.Primitive) -> core.Primitive:
    """The first one of equal operations."""
    return op


class Bound(core.Primitive):
    """A primitive with its parameters, as an operation of covector.

    Parameters may be anything; ``same_data`` says which are the same.
    """

    interned = False
    foldable = False
    fields = ("primitive", "params")

    primitive: Primitive
    params: dict[str, Any]

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.primitive.name)
        object.__setattr__(self, "multiple_results", self.primitive.multiple_results)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Bound)
            and self.primitive is other.primitive
            and self.params.keys() == other.params.keys()
            and all([same_data(x, other.params[k]) for k, x in self.params.items()])
        )

    def __hash__(self) -> int:
        return hash((self.primitive, *self.params))

    def __repr__(self) -> str:
        shown = ", ".join([f"{k}={v!r}" for k, v in self.params.items()])
        return f"{self.name}({shown})"

    @property
    def parameters(self) -> dict[str, Any]:
        return self.params

    # -- types and values --------------------------------------------------------------

    def type_rule(self, *types: ArrayType) -> Sequence[ArrayType]:
        found, effects = self.primitive.abstract_eval(*types, **self.params)
        if effects:
            object.__setattr__(self, "effects", LASTS)
        outs = self._list(found, "types")
        if not all([hasattr(x, "shape") and hasattr(x, "dtype") for x in outs]):
            raise self._mismatch("types", "a ShapedArray for each result", found)
        return list(map(type_of, outs))

    def evaluate(self, *args: Value) -> Sequence[Array]:
        found = self.primitive.impl(*args, **self.params)
        return self._arrays(found, "evaluation")

    def lower(self, ctx: Any, *operands: Any) -> Any:
        return mlir.lower(self.primitive, ctx, operands, self.params)

    # -- derivatives -------------------------------------------------------------------

    def differentiate(
        self, parent: Trace, tangent_trace: Any, primals: Values, tangents: Tangents
    ) -> tuple[Sequence[Any], Sequence[Any]]:
        """By the rule for forward mode. In reverse mode what touches a tangent is
        staged, and transposed later.
        """
        rule = primitive_jvps.rule(self.primitive)
        forward = tangent_trace is parent
        current.trace = parent if forward else SplitTrace(parent, tangent_trace)
        pairs = zip(primals, tangents, strict=True)
        filled = [Zero(p.type.tangent()) if t is None else t for p, t in pairs]
        found = rule(tuple(primals), tuple(filled), **self.params)
        primal, tangent = self._pair(found, "derivatives", "the value and its tangent")
        outs = self._arrays(primal, "derivatives")
        moved = self._list(tangent, "derivatives", len(outs))
        types = [o.type for o in outs]
        out_tangents = checked(moved, types, self._rule("derivatives"), "tangent")
        if not forward and any(
            [getattr(o, "owner", None) is tangent_trace for o in outs]
        ):
            # It computed values and tangents together, which are staged as a whole.
            current.trace = parent
            op = self.primitive.operation(self.params, [p.type for p in primals])
            outs = list(parent.process(op, primals))
        return outs, out_tangents

    def transpose(
        self, cotangents: Sequence[Value | None], *args: core.Operand
    ) -> Sequence[Value | None]:
        rule = primitive_transposes.rule(self.primitive)
        types = self.plan(tuple([a.type for a in args])).outs
        pairs = zip(cotangents, types, strict=True)
        cts = [Zero(t.tangent()) if ct is None else ct for ct, t in pairs]
        operands = [
            UndefinedPrimal(a.type) if isinstance(a, core.Linear) else a for a in args
        ]
        given = cts if self.multiple_results else cts[0]
        found = rule(given, *operands, **self.params)
        if found is None or found is Zero or isinstance(found, Zero):
            return [None] * len(args)
        each = how_many(len(args), "operand")
        wanted = f"a list with a cotangent, or None, for each of {each}"
        given = self._several(found, "reverse mode", wanted, len(args))
        types = [a.type for a in args]
        return checked(given, types, self._rule("reverse mode"), "cotangent")

    def linear_in(self, args: Sequence[core.Operand]) -> bool:
        return self.primitive in primitive_transposes

    # -- batches -----------------------------------------------------------------------

    @property
    def carries_functions(self) -> bool:  # type: ignore[override]
        """Whether its rule is asked also where nothing is batched over a named axis."""
        return self.primitive in fancy_primitive_batchers

    def batch(self, size: int, args: Values, dims: BatchDims) -> Any:
        return self.batch_named(None, size, args, dims)

    def batch_named(self, axis: Any, size: int, args: Values, dims: BatchDims) -> Any:
        values, axes = tuple(args), tuple(dims)
        fancy = fancy_primitive_batchers.get(self.primitive)
        if fancy is not None:
            over = axis.over if isinstance(axis, ShardedAxis) else None
            data = AxisData(name_of(axis), size, over)
            found = fancy(data, values, axes, **self.params)
        else:
            rule = primitive_batchers.rule(self.primitive)
            found = rule(values, axes, **self.params)
        out, out_dim = self._pair(found, "vmap", "the result and its batch axis")
        outs = self._arrays(out, "vmap")
        out_dims = self._list(out_dim, "vmap", len(outs))
        for x, d in zip(outs, out_dims, strict=True):
            if d is not None and not (0 <= d < x.type.ndim and x.type.shape[d] == size):
                wanted = f"the axis of each result that is of size {size}, or None"
                raise self._mismatch("vmap", wanted, f"{d} for {x.type}")
        return outs, out_dims

    # -- what rules return -------------------------------------------------------------

    def _rule(self, rule: str) -> str:
        return f"the rule of {self.name} for {rule}"

    def _mismatch(self, rule: str, wanted: str, found: Any) -> TypeMismatch:
        words = f"{self._rule(rule)} must return {wanted}, but it returned {found}."
        return TypeMismatch(words)

    def _several(
        self, found: Any, rule: str, wanted: str, count: int | None = None
    ) -> Sequence[Any]:
        if not isinstance(found, tuple | list) or count not in (None, len(found)):
            raise self._mismatch(rule, wanted, found)
        return found

    def _pair(self, found: Any, rule: str, wanted: str) -> Sequence[Any]:
        return self._several(found, rule, f"a pair, {wanted}", 2)

    def _list(self, found: Any, rule: str, count: int | None = None) -> Sequence[Any]:
        """What a rule returned, one for each result."""
        if not self.multiple_results:
            return [found]
        wanted = "a list" if count is None else f"a list of {count}"
        wanted += f" (one for each result, since {self.name} has multiple_results)"
        return self._several(found, rule, wanted, count)

    def _arrays(self, found: Any, rule: str) -> list[Array]:
        return [as_array(x, self._rule(rule)) for x in self._list(found, rule)]

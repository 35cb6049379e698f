"""``Primitive``: the open style in which packages of the field define operations.

A ``Primitive`` is a name, and its rules are entered one by one, into tables that anyone
may write to (``rules.py``), at any time. For covector, each call of ``bind`` is an
operation (``Bound``): the primitive with its parameters. Its rules are looked up in the
tables when a trace asks for them, and not before.

    from jax.extend.core import Primitive
    from jax.interpreters import ad, batching, mlir

    double_p = Primitive("double")
    double_p.def_impl(lambda x: 2 * x)
    double_p.def_abstract_eval(lambda x: x)
    ad.deflinear(double_p, lambda ct: [double_p.bind(ct)])
    batching.defvectorized(double_p)
    mlir.register_lowering(double_p, mlir.lower_fun(lambda x: 2 * x, False))
"""

from collections.abc import Callable, Sequence
from typing import Any

from covector.compat.rules import (
    UndefinedPrimal,
    Zero,
    fancy_primitive_batchers,
    lowerings,
    primitive_batchers,
    primitive_jvps,
    primitive_transposes,
)
from covector.core import primitive as core
from covector.core.annotations import BatchDims, Tangents, Value, Values
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.core.effects import CALLS
from covector.core.trace import Trace, Tracer, current
from covector.core.types import ArrayType
from covector.errors import MissingRule
from covector.lowering.evaluate import base
from covector.transforms.batch import name_of
from covector.transforms.linearize import SplitTrace


class Primitive:
    """An operation by its name, with rules that are entered one by one."""

    #: whether it gives a list of results
    multiple_results = False
    #: whether it calls a program that is its first operand; of covector, none does
    call_primitive = False
    map_primitive = False

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name

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
        """Set which types and which effects come out, a pair of them."""
        self.abstract_eval = rule
        return rule

    def impl(self, *args: Any, **params: Any) -> Any:
        raise MissingRule(
            f"{self.name} has no rule for evaluation. Give it one with "
            f"{self.name}.def_impl(function of arrays)."
        )

    def abstract_eval(self, *avals: Any, **params: Any) -> Any:
        raise MissingRule(
            f"{self.name} has no rule for types, which tracing needs. Give it one with "
            f"{self.name}.def_abstract_eval(function of ShapedArrays)."
        )

    def operation(self, params: dict[str, Any]) -> core.Primitive:
        """The operation of covector that it is with these parameters."""
        return Bound(self, params)

    def bind(self, *args: Any, **params: Any) -> Any:
        """It on these operands, in the meaning of the current trace."""
        trace = current.trace
        if trace is base and not any([isinstance(a, Tracer) for a in args]):
            return self.impl(*args, **params)
        return self.bind_with_trace(trace, args, None, params)

    def bind_with_trace(
        self, trace: Trace, args: Sequence[Any], avals: Any, params: dict[str, Any], /
    ) -> Any:
        """It on these operands, in the meaning of a trace."""
        operands = [as_array(a, self.name) for a in args]
        outs = trace.process(self.operation(params), operands)
        return list(outs) if self.multiple_results else outs[0]

    def get_bind_params(self, params: dict[str, Any]) -> dict[str, Any]:
        """The parameters that ``bind`` takes, from those of an equation."""
        return dict(params)


class Bound(core.Primitive):
    """A ``Primitive`` with its parameters, as an operation of covector."""

    interned = False
    #: so that it is staged, and never evaluated while a program is traced
    effects = CALLS
    fields = ("primitive", "params")

    primitive: Primitive
    params: dict[str, Any]

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.primitive.name)
        object.__setattr__(self, "multiple_results", self.primitive.multiple_results)

    @property
    def parameters(self) -> dict[str, Any]:
        return self.params

    def __repr__(self) -> str:
        shown = ", ".join([f"{k}={v!r}" for k, v in self.params.items()])
        return f"{self.name}({shown})"

    def _several(self, out: Any) -> list[Any]:
        return list(out) if self.multiple_results else [out]

    def _as_declared(self, outs: Sequence[Any]) -> Any:
        return list(outs) if self.multiple_results else outs[0]

    # -- types and values --------------------------------------------------------------

    def type_rule(self, *types: ArrayType) -> Sequence[ArrayType]:
        out, _ = self.primitive.abstract_eval(*types, **self.params)
        return self._several(out)

    def evaluate(self, *args: Value) -> Sequence[Array]:
        out = self.primitive.impl(*args, **self.params)
        return [as_array(x, self.name) for x in self._several(out)]

    def lower(self, ctx: Any, *operands: Any) -> Any:
        return lowerings[self.primitive](ctx, *operands, **self.params)

    # -- derivatives -------------------------------------------------------------------

    def differentiate(
        self, parent: Trace, tangent_trace: Any, primals: Values, tangents: Tangents
    ) -> tuple[Sequence[Any], Sequence[Any]]:
        current.trace = parent
        if tangent_trace is not parent:
            current.trace = SplitTrace(parent, tangent_trace)
        pairs = zip(primals, tangents, strict=True)
        filled = [Zero(p.type.tangent()) if t is None else t for p, t in pairs]
        rule = primitive_jvps[self.primitive]
        out, out_tangent = rule(tuple(primals), tuple(filled), **self.params)
        outs = [as_array(x, self.name) for x in self._several(out)]
        out_tangents = self._several(out_tangent)
        return outs, [None if type(t) is Zero else t for t in out_tangents]

    def transpose(
        self, cotangents: Sequence[Value | None], *args: Any
    ) -> Sequence[Value | None]:
        types = self.plan(tuple([a.type for a in args])).outs
        pairs = zip(cotangents, types, strict=True)
        cts = [Zero(t.tangent()) if ct is None else ct for ct, t in pairs]
        operands = [
            UndefinedPrimal(a.type) if type(a) is core.Linear else a for a in args
        ]
        rule = primitive_transposes[self.primitive]
        found = rule(self._as_declared(cts), *operands, **self.params)
        if found is Zero:
            return [None] * len(args)
        return [None if type(ct) is Zero else ct for ct in found]

    def linear_in(self, args: Sequence[Any]) -> bool:
        return self.primitive in primitive_transposes

    # -- batches -----------------------------------------------------------------------

    @property
    def carries_functions(self) -> bool:
        return self.primitive in fancy_primitive_batchers

    def batch(self, size: int, args: Values, dims: BatchDims) -> Any:
        return self.batch_named(None, size, args, dims)

    def batch_named(self, axis: Any, size: int, args: Values, dims: BatchDims) -> Any:
        if self.primitive in fancy_primitive_batchers:
            rule = fancy_primitive_batchers[self.primitive]
            out, out_dim = rule((size, name_of(axis)), args, dims, **self.params)
        else:
            rule = primitive_batchers[self.primitive]
            out, out_dim = rule(args, dims, **self.params)
        return self._several(out), self._several(out_dim)

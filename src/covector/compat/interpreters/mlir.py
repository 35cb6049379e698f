"""``jax.interpreters.mlir``: how primitives are compiled.

A rule is called as ``rule(ctx, *values, **params)`` and gives values of MLIR. It is
either another function, traced and written in its place (``lower_fun``), or writes
operations of MLIR itself: the context, the location and the point of insertion of
``jaxlib.mlir`` are set while it runs.
"""

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from covector import tree
from covector.callbacks.callback import IOCallback, PureCallback
from covector.callbacks.host_functions import Arguments, HostFunction, ResultSpec
from covector.compat.interpreters.tables import Rule, lowerings, missing
from covector.core import dtypes
from covector.core.convert import as_array
from covector.core.jaxpr import Equation, Var
from covector.core.types import ArrayType
from covector.errors import TypeMismatch
from covector.lowering import hlo, spelling
from covector.lowering.spelling import HloValue
from covector.programs.spmd.manual import ManualAxes

#: MLIR itself, of jaxlib
ir: Any = hlo.ir  # type: ignore[attr-defined]

#: platforms of covector by their names in the field
_PLATFORMS = {"cuda": "gpu"}


def register_lowering(
    prim: Any, rule: Rule, platform: str | None = None, **_: Any
) -> None:
    """Set how a primitive is compiled, everywhere or for one platform."""
    where = _PLATFORMS.get(platform, platform) if platform else None
    lowerings.setdefault(prim, {})[where] = rule
    prim.rule_entered("lower")


@dataclass
class ModuleContext:
    """The module that is being written."""

    platforms: Sequence[str]
    module: Any
    #: what has to live as long as the program; here, programs keep what they call
    keepalives: list[Any] = field(default_factory=list)

    @property
    def context(self) -> Any:
        return self.module.context

    def add_keepalive(self, keepalive: Any) -> None:
        self.keepalives.append(keepalive)


@dataclass(frozen=True)
class LoweringRuleContext:
    """What a rule is told of the equation that it lowers."""

    #: covector's own
    lowering: Any
    primitive: Any
    avals_in: Sequence[ArrayType]
    avals_out: Sequence[ArrayType]
    module_context: ModuleContext

    @property
    def platforms(self) -> Sequence[str]:
        return self.module_context.platforms

    def replace(self, **changes: Any) -> "LoweringRuleContext":
        return replace(self, **changes)

    def with_types(self, ins: Sequence[ArrayType], outs: Sequence[ArrayType]) -> Any:
        """Covector's ``Lowering``, at an equation with these types."""
        variables = list(map(Var, ins)), list(map(Var, outs))
        at = self.lowering.equation
        self.lowering.equation = Equation(at.op, *variables, at.line)
        return self.lowering


def lower(primitive: Any, lowering: Any, operands: Sequence[Any], params: Any) -> Any:
    """The values that the rule of a primitive gives.

    Raises:
      MissingRule: it has none, for this platform.
    """
    platform = lowering.platform
    rules = lowerings.get(primitive, {})
    rule = rules.get(platform) or rules.get(None)
    if rule is None:
        raise missing(
            primitive.name,
            f"compilation for {platform}",
            "jax.interpreters.mlir.register_lowering({p}, "
            "mlir.lower_fun(function, multiple_results=…)).",
        )
    platforms = [name for name, ours in _PLATFORMS.items() if ours == platform]
    ctx = LoweringRuleContext(
        lowering,
        primitive,
        lowering.in_types,
        lowering.out_types,
        ModuleContext(platforms or [platform], lowering.module.module.module),
    )
    with lowering.point, lowering.location:
        values = flatten_ir_values(hlo.results(rule(ctx, *operands, **params)))
    found = [str(v.type) for v in values]
    wanted = [str(hlo.tensor_type(t)) for t in ctx.avals_out]
    if found != wanted:
        raise TypeMismatch(
            f"the rule of {primitive.name} for compilation must give values of the "
            f"types {', '.join(wanted)}, as its rule for types says, but it gave "
            f"{', '.join(found)}."
        )
    return values


def lower_fun(fun: Callable[..., Any], multiple_results: bool = True) -> Rule:
    """A rule that compiles a primitive as ``fun`` of arrays."""

    def rule(ctx: LoweringRuleContext, *values: HloValue, **params: Any) -> Any:
        def flat(*args: Any) -> list[Any]:
            out = fun(*args, **params)
            who = f"lower_fun of {ctx.primitive} (multiple_results={multiple_results})"
            return [as_array(x, who) for x in (out if multiple_results else [out])]

        lowering = ctx.with_types(ctx.avals_in, ctx.avals_out)
        with _named_axes(lowering.module):
            return lowering.through(flat, *values)

    return rule


def _named_axes(module: Any) -> contextlib.AbstractContextManager[None]:
    """The axes that a function may name: those of the shard_map that is lowered."""
    if module.mesh is None:
        return contextlib.nullcontext()
    return ManualAxes(module.mesh, module.manual_axes, checked=False).inside()


def emit_python_callback(  # noqa: PLR0913, PLR0917  the parameters that it has there
    ctx: LoweringRuleContext,
    callback: Callable[..., Any],
    token: Any,
    operands: Sequence[HloValue],
    operand_avals: Sequence[ArrayType],
    result_avals: Sequence[ArrayType],
    *,
    has_side_effect: bool,
    **_: Any,
) -> tuple[Sequence[HloValue], Any, Any]:
    """Call a Python function of arrays that gives a tuple of them; the values, the
    token, and what has to be kept alive.
    """
    types, outs = list(operand_avals), tuple(result_avals)
    arguments = Arguments(tree.structure((tuple(types), {})))
    result = ResultSpec(tree.structure(outs), outs)
    function = HostFunction(callback, arguments, result, f"{ctx.primitive}'s callback")
    op = (IOCallback if has_side_effect else PureCallback)(function)
    values = op.lower(ctx.with_types(types, outs), *operands)
    return hlo.results(values), token, callback


# -- types and constants ---------------------------------------------------------------


def flatten_ir_values(values: Any) -> list[HloValue]:
    """The values in nested sequences."""
    return [
        v
        for x in values
        for v in ([x] if isinstance(x, ir.Value) else flatten_ir_values(hlo.results(x)))
    ]


def dtype_to_ir_type(dtype: Any) -> Any:
    """The MLIR type of elements."""
    found: Any = dtypes.as_dtype(dtype)
    return ir.Type.parse(spelling.element_name(found))


def aval_to_ir_type(*ctx_and_aval: Any) -> Any:
    """The MLIR type of an array: of ``(aval)``, or of ``(ctx, aval)``."""
    return hlo.tensor_type(ctx_and_aval[-1])


def ir_constant(val: Any, **_: Any) -> HloValue:
    """An array as a constant, at the point of insertion."""
    array: Any = as_array(val)
    made = ir.Operation.create(
        "stablehlo.constant",
        [hlo.tensor_type(array.type)],
        attributes={"value": hlo.constant(array.host(), array.type)},
    )
    return made.result


def _as_tuple(fun: Rule) -> Rule:
    return lambda *args, **options: (fun(*args, **options),)


aval_to_ir_types, ir_constants = _as_tuple(aval_to_ir_type), _as_tuple(ir_constant)


def dense_int_elements(xs: Any) -> Any:
    """Integers as an attribute with a shape."""
    return ir.DenseIntElementsAttr.get(np.asarray(xs, np.int64))


def dense_int_array(xs: Any) -> Any:
    """Integers as an attribute: axes, sizes or strides."""
    return hlo.dims(tuple(map(int, xs)))


def _integer_attr(bits: int) -> Callable[[int], Any]:
    """The function that makes attributes of integers of so many bits."""
    return lambda i: ir.IntegerAttr.get(ir.IntegerType.get_signless(bits), i)


i32_attr, i64_attr = _integer_attr(32), _integer_attr(64)

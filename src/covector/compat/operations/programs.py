"""Operations that carry programs, rules or functions of the user."""

from collections.abc import Sequence
from typing import Any

from covector.compat.jaxprs import jaxpr_as_fun
from covector.compat.linear_util import WrappedFun, wrap_init
from covector.compat.operation_primitives import (
    OF_CLASS,
    OperationPrimitive,
    Params,
    Types,
    primitive,
)
from covector.compat.restaging import staged
from covector.core import primitive as core
from covector.core.trace import Trace
from covector.errors import ArgumentError
from covector.programs.custom_rules.captured_tracers import call_with_captured
from covector.programs.custom_rules.custom_call import CustomCall
from covector.programs.custom_rules.ruled_program import halves
from covector.programs.higher_order.call import Call
from covector.programs.spmd.manual import ManualAxes
from covector.transforms.transpose import instantiate

# -- programs --------------------------------------------------------------------------


class _Jit(OperationPrimitive):
    """``jit``, which may close over traced values: they become its first operands."""

    def process(
        self, trace: Trace, operands: Sequence[Any], params: Params
    ) -> Sequence[Any]:
        program, captured, _ = staged(params["jaxpr"], params.get("name", ""))
        op = program.memo(Call, params.get("separate", False))
        return trace.process(op, [*captured, *operands])


primitive(
    "jit name=jaxpr.name ctx_mesh~None keep_unused~False inline~False "
    "compiler_options_kvs~() donated_invars*False in_shardings*None in_layouts*None "
    "out_shardings/None out_layouts/None -separate",
    _Jit,
)


# -- over meshes -----------------------------------------------------------------------


def _manual_axes(params: Params) -> ManualAxes:
    return ManualAxes(params["mesh"], params["manual_axes"], params["check_vma"])


class _ShardMap(OperationPrimitive):
    """``shard_map``, whose program is written for the shards of a mesh."""

    def operation(self, params: Params, types: Types = ()) -> core.Primitive:
        with _manual_axes(params).inside():
            return super().operation(params, types)


primitive(
    "shard_map mesh=manual.mesh manual_axes=manual.axes check_vma=manual.checked "
    "+jaxpr",
    _ShardMap,
    implied={"manual": _manual_axes},
)


# -- rules of the user -----------------------------------------------------------------


class RuleFunction(WrappedFun):
    """A derivative rule of the user's, as an equation has it."""

    def __init__(self, op: CustomCall) -> None:
        super().__init__(self._forward)
        self.op = op

    def _forward(self, *values: Any) -> list[Any]:
        """The values and their tangents, from primals and tangents."""
        assert self.op.jvp is not None, "only equations of custom_jvp have it"
        outs, tangents = self.op.jvp(*halves(values))
        types = [x.type.tangent() for x in outs]
        return [*outs, *map(instantiate, tangents, types)]


class _CustomRules(OperationPrimitive):
    """``custom_jvp_call`` and ``custom_vjp_call``: a program, and rules for it."""

    #: the parameters that hold the rules
    rules: tuple[str, ...] = ()

    def params_of(self, op: Any, types: Types) -> Params:
        shown = {"call_jaxpr": op.fun, "num_consts": 0, "symbolic_zeros": False}
        return shown | dict.fromkeys(self.rules, RuleFunction(op))

    def get_bind_params(self, params: Params) -> Params:
        kept = ("call_jaxpr", "num_consts", *self.rules)
        others = {k: v for k, v in params.items() if k not in kept}
        fun = wrap_init(jaxpr_as_fun(params["call_jaxpr"]))
        return others | {"subfuns": (fun, *[params[k] for k in self.rules])}

    def process(
        self, trace: Trace, operands: Sequence[Any], params: Params
    ) -> Sequence[Any]:
        given = params if "subfuns" in params else self.get_bind_params(params)
        fun, rule, *_ = given["subfuns"]
        if isinstance(rule, RuleFunction):
            op = rule.op.replace(fun=fun.call_wrapped)
        else:
            op = self.of_functions(fun, rule)
        return call_with_captured(op, list(operands))

    def of_functions(self, fun: Any, rule: Any) -> CustomCall:
        """The operation of a function and a rule that are not of an equation."""
        raise ArgumentError(
            f"{self.name}.bind takes the functions of an equation of this primitive. "
            "A function with rules of its own is made by jax.custom_vjp."
        )


class _CustomJvp(_CustomRules):
    rules = ("jvp_jaxpr_fun",)

    def of_functions(self, fun: Any, rule: Any) -> CustomCall:
        def jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
            types = [p.type.tangent() for p in primals]
            filled = map(instantiate, tangents, types)
            return halves(list(rule.call_wrapped(*primals, *filled)))

        return CustomCall(fun.call_wrapped, jvp, None, self.name)


class _CustomVjp(_CustomRules):
    rules = ("fwd_jaxpr_thunk", "bwd")


_custom_jvp = primitive(f"custom_jvp_call({CustomCall.name})", _CustomJvp)
_custom_vjp = primitive(f"custom_vjp_call({CustomCall.name})", _CustomVjp)
OF_CLASS[CustomCall] = lambda op, types: _custom_jvp if op.vjp is None else _custom_vjp

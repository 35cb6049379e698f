"""Operations that carry programs, rules or functions of the user."""

from collections.abc import Sequence
from typing import Any

from covector.compat.jaxprs import jaxpr_as_fun
from covector.compat.linear_util import WrappedFun, wrap_init
from covector.compat.operation_primitives import (
    EXPANSIONS,
    OF_CLASS,
    OperationPrimitive,
    Params,
    Types,
    primitive,
)
from covector.compat.restaging import staged
from covector.core import dtypes
from covector.core.trace import Trace
from covector.errors import ArgumentError
from covector.operations.casting import ConvertElementType
from covector.programs.control_flow.cond import Cond
from covector.programs.custom_rules.captured_tracers import call_with_captured
from covector.programs.custom_rules.custom_call import CustomCall
from covector.programs.custom_rules.ruled_program import halves
from covector.programs.higher_order.call import Call
from covector.programs.spmd.manual import ManualAxes
from covector.programs.spmd.shard_map import ShardMap
from covector.transforms.transpose import instantiate

# -- control flow ----------------------------------------------------------------------


def _convert_then_choose(op: Any, types: Types) -> Any:
    """In the field the index of a branch is an integer, also between two."""
    if types[0].dtype is not dtypes.bool_:
        return None
    to_integer = ConvertElementType(dtypes.int32)
    return lambda index, *operands: op(to_integer(index), *operands)


EXPANSIONS[Cond] = _convert_then_choose


class _Jit(OperationPrimitive):
    """``jit``, which may close over traced values: they become its first operands."""

    def process(
        self, trace: Trace, operands: Sequence[Any], params: Params
    ) -> Sequence[Any]:
        program, captured, _ = staged(params["jaxpr"], params.get("name", ""))
        op = program.memo(Call, params.get("separate", False))
        return trace.process(op, [*captured, *operands])


def _for_operands(value: Any) -> Any:
    return lambda op, types: (value,) * len(types)


def _for_results(value: Any) -> Any:
    return lambda op, types: (value,) * len(op.jaxpr.outputs)


primitive(
    "jit ctx_mesh~None keep_unused~False inline~False compiler_options_kvs~() "
    "-separate",
    _Jit,
    derived={
        "name": lambda op, types: op.jaxpr.name,
        "donated_invars": _for_operands(False),
        "in_shardings": _for_operands(None),
        "out_shardings": _for_results(None),
        "in_layouts": _for_operands(None),
        "out_layouts": _for_results(None),
    },
)


# -- over meshes -----------------------------------------------------------------------


class _ShardMap(OperationPrimitive):
    """``shard_map``, whose program is written for the shards of a mesh."""

    def params_of(self, op: Any, types: Types) -> Params:
        return {
            "jaxpr": op.jaxpr,
            "mesh": op.manual.mesh,
            "in_specs": op.in_specs,
            "out_specs": op.out_specs,
            "manual_axes": op.manual.axes,
            "check_vma": op.manual.checked,
        }

    def operation(self, params: Params, types: Types = ()) -> Any:  # type: ignore[override]
        settings = [params[k] for k in ("mesh", "manual_axes", "check_vma")]
        manual = ManualAxes(*settings)
        with manual.inside():
            program, captured, _ = staged(params["jaxpr"])
        if captured:
            raise ArgumentError(
                "the program of shard_map has traced values among its consts. Pass "
                "them to the equation as operands, with a spec for each."
            )
        return ShardMap(program, manual, params["in_specs"], params["out_specs"])


primitive("shard_map +jaxpr", _ShardMap)


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

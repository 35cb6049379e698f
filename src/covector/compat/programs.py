"""Programs of covector in the field's classes: ``make_jaxpr``, and what it shows.

    Var                        the same; DropVar, where nothing reads it
    a scalar literal           Literal, unless a program around this one computed it
    another literal            a constvar, and the array itself among the consts
    a captured value           a constvar, and the value itself among the consts
    Equation(op, …)            JaxprEqn(primitive_of(op), params, …)
    a program in a field       a ClosedJaxpr among the params; for some, a Jaxpr

Where an operation is several of the field, the equations are those.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import covector.compat.operations  # noqa: F401  fills the tables
from covector.compat.jaxprs import (
    ClosedJaxpr,
    DebugInfo,
    DropVar,
    Jaxpr,
    JaxprEqn,
    Literal,
    SourceInfo,
)
from covector.compat.operation_primitives import primitive_of
from covector.compat.restaging import Origin, as_closed
from covector.core import dtypes, jaxpr
from covector.core.effects import CALLS
from covector.core.primitive import Primitive
from covector.core.source import is_own
from covector.core.staging import restage
from covector.core.trace import was_computed_while_tracing
from covector.core.types import ArrayType
from covector.dispatch import checkpoint as ours
from covector.dispatch.inspection import program_maker


def make_jaxpr(
    fun: Callable[..., Any],
    static_argnums: int | Sequence[int] = (),
    axis_env: Sequence[tuple[Any, int]] | None = None,
    return_shape: bool = False,
) -> Callable[..., Any]:
    """A function that gives the ``ClosedJaxpr`` of ``fun`` for its arguments.

    Its consts are what ``fun`` closes over, the same objects. The options are those of
    ``covector.make_jaxpr``.

    >>> import covector.numpy as cnp
    >>> print(make_jaxpr(lambda x: cnp.sin(x) * 2)(1.0))
    { lambda ; a:f32[]. let
        b:f32[] = sin[accuracy=None] a
        c:f32[] = mul b 2.0:f32[]
      in (c,) }
    """
    return program_maker(fun, closed_jaxpr, static_argnums, axis_env, return_shape)


def closed_jaxpr(program: jaxpr.Jaxpr, captured: Sequence[Any] = ()) -> ClosedJaxpr:
    """A program, and the values of its leading inputs, as a ``ClosedJaxpr``."""
    return _closed(program, captured) if captured else _kept(program, _closed)


def _closed(program: jaxpr.Jaxpr, captured: Sequence[Any] = ()) -> ClosedJaxpr:
    return _View(True).closed(program, captured)


def _open(program: jaxpr.Jaxpr) -> Jaxpr:
    return _View(False).closed(program).jaxpr


def _shown(value: Any, opened: bool) -> Any:
    """A parameter, with a view of each program in it."""
    if type(value) is tuple:
        return tuple([_shown(v, opened) for v in value])
    if isinstance(value, jaxpr.Jaxpr):
        return _kept(value, _open if opened else _closed)
    return value


def _kept(program: jaxpr.Jaxpr, make: Callable[..., Any]) -> Any:
    """The view of a program that is kept, unless somebody has changed it in place."""
    made = program.memo(make)
    closed = as_closed(made)
    return made if closed.origin.is_still(closed) else make(program)


def params_of(primitive: Any, op: Any, types: Sequence[Any]) -> dict[str, Any]:
    """The parameters of an operation on operands of these types, with a view of each
    program in them.
    """
    params = primitive.params_of(op, types).items()
    return {k: _shown(v, k in primitive.opened) for k, v in params}


def _is_literal(x: Any) -> bool:
    """A scalar, if it is not a result of a program around this one: known or not, that
    is what this one closes over, so that tracing it twice gives as many consts.
    """
    scalar = not x.type.shape and not dtypes.is_key(x.type.dtype)
    return scalar and not was_computed_while_tracing(x)


class _View:
    """The variables and consts of one ``Jaxpr`` that is being made."""

    def __init__(self, with_consts: bool) -> None:
        self.with_consts = with_consts
        #: what there is for variables of operations that are several of the field
        self.meant: dict[jaxpr.Var, Any] = {}
        #: by the identity of the array
        self.consts: dict[int, tuple[jaxpr.Var, Any]] = {}
        self.eqns: list[JaxprEqn] = []

    def closed(self, program: jaxpr.Jaxpr, captured: Sequence[Any] = ()) -> ClosedJaxpr:
        count = len(captured)
        inputs = program.inputs
        self.add(program)
        outs = [self.atom(a) for a in program.outputs]
        self.drop_unread(outs)
        hoisted = self.consts.values()
        shown = Jaxpr(
            [*inputs[:count], *[v for v, _ in hoisted]],
            inputs[count:],
            outs,
            self.eqns,
            program.effects - CALLS,
            DebugInfo("jit", program.name or "fun"),
        )
        made = ClosedJaxpr(shown, [*captured, *[x for _, x in hoisted]])
        if not captured:
            made.origin = shown.origin = Origin(program, made)
        return made

    def atom(self, a: Any) -> Any:
        if type(a) is jaxpr.Var:
            return self.meant.get(a, a)
        if not self.with_consts or _is_literal(a):
            return Literal(a, a.type)
        if id(a) not in self.consts:
            self.consts[id(a)] = jaxpr.Var(a.type), a
        return self.consts[id(a)][0]

    def add(self, program: jaxpr.Jaxpr) -> None:
        """The equations of a program, whose inputs are defined."""
        for equation in program.equations:
            inputs = [self.atom(a) for a in equation.inputs]
            types = [a.type for a in equation.inputs]
            self.equation(equation, inputs, types)

    def equation(
        self, equation: jaxpr.Equation, inputs: list[Any], types: list[Any]
    ) -> None:
        op: Any = equation.op
        plainer = op.written_out(types)
        if plainer is not None:
            program = restage(plainer, types)
            self.meant.update(zip(program.inputs, inputs, strict=True))
            self.add(program)
            outs = [self.atom(a) for a in program.outputs]
            self.meant.update(zip(equation.outputs, outs, strict=True))
            return
        primitive = primitive_of(op, types)
        outvars = [
            equation.outputs[i] if isinstance(i, int) else jaxpr.Var(i)
            for i in primitive.results_of(op, types)
        ]
        params = params_of(primitive, op, types)
        line = equation.line
        source = SourceInfo(line, line.scope if line is not None else "")
        effects = op.effects - CALLS
        self.eqns.append(JaxprEqn(inputs, outvars, primitive, params, effects, source))

    def drop_unread(self, outs: Sequence[Any]) -> None:
        """Nothing reads a DropVar."""
        read = {a for e in self.eqns for a in e.invars}.union(outs)
        for e in self.eqns:
            e.outvars = [v if v in read else DropVar(v.aval) for v in e.outvars]


# -- policies of checkpoint, which are asked with primitives ---------------------------


def checkpoint(
    fun: Callable[..., Any] | None = None, *, policy: Any = None, **options: Any
) -> Any:
    """``covector.checkpoint``, whose policy is asked in the field's terms."""
    return ours.checkpoint(fun, policy=policy and adapted(policy), **options)


@functools.lru_cache(256)
def adapted(policy: Callable[..., Any]) -> Callable[..., Any]:
    """A policy that is asked with primitives and parameters of the field; the same one
    each time, since programs are kept by their policies.
    """
    code = getattr(policy, "__code__", None)
    if code is None or is_own(code.co_filename):  # covector's own go by names
        return policy

    def asked(op: Primitive, *types: ArrayType, **_: Any) -> Any:
        primitive = primitive_of(op, types)
        return policy(primitive, *types, **params_of(primitive, op, types))

    return asked

"""A loss as a function of flat leaves, and as a program, where its gradient is checked.

Where it can be traced, it is run as a compiled program without its lasting effects: the
comparison calls it many times, and would print as often.
"""

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from covector import tree
from covector.analysis.difference_quotients import wide
from covector.analysis.passes.inlining import inline_calls
from covector.analysis.walk import visits
from covector.core.array_like import Array
from covector.core.convert import as_array, scalar
from covector.core.flat import FlatFunction, arrays, path_in_call, who_of
from covector.core.jaxpr import Jaxpr, run
from covector.core.masks import Mask
from covector.core.number_info import finfo
from covector.core.staging import stage
from covector.core.trace import Tracer
from covector.core.types import ArrayType
from covector.dispatch.jit import jit
from covector.errors import ArgumentError, CovectorError, NotDifferentiable, how_many
from covector.operations.identities import StopGradient
from covector.programs.higher_order.jaxpr_passes import without_effects
from covector.transforms.checks import check_scalar
from covector.transforms.linearize import linearize_flat
from covector.transforms.pullback import pull_back

Leaves = Callable[..., Sequence[Any]]


@dataclass(frozen=True, eq=False)
class Loss:
    """A loss, the leaves of its arguments, and which of them are differentiated.

    ``program`` takes the values in ``captured``, then the leaves; jitted functions are
    inlined in it. It is None of a function that can only run step by step.
    """

    who: str
    flat: FlatFunction
    primals: tuple[Array, ...]
    chosen: Mask
    paths: tuple[str, ...]
    #: for each leaf, the path of what holds it
    layers: tuple[str, ...]
    program: Jaxpr | None
    captured: tuple[Any, ...]

    @property
    def operands(self) -> list[Any]:
        """The operands of the program."""
        return [*self.captured, *self.primals]

    @property
    def active(self) -> list[int]:
        """The leaves that have a gradient."""
        pairs = zip(self.chosen, self.primals, strict=True)
        return [i for i, (c, p) in enumerate(pairs) if c and p.type.inexact]

    @cached_property
    def function(self) -> Leaves:
        """From the leaves to the value, in a list."""
        if self.program is None:
            return self.flat
        return _compiled(self.program, self.captured)

    @cached_property
    def between_stops(self) -> Leaves:
        """The function in which what goes through ``stop_gradient`` stays as it is
        here, as it does for the gradient.
        """
        program = self.program
        if program is None:
            return self.flat
        stops = [e for e in program.equations if type(e.op) is StopGradient]
        if not stops:
            return self.function
        kept = [v for e in stops for v in e.outputs]
        values = run(Jaxpr(program.inputs, program.equations, kept), self.operands)
        rest = [e for e in program.equations if type(e.op) is not StopGradient]
        inputs = [*kept, *program.inputs]
        frozen = Jaxpr(inputs, rest, program.outputs, program.name)
        return _compiled(frozen, (*values, *self.captured))

    def in_double(self, value: Any) -> "Loss | None":
        """The loss in double precision, where quotients are exact with steps so small
        that few kinks lie within them; call it under ``enable_x64``.

        None where it is that already; where it computes in less all the same, as by
        casts; or has another ``value``, as random numbers of another precision are
        others.
        """
        if all([_is_double(self.primals[i].type) for i in self.active]):
            return None
        primals = tuple(map(_in_double, self.primals))
        program, captured = _program(self.flat, primals)
        if program is None or not all(map(_is_double, _types(program))):
            return None
        made = replace(self, primals=primals, program=program, captured=tuple(captured))
        found, known = wide(made.function(*primals)[0]), wide(value)
        allowed = finfo(value.dtype).eps ** 0.5
        return made if abs(found - known) <= allowed * abs(known) else None

    def value_and_gradients(self, primals: Sequence[Any]) -> tuple[Any, list[Any]]:
        """The value, and the gradient with respect to each active leaf."""
        types = [p.type for p in self.primals]
        mask = [i in self.active for i in range(len(types))]
        outs, linear = linearize_flat(self.function, primals, mask, self.who)
        out = check_scalar(outs, self.flat.out_tree, False, self.who)
        cts = pull_back(linear, types, mask, [scalar(1, out.type.dtype)])
        return out, [cts[i] for i in self.active]


def _compiled(program: Jaxpr, values: Sequence[Any]) -> Leaves:
    return jit(lambda *leaves: run(program, [*values, *leaves]))


def _in_double(x: Array) -> Array:
    return as_array(wide(x)) if x.type.inexact else x


def _is_double(type: ArrayType) -> bool:
    return not type.inexact or finfo(type.dtype).bits == 64


def _types(program: Jaxpr) -> list[ArrayType]:
    """The types of all results, at any depth."""
    return [v.type for visit in visits(program) for v in visit.equation.outputs]


def loss_at(
    fun: Callable[..., Any],
    argnums: Sequence[int],
    has_aux: bool,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Loss:
    """The loss ``fun``, at these arguments."""
    who = who_of("check_gradients", fun)
    leaves, in_tree = tree.flatten((args, kwargs))
    paths = [tree.leaf_path(in_tree, i) for i in range(len(leaves))]
    names = [_name(path, fun) for path in paths]
    if any([isinstance(x, Tracer) for x in leaves]):
        raise ArgumentError(
            f"{who} compares numbers, but was called with traced values. Call it "
            "outside of jit, grad and vmap, with the arrays themselves."
        )
    primals = arrays(leaves, who, lambda i: path_in_call(paths[i], fun))
    flat = FlatFunction(fun, in_tree, who, has_aux)
    program, captured = _program(flat, primals)
    return Loss(
        who,
        flat,
        tuple(primals),
        _chosen(paths, argnums, len(args), who),
        tuple(names),
        tuple([_name(path[: max(2, len(path) - 1)], fun) for path in paths]),
        program,
        captured,
    )


def _name(path: tuple[Any, ...], fun: Any) -> str:
    return path_in_call(path, fun).removeprefix("argument ")


def _chosen(paths: Sequence[Any], argnums: Sequence[int], count: int, who: str) -> Mask:
    wrong = [n for n in argnums if not -count <= n < count]
    if wrong:
        raise ArgumentError(
            f"{who} has argnums={tuple(argnums)}, but was called with "
            f"{how_many(count, 'positional argument')}."
        )
    numbers = {n % count for n in argnums}
    return tuple([p[0].idx == 0 and p[1].idx in numbers for p in paths])


def _program(
    flat: FlatFunction, primals: Sequence[Array]
) -> tuple[Jaxpr | None, tuple[Any, ...]]:
    """The program, and the values that it captures."""
    try:
        staged = stage(flat, [p.type for p in primals], "loss")
    except CovectorError:
        return None, ()  # it looks at values, or fails in any case
    program = inline_calls(staged.jaxpr)
    with contextlib.suppress(NotDifferentiable):  # the value needs an effect's result
        program = program.memo(without_effects)
    return program, tuple(staged.captured)

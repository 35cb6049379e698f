"""Device-divergent control flow: a collective inside would deadlock, so it is refused.

Inside ``shard_map`` the devices along an axis take different branches, or different
numbers of steps, when a predicate varies over it. Then no branch and no body may
communicate over that axis: a device elsewhere would never answer. So that derivatives
do not either, all operands are made to vary beforehand: the sums over devices, which
are the adjoint of that, are formed outside.
"""

from collections.abc import Sequence
from typing import Any

from covector.core.jaxpr import Jaxpr, read
from covector.core.show import nested_programs
from covector.core.staging import stage
from covector.core.trace import current
from covector.core.types import ArrayType
from covector.core.varying import Axes, pvary_like
from covector.errors import TypeMismatch
from covector.programs.higher_order.jaxpr_passes import cast_outputs


def make_varying(jaxpr: Jaxpr, axes: Axes) -> Jaxpr:
    """The program for operands, and with results, that vary over these axes as well."""
    types = [_over(t, axes) for t in jaxpr.in_types]
    made = stage(lambda *xs: _run_varying(jaxpr, axes, xs), types, jaxpr.name).jaxpr
    return cast_outputs(made, [_over(t, axes) for t in made.out_types])


def _run_varying(jaxpr: Jaxpr, axes: Axes, args: Sequence[Any]) -> list[Any]:
    """The outputs of the program for operands that vary over the axes.

    Loops, branches and calls inside have programs of their own, for operands that may
    have been the same on all devices: these are made to vary too.
    """
    env = dict(zip(jaxpr.inputs, args, strict=True))
    for equation in jaxpr.equations:
        op, operands = equation.op, read(env, equation.inputs)
        if op.varying_rule is not None and nested_programs(op):
            op = op.with_programs(lambda program: program.memo(make_varying, axes))
            operands = [pvary_like(x, _over(x.type, axes)) for x in operands]
        outs = current.trace.process(op, operands)
        env.update(zip(equation.outputs, outs, strict=True))
    return read(env, jaxpr.outputs)


def _over(type: ArrayType, axes: Axes) -> ArrayType:
    return type.with_varying(type.varying | axes)


def check_no_collectives(
    who: str, what: str, programs: Sequence[Jaxpr], axes: Axes
) -> None:
    """Raise where a program that not all devices run communicates between them.

    It is called when a branch or a loop is traced, for a good message, and once more by
    each such operation (``varying_rule``): the rules of users may communicate too, and
    are traced only for derivatives. What is traced again while it is lowered, where no
    axis is named, has been checked before.
    """
    axes = axes.intersection(current.trace.axes)
    for program in programs:
        for equation in program.equations:
            shared = axes.intersection(equation.op.axis_names)
            if not shared:
                continue
            axis = min(shared, key=str)
            line = f" at {equation.line}" if equation.line is not None else ""
            raise TypeMismatch(
                f"{who}: {what} varies over the mesh axis {axis!r}, so devices may "
                f"part ways here, but {program.name} communicates over {axis!r} "
                f"({equation.op.name}{line}): a device that is elsewhere would never "
                f"answer. Make {what} the same on all devices, with covector.lax.pmax "
                f"or psum over {axis!r}; or communicate outside."
            )

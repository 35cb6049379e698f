"""Device-divergent control flow: a collective inside would deadlock, so it is refused.

Inside ``shard_map`` the devices along an axis take different branches, or different
numbers of steps, when a predicate varies over it. Then no branch and no body may
communicate over that axis: a device elsewhere would never answer. So that derivatives
do not either, all operands are made to vary beforehand: the sums over devices, which
are the adjoint of that, are formed outside.
"""

from collections.abc import Sequence

from covector.core.jaxpr import Equation, Jaxpr, run
from covector.core.show import nested_programs
from covector.core.source import at_line
from covector.core.staging import stage
from covector.core.trace import current
from covector.core.types import ArrayType
from covector.core.varying import Axes
from covector.errors import TypeMismatch
from covector.programs.higher_order.jaxpr_passes import cast_outputs


def make_varying(jaxpr: Jaxpr, axes: Axes) -> Jaxpr:
    """The program for operands, and with results, that vary over these axes as well."""
    equations = [_varying_equation(e, axes) for e in jaxpr.equations]
    program = Jaxpr(jaxpr.inputs, equations, jaxpr.outputs, jaxpr.name)
    types = [_over(t, axes) for t in jaxpr.in_types]
    made = stage(lambda *xs: run(program, xs), types, jaxpr.name).jaxpr
    return cast_outputs(made, [_over(t, axes) for t in made.out_types])


def _varying_equation(equation: Equation, axes: Axes) -> Equation:
    """Loops, branches and calls have programs of their own, for operands that may have
    been the same on all devices: these are made to vary too, and operands follow.
    """
    op = equation.op
    if op.varying_rule is None or not nested_programs(op):
        return equation
    op = op.with_programs(lambda program: program.memo(make_varying, axes))
    return Equation(op, equation.inputs, equation.outputs, equation.line)


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
            line = at_line(equation.line)
            raise TypeMismatch(
                f"{who}: {what} varies over the mesh axis {axis!r}, so devices may "
                f"part ways here, but {program.name} communicates over {axis!r} "
                f"({equation.op.name}{line}): a device that is elsewhere would never "
                f"answer. Make {what} the same on all devices, with covector.lax.pmax "
                f"or psum over {axis!r}; or communicate outside."
            )

"""Custom rules adapted to a subset of their function's results, or to further ones.

Results of a function with a custom rule may be unused, and a checkpoint saves values
from inside it as further results. The rule itself is unchanged: it is called for the
results it knows; unused ones are dropped, and further ones are computed beside it, by
the function's jaxpr. Further results have no derivative: only the recomputation reads
them.
"""

from collections.abc import Callable, Sequence
from typing import Any

from covector.core.jaxpr import Jaxpr, run
from covector.core.masks import Mask, scatter, select
from covector.transforms.batch import batch_jaxpr, front_dims

#: a rule, as ``CustomCall`` and ``CustomVmap`` have them
Rule = Callable[..., Any]


def further_results(outputs: Sequence[Any], jaxpr: Jaxpr) -> Jaxpr:
    """A program for the outputs behind those that a function has."""
    return Jaxpr(
        jaxpr.inputs, jaxpr.equations, jaxpr.outputs[len(outputs) :], jaxpr.name
    )


# -- derivatives -----------------------------------------------------------------------


def select_jvp(jvp: Rule | None, count: int, mask: Mask) -> Rule | None:
    """A forward rule for the masked results, of its first ``count`` operands."""
    if jvp is None:
        return None

    def selected(primals: Any, tangents: Any) -> Any:
        outs, out_tangents = jvp(primals[:count], tangents[:count])
        return select(outs, mask), select(out_tangents, mask)

    return selected


def select_vjp(vjp: Rule | None, count: int, mask: Mask) -> Rule | None:
    """A reverse rule for the masked results, of its first ``count`` operands."""
    if vjp is None:
        return None

    def selected(primals: Any, active: Any) -> Any:
        made = vjp(primals[:count], active[:count])

        def bwd(residuals: Any, cts: Any) -> list[Any]:
            cts_in = made.bwd(residuals, scatter(cts, mask))
            return [*cts_in, *[None] * (len(primals) - count)]

        return made._replace(outs=select(made.outs, mask), bwd=bwd)

    return selected


def append_to_jvp(jvp: Rule | None, further: Jaxpr) -> Rule | None:
    """A forward rule with further results, which have no tangents."""
    if jvp is None:
        return None

    def appended(primals: Any, tangents: Any) -> Any:
        outs, out_tangents = jvp(primals, tangents)
        no_tangents = [None] * len(further.outputs)
        return [*outs, *run(further, primals)], [*out_tangents, *no_tangents]

    return appended


def append_to_vjp(vjp: Rule | None, further: Jaxpr) -> Rule | None:
    """A reverse rule with further results, whose cotangents are not read."""
    if vjp is None:
        return None

    def appended(primals: Any, active: Any) -> Any:
        made = vjp(primals, active)
        count = len(made.outs)
        return made._replace(
            outs=[*made.outs, *run(further, primals)],
            bwd=lambda residuals, cts: made.bwd(residuals, cts[:count]),
        )

    return appended


# -- batches ---------------------------------------------------------------------------


def select_batch_rule(rule: Rule, count: int, mask: Mask) -> Rule:
    """A batching rule for the masked results, of its first ``count`` operands."""

    def selected(size: int, batched: Sequence[bool], values: Sequence[Any]) -> Any:
        outs, out_batched = rule(size, batched[:count], values[:count])
        return select(outs, mask), select(out_batched, mask)

    return selected


def append_to_batch_rule(rule: Rule, further: Jaxpr) -> Rule:
    """A batching rule with further results, which are all batched."""

    def appended(size: int, batched: Sequence[bool], values: Sequence[Any]) -> Any:
        outs, out_batched = rule(size, batched, values)
        force = (True,) * len(further.outputs)
        dims = tuple(front_dims(batched))
        program, _ = further.memo(batch_jaxpr, size, dims, force)
        return [*outs, *run(program, values)], [*out_batched, *force]

    return appended

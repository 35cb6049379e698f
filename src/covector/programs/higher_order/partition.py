"""Partition: a jaxpr split into a forward pass and its later recomputation.

    forward     inputs → outputs, and further values that a policy says to save
    recompute   the inputs that it reads, and saved values → the outputs wanted later

A policy judges each operation. One that carries jaxprs is not judged as a whole but
partitioned by its rule ``partition``, so that a policy sees the operations in a jitted
layer, in each step of a scan, in each branch of a cond, on each device, and in
functions with custom rules: values saved there leave as further results (of a scan: one
for each step) and return as further operands. Where an operation cannot give further
results, as a while loop, its results are saved if the operations that make them are
worth it, and otherwise recomputed by as much of the loop as they need.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from covector.core.jaxpr import Equation, Jaxpr, Var, used_inputs
from covector.core.masks import Mask, at_sources, indices, select
from covector.core.primitive import Primitive
from covector.core.types import ArrayType
from covector.programs.higher_order.dead_code import trimmed
from covector.programs.higher_order.jaxpr_passes import forward_slice
from covector.programs.higher_order.regions import maker, outputs_behind

#: (operation, *operand types, **parameters) → whether its results are worth keeping
Policy = Callable[..., Any]


class Partition(NamedTuple):
    """A program, or an operation, in two parts.

    ``recompute`` takes what is found at ``residual_sources``: inputs (i ≥ 0) in their
    order, then outputs ``~i`` of ``forward``, which are kept. It gives the outputs that
    ``gives`` masks: those that are wanted later and not kept as they are.
    """

    forward: Any
    recompute: Any
    residual_sources: tuple[int, ...]
    gives: Mask

    def reads(self, num_inputs: int) -> Mask:
        """The mask of the inputs that ``recompute`` takes."""
        return tuple([i in self.residual_sources for i in range(num_inputs)])

    def residuals(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> list[Any]:
        """The operands of ``recompute``, among inputs and outputs of ``forward``."""
        return at_sources(self.residual_sources, inputs, outputs)

    @property
    def saved(self) -> list[int]:
        """The numbers of the outputs of ``forward`` that ``recompute`` takes."""
        return [~i for i in self.residual_sources if i < 0]


def partition(
    jaxpr: Jaxpr, later: Mask, policy: Policy, keepable: Mask, changing: Mask = ()
) -> Partition:
    """The program in two parts (memoise on the program).

    ``later`` masks the outputs that are wanted later, and ``keepable`` those that can
    be kept as they are. The recomputation may be run with other values of the
    ``changing`` inputs: what depends on them is not saved.
    """
    cut = _Cut(jaxpr, later, policy, changing)
    kept = [
        can_keep and type(v) is Var
        for v, can_keep in zip(jaxpr.outputs, keepable, strict=True)
    ]
    numbers = {v: k for k, v in enumerate(jaxpr.outputs) if kept[k]}
    further = [v for v in cut.saved if v not in numbers]
    numbers |= {v: len(jaxpr.outputs) + k for k, v in enumerate(further)}
    forward = Jaxpr(
        jaxpr.inputs, cut.forward[::-1], [*jaxpr.outputs, *further], jaxpr.name
    )
    gives = tuple(
        [
            wanted and not (can_keep and v in cut.saved)
            for v, wanted, can_keep in zip(jaxpr.outputs, later, kept, strict=True)
        ]
    )
    everything = [*jaxpr.inputs, *cut.saved]
    outputs = select(jaxpr.outputs, gives)
    whole = Jaxpr(everything, cut.recompute[::-1], outputs, f"{jaxpr.name}_again")
    used = used_inputs(whole)
    recompute = Jaxpr(select(everything, used), whole.equations, outputs, whole.name)
    count = len(jaxpr.inputs)
    saved = select(cut.saved, used[count:])
    sources = (*indices(used[:count]), *[~numbers[v] for v in saved])
    return Partition(forward, recompute, sources, gives)


class _Cut:
    """The equations of both parts, last one first, and what is kept between them.

    What only something kept depends on is not computed again, and so not kept either.
    """

    def __init__(
        self, jaxpr: Jaxpr, later: Mask, policy: Policy, changing: Mask
    ) -> None:
        self.policy = policy
        self.changing = jaxpr.memo(forward_slice, changing) if any(changing) else set()
        self.wanted = {v for v in select(jaxpr.outputs, later) if type(v) is Var}
        self.saved: dict[Any, None] = {}
        self.forward: list[Equation] = []
        self.recompute: list[Equation] = []
        for equation in reversed(jaxpr.equations):
            self._take(equation)

    def _take(self, e: Equation) -> None:
        later = tuple([v in self.wanted for v in e.outputs])
        saveable = self.changing.isdisjoint(e.outputs)
        parts = None
        if any(later) and saveable and e.op.partition is not None:
            types = [a.type for a in e.inputs]
            parts = e.op.partition(types, later, self.policy)
        if parts is not None:
            self._take_parts(e, later, parts)
            return
        self.forward.append(e)
        if any(later):
            types = [a.type for a in e.inputs]
            if saveable and self.policy(e.op, *types, **e.op.parameters):
                self.saved.update(dict.fromkeys(select(e.outputs, later)))
            else:
                self._compute_again(e)

    def _take_parts(self, e: Equation, later: Mask, parts: Partition) -> None:
        types = parts.forward.plan(tuple([a.type for a in e.inputs])).outs
        outs = [*e.outputs, *[Var(t) for t in types[len(e.outputs) :]]]
        self.forward.append(Equation(parts.forward, e.inputs, outs, e.line))
        self.saved.update(dict.fromkeys([outs[k] for k in parts.saved]))
        not_given = [m and not g for m, g in zip(later, parts.gives, strict=True)]
        self.saved.update(dict.fromkeys(select(e.outputs, not_given)))
        if any(parts.gives):
            residuals = parts.residuals(e.inputs, outs)
            given = select(e.outputs, parts.gives)
            self._compute_again(Equation(parts.recompute, residuals, given, e.line))

    def _compute_again(self, e: Equation) -> None:
        self.recompute.append(e)
        self.wanted.update([a for a in e.inputs if type(a) is Var])


# -- operations ------------------------------------------------------------------------


def by_results(
    op: Primitive, types: Sequence[ArrayType], later: Mask, policy: Policy
) -> Partition | None:
    """The partition of an operation that can give no further results: it saves those
    that are worth it, and recomputes the others; None where it can only be run as a
    whole.
    """
    if policy(op, *types, **op.parameters):
        return None
    wanted = [
        m and not any([_is_saved(r.jaxpr, j, policy) for r, j in outputs_behind(op, k)])
        for k, m in enumerate(later)
    ]
    if not any(wanted):
        return Partition(op, op, (), tuple(wanted))
    made = trimmed(op, tuple(wanted), len(types))
    if made is None:
        return None
    return Partition(op, made.op, tuple(indices(made.operands)), made.results)


def _is_saved(jaxpr: Jaxpr, output: int, policy: Policy) -> bool:
    """Whether a policy keeps what makes an output, at any depth."""
    found = maker(jaxpr, jaxpr.outputs[output])
    if found is None:
        return False
    e, result = found
    behind = outputs_behind(e.op, result)
    if behind:
        return any([_is_saved(region.jaxpr, j, policy) for region, j in behind])
    return bool(policy(e.op, *[a.type for a in e.inputs], **e.op.parameters))


def of_call(
    jaxpr: Jaxpr, later: Mask, policy: Policy, call: Callable[[Jaxpr], Any]
) -> Partition:
    """The partition of an operation that runs a program once: two such operations."""
    made = jaxpr.memo(partition, later, policy, (True,) * len(later))
    return made._replace(forward=call(made.forward), recompute=call(made.recompute))


def with_all_inputs(
    jaxpr: Jaxpr, later: Mask, policy: Policy, keepable: Mask, changing: Mask = ()
) -> Partition:
    """As ``partition``, with all inputs taken by the second part: rules read them
    (memoise on the program).
    """
    made = jaxpr.memo(partition, later, policy, keepable, changing)
    inputs = iter(made.recompute.inputs)
    reads = made.reads(len(jaxpr.inputs))
    every = [
        next(inputs) if r else Var(v.type)
        for v, r in zip(jaxpr.inputs, reads, strict=True)
    ]
    body = made.recompute
    recompute = Jaxpr([*every, *inputs], body.equations, body.outputs, body.name)
    sources = (*range(len(every)), *[~k for k in made.saved])
    return made._replace(recompute=recompute, residual_sources=sources)

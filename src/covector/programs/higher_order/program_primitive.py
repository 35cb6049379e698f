"""``ProgramPrimitive``: base class of operations that carry jaxprs.

Its ``regions`` declare how the jaxprs are connected to operands and results. Generic
rules follow from them: the mesh axes over which results vary, the named axes over which
it communicates, whether it is linear, dead code, partition for checkpoints, and the
search for the origin of a NaN. A subclass gives the specific rules: types, derivatives,
batches, lowering.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from covector.core.annotations import Batched
from covector.core.jaxpr import Jaxpr
from covector.core.masks import Mask
from covector.core.primitive import ManyResults, linear_mask
from covector.core.types import ArrayType
from covector.core.varying import Axes, Varying
from covector.core.work import costs_nothing
from covector.lowering.tokens import TOKENS
from covector.programs.higher_order.partition import Partition, Policy, by_results
from covector.programs.higher_order.regions import (
    Kind,
    Region,
    call_region,
    dependent_outputs,
    named_axes,
    operands_after_steps,
)
from covector.programs.higher_order.separate_tangents import separate
from covector.transforms.transpose import is_linear


class Where(NamedTuple):
    """The run of a program by an operation, which may run it many times.

    text    in words, to stand at the end of a sentence
    kind    "step" of a loop, "lane" of a vmap, "branch"; "" where there is only one
    number  of the step, the lane or the branch; -1 of lanes that run together, where
            the bad values tell which
    """

    text: str = ""
    kind: str = ""
    number: int = 0


class Devices(NamedTuple):
    """The devices, or lanes that communicate, on which a program is run at once.

    axes    named axes, the outermost first, and their sizes
    fronts  for each operand, those that stand in front of its own axes
    of      what the user called
    """

    axes: tuple[tuple[Any, int], ...]
    fronts: tuple[tuple[Any, ...], ...]
    of: str = "shard_map"


class Execution(NamedTuple):
    """A program that is run, on what, and where that is."""

    jaxpr: Jaxpr
    operands: list[Any]
    where: Where
    devices: Devices | None = None


class ProgramPrimitive(ManyResults):
    """An operation that carries programs, by default one, ``jaxpr``, which it runs once
    on its operands.
    """

    interned = False
    jaxpr: Jaxpr

    #: what its programs cost is counted in them
    work = costs_nothing

    #: operands by which it chooses or counts, which no program takes
    deciding_operands: Sequence[int] = ()
    #: whether it carries rules of users, which read all operands
    rules_read_operands = False
    #: named axes that exist only inside of its programs
    bound_axes: Axes = frozenset()

    @property
    def with_token(self) -> Any:  # type: ignore[override]
        """The form with a token, of operations that are threaded."""
        return None if self.threaded is None else lambda: self.threaded(TOKENS)

    @cached_property
    def regions(self) -> Sequence[Region]:
        """The programs, and how they are tied to operands and results."""
        return (call_region(self.jaxpr),)

    @property
    def axis_names(self) -> tuple[Any, ...]:  # type: ignore[override]
        names = [n for region in self.regions for n in region.jaxpr.memo(named_axes)]
        return tuple(dict.fromkeys([n for n in names if n not in self.bound_axes]))

    def varying_rule(self, types: Sequence[ArrayType], checked_axes: Axes) -> Varying:
        """Operands vary as the programs take them."""
        wanted = [t.varying for t in types]
        for region in self.regions:
            for i, type_ in zip(region.operands, region.jaxpr.in_types, strict=True):
                if i is not None:
                    wanted[i] = type_.varying - self.bound_axes
        return Varying(wanted, None)

    def batch(
        self, size: int, args: Sequence[Any], dims: Sequence[int | None]
    ) -> Batched:
        return self.batch_named(None, size, args, dims)

    def for_tangents(self, mask: Sequence[bool]) -> Any:  # type: ignore[override]
        """The operation around separated programs."""
        return separate(self, mask)[0]

    def linear_in(self, args: Sequence[Any]) -> bool:
        """Programs are linear at every step, and what decides does not depend on it."""
        linear = linear_mask(args)
        if any([linear[i] for i in self.deciding_operands]):
            return False
        mask = operands_after_steps(self.regions, linear)
        return all([_is_linear(region, mask) for region in self.regions])

    def inseparable(self, results: set[int]) -> set[int]:
        """The results that come with these, whether they are read or not."""
        return results

    def partition(
        self, types: Sequence[ArrayType], later: Mask, policy: Policy
    ) -> Partition | None:
        """The forward and the recomputed part, for a checkpoint and the results that
        are wanted ``later``; None to judge the operation as a whole.
        """
        return by_results(self, types, later, policy)

    def executions(self, operands: Sequence[Any]) -> Iterator[Execution]:
        """Each program as it is run on known operands, in order."""
        for region in self.regions:
            if region.kind is Kind.CALL:
                yield Execution(region.jaxpr, region.taken(operands), Where())


def _is_linear(region: Region, mask: Mask) -> bool:
    if region.kind is Kind.RULE:
        return True
    linear = {i for i, m in enumerate(mask) if m}
    if all(region.decides):
        return not any(dependent_outputs(region, linear))
    return is_linear(region.jaxpr, tuple([i in linear for i in region.operands]))

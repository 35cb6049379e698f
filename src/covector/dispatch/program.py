"""A traced function for one signature, and what follows tracing: lower, run."""

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from covector import options
from covector.core.array import ConcreteArray
from covector.core.jaxpr import Jaxpr
from covector.core.references import Ref, values_of
from covector.core.sharding.shardings import Sharding
from covector.core.types import ArrayType
from covector.dispatch.arguments import input_name
from covector.dispatch.debug_nans import Replayed, check_results, copies
from covector.dispatch.jit_shardings import Resolved
from covector.dispatch.references import References
from covector.lowering.compiled import AS_LIST, ArgumentsElsewhere, CompiledProgram
from covector.lowering.loading import compiling
from covector.lowering.placement import Meshes, Placement
from covector.tree.registry import PyTreeDef

if TYPE_CHECKING:
    from covector.dispatch.precomputed import Parts
    from covector.lowering.compile import LoweredProgram


class Computed(NamedTuple):
    """What a program computes of captured arrays alone, and the rest of it."""

    parts: "Parts"
    results: list[Any]
    #: executables of the rest by placement
    compiled: dict[Any, CompiledProgram]


class Program(NamedTuple):
    """A traced function for one signature, and its executables by placement."""

    jaxpr: Jaxpr
    captured: list[Any]
    out_tree: Any
    #: for each leaf of the arguments whether its memory is given up; those that are
    donated: tuple[bool, ...]
    donated_indices: list[int]
    compiled: dict[Any, CompiledProgram]
    #: those that its operations name
    meshes: Meshes
    #: where arguments and results are to be
    shardings: Resolved
    #: how the references that it uses are threaded through it; None if there are none
    references: References | None
    #: what its first call computed once; empty if nothing
    computed: list[Computed]

    def operands(
        self,
        leaves: Sequence[Any],
        in_tree: PyTreeDef | None,
        who: str,
        executed: bool = True,
    ) -> list[Any]:
        """The captured values, and the arguments put where in_shardings says; for a
        program that is ``executed`` with them at once, and not a part of another.
        """
        captured = self.captured
        if self.references is not None:
            captured, leaves = self.references.values(captured, leaves, who, executed)
        if self.shardings.ins:
            leaves = self.shardings.put_inputs(leaves, in_tree, who)
        return [*captured, *leaves]

    def results(
        self, leaves: Sequence[Any], outs: Sequence[Any], executed: bool = True
    ) -> Sequence[Any]:
        """The result of the user's function, where the references among the arguments
        and the captured values hold what it wrote.
        """
        if self.references is None:
            return outs
        return self.references.write_back(leaves, outs, executed)

    def bind_references(
        self,
        compiled: CompiledProgram,
        leaves: Sequence[Any],
        operands: Sequence[Any],
        placements: Sequence[Any],
        who: str,
    ) -> Callable[[Sequence[Any]], Any]:
        """The quickest call of a program that uses references, with leaves like these,
        which became these operands; ``placements`` are those of the results.

        Raises:
          ArgumentsElsewhere: an argument is of another type than in these leaves, or a
            reference holds an array elsewhere.
        """
        before = len(self.captured)
        given_up = [before + i for i in self.donated_indices]
        launch = compiled.bind_fast_path([], operands, AS_LIST, given_up, placements)
        held = [x for x in self.captured if type(x) is Ref]
        there = [x.placement for x in (*held, *leaves)]
        types = [x.type for x in leaves]

        def fast_path(leaves: Sequence[Any]) -> Any:
            try:
                same = [x.type for x in leaves] == types
            except AttributeError:  # no array
                raise ArgumentsElsewhere from None
            if not same or self.shardings.ins:
                raise ArgumentsElsewhere
            if [x.placement for x in (*held, *leaves)] != there:
                raise ArgumentsElsewhere
            operands = self.operands(leaves, None, who)
            outs = self.shardings.put_outputs(launch(operands))
            return self.out_tree.unflatten(self.results(leaves, outs))

        return fast_path

    def replayed(self, leaves: Sequence[Any], in_tree: PyTreeDef) -> Replayed:
        """What is run again, operation by operation, to find out about a result."""
        captured = values_of(self.captured)
        name = functools.partial(input_name, in_tree, len(captured))
        return Replayed(self.jaxpr, [*captured, *leaves], name)

    def for_calls(self) -> "Program":
        """What runs where the function is called: what it computes of captured arrays
        alone is computed, and captured by the rest.
        """
        if self.references is not None or self.meshes:
            return self
        from covector.dispatch import precomputed  # noqa: PLC0415  most capture none

        if not self.computed and precomputed.can_compute(self.captured):
            parts = self.jaxpr.memo(precomputed.in_parts, len(self.captured))
            if parts is not None:
                results = parts.once(*self.captured)
                self.computed.append(Computed(parts, results, {}))
        if not self.computed:
            return self
        parts, results, compiled = self.computed[0]
        captured = [*[self.captured[i] for i in parts.kept], *results]
        return self._replace(jaxpr=parts.rest, captured=captured, compiled=compiled)

    @property
    def result_types(self) -> Sequence[ArrayType]:
        """The types of what the user's function gave."""
        return self.jaxpr.out_types[: self.out_tree.num_leaves]

    def lower(
        self,
        placement: Placement,
        name: str,
        who: str,
        keep_unused: bool,
        platform: str | None = None,
    ) -> "LoweredProgram":
        """The StableHLO for a placement."""
        donated = [*[False] * len(self.captured), *self.donated]
        if self.references is not None:
            for i in self.references.given_up:
                donated[i] = True
        return compiling().LoweredProgram(
            self.jaxpr,
            f"jit_{name}",
            placement,
            donated,
            keep_unused,
            self.shardings.results(self.jaxpr.out_types, placement),
            who,
            platform,
        )

    def run(
        self,
        compiled: CompiledProgram,
        operands: Sequence[ConcreteArray],
        committed: Sharding | None,
        in_tree: PyTreeDef,
        who: str,
        again: Callable[[], Replayed] | None = None,
    ) -> list[Any]:
        """The results of an executable, looked at where an option wants that; ``again``
        traces the function afresh to find what made a bad one.
        """
        if not options.current().checks_values:
            return compiled(operands, committed)
        before = len(self.captured)
        given_up = [before + i for i in self.donated_indices]
        if self.references is not None:
            given_up += self.references.given_up
        given = copies(operands, given_up)
        outs = compiled(given, committed)
        name = functools.partial(input_name, in_tree, before)
        check_results(self.jaxpr, operands, outs, who, name, again)
        return outs

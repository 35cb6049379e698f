"""A traced function for one signature, and what follows tracing: lower, run."""

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

from covector import options
from covector.core.array import ConcreteArray
from covector.core.jaxpr import Jaxpr
from covector.core.sharding.shardings import Sharding
from covector.lowering.compile import CompiledProgram, LoweredProgram
from covector.lowering.placement import Meshes, Placement
from covector.programs.jit.arguments import input_name
from covector.programs.jit.debug_nans import check_results, copies
from covector.programs.jit.jit_shardings import Resolved
from covector.tree.registry import PyTreeDef


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

    def operands(
        self, leaves: Sequence[Any], in_tree: PyTreeDef, who: str
    ) -> list[Any]:
        """The captured values, and the arguments put where in_shardings says."""
        if self.shardings.ins:
            leaves = self.shardings.put_inputs(leaves, in_tree, who)
        return [*self.captured, *leaves]

    def lower(
        self,
        placement: Placement,
        name: str,
        who: str,
        keep_unused: bool,
        platform: str | None = None,
    ) -> LoweredProgram:
        """The StableHLO for a placement."""
        return LoweredProgram(
            self.jaxpr,
            f"jit_{name}",
            placement,
            (*[False] * len(self.captured), *self.donated),
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
    ) -> list[Any]:
        """The results of an executable, looked at where an option wants that."""
        if not options.current().checks_values:
            return compiled(operands, committed)
        before = len(self.captured)
        given = copies(operands, [before + i for i in self.donated_indices])
        outs = compiled(given, committed)
        name = functools.partial(input_name, in_tree, before)
        check_results(self.jaxpr, operands, outs, who, name)
        return outs

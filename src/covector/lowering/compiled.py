"""Compiled programs, which take and return arrays: the warm path of every call.

``CompiledProgram`` runs on one device, ``ShardedProgram`` over the devices of a mesh.
"""

import operator
from collections.abc import Callable, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any, NoReturn

from covector.core.array import ConcreteArray
from covector.core.jaxpr import type_of
from covector.core.sharding.mesh import Mesh
from covector.core.sharding.shardings import (
    NamedSharding,
    Sharding,
    SingleDeviceSharding,
    Tiles,
)
from covector.core.sharding.spec_from_tiles import with_tiles
from covector.errors import OutOfMemory
from covector.lowering.placement import placement_of, placements_of_results
from covector.runtime import buffers, client, executable, memory
from covector.runtime.overlap import Overlap, finish, runs_inline, under_way
from covector.tree.registry import PyTreeDef, registry

if TYPE_CHECKING:
    from covector.lowering.compile import LoweredProgram


class ArgumentsElsewhere(Exception):
    """A call was not started, since its arguments are not those that it was made for:
    of other types, or elsewhere.
    """


#: the tree of one array
LEAF = registry.flatten(0)[1]


class _AsList:
    """The tree of results that are wanted as a list."""

    unflatten = staticmethod(list)


AS_LIST = _AsList()


class CompiledProgram:
    """A program that runs on one device: arrays in, arrays out."""

    #: over several devices, the shardings that arguments must have (the compiler may
    #: have found that one cannot be partitioned as requested)
    in_shardings: Sequence[NamedSharding] | None = None

    def __init__(
        self,
        lowered: "LoweredProgram",
        made: Any,
        options: dict[str, Any] | None = None,
    ) -> None:
        self.lowered: LoweredProgram = lowered
        self.executable = made
        self._options = options
        self.device: client.Device = lowered.devices[0]
        self._run = made.execute
        self._types = lowered.jaxpr.out_types
        one = SingleDeviceSharding(self.device)
        #: the shardings of results
        self.out_shardings: list[Sharding] = [one] * len(self._types)
        #: positions of the arguments that are passed on; None for all of them
        everything = len(lowered.kept) == len(lowered.jaxpr.inputs)
        self._kept = None if everything else lowered.kept

    @property
    def reads_at_once(self) -> bool:
        """Whether a call has read its arguments when all that is under way is done,
        which is at once for most; and none is known to anything that goes on: then the
        memory of one can serve the next call.
        """
        own = not self.lowered.module.host_functions
        always = self.executable.overlaps is Overlap.ALWAYS
        return own and not always and runs_inline(self.device)

    def compile_anew(self) -> "CompiledProgram":
        """The program, compiled once more: an executable of equal content, which the
        cache would give, may have the source lines of another function.
        """
        return self.lowered._compile(self._options, anew=True)

    def __call__(
        self, args: Sequence[ConcreteArray], committed: Any = None
    ) -> list[Any]:
        """Run on arrays of the right types; results are pending until read."""
        if self._kept is not None:
            args = [args[i] for i in self._kept]
        device = self.device
        try:
            outs = self._run([a.buffer(device) for a in args])
        except OutOfMemory as error:
            raise memory.out_of_memory(error, self) from None
        placements: Any = repeat(None)
        if committed is not None:
            placements = placements_of_results(committed, args, self._types)
        return list(map(ConcreteArray, self._types, repeat(None), outs, placements))

    def bind_fast_path(  # noqa: C901  what it returns is one straight way
        self,
        captured: list[Any],
        leaves: Sequence[Any],
        out_tree: Any,
        donated: list[int],
        placements: Sequence[Any],
    ) -> Callable[[list[Any]], Any]:
        """The quickest call: from leaves like these to the tree of results.

        Its first loop compares each leaf with the one that was here when it was made,
        and takes its buffer, at once: what a leaf costs is most of what a call of many
        costs.

        Args:
          captured: arrays that come before the leaves.
          placements: those of the results.

        Raises:
          ArgumentsElsewhere: a leaf is of another type, or was put elsewhere, than the
            one in its position was; is on another device; or is given up twice. Nothing
            has run then; every other failure is one of the program.
        """
        types, there = list(map(type_of, leaves)), list(map(placement_of, leaves))
        if captured:
            captured = self._put_captured(captured)
        at_once = not captured and self._kept is None
        if at_once and self.in_shardings is not None:
            at_once = all(map(operator.is_, there, self.in_shardings))
        count = len(types) if at_once else -1
        launch, handlers = self.executable.launch, self.executable.handlers
        out_types, unflatten = self._types, out_tree.unflatten
        only = type(out_tree) is PyTreeDef and out_tree == LEAF
        no_host = repeat(None)
        in_turn = self.executable.overlaps is Overlap.NEVER

        def fast_path(leaves: Sequence[Any]) -> Any:
            given = []
            try:
                for x, t, p in zip(leaves, types, there):  # noqa: B905  of one tree
                    if x.type is not t or x.placement is not p or x._buffer is None:
                        break
                    given.append(x._buffer)
            except AttributeError:  # no array
                raise ArgumentsElsewhere from None
            if len(given) != count:
                given = self._gather(captured, leaves, types, there)
            if under_way and in_turn:
                finish()
            failed = None
            try:
                outs = launch(given).consume_with_handlers(handlers)
            except executable.FAILURES as failure:
                failed = failure
            if failed is not None:
                self._raise_in_words(failed, given)
            for i in donated:
                leaves[i].forget()
            if only:
                return ConcreteArray(out_types[0], None, outs[0], placements[0])
            return unflatten(map(ConcreteArray, out_types, no_host, outs, placements))

        return fast_path

    def _gather(
        self,
        captured: list[Any],
        leaves: Sequence[Any],
        types: list[Any],
        there: list[Any],
    ) -> list[Any]:
        """The buffers that a call takes, for leaves of these types that were put there,
        however they are held.
        """
        try:
            alike = list(map(type_of, leaves)) == types
            alike = alike and list(map(placement_of, leaves)) == there
        except AttributeError:  # no array
            alike = False
        if not alike:
            raise ArgumentsElsewhere
        args = [*captured, *leaves]
        if self._kept is not None:
            args = [args[i] for i in self._kept]
        return self._buffers(args)

    def _put_captured(self, captured: list[Any]) -> list[Any]:
        """The values that the program closes over, put where they are needed."""
        return captured

    def _buffers(self, args: Sequence[Any]) -> list[Any]:
        """The buffers of the arguments that are passed on."""
        device = self.device
        return [a._buffer if a._buffer is not None else a.buffer(device) for a in args]

    def _raise_in_words(self, failure: Exception, given: Sequence[Any]) -> NoReturn:
        """Raise the meaning of a failed launch on these buffers."""
        for buffer in given:
            buffers.check_alive(buffer)
        elsewhere = [b for b in given if not self.executable.runs_where(b)]
        if elsewhere or buffers.donated_twice(failure):
            raise ArgumentsElsewhere
        try:
            executable.raise_in_words(failure)
        except OutOfMemory as error:
            raise memory.out_of_memory(error, self) from None


class ShardedProgram(CompiledProgram):
    """A program that runs on the devices of a mesh: arrays in, arrays out."""

    def __init__(
        self,
        lowered: "LoweredProgram",
        made: Any,
        options: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(lowered, made, options)
        mesh, requested = lowered.mesh_placement  # type: ignore[misc]
        kept = [lowered.jaxpr.inputs[i].type.ndim for i in lowered.kept]
        wanted = [[sharding] for sharding in requested]
        self.in_shardings: Sequence[NamedSharding] = _named(
            mesh, made.argument_tilings(kept), wanted
        )
        # A result that is tiled like an operand of its rank gets the operand's spec.
        wanted = [
            [
                sharding,
                *[s for s, n in zip(requested, kept, strict=True) if n == t.ndim],
            ]
            for sharding, t in zip(lowered.results, self._types, strict=True)
        ]
        self.out_shardings = [*_named(mesh, made.result_tilings(), wanted)]

    @property
    def reads_at_once(self) -> bool:
        """No: arguments are divided, and what they became is kept."""
        return False

    def __call__(
        self, args: Sequence[ConcreteArray], committed: Any = None
    ) -> list[Any]:
        if self._kept is not None:
            args = [args[i] for i in self._kept]
        pairs = zip(args, self.in_shardings, strict=True)
        try:
            outs = self._run([a.buffer_over(s) for a, s in pairs])
        except OutOfMemory as error:
            raise memory.out_of_memory(error, self) from None
        return [
            ConcreteArray(t, None, b, s)
            for t, b, s in zip(self._types, outs, self.out_shardings, strict=True)
        ]

    def _put_captured(self, captured: list[Any]) -> list[Any]:
        # Once, and not each time.
        kept = range(len(captured)) if self._kept is None else self._kept
        wanted = dict(zip(kept, self.in_shardings, strict=False))
        return [
            ConcreteArray(x.type, None, x.buffer_over(wanted[k]), wanted[k])
            if k in wanted
            else x
            for k, x in enumerate(captured)
        ]

    def _buffers(self, args: Sequence[Any]) -> list[Any]:
        return [
            a.buffer_over(s) if a._buffer is None or a.placement is not s else a._buffer
            for a, s in zip(args, self.in_shardings, strict=True)
        ]


def _named(
    mesh: Mesh, tilings: Sequence[Any], wanted: Sequence[list[NamedSharding | None]]
) -> list[NamedSharding]:
    """Shardings with these tilings; the first wanted one that has it, if any."""
    found = []
    for tiling, candidates in zip(tilings, wanted, strict=True):
        tiles = Tiles(*tiling)
        given = [s for s in candidates if s is not None]
        rank = len(tiles.counts)
        named = next((s for s in given if s.tiles(rank) == tiles), None)
        if named is not None:
            found.append(named)
            continue
        named = with_tiles(mesh, tiles)
        assert named is not None, f"a tiling that {mesh} has no axes for: {tiles}"
        found.append(named)
    return found

"""Lowering and compilation of a jaxpr to an executable that takes and returns arrays.

Every path to XLA ends in a ``CompiledProgram``: ``jit``, and eager operations that are
too large for NumPy. ``ShardedProgram`` is the same over the devices of a mesh.
"""

import logging
import time
import warnings
from collections import Counter
from collections.abc import Sequence
from itertools import compress, repeat
from typing import Any, NoReturn

from covector import options
from covector.core import dtypes
from covector.core.array import ConcreteArray
from covector.core.effects import Effect
from covector.core.jaxpr import Equation, Jaxpr, Var, used_inputs
from covector.core.primitive import Primitive
from covector.core.sharding.mesh import Mesh
from covector.core.sharding.shardings import (
    NamedSharding,
    Sharding,
    SingleDeviceSharding,
    Tiles,
)
from covector.core.sharding.spec_from_tiles import with_tiles
from covector.core.source import user_level
from covector.core.types import ArrayType, show_types
from covector.errors import DeviceError, DonationWarning, OutOfMemory
from covector.lowering import hlo, module, tokens
from covector.lowering.placement import MeshPlacement, Placement, placements_of_results
from covector.runtime import (
    buffers,
    client,
    compilation_cache,
    executable,
    memory,
    modules,
)

logger = logging.getLogger("covector.compile")


def log_level() -> int:
    """The level of log messages: WARNING with the option ``log_compiles``."""
    return logging.WARNING if options.current().log_compiles else logging.DEBUG


#: Scalar operations above which LLVM is not told which of the buffers of a loop do not
#: overlap: that list grows with the square of their number, and takes half of the time
#: to compile the gradient of a scan of 200 scalars. Loops over arrays need it.
MANY_SCALARS = 1000


class LoweredProgram:
    """A StableHLO module, with all that compiling and calling it needs."""

    #: what is compiled, for messages
    who: str
    #: the devices that it runs on, in the order of its partitions
    devices: tuple[client.Device, ...]
    #: the platform that it is written for, perhaps not that of the device
    platform: str
    #: the requested shardings of results, where the placement is a mesh
    results: Sequence[NamedSharding | None]
    #: positions of the inputs that are passed on
    kept: list[int]
    #: the placement where that is a mesh, with the shardings of the kept inputs
    mesh_placement: MeshPlacement | None
    #: what the compiler is given
    bytecode: bytes
    #: how long it took to write
    seconds: float

    def __init__(
        self,
        jaxpr: Jaxpr,
        name: str,
        placement: Placement,
        donated: Sequence[bool] = (),
        keep_unused: bool = False,
        results: Sequence[NamedSharding | None] = (),
        who: str | None = None,
        platform: str | None = None,
    ) -> None:
        start = time.perf_counter()
        self.who = who or name
        self.jaxpr = jaxpr
        self.results = results or [None] * len(jaxpr.outputs)
        used = used_inputs(jaxpr)
        self.kept = [i for i, u in enumerate(used) if u or keep_unused]
        if isinstance(placement, MeshPlacement):
            shardings = tuple([placement.shardings[i] for i in self.kept])
            self.mesh_placement = MeshPlacement(placement.mesh, shardings)
            self.devices = placement.mesh.flat_devices
        else:
            self.mesh_placement, self.devices = None, (placement,)
        self.platform = platform or client.device_platform(self.devices[0])
        program = jaxpr
        if len(self.kept) < len(used):
            inputs = [jaxpr.inputs[i] for i in self.kept]
            program = Jaxpr(inputs, jaxpr.equations, jaxpr.outputs, jaxpr.name)
        given_up = [donated[i] for i in self.kept] if any(donated) else ()
        if any(given_up):
            types = compress(program.in_types, given_up)
            _warn_of_idle_memory(self.who, tuple(types), program.out_types)
        with hlo.building():
            self.module: hlo.Module = module.lower_module(
                tokens.ordered(program),
                name,
                self.platform,
                given_up,
                self.mesh_placement,
                results,
            )
            self.bytecode = self.module.bytecode()
        self.seconds = time.perf_counter() - start
        if compilation_cache.listeners:
            compilation_cache.tell(compilation_cache.LOWERED, self.seconds)

    def compile(
        self, compiler_options: dict[str, Any] | None = None
    ) -> "CompiledProgram":
        """The executable; what takes time is logged (``log_compiles``)."""
        there = client.device_platform(self.devices[0])
        if self.platform != there:
            raise DeviceError(
                f"{self.who} was lowered for {self.platform}, but its device is "
                f"{self.devices[0]}, of platform {there}: only its text can be had."
            )
        level = log_level()
        if not logger.isEnabledFor(level):
            return self._compile(compiler_options)
        what = self.who, show_types(self.jaxpr.in_types) or "no arguments"
        logger.log(level, "Compiling %s for %s", *what)
        start = time.perf_counter()
        made = self._compile(compiler_options)
        times = 1e3 * self.seconds, 1e3 * (time.perf_counter() - start)
        text = "Compiled %s for %s: lowered in %.1f ms, compiled in %.1f ms"
        logger.log(level, text, *what, *times)
        return made

    def _compile(
        self, compiler_options: dict[str, Any] | None, anew: bool = False
    ) -> "CompiledProgram":
        outputs = [(t.shape, t.storage) for t in self.jaxpr.out_types]
        if self.platform == "cpu":
            by_content = _loop_options(self.module)
            compiler_options = {**by_content, **(compiler_options or {})}
        functions = self.module.host_functions
        if functions:
            made = executable.compile_with_callbacks(
                self.bytecode,
                self.devices,
                functions,
                outputs=outputs,
                options=compiler_options,
                ordered=Effect.ORDERED in self.jaxpr.effects,
            )
        else:
            made = executable.compile_module(
                self.bytecode,
                self.devices,
                options=compiler_options,
                outputs=outputs,
                anew=anew,
            )
        kind = CompiledProgram if self.mesh_placement is None else ShardedProgram
        return kind(self, made, compiler_options)

    def hlo(self) -> Any:
        """The module as jaxlib's computation of HLO, not optimised yet."""
        return modules.hlo(self.module.module)

    def text(self, debug_info: bool = False) -> str:
        with hlo.building():
            return self.module.text(debug_info)


class ArgumentsElsewhere(Exception):
    """A call was not started, since its arguments are not where they were before."""


def _loop_options(lowered: hlo.Module) -> dict[str, Any]:
    """XLA options for loops, by the contents of the program."""
    found: dict[str, Any] = {}
    if any([d.itemsize == 1 and dtypes.is_floating(d) for d in lowered.dtypes]):
        # Sums of 8-bit floats beyond their range would become -0.
        found[executable.SMALL_LOOP_BYTES] = 0
    if lowered.scalars > MANY_SCALARS:
        found["xla_llvm_enable_noalias_metadata"] = False
    return found


class _AsList:
    """The tree of results that are wanted as a list."""

    unflatten = staticmethod(list)


AS_LIST = _AsList()


class CompiledProgram:
    """A program that runs on one device: arrays in, arrays out."""

    def __init__(
        self,
        lowered: LoweredProgram,
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

    def bind_fast_path(
        self,
        captured: list[Any],
        out_tree: Any,
        donated: list[int],
        placements: Sequence[Any],
    ) -> Any:
        """The quickest call: from leaves on this device to the tree of results.

        Args:
          placements: those of the results.

        Raises:
          ArgumentsElsewhere: a leaf is on another device, or given up twice. Nothing
            has run then; every other failure is one of the program.
        """
        device, types, kept = self.device, self._types, self._kept
        launch, handlers = self.executable.launch, self.executable.handlers
        unflatten = out_tree.unflatten
        no_host = repeat(None)

        def fast_path(leaves: list[Any]) -> Any:
            args = captured + leaves if captured else leaves
            if kept is not None:
                args = [args[i] for i in kept]
            given = [
                a._buffer if a._buffer is not None else a.buffer(device) for a in args
            ]
            failed = None
            try:
                outs = launch(given).consume_with_handlers(handlers)
            except executable.FAILURES as failure:
                failed = failure
            if failed is not None:
                self._raise_in_words(failed, given)
            if donated:
                for i in donated:
                    leaves[i].forget()
            return unflatten(map(ConcreteArray, types, no_host, outs, placements))

        return fast_path

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
        lowered: LoweredProgram,
        made: Any,
        options: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(lowered, made, options)
        mesh, requested = lowered.mesh_placement  # type: ignore[misc]
        kept = [lowered.jaxpr.inputs[i].type.ndim for i in lowered.kept]
        #: the shardings that arguments must have (the compiler may have found that one
        #: cannot be partitioned as requested)
        wanted = [[sharding] for sharding in requested]
        self.in_shardings = _named(mesh, made.argument_tilings(kept), wanted)
        # A result that is tiled like an operand of its rank gets the operand's spec.
        wanted = [
            [
                sharding,
                *[s for s, n in zip(requested, kept, strict=True) if n == t.ndim],
            ]
            for sharding, t in zip(lowered.results, self._types, strict=True)
        ]
        self.out_shardings = [*_named(mesh, made.result_tilings(), wanted)]

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

    def bind_fast_path(
        self,
        captured: list[Any],
        out_tree: Any,
        donated: list[int],
        placements: Sequence[Any],
    ) -> Any:
        """The quickest call: from leaves sharded as the first ones were."""
        shardings, types = self.in_shardings, self._types
        launch, handlers, kept = (
            self.executable.launch,
            self.executable.handlers,
            self._kept,
        )
        unflatten, no_host = out_tree.unflatten, repeat(None)
        # What the program closes over is put where it is needed once, not each time.
        wanted = dict(zip(kept or range(len(shardings)), shardings, strict=True))
        captured = [
            ConcreteArray(x.type, None, x.buffer_over(wanted[k]), wanted[k])
            if k in wanted
            else x
            for k, x in enumerate(captured)
        ]

        def fast_path(leaves: list[Any]) -> Any:
            args = captured + leaves if captured else leaves
            if kept is not None:
                args = [args[i] for i in kept]
            given = [
                a.buffer_over(s)
                if a._buffer is None or a.placement is not s
                else a._buffer
                for a, s in zip(args, shardings)  # noqa: B905  checked when bound
            ]
            failed = None
            try:
                outs = launch(given).consume_with_handlers(handlers)
            except executable.FAILURES as failure:
                failed = failure
            if failed is not None:
                self._raise_in_words(failed, given)
            for i in donated:
                leaves[i].forget()
            return unflatten(map(ConcreteArray, types, no_host, outs, placements))

        return fast_path


def _warn_of_idle_memory(
    who: str, donated: Sequence[ArrayType], results: Sequence[ArrayType]
) -> None:
    """Warn of donated arrays that are as large as no result, or none is left for."""
    sizes = Counter([t.size * t.storage.itemsize for t in results])
    idle = []
    for type_ in donated:
        size = type_.size * type_.storage.itemsize
        if sizes[size]:
            sizes[size] -= 1
        else:
            idle.append(type_)
    if idle:
        warnings.warn(
            f"{who}: no result can use the memory of {show_types(idle)}, which was "
            "donated: there is none of that size. What is donated cannot be used "
            "afterwards all the same, so donate only what results replace.",
            DonationWarning,
            stacklevel=user_level(),
        )


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


def compile_program(jaxpr: Jaxpr, placement: Placement) -> CompiledProgram:
    """The executable of a program for a placement, compiled once."""
    return jaxpr.memo(_compile, placement)


def _compile(jaxpr: Jaxpr, placement: Placement) -> CompiledProgram:
    return LoweredProgram(jaxpr, f"jit_{jaxpr.name or 'program'}", placement).compile()


def compile_operation(
    op: Primitive, types: Sequence[ArrayType], placement: Placement
) -> CompiledProgram:
    """One operation as a program of its own."""
    inputs = [Var(t) for t in types]
    outputs = [Var(t) for t in op.plan(tuple(types)).outs]
    jaxpr = Jaxpr(inputs, [Equation(op, inputs, outputs, None)], outputs, op.name)
    return LoweredProgram(jaxpr, f"eager_{op.name}", placement).compile()

"""Executables: StableHLO compiled for one device or several, and run.

An ``Executable`` is made once and called many times, so all that a call needs is
prepared beforehand: a result handler per output, and the two calls of jaxlib in one
closure. A call checks nothing. jaxlib compares arguments by their size in bytes only,
so the caller is responsible for shapes, dtypes and devices.

A program for several devices has one *partition* on each: partition k runs on device k,
on its shards of the arguments. Shardy partitions it by the attributes of the module.
"""

import hashlib
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn, TypeAlias

import numpy as np
from jaxlib import xla_client as xc
from jaxlib.mlir import ir

from covector.errors import DeviceError
from covector.runtime import (
    client,
    endings,
    host_calls,
    lapack,
    memory,
    modules,
    multi_process,
    overlap,
    shards,
)
from covector.runtime.buffers import (
    Buffer,
    Description,
    JaxlibError,
    check_alive,
    describe,
    placement,
    report,
)
from covector.runtime.compilation_cache import COMPILED, CacheEntry, listeners, tell
from covector.runtime.compile_options import Options, compile_options_of
from covector.runtime.host_calls import HostCallFailed
from covector.runtime.multi_process import ProgramDigest

Outputs: TypeAlias = Sequence[tuple[tuple[int, ...], Any]]
#: a device, or the devices of the partitions in order
Where: TypeAlias = client.Device | tuple[client.Device, ...]

#: what ``launch`` raises
FAILURES = (JaxlibError, HostCallFailed)

# jaxlib 0.11 dropped the last argument, which skips the checks of a result.
_HANDLER_FLAGS = (True,) if xc._version >= 480 else (True, True)


class MemoryUse(NamedTuple):
    """Bytes that a compiled program holds on each device while it runs."""

    arguments: int
    results: int
    temporaries: int
    #: of the results, what lies in the memory of donated arguments
    shared: int

    @property
    def peak(self) -> int:
        """All of it together: temporaries are one block, as large as they ever get."""
        return self.arguments + self.results + self.temporaries - self.shared


class Executable:
    """A program compiled for one device, or one partition for each of several.

    ``execute`` runs it: a sequence of buffers in, a list of buffers out. ``launch`` and
    ``handlers`` are its two halves,
    ``launch(buffers).consume_with_handlers(handlers)``, for callers that count tenths
    of a microsecond; they raise in jaxlib's words, and unless the program ``overlaps``,
    those that do are finished first.
    """

    __slots__ = (
        "__weakref__",
        "_loaded",
        "compile_seconds",
        "devices",
        "execute",
        "handlers",
        "launch",
        "outputs",
        "overlaps",
    )

    execute: Callable[[Sequence[Buffer]], list[Buffer]]

    def __init__(  # noqa: PLR0913  what was compiled, for what, how it is called
        self,
        loaded: Any,
        where: Where,
        outputs: Outputs,
        launch: Callable[..., Any] | None = None,
        *,
        compile_seconds: float | None = None,
        overlaps: bool = False,
    ) -> None:
        self._loaded = loaded
        #: whether Python goes on while it runs
        self.overlaps: bool = overlaps
        #: how long XLA took; None where what it had made before was found
        self.compile_seconds: float | None = compile_seconds
        self.devices: tuple[client.Device, ...] = _devices(where)
        self.outputs: list[Description] = [
            describe(shape, np.dtype(dtype)) for shape, dtype in outputs
        ]
        self.handlers: list[Any] = [
            xc.array_result_handler(output, layout, *_HANDLER_FLAGS)
            for output, layout in zip(self.outputs, self._layouts(), strict=True)
        ]
        self.launch: Callable[..., Any] = launch or loaded.execute_sharded
        if overlaps:
            self.launch = overlap.overlapping(self.launch)
        self.execute = _prepared_call(self.launch, self.handlers, overlaps)

    def runs_where(self, buffer: Buffer) -> bool:
        """Whether a buffer is on the devices of this executable."""
        return shards.devices_of(buffer) == self.devices

    def _layouts(self) -> list[xc.GSPMDSharding]:
        if len(self.devices) == 1:
            return [placement(self.devices[0])[0]] * len(self.outputs)
        return [
            shards.layout(self.devices, tiling, None).sharding
            for tiling in self.result_tilings()
        ]

    def argument_tilings(self, ranks: Sequence[int]) -> list[shards.Tiling]:
        """The tilings that arguments of these ranks must have."""
        given = self._loaded.get_parameter_shardings() or [None] * len(ranks)
        pairs = zip(given, ranks, strict=True)
        return [shards.tiling(s, rank, len(self.devices)) for s, rank in pairs]

    def result_tilings(self) -> list[shards.Tiling]:
        """The tilings of results over the devices."""
        if not self.outputs:  # XLA tells of one, the empty tuple
            return []
        made = self._loaded.get_output_shardings() or [None] * len(self.outputs)
        ranks = [len(output.shape) for output in self.outputs]
        pairs = zip(made, ranks, strict=True)
        return [shards.tiling(s, rank, len(self.devices)) for s, rank in pairs]

    @property
    def fingerprint(self) -> str:
        """Equal for equal compiled programs, in every process."""
        return self._loaded.fingerprint.hex()

    def as_text(self) -> str:
        """The program as XLA optimised it, in HLO."""
        return self._loaded.get_hlo_text()

    def hlo_proto(self) -> bytes:
        """The same as a protocol buffer, ``HloModuleProto``, which numbers what plans
        of memory refer to.
        """
        return self._loaded.hlo_modules()[0].as_serialized_hlo_module_proto()

    def cost_analysis(self) -> dict[str, float]:
        """XLA's estimates: ``flops``, ``bytes accessed``, and more."""
        return self._loaded.cost_analysis()

    def memory_analysis(self) -> Any:
        """Sizes of arguments, outputs and temporaries, as ``…_size_in_bytes``."""
        return self._loaded.get_compiled_memory_stats()

    def memory_use(self) -> MemoryUse:
        """What it holds while it runs, as XLA planned it.

        The peak that XLA tells of is not used: it leaves out what loops need.
        """
        found = self.memory_analysis()
        return MemoryUse(
            found.argument_size_in_bytes,
            found.output_size_in_bytes,
            found.temp_size_in_bytes,
            found.alias_size_in_bytes,
        )

    def serialize(self) -> bytes:
        """Bytes that ``load_executable`` turns back into this executable."""
        return self._loaded.client.serialize_executable(self._loaded)


def _prepared_call(
    launch: Callable[..., Any], handlers: list[Any], overlaps: bool
) -> Callable[[Sequence[Buffer]], list[Buffer]]:
    """The call of an executable, with its failures in our words."""

    def execute(buffers: Sequence[Buffer]) -> list[Buffer]:
        if overlap.under_way and not overlaps:
            overlap.finish()
        try:
            return launch(buffers).consume_with_handlers(handlers)
        except FAILURES as error:
            failure = error
        for buffer in buffers:
            check_alive(buffer)
        raise_in_words(failure)

    return execute


def raise_in_words(failure: Exception) -> NoReturn:
    """Raise what the failure of a launch, one of ``FAILURES``, means to a user."""
    if isinstance(failure, HostCallFailed):
        raise failure.error
    report(failure)


def compile_module(  # noqa: PLR0913  what to compile, for what, and how
    module: modules.Source,
    where: Where,
    *,
    outputs: Outputs,
    options: Options | None = None,
    donated: Sequence[int] = (),
    functions: Sequence[Callable[..., tuple]] = (),
    overlaps: bool = False,
    one_blas_thread: bool = False,
    anew: bool = False,
) -> Executable:
    """Compile a StableHLO module, or find what was compiled from an equal one before.

    Args:
      module: as text or bytecode; its entry is a public ``@main``.
      where: the device; or several, with a partition on each.
      outputs: shape and dtype of each result.
      options: fields of XLA's DebugOptions by name, before our own defaults.
      donated: positions of arguments whose memory the program may use for results of
        the same size; a call deletes the buffers that it did use.
      functions: the standard functions of ``host_calls`` that its custom calls refer to
        by their position.
      overlaps: whether Python may go on while it runs, on one CPU (``overlap``).
      one_blas_thread: whether LAPACK has one thread while it runs.
      anew: without the cache, in which equal modules are one, whatever their source
        locations.

    Raises:
      DeviceError: XLA cannot compile the module; with XLA's words. Or this process was
        forked, and has no compiler.
      OutOfMemory: there is too little memory to compile it.
    """
    devices = _devices(where)
    compile_options = compile_options_of(devices, options)
    may_overlap = not functions and overlap.may_overlap(devices[0])
    overlaps = overlaps and may_overlap
    if may_overlap and not overlaps:
        functions = host_calls.ON_CALLING_THREAD
    with modules.opened(module, donated) as mine:
        content = modules.content(mine)
        entry = CacheEntry(content, compile_options, devices, functions)
        loaded, seconds = None if anew else entry.find(), None
        if loaded is None:
            loaded, seconds = _compile(mine, devices, compile_options, functions)
            if not anew:
                entry.keep(loaded, seconds)
    launch = _launch(loaded, devices, module, compile_options)
    if one_blas_thread and not overlaps and overlap.runs_inline(devices[0]):
        launch = lapack.with_one_thread(launch)
    return Executable(
        loaded,
        devices,
        outputs,
        launch,
        compile_seconds=seconds,
        overlaps=overlaps,
    )


def compile_with_callbacks(  # noqa: PLR0913  what to compile, for what, and how
    module: modules.Source,
    where: Where,
    callbacks: Sequence[Callable[..., Any]],
    *,
    outputs: Outputs,
    options: Options | None = None,
    ordered: bool = False,
) -> Executable:
    """Compile a module whose custom calls refer to Python functions by their position.

    It is compiled anew each time: its content does not say which functions those are.
    What a function raises comes out of ``execute``, or of reading a result;
    ``launch`` raises it as ``HostCallFailed``. An ``ordered`` program starts when those
    before it are done.
    """
    endings.check_compiler()
    devices = _devices(where)
    compile_options = compile_options_of(devices, options)
    functions = [host_calls.guarded(function) for function in callbacks]
    with modules.opened(module) as mine:
        loaded, seconds = _compile(mine, devices, compile_options, functions)
    launch = host_calls.watched(
        _launch(loaded, devices, module, compile_options),
        len(devices) == 1 and overlap.runs_inline(devices[0]),
        ordered,
    )
    return Executable(loaded, devices, outputs, launch, compile_seconds=seconds)


def load_executable(
    serialized: bytes,
    where: Where,
    outputs: Outputs,
    functions: Sequence[Callable[..., tuple]] = (),
) -> Executable:
    """The executable that ``serialize`` turned into these bytes.

    They hold machine code for the kind of device that it was compiled for.
    ``functions`` are those of Python that it was compiled with.
    """
    endings.check_compiler()
    devices = _devices(where)
    if not functions and overlap.may_overlap(devices[0]):
        functions = host_calls.ON_CALLING_THREAD
    if lapack.is_called_by(serialized):
        lapack.prepare()
    try:
        loaded = devices[0].client.deserialize_executable(
            serialized, xc.DeviceList(devices), None, list(functions)
        )
    except JaxlibError as error:
        raise DeviceError(f"these bytes are not an executable: {error}") from None
    launch = multi_process.in_lockstep(
        loaded.execute_sharded,
        [device.process_index for device in devices],
        lambda: ProgramDigest(
            "a program that was loaded", loaded.fingerprint.hex(), str
        ),
    )
    return Executable(loaded, devices, outputs, launch)


def _devices(where: Where) -> tuple[client.Device, ...]:
    return where if isinstance(where, tuple) else (where,)


def _launch(
    loaded: xc.LoadedExecutable,
    devices: tuple[client.Device, ...],
    module: modules.Source,
    options: xc.CompileOptions,
) -> Callable[..., Any]:
    """The call of what was compiled; with other processes, where it is theirs too."""

    def described() -> ProgramDigest:
        with modules.opened(module) as mine:
            content = hashlib.sha256(modules.content(mine))
            name = modules.name_of(mine)
        content.update(options.SerializeAsString())
        return ProgramDigest(
            name, content.hexdigest(), lambda: modules.readable(module)
        )

    ranks = [device.process_index for device in devices]
    return multi_process.in_lockstep(loaded.execute_sharded, ranks, described)


def _compile(
    module: ir.Module,
    devices: tuple[client.Device, ...],
    options: xc.CompileOptions,
    callbacks: Sequence[Callable[..., Any]] = (),
) -> tuple[xc.LoadedExecutable, float]:
    """What XLA makes of a module, and how many seconds that takes."""
    start = time.perf_counter()
    try:
        made = devices[0].client.compile_and_load(
            module, xc.DeviceList(devices), options, list(callbacks)
        )
    except JaxlibError as error:
        if memory.is_shortage(error):
            raise memory.out_of_memory(error) from None
        raise DeviceError(f"XLA cannot compile this program: {error}") from error
    seconds = time.perf_counter() - start
    if listeners:
        tell(COMPILED, seconds)
    return made, seconds

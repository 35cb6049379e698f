"""Executables: StableHLO compiled for one device or several, and run.

An ``Executable`` is made once and called many times, so all that a call needs is
prepared beforehand: a result handler per output, and the two calls of jaxlib in one
closure. A call checks nothing. jaxlib compares arguments by their size in bytes only,
so the caller is responsible for shapes, dtypes and devices.

A program for several devices has one *partition* on each: partition k runs on device k,
on its shards of the arguments. Shardy partitions it by the attributes of the module.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn, TypeAlias

import numpy as np
from jaxlib import xla_client as xc

from covector.runtime import client, overlap, shards
from covector.runtime.buffers import (
    Buffer,
    Description,
    JaxlibError,
    check_alive,
    describe,
    placement,
    report,
)
from covector.runtime.host_calls import HostCallFailed
from covector.runtime.overlap import Overlap

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
    of a microsecond; they raise in jaxlib's words, and for a program that never
    ``overlaps``, those that do are finished first.
    """

    __slots__ = (
        "__weakref__",
        "_loaded",
        "_serialized",
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
        serialized: bytes | None = None,
        overlaps: Overlap = Overlap.NEVER,
    ) -> None:
        self._loaded = loaded
        self._serialized = serialized
        #: when Python goes on while it runs
        self.overlaps: Overlap = overlaps
        #: how long XLA took; None where what it had made before was found
        self.compile_seconds: float | None = compile_seconds
        self.devices: tuple[client.Device, ...] = as_devices(where)
        self.outputs: list[Description] = [
            describe(shape, np.dtype(dtype)) for shape, dtype in outputs
        ]
        self.handlers: list[Any] = [
            xc.array_result_handler(output, layout, *_HANDLER_FLAGS)
            for output, layout in zip(self.outputs, self._layouts(), strict=True)
        ]
        self.launch: Callable[..., Any] = launch or loaded.execute_sharded
        if overlaps is Overlap.ALWAYS:
            self.launch = overlap.Overlapping(self.launch, _allocated(loaded))
        elif overlaps is Overlap.UNREAD:
            apart = functools.partial(_launch_apart, loaded, serialized, self.devices)
            self.launch = overlap.overlapping_when_unread(self.launch, apart)
        in_turn = overlaps is Overlap.NEVER
        self.execute = _prepared_call(self.launch, self.handlers, in_turn)

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
        return _serialize(self._loaded, self._serialized)


def _serialize(loaded: Any, serialized: bytes | None) -> bytes:
    # What was loaded from bytes does not give them back: jaxlib leaves out kernels.
    return serialized or loaded.client.serialize_executable(loaded)


def _launch_apart(
    loaded: Any, serialized: bytes | None, where: Sequence[client.Device]
) -> tuple[Callable[..., Any], int] | None:
    """The call of the same program that hands it to a thread of the runtime, without
    the function for which that runs it on the calling one (``ON_CALLING_THREAD``); and
    the bytes that a call allocates.
    """
    try:
        again = loaded.client.deserialize_executable(
            _serialize(loaded, serialized), xc.DeviceList(where), None, []
        )
    except JaxlibError:
        return None
    return again.execute_sharded, _allocated(again)


def _allocated(loaded: Any) -> int:
    """Bytes that a call allocates when it is launched: results and temporary ones."""
    found = loaded.get_compiled_memory_stats()
    return found.output_size_in_bytes + found.temp_size_in_bytes


def _prepared_call(
    launch: Callable[..., Any], handlers: list[Any], in_turn: bool
) -> Callable[[Sequence[Buffer]], list[Buffer]]:
    """The call of an executable, with its failures in our words."""

    def execute(buffers: Sequence[Buffer]) -> list[Buffer]:
        if overlap.under_way and in_turn:
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


def as_devices(where: Where) -> tuple[client.Device, ...]:
    """The devices of the partitions, in order."""
    return where if isinstance(where, tuple) else (where,)

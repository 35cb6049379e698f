"""Compilation of StableHLO modules to executables.

Imported when the first program is compiled: MLIR comes along.
"""

import hashlib
import time
from collections.abc import Callable, Sequence
from typing import Any

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
)
from covector.runtime.buffers import JaxlibError
from covector.runtime.compilation_cache import (
    COMPILED,
    CacheEntry,
    Found,
    listeners,
    tell,
)
from covector.runtime.compile_options import Options, compile_options_of
from covector.runtime.executable import Executable, Outputs, Where, as_devices
from covector.runtime.multi_process import ProgramDigest
from covector.runtime.overlap import Overlap


def compile_module(  # noqa: PLR0913  what to compile, for what, and how
    module: modules.Source,
    where: Where,
    *,
    outputs: Outputs,
    options: Options | None = None,
    donated: Sequence[int] = (),
    functions: Sequence[Callable[..., tuple]] = (),
    overlaps: Overlap = Overlap.NEVER,
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
      overlaps: when Python may go on while it runs, on one CPU (``overlap``).
      one_blas_thread: whether LAPACK has one thread while it runs.
      anew: without the cache, in which equal modules are one, whatever their source
        locations.

    Raises:
      DeviceError: XLA cannot compile the module; with XLA's words. Or this process was
        forked, and has no compiler.
      OutOfMemory: there is too little memory to compile it.
    """
    devices = as_devices(where)
    compile_options = compile_options_of(devices, options)
    may_overlap = not functions and overlap.may_overlap(devices[0])
    inline = overlap.runs_inline(devices[0])
    if not may_overlap or (one_blas_thread and overlaps is Overlap.UNREAD):
        overlaps = Overlap.NEVER
    if may_overlap and overlaps is not Overlap.ALWAYS:
        functions = host_calls.ON_CALLING_THREAD
    with modules.opened(module, donated) as mine:
        content = modules.content(mine)
        entry = CacheEntry(content, compile_options, devices, functions)
        found, seconds = None if anew else entry.find(), None
        if found is None:
            loaded, seconds = _compile(mine, devices, compile_options, functions)
            found = Found(loaded)
            if not anew:
                entry.keep(loaded, seconds)
    launch = _launch(found.loaded, devices, module, compile_options)
    if one_blas_thread and overlaps is Overlap.NEVER and inline:
        launch = lapack.with_one_thread(launch)
    if inline and len(devices) > 1:
        launch = overlap.one_at_a_time(launch)
    return Executable(
        found.loaded,
        devices,
        outputs,
        launch,
        compile_seconds=seconds,
        serialized=found.serialized,
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
    devices = as_devices(where)
    compile_options = compile_options_of(devices, options)
    functions = [host_calls.guarded(function) for function in callbacks]
    with modules.opened(module) as mine:
        loaded, seconds = _compile(mine, devices, compile_options, functions)
    launch = _launch(loaded, devices, module, compile_options)
    inline = overlap.runs_inline(devices[0])
    if inline and len(devices) > 1:
        launch = overlap.until_done(launch)
    launch = host_calls.watched(launch, inline, ordered)
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
    devices = as_devices(where)
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
    if len(devices) > 1 and overlap.runs_inline(devices[0]):
        launch = overlap.one_at_a_time(launch)
    return Executable(loaded, devices, outputs, launch, serialized=serialized)


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

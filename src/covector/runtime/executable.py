"""Executables: StableHLO compiled for a device, and run.

An ``Executable`` is built once and called many times, so everything that a call needs
is prepared
beforehand: one result handler per output, and the two jaxlib calls in one closure. A
call checks
nothing: jaxlib compares sizes in bytes only, so the caller answers for shapes and
dtypes.
"""

import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from jaxlib import xla_client as xc
from jaxlib.mlir import ir
from jaxlib.mlir._mlir_libs import _jax_mlir_ext
from jaxlib.mlir.dialects import chlo, sdy, stablehlo
from jaxlib.mlir.passmanager import PassManager

from covector.runtime import client, compilation_cache
from covector.runtime.buffers import (
    Buffer,
    Description,
    JaxlibError,
    check_alive,
    describe,
    fail,
    placement,
)

Outputs = Sequence[tuple[tuple[int, ...], np.dtype]]

# jaxlib 0.11 dropped the argument of result handlers that skips their checks.
_HANDLER_SWITCHES = (True,) if xc._version >= 480 else (True, True)

# Compile options of ours, by platform: any field of XLA's DebugOptions.
DEFAULT_OPTIONS: Mapping[str, Mapping[str, object]] = {"cpu": {}, "gpu": {}}


class Executable:
    """A compiled program on a device.

    ``execute(buffers)`` runs it: a sequence of buffers in, a list of buffers out.
    """

    __slots__ = ("__weakref__", "_loaded", "device", "execute", "outputs")

    execute: Callable[[Sequence[Buffer]], list[Buffer]]

    def __init__(
        self, loaded: xc.LoadedExecutable, device: client.Device, outputs: Outputs
    ) -> None:
        self._loaded = loaded
        self.device = device
        self.outputs = [describe(tuple(s), np.dtype(d)) for s, d in outputs]
        self.execute = _prepare(loaded, device, self.outputs)

    @property
    def fingerprint(self) -> str:
        """A digest of the compiled program, the same in every process."""
        mark = self._loaded.fingerprint
        return mark.hex() if isinstance(mark, bytes) else str(mark)

    def as_text(self) -> str:
        """The optimised HLO."""
        return self._loaded.get_hlo_text()

    def cost_analysis(self) -> dict[str, float]:
        """XLA's estimates: ``flops``, ``bytes accessed``, and more."""
        return self._loaded.cost_analysis()

    def memory_analysis(self) -> Any:
        """Sizes of arguments, outputs, temporaries and code, as ``*_size_in_bytes``."""
        return self._loaded.get_compiled_memory_stats()

    def serialize(self) -> bytes:
        """Bytes from which ``load_executable`` makes the same executable again."""
        return self._loaded.client.serialize_executable(self._loaded)


def _prepare(
    loaded: xc.LoadedExecutable, device: client.Device, outputs: list[Description]
) -> Callable[[Sequence[Buffer]], list[Buffer]]:
    """The call of an executable, with all it needs bound to locals."""
    sharding, _ = placement(device)
    handlers = [
        xc.array_result_handler(output, sharding, *_HANDLER_SWITCHES)
        for output in outputs
    ]
    run = loaded.execute_sharded

    def execute(buffers: Sequence[Buffer]) -> list[Buffer]:
        try:
            return run(buffers).consume_with_handlers(handlers)
        except JaxlibError as error:
            for buffer in buffers:
                check_alive(buffer)
            fail(error)

    return execute


def _compile_options(
    device: client.Device, options: Mapping[str, object] | None
) -> xc.CompileOptions:
    ours = DEFAULT_OPTIONS.get(client.device_platform(device), {})
    wanted = xc.CompileOptions()
    wanted.num_replicas = wanted.num_partitions = 1
    wanted.device_assignment = xc.DeviceAssignment.create(
        np.array([[device.id]], np.int32)
    )
    wanted.env_option_overrides = list({**ours, **(options or {})}.items())
    return wanted


def compile_module(
    module: ir.Module | str,
    device: client.Device,
    *,
    outputs: Outputs,
    options: Mapping[str, object] | None = None,
    donated: Sequence[int] = (),
    host_callbacks: Sequence[Callable[..., Any]] = (),
) -> Executable:
    """Compile a StableHLO module, or take what was compiled from the same content before.

    Args:
      module: with a public ``@main``; it is not changed.
      device: where it will run.
      outputs: shape and dtype of each result of ``@main``.
      options: fields of XLA's DebugOptions by name; they go before our own defaults.
      donated: positions of arguments whose buffers the program may reuse; they are
        deleted by a call.
      host_callbacks: Python functions that the module's custom calls refer to by index.
        A program with callbacks is not cached, for its content does not say which
        functions they are.

    Raises RuntimeError with XLA's words where the module cannot be compiled.
    """
    if isinstance(module, str):
        module = ir.Module.parse(module, context=_context())
    if donated:
        module = _donating(module, donated)
    compile_options = _compile_options(device, options)
    if host_callbacks:
        loaded = _compile(module, device, compile_options, host_callbacks)
        return Executable(loaded, device, outputs)
    key = compilation_cache.key(_content(module), compile_options, [device])
    loaded = compilation_cache.find(key, compile_options, [device])
    if loaded is None:
        loaded = _compile(module, device, compile_options, ())
        compilation_cache.keep(key, loaded)
    return Executable(loaded, device, outputs)


def load_executable(
    serialized: bytes, device: client.Device, outputs: Outputs
) -> Executable:
    """The executable that ``Executable.serialize`` made bytes of.

    The bytes hold machine code for the kind of machine they were made on.
    """
    on_device = xc.DeviceList((device,))
    try:
        loaded = device.client.deserialize_executable(serialized, on_device, None)
    except JaxlibError as error:
        raise ValueError(f"these bytes are not an executable: {error}") from None
    return Executable(loaded, device, outputs)


def _compile(
    module: ir.Module,
    device: client.Device,
    options: xc.CompileOptions,
    host_callbacks: Sequence[Callable[..., Any]],
) -> xc.LoadedExecutable:
    on_device = xc.DeviceList((device,))
    return device.client.compile_and_load(
        module, on_device, options, list(host_callbacks)
    )


def _context() -> ir.Context:
    """A context that can read StableHLO text."""
    dialects = ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(dialects)
    context = ir.Context()
    context.append_dialect_registry(dialects)
    context.load_all_available_dialects()
    # A context otherwise owns a pool of threads.
    context.enable_multithreading(False)
    for dialect in (stablehlo, chlo, sdy):
        dialect.register_dialect(context)
    return context


def _donating(module: ir.Module, donated: Sequence[int]) -> ir.Module:
    """A copy of the module whose entry gives up these arguments."""
    with module.context:
        module = ir.Module.parse(_bytecode(module.operation))
        entry = next(
            op
            for op in module.body
            if ir.StringAttr(op.attributes["sym_name"]).value == "main"
        )
        attributes = [ir.DictAttr(a) for a in entry.arg_attrs]
        for position in donated:
            named = {item.name: item.attr for item in attributes[position]}
            named["jax.buffer_donor"] = ir.BoolAttr.get(True)
            attributes[position] = ir.DictAttr.get(named)
        entry.arg_attrs = ir.ArrayAttr.get(attributes)
    return module


def _content(module: ir.Module) -> bytes:
    """What the module says, without where in the source it says it."""
    with module.context:
        copy = module.operation.clone()
        PassManager.parse("builtin.module(strip-debuginfo)").run(copy)
        return _bytecode(copy)


def _bytecode(operation: ir.Operation) -> bytes:
    stream = io.BytesIO()
    operation.write_bytecode(stream)
    return stream.getvalue()

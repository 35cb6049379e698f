"""StableHLO modules on the way to XLA, each in an MLIR context of one thread.

A context is not thread-safe, and XLA reads and changes that of the module it is given
(it loads dialects, it makes types and attributes) without holding Python's lock. So a
module comes here as text or as bytecode, and is read in a context that nobody else has
until it is done with:

    with opened(module) as mine:          some 0.1 ms
        compile it

To make a context takes 2 ms; there are as many as threads ever compiled at once.
"""

import contextlib
import io
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from jaxlib import _jax, xla_client
from jaxlib.mlir import ir
from jaxlib.mlir._mlir_libs import _chlo, _jax_mlir_ext, _sdy, _stablehlo
from jaxlib.mlir.dialects import builtin, stablehlo  # noqa: F401  C++ would, later
from jaxlib.mlir.passmanager import PassManager

from covector.errors import DeviceError, ExportError

#: a module as text, or as bytecode
Source: TypeAlias = str | bytes

#: contexts that no thread is using
_idle: list[ir.Context] = []


def new_context() -> ir.Context:
    """A context with every dialect that covector writes."""
    registry = ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    context = ir.Context()
    context.append_dialect_registry(registry)
    context.load_all_available_dialects()
    context.enable_multithreading(False)  # it would start a pool of threads
    for dialect in (_stablehlo, _chlo, _sdy):
        dialect.register_dialect(context)
    return context


@contextlib.contextmanager
def opened(source: Source, donated: Sequence[int] = ()) -> Iterator[ir.Module]:
    """The module, in a context that is this thread's until the block ends.

    Args:
      donated: positions of arguments of ``main`` whose memory is given up.

    Raises:
      DeviceError: it is not a module.
    """
    try:
        context = _idle.pop()
    except IndexError:
        context = new_context()
    try:
        module = _parsed(source, context)
        if donated:
            _donate(module, donated)
        yield module
    finally:
        _idle.append(context)


def _parsed(source: Source, context: ir.Context) -> ir.Module:
    try:
        return ir.Module.parse(source, context)
    except ir.MLIRError as error:
        raise DeviceError(f"this is not a StableHLO module: {error}") from None


def _donate(module: ir.Module, donated: Sequence[int]) -> None:
    """Say in the module that its entry gives up these arguments."""
    with module.context:
        entry = ir.SymbolTable(module.operation)["main"]
        count = len(entry.type.inputs)
        has_attributes = "arg_attrs" in entry.attributes
        given = entry.arg_attrs if has_attributes else [ir.DictAttr.get({})] * count
        attributes = [{item.name: item.attr for item in each} for each in given]
        for position in donated:
            attributes[position]["jax.buffer_donor"] = ir.BoolAttr.get(True)
        entry.arg_attrs = ir.ArrayAttr.get(
            [ir.DictAttr.get(each) for each in attributes]
        )


def name_of(module: ir.Module) -> str:
    """The name of a module."""
    return ir.StringAttr(module.operation.attributes["sym_name"]).value


def content(module: ir.Module) -> bytes:
    """The content of a module, without its source locations."""
    with module.context:
        copy = module.operation.clone()
        PassManager.parse("builtin.module(strip-debuginfo)").run(copy)
        return bytecode(copy)


def bytecode(operation: Any) -> bytes:
    """An operation of MLIR, a module for instance, as bytes that can be read again."""
    stream = io.BytesIO()
    operation.write_bytecode(stream)
    return stream.getvalue()


def hlo(module: ir.Module) -> Any:
    """A module as a computation of HLO, which XLA has not optimised yet."""
    return _jax.mlir.mlir_module_to_xla_computation(bytecode(module.operation))


def hlo_text(message: bytes) -> str:
    """The text of a module of HLO that is a protocol buffer, with its source lines."""
    return xla_client.hlo.HloModule.from_serialized_hlo_module_proto(
        message
    ).to_string()


def portable(module: ir.Module) -> bytes:
    """A module as an artefact that compilers of other versions read: those of the last
    years, and those that are up to twelve weeks older.
    """
    oldest = _stablehlo.StablehloCompatibilityRequirement.WEEK_12
    version = _stablehlo.get_version_from_compatibility_requirement(oldest)
    # Other dialects, such as that of shardings, stay as they are.
    return _jax.mlir.serialize_portable_artifact(module, version, True)


def from_portable(artefact: bytes, *, generic: bool = True) -> str:
    """The text of a portable module; ``generic`` is the form that is quick to read.

    Raises:
      ExportError: it is none, or of a version that this jaxlib does not read.
    """
    context = new_context()
    try:
        module = _stablehlo.deserialize_portable_artifact(context, artefact)
        return module.operation.get_asm(print_generic_op_form=generic)
    except (ir.MLIRError, ValueError) as error:
        raise ExportError(
            "jaxlib cannot read this program: it is damaged, or of a later version. "
            f"({error})"
        ) from None


def readable(source: Source) -> str:
    """The text of a module, with the user's line behind each operation."""
    with opened(source) as module, module.context:
        return module.operation.get_asm(enable_debug_info=True, use_local_scope=True)

"""Compiled programs as bytes, and back: for processes that must not compile.

The bytes are machine code for one kind of device and one version of jaxlib: load only
what you trust. ``covector.export`` stores programs for other devices and versions.
"""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from covector import namespaces, tree
from covector.core.annotations import PyTree
from covector.core.array import ConcreteArray
from covector.core.array_like import Array
from covector.core.convert import as_array
from covector.core.flat import argument_path
from covector.core.sharding.mesh import Mesh
from covector.core.sharding.shardings import (
    NamedSharding,
    Sharding,
    SingleDeviceSharding,
)
from covector.core.sharding.spec import PartitionSpec
from covector.core.trace import Tracer
from covector.core.types import ArrayType
from covector.dispatch.stages import Compiled
from covector.errors import ExportError, TreeMismatch, TypeMismatch, how_many
from covector.export.deserialization import read_types
from covector.export.serialization import written_type
from covector.lowering.compiled import ShardedProgram
from covector.runtime import client, compiler, executable, host_calls
from covector.tree.registry import PyTreeDef

__all__ = ["Loaded", "deserialize_and_load", "serialize"]
__dir__ = namespaces.completions(globals())


def serialize(compiled: Compiled) -> tuple[bytes, PyTreeDef, PyTreeDef]:
    """A compiled program as bytes, and the trees of its arguments and of its result.

    Raises:
      ExportError: it calls Python functions, which are not in the bytes.

    >>> import covector as cv
    >>> compiled = cv.jit(lambda x: x + 1).lower(1.0).compile()
    >>> float(deserialize_and_load(*serialize(compiled))(2.0))
    3.0
    """
    traced, made = compiled._traced, compiled._compiled
    lowered = made.lowered
    functions = host_calls.standard_names(lowered.module.host_functions)
    if functions is None:
        raise ExportError(
            f"serialize: {traced.who} calls Python functions (callbacks, debug "
            "prints), which machine code cannot hold. Take them out."
        )
    if traced.program.references is not None:
        raise ExportError(
            f"serialize: {traced.who} uses references, which live in this process. "
            "Pass the values in, and return the new ones."
        )
    captured = [np.asarray(x.host()) for x in traced.program.captured]
    blobs = [x.tobytes() for x in captured]
    blobs.append(made.executable.serialize())
    mesh = lowered.mesh_placement and lowered.mesh_placement.mesh
    ins = made.in_shardings if isinstance(made, ShardedProgram) else []
    outs = made.out_shardings if isinstance(made, ShardedProgram) else []
    head = {
        "who": traced.who,
        "in_types": list(map(written_type, lowered.jaxpr.in_types)),
        "out_types": list(map(written_type, lowered.jaxpr.out_types)),
        "kept": lowered.kept,
        "donated": list(compiled.donate_argnums),
        "captured": len(captured),
        "lengths": list(map(len, blobs)),
        "functions": functions,
        "mesh": mesh and [mesh.axis_sizes, mesh.axis_names],
        "specs": [[list(s.spec) for s in each] for each in (ins, outs)],  # type: ignore[attr-defined]
    }
    text = json.dumps(head).encode()
    content = b"".join([len(text).to_bytes(8, "little"), text, *blobs])
    return content, compiled.in_tree, compiled.out_tree


def deserialize_and_load(
    serialized: bytes,
    in_tree: PyTreeDef,
    out_tree: PyTreeDef,
    backend: str | None = None,
    execution_devices: Sequence[client.Device] | None = None,
) -> "Loaded":
    """The program that ``serialize`` turned into these bytes, ready to be called.

    Args:
      in_tree, out_tree: the trees that ``serialize`` returned.
      backend: the platform by name; by default that where programs run.
      execution_devices: as many devices as it ran on; by default the first ones.

    Raises:
      DeviceError: the bytes are no machine code for this device.
      ExportError: there are not as many devices; or another version wrote the bytes.
    """
    length = int.from_bytes(serialized[:8], "little")
    head, at = json.loads(serialized[8 : 8 + length]), 8 + length
    blobs = []
    for size in head["lengths"]:
        blobs.append(serialized[at : at + size])
        at += size
    sizes, names = head["mesh"] or ((), ())
    count = int(np.prod(sizes, dtype=int))
    devices = list(execution_devices or client.local_devices(backend=backend))[:count]
    if len(devices) < count:
        raise ExportError(
            f"the compiled {head['who']} runs on {how_many(count, 'device')}, but "
            f"there are {len(devices)}."
        )
    in_types, out_types = read_types(head["in_types"]), read_types(head["out_types"])
    outputs = [(t.shape, t.storage) for t in out_types]
    mesh = Mesh(np.array(devices).reshape(sizes), tuple(names)) if names else None
    functions = _standard_functions(head["who"], head["functions"])
    found = compiler.load_executable(blobs[-1], tuple(devices), outputs, functions)
    ins, outs = head["specs"]
    pairs = zip(in_types, blobs[: head["captured"]], strict=False)
    return Loaded(
        head["who"],
        in_tree,
        out_tree,
        in_types,
        out_types,
        found,
        head["kept"],
        head["donated"],
        [ConcreteArray(t, _values(t, blob)) for t, blob in pairs],
        _shardings(ins, mesh, devices[0], len(head["kept"])),
        _shardings(outs, mesh, devices[0], len(out_types)),
    )


def _standard_functions(who: str, names: Sequence[str]) -> list[Any]:
    """The functions of this library that a program calls, by their names."""
    missing = [name for name in names if name not in host_calls.standard]
    if missing:
        raise ExportError(
            f"the compiled {who} calls {missing[0]!r} of another version of covector. "
            "Serialize it again."
        )
    return [host_calls.standard[name] for name in names]


def _values(type: ArrayType, content: bytes) -> np.ndarray:
    return np.frombuffer(content, type.storage).reshape(type.shape)


def _shardings(
    specs: Sequence[Any], mesh: Mesh | None, device: client.Device, count: int
) -> list[Sharding]:
    if mesh is None:
        return [SingleDeviceSharding(device)] * count
    entries = [[tuple(e) if isinstance(e, list) else e for e in s] for s in specs]
    return [NamedSharding(mesh, PartitionSpec(*e)) for e in entries]


class Loaded(NamedTuple):
    """A compiled program that was loaded: called as the function it was made of."""

    who: str
    in_tree: PyTreeDef
    out_tree: PyTreeDef
    in_types: Sequence[ArrayType]
    out_types: Sequence[ArrayType]
    executable: executable.Executable
    kept: Sequence[int]
    donated: Sequence[int]
    captured: Sequence[ConcreteArray]
    in_shardings: Sequence[Sharding]
    out_shardings: Sequence[Sharding]

    def __call__(self, *args: PyTree, **kwargs: PyTree) -> PyTree:
        """The results for arguments of the types that it was compiled for.

        Raises:
          TreeMismatch, TypeMismatch: they are others.
        """
        leaves, in_tree = tree.flatten((args, kwargs))
        if in_tree != self.in_tree:
            difference = tree.describe_difference(self.in_tree, in_tree)
            raise TreeMismatch(f"the compiled {self.who}: {difference}.")
        arguments = [x if isinstance(x, Array) else as_array(x) for x in leaves]
        wanted = self.in_types[len(self.captured) :]
        for i, (x, t) in enumerate(zip(arguments, wanted, strict=True)):
            if not isinstance(x, ConcreteArray) or (x.shape, x.dtype) != (
                t.shape,
                t.dtype,
            ):
                name = argument_path(in_tree, i)
                given = f"a traced {x.type}" if isinstance(x, Tracer) else repr(x)
                raise TypeMismatch(
                    f"the compiled {self.who} takes {t} as {name}, with its values, "
                    f"but got {given}."
                )
        everything: list[Any] = [*self.captured, *arguments]
        pairs = zip([everything[i] for i in self.kept], self.in_shardings, strict=True)
        outs = self.executable.execute([x.buffer_over(s) for x, s in pairs])
        for i in self.donated:
            everything[len(self.captured) + i].forget()
        placements: Sequence[Sharding | None] = self.out_shardings
        if len(self.executable.devices) == 1 and not any(
            [x.placement for x in everything]
        ):
            placements = [None] * len(outs)
        results = zip(self.out_types, outs, placements, strict=True)
        return self.out_tree.unflatten(
            [ConcreteArray(t, None, b, s) for t, b, s in results]
        )

    call = __call__

    def as_text(self) -> str:
        """The optimised HLO."""
        return self.executable.as_text()

    def cost_analysis(self) -> dict[str, float]:
        """XLA's estimates, such as ``flops`` and ``bytes accessed``."""
        return self.executable.cost_analysis()

    def memory_analysis(self) -> Any:
        """Sizes in bytes, such as ``argument_size_in_bytes``."""
        return self.executable.memory_analysis()

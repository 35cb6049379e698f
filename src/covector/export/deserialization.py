"""Exported functions read from bytes, as ``serialization`` writes them."""

import json
from collections.abc import Sequence
from typing import Any

from covector.core import dtypes
from covector.core.key_types import IMPLEMENTATIONS, KeyType
from covector.core.sharding.mesh import AbstractMesh
from covector.core.sharding.shardings import NamedSharding
from covector.core.sharding.spec import PartitionSpec
from covector.core.types import ArrayType
from covector.errors import ExportError, how_many
from covector.export import trees
from covector.export.exported import Exported
from covector.export.parsing import parse
from covector.export.safety_checks import DisabledSafetyCheck
from covector.export.serialization import CALLING_CONVENTION, DIGEST, MAGIC
from covector.export.symbolic_module import SymbolTable
from covector.export.symbolic_scope import SymbolicScope

#: the oldest convention for calling an exported program that can be read
minimum_supported_calling_convention_version = 1
#: the newest convention for calling an exported program that can be read
maximum_supported_calling_convention_version = CALLING_CONVENTION


def deserialize(blob: bytes | bytearray) -> Exported:
    """The function that ``Exported.serialize`` turned into these bytes.

    Raises:
      ExportError: they are none, damaged, or of a later version.

    >>> import covector as cv
    >>> exported = cv.export.export(cv.jit(cv.numpy.sin))(1.0)
    >>> float(deserialize(exported.serialize()).call(0.0))
    0.0
    """
    content = bytes(blob)
    if not content.startswith(MAGIC):
        raise ExportError(
            "deserialize needs the bytes of an exported function, but these "
            f"{how_many(len(content), 'byte')} begin with {content[:16]!r}."
        )
    start = len(MAGIC) + DIGEST().digest_size
    digest, rest = content[len(MAGIC) : start], content[start:]
    if DIGEST(rest).digest() != digest:
        raise ExportError(
            f"these {how_many(len(content), 'byte')} of an exported function are "
            "damaged or incomplete: their digest is another. Export it again."
        )
    length = int.from_bytes(rest[:8], "little")
    return _read(json.loads(rest[8 : 8 + length]), rest[8 + length :])


def _read(head: dict[str, Any], modules: bytes) -> Exported:
    version = head["calling_convention_version"]
    least = minimum_supported_calling_convention_version
    most = maximum_supported_calling_convention_version
    if not least <= version <= most:
        raise ExportError(
            f"the exported {head['fun_name']} is called by the convention {version}, "
            f"but this version of covector knows {least} to {most}."
        )
    mesh = None if head["mesh"] is None else AbstractMesh(*map(tuple, head["mesh"]))
    derivative = None if head["vjp"] is None else _read(head["vjp"], modules)
    symbols: dict[str, Any] = head["symbols"]
    scope = None
    if symbols is not None:
        scope = SymbolicScope(symbols["constraints"]).twin(0, symbols["names"])
    in_avals = read_types(head["in_avals"], scope)
    return Exported(
        fun_name=head["fun_name"],
        in_tree=trees.read(head["in_tree"]),
        in_avals=in_avals,
        out_tree=trees.read(head["out_tree"]),
        out_avals=read_types(head["out_avals"], scope),
        platforms=tuple(head["platforms"]),
        disabled_safety_checks=tuple(map(DisabledSafetyCheck, head["disabled"])),
        modules={
            platform: [modules[start : start + length] for start, length in places]
            for platform, places in head["modules"].items()
        },
        in_shardings=_read_shardings(head["in_shardings"], mesh),
        out_shardings=_read_shardings(head["out_shardings"], mesh),
        mesh=mesh,
        calling_convention_version=version,
        symbols=None if scope is None else _symbols(symbols, scope, in_avals),
        make_vjp=None if derivative is None else lambda: derivative,
    )


def read_types(
    types: Sequence[Any], scope: SymbolicScope | None = None
) -> tuple[ArrayType, ...]:
    """Types that ``written_type`` wrote, with their symbolic sizes in a scope."""
    found = []
    for shape, name, weak in types:
        sizes = shape
        if scope is not None:
            sizes = [scope.dimension(parse(str(n))) for n in shape]
        found.append(ArrayType(tuple(sizes), _dtype(name), weak))
    return tuple(found)


def _symbols(
    symbols: dict[str, Any], scope: SymbolicScope, in_avals: Sequence[ArrayType]
) -> SymbolTable:
    table = {(one, two): parse(text) for one, two, text in symbols["table"]}
    return SymbolTable(scope, table, in_avals)


def _dtype(name: str) -> Any:
    if name in IMPLEMENTATIONS:
        return KeyType(name)
    return dtypes.float0 if name == "float0" else dtypes.as_dtype(name)


def _read_shardings(
    specs: Sequence[Any], mesh: AbstractMesh | None
) -> tuple[NamedSharding | None, ...]:
    found: list[NamedSharding | None] = []
    for spec in specs:
        if spec is None or mesh is None:
            found.append(None)
            continue
        entries = [tuple(e) if isinstance(e, list) else e for e in spec]
        found.append(NamedSharding(mesh, PartitionSpec(*entries)))
    return tuple(found)

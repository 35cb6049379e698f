"""Exported functions as bytes.

    MAGIC │ digest of the rest │ length of the head │ head, as JSON │ modules

The head has everything but the modules: types, structures, shardings, and the
derivatives that are kept. Modules of several platforms that are equal are stored once.
"""

import hashlib
import json
from typing import TYPE_CHECKING, Any

from covector.core import dtypes
from covector.core.key_types import KeyType
from covector.core.sharding.shardings import NamedSharding
from covector.core.types import ArrayType
from covector.export import trees

if TYPE_CHECKING:
    from covector.export.exported import Exported
    from covector.export.symbolic_module import SymbolTable

#: how modules are called, by number
CALLING_CONVENTION = 1
MAGIC = b"covector exported function\n"
DIGEST = hashlib.sha256


def written(exported: "Exported", vjp_order: int) -> bytearray:
    """A function as bytes, with so many derivatives."""
    modules: list[bytes] = []
    head = json.dumps(_head(exported, vjp_order, modules)).encode()
    rest = len(head).to_bytes(8, "little") + head + b"".join(modules)
    return bytearray(MAGIC + DIGEST(rest).digest() + rest)


def _head(exported: "Exported", vjp_order: int, modules: list[bytes]) -> dict[str, Any]:
    places: dict[str, list[list[int]]] = {}
    known: dict[bytes, list[int]] = {}
    for platform, of_platform in exported.modules.items():
        for module in of_platform:
            if module not in known:
                known[module] = [sum(map(len, modules)), len(module)]
                modules.append(module)
        places[platform] = [known[module] for module in of_platform]
    mesh = exported.mesh
    derivative = None
    if vjp_order > 0:
        derivative = _head(exported.vjp(), vjp_order - 1, modules)
    return {
        "calling_convention_version": exported.calling_convention_version,
        "fun_name": exported.fun_name,
        "in_tree": trees.written(exported.in_tree),
        "in_avals": list(map(written_type, exported.in_avals)),
        "out_tree": trees.written(exported.out_tree),
        "out_avals": list(map(written_type, exported.out_avals)),
        "platforms": exported.platforms,
        "disabled": [check.target for check in exported.disabled_safety_checks],
        "modules": places,
        "mesh": None if mesh is None else [mesh.axis_sizes, mesh.axis_names],
        "in_shardings": list(map(_written_sharding, exported.in_shardings)),
        "out_shardings": list(map(_written_sharding, exported.out_shardings)),
        "symbols": _written_symbols(exported.symbols),
        "vjp": derivative,
    }


def _written_symbols(symbols: "SymbolTable | None") -> Any:
    if symbols is None:
        return None
    names = list(symbols.scope.values())
    constraints = list(dict.fromkeys(c.text for c in symbols.scope.constraints))
    table = [[*pair, str(e)] for pair, e in symbols.expressions.items()]
    return {"names": names, "constraints": constraints, "table": table}


def written_type(type: ArrayType) -> list[Any]:
    """A type as JSON: shape, element type, and whether it is weak; symbolic sizes are
    texts.
    """
    shape = [n if n.__class__ is int else str(n) for n in type.shape]
    return [shape, _name(type.dtype), type.weak]


def _name(dtype: Any) -> str:
    if isinstance(dtype, KeyType):
        return dtype.implementation
    return "float0" if dtype is dtypes.float0 else dtype.name


def _written_sharding(sharding: NamedSharding | None) -> Any:
    return None if sharding is None else list(sharding.spec)

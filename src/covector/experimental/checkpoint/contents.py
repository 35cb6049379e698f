"""What is in a checkpoint, as JSON: the structure of the tree, and an entry per leaf.

    {"dict": [["w", 0], ["name", 1]]}          the structure; leaves are numbers
    {"path": "['w']", "kind": "array",         the entry of leaf 0
     "shape": [4], "dtype": "float32", "weak": false,
     "parts": [{"file": "parts-0.bin", "offset": 0, "start": [0], "shape": [4]}]}
    {"path": "['name']", "kind": "str", "value": "a"}

Of classes the names of their fields are kept, not the classes: those come from ``like``
when a checkpoint is restored.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from covector import tree as pytree
from covector.core import dtypes
from covector.core.array import ConcreteArray
from covector.core.key_types import KeyType
from covector.core.trace import Tracer
from covector.core.types import ArrayType
from covector.errors import (
    ArgumentError,
    CheckpointError,
    DTypeError,
    TracerArrayConversionError,
)
from covector.tree.prefix import is_none
from covector.tree.registry import LEAF, DictKey, GetAttrKey, PyTreeDef, open_node

Shape = tuple[int, ...]

#: Python values that are kept in the manifest, each with how it comes back
SCALARS: dict[str, Any] = {
    "bool": bool,
    "int": int,
    "float": float,
    "complex": complex,
    "str": str,
}
_NAMED = {dtype.name: dtype for dtype in dtypes.NUMBERS} | {"float0": dtypes.float0}


class Part(NamedTuple):
    """A block of an array, and where its bytes are."""

    file: str
    offset: int
    #: the element of the array at which the block begins
    start: Shape
    shape: Shape


@dataclass(frozen=True)
class Entry:
    """What is known of a leaf."""

    path: str
    #: "array", "numpy", "none", or the name of a Python type
    kind: str
    #: of arrays
    type: ArrayType | None = None
    #: of Python values
    value: Any = None
    parts: list[Part] = field(default_factory=list)

    def __str__(self) -> str:
        if self.type is not None:
            return f"{self.path}: {self.type}"
        return f"{self.path}: {self.value!r}"

    def to_json(self) -> dict[str, Any]:
        said: dict[str, Any] = {"path": self.path, "kind": self.kind}
        if self.type is None:
            # JSON has no NaN, no infinity and no complex numbers; their text does.
            exact = self.kind in ("float", "complex")
            return said | {"value": repr(self.value) if exact else self.value}
        return said | {
            "shape": self.type.shape,
            "dtype": _dtype_name(self.type.dtype),
            "weak": self.type.weak,
            "parts": [part._asdict() for part in self.parts],
        }


def entry_from_json(said: dict[str, Any]) -> Entry:
    """The entry that ``Entry.to_json`` described."""
    path, kind = said["path"], said["kind"]
    if kind in SCALARS:
        return Entry(path, kind, value=SCALARS[kind](said["value"]))
    if kind == "none":
        return Entry(path, kind)
    type_ = ArrayType(tuple(said["shape"]), _dtype(said["dtype"]), said["weak"])
    parts = [
        Part(p["file"], p["offset"], tuple(p["start"]), tuple(p["shape"]))
        for p in said["parts"]
    ]
    return Entry(path, kind, type_, parts=parts)


def _dtype_name(dtype: Any) -> str:
    if dtypes.is_key(dtype):
        return f"key<{dtype.implementation}>"
    return "float0" if dtype is dtypes.float0 else dtype.name


def _dtype(name: str) -> Any:
    if name.startswith("key<"):
        return KeyType(name[4:-1])
    if name not in _NAMED:
        raise CheckpointError(
            f"the checkpoint holds elements of type {name!r}, which this version of "
            "covector does not know. Restore it with the version that saved it."
        )
    return _NAMED[name]


# -- trees -----------------------------------------------------------------------------


class Contents(NamedTuple):
    """A tree on its way into a checkpoint."""

    #: its structure, as JSON
    structure: Any
    entries: list[Entry]
    leaves: list[Any]

    def __str__(self) -> str:
        return "\n".join(map(str, self.entries))


def contents(tree: Any) -> Contents:
    """What is to be saved of a tree.

    Raises:
      ArgumentError: a leaf, or the key of a dict, is none that a checkpoint can hold.
      DTypeError: a NumPy array is not of numbers.
    """
    pairs, treedef = pytree.flatten_with_path(tree, is_none)
    entries = [_entry(pytree.keystr(path), leaf) for path, leaf in pairs]
    repeated = len(pairs) - len({entry.path for entry in entries})
    if repeated:
        raise ArgumentError(
            f"save: {repeated} of the {len(pairs)} leaves have the path of another "
            "leaf, so they could not be told apart. A class of the tree was registered "
            "with keys that are equal."
        )
    structure = _structure(tree, treedef, iter(range(len(pairs))))
    return Contents(structure, entries, [leaf for _, leaf in pairs])


def _entry(path: str, leaf: Any) -> Entry:
    if isinstance(leaf, ConcreteArray):
        return Entry(path, "array", leaf.type)
    if isinstance(leaf, Tracer):
        raise TracerArrayConversionError(
            f"save: the leaf at {path or 'the root'} is traced ({leaf.type}): inside "
            "jit and the other transformations arrays have no values to save. Return "
            "it, and save what comes out."
        )
    # NumPy's float64 is a Python float as well, so it is asked first.
    if isinstance(leaf, np.ndarray | np.generic):
        try:
            return Entry(path, "numpy", ArrayType(leaf.shape, leaf.dtype))
        except DTypeError as error:
            error.add_note(f"while saving the NumPy array at {path or 'the root'}")
            raise
    kind = "none" if leaf is None else type(leaf).__name__
    if leaf is not None and SCALARS.get(kind) is not type(leaf):
        raise ArgumentError(
            f"save: the leaf at {path or 'the root'} is of type {kind}. A checkpoint "
            "holds arrays of covector and of NumPy, None, and Python's "
            f"{', '.join(SCALARS)}. Convert it, or leave it out."
        )
    return Entry(path, kind, value=leaf)


def _structure(node: Any, treedef: PyTreeDef, numbers: Iterator[int]) -> Any:
    if treedef == LEAF:
        return next(numbers)
    pairs = open_node(node)[0]
    children = [
        _structure(child, below, numbers)
        for (_, child), below in zip(pairs, treedef.children(), strict=True)
    ]
    if type(node) is tuple:
        return {"tuple": children}
    keys = [key for key, _ in pairs]
    named = all(isinstance(key, DictKey | GetAttrKey) for key in keys)
    if isinstance(node, list) or not named:
        return {"list": children}
    return {"dict": list(zip(map(_name, keys), children, strict=True))}


def _name(key: Any) -> str | int:
    name = key.key if isinstance(key, DictKey) else key.name
    if not isinstance(name, str | int):
        raise ArgumentError(
            f"save: a dict has the key {name!r} of type {type(name).__name__}. The "
            "keys of dicts in a checkpoint are of type str or int."
        )
    return name


def rebuilt(structure: Any, leaves: Sequence[Any]) -> Any:
    """The tree as dicts, lists and tuples, with these leaves."""
    if isinstance(structure, int):
        return leaves[structure]
    ((kind, children),) = structure.items()
    if kind == "dict":
        return {name: rebuilt(child, leaves) for name, child in children}
    made = [rebuilt(child, leaves) for child in children]
    return tuple(made) if kind == "tuple" else made

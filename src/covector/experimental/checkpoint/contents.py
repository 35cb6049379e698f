"""The contents of a checkpoint as JSON: the tree's structure, and an entry per leaf.

    {"dict": [["w", 0], ["name", 1]]}          the structure; leaves are numbers
    {"path": "['w']", "kind": "array",         the entry of leaf 0
     "shape": [4], "dtype": "float32", "weak": false,
     "parts": [{"file": "parts-0.bin", "offset": 0, "start": [0], "shape": [4],
                "digests": ["6a1c…"]}]}
    {"path": "['name']", "kind": "str", "value": "a"}

Of classes the names of their fields are kept, not the classes: those come from ``like``
when a checkpoint is restored.

What is read is believed in nothing: it may be damaged, or made to do harm. Whatever is
not as ``save`` writes it is ``Malformed``.
"""

import itertools
import math
import re
import reprlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from covector import tree as pytree
from covector.core import dtypes
from covector.core.array import ConcreteArray
from covector.core.key_types import IMPLEMENTATIONS, KeyType
from covector.core.trace import Tracer
from covector.core.types import ArrayType
from covector.errors import (
    ArgumentError,
    DTypeError,
    TracerArrayConversionError,
    how_many,
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
#: bytes of a part that have one digest
CHUNK = 1 << 22
_FILE = re.compile(r"parts-\d+\.bin")
_DIGEST = re.compile(r"[0-9a-f]{64}")
#: axes that NumPy's arrays may have, and bytes that a file may
_MOST_AXES, _MOST_BYTES = 64, 2**63
#: the types of the keys of dicts
_NAMES = (str, int)
_NAMED = {dtype.name: dtype for dtype in dtypes.NUMBERS} | {"float0": dtypes.float0}


class Part(NamedTuple):
    """A block of an array, and where its bytes are."""

    file: str
    offset: int
    #: the element of the array at which the block begins
    start: Shape
    shape: Shape
    #: of its bytes, ``CHUNK`` by ``CHUNK``
    digests: tuple[str, ...] = ()


class Malformed(Exception):
    """The input is not in the format of ``save``; the text says why."""


@dataclass(frozen=True)
class Entry:
    """The entry of a leaf in the manifest."""

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
        data: dict[str, Any] = {"path": self.path, "kind": self.kind}
        if self.type is None:
            # JSON has no NaN, no infinity and no complex numbers; their text does.
            exact = self.kind in ("float", "complex")
            return data | {"value": repr(self.value) if exact else self.value}
        return data | {
            "shape": self.type.shape,
            "dtype": _dtype_name(self.type.dtype),
            "weak": self.type.weak,
            "parts": [part._asdict() for part in self.parts],
        }


def _dtype_name(dtype: Any) -> str:
    if dtypes.is_key(dtype):
        return f"key<{dtype.implementation}>"
    return "float0" if dtype is dtypes.float0 else dtype.name


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
    """The contents of a checkpoint of this tree.

    Raises:
      ArgumentError: a leaf, or the key of a dict, is none that a checkpoint can hold.
      DTypeError: a NumPy array is not of numbers.
    """
    try:
        # First: it takes more of Python's stack than anything that follows.
        structure = _structure(tree, pytree.structure(tree), itertools.count())
        pairs = pytree.flatten_with_path(tree, is_none)[0]
        entries = [_entry(pytree.keystr(path), leaf) for path, leaf in pairs]
    except RecursionError:
        raise ArgumentError(
            "save: the tree is nested deeper than Python's recursion limit allows. "
            "Save it as a list of its parts."
        ) from None
    repeated = len(pairs) - len({entry.path for entry in entries})
    if repeated:
        raise ArgumentError(
            f"save: {repeated} of the {how_many(len(pairs), 'leaf', 'leaves')} have "
            "the path of another leaf, so they could not be told apart. A class of "
            "the tree was registered with keys that are equal."
        )
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
    if treedef == LEAF or node is None:
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


# -- reading ---------------------------------------------------------------------------


def entry_from_json(data: Any) -> Entry:
    """The entry that ``Entry.to_json`` described.

    Raises:
      Malformed: this describes none.
    """
    path, kind = _field(data, "path", str), _field(data, "kind", str)
    if kind in SCALARS:
        return Entry(path, kind, value=_scalar(kind, data, path))
    if kind == "none":
        return Entry(path, kind)
    if kind not in ("array", "numpy"):
        raise Malformed(f"{path} is of an unknown kind, {kind!r}")
    dtype = _dtype(_field(data, "dtype", str), kind)
    type_ = ArrayType(_shape(data, "shape", path), dtype, _field(data, "weak", bool))
    if type_.size * type_.storage.itemsize >= _MOST_BYTES:
        raise Malformed(f"{path} has more elements than there can be")
    parts = [_part(part, type_, path) for part in _field(data, "parts", list)]
    _check_cover(path, type_, parts)
    return Entry(path, kind, type_, parts=parts)


def _field(data: Any, name: str, kind: type) -> Any:
    """The value of a JSON object under this name."""
    found = data.get(name) if isinstance(data, dict) else None
    # A bool is an int to Python, and not to JSON.
    if not isinstance(found, kind) or (isinstance(found, bool) and kind is not bool):
        raise Malformed(
            f"there is no {kind.__name__} called {name!r} where one has to be"
        )
    return found


def _scalar(kind: str, data: Any, path: str) -> Any:
    if kind not in ("float", "complex"):
        return _field(data, "value", SCALARS[kind])
    text = _field(data, "value", str)
    try:
        return SCALARS[kind](text)
    except ValueError:
        raise Malformed(f"{path} is no {kind}: {text!r}") from None


def _shape(data: Any, name: str, path: str) -> Shape:
    found = _field(data, name, list)
    fits = all([type(n) is int and 0 <= n < _MOST_BYTES for n in found])
    if not fits or len(found) > _MOST_AXES:
        raise Malformed(f"the {name} of {path} is none, {reprlib.repr(found)}")
    return tuple(found)


def _dtype(name: str, kind: str) -> Any:
    if kind == "array" and name.startswith("key<") and name[4:-1] in IMPLEMENTATIONS:
        return KeyType(name[4:-1])
    if name not in _NAMED:
        raise Malformed(
            f"it holds elements of type {name!r}, which this covector does not know"
        )
    return _NAMED[name]


def _part(data: Any, type: ArrayType, path: str) -> Part:
    file, offset = _field(data, "file", str), _field(data, "offset", int)
    start, shape = _shape(data, "start", path), _shape(data, "shape", path)
    digests = _field(data, "digests", list)
    # A name of another form could lead out of the folder.
    if not _FILE.fullmatch(file) or not 0 <= offset < _MOST_BYTES:
        raise Malformed(f"a part of {path} is at byte {offset} of {file!r}")
    if not len(start) == len(shape) == type.ndim:
        raise Malformed(f"a part of {path} has other axes than the array")
    size = math.prod(shape) * type.storage.itemsize
    known = [isinstance(d, str) and bool(_DIGEST.fullmatch(d)) for d in digests]
    if len(known) != -(-size // CHUNK) or not all(known):
        raise Malformed(f"a part of {path} has not the digests of {size} bytes")
    return Part(file, offset, start, shape, tuple(digests))


def _check_cover(path: str, type: ArrayType, parts: list[Part]) -> None:
    """Parts are blocks of one shape, as shardings make them: there is one at each index
    of a grid.
    """
    if not type.size:
        return
    if not parts:
        raise Malformed(f"{path} has no parts")
    shape = parts[0].shape
    if not all(shape) or any([n % m for n, m in zip(type.shape, shape, strict=True)]):
        raise Malformed(f"a part of {path} has the shape {shape}, of {type}")
    at = set()
    for part in parts:
        pairs = list(zip(part.start, shape, strict=True))
        inside = all([a + m <= n for (a, m), n in zip(pairs, type.shape, strict=True)])
        if part.shape != shape or not inside or any([a % m for a, m in pairs]):
            raise Malformed(f"the part of {path} at {part.start} is out of place")
        at.add(part.start)
    if not len(at) == len(parts) == type.size // math.prod(shape):
        raise Malformed(f"parts of {path} are missing, or there twice")


def tree_from_json(structure: Any, count: int) -> Any:
    """The tree as dicts, lists and tuples, with the numbers of its leaves as leaves.

    Raises:
      Malformed: this describes no tree with so many leaves.
    """
    numbers: list[int] = []
    tree = _rebuilt(structure, numbers)
    if sorted(numbers) != list(range(count)):
        leaves = how_many(count, "leaf", "leaves")
        raise Malformed(f"its tree does not have each of its {leaves} once")
    return tree


def _rebuilt(structure: Any, numbers: list[int]) -> Any:
    if type(structure) is int:
        numbers.append(structure)
        return structure
    if not isinstance(structure, dict) or len(structure) != 1:
        raise Malformed(f"in its tree there is {reprlib.repr(structure)}")
    ((kind, children),) = structure.items()
    if kind not in ("dict", "list", "tuple") or not isinstance(children, list):
        raise Malformed(f"in its tree there is a {kind!r}")
    if kind != "dict":
        made = [_rebuilt(child, numbers) for child in children]
        return tuple(made) if kind == "tuple" else made
    found = {}
    for pair in children:
        if not isinstance(pair, list) or len(pair) != 2 or type(pair[0]) not in _NAMES:
            raise Malformed("in its tree there is a dict with an item that is none")
        found[pair[0]] = _rebuilt(pair[1], numbers)
    if len(found) != len(children):
        raise Malformed("in its tree there is a dict with a key twice")
    return found

"""Structures of pytrees as JSON, and the classes of users in them, by name.

A node is ``[kind, data, children]``; a leaf is ``"*"``. None, tuples, lists and
dictionaries with strings or numbers as keys are known from the start.
"""

import base64
from collections.abc import Callable, Sequence
from types import NoneType
from typing import Any, NamedTuple, TypeVar

from covector.errors import ExportError
from covector.tree.difference import name_of
from covector.tree.registry import LEAF, PyTreeDef, is_tree_node, registry

T = TypeVar("T", bound=type)


class _Serialization(NamedTuple):
    """The functions that write and read nodes of one class."""

    nodetype: type
    name: str
    write: Callable[[Any], bytes | bytearray]
    read: Callable[[bytes], Any]
    from_children: Callable[[Any, Sequence[Any]], Any] | None


_KINDS = {NoneType: "none", tuple: "tuple", list: "list", dict: "dict"}
_TYPES = {name: kind for kind, name in _KINDS.items()}
_by_type: dict[type, _Serialization] = {}
_by_name: dict[str, _Serialization] = {}


def register_pytree_node_serialization(
    nodetype: T,
    *,
    serialized_name: str,
    serialize_auxdata: Callable[[Any], bytes | bytearray],
    deserialize_auxdata: Callable[[bytes], Any],
    from_children: Callable[[Any, Sequence[Any]], Any] | None = None,
) -> T:
    """Let nodes of a class stand in the arguments and results of serialized functions.

    Args:
      nodetype: a class that is registered as a node (``covector.tree_util``), or a
        namedtuple.
      serialized_name: what stands for it in the bytes.
      serialize_auxdata, deserialize_auxdata: the static data of a node as bytes, and
        back.
      from_children: makes a node of its static data and children, from which its
        structure is read; by default the registered function does.

    Returns:
      ``nodetype``, so that this can be part of a decorator.

    Raises:
      ExportError: the class is not a node; it or the name is taken already.
    """
    who = f"register_pytree_node_serialization of {name_of(nodetype)}"
    if not is_tree_node(nodetype) and not _is_namedtuple(nodetype):
        raise ExportError(
            f"{who}: it is not a node of a pytree. Register it before, with "
            "covector.tree_util.register_pytree_node."
        )
    if nodetype in _by_type or nodetype in _KINDS:
        raise ExportError(f"{who}: the class has a serialization already.")
    if serialized_name in _by_name:
        raise ExportError(
            f"{who}: the name {serialized_name!r} stands for "
            f"{name_of(_by_name[serialized_name].nodetype)} already."
        )
    made = _Serialization(
        nodetype,
        serialized_name,
        serialize_auxdata,
        deserialize_auxdata,
        from_children,
    )
    _by_type[nodetype] = _by_name[serialized_name] = made
    return nodetype


def register_namedtuple_serialization(nodetype: T, *, serialized_name: str) -> T:
    """Let a namedtuple stand in the arguments and results of serialized functions.

    Where it is read, the class must have the same fields.

    Raises:
      ExportError: it is no namedtuple; it or the name is taken already.

    >>> from collections import namedtuple
    >>> Point = namedtuple("Point", "x y")
    >>> Point = register_namedtuple_serialization(Point, serialized_name="doc.Point")
    """
    if not _is_namedtuple(nodetype):
        raise ExportError(
            f"register_namedtuple_serialization needs a namedtuple, but got {nodetype}."
        )
    fields = ",".join(nodetype._fields).encode()  # type: ignore[attr-defined]

    def read(written: bytes) -> None:
        if written != fields:
            raise ExportError(
                f"{name_of(nodetype)} has the fields {fields.decode()}, but was "
                f"serialized with {written.decode()}."
            )

    return register_pytree_node_serialization(
        nodetype,
        serialized_name=serialized_name,
        serialize_auxdata=lambda _: fields,
        deserialize_auxdata=read,
    )


def _is_namedtuple(nodetype: type) -> bool:
    return issubclass(nodetype, tuple) and hasattr(nodetype, "_fields")


def written(treedef: PyTreeDef) -> Any:
    """A structure as JSON.

    Raises:
      ExportError: it has a node of a class without a serialization.
    """
    data = treedef.node_data()
    if data is None:
        return "*"
    kind, static = data
    children = list(map(written, treedef.children()))
    if kind in _KINDS:
        if kind is dict and not all([type(key) in (str, int, float) for key in static]):
            raise ExportError(
                "dictionaries in arguments and results of serialized functions need "
                f"strings or numbers as keys, but got {list(static)}."
            )
        return [_KINDS[kind], static, children]
    found = _by_type.get(kind)
    if found is None:
        raise ExportError(
            f"nodes of {name_of(kind)} cannot be serialized: nobody said how. Use "
            "covector.export.register_pytree_node_serialization, or "
            "register_namedtuple_serialization."
        )
    static = base64.b64encode(found.write(static)).decode()
    return [f"node {found.name}", static, children]


def read(text: Any) -> PyTreeDef:
    """The structure that ``written`` gave.

    Raises:
      ExportError: it has a node of a class that is not registered here.
    """
    if text == "*":
        return LEAF
    kind, static, children = text
    below = list(map(read, children))
    if kind in _TYPES:
        return _node(_TYPES[kind], static, below)
    name = kind.removeprefix("node ")
    found = _by_name.get(name)
    if found is None:
        raise ExportError(
            f"the function takes or returns nodes named {name!r}, which no class "
            "stands for here. Register it before, as where it was serialized: "
            "covector.export.register_pytree_node_serialization."
        )
    static = found.read(base64.b64decode(static))
    if found.from_children is None:
        return _node(found.nodetype, static, below)
    parts = [child.unflatten([0] * child.num_leaves) for child in below]
    return registry.flatten(found.from_children(static, parts))[1]


def _node(kind: type, static: Any, children: list[PyTreeDef]) -> PyTreeDef:
    return PyTreeDef.from_node_data_and_children(registry, (kind, static), children)

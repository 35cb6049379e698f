"""Messages about the first difference between two tree structures.

Two pytrees are compared from the root down until the first path at which they differ.
Either may be a tree or a treedef. Nothing here is on a fast path: C++ has already found
that they differ, this says where and how. For example::

    at ['w'] the first has a tuple of 2 where the second has a dict with keys ('a', 'b')
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from covector.errors import StaticArgumentError, how_many, short_name
from covector.tree.keys import keys_of, keystr
from covector.tree.registry import KeyPath, PyTreeDef, open_node, registry

# Longer than this, the text of a value hides the message it stands in.
LONGEST_TEXT = 100

# The way down to a subtree: each node on it, and the position of the child taken.
Trail: TypeAlias = tuple[tuple[Any, int], ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """The first path at which two structures part, and what each has there."""

    path: KeyPath
    left: str
    right: str

    def between(self, one: str, other: str) -> str:
        """The sentence, given what to call the two sides."""
        if not self.path:
            return f"{one} is {self.left} where {other} is {self.right}"
        has = f"{one} has {self.left} where {other} has {self.right}"
        return f"at {shown_path(self.path)} {has}"


@dataclass(frozen=True, slots=True)
class Node:
    """The top of a tree or treedef.

    A leaf has no ``kind``, and one of a treedef has no ``cls`` either.
    """

    cls: type | None
    kind: type | None = None
    data: Any = None
    children: Sequence[Any] = ()


def describe_difference(
    tree1: Any, tree2: Any, names: tuple[str, str] = ("the first", "the second")
) -> str | None:
    """First path where two structures differ, in words; None if they are the same.

    Args:
      tree1, tree2: trees or treedefs. Leaves are compared by path only.
      names: what the words call them.

    >>> describe_difference({"w": (1, 2)}, {"w": 3}, ("the input", "the output"))
    "at ['w'] the input has a tuple of 2 where the output has a leaf of type int"
    >>> describe_difference([1, 2], [3, 4]) is None
    True
    """
    difference = first_difference(tree1, tree2)
    return difference.between(*names) if difference else None


def first_difference(
    one: Any, other: Any, *, prefix: bool = False
) -> Difference | None:
    """The first path at which two structures differ, in the order of the leaves.

    With ``prefix``, a leaf of ``one`` stands for any subtree of ``other``.
    """
    stack: list[tuple[KeyPath, Any, Any]] = [((), one, other)]
    while stack:
        path, left_tree, right_tree = stack.pop()
        left, right = _opened(left_tree), _opened(right_tree)
        if left.kind is None and (prefix or right.kind is None):
            continue
        if not _match(left, right, path):
            return Difference(path, *_in_words(left, right))
        # A tree knows its keys; only from two treedefs are they found by building.
        keyed = right_tree if isinstance(left_tree, PyTreeDef) else left_tree
        below = zip(keys_of(keyed), left.children, right.children, strict=True)
        stack.extend([((*path, key), a, b) for key, a, b in below][::-1])
    return None


def check_static_data(tree: Any, what: str) -> None:
    """Raise unless the static data of every node can take part in a cache key.

    Args:
      tree: a tree or a treedef.
      what: begins the error, such as "jit of loss".
    """
    # Keys are asked for only when there is something to report: see keys_of.
    stack: list[tuple[Trail, Any]] = [((), tree)]
    while stack:
        trail, subtree = stack.pop()
        node = _opened(subtree)
        try:
            hash(node.data)
        except TypeError as error:
            path = tuple(keys_of(parent)[index] for parent, index in trail)
            raise StaticArgumentError(
                f"{what}: the static data of the {name_of(node.kind)} at "
                f"{shown_path(path)} cannot be hashed ({error}): "
                f"{short(repr(node.data))}. Static data is part of the structure. "
                "Make it a hashable value, such as a tuple, or a child."
            ) from error
        children = enumerate(node.children)
        stack.extend([((*trail, (subtree, index)), x) for index, x in children][::-1])


def shown_path(path: KeyPath) -> str:
    """The path in a sentence, after "at"."""
    return short(keystr(path)) or "the root"


def short(text: str) -> str:
    """The text on one line, cut where it would hide the message around it."""
    text = " ".join(text.split())
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…"


def name_of(cls: type | None) -> str:
    """The class as messages call it."""
    return "leaf" if cls is None else short_name(cls.__qualname__)


def _opened(tree: Any) -> Node:
    if isinstance(tree, PyTreeDef):
        treedef, children = tree, tree.children()
    elif registry.is_node(type(tree)):
        pairs, treedef = open_node(tree)
        children = [child for _, child in pairs]
    else:
        return Node(type(tree))
    node_data = treedef.node_data()
    if node_data is None:
        return Node(None)
    kind, data = node_data
    return Node(kind, kind, tuple(data) if kind is dict else data, children)


def _match(left: Node, right: Node, path: KeyPath) -> bool:
    if left.kind is not right.kind or len(left.children) != len(right.children):
        return False
    try:
        return bool(left.data == right.data)
    except Exception as error:
        raise StaticArgumentError(
            f"the static data of the {name_of(left.kind)} at {shown_path(path)} cannot "
            f"be compared ({error}): {short(repr(left.data))}. Static data must be "
            "hashable and compare equal or not; make an array a child instead."
        ) from error


def _in_words(left: Node, right: Node) -> tuple[str, str]:
    """Descriptions of two nodes that differ, in distinct words."""
    words = _words(left, right), _words(right, left)
    if left.cls is not right.cls and name_of(left.cls) == name_of(right.cls):
        modules = [getattr(node.cls, "__module__", "?") for node in (left, right)]
        return (
            f"{words[0]} (class of {modules[0]})",
            f"{words[1]} (another class of that name, of {modules[1]})",
        )
    if words[0] == words[1]:
        return words[0], f"{words[1]} that prints alike but is not equal"
    return words


def _words(node: Node, other: Node) -> str:
    """One node in words; with the difference, if the other is of the same class."""
    if node.kind is None:
        return f"a leaf of type {name_of(node.cls)}" if node.cls else "a leaf"
    if node.kind is type(None):
        return "None"
    name = name_of(node.kind)
    name = f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"
    if node.kind in (tuple, list):
        return f"{name} of {len(node.children)}"
    keys, other_keys = _mapping_keys(node), _mapping_keys(other)
    if keys is not None and keys != other_keys:
        return f"{name} {_keys_in_words(keys, other_keys)}"
    if node.kind is not other.kind:
        return name
    if len(node.children) != len(other.children):
        return f"{name} of {len(node.children)}"
    return f"{name} with static data {short(repr(node.data))}"


def _mapping_keys(node: Node) -> list[Any] | None:
    if node.kind in (dict, OrderedDict):
        return list(node.data)
    return list(node.data[1]) if node.kind is defaultdict else None


def _keys_in_words(keys: list[Any], other: list[Any] | None) -> str:
    """All the keys, or if they are many, those that the other mapping lacks."""
    if not keys:
        return "without keys"
    listed = ", ".join(repr(key) for key in keys)
    if len(listed) <= LONGEST_TEXT:
        return f"with keys ({listed})"
    extra = ", ".join(repr(key) for key in keys if key not in (other or keys))
    return f"with {how_many(len(keys), 'key')}" + (
        f", {short(extra)} among them" if extra else ""
    )

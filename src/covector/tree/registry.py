"""The registry: which classes are nodes of a pytree.

Flattening happens in jaxlib's C++, which keeps a registry of node classes and a compact
``PyTreeDef`` of every structure it meets. covector has a registry of its own, so that
what is registered here and what is registered with ``jax`` do not touch. This is the
one module that imports jaxlib's pytrees; everything else in the package uses its names.

Nodes from the start: None (without children), tuple, list, dict (in the order of its
sorted keys), any namedtuple, OrderedDict (in its own order) and defaultdict. Other
subclasses of these are leaves until they are registered.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

from covector.errors import TreeMismatch, short_name

if TYPE_CHECKING:
    from covector.tree import registry_types as _pytree
else:
    from jaxlib._jax import pytree as _pytree

#: the structure of a tree without its leaves, as ``tree.structure`` returns it; it
#: compares equal to equal structures, and hashes
PyTreeDef: TypeAlias = _pytree.PyTreeDef
#: the step of a path to an element of a tuple or a list; its number is ``idx``
SequenceKey: TypeAlias = _pytree.SequenceKey
#: the step of a path to a value of a dict; its key is ``key``
DictKey: TypeAlias = _pytree.DictKey
#: the step of a path to an attribute of an object; its name is ``name``
GetAttrKey: TypeAlias = _pytree.GetAttrKey
#: the step of a path to a child of a node that has no names for them; its number is
#: ``key``
FlattenedIndexKey: TypeAlias = _pytree.FlattenedIndexKey

#: one step of a path: one of the classes of keys, or a key of a user's own node
KeyEntry: TypeAlias = Any
#: the path to a leaf: the steps from the root of the tree
KeyPath: TypeAlias = tuple[KeyEntry, ...]
IsLeaf: TypeAlias = Callable[[Any], bool] | None

#: the registry of the classes that are nodes of trees
registry = _pytree.PyTreeRegistry()

# A treedef pickles its registry by reference, so the registry says where it lives.
registry.__module__, registry.__name__ = __name__, "registry"

LEAF: PyTreeDef = registry.flatten(0)[1]


def is_tree_node(typ: type) -> bool:
    """Whether instances of the class are nodes, with children, rather than leaves.

    >>> is_tree_node(dict), is_tree_node(type(None)), is_tree_node(set)
    (True, True, False)
    """
    return registry.is_node(typ)


def flatten_one_level(tree: Any) -> tuple[Iterable[Any], Hashable]:
    """Children of a node, not flattened further, and its static data.

    Raises:
      TreeMismatch: ``tree`` is a leaf.

    >>> flatten_one_level({"b": [1, 2], "a": None})
    ((None, [1, 2]), ('a', 'b'))
    """
    level = registry.flatten_one_level(tree)
    if level is None:
        raise TreeMismatch(
            f"flatten_one_level needs a node of a pytree, but got a leaf of type "
            f"{short_name(type(tree).__qualname__)}."
        )
    return level


def flatten_one_level_with_keys(
    tree: Any,
) -> tuple[Iterable[tuple[KeyEntry, Any]], Hashable]:
    """Children of a node, each after its key, and the node's static data.

    Raises:
      TreeMismatch: ``tree`` is a leaf.

    >>> flatten_one_level_with_keys([5, (6, 7)])[0]
    [(SequenceKey(idx=0), 5), (SequenceKey(idx=1), (6, 7))]
    """
    static_data = flatten_one_level(tree)[1]
    return open_node(tree)[0], static_data


def open_node(tree: Any) -> tuple[list[tuple[KeyEntry, Any]], Any]:
    """Keys and children of a node, and a treedef in which its children are leaves.

    jaxlib's own one-level function gives every child of a namedtuple the name of the
    first, so this one asks for paths and stops below the root.
    """
    pairs, treedef = registry.flatten_with_path(tree, lambda path, _: bool(path))
    return [(path[0], child) for path, child in pairs], treedef


def _flatten_defaultdict(mapping: defaultdict) -> tuple[list[Any], Hashable]:
    keys = tuple(sorted(mapping))
    return [mapping[key] for key in keys], (mapping.default_factory, keys)


def _flatten_defaultdict_with_keys(mapping: defaultdict) -> tuple[list, Hashable]:
    keys = tuple(sorted(mapping))
    pairs = [(DictKey(key), mapping[key]) for key in keys]
    return pairs, (mapping.default_factory, keys)


registry.register_node(
    OrderedDict,
    lambda mapping: (tuple(mapping.values()), tuple(mapping)),
    lambda keys, children: OrderedDict(zip(keys, children, strict=True)),
    lambda mapping: (
        [(DictKey(key), child) for key, child in mapping.items()],
        tuple(mapping),
    ),
)

registry.register_node(
    defaultdict,
    _flatten_defaultdict,
    lambda static_data, children: defaultdict(
        static_data[0], zip(static_data[1], children, strict=True)
    ),
    _flatten_defaultdict_with_keys,
)

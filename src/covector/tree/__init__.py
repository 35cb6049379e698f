"""Pytrees: nested containers of arrays, as covector sees them.

A pytree is a leaf or a node. Nodes are None, tuples, lists, dicts, namedtuples,
OrderedDicts, defaultdicts and instances of registered classes; everything else is a
leaf. Transformations work on the list of leaves and keep the structure aside::

    tree = {"w": (1, 2), "b": 3}          leaves, in order        structure
              ├─ b ── 3                   [3, 1, 2]               {'b': *, 'w': (*, *)}
              └─ w ── (1, 2)

The room is ``registry`` (what is a node; jaxlib's C++), ``keys`` (paths), ``nodes``
(registering classes), ``functions``, ``paths`` and ``prefix`` (the functions below),
``difference`` and ``failures`` (the words of errors), and ``partial``.
``covector.tree_util`` has the same functions under the names ``tree_map`` and so on,
and the registration of classes.
"""

from covector import namespaces
from covector.tree.difference import check_static_data, describe_difference
from covector.tree.functions import (
    all,
    flatten,
    leaves,
    map,
    reduce,
    reduce_associative,
    structure,
    transpose,
    unflatten,
)
from covector.tree.keys import keystr, leaf_path
from covector.tree.nodes import static
from covector.tree.partial import Partial
from covector.tree.paths import flatten_with_path, leaves_with_path, map_with_path
from covector.tree.prefix import broadcast, flatten_prefix
from covector.tree.registry import PyTreeDef

__all__ = [
    "Partial",
    "PyTreeDef",
    "all",
    "broadcast",
    "check_static_data",
    "describe_difference",
    "flatten",
    "flatten_prefix",
    "flatten_with_path",
    "keystr",
    "leaf_path",
    "leaves",
    "leaves_with_path",
    "map",
    "map_with_path",
    "reduce",
    "reduce_associative",
    "static",
    "structure",
    "transpose",
    "unflatten",
]
__dir__ = namespaces.completions(globals())

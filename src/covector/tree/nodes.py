"""Registration of classes as pytree nodes.

A node has children, which transformations see, and static data, which is part of the
structure: two trees with different static data have different structures, and a
compiled function is compiled anew for each. Static data must be hashable and compare
with ``==``. A class is registered once, where it is defined.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeVar

from covector.errors import TreeMismatch
from covector.tree.difference import name_of
from covector.tree.registry import KeyEntry, registry

T = TypeVar("T")
Class = TypeVar("Class", bound=type)
Children = tuple[Iterable[Any], Hashable]
KeyedChildren = tuple[Iterable[tuple[KeyEntry, Any]], Hashable]


def register_pytree_node(
    nodetype: type[T],
    flatten_func: Callable[[T], Children],
    unflatten_func: Callable[[Any, Any], T],
    flatten_with_keys_func: Callable[[T], KeyedChildren] | None = None,
) -> None:
    """Make a class a node, by functions that flatten and unflatten it.

    Args:
      nodetype: the class; subclasses of it are not nodes.
      flatten_func: instance → (children, static data). Static data is part of a
        compiled program: use small hashable values, not arrays.
      unflatten_func: (static data, children) → instance.
      flatten_with_keys_func: instance → ((key, child) pairs, static data). Without
        it, paths count the children.

    Returns:
      Nothing: the class is known from now on.

    Raises:
      TreeMismatch: the class is a node already, or is not a class.

    >>> from covector import tree
    >>> class Span:
    ...     def __init__(self, start, stop):
    ...         self.start, self.stop = start, stop
    >>> register_pytree_node(
    ...     Span, lambda s: ((s.start, s.stop), None), lambda _, xs: Span(*xs)
    ... )
    >>> tree.map(lambda x: x + 1, Span(1, 5)).stop
    6

    See also: ``register_dataclass``, ``register_pytree_node_class``.
    """
    _register(
        "register_pytree_node",
        registry.register_node,
        nodetype,
        flatten_func,
        unflatten_func,
        flatten_with_keys_func,
    )


def register_pytree_with_keys(
    nodetype: type[T],
    flatten_with_keys: Callable[[T], KeyedChildren],
    unflatten_func: Callable[[Any, Any], T],
    flatten_func: Callable[[T], Children] | None = None,
) -> None:
    """Make a class a node whose children have names of their own in paths.

    Args:
      flatten_with_keys: instance → ((key, child) pairs, static data).
      unflatten_func: (static data, children) → instance.
      flatten_func: instance → (children, static data), where it is faster than
        dropping the keys.

    Raises:
      TreeMismatch: the class is a node already, or is not a class.

    >>> from covector import tree, tree_util
    >>> class Box:
    ...     def __init__(self, content):
    ...         self.content = content
    >>> register_pytree_with_keys(
    ...     Box,
    ...     lambda box: (((tree_util.GetAttrKey("content"), box.content),), None),
    ...     lambda _, xs: Box(*xs),
    ... )
    >>> tree_util.keystr(tree.leaves_with_path([Box(5)])[0][0])
    '[0].content'
    """

    def without_keys(node: T) -> Children:
        pairs, static_data = flatten_with_keys(node)
        return [child for _, child in pairs], static_data

    _register(
        "register_pytree_with_keys",
        registry.register_node,
        nodetype,
        flatten_func or without_keys,
        unflatten_func,
        flatten_with_keys,
    )


def register_pytree_node_class(cls: Class) -> Class:
    """Make a class a node, by its own ``tree_flatten`` and ``tree_unflatten``.

    Is a decorator. ``tree_flatten(self)`` returns (children, static data) and the class
    method ``tree_unflatten(cls, static data, children)`` an instance. Children may be
    anything here, also tracers or None: do not convert or check them. Static data is
    part of a compiled program: use small hashable values, not arrays.

    Args:
      cls: the class; subclasses of it are not nodes.

    Returns:
      The class itself.

    Raises:
      TreeMismatch: a method is missing, or the class is a node already.

    >>> from covector import tree
    >>> @register_pytree_node_class
    ... class Scaled:
    ...     def __init__(self, value, unit):
    ...         self.value, self.unit = value, unit
    ...     def tree_flatten(self):
    ...         return (self.value,), self.unit
    ...     @classmethod
    ...     def tree_unflatten(cls, unit, children):
    ...         return cls(*children, unit)
    >>> tree.structure(Scaled(3.0, "m"))
    PyTreeDef(CustomNode(Scaled[m], [*]))

    See also: ``register_dataclass``, ``register_pytree_node``.
    """
    _need_methods("register_pytree_node_class", cls, "tree_flatten", "tree_unflatten")
    _register(
        "register_pytree_node_class",
        registry.register_node,
        cls,
        lambda node: node.tree_flatten(),
        cls.tree_unflatten,
    )
    return cls


def register_pytree_with_keys_class(cls: Class) -> Class:
    """As ``register_pytree_node_class``, by ``tree_flatten_with_keys``.

    ``tree_flatten_with_keys(self)`` returns ((key, child) pairs, static data). A
    ``tree_flatten`` is used as well where there is one.

    Raises:
      TreeMismatch: a method is missing, or the class is a node already.

    >>> from covector import tree, tree_util
    >>> @register_pytree_with_keys_class
    ... class Named:
    ...     def __init__(self, **parts):
    ...         self.parts = parts
    ...     def tree_flatten_with_keys(self):
    ...         keys = tuple(self.parts)
    ...         return [(tree_util.DictKey(k), self.parts[k]) for k in keys], keys
    ...     @classmethod
    ...     def tree_unflatten(cls, keys, children):
    ...         return cls(**dict(zip(keys, children)))
    >>> tree_util.keystr(tree.leaves_with_path(Named(rate=0.1))[0][0])
    "['rate']"
    """
    function = "register_pytree_with_keys_class"
    _need_methods(function, cls, "tree_flatten_with_keys", "tree_unflatten")
    register_pytree_with_keys(
        cls,
        lambda node: node.tree_flatten_with_keys(),
        cls.tree_unflatten,
        (lambda node: node.tree_flatten()) if hasattr(cls, "tree_flatten") else None,
    )
    return cls


def register_static(cls: Class) -> Class:
    """Make instances of a class static data: nodes without children.

    The class must define ``__hash__`` and ``__eq__`` by value.

    Raises:
      TreeMismatch: the class is a node already.

    >>> from covector import tree
    >>> @register_static
    ... class Mode(str):
    ...     pass
    >>> tree.leaves([Mode("train"), 1.0])
    [1.0]
    """
    _register(
        "register_static",
        registry.register_node,
        cls,
        lambda node: ((), node),
        lambda node, _: node,
        lambda node: ((), node),
    )
    return cls


def static(**kwargs: Any) -> Any:
    """``dataclasses.field`` for a field that is static data, not a child.

    >>> import dataclasses
    >>> from covector import tree
    >>> @register_dataclass
    ... @dataclasses.dataclass
    ... class Layer:
    ...     weight: float
    ...     activation: str = static(default="relu")
    >>> tree.leaves(Layer(2.0))
    [2.0]
    """
    metadata = {**(kwargs.pop("metadata", None) or {}), "static": True}
    return dataclasses.field(metadata=metadata, **kwargs)


def register_dataclass(
    nodetype: Class,
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
    drop_fields: Sequence[str] = (),
) -> Class:
    """Make a dataclass a node, its fields children or static data. Is a decorator.

    Instances are put together by the constructor, with fields as keywords; a field
    with ``init=False`` is left to it.

    Args:
      data_fields: names of the children. Without it, all fields but those whose
        metadata says ``static=True``, which are the ``meta_fields``.
      meta_fields: names of the static data; given if and only if data_fields is.
      drop_fields: fields that are neither; they need a default.

    Raises:
      TreeMismatch: the fields are not those of the class, or the class is a node
        already.

    >>> import dataclasses
    >>> from covector import tree
    >>> @register_dataclass
    ... @dataclasses.dataclass
    ... class State:
    ...     step: int
    ...     name: str = dataclasses.field(metadata={"static": True})
    >>> tree.map(lambda x: x + 1, State(1, "run"))
    State(step=2, name='run')

    See also: ``register_pytree_node_class``, ``register_pytree_node``.
    """
    if (data_fields is None) != (meta_fields is None):
        raise TreeMismatch(
            "register_dataclass needs both of data_fields and meta_fields, or neither, "
            f"but got data_fields={data_fields} and meta_fields={meta_fields}."
        )
    if data_fields is None or meta_fields is None:
        data_fields, meta_fields = _inferred_fields(nodetype, drop_fields)
    else:
        _check_fields(nodetype, data_fields, meta_fields, drop_fields)
    _register(
        "register_dataclass",
        registry.register_dataclass_node,
        nodetype,
        list(data_fields),
        list(meta_fields),
    )
    return nodetype


def _inferred_fields(
    cls: type, drop_fields: Sequence[str]
) -> tuple[list[str], list[str]]:
    if not dataclasses.is_dataclass(cls):
        raise TreeMismatch(
            f"register_dataclass of {cls!r}, which is not a dataclass, needs "
            "data_fields and meta_fields."
        )
    fields = [field for field in dataclasses.fields(cls) if field.init]
    kept = [field for field in fields if field.name not in drop_fields]
    data = [field.name for field in kept if not field.metadata.get("static", False)]
    return data, [field.name for field in kept if field.name not in data]


def _check_fields(
    cls: type,
    data_fields: Sequence[str],
    meta_fields: Sequence[str],
    drop_fields: Sequence[str],
) -> None:
    data, meta, dropped = set(data_fields), set(meta_fields), set(drop_fields)
    if len(data) + len(meta) < len(data_fields) + len(meta_fields) or data & meta:
        raise TreeMismatch(
            f"register_dataclass of {name_of(cls)} names a field twice: data_fields="
            f"{list(data_fields)}, meta_fields={list(meta_fields)}."
        )
    if not dataclasses.is_dataclass(cls):
        return
    fields = {field.name for field in dataclasses.fields(cls) if field.init}
    missing, unknown = fields - data - meta - dropped, (data | meta) - fields
    if missing or unknown:
        raise TreeMismatch(
            f"register_dataclass of {name_of(cls)} needs every field of its "
            f"constructor in data_fields, meta_fields or drop_fields, but missing are "
            f"{sorted(missing)} and unknown are {sorted(unknown)}."
        )


def _need_methods(function: str, cls: type, *methods: str) -> None:
    missing = [method for method in methods if not hasattr(cls, method)]
    if missing:
        raise TreeMismatch(
            f"{function} needs {name_of(cls)} to define {' and '.join(methods)}, "
            f"but it has no {' and no '.join(missing)}."
        )


def _register(
    function: str, register: Callable[..., Any], cls: type, *description: Any
) -> None:
    if not isinstance(cls, type):
        raise TreeMismatch(f"{function} needs a class, but got {cls!r}.")
    try:
        register(cls, *description)
    except ValueError as error:
        raise TreeMismatch(
            f"{function} of {name_of(cls)} (class of {cls.__module__}), which is a "
            "pytree node already. Register a class once, where it is defined; to "
            "flatten it differently, register a subclass."
        ) from error

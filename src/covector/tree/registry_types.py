"""The types of jaxlib's pytree classes, for checkers: jaxlib has none.

Nothing here is imported when a program runs.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any


class PyTreeDef:
    """The structure of a pytree: everything but its leaves."""

    @property
    def num_leaves(self) -> int: ...
    @property
    def num_nodes(self) -> int: ...

    def unflatten(self, leaves: Iterable[Any], /) -> Any: ...
    def flatten_up_to(self, tree: Any, /) -> list[Any]: ...
    def children(self) -> list[PyTreeDef]: ...
    def compose(self, inner: PyTreeDef, /) -> PyTreeDef: ...
    def walk(
        self, f_node: Callable[..., Any], f_leaf: Any, leaves: Iterable[Any], /
    ) -> Any: ...
    def from_iterable_tree(self, tree: Any, /) -> Any: ...
    def node_data(self) -> tuple[type, Any] | None: ...
    @staticmethod
    def from_node_data_and_children(
        registry: Any, node_data: Any, children: Iterable[PyTreeDef], /
    ) -> PyTreeDef: ...


class SequenceKey:
    """An index in a list or tuple, as a step of a path in a pytree."""

    idx: int

    def __init__(self, idx: int) -> None: ...


class DictKey:
    """A key of a dictionary, as a step of a path in a pytree."""

    key: Hashable

    def __init__(self, key: Hashable) -> None: ...


class GetAttrKey:
    """The name of an attribute, as a step of a path in a pytree."""

    name: str

    def __init__(self, name: str) -> None: ...


class FlattenedIndexKey:
    """The number of a child whose node names none, as a step of a path in a pytree."""

    key: int

    def __init__(self, key: int) -> None: ...


class PyTreeRegistry:
    """The classes that are nodes of pytrees, and the functions that open them."""

    __name__: str

    def flatten(
        self, tree: Any, leaf_predicate: Callable[[Any], bool] | None = None
    ) -> tuple[list[Any], PyTreeDef]: ...
    def flatten_with_path(
        self, tree: Any, leaf_predicate: Callable[[Any, Any], bool] | None = None
    ) -> tuple[list[tuple[Any, Any]], PyTreeDef]: ...
    def flatten_one_level(self, tree: Any) -> tuple[Iterable[Any], Any] | None: ...
    def is_node(self, node_type: type, /) -> bool: ...
    def register_node(
        self,
        node_type: type,
        to_iterable: Callable[..., Any],
        from_iterable: Callable[..., Any],
        to_iterable_with_keys: Callable[..., Any] | None = None,
    ) -> None: ...
    def register_dataclass_node(
        self, node_type: type, data: Sequence[str], meta: Sequence[str]
    ) -> None: ...

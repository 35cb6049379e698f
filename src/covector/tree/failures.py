"""Messages about failures to flatten a tree, with the path.

C++ reports no path, so the tree is walked once more, node by node, up to the path
where it fails.

jaxlib enters one level of Python's recursion for each node, and where a node raises it
does not leave the levels around it: after some hundred such errors a thread could call
nothing any more. What failed is therefore taken back here.
"""

from __future__ import annotations

import ctypes
import enum
import functools
import sys
from collections.abc import Callable
from typing import Any

from covector.errors import TreeMismatch
from covector.tree.difference import name_of, short, shown_path
from covector.tree.registry import KeyPath, open_node, registry


class Reason(enum.Enum):
    """The reason why the walk stopped."""

    REPEATS = enum.auto()
    FAILS = enum.auto()
    DEEPEST = enum.auto()


def explain_flatten(
    error: Exception, tree: Any, is_leaf: Callable[[KeyPath, Any], bool] | None
) -> Exception:
    """The error to raise for one that flattening a tree raised.

    An error of a class's own flatten function, or of ``is_leaf``, stays what it is and
    gets a note that names the path.
    """
    reason, path, node = _stopping_path(tree, is_leaf)
    if reason is Reason.FAILS:
        _leave_levels(len(path))
    # C++ that runs out of depth shows up as a SystemError caused by the RecursionError.
    if isinstance(error.__cause__ or error, RecursionError):
        return _too_deep(reason, path, node)
    if reason is not Reason.FAILS:
        return error
    if isinstance(node, dict) and not _sortable(node):
        types = sorted({type(key).__name__ for key in node})
        return TreeMismatch(
            f"flatten takes a dict in the order of its sorted keys, but at "
            f"{shown_path(path)} the keys {short(', '.join(map(repr, node)))} of type "
            f"{' and '.join(types)} cannot be sorted. Use keys of one type that can, "
            "or an OrderedDict, which keeps its own order."
        )
    error.add_note(f"while flattening the {name_of(type(node))} at {shown_path(path)}")
    return error


def recover(tree: Any) -> None:
    """Leave the levels of recursion in which flattening a tree has failed."""
    reason, path, _ = _stopping_path(tree, None)
    if reason is Reason.FAILS:
        _leave_levels(len(path))


def _leave_levels(count: int) -> None:
    if count and _levels_stay():
        for _ in range(count):
            ctypes.pythonapi.Py_LeaveRecursiveCall()


@functools.cache
def _levels_stay() -> bool:
    """Whether this jaxlib and this Python keep a level where flattening failed."""
    before = _levels_left()
    try:
        registry.flatten([{0: None, "": None}])
    except ValueError:
        if _levels_left() < before:
            ctypes.pythonapi.Py_LeaveRecursiveCall()
            return True
    return False


def _levels_left() -> int:
    """The number of levels that C code may still enter; some thousands where Python
    does not count them but looks at the stack, as from 3.14 on.
    """
    # Found before none is left, for looking them up may take one.
    enter = ctypes.pythonapi.Py_EnterRecursiveCall
    leave = ctypes.pythonapi.Py_LeaveRecursiveCall
    enough, entered = max(20_000, 2 * sys.getrecursionlimit()), 0
    try:
        while entered < enough:
            enter(b" while levels are counted")
            entered += 1
    except RecursionError:
        pass
    finally:
        for _ in range(entered):
            leave()
    return entered


def _too_deep(reason: Reason, path: KeyPath, node: Any) -> RecursionError:
    if reason is Reason.REPEATS:
        return RecursionError(
            f"flatten met the {name_of(type(node))} at {shown_path(path)} inside "
            "itself; a pytree cannot contain itself."
        )
    return RecursionError(
        f"flatten cannot descend to {shown_path(path)}: the tree is nested deeper than "
        f"Python's recursion limit of {sys.getrecursionlimit()} allows. Keep a long "
        "chain in a list, or raise the limit with sys.setrecursionlimit."
    )


def _stopping_path(
    tree: Any, is_leaf: Callable[[KeyPath, Any], bool] | None
) -> tuple[Reason, KeyPath, Any]:
    """First path at which the tree cannot be descended, or else the deepest."""
    deepest: tuple[KeyPath, Any] = ((), tree)
    stack: list[tuple[KeyPath, Any, frozenset[int]]] = [((), tree, frozenset())]
    while stack:
        path, node, around = stack.pop()
        if id(node) in around:
            return Reason.REPEATS, path, node
        if len(path) > len(deepest[0]):
            deepest = (path, node)
        if len(path) > sys.getrecursionlimit():
            break
        try:
            if (is_leaf and is_leaf(path, node)) or not registry.is_node(type(node)):
                continue
            children = open_node(node)[0]
        except Exception:  # noqa: BLE001  whatever it is, it is raised here
            return Reason.FAILS, path, node
        inside = around | {id(node)}
        stack.extend([((*path, key), x, inside) for key, x in children][::-1])
    return Reason.DEEPEST, deepest[0], deepest[1]


def _sortable(mapping: dict) -> bool:
    try:
        sorted(mapping)
    except Exception:  # noqa: BLE001  a user's __lt__ may raise anything
        return False
    return True

"""Layouts: the order of the elements of an array in memory."""

from typing import TypeVar

from covector import namespaces, tree
from covector.core.annotations import PyTree
from covector.core.convert import as_array
from covector.core.sharding.as_sharding import Format, Layout
from covector.errors import ArgumentError, how_many
from covector.operations.identities import LayoutConstraint

__all__ = ["Format", "Layout", "with_layout_constraint"]
__dir__ = namespaces.completions(globals())

Tree = TypeVar("Tree")


def with_layout_constraint(x: Tree, layouts: PyTree) -> Tree:
    """``x``, an array or a tree of them, in these layouts inside of a compiled program.

    Values stay what they are. Outside of programs nothing happens, for arrays are
    row-major.

    Args:
      layouts: a ``Layout``, or a tree of these that is a prefix of ``x``; None leaves
        an array to the compiler.

    Raises:
      ArgumentError: a layout has not as many axes as its array.

    >>> import covector as cv
    >>> columns = lambda x: with_layout_constraint(x * 2, Layout((1, 0)))
    >>> cv.jit(columns)(cv.numpy.ones((2, 3))).shape
    (2, 3)
    """
    who = "with_layout_constraint"
    leaves, treedef = tree.flatten(x)
    wanted = tree.flatten_prefix(layouts, x, f"{who} layouts", of="x")
    found = []
    for leaf, layout in zip(leaves, wanted, strict=True):
        array = as_array(leaf, who)
        if layout is not None:
            if len(layout.major_to_minor) != array.ndim:
                raise ArgumentError(
                    f"{who} needs a layout of {how_many(array.ndim, 'axis', 'axes')} "
                    f"for {array.type}, but got {layout}."
                )
            array = LayoutConstraint(layout.major_to_minor)(array)
        found.append(array)
    return treedef.unflatten(found)

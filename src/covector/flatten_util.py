"""``ravel_pytree``: a tree of arrays as one vector, and back."""

from collections.abc import Callable
from typing import Any

import covector.numpy as cnp
from covector import namespaces, tree
from covector.core.convert import as_array
from covector.errors import TypeMismatch


def ravel_pytree(pytree: Any) -> tuple[Any, Callable[[Any], Any]]:
    """All arrays of a tree end to end as one vector, and the function that goes back.

    Use it where an algorithm wants one vector of parameters. Arrays of different dtypes
    are promoted to one, and going back restores them. If all have one dtype, going back
    gives that of the vector it is given.

    Args:
      pytree: a tree of arrays or numbers.

    Returns:
      ``(vector, back)``: ``vector`` is ``[n]``; ``back(vector)`` is the tree.

    Raises:
      TypeMismatch: ``back`` is given a vector of another length, or of another dtype
        than the tree's where that has several.

    >>> vector, back = ravel_pytree({"a": 1.0, "b": cnp.arange(2.0)})
    >>> vector.tolist(), back(vector)["b"].tolist()
    ([1.0, 0.0, 1.0], [0.0, 1.0])

    See also: ``covector.tree.flatten``, which keeps the arrays.
    """
    leaves, treedef = tree.flatten(pytree)
    arrays = [as_array(x, "ravel_pytree") for x in leaves]
    shapes = [(a.shape, a.dtype, a.size) for a in arrays]
    if not arrays:
        return cnp.zeros(0), lambda _: treedef.unflatten([])
    vector: Any = cnp.concatenate([cnp.ravel(a) for a in arrays])

    type_, one_dtype = vector.type, len({a.dtype for a in arrays}) == 1

    def back(flat: Any) -> Any:
        flat = as_array(flat, "ravel_pytree")
        mixed = not one_dtype and flat.dtype != type_.dtype
        if mixed or flat.shape != type_.shape:
            raise TypeMismatch(
                f"ravel_pytree goes back from a vector like the one it gave, "
                f"{type_}, but got {flat.type}."
            )
        parts, start = [], 0
        for shape, dtype, size in shapes:
            part = cnp.reshape(flat[start : start + size], shape)
            parts.append(part if one_dtype else part.astype(dtype))
            start += size
        return treedef.unflatten(parts)

    return vector, back


__all__ = ["ravel_pytree"]
__dir__ = namespaces.completions(globals())

"""A tree of arrays as one vector, and back."""

from collections.abc import Callable
from typing import Any

import covector.numpy as cnp
from covector import tree
from covector.core.convert import as_array


def ravel_pytree(pytree: Any) -> tuple[Any, Callable[[Any], Any]]:
    """All arrays of a tree end to end as one vector, and the function that goes back.

    Arrays of different dtypes are promoted to one; going back restores them.

    >>> vector, back = ravel_pytree({"a": 1.0, "b": cnp.arange(2.0)})
    >>> vector.tolist(), back(vector)["b"].tolist()
    ([1.0, 0.0, 1.0], [0.0, 1.0])
    """
    leaves, treedef = tree.flatten(pytree)
    arrays = [as_array(x, "ravel_pytree") for x in leaves]
    shapes = [(a.shape, a.dtype, a.size) for a in arrays]
    if not arrays:
        return cnp.zeros(0), lambda _: treedef.unflatten([])
    vector = cnp.concatenate([cnp.ravel(a) for a in arrays])

    def back(flat: Any) -> Any:
        parts, start = [], 0
        for shape, dtype, size in shapes:
            parts.append(cnp.reshape(flat[start : start + size], shape).astype(dtype))
            start += size
        return treedef.unflatten(parts)

    return vector, back


__all__ = ["ravel_pytree"]

"""Arrays as text, with NumPy's print options."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from covector.core.annotations import ArrayLike
from covector.core.convert import as_array

__all__ = [
    "array_repr",
    "array_str",
    "get_printoptions",
    "printoptions",
    "set_printoptions",
]


def array_repr(
    arr: ArrayLike,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: bool | None = None,
) -> str:
    """``repr`` of an array, with other print options for this once.

    >>> import covector.numpy as cnp
    >>> array_repr(cnp.array([1.23456]), precision=2)
    'Array([1.23], dtype=float32)'
    """
    with _options(max_line_width, precision, suppress_small):
        return repr(as_array(arr, "array_repr"))


def array_str(
    a: ArrayLike,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: bool | None = None,
) -> str:
    """``str`` of an array, with other print options for this once.

    >>> import covector.numpy as cnp
    >>> array_str(cnp.array([1.23456]), precision=2)
    '[1.23]'
    """
    with _options(max_line_width, precision, suppress_small):
        return str(as_array(a, "array_str"))


@contextmanager
def _options(width: Any, precision: int | None, suppress: Any) -> Iterator[None]:
    given = {"linewidth": width, "precision": precision, "suppress": suppress}
    with np.printoptions(**{k: v for k, v in given.items() if v is not None}):
        yield


def printoptions(*args: Any, **kwargs: Any) -> Any:
    """A context in which arrays are printed otherwise: ``numpy.printoptions``.

    >>> import covector.numpy as cnp
    >>> with printoptions(precision=2):
    ...     print(cnp.array([1.23456]))
    [1.23]
    """
    return np.printoptions(*args, **kwargs)


def set_printoptions(*args: Any, **kwargs: Any) -> None:
    """Change how arrays are printed from now on: ``numpy.set_printoptions``."""
    np.set_printoptions(*args, **kwargs)


def get_printoptions() -> Any:
    """The options for printing arrays: ``numpy.get_printoptions``.

    >>> get_printoptions()["precision"]
    8
    """
    return np.get_printoptions()

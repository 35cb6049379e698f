"""Programs written for ``jax`` run on covector: ``install``, before they import it.

>>> import covector.compat
>>> covector.compat.install()  # doctest: +SKIP
>>> import jax.numpy as jnp  # doctest: +SKIP

Nothing below knows of this package; ``names`` is its table, from names of the field to
covector's, and ``finder`` makes modules from it.
"""

from typing import Any

from covector.compat.finder import install, is_installed

__all__ = ["install", "is_installed"]


def load_ipython_extension(_: Any) -> None:
    """``%load_ext covector.compat``, in the first cell of a notebook."""
    install()

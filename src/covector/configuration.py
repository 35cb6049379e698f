"""Options as users set them: ``config.update`` for the process, ``with`` blocks for a
thread.

Every option that can change a program is a field of ``covector.options.Options``; names
are accepted with and without the prefix ``jax_``, under which the ecosystem knows them.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from difflib import get_close_matches
from typing import Any

from covector import options
from covector.errors import SettingError
from covector.runtime import client, compilation_cache

#: names that are set once, before the first device is used, or that are no options
_PROCESS_SETTINGS: dict[str, Callable[[Any], None]] = {
    "num_cpu_devices": client.set_cpu_devices,
    "compilation_cache_dir": compilation_cache.set_directory,
    "platforms": client.set_platforms,
    "platform_name": client.set_platforms,
}


class Config:
    """The options of this process; ``covector.config``."""

    def update(self, name: str, value: Any) -> None:
        """Set an option for every thread that has no override of its own.

        Raises:
          SettingError: no option has this name, or the value is not one of its choices.

        >>> import covector as cv
        >>> cv.config.update("numpy_rank_promotion", "allow")
        """
        name = name.removeprefix("jax_")
        if name in _PROCESS_SETTINGS:
            _PROCESS_SETTINGS[name](value)
            return
        self._check(name)
        options.update(**{name: value})

    def read(self, name: str) -> Any:
        """The value of an option, as this thread sees it."""
        name = name.removeprefix("jax_")
        self._check(name)
        return getattr(options.current(), name)

    @property
    def x64_enabled(self) -> bool:
        return options.current().enable_x64

    @property
    def values(self) -> dict[str, Any]:
        """All options by name."""
        return {name: self.read(name) for name in options.names()}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name.removeprefix("jax_") not in options.names():
            raise AttributeError(f"covector.config has no option {name!r}")
        return self.read(name)

    def _check(self, name: str) -> None:
        known = (*options.names(), *_PROCESS_SETTINGS)
        if name not in known:
            near = get_close_matches(name, known, 1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise SettingError(
                f"covector.config has no option {name!r}.{hint} The options are "
                f"{', '.join(known)}."
            )

    def __repr__(self) -> str:
        shown = ", ".join(f"{k}={v!r}" for k, v in self.values.items())
        return f"config({shown})"


config = Config()


def _block(name: str, doc: str) -> Callable[[Any], AbstractContextManager[None]]:
    def override(value: Any) -> AbstractContextManager[None]:
        return options.override(**{name: value})

    override.__name__ = override.__qualname__ = name
    override.__doc__ = doc
    return override


def enable_x64(new_val: bool = True) -> AbstractContextManager[None]:
    """64-bit element types, for the calling thread, until the ``with`` block ends.

    >>> import covector as cv
    >>> with cv.enable_x64():
    ...     cv.numpy.ones(2).dtype
    dtype('float64')
    """
    return options.override(enable_x64=new_val)


def disable_jit(disable: bool = True) -> AbstractContextManager[None]:
    """Jitted functions run as Python, operation by operation, until the block ends.

    >>> import covector as cv
    >>> with cv.disable_jit():
    ...     cv.jit(lambda x: bool(x > 0))(1.0)
    True
    """
    return options.override(disable_jit=disable)


default_matmul_precision = _block(
    "default_matmul_precision",
    "The precision of matrix products, until the block ends.",
)
numpy_dtype_promotion = _block(
    "numpy_dtype_promotion",
    "'standard' or 'strict' promotion of element types, until the block ends.",
)
numpy_rank_promotion = _block(
    "numpy_rank_promotion",
    "'allow', 'warn' or 'raise' where operands of different ranks meet, until the "
    "block ends.",
)
threefry_partitionable = _block(
    "threefry_partitionable",
    "Which of the two published threefry streams random bits come from, until the "
    "block ends.",
)
warn_batched_cond = _block(
    "warn_batched_cond",
    "Whether to warn where a batch of predicates makes all branches of a cond or "
    "switch run, until the block ends.",
)
default_device = _block(
    "default_device",
    "The device for what has no device of its own, until the block ends.",
)

"""One of several functions, by the platform that a program is for."""

from collections.abc import Callable
from typing import Any

from covector.errors import ArgumentError
from covector.placement.transfer import default_backend

__all__ = ["platform_dependent"]

#: the names of a platform, the first that is given counts
_NAMES = {"cpu": ("cpu",), "gpu": ("cuda", "rocm", "gpu")}


def platform_dependent(
    *args: Any,
    default: Callable[..., Any] | None = None,
    **per_platform: Callable[..., Any],
) -> Any:
    """The result of the function for the default platform, of ``args``.

    Args:
      default: the function for all other platforms.
      per_platform: functions by the name of their platform, ``cpu``, ``cuda``, ``tpu``
        and so on. Only the one that is needed is called, and traced.

    Raises:
      ArgumentError: none is for this platform.

    >>> platform_dependent(3.0, cpu=lambda x: 2 * x, default=lambda x: x)
    6.0
    """
    backend = default_backend()
    for name in _NAMES.get(backend, (backend,)):
        if name in per_platform:
            return per_platform[name](*args)
    if default is None:
        raise ArgumentError(
            f"platform_dependent has functions for {tuple(per_platform)}, but the "
            f"platform is {backend!r}. Give one for it, or a default."
        )
    return default(*args)

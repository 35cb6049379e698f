"""The cache of compiled programs, under the names that older programs use."""

from covector import namespaces
from covector.runtime import compilation_cache as _cache

__all__ = ["reset_cache", "set_cache_dir"]
__dir__ = namespaces.completions(globals())


def set_cache_dir(path: str) -> None:
    """Keep compiled programs in a folder, where other processes find them.

    The same as ``config.update("compilation_cache_dir", path)``.
    """
    _cache.set_directory(path)


def reset_cache() -> None:
    """Forget the compiled programs in memory, and the folder. Files stay."""
    _cache.clear()
    _cache.set_directory(None)

"""The cache of compiled programs, as a package: older programs import it so."""

from covector import namespaces
from covector.experimental.compilation_cache import compilation_cache

__all__ = ["compilation_cache"]
__dir__ = namespaces.completions(globals())

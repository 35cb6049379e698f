"""``pjit``: the name under which older programs know ``jit``."""

from covector import namespaces
from covector.dispatch.jit import jit as pjit

__all__ = ["pjit"]
__dir__ = namespaces.completions(globals())

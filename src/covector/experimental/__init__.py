"""Functions whose interface may still change: ``io_callback``."""

from covector import namespaces
from covector.programs.callbacks.callback import io_callback

__all__ = ["io_callback"]
__dir__ = namespaces.completions(globals())

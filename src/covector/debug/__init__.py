"""Looking into programs while they run, without changing what they compute."""

from covector.debug.callback import callback
from covector.debug.debugger import breakpoint
from covector.debug.printing import log, print

__all__ = ["breakpoint", "callback", "log", "print"]

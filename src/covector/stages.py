"""The classes behind ``jit(f).trace(...)``, ``.lower()`` and ``.compile()``."""

from covector.programs.jit.jit import Jitted as Wrapped
from covector.programs.jit.stages import ArgInfo, Compiled, Lowered, Traced

__all__ = ["ArgInfo", "Compiled", "Lowered", "Traced", "Wrapped"]

"""The classes behind ``jit(f).trace(...)``, ``.lower()`` and ``.compile()``."""

from typing import TypeAlias

from covector import namespaces
from covector.dispatch.jit import PjitFunction as Wrapped
from covector.dispatch.stages import ArgInfo, Compiled, Lowered, Traced

__all__ = [
    "ArgInfo",
    "Compiled",
    "CompilerOptions",
    "Lowered",
    "Traced",
    "Wrapped",
]
__dir__ = namespaces.completions(globals())

#: options of XLA by name, for ``compile(compiler_options=…)``
CompilerOptions: TypeAlias = dict[str, str | bool]

"""``memory_limit`` of ``jit``: programs that need more are refused before they run.

Imported by those who give a limit.
"""

from covector.core.sizes import show_bytes
from covector.errors import OverBudget
from covector.lowering.compiled import CompiledProgram
from covector.runtime.executable import MemoryUse


def check_memory(compiled: CompiledProgram, limit: int, who: str) -> None:
    """Raise where a compiled program needs more than ``limit`` bytes."""
    use = compiled.executable.memory_use()
    if use.peak > limit:
        raise OverBudget(
            f"{who} needs {show_bytes(use.peak)} of memory ({in_words(use)}), but "
            f"memory_limit is {show_bytes(limit)}. It has not run. To need less, "
            "donate arguments that results replace (jit(donate_argnums=)), compute "
            "again instead of keeping (checkpoint(f, memory=), grad(f, memory=)), run "
            "a batch in chunks (vmap(f, memory=)), or take a smaller batch."
        )


def in_words(use: MemoryUse) -> str:
    """The bytes that a program holds, by kind."""
    parts = [
        f"{show_bytes(use.arguments)} of arguments",
        f"{show_bytes(use.results)} of results",
        f"{show_bytes(use.temporaries)} of temporaries",
    ]
    text = f"{', '.join(parts[:2])} and {parts[2]}"
    if use.shared:
        text += f"; {show_bytes(use.shared)} of the results in donated arguments"
    return text

"""Every module that a user may import, found by walking the public names."""

from types import ModuleType

import covector


def completed_names() -> dict[str, tuple[list[str], list[str]]]:
    """What ``dir`` shows in each module before its first use, and its ``__all__``."""
    found: dict[str, tuple[list[str], list[str]]] = {}
    rest = [covector]
    while rest:
        module = rest.pop()
        if module.__name__ not in found:
            found[module.__name__] = dir(module), list(module.__all__)
            values = [getattr(module, name) for name in module.__all__]
            rest += [x for x in values if isinstance(x, ModuleType)]
    return found

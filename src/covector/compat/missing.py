"""Names of the field that covector does not have: the errors, and a log of them.

``names/absent.txt`` says what is planned, and what to use instead. Every missing name
is a message of level DEBUG of the logger ``covector.compat``: the list of what a
program still wants.
"""

import logging

from covector.compat.names import rows

_logger = logging.getLogger("covector.compat")
_PLANNED = "planned: "
#: what to use instead of a name, and of all below it
ABSENT = dict([row.split(None, 1) for row in rows("absent.txt")])


def way_out(name: str) -> str | None:
    """What is known of a missing name, or of what it is in; None for nothing."""
    while name and name not in ABSENT:
        name = name.rpartition(".")[0]
    return ABSENT.get(name)


def _words(name: str) -> str:
    _logger.debug("asked for %s", name)
    known = way_out(name)
    if known is not None:
        plan = "planned" if known.startswith(_PLANNED) else "not planned"
        instead = known.removeprefix(_PLANNED)
        return f"covector has no {name}. It is {plan}. {instead}"
    if name.startswith("jax._src."):
        return f"covector has no {name}, which is private to jax, and not planned."
    return f"covector has no {name}, and there is no plan for one."


def attribute(module: object, name: str, path: str) -> AttributeError:
    """The error for a name that a module of the field does not have here.

    Names that Python asks every module for are no names of the field.
    """
    if name.startswith("__"):
        return AttributeError(f"module {path!r} has no attribute {name!r}")
    return AttributeError(_words(f"{path}.{name}"), name=name, obj=module)


def module(path: str) -> ModuleNotFoundError:
    """The error for a module that is not here; also of ``from package import name``.

    Python replaces an error that carries the name it looked for by one of its own
    words, so this one carries none.
    """
    return ModuleNotFoundError(_words(path))

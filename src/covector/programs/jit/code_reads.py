"""Bytecode analysis: the globals, module attributes and imports that a function reads.

Some code can read anything (``eval``, the frames of its callers); for such code the
answer is that it is not known.
"""

import builtins
import functools
import sys
import types
from opcode import EXTENDED_ARG, opmap
from typing import NamedTuple

from covector.core.source import is_own

#: functions through which code reads what its names do not show, or writes: what is
#: printed while a function is traced is printed for each that is made
_UNBOUNDED = frozenset(
    {
        *("eval", "exec", "globals", "input", "locals", "open", "print", "vars"),
        "__import__",
    }
)
_UNBOUNDED_ATTRIBUTES = frozenset(
    ("__dict__", "_getframe", "currentframe", "import_module")
)
_BUILTINS = frozenset(vars(builtins))


class Reads(NamedTuple):
    """The names that code may read, including the functions inside of it."""

    globals: tuple[str, ...]
    #: names that may be asked of modules
    attributes: tuple[str, ...]
    #: modules that are imported when it runs
    imports: tuple[str, ...]
    #: what makes it impossible to say what is read; empty where nothing does
    unbounded: str


#: Instructions that name what they read, and what kind of thing that is; the name is
#: the one of this number in ``co_names``, after so many bits that say something else.
_KINDS = {
    "LOAD_GLOBAL": (1, "global"),
    "LOAD_NAME": (0, "global"),
    "IMPORT_NAME": (0, "import"),
    "IMPORT_FROM": (0, "attribute"),
    "LOAD_METHOD": (0, "attribute"),
    "LOAD_ATTR": (int(sys.version_info >= (3, 12)), "attribute"),
    "LOAD_SUPER_ATTR": (2, "attribute"),
}
_NAMING = {opmap[name]: kind for name, kind in _KINDS.items() if name in opmap}


@functools.lru_cache(4096)
def reads_of(code: types.CodeType) -> Reads:
    """The names that ``code`` may read."""
    found: dict[str, dict[str, None]] = {"global": {}, "attribute": {}, "import": {}}
    argument = 0
    # ``dis`` says the same, and much more, in ten calls for each instruction.
    for operation, low in zip(code.co_code[::2], code.co_code[1::2], strict=True):
        argument = argument << 8 | low
        if operation == EXTENDED_ARG:
            continue
        if operation in _NAMING:
            shift, kind = _NAMING[operation]
            found[kind][code.co_names[argument >> shift]] = None
        argument = 0
    names, attributes, imports = found.values()
    unbounded = next(filter(_UNBOUNDED.__contains__, names), "")
    unbounded = next(filter(_UNBOUNDED_ATTRIBUTES.__contains__, attributes), unbounded)
    if "getattr" in names:  # the attribute may be any text of the code
        attributes |= dict.fromkeys(c for c in code.co_consts if type(c) is str)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            inner = reads_of(constant)
            names |= dict.fromkeys(inner.globals)
            attributes |= dict.fromkeys(inner.attributes)
            imports |= dict.fromkeys(inner.imports)
            unbounded = unbounded or inner.unbounded
    return Reads(tuple(names), tuple(attributes), tuple(imports), unbounded)


def is_builtin(name: str) -> bool:
    """Whether a name that is no global is one of Python's own."""
    return name in _BUILTINS


#: Packages that covector is built on. What they read can change no program, but for the
#: random state of NumPy.
_FOUNDATIONS = ("jaxlib", "ml_dtypes", "numpy", "opt_einsum")
_STATEFUL = ("numpy.random", "random")
#: modules in C whose functions give the same for the same arguments
_PURE = {
    *("builtins", "math", "cmath", "itertools", "binascii", "unicodedata", "zlib"),
    *("_abc", "_bisect", "_collections", "_functools", "_heapq", "_json", "_operator"),
    *("_sre", "_statistics", "_string", "_struct"),
}


@functools.lru_cache(4096)
def is_settled(module: str | None, file: str | None) -> bool:
    """Whether code of a module reads nothing that could change a program.

    That is covector's own, whose options are in every key, and of what it is built on.
    """
    if file is not None and is_own(file):
        return True
    name = module or ""
    return name.partition(".")[0] in _FOUNDATIONS and not is_stateful(name)


def is_stateful(module: str) -> bool:
    """Whether what is of this module gives something else each time."""
    return module.startswith(_STATEFUL)


def is_pure(function: types.BuiltinFunctionType) -> bool:
    """Whether a function in C, of a module, depends on its arguments alone."""
    module = function.__module__ or ""
    if function.__name__ in _UNBOUNDED:
        return False
    return module in _PURE or is_settled(module, None)

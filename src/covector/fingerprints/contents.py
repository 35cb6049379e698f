"""All that functions and objects refer to: what code reads, and what objects hold.

Code is read by analysis of its bytecode: globals, module attributes, imports. Some can
read anything (``eval``, the frames of its callers); then the answer is that it is not
known. Of objects it is closures, defaults, attributes, slots, the methods of classes.
"""

import builtins
import functools
import sys
import types
from opcode import EXTENDED_ARG, opmap
from typing import Any, NamedTuple

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


# -- functions, objects and classes ----------------------------------------------------

#: what has code beside plain functions, in the namespace of a class
WRAPPERS = (
    property,
    classmethod,
    staticmethod,
    functools.cached_property,
    functools.partialmethod,
    type(functools.lru_cache(lambda: None)),
)
_CODE = (types.FunctionType, *WRAPPERS)


def kept_by(fun: types.FunctionType, code: types.CodeType) -> list[tuple[str, Any]]:
    """The contents of a function object: closure, defaults, attributes."""
    found: list[tuple[str, Any]] = []
    for name, cell in zip(code.co_freevars, fun.__closure__ or (), strict=True):
        try:
            found.append((f"closure value {name}", cell.cell_contents))
        except ValueError:  # a cell that is still empty says nothing
            continue
    if fun.__defaults__:
        found += [(f"default {i}", v) for i, v in enumerate(fun.__defaults__)]
    if fun.__kwdefaults__:
        found += [(f"default {k}", v) for k, v in fun.__kwdefaults__.items()]
    for name, value in fun.__dict__.items():
        if name != "__wrapped__":
            found.append((f"attribute {name}", value))
    return found


def held_by(x: Any) -> list[tuple[str, Any]]:
    """The attributes of an object, in its dictionary and in slots."""
    held = list(getattr(x, "__dict__", {}).items())
    for kind in type(x).__mro__:
        for name, slot in kind.__dict__.items():
            if type(slot) is types.MemberDescriptorType and name != "__dict__":
                try:
                    held.append((name, slot.__get__(x, kind)))
                except AttributeError:  # not set
                    continue
    return held


def held_by_class(kind: type) -> list[tuple[str, Any]]:
    """The contents of the classes of a user's object: functions and other values."""
    return [
        (name, value)
        for each in kind.__mro__
        if each is not object and not _is_settled_class(each)
        for name, value in each.__dict__.items()
        if isinstance(value, _CODE) or not name.startswith(("__", "_abc_"))
        if name not in _TEXTS
        if type(value) is not types.MemberDescriptorType
    ]


#: methods that are about showing and storing an object
_TEXTS = frozenset(
    ("__repr__", "__str__", "__format__", "__reduce__", "__reduce_ex__", "__dir__")
)


def _is_settled_class(kind: type) -> bool:
    """Whether the methods of a class read nothing that could change a program."""
    module = sys.modules.get(kind.__module__)
    file = getattr(module, "__file__", None)
    if kind.__module__ == "builtins" or is_settled(kind.__module__, file):
        return True
    return kind.__module__.partition(".")[0] in sys.stdlib_module_names


@functools.lru_cache(4096)
def is_transparent(kind: type) -> bool:
    """Whether all that an object holds is found in its dictionary and slots.

    A class that is written in C keeps more: its objects are larger than that.
    """
    while kind is not object:
        space = kind.__dict__
        slots = [v for v in space.values() if type(v) is types.MemberDescriptorType]
        named = len(slots) + ("__dict__" in space) + ("__weakref__" in space)
        base = kind.__base__
        assert base is not None, "only object has no base"
        if kind.__flags__ & _IMMUTABLE or kind.__basicsize__ > (
            base.__basicsize__ + 8 * named
        ):
            return False
        kind = base
    return True


#: a flag of types: defined in C, as a constant
_IMMUTABLE = 1 << 8

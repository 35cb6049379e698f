"""The caches of ``jit``: of each function, and of functions with equal fingerprints.

A jitted function has its own programs, as long as it lives. Here they are found again
by the fingerprint that the function had when it was traced, so that
``jit(lambda x: x * c)`` in a loop is traced and compiled once. Captured arrays are held
weakly: a program whose arrays are gone cannot be used again.
"""

import contextlib
import operator
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from covector import options
from covector.core.convert import OPERANDS
from covector.core.jaxpr import type_of
from covector.core.primitive import forget_plans
from covector.dispatch.arguments import (
    JitSpec,
    ProgramKey,
    as_operands,
    call_layout,
    device_of_operands,
)
from covector.dispatch.program import Program
from covector.fingerprints.fingerprint_value import Fingerprint
from covector.lowering.compiled import ArgumentsElsewhere
from covector.lowering.placement import placement_of
from covector.programs.higher_order.hash_consing import forget_programs
from covector.runtime import compilation_cache


class LastCall:
    """The call before: most are like it, and comparing is cheaper than hashing."""

    __slots__ = ("call", "count", "form", "in_tree", "options")

    def __init__(
        self, options: Any, in_tree: Any, form: Any, count: int, call: Any
    ) -> None:
        self.options = options
        self.in_tree = in_tree
        self.form = form
        #: how many arguments there were, if these were all leaves and no keywords
        self.count = count
        #: which compares the types of the leaves itself, and where they were put
        self.call = call


#: of no form that a call has
NO_CALL = LastCall(None, None, "", -1, None)


#: types of which each object is what it is for ever
_CONSTANTS = frozenset({bool, int, float, complex, str, bytes, type(None)})


class StaticsBefore:
    """The static arguments of the call before, of which those of the next call may be
    the very same objects: then these need not be looked into.

    They are numbers, texts, and what is compared by identity, as functions are. Others
    may have changed since.
    """

    __slots__ = ("count", "form", "named", "taking", "values")

    def __init__(
        self, spec: JitSpec, count: int, names: Sequence[str], statics: Any, form: Any
    ) -> None:
        #: how many positional arguments there were
        self.count = count
        self.values = [(k, v) for k, _, v in statics if type(k) is int]
        #: all keywords, since none was traced
        self.named = [(k, v) for k, _, v in statics if type(k) is str]
        #: gives the traced ones of the positional arguments
        self.taking, _, _ = call_layout(spec.static, count, tuple(names))
        self.form = form

    @staticmethod
    def can_tell(statics: Sequence[Any]) -> bool:
        """Whether none of the static arguments can change."""
        kinds = [type(value) for _, _, value in statics]
        return all([k in _CONSTANTS or k.__hash__ is object.__hash__ for k in kinds])

    def are_again(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether the static arguments are those of the call before."""
        if len(args) != self.count or len(kwargs) != len(self.named):
            return False
        for k, value in self.values:
            if args[k] is not value:
                return False
        for name, value in self.named:  # noqa: SIM110  quicker
            if kwargs.get(name, self) is not value:
                return False
        return True


class FastPath(NamedTuple):
    """A program, bound to arguments of some types and placements."""

    call: Callable[[list[Any]], Any]
    #: whether they have been read when all that is under way is done
    #: (``CompiledProgram``)
    reads_at_once: bool


def _converting(
    found: FastPath,
    leaves: Sequence[Any],
    operands: Sequence[Any],
    jitted: Any,
    no_trees: bool,
) -> Callable[[list[Any]], Any]:
    """A call for leaves like these, which are not all arrays; ``operands`` are what
    became of them. It must not hold the function, with which its caches go.
    """
    call, spec, who = found.call, jitted.spec, jitted.who
    if no_trees and found.reads_at_once and spec.takes_operands_as_they_are:
        from covector.dispatch.staging_buffers import staged  # noqa: PLC0415  not all

        return staged(call, leaves, operands, device_of_operands())

    def convert_and_call(leaves: list[Any]) -> Any:
        if no_trees and not OPERANDS.issuperset(map(type, leaves)):
            raise ArgumentsElsewhere
        return call(as_operands(leaves, spec, who))

    return convert_and_call


class Caches:
    """The state of a function under one set of jit options."""

    def __init__(self) -> None:
        self.programs: dict[ProgramKey, Program] = {}
        #: outside of all transformations, where options and placement are the whole
        #: context: from (options, tree, form, types, placements) straight to the call,
        #: where the form of a call is what its tree does not tell: the keywords, and
        #: the static arguments
        self.fast_path: dict[tuple[Any, ...], FastPath] = {}
        self.last_call: LastCall = NO_CALL

    def call_again(
        self,
        plain: tuple[Any, ...],
        leaves: list[Any],
        in_tree: Any,
        form: Any,
        jitted: Any,
    ) -> Any:
        """A call like one before, if not the last one; ``plain`` are its arguments, in
        the order in which they were given.

        Raises:
          ArgumentsElsewhere: there was none, or its program has not run.
        """
        now, operands, spec, who = options.current(), leaves, jitted.spec, jitted.who
        try:
            try:
                types = tuple(map(type_of, operands))
            except AttributeError:
                operands = as_operands(leaves, spec, who)
                types = tuple(map(type_of, operands))
            key = now, in_tree, form, types, tuple(map(placement_of, operands))
            found = self.fast_path.get(key)
        except Exception:  # noqa: BLE001  objects that are asked may raise anything
            found = None  # no arrays, which the slow path explains
        if found is None:
            raise ArgumentsElsewhere

        no_trees = operands is leaves or OPERANDS.issuperset(map(type, leaves))
        call = found.call
        if operands is not leaves:
            call = _converting(found, leaves, operands, jitted, no_trees)
        count = -1
        same = len(plain) == len(leaves) and all(map(operator.is_, plain, leaves))
        if no_trees and same:
            count = len(plain)
        self.last_call = LastCall(now, in_tree, form, count, call)
        return found.call(operands)

    def forget_calls(self) -> None:
        """Let the next call look for its program."""
        self.fast_path.clear()
        self.last_call = NO_CALL


#: by function, so that jitting the same function twice compiles it once
_caches: weakref.WeakKeyDictionary[Any, dict[JitSpec, Caches]] = (
    weakref.WeakKeyDictionary()
)


def caches_of(fun: Callable[..., Any], spec: JitSpec) -> Caches:
    """The caches of a function, which others that jit it in the same way have too."""
    if type(fun).__hash__ is not object.__hash__:
        return Caches()  # what is equal to it, as a bound method, may have changed
    try:
        return _caches.setdefault(fun, {}).setdefault(spec, Caches())
    except TypeError:  # neither hashed nor weakly referenced: no sharing
        return Caches()


#: programs that are remembered, the most recently used ones
_CAPACITY = 1024


#: a fingerprint, how the function is jitted, and the key of the program
Key = tuple[Fingerprint, JitSpec, ProgramKey]


class _Entry(NamedTuple):
    program: Program  # without its captured arrays
    captured: list[weakref.ref[Any]]
    #: to what the fingerprint stands for: with one of these gone it equals no other
    objects: list[weakref.ref[Any]]


_entries: OrderedDict[Key, _Entry] = OrderedDict()


def get(key: Key) -> Program | None:
    """The program under this key, if the arrays it captured are still alive."""
    entry = _entries.get(key)
    if entry is None:
        return None
    captured = [ref() for ref in entry.captured]
    if any([x is None for x in captured]):
        return None
    with contextlib.suppress(KeyError):  # another thread may have dropped it meanwhile
        _entries.move_to_end(key)
    return entry.program._replace(captured=captured)


def put(key: Key, program: Program) -> None:
    """Cache a program, for as long as another function can equal its function."""

    def drop(_: weakref.ref[Any], entries: Any = _entries) -> None:
        # When Python ends, modules lose their globals before all arrays are gone.
        entries.pop(key, None)

    captured = [weakref.ref(x, drop) for x in program.captured]
    objects = [weakref.ref(x, drop) for x in key[0].objects()]
    if captured:
        program = program._replace(captured=[])
    _entries[key] = _Entry(program, captured, objects)
    while len(_entries) > _CAPACITY:
        _entries.popitem(last=False)


def evict(fingerprint: Fingerprint | None, spec: Any) -> None:
    """Drop the programs of functions like this one, jitted in this way."""
    for key in list(_entries):
        same = fingerprint is not None and key[0].parts[0] == fingerprint.parts[0]
        if same and key[1] == spec:
            _entries.pop(key, None)


def clear_caches() -> None:
    """Forget compiled executables, and programs that function objects share.

    An executable takes some six of the maps of memory of which a process may have
    65,530 on Linux: who compiles ten thousand programs has to forget some.

    A function object that is still there keeps its own: ``f.clear_cache()``.
    """
    compilation_cache.clear()
    forget_plans()
    forget_programs()
    _entries.clear()

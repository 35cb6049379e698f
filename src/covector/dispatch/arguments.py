"""Arguments and options of ``jit``: which are traced, static or donated.

A static argument is a constant of the jaxpr; the buffer of a donated one may be reused
for a result. ``JitSpec`` holds the options of ``jit``, ``Signature`` the flat arguments
of one call.
"""

import functools
import inspect
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypedDict

import numpy as np

from covector import options, tree
from covector.core.annotations import MemorySize, PyTree
from covector.core.array import ConcreteArray
from covector.core.convert import (
    PYTHON_NUMBERS,
    ShapeDtypeStruct,
    as_array,
    check_implicit,
    if_of_arrays,
    operand_on,
    page_of_class,
)
from covector.core.flat import (
    argument_names,
    argument_numbers,
    argument_path,
    parameter,
    with_fixed,
)
from covector.core.references import Ref
from covector.core.sharding.transfer import guard
from covector.core.trace import Context, Tracer, check_scope, current
from covector.core.types import AbstractRef, ArrayType
from covector.errors import (
    DeletedArrayError,
    StaticArgumentError,
    did_you_mean,
    how_many,
)
from covector.lowering.compiled import ArgumentsElsewhere
from covector.runtime import client
from covector.tree.registry import PyTreeDef


class ProgramKey(NamedTuple):
    """All that the program of a function depends on, besides what the function is.

    The caches of ``jit``, the programs that equal functions share, and what is told of
    recompilations go by this one value.
    """

    in_tree: PyTreeDef
    types: tuple[Any, ...]
    #: for each static argument its position or name, its kind, and its value
    statics: tuple[Any, ...]
    context: Context


class Signature(NamedTuple):
    """The flat arguments of one call, and the key of the program for them."""

    leaves: list[Any]
    key: ProgramKey

    def check_values(self, who: str) -> None:
        """Raise where an argument has no value, or one that is gone; a literal of a
        program that was traced is the array that it stands for.
        """
        for i, leaf in enumerate(self.leaves):
            if isinstance(leaf, Tracer):
                if leaf.literal is not None and not leaf.owner.alive:
                    self.leaves[i] = leaf.literal
                else:
                    check_scope(leaf, current.trace)
            elif isinstance(leaf, ShapeDtypeStruct):
                raise StaticArgumentError(
                    f"{who} needs values to run, but got {leaf!r}. To see the type of "
                    "the result use eval_shape; to compile ahead, "
                    ".lower(...).compile()."
                )

    def check_donated(self, indices: Sequence[int], who: str) -> None:
        """Raise where memory that is given up is passed another time."""
        for i in indices:
            mine = self.leaves[i]
            for k, other in enumerate(self.leaves):
                if k != i and (other is mine or _same_memory(other, mine)):
                    one, two = sorted((i, k))
                    path = functools.partial(argument_path, self.key.in_tree)
                    raise DeletedArrayError(
                        f"{who} was given one array, {other.type}, as {path(one)} and "
                        f"as {path(two)}, and {path(i)} is donated: its memory can be "
                        "given up only once, and not be read beside. Pass a copy: "
                        "x.copy()."
                    )


def _same_memory(x: Any, y: Any) -> bool:
    return x._buffer is not None and x._buffer is y._buffer


def as_argument(
    leaf: Any, i: int, in_tree: PyTreeDef, who: str, fun: Any, statics: tuple[Any, ...]
) -> Any:
    """Leaf ``i`` of the arguments of a function as an array, a reference, or what
    stands for them.
    """
    if isinstance(leaf, ShapeDtypeStruct | Ref):
        return leaf
    if isinstance(leaf, ArrayType):
        return ShapeDtypeStruct(leaf.shape, leaf.dtype, weak_type=leaf.weak)
    if guard.on and type(leaf) in PYTHON_NUMBERS:
        check_implicit(leaf, who)
    try:
        return as_array(leaf, who)
    except TypeError as error:
        of_others = with_fixed(fun, {k: v for k, _, v in statics})
        where = argument_path(in_tree, i, of_others)
        if isinstance(leaf, np.ndarray):  # it could not be static: it has no hash
            error.add_note(f"{where} of {who}")
            raise
        raise StaticArgumentError(
            f"{who} needs arrays and numbers, but {where} is {leaf!r} of type "
            f"{type(leaf).__name__}. {if_of_arrays(leaf)}Mark what is not an array as "
            "static (static_argnums or static_argnames), or keep it out of the jitted "
            "function with functools.partial.",
            page=page_of_class(leaf),
        ) from error


def as_operands(leaves: Sequence[Any], spec: "JitSpec", who: str) -> list[Any]:
    """Arguments as arrays where some are numbers, or arrays of NumPy.

    Raises:
      ArgumentsElsewhere: the slow path asks for each of them, or tells what it is.
    """
    if guard.on:
        raise ArgumentsElsewhere
    try:
        if not spec.takes_operands_as_they_are:
            return [as_array(x, who) for x in leaves]
        device = device_of_operands()
        return [operand_on(x, device) for x in leaves]
    except Exception:  # noqa: BLE001  objects that are asked may raise anything
        raise ArgumentsElsewhere from None


def device_of_operands() -> client.Device:
    """The device on which numbers and arrays of NumPy become arrays."""
    return options.current().default_device or client.default_device()


def input_name(in_tree: PyTreeDef, captured: int, i: int) -> str:
    """Input ``i`` of a program in words; the first ones are captured."""
    if i < captured:
        return "an array that the function closes over"
    return argument_path(in_tree, i - captured)


#: positions and names of arguments
Keys = tuple[int | str, ...]


@functools.lru_cache(1024)
def call_layout(
    static: Keys, count: int, names: tuple[str, ...]
) -> tuple[Callable[[Sequence[Any]], tuple[Any, ...]], tuple[str, ...], Keys]:
    """Of ``count`` positional arguments and these keywords: how those that are traced
    are taken out of the positional ones, their names among the keywords, and what is
    static.
    """
    found = in_call(static, count)
    given = [*range(count), *sorted(names)]
    return (
        _taking([i for i in range(count) if i not in found]),
        tuple([k for k in names if k not in found]),
        tuple([k for k in given if k in found]),
    )


def _taking(positions: list[int]) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    """What takes the elements at these rising positions out of a tuple, in C."""
    first, last = (positions[0], positions[-1]) if positions else (0, -1)
    if last - first + 1 == len(positions):
        return operator.itemgetter(slice(first, last + 1))
    return operator.itemgetter(*positions)


def _name(fun: Any, key: int | str) -> int | str:
    return (parameter(fun, key) or key) if isinstance(key, int) else key


class JitOptions(TypedDict, total=False):
    """The keyword arguments of ``jit``, for its overloads."""

    in_shardings: PyTree
    out_shardings: PyTree
    static_argnums: int | Sequence[int] | None
    static_argnames: str | Iterable[str] | None
    donate_argnums: int | Sequence[int] | None
    donate_argnames: str | Iterable[str] | None
    inline: bool
    keep_unused: bool
    device: Any
    backend: str | None
    compiler_options: dict[str, Any] | None
    memory_limit: MemorySize | None


class JitSpec(NamedTuple):
    """The options of ``jit``."""

    static: Keys = ()
    donated: Keys = ()
    inline: bool = False
    keep_unused: bool = False
    compiler_options: tuple[tuple[str, Any], ...] = ()
    shardings: Any = None
    #: bytes that the compiled program may need
    memory_limit: int | None = None

    @property
    def takes_operands_as_they_are(self) -> bool:
        """Whether arguments are neither given up nor put elsewhere, so that a number
        can be a buffer that the caller keeps.
        """
        return not self.donated and self.shardings is None

    def split_static(
        self, args: Sequence[Any], kwargs: dict[str, Any], who: str, fun: Any
    ) -> tuple[tuple[Any, ...], dict[str, Any], tuple[Any, ...]]:
        """Arguments without the static ones, and the static ones by index or name."""
        split = self.split(args, kwargs)
        for key, _, value in split[2]:
            argument = f"{who}: the static argument {_name(fun, key)}"
            if isinstance(value, Tracer):
                raise StaticArgumentError(
                    f"{argument} must be known, but it is a traced {value.type}. "
                    f"{value.origin()} Make it static there as well, or do not make it "
                    "static here."
                )
            try:
                hash(value)
            except TypeError:
                shown = value.type if isinstance(value, ConcreteArray) else repr(value)
                raise StaticArgumentError(
                    f"{argument} must be hashable, but got {shown} of type "
                    f"{type(value).__name__}. The compiled program is found by its "
                    "value. Use a tuple for a list, a frozen dataclass for a mapping; "
                    "or do not make it static."
                ) from None
        return split

    def split(
        self, args: Sequence[Any], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any], tuple[Any, ...]]:
        """``split_static``, whatever is given as static."""
        taking, names, static = call_layout(self.static, len(args), tuple(kwargs))
        named = {k: kwargs[k] for k in names} if names else {}
        keyed = []
        for k in static:
            value = kwargs[k] if isinstance(k, str) else args[k]
            kind = type(value)
            keyed.append((k, kind if kind in _KINDS else _kind(value), value))
        return taking(args), named, tuple(keyed)

    def with_statics(
        self, fun: Callable[..., Any], statics: tuple[Any, ...]
    ) -> Callable[..., Any]:
        """``fun`` with its static arguments filled in."""
        return with_fixed(fun, {k: v for k, _, v in statics}) if statics else fun

    def check_memory(self, compiled: Any, who: str) -> None:
        """Raise where a compiled program needs more memory than it may."""
        if self.memory_limit is not None:
            from covector.dispatch.memory_limit import check_memory  # noqa: PLC0415  rare

            check_memory(compiled, self.memory_limit, who)

    def donated_leaves(self, key: ProgramKey) -> tuple[bool, ...]:
        """For each leaf, whether its buffer may be reused for a result."""
        if not self.donated:
            return (False,) * len(key.types)
        static = {k for k, _, _ in key.statics}
        args, kwargs = key.in_tree.unflatten(key.types)
        count = len(args) + sum(isinstance(k, int) for k in static)
        donated = in_call(self.donated, count)
        dynamic = [i for i in range(count) if i not in static]
        given = [*zip(dynamic, args, strict=True), *sorted(kwargs.items())]
        return tuple(
            [
                k in donated and type(t) is not AbstractRef
                for k, part in given
                for t in tree.leaves(part)
            ]
        )


def in_call(keys: Keys, count: int) -> set[int | str]:
    """Names, and the positions among ``count`` that there are, none negative."""
    found: set[int | str] = set()
    for key in keys:
        if isinstance(key, str):
            found.add(key)
        elif -count <= key < count:
            found.add(key % count)
    return found


#: types of which equal values are the same to a program
_KINDS = frozenset({bool, int, str, bytes, type(None)})


def _kind(value: Any) -> Any:
    """A key that separates values equal to Python: 1, 1.0 and True; 0.0 and -0.0."""
    if isinstance(value, tuple):
        return (type(value), *map(_kind, value))
    signed = isinstance(value, float | complex) and value == 0
    return (type(value), str(value)) if signed else type(value)


def complete_argnums(
    fun: Callable[..., Any],
    who: str,
    argnums: int | Iterable[int] | None,
    argnames: str | Iterable[str] | None,
    kind: str = "static",
) -> Keys:
    """Numbers and names of the same arguments, each completed from the other.

    ``kind`` begins the names of both options: "static" or "donate".
    """
    nums = () if argnums is None else argument_numbers(who, f"{kind}_argnums", argnums)
    names = (
        () if argnames is None else argument_names(who, f"{kind}_argnames", argnames)
    )
    if not nums and not names:
        return ()
    try:
        parameters = list(inspect.signature(fun).parameters.values())
    except (TypeError, ValueError):
        return (*nums, *names)
    positional = [
        p.name
        for p in parameters
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    if not any(p.kind is p.VAR_POSITIONAL for p in parameters):
        for n in nums:
            if not -len(positional) <= n < len(positional):
                raise StaticArgumentError(
                    f"{who}: argument number {n} was named, but it takes "
                    f"{how_many(len(positional), 'positional argument')}."
                )
        nums = tuple([n % len(positional) for n in nums])
    if not any(p.kind is p.VAR_KEYWORD for p in parameters):
        known = [p.name for p in parameters]
        for name in names:
            if name not in known:
                raise StaticArgumentError(
                    f"{who}: the argument {name!r} was named, but it takes "
                    f"{', '.join(known) or 'none'}."
                    f"{did_you_mean(name, known)}"
                )
    all_nums = set(nums) | {i for i, name in enumerate(positional) if name in names}
    all_names = set(names) | {positional[n] for n in nums if 0 <= n < len(positional)}
    return (*sorted(all_nums), *sorted(all_names))


def check_disjoint(who: str, static: Keys, donated: Keys) -> None:
    """Raise where an argument is part of the program and to be donated as well."""
    both = [argument for argument in static if argument in donated]
    if both:
        raise StaticArgumentError(
            f"{who}: the argument {both[-1]!r} is static and donated. A static "
            "argument has no memory to give away: leave it out of donate_argnums and "
            "donate_argnames."
        )

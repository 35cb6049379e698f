"""``Options``: everything that can change a program, as one frozen value; and settings.

``Options`` has a process-wide value, which ``COVECTOR_…`` variables of the environment
may set; a ``with`` block overrides it for the thread or the task that runs it. Every
cache key holds ``current().of_programs``, so a program compiled under other options is
never used by mistake, while options that only watch (``WATCHING``) lead to the same
programs.

A block around the ``yield`` of a generator holds, until it ends, for who runs the
generator as well: that is what makes context managers of generators work.
"""

import contextlib
import logging
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

from covector import variables
from covector.blocks import Blocks
from covector.errors import SettingError, did_you_mean


@dataclass(frozen=True, eq=False)
class Options:
    """The options that can change the program of a function, and, from ``log_compiles``
    on, those that only watch or show.

    Equal options are one object (``_changed`` sees to it), so they hash by identity.
    """

    enable_x64: bool = False
    default_matmul_precision: str | None = None
    numpy_dtype_promotion: str = "standard"
    numpy_rank_promotion: str = "allow"
    default_device: Any = None
    threefry_partitionable: bool = True
    #: the generator of keys for which no other is named, and of raw keys
    default_prng_impl: str = "threefry2x32"
    disable_jit: bool = False
    #: the mesh that specs without one mean
    mesh: Any = None
    #: the contexts of users, each with its value
    user_contexts: tuple[tuple[Any, Any], ...] = ()
    warn_batched_cond: bool = False
    check_implicit_sums: bool = False
    check_vector_choice: bool = False
    log_compiles: bool = False
    explain_cache_misses: bool = False
    #: True: no function is compiled a second time; "strict": none is compiled at all
    no_recompile: bool | str = False
    debug_nans: bool = False
    debug_infs: bool = False
    check_tracer_leaks: bool = False
    #: whether it is recorded which line made each array
    record_lines: bool = False
    #: the frames that printed tracebacks show: the user's, or those of covector as well
    traceback: str = "filtered"
    #: what happens where values move between host and devices; None is as "allow", and
    #: of one direction as ``transfer_guard``
    transfer_guard: str | None = None
    transfer_guard_host_to_device: str | None = None
    transfer_guard_device_to_device: str | None = None
    transfer_guard_device_to_host: str | None = None

    @cached_property
    def of_programs(self) -> "Options":
        """These options without those that only watch: what belongs in a key."""
        return _changed(
            self, {f.name: f.default for f in fields(self) if f.name in _watching}
        )

    @cached_property
    def keeps_programs(self) -> bool:
        """Whether programs are kept for later calls, as always but while a function is
        looked into (``looking_into``).
        """
        return all([key is not _LOOKING for key, _ in self.user_contexts])

    @cached_property
    def promotes(self) -> bool:
        """Whether operands meet by NumPy's rules, without refusal or warning."""
        return (
            self.numpy_dtype_promotion == "standard"
            and self.numpy_rank_promotion == "allow"
        )

    @property
    def compile_log_level(self) -> int:
        """The level of log messages of ``jit``."""
        return logging.WARNING if self.log_compiles else logging.DEBUG

    @cached_property
    def checks_values(self) -> bool:
        """Whether results are searched for NaN or infinity."""
        return self.debug_nans or self.debug_infs


#: which transfers are watched: all, or those of one direction
TRANSFER_GUARDS = (
    "transfer_guard",
    "transfer_guard_host_to_device",
    "transfer_guard_device_to_device",
    "transfer_guard_device_to_host",
)
_GUARD_LEVELS = (None, "allow", "log", "disallow", "log_explicit", "disallow_explicit")
#: options that watch or show what happens, and change no program
WATCHING = (
    "log_compiles",
    "explain_cache_misses",
    "no_recompile",
    "debug_nans",
    "debug_infs",
    "check_tracer_leaks",
    "record_lines",
    "traceback",
    *TRANSFER_GUARDS,
)
_watching = frozenset(WATCHING)


@dataclass
class Settings:
    """Settings that change no program."""

    check_programs: bool = False


def _inside(around: Options | None, changes: dict[str, Any]) -> Options:
    return _changed(around or _process["options"], changes)


#: among the contexts of users, that of ``looking_into``
_LOOKING = object()
_blocks = Blocks("covector options", _inside)
_innermost = _blocks.innermost
_interned: dict[tuple, Options] = {}
settings = Settings()


def current() -> Options:
    """The options in force, on this thread or in this task."""
    block = _innermost.get()
    return _process["options"] if block is None else block.value


#: algorithms for products of matrices, as operations know them by name
_DOT_ALGORITHMS = (
    "ANY_F8_ANY_F8_F32",
    "ANY_F8_ANY_F8_F32_FAST_ACCUM",
    "ANY_F8_ANY_F8_ANY",
    "ANY_F8_ANY_F8_ANY_FAST_ACCUM",
    "F16_F16_F16",
    "F16_F16_F32",
    "BF16_BF16_BF16",
    "BF16_BF16_F32",
    "BF16_BF16_F32_X3",
    "BF16_BF16_F32_X6",
    "BF16_BF16_F32_X9",
    "TF32_TF32_F32",
    "TF32_TF32_F32_X3",
    "F32_F32_F32",
    "F64_F64_F64",
)
_CHOICES: dict[str, tuple[Any, ...]] = {
    "numpy_dtype_promotion": ("standard", "strict"),
    "numpy_rank_promotion": ("allow", "warn", "raise"),
    "enable_x64": (False, True),
    "disable_jit": (False, True),
    "warn_batched_cond": (False, True),
    "check_implicit_sums": (False, True),
    "check_vector_choice": (False, True),
    "threefry_partitionable": (False, True),
    "default_prng_impl": ("threefry2x32", "rbg", "unsafe_rbg"),
    **dict.fromkeys(WATCHING, (False, True)),
    "no_recompile": (False, True, "strict"),
    "traceback": ("filtered", "full"),
    **dict.fromkeys(TRANSFER_GUARDS, _GUARD_LEVELS),
    "default_matmul_precision": (
        None,
        "default",
        "fastest",
        "bfloat16",
        "high",
        "bfloat16_3x",
        "tensorfloat32",
        "highest",
        "float32",
        *_DOT_ALGORITHMS,
    ),
}


def _check(name: str, value: Any) -> None:
    if name not in names():
        raise SettingError(
            f"there is no option {name!r}.{did_you_mean(name, names())} The options "
            f"are {', '.join(names())}."
        )
    choices = _CHOICES.get(name)
    if choices is not None and value not in choices:
        raise SettingError(
            f"the option {name} must be one of {', '.join(map(repr, choices))}, but "
            f"got {value!r}."
        )


def _changed(options: Options, changes: dict[str, Any]) -> Options:
    for name, value in changes.items():
        _check(name, value)
    made = replace(options, **changes)
    key = tuple([getattr(made, name) for name in names()])
    return _interned.setdefault(key, made)


class Switch:
    """Something that is installed while one of some options is on, in any thread.

    So what watches costs nothing while nobody asked for it.
    """

    def __init__(self, names: Iterable[str], install: Callable[[bool], None]) -> None:
        self.names = frozenset(names)
        self.install = install
        self._lock = threading.RLock()  # a signal handler may come in between
        #: the ``with`` blocks that ask for it
        self._blocks: set[Any] = set()
        switches.append(self)
        self.follow()

    def hold(self, block: Any) -> None:
        """It is on until this block lets go."""
        self._blocks.add(block)
        self.follow()

    def let_go(self, block: Any) -> None:
        """This block asks for it no longer, if it did."""
        self._blocks.discard(block)
        self.follow()

    def follow(self) -> None:
        """Install what the blocks and the process's options ask for."""
        with self._lock:
            process = _process["options"]
            wanted = any([getattr(process, name) for name in self.names])
            self.install(bool(self._blocks) or wanted)


switches: list[Switch] = []


def _held_by(changes: dict[str, Any]) -> list[Switch]:
    if _watching.isdisjoint(changes):
        return []
    return [s for s in switches if not s.names.isdisjoint(changes)]


def update(**changes: Any) -> None:
    """Change process-wide options, for every thread without an override of its own."""
    _process["options"] = _changed(_process["options"], changes)
    for switch in _held_by(changes):
        switch.follow()


def looking_into(how: str) -> "contextlib.AbstractContextManager[None]":
    """While the block runs, functions are traced afresh, and no program is found by a
    call outside of it: what is traced ``how`` the debugger needs it is for it alone.
    """
    contexts = (*current().user_contexts, (_LOOKING, how))
    return override(user_contexts=contexts, debug_nans=False, debug_infs=False)


@contextlib.contextmanager
def override(**changes: Any) -> Iterator[None]:
    """Options changed for the calling thread or task, until the block ends."""
    owner = object()
    held = _held_by(changes)
    try:
        push(owner, **changes)
        for switch in held:
            switch.hold(owner)
        yield
    finally:
        pop(owner)
        for switch in held:
            switch.let_go(owner)


def push(owner: Any, **changes: Any) -> None:
    """Options changed for the calling thread or task, until ``pop`` of the owner."""
    _blocks.open(owner, changes)


def pop(owner: Any) -> None:
    """Take back the last ``push`` of this owner."""
    _blocks.close(owner)


def names() -> tuple[str, ...]:
    """The names of all options."""
    return tuple(field.name for field in fields(Options))


def from_environment(environ: Any = os.environ) -> dict[str, Any]:
    """Options as ``COVECTOR_…`` variables set them, such as ``COVECTOR_ENABLE_X64=1``.

    Raises:
      SettingError: a variable has a value that its option cannot have.
    """
    read = {name: row.read(environ) for name, row in _variables.items()}
    return {name: value for name, value in read.items() if value is not None}


_process = {"options": _changed(Options(), {})}
_variables = {name: variables.of_option(name, c) for name, c in _CHOICES.items()}
variables.check()
update(**from_environment())

"""Traces: interpreters of operations, exactly one of which is current on a thread.

    current.trace.process(op, args)      every operation, always, goes through this line

The base trace runs operations. A transformation puts its own trace in the cell for as
long as it runs the user's function, and hands that function *tracers*: stand-ins for
arrays that know what the trace needs. A trace handles its own tracers and passes
everything else to the trace below, its ``parent``.
"""

import contextlib
import threading
from collections.abc import Callable, Generator, Sequence
from typing import Any, NamedTuple, TypeVar

from covector import options
from covector.core.array_like import Array
from covector.errors import (
    ArgumentError,
    ConcretizationTypeError,
    RefError,
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
    UnexpectedTracerError,
)

R = TypeVar("R")


class Trace:
    """A meaning for operations."""

    parent: Any = None
    alive: bool = True
    #: whether operations are written down, to run later
    stages: bool = False
    #: another trace whose tracers have a meaning here
    beside: "Trace | None" = None
    #: ``watch()`` raises where something still holds a tracer of the trace, which has
    #: ended; None while nobody wants to know (``core/leaks.py``)
    watch: Any = None
    #: the named axes that collectives may name here, with their sizes
    axes: dict[Any, int] = {}  # noqa: RUF012  never changed, only replaced
    #: those of them whose variation is tracked in types (``core/varying.py``)
    checked_axes: frozenset[Any] = frozenset()
    #: the mesh of the ``shard_map`` around, if there is one
    mesh: Any = None
    #: what the user called to start this trace, for messages
    name: str = ""
    #: ``hold(ref)``: what a program that is being staged knows of a reference that was
    #: made outside of it (``core/references.py``)
    hold: Any = None
    #: by identity, tracers of other traces that mean something else here
    meanings: dict[int, Any] = {}  # noqa: RUF012  never changed, only replaced
    #: by identity, concrete arrays computed while this trace was current
    known: dict[int, Any] = {}  # noqa: RUF012  never changed, only replaced

    def process(self, op: Any, args: Sequence[Any]) -> Sequence[Any]:
        """The results of a ``Primitive`` on ``args``, in the meaning of this trace."""
        raise NotImplementedError

    def value(self, x: Any) -> Any:
        """The value of ``x``, a result of this trace, after the trace has ended."""
        return x

    def unknown(self, x: Any) -> Any:
        """A concrete array as a value that is not known here, if a program is staged:
        a tracer then, else ``x``.
        """
        return x if self.parent is None else self.parent.unknown(x)

    def run(self, fun: Callable[..., R], inputs: Sequence[Any] = ()) -> R:
        """The results of ``fun`` in the meaning of this trace, which then has ended."""
        current.trace = self
        try:
            outs = fun(*inputs)
        finally:
            current.trace = self.parent
            self.alive = False
        if self.watch is not None:
            self.watch()
        return outs

    @property
    def main(self) -> "Trace":
        """The tag by which the ecosystem compares traces."""
        return self

    def written_outside(self, x: Any) -> Any:
        """``x`` as the parent sees it, to be written to a reference made outside."""
        raise RefError(
            f"{self.name or 'a transformation'} changes a reference that was made "
            "outside of it. Make the reference inside, or return the value."
        )


class _Cell(threading.local):
    """The one trace that is watching, on each thread.

    ``base`` is installed once, when the package is imported.
    """

    trace: Trace
    #: who takes part while functions are traced over lanes and steps of loops (the
    #: debugger, and the search for a NaN): it has methods of what it takes over
    observer: Any = None


current: _Cell = _Cell()


@contextlib.contextmanager
def as_current(trace: Trace) -> Generator[None]:
    """``trace`` is the current one until the ``with`` block ends."""
    before, current.trace = current.trace, trace
    try:
        yield
    finally:
        current.trace = before


class Context(NamedTuple):
    """The context of tracing that can change the program."""

    #: without those that only watch
    options: options.Options
    #: the named axes with their sizes
    axes: tuple[tuple[Any, int], ...]
    #: those of them whose variation is tracked in types
    checked_axes: frozenset[Any]
    mesh: Any


def context() -> Context:
    """The current context of tracing: part of every cache key of programs."""
    trace = current.trace
    return Context(
        options.current().of_programs,
        tuple(trace.axes.items()),
        trace.checked_axes,
        trace.mesh,
    )


def install_base(trace: Trace) -> None:
    """Make ``trace`` the meaning of operations where no transformation is running."""
    _Cell.trace = trace


def check_not_inside(who: str) -> None:
    """Refuse a call inside of a function that is being transformed."""
    if current.trace is not _Cell.trace:
        raise ArgumentError(
            f"{who} runs a function on values, but is called inside of "
            f"{current.trace.name or 'a function that is transformed'}. Call it "
            "outside: what it is given may be a composition of jit, vmap and grad."
        )


#: what only arrays with values answer by name
_OF_VALUES = frozenset(
    {
        "addressable_data",
        "addressable_shards",
        "block_until_ready",
        "clone",
        "committed",
        "copy_to_host_async",
        "delete",
        "device",
        "devices",
        "global_shards",
        "is_deleted",
        "is_fully_addressable",
        "is_fully_replicated",
        "is_ready",
        "on_device_size_in_bytes",
        "platform",
        "sharding",
        "tobytes",
        "unsafe_buffer_pointer",
    }
)


class Tracer(Array):
    """A stand-in for an array while a transformation runs the user's function.

    It has a shape and a dtype, and no values: ``if``, ``float`` and NumPy cannot use
    it. Do not keep it: after the function has returned, it is of no use.

    >>> import covector as cv
    >>> cv.jit(lambda x: print(isinstance(x, cv.core.Tracer), x.shape))(1.0)
    True ()

    See also: ``covector.Array``, ``covector.lax.cond``, ``covector.debug.print``.
    """

    # Not ``trace``: that is a method of arrays.
    __slots__ = ("owner",)

    owner: Trace
    #: the array whose value it has, which stands in programs as a literal
    #: (``Trace.unknown``); it may be used anywhere
    literal: Any = None

    def __init_subclass__(cls) -> None:
        # Python's own messages name the class, and users need not know which it is.
        if cls.__module__.startswith("covector."):
            cls.__name__ = "Tracer"

    @property
    def _trace(self) -> Trace:
        """The name by which the ecosystem knows the owner."""
        return self.owner

    def origin(self) -> str:
        """The origin of this tracer, for messages."""
        return f"It was made by {self.owner.name}."

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.type})"

    def _repr_html_(self) -> str:
        from covector.core.html.arrays import tracer_html  # noqa: PLC0415  notebooks

        return tracer_html(self)

    def _unknown(self, use: str) -> str:
        return f"{use}, but got a traced {self.type}. {self.origin()} "

    def __bool__(self) -> bool:
        raise TracerBoolConversionError(
            self._unknown(
                "Python `if`, `while`, `and`, `or` and `not` need a known bool"
            )
            + "A traced array has a type, and no value yet. To choose between values "
            "use covector.numpy.where; between computations, covector.lax.cond; or "
            "make the argument static (static_argnums of jit)."
        )

    def _integer(self, use: str) -> int:
        raise TracerIntegerConversionError(
            self._unknown(f"{use} needs a known integer")
            + "To index, use an array or covector.lax.dynamic_index_in_dim; for a "
            "shape or a range, make the argument static (static_argnums of jit) or "
            "compute it from shapes and Python numbers."
        )

    def __index__(self) -> int:
        return self._integer("A shape, a Python index or range()")

    def __int__(self) -> int:
        return self._integer("int()")

    def __float__(self) -> float:
        raise ConcretizationTypeError(
            self._unknown("float() needs a known number")
            + "Keep it an array: x.astype(float) works under every transformation."
        )

    def __complex__(self) -> complex:
        raise ConcretizationTypeError(
            self._unknown("complex() needs a known number")
            + "Keep it an array: x.astype(complex) works under every transformation."
        )

    def __format__(self, spec: str) -> str:
        if not spec:
            return str(self)
        raise ConcretizationTypeError(
            self._unknown(f"The format {spec!r} needs a known number")
            + f'covector.debug.print("{{x:{spec}}}", x=x) prints the value when the '
            "program runs."
        )

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TracerArrayConversionError(
            self._unknown("NumPy needs the values of an array")
            + "Use covector.numpy instead of numpy in functions that are transformed; "
            "what only NumPy can do, covector.pure_callback runs inside of them."
        )

    def __getattr__(self, name: str) -> Any:
        if name in _OF_VALUES:
            raise AttributeError(
                self._unknown(f"`{name}` is of arrays that have their values")
                + "Use it outside of the function that is transformed."
            )
        raise AttributeError(f"a traced array ({self.type}) has no `{name}`")

    def __reduce__(self) -> Any:
        raise ConcretizationTypeError(
            self._unknown("Pickling needs known values")
            + "Return the value from the transformed function, and pickle the result."
        )

    def __copy__(self) -> "Tracer":
        return self

    def __deepcopy__(self, memo: dict[Any, Any]) -> "Tracer":
        return self

    def tolist(self) -> Any:
        return self._number("tolist()")

    def item(self, *_: int) -> Any:
        return self._number("item()")

    def _number(self, use: str) -> Any:
        raise ConcretizationTypeError(
            self._unknown(f"{use} needs known values")
            + f"Call {use} on what the transformed function returns; to print a value "
            'inside of it, use covector.debug.print("{x}", x=x).'
        )


def within(trace: Trace, running: Trace | None) -> bool:
    """Whether ``trace`` is ``running``, a sibling of it, or below it."""
    while running is not None:
        if trace is running or trace is running.beside:
            return True
        running = running.parent
    return False


def in_scope(tracer: Tracer, running: Trace | None) -> bool:
    """Whether ``tracer`` has a meaning while ``running`` is watching."""
    if tracer.owner.alive and within(tracer.owner, running):
        return True
    while running is not None:
        if id(tracer) in running.meanings:
            return True
        running = running.parent
    return False


def was_computed_while_tracing(x: Any) -> bool:
    """Whether a concrete array is the known result of an operation of a program that is
    being staged now. Elsewhere it would be a tracer.
    """
    trace: Any = current.trace
    while trace is not None:
        if id(x) in trace.known:
            return True
        trace = trace.parent
    return False


def check_scope(tracer: Tracer, running: Trace | None) -> None:
    """Raise where ``tracer`` is used outside of the trace that made it."""
    if in_scope(tracer, running):
        return
    if not tracer.owner.alive:
        raise UnexpectedTracerError(
            f"A traced value of type {tracer.type} was used after the transformation "
            f"that made it had ended. {tracer.origin()} It probably escaped through a "
            "global, an attribute or a list. Return it from the transformed function "
            "instead."
        )
    raise UnexpectedTracerError(
        f"A traced value of type {tracer.type} was used in code that runs outside of "
        f"{tracer.owner.name}. {tracer.origin()} A custom rule, a callback or another "
        "thread probably closes over it: pass it as an argument instead."
    )

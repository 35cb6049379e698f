"""Operations that run Python on the host, in the middle of a compiled program.

    PureCallback     for its results: may be dropped, or run more than once
    IOCallback       for what it does and its results: runs once
    DebugCallback    for what it does alone: runs once, with the values of the primals

Run by themselves they simply call Python. In a program they are a custom call that
finds the function by its number (``lowering/host_calls.py``).
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from covector.callbacks.host_functions import (
    HostFunction,
    VmappedCallback,
    result_spec,
    split_arguments,
)
from covector.callbacks.opaque import Opaque, check_vmap_method, in_batch
from covector.core.annotations import BatchDims, Batched, PyTree, Values
from covector.core.array import ConcreteArray
from covector.core.array_like import Array
from covector.core.effects import CALLS, LASTS, ORDERED
from covector.core.flat import arrays, who_of
from covector.core.primitive import operation
from covector.core.types import ArrayType
from covector.errors import ArgumentError
from covector.lowering.host_calls import host_call
from covector.lowering.placement import placement_of_known, placements_of_results
from covector.lowering.spelling import HloResults, HloValue
from covector.lowering.tokens import TOKEN
from covector.programs.control_flow.batch_sequentially import refuse_order
from covector.runtime import host_calls

if TYPE_CHECKING:
    from covector.lowering.module import Lowering


@operation
class HostCall(Opaque):
    """Run ``function`` on the operands, in Python."""

    interned = False
    token = False

    #: a ``HostFunction``, or one over a batch
    function: Any

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.parameters == other.parameters  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((type(self), self.function))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.function})"

    def type_rule(self, *types: ArrayType) -> Sequence[ArrayType]:
        token = (TOKEN,) if self.token else ()
        return (*token, *self.function.result.types)

    def evaluate(self, *args: ConcreteArray) -> Sequence[Array]:
        committed = placement_of_known(args, str(self.function))
        types = self.function.result.types
        placements = placements_of_results(committed, args, types)
        return [
            ConcreteArray(t, values, None, placement)
            for t, values, placement in zip(
                types, self.function(*args), placements, strict=True
            )
        ]

    @property
    def who(self) -> str:  # type: ignore[override]
        return str(self.function)

    @property
    def results(self) -> Sequence[ArrayType]:  # type: ignore[override]
        return self.function.result.types

    def batch(self, size: int, args: Values, dims: BatchDims) -> Batched:
        function = VmappedCallback(self.function, size, tuple(dims))
        outs = self.replace(function=function)(*args)
        return outs, [0] * len(outs)

    def lower(self, ctx: "Lowering", *operands: HloValue) -> HloResults:
        count = int(self.token)
        types = ctx.in_types[count:]

        def on_arrays(*values: np.ndarray) -> tuple[np.ndarray, ...]:
            given = zip(types, values[count:], strict=True)
            made = self.function(*[ConcreteArray(t, x) for t, x in given])
            return (*values[:count], *made)

        types_out = ctx.out_types
        outs = host_call(ctx, on_arrays, operands, types_out, not self.pure)
        if self.pure:
            return outs
        pairs = list(zip(outs, types_out, strict=True))[count:]
        return [*outs[:count], *[ctx.replicated(x, t) for x, t in pairs]]


@operation
class PureCallback(HostCall):
    """Run ``function`` for its results; ``vmap_method`` says how over a batch."""

    effects = CALLS

    vmap_method: str | None = None

    def batch(self, size: int, args: Values, dims: BatchDims) -> Batched:
        method = self.vmap_method
        if method is not None and method.startswith("sequential"):
            return super().batch(size, args, dims)
        args = in_batch(self.who, method, size, args, dims)
        outs = self.replace(function=self.function.over(size))(*args)
        return outs, [0] * len(outs)


@operation
class LastingCall(HostCall):
    """A call for the sake of what it does."""

    ordered: bool = False
    #: with a token as the first operand and result (``lowering/tokens.py``)
    token: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "effects", ORDERED if self.ordered else LASTS)

    def batch(self, size: int, args: Values, dims: BatchDims) -> Batched:
        refuse_order(self, str(self.function))
        return super().batch(size, args, dims)

    def with_token(self) -> tuple["LastingCall", int]:
        return self.replace(token=True), 0


@operation
class IOCallback(LastingCall):
    """Run ``function`` once, for what it does and for its results."""

    name = "io_callback"


@operation
class DebugCallback(LastingCall):
    """Run ``function`` once, for what it does."""


def pure_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: PyTree,
    *args: PyTree,
    sharding: None = None,
    vmap_method: str | None = None,
    **kwargs: PyTree,
) -> PyTree:
    """The result of a Python function that has no effects, also in compiled code.

    The function may be called more than once or not at all, and never while a program
    is traced. It has no derivative: wrap it in a ``custom_jvp`` or ``custom_vjp``. In
    compiled code on the CPU it takes subnormal numbers for zero, as that code does.

    Args:
      callback: takes ``args`` and ``kwargs`` as arrays with their values, and returns
        arrays (or NumPy's) of the promised shapes and dtypes. 64-bit results of NumPy
        become 32-bit ones unless ``enable_x64`` is on.
      result_shape_dtypes: a tree of ``ShapeDtypeStruct``s, or of arrays like them.
      vmap_method: what happens under vmap. ``"sequential"`` and
        ``"sequential_unrolled"`` call it for each lane; the others call it once and
        expect a leading axis in each result: with ``"expand_dims"`` operands have it
        too, of size 1 where they are not batched; with ``"broadcast_all"`` of full
        size; with ``"legacy_vectorized"`` only the batched ones have it.

    Raises:
      TypeMismatch, TreeMismatch: it returned something else than was promised.
      NotDifferentiable: a derivative with respect to an operand is asked for.
      ArgumentError: under vmap without ``vmap_method``.

    >>> import numpy as np, covector as cv
    >>> f = lambda x: pure_callback(np.sin, x, x)
    >>> float(cv.jit(f)(0.0))
    0.0

    See also: ``covector.experimental.io_callback`` for functions with effects,
    ``covector.debug.callback`` where nothing comes back.
    """
    who = who_of("pure_callback", callback)
    check_vmap_method(who, vmap_method)
    _refuse_sharding(who, sharding)
    function, leaves = _host_function(callback, result_shape_dtypes, args, kwargs, who)
    outs = PureCallback(function, vmap_method)(*leaves)
    return function.result.tree.unflatten(outs)


def io_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: PyTree,
    *args: PyTree,
    sharding: None = None,
    ordered: bool = False,
    **kwargs: PyTree,
) -> PyTree:
    """The result of a Python function that does something: it runs once, each time.

    Args:
      callback: takes ``args`` and ``kwargs`` as arrays with their values, and returns
        arrays (or NumPy's) of the promised shapes and dtypes. 64-bit results of NumPy
        become 32-bit ones unless ``enable_x64`` is on.
      result_shape_dtypes: a tree of ``ShapeDtypeStruct``s, or of arrays like them;
        None if nothing is returned.
      ordered: keep the order of all ordered effects, also of programs that run at the
        same time; not under vmap. Without it, effects keep their order within a program
        that runs on one device; under vmap it is called for each lane of the batch.

    Raises:
      TypeMismatch, TreeMismatch: it returned something else than was promised.
      NotDifferentiable: a derivative with respect to an operand is asked for.
      ArgumentError: ordered, under vmap.

    >>> import covector as cv
    >>> seen = []
    >>> f = lambda x: io_callback(lambda v: seen.append(float(v)), None, x)
    >>> cv.jit(f)(2.0)
    >>> seen
    [2.0]

    See also: ``covector.pure_callback``, ``covector.debug.callback``,
    ``covector.debug.print``.
    """
    who = who_of("io_callback", callback)
    _refuse_sharding(who, sharding)
    function, leaves = _host_function(callback, result_shape_dtypes, args, kwargs, who)
    outs = IOCallback(function, ordered)(*leaves)
    return function.result.tree.unflatten(outs)


def _refuse_sharding(who: str, sharding: object) -> None:
    if sharding is not None:
        raise ArgumentError(
            f"{who} runs where the program runs that calls it: sharding must be None, "
            f"but is {sharding!r}."
        )


def _host_function(
    callback: Callable[..., Any],
    result: PyTree,
    args: tuple[PyTree, ...],
    kwargs: dict[str, PyTree],
    who: str,
) -> tuple[HostFunction, list[Any]]:
    leaves, arguments = split_arguments(args, kwargs, lambda _: True)
    function = HostFunction(callback, arguments, result_spec(result), who)
    return function, arrays(leaves, who)


def effects_barrier() -> None:
    """Wait for what running programs print, and for the functions that they call.

    Results may be ready before ``debug.print`` has printed, or a callback has run. Call
    this before you read a file that callbacks write, or compare what was printed.

    Raises what a function raised that a program called, if it was not seen yet.

    >>> import covector as cv
    >>> cv.effects_barrier()
    """
    host_calls.wait()

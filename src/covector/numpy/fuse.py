"""``fuse``: run a function of several operations on known arrays as one program.

    small, with a NumPy function that means the same    that function, in one call
    small                                               operation by operation
    large, the first times                              the same, until compiling pays
    large, or not in host memory                        one compiled program, kept

A program runs hypot of 32,000 numbers in 40 µs, NumPy in 85, its operations one by one
in 210; but it takes 0.1 s to compile, for each shape. Traced values are not affected:
their operations are staged.

While NaN or infinities are looked for, such a function is one operation, a ``Call``:
its results are looked at, not what it makes on the way and leaves out again.
"""

import functools
from collections.abc import Callable
from itertools import repeat
from typing import Any, ParamSpec, TypeVar

from covector import options
from covector.core.annotations import Value
from covector.core.array import ConcreteArray
from covector.core.array_like import Array
from covector.core.host_budget import HostBudget
from covector.core.primitive import Primitive
from covector.core.source import wraps
from covector.core.staging import stage
from covector.core.trace import current
from covector.core.types import ArrayType
from covector.dispatch.debug_nans import as_one
from covector.dispatch.jit import jit
from covector.lowering.evaluate import base, is_deferred, quiet
from covector.lowering.placement import placement_of_known, placements_of_results
from covector.numpy.promote import standard_promotion
from covector.programs.higher_order.tiering import large_host_time
from covector.runtime import memory

P = ParamSpec("P")
R = TypeVar("R")

#: elements of all operands together from which a program is compiled: above it, each
#: operation alone would be
FUSE_LIMIT = Primitive.host_limit


def fuse(
    host: Callable[..., Any] | None = None, limit: float = FUSE_LIMIT
) -> Callable[[Callable], Any]:
    """Make a function of arrays run as one program where they are large.

    The function takes arrays by position and hashable values by name, which are part
    of the program. ``host`` takes the same arguments as NumPy arrays and gives the same
    results, in the same element types; it runs outside of all blocks of options, so
    what depends on an option is a value by name. Above ``limit`` elements it is large.
    """

    def decorate(written: Callable[P, R]) -> Callable[P, R]:
        fun = standard_promotion(written)
        calls: dict[tuple, _FusedCall] = {}

        @wraps(fun)
        def run(*operands: P.args, **static: P.kwargs) -> R:
            now = options.current()
            if current.trace is not base:
                if now.checks_values:
                    return as_one(functools.partial(fun, **static), *operands)
                return (written if now.promotes else fun)(*operands, **static)
            types = []
            for x in operands:
                if type(x) is not ConcreteArray:
                    return fun(*operands, **static)
                types.append(x.type)
            key = (*types, *static.items(), now)
            call = calls.get(key)
            if call is None:
                prefers_host = sum([t.size for t in types]) <= limit
                call = calls[key] = _FusedCall(
                    written if now.promotes else fun, host, types, static, prefers_host
                )
            return call(operands)

        return run

    return decorate


class _FusedCall:
    """A fused function for operands of certain types."""

    def __init__(
        self,
        fun: Callable[..., Any],
        host: Callable[..., Any] | None,
        types: list[ArrayType],
        static: dict[str, Any],
        prefers_host: bool,
    ) -> None:
        self.fun: Any = functools.update_wrapper(functools.partial(fun, **static), fun)
        self.compiled = jit(self.fun)
        if options.current().checks_values:
            host, prefers_host = None, True
            self.fun = functools.partial(as_one, self.fun)
        self.host = functools.partial(host, **static) if host and static else host
        self.prefers_host = prefers_host
        if any([t.nbytes >= memory.LARGE for t in types]):
            memory.keep_memory()
        #: what it may spend in NumPy before it is compiled
        self.budget: HostBudget | None = None
        if host is not None or not prefers_host:
            self._look_into(types)

    def _look_into(self, types: list[ArrayType]) -> None:
        """Record the types of the results, and how long it may run in NumPy."""

        def flat(*operands: Value) -> tuple[Array, ...]:
            outs = self.fun(*operands)
            return outs if isinstance(outs, tuple) else (outs,)

        program = stage(flat, types).jaxpr
        self.outs = program.out_types
        if not self.prefers_host:
            self.budget = HostBudget.of(large_host_time(program))

    def __call__(self, operands: tuple[Any, ...]) -> Any:
        if self.host is None or not self.prefers_host:
            return self._call_anywhere(operands)
        values = []
        for x in operands:
            if x._host is None or x.placement is not None:
                return self._call_anywhere(operands)
            values.append(x._host)
        try:
            out = quiet.run(self.host, *values)
        except MemoryError as error:
            raise memory.out_of_memory(error) from None
        if isinstance(out, tuple):
            return tuple(map(ConcreteArray, self.outs, out))
        return ConcreteArray(self.outs[0], out)

    def _call_anywhere(self, operands: tuple[Any, ...]) -> Any:
        """The same where the values are not all small and at hand."""
        if not all([x.on_host() for x in operands]):
            return self.compiled(*operands)
        if not self.prefers_host and not is_deferred(self.budget, operands):
            return self.compiled(*operands)
        if self.host is None:
            return self.fun(*operands)
        placements: Any = repeat(None)
        if any([x.placement for x in operands]):
            where = placement_of_known(operands, self.fun.__name__)
            placements = iter(placements_of_results(where, operands, self.outs))
        try:
            out = quiet.run(self.host, *[x.host() for x in operands])
        except MemoryError as error:
            raise memory.out_of_memory(error) from None
        if isinstance(out, tuple):
            return tuple(map(ConcreteArray, self.outs, out, repeat(None), placements))
        return ConcreteArray(self.outs[0], out, None, next(placements))

"""Options as users set them for a thread: ``with`` blocks.

``settings.py`` sets them for the process.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from covector import options
from covector.errors import StaticArgumentError
from covector.runtime import client
from covector.settings import as_device


def _block(name: str, doc: str) -> Callable[[Any], AbstractContextManager[None]]:
    def override(value: Any) -> AbstractContextManager[None]:
        return options.override(**{name: value})

    override.__name__ = override.__qualname__ = name
    override.__doc__ = doc
    return override


def _switch(name: str, doc: str) -> Callable[..., AbstractContextManager[None]]:
    def override(value: bool = True) -> AbstractContextManager[None]:
        return options.override(**{name: value})

    override.__name__ = override.__qualname__ = name
    override.__doc__ = doc
    return override


def enable_x64(new_val: bool = True) -> AbstractContextManager[None]:
    """64-bit element types, for the calling thread, until the ``with`` block ends.

    >>> import covector as cv
    >>> with cv.enable_x64():
    ...     cv.numpy.ones(2).dtype
    dtype('float64')
    """
    return options.override(enable_x64=new_val)


def disable_jit(disable: bool = True) -> AbstractContextManager[None]:
    """Jitted functions run as Python, operation by operation, until the block ends.

    >>> import covector as cv
    >>> with cv.disable_jit():
    ...     cv.jit(lambda x: bool(x > 0))(1.0)
    True
    """
    return options.override(disable_jit=disable)


default_matmul_precision: Callable[[Any], AbstractContextManager[None]] = _block(
    "default_matmul_precision",
    "The precision of matrix products, until the block ends.",
)
numpy_dtype_promotion: Callable[[Any], AbstractContextManager[None]] = _block(
    "numpy_dtype_promotion",
    "'standard' or 'strict' promotion of element types, until the block ends.",
)
numpy_rank_promotion: Callable[[Any], AbstractContextManager[None]] = _block(
    "numpy_rank_promotion",
    "'allow', 'warn' or 'raise' where operands of different ranks meet, until the "
    "block ends.",
)
threefry_partitionable: Callable[[Any], AbstractContextManager[None]] = _block(
    "threefry_partitionable",
    "Which of the two published threefry streams random bits come from, until the "
    "block ends.",
)
default_prng_impl: Callable[[Any], AbstractContextManager[None]] = _block(
    "default_prng_impl",
    "The generator of random keys for which no other is named, and of raw keys, until "
    "the block ends.",
)
warn_batched_cond: Callable[[Any], AbstractContextManager[None]] = _block(
    "warn_batched_cond",
    "Whether to warn where a batch of predicates makes all branches of a cond or "
    "switch run, until the block ends.",
)
check_implicit_sums: Callable[[Any], AbstractContextManager[None]] = _block(
    "check_implicit_sums",
    "A derivative inside shard_map that would be summed over devices without being "
    "asked to is an error, until the block ends.",
)
check_vector_choice: Callable[[Any], AbstractContextManager[None]] = _block(
    "check_vector_choice",
    "A gradient that depends on which eigenvectors or singular vectors were chosen, "
    "where values are equal, is an error, or NaN where it is compiled, until the block "
    "ends.",
)


def default_device(
    value: client.Device | str | None,
) -> AbstractContextManager[None]:
    """The device for arrays that are not committed to one, until the block ends.

    Args:
      value: a device, or the name of a platform, whose first device it is; None for
        the first device of the default platform.

    Raises:
      DeviceError: it is none of these.

    >>> import covector as cv, covector.numpy as cnp
    >>> with cv.default_device(cv.devices()[-1]):
    ...     cnp.ones(2).device == cv.devices()[-1]
    True
    """
    return options.override(default_device=as_device(value))


class UserContext:
    """A value of the user's that programs depend on; ``make_user_context``."""

    def __init__(self, default_value: Any) -> None:
        self._default = default_value

    @property
    def value(self) -> Any:
        """The value of the innermost block, on this thread, or the default."""
        return dict(options.current().user_contexts).get(self, self._default)

    def __call__(self, value: Any) -> AbstractContextManager[None]:
        """This value, for the calling thread, until the ``with`` block ends.

        Raises:
          StaticArgumentError: it cannot be hashed, so that no program is known by it.
        """
        try:
            hash(value)
        except TypeError:
            raise StaticArgumentError(
                "the value of a user context is part of the keys of programs, and must "
                f"be hashable, but got {value!r} of type {type(value).__name__}."
            ) from None
        others = [
            pair for pair in options.current().user_contexts if pair[0] is not self
        ]
        return options.override(user_contexts=(*others, (self, value)))


def make_user_context(default_value: Any = None) -> UserContext:
    """A value that jitted functions may read: with another one they are traced again.

    >>> import covector as cv
    >>> scale = cv.make_user_context(1.0)
    >>> scaled = cv.jit(lambda x: scale.value * x)
    >>> with scale(3.0):
    ...     inside = scaled(2.0)
    >>> float(inside), float(scaled(2.0))
    (6.0, 2.0)
    """
    return UserContext(default_value)


# -- what only watches -----------------------------------------------------------------


log_compiles: Callable[..., AbstractContextManager[None]] = _switch(
    "log_compiles",
    "Whether to log each tracing and each compilation, with its times, as warnings of "
    "the logger ``covector``, until the block ends. (Otherwise they are messages of "
    "level DEBUG.)",
)
explain_cache_misses: Callable[..., AbstractContextManager[None]] = _switch(
    "explain_cache_misses",
    "Whether to log why a jitted function is traced again, as warnings of the logger "
    "``covector.jit``, until the block ends.",
)


def explain_recompiles(explain: bool = True) -> AbstractContextManager[None]:
    """``explain_cache_misses``, switched on: each recompilation is logged, with what
    had changed since the one before.

    >>> import covector as cv
    >>> with cv.explain_recompiles():
    ...     pass
    """
    return options.override(explain_cache_misses=explain)


def no_recompile(
    refuse: bool = True, *, strict: bool = False
) -> AbstractContextManager[None]:
    """Compiling a jitted function again is an error, on this thread, in the block.

    The error names what had changed: an argument, a static argument, a value that the
    function closes over, an option. A function that was never compiled may be compiled,
    unless ``strict``; what it calls is part of it. Asking for a program (``lower``,
    ``eval_shape``) is no compilation.

    Raises:
      RecompilationError: in the block, where a function would be compiled again.

    >>> import covector as cv, covector.numpy as cnp
    >>> double = cv.jit(lambda x: 2 * x)
    >>> with cv.no_recompile():
    ...     a, b = double(cnp.ones(3)), double(cnp.zeros(3))
    """
    return options.override(no_recompile="strict" if refuse and strict else refuse)


def debug_nans(check: bool = True) -> AbstractContextManager[None]:
    """Results are searched for NaN, on this thread, until the block ends.

    Every operation that runs by itself is looked at, and every call of a jitted
    function; if a program gives a NaN, it is traced and run once more, operation by
    operation, to name the one that made it, its line, its operands, the step of a loop
    and the lane of a vmap.

    Raises:
      NonFiniteError: (a FloatingPointError) in the block, where a result holds NaN.

    >>> import covector as cv, covector.numpy as cnp
    >>> with cv.debug_nans():
    ...     total = cnp.log(cnp.ones(3)).sum()
    """
    return options.override(debug_nans=check)


def debug_infs(check: bool = True) -> AbstractContextManager[None]:
    """As ``debug_nans``, for infinities.

    >>> import covector as cv, covector.numpy as cnp
    >>> with cv.debug_infs():
    ...     total = cnp.log(cnp.ones(3)).sum()
    """
    return options.override(debug_infs=check)


def record_lines(record: bool = True) -> AbstractContextManager[None]:
    """The line that makes each array is recorded, on all threads, until the block ends;
    ``covector.memory`` shows it, and so do errors for want of memory.

    An array then takes two microseconds more. Arrays keep their lines after the block.

    >>> import covector as cv, covector.numpy as cnp
    >>> with cv.memory.record_lines():
    ...     x = cnp.ones(3)
    """
    return options.override(record_lines=record)


check_tracer_leaks: Callable[..., AbstractContextManager[None]] = _switch(
    "check_tracer_leaks",
    "Whether a traced value that outlives its transformation is an error, which names "
    "what holds it, until the block ends. Slow: objects are searched each time.",
)


def checking_leaks() -> AbstractContextManager[None]:
    """``check_tracer_leaks(True)``: traced values must not outlive their trace.

    Raises:
      LeakedTracerError: at the end of a transformation, naming the line that made the
        value, and the global, attribute or closure that holds it.

    >>> import covector as cv
    >>> with cv.checking_leaks():
    ...     slope = cv.grad(lambda x: x ** 2)(3.0)
    """
    return options.override(check_tracer_leaks=True)


# -- transfers -------------------------------------------------------------------------


def transfer_guard(new_val: str | None) -> AbstractContextManager[None]:
    """The rule for values that move between the host and devices, or between devices,
    on this thread, until the block ends.

    Args:
      new_val: "allow"; "log" or "disallow" for transfers that follow from what a
        program does, such as NumPy arrays passed to a jitted function; "log_explicit"
        or "disallow_explicit" for these and for those that are asked for by name:
        ``device_put``, ``device_get``. None is as "allow".

    Values on the CPU are on the host already: reading them there is no transfer.

    Raises:
      DisallowedTransfer: in the block, where a transfer is forbidden.

    >>> import numpy as np, covector as cv
    >>> with cv.transfer_guard("disallow"):
    ...     x = cv.device_put(np.ones(2))
    ...     total = cv.jit(lambda x: x.sum())(x)
    """
    return options.override(**dict.fromkeys(options.TRANSFER_GUARDS, new_val))


transfer_guard_host_to_device: Callable[[Any], AbstractContextManager[None]] = _block(
    "transfer_guard_host_to_device",
    "``transfer_guard`` for values that come from the host.",
)
transfer_guard_device_to_device: Callable[[Any], AbstractContextManager[None]] = _block(
    "transfer_guard_device_to_device",
    "``transfer_guard`` for values that go from device to device.",
)
transfer_guard_device_to_host: Callable[[Any], AbstractContextManager[None]] = _block(
    "transfer_guard_device_to_host",
    "``transfer_guard`` for values that are read on the host.",
)

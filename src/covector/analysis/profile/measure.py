"""``profile``: run a function, and see where its time goes."""

import statistics
import time
from collections.abc import Callable
from typing import Any

from covector import profiler, tree
from covector.analysis.compiled import programs
from covector.analysis.profile import recording
from covector.analysis.profile.result import KernelTime, LinePart, LineTime, Profile
from covector.analysis.profile.summary import summarise
from covector.core.array_like import Array
from covector.core.flat import who_of
from covector.core.trace import current
from covector.dispatch.jit import PjitFunction
from covector.dispatch.stages import Compiled, Lowered, Traced
from covector.errors import ArgumentError
from covector.lowering.evaluate import base
from covector.numpy.creation import copy
from covector.placement.transfer import block_until_ready
from covector.runtime.profiling import ProfileOptions, TraceMe

__all__ = ["KernelTime", "LinePart", "LineTime", "Profile", "profile"]

#: how long all runs that are only timed take together, and how many there are
_SECONDS, _LEAST, _MOST = 0.5, 3, 30
#: how long the runs that are recorded take together, and how many there are at most
_SECONDS_RECORDED, _RECORDED = 1.0, 10


def profile(
    fun: programs.Function, *, repeats: int | None = None
) -> Callable[..., Profile]:
    """Run a function a few times, and see where its time goes: by line and by kernel.

    It measures the function as you call it. Kernels have lines of the source where they
    are part of a jitted function; operations that run one by one have none, so profile
    ``jit(f)`` to see the lines of ``f``.

    Args:
      fun: a function, or what ``lower`` or ``compile`` of a jitted function returned.
      repeats: how often it is run to be timed; by default for half a second, but at
        least 3 and at most 30 times. It is run once before, and up to 10 times
        recorded; what it prints, it prints each time. Donated arguments of a jitted
        function are copied for each run.

    Returns:
      a function of the arguments of ``fun``, which returns a ``Profile``.

    Raises:
      ArgumentError: ``repeats`` is not positive; or it is called while a function is
        being traced.
      ProfilerError: a trace is being recorded already.

    >>> import covector as cv, covector.numpy as cnp
    >>> x = cnp.ones((64, 64))
    >>> measured = profile(cv.jit(lambda x: cnp.tanh(x @ x)), repeats=3)(x)
    >>> len(measured.times), measured.wall_s > 0
    (3, True)

    See also: ``covector.profiler`` records what a whole program does, for other
    viewers.
    """
    if repeats is not None and repeats < 1:
        raise ArgumentError(f"profile takes repeats of 1 or more, but got {repeats}.")

    def measured(*args: Any, **kwargs: Any) -> Profile:
        if current.trace is not base:
            raise ArgumentError(
                "profile runs a function, but it was called while another one is being "
                "traced. Profile the function that is transformed, from outside."
            )
        run, given_up = _callable(fun), _donates(fun)

        def once() -> float:
            taken = _copied(args, kwargs) if given_up else (args, kwargs)
            start = time.perf_counter()
            with TraceMe(recording.RUN):
                block_until_ready(run(*taken[0], **taken[1]))
            return time.perf_counter() - start

        once()
        times = _times(once, repeats)
        fit = int(_SECONDS_RECORDED / max(statistics.median(times), 1e-6))
        count = max(1, min(len(times), fit, _RECORDED))
        xspace = profiler.record(
            "profile", lambda: [once() for _ in range(count)], _options()
        )
        found = recording.read(xspace)
        _with_lines_of(found, fun, args, kwargs)
        return summarise(found, _name(fun), xspace, times)

    return measured


def _callable(fun: programs.Function) -> Callable[..., Any]:
    if isinstance(fun, Traced):
        fun = fun.lower()
    return fun.compile() if isinstance(fun, Lowered) else fun


def _name(fun: programs.Function) -> str:
    if isinstance(fun, Traced | Lowered | Compiled):
        fun = fun if isinstance(fun, Traced) else fun.traced
        return f"profile of {fun.who}"
    return who_of("profile", fun)


def _donates(fun: programs.Function) -> bool:
    """Whether a call takes the memory of its arguments."""
    if isinstance(fun, Traced | Lowered | Compiled):
        return bool(fun.donate_argnums)
    return isinstance(fun, PjitFunction) and bool(fun.spec.donated)


def _copied(*trees: Any) -> Any:
    copies = tree.map(lambda x: copy(x) if isinstance(x, Array) else x, trees)
    return block_until_ready(copies)


def _times(once: Callable[[], float], repeats: int | None) -> tuple[float, ...]:
    """The seconds of each run."""
    if repeats is not None:
        return tuple([once() for _ in range(repeats)])
    times = [once() for _ in range(_LEAST)]
    more = int(_SECONDS / max(statistics.median(times), 1e-6)) - _LEAST
    return tuple(times + [once() for _ in range(min(more, _MOST - _LEAST))])


def _options() -> ProfileOptions:
    """The options of a recording: kernels, and no calls of Python functions."""
    made = ProfileOptions()
    made.host_tracer_level, made.python_tracer_level = 2, 0
    return made


def _with_lines_of(
    found: recording.Recording,
    fun: programs.Function,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> None:
    """Give a jitted function its own lines, where its executable is that of another."""
    if isinstance(fun, Traced | Lowered | Compiled):
        args, kwargs = (), {}
    elif not isinstance(fun, PjitFunction):
        return
    found.add(programs.compiled(fun, args, kwargs, "profile").optimised())

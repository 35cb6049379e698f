"""``progress``: a bar for a loop that runs inside of a compiled program.

A step tells how far it is only now and then: a hundredth of the steps, and at most one
in ten. The count is no operand of the body, so it has no derivative, and under vmap it
is no batch: there is one bar, and it moves in the forward pass.
"""

import atexit
import importlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from covector import lax, tree
from covector.core.array_like import Array
from covector.core.flat import who_of
from covector.debug.callback import call_with_values
from covector.errors import ArgumentError, MissingPackage
from covector.numpy import arange, concatenate, reshape
from covector.transforms.vmap import vmap

#: reports of a loop, at most; and steps between two of them, at least
_REPORTS, _STEPS = 100, 10
#: seconds between two drawings of the bars
_SECONDS = 0.1


def progress(
    loop: Callable[..., Any], *, desc: str = "", every: int | None = None
) -> Callable[..., Any]:
    """``loop``, with a bar that shows how far it is while it runs.

    It takes what the loop takes and gives what the loop gives, also under jit, vmap
    (one bar) and grad (the bar of the forward pass). The bars are drawn by the package
    rich.

    Args:
      loop: ``lax.scan``, ``lax.map`` or ``lax.fori_loop``.
      desc: what stands before the bar.
      every: steps from one report to the next. By default a hundredth of all, and at
        least 10, which costs less than 2 % where a step takes over 100 µs. Choose 1
        where steps take long.

    Raises:
      ArgumentError: another loop, or a number of steps that is known only when the
        program runs.
      MissingPackage: rich is not installed.

    >>> import covector as cv
    >>> total = cv.progress(cv.lax.fori_loop, desc="sum")(0, 5, lambda i, c: c + i, 0)
    >>> int(total)  # doctest: +SKIP
    10
    """
    loops = {lax.scan: _scan, lax.map: _map, lax.fori_loop: _fori_loop}
    if loop not in loops:
        raise ArgumentError(
            "progress needs lax.scan, lax.map or lax.fori_loop, of which the number of "
            f"steps is known, but got {who_of('', loop).removeprefix(' of ')}."
        )
    if every is not None and every < 1:
        raise ArgumentError(f"progress needs every ≥ 1, but got {every}.")
    _display.check()
    return loops[loop](_Reporter(desc, every))


@dataclass(frozen=True)
class _Reporter:
    """Says how far loops are."""

    desc: str
    every: int | None

    def after(self, done: Any, total: int, step: int = 1) -> None:
        """``done`` steps are over; called after each ``step`` steps."""
        every = self.every or max(_STEPS, -(-total // _REPORTS))
        every = -(-every // step) * step
        now = (done == step) | (done % every == 0) | (done == total)
        lax.cond(now, lambda: _report(_Bar(self.desc, total), done), lambda: None)


def _report(bar: "_Bar", done: Any) -> None:
    call_with_values(bar, (done,), {}, who="progress")


def _scan(reporter: _Reporter) -> Callable[..., Any]:
    def scan(
        f: Callable[..., Any],
        init: Any,
        xs: Any = None,
        length: int | None = None,
        **options: Any,
    ) -> Any:
        leaves = tree.leaves(xs)
        total = length if length is not None or not leaves else len(leaves[0])

        def step(carry: Any, x: Any) -> Any:
            done, own = carry
            own, y = f(own, x)
            reporter.after(done + 1, total)
            return (done + 1, own), y

        (_, last), ys = lax.scan(step, (0, init), xs, length, **options)
        return last, ys

    return scan


def _map(reporter: _Reporter) -> Callable[..., Any]:
    def map(f: Callable[..., Any], xs: Any, *, batch_size: int | None = None) -> Any:
        total = len(tree.leaves(xs)[0])

        def row(pair: Any) -> Any:
            done, x = pair
            y = f(x)
            reporter.after(done, total)
            return y

        def rows(pair: Any) -> Any:
            done, x = pair
            ys = vmap(f)(x)
            reporter.after(done, total, batch_size)
            return ys

        if not batch_size:
            return lax.map(row, (arange(1, total + 1), xs))
        whole = total // batch_size * batch_size
        shaped = tree.map(
            lambda x: reshape(x[:whole], (-1, batch_size, *x.shape[1:])), xs
        )
        ys = lax.map(rows, (arange(batch_size, whole + 1, batch_size), shaped))
        ys = tree.map(lambda y: reshape(y, (whole, *y.shape[2:])), ys)
        if whole == total:
            return ys
        rest = rows((arange(total, total + 1)[0], tree.map(lambda x: x[whole:], xs)))
        return tree.map(lambda y, z: concatenate([y, z]), ys, rest)

    return map


def _fori_loop(reporter: _Reporter) -> Callable[..., Any]:
    def fori_loop(
        lower: Any,
        upper: Any,
        body_fun: Callable[..., Any],
        init_val: Any,
        **options: Any,
    ) -> Any:
        try:
            total = int(upper) - int(lower)
        except TypeError as error:
            raise ArgumentError(
                "progress needs a number of steps that is known before the loop runs, "
                f"but the bounds are {_words(lower)} and {_words(upper)}. Make them "
                "Python numbers, or static arguments of jit."
            ) from error

        def step(i: Any, value: Any) -> Any:
            value = body_fun(i, value)
            reporter.after(i - lower + 1, total)
            return value

        return lax.fori_loop(lower, upper, step, init_val, **options)

    return fori_loop


def _words(bound: Any) -> str:
    return f"of type {bound.type}" if isinstance(bound, Array) else repr(bound)


@dataclass(frozen=True)
class _Bar:
    """The bar of a loop: what is called with how many steps are over."""

    desc: str
    total: int

    def __call__(self, done: Any) -> None:
        _display.show(self, int(done))


class _Display:
    """All bars of loops that are running, drawn together."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._drawn: Any = None
        self._tasks: dict[_Bar, Any] = {}
        self._last = 0.0

    def check(self) -> Any:
        """The module that draws.

        Raises:
          MissingPackage: it is not installed.
        """
        try:
            return importlib.import_module("rich.progress")
        except ImportError as error:
            raise MissingPackage(
                "progress draws its bars with the package rich, which is not "
                "installed: pip install rich, or pip install 'covector[demo]'."
            ) from error

    def show(self, bar: _Bar, done: int) -> None:
        with self._lock:
            if self._drawn is None:
                self._drawn = self._start()
            task = self._tasks.get(bar)
            if task is None:
                task = self._tasks[bar] = self._drawn.add_task(
                    bar.desc, total=bar.total
                )
            self._drawn.update(task, completed=done)
            if done >= bar.total:
                del self._tasks[bar]
            if not self._tasks:
                self._stop()
            elif time.monotonic() - self._last > _SECONDS:
                self._drawn.refresh()
                self._last = time.monotonic()

    def close(self) -> None:
        """Leave the terminal as it was, also after a loop that failed."""
        with self._lock:
            if self._drawn is not None:
                self._tasks.clear()
                self._stop()

    def _start(self) -> Any:
        rich = self.check()
        drawn = rich.Progress(
            rich.TextColumn("{task.description}"),
            rich.BarColumn(),
            rich.MofNCompleteColumn(),
            rich.TimeElapsedColumn(),
            rich.TimeRemainingColumn(),
            auto_refresh=False,
        )
        drawn.start()
        return drawn

    def _stop(self) -> None:
        self._drawn.stop()
        self._drawn = None


_display = _Display()
atexit.register(_display.close)

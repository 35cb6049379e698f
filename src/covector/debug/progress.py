"""``progress``: a progress bar of tqdm for a loop inside a compiled program.

A step tells how far it is only now and then: a hundredth of the steps, and at most one
in twenty. The count of steps is an integer of its own in the carry. So it has no
derivative, and under vmap it is no batch: there is one bar, and it moves in the forward
pass.
"""

import math
import sys
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from covector import lax, tree
from covector.core.array_like import Array
from covector.core.flat import who_of
from covector.debug.callback import call_with_values
from covector.errors import ArgumentError, MissingLibrary
from covector.numpy import arange, concatenate, reshape
from covector.transforms.vmap import vmap

#: reports of a loop, at most; and steps between two of them, at least
_REPORTS, _STEPS = 100, 20
#: seconds between two drawings of a bar
_SECONDS = 0.1


def progress(
    loop: Callable[..., Any], *, desc: str = "", every: int | None = None
) -> Callable[..., Any]:
    """``loop``, with a bar that shows how far it is while it runs.

    It takes what the loop takes and gives what the loop gives, also under jit, vmap
    (one bar) and grad (the bar of the forward pass). ``tqdm`` draws it, in notebooks or
    on the standard error; where that is no terminal, only at its beginning and end.

    Args:
      loop: ``lax.scan``, ``lax.map`` or ``lax.fori_loop``.
      desc: what stands before the bar.
      every: steps from one report to the next. By default a hundredth of all, and at
        least 20, which costs less than 2 % where a step takes over 100 µs. Choose 1
        where steps take long.

    Raises:
      ArgumentError: another loop, or a number of steps that is known only when the
        program runs.
      MissingLibrary: tqdm is not installed; the extra ``progress`` brings it.

    >>> import covector as cv
    >>> total = cv.progress(cv.lax.fori_loop, desc="sum")(0, 5, lambda i, c: c + i, 0)
    >>> int(total)
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
    _tqdm()  # missing, it is missed here and not in the midst of a program
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
        total = len(leaves[0]) if leaves and length is None else length or 0

        def step(carry: Any, x: Any) -> Any:
            done, inner = carry
            inner, y = f(inner, x)
            reporter.after(done + 1, total)
            return (done + 1, inner), y

        (_, last), ys = lax.scan(step, (0, init), xs, length, **options)
        return last, ys

    return scan


def _map(reporter: _Reporter) -> Callable[..., Any]:
    def map(f: Callable[..., Any], xs: Any, *, batch_size: int | None = None) -> Any:
        total = len(tree.leaves(xs)[0])
        if batch_size:
            return _map_in_batches(reporter, f, xs, total, batch_size)

        def row(pair: Any) -> Any:
            done, x = pair
            y = f(x)
            reporter.after(done, total)
            return y

        return lax.map(row, (arange(1, total + 1), xs))

    return map


def _map_in_batches(
    reporter: _Reporter, f: Callable[..., Any], xs: Any, total: int, size: int
) -> Any:
    """Full batches in a loop, and the remainder after it."""
    whole = total // size * size

    def rows(pair: Any) -> Any:
        done, x = pair
        ys = vmap(f)(x)
        reporter.after(done, total, size)
        return ys

    batches = tree.map(lambda x: reshape(x[:whole], (-1, size, *x.shape[1:])), xs)
    ys = lax.map(rows, (arange(size, whole + 1, size), batches))
    ys = tree.map(lambda y: reshape(y, (whole, *y.shape[2:])), ys)
    if whole == total:
        return ys
    rest = rows((arange(total, total + 1)[0], tree.map(lambda x: x[whole:], xs)))
    return tree.map(lambda y, z: concatenate([y, z]), ys, rest)


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
    """The bar of a loop: called with the number of finished steps."""

    desc: str
    total: int

    def __call__(self, done: Any) -> None:
        now = int(done)
        with _lock:
            drawn = _running.get(self)
            if drawn is not None and now <= drawn.n:  # that run has failed
                drawn = drawn.close()
            if drawn is None:
                drawn = _running[self] = self.drawn(now)
            drawn.update(now - drawn.n)
            if now >= self.total:
                _running.pop(self).close()

    def drawn(self, done: int) -> Any:
        """A bar on the screen, which begins at the first report."""
        # Elsewhere each drawing would be text that stays.
        live = sys.stderr.isatty() or "ipykernel" in sys.modules
        return _tqdm()(
            desc=self.desc or None,
            total=self.total,
            initial=done,
            file=sys.stderr,
            mininterval=_SECONDS if live else math.inf,
        )


def _tqdm() -> Any:
    """The bar of tqdm, for a terminal or a notebook."""
    try:
        with warnings.catch_warnings():
            # In notebooks that have no widgets it warns, and draws text.
            warnings.simplefilter("ignore")
            from tqdm.auto import tqdm  # noqa: PLC0415  an extra of the package
    except ImportError as error:
        raise MissingLibrary(
            "progress draws with tqdm, which is not installed. Install it with: "
            "pip install 'covector[progress]'"
        ) from error
    return tqdm


_running: dict[_Bar, Any] = {}
_lock = threading.Lock()

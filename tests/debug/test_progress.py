"""``progress``: the same loop, and a bar that tells the truth about it."""

import itertools
import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import errors, lax
from covector.debug import progress as room

XS = np.linspace(0, 1, 500).astype(np.float32)


class Terminal:
    """A terminal that keeps what is written."""

    def __init__(self):
        self.text = ""

    def write(self, text):
        self.text += text

    def flush(self):
        pass

    def isatty(self):
        return True

    def counts(self):
        """The steps that each drawing of the bar told."""
        drawn = [int(n) for n in re.findall(r" (\d+)/\d+ ", self.text)]
        # A bar that is closed is drawn once more as it is.
        return [n for n, _ in itertools.groupby(drawn)]


@pytest.fixture
def terminal(monkeypatch):
    made = Terminal()
    monkeypatch.setattr(room, "sys", SimpleNamespace(stderr=made, modules={}))
    monkeypatch.setattr(room, "_SECONDS", 0)
    return made


def step(c, x):
    return cnp.sin(c) + x, c * x


def scan(loop):
    return lambda x: loop(step, x, XS)


def fori(loop):
    return lambda x: loop(3, 503, lambda i, c: cnp.sin(c) + i, x)


def mapped(loop):
    return lambda x: loop(lambda y: cnp.sin(x) * y, XS)


def mapped_in_batches(loop):
    return lambda x: loop(lambda y: cnp.sin(x) * y, XS, batch_size=30)


LOOPS = {
    "scan": (lax.scan, scan),
    "reverse": (lax.scan, lambda loop: lambda x: loop(step, x, XS, reverse=True)),
    "length": (
        lax.scan,
        lambda loop: lambda x: loop(lambda c, _: (c + 1, c), x, length=500),
    ),
    "fori": (lax.fori_loop, fori),
    "map": (lax.map, mapped),
    "map_in_batches": (lax.map, mapped_in_batches),
}
TRANSFORMED = {
    "eager": lambda f: f,
    "jit": cv.jit,
    "vmap": lambda f: lambda x: cv.vmap(f)(cnp.stack([x, x + 1])),
    "jit_vmap": lambda f: cv.jit(lambda x: cv.vmap(f)(cnp.stack([x, x + 1]))),
    "grad": lambda f: cv.jit(cv.grad(lambda x: total(f(x)))),
    "checkpoint": lambda f: cv.grad(cv.checkpoint(lambda x: total(f(x)))),
}


def total(out):
    return sum(cnp.sum(leaf) for leaf in cv.tree.leaves(out))


@pytest.mark.parametrize("transformed", TRANSFORMED)
@pytest.mark.parametrize("kind", LOOPS)
def test_one_bar_moves_once_to_the_end(kind, transformed, terminal):
    loop, using = LOOPS[kind]
    wrap = TRANSFORMED[transformed]
    out = wrap(using(cv.progress(loop, desc="work")))(cnp.float32(0.5))
    counts = terminal.counts()
    assert counts == sorted(set(counts))
    assert counts[-1] == 500
    # After the first steps, every 20 steps (or 30, in batches of so many), at the end.
    first, every = (30, 30) if kind == "map_in_batches" else (1, 20)
    assert counts == sorted({first, *range(every, 501, every), 500})
    assert terminal.text.count("\n") == 1
    assert "\rwork: " in terminal.text
    wanted = wrap(using(loop))(cnp.float32(0.5))
    for a, b in zip(cv.tree.leaves(out), cv.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


def test_at_most_a_hundred_reports(terminal):
    cv.jit(lambda x: cv.progress(lax.fori_loop)(0, 30000, lambda i, c: c + 1, x))(0)
    assert terminal.counts() == [1, *range(300, 30001, 300)]


def test_as_often_as_asked(terminal):
    cv.progress(lax.fori_loop, every=1)(0, 7, lambda i, c: c + 1, 0)
    assert terminal.counts() == [1, 2, 3, 4, 5, 6, 7]


def test_a_loop_of_no_steps_has_no_bar(terminal):
    assert cv.progress(lax.scan)(step, 1.0, XS[:0])[0].tolist() == 1.0
    assert terminal.text == ""


def test_a_loop_that_failed_starts_again(terminal):
    class Stop(Exception):
        pass

    def fail(i):
        if i == 40:
            raise Stop

    def body(i, c):
        cv.debug.callback(fail, i)
        return c

    for _ in range(2):
        with pytest.raises(Stop):
            cv.progress(lax.fori_loop)(0, 100, body, 0)
    counts = terminal.counts()
    assert counts[0] == 1
    assert counts.count(1) == 2
    assert max(counts) <= 41


def test_where_there_is_no_terminal_only_the_beginning_and_the_end_are_drawn(capsys):
    cv.progress(lax.fori_loop, desc="quiet", every=1)(0, 30, lambda i, c: c + 1, 0)
    drawn = capsys.readouterr().err
    assert re.findall(r"(\d+)/30 ", drawn) == ["1", "30"]


def test_without_tqdm_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.raises(
        errors.MissingLibrary, match=r"tqdm.*pip install 'covector\[progress\]'"
    ):
        cv.progress(lax.scan)


def test_loops_without_a_known_number_of_steps_are_refused():
    with pytest.raises(
        errors.ArgumentError,
        match=r"progress needs lax.scan, lax.map or lax.fori_loop.*but got while_loop",
    ):
        cv.progress(lax.while_loop)
    with pytest.raises(
        errors.ArgumentError,
        match=r"known before the loop runs, but the bounds are 0 and of type i32\[\]",
    ):
        cv.jit(lambda n: cv.progress(lax.fori_loop)(0, n, lambda i, c: c, 0))(3)
    with pytest.raises(errors.ArgumentError, match="needs every ≥ 1, but got 0"):
        cv.progress(lax.scan, every=0)

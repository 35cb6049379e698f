"""What is logged about compilations, and when."""

import logging
import re

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector.core.host_budget import HostBudget

X = cnp.asarray(np.arange(4, dtype=np.float32))


def messages(caplog):
    return [(r.levelname, r.name, r.getMessage()) for r in caplog.records]


def fresh(c):
    """A function that no cache has seen."""

    def polynomial(x, y=None):
        return x**3 * c + (0 if y is None else y)

    return cv.jit(polynomial)


@pytest.fixture
def drawn():
    return float(np.random.default_rng().random())


def test_log_compiles_gives_the_steps_with_their_times(caplog, drawn):
    with cv.log_compiles():
        fresh(drawn)(X)
        fresh(drawn)(X)
    line = fresh.__code__.co_firstlineno + 3
    who = rf"jit of polynomial \(test_logging.py:{line}\) for f32\[4\]"
    expected = [
        ("covector.jit", rf"Traced {who}: \d+ operations in \d+\.\d ms"),
        ("covector.compile", rf"Compiling {who}"),
        (
            "covector.compile",
            rf"Compiled {who}: lowered in \d+\.\d ms, compiled in \d+\.\d ms",
        ),
    ]
    found = messages(caplog)
    assert [(level, name) for level, name, _ in found] == [
        ("WARNING", name) for name, _ in expected
    ]
    for (_, _, text), (_, pattern) in zip(found, expected, strict=True):
        assert re.fullmatch(pattern, text), text


def test_nothing_is_logged_by_default(caplog, capfd, drawn):
    fresh(drawn)(X)
    cv.jit(cv.grad(lambda x: cnp.sum(x) * drawn))(X)
    assert messages(caplog) == []
    assert capfd.readouterr() == ("", "")


def test_compilations_are_messages_of_level_debug(caplog, drawn):
    with caplog.at_level(logging.DEBUG, logger="covector"):
        fresh(drawn)(X)
    levels = [level for level, name, _ in messages(caplog) if name[:8] == "covector"]
    assert levels == ["DEBUG"] * 3


def test_operations_that_are_compiled_alone_are_logged(caplog, monkeypatch):
    monkeypatch.setattr(HostBudget, "try_spend", lambda self: False)
    big = cnp.ones(100_003)
    with cv.log_compiles():
        cnp.cosh(big)
    texts = [text for _, _, text in messages(caplog)]
    assert texts[0] == "Compiling eager_cosh for f32[100003]"


@pytest.mark.parametrize("block", [cv.explain_recompiles, cv.explain_cache_misses])
def test_recompilations_are_explained(caplog, drawn, block):
    f = fresh(drawn)
    f(X)
    with block():
        f(X)
        f(cnp.ones(3))
        fresh(drawn + 1)(X)
    (first, second) = messages(caplog)
    assert first[:2] == second[:2] == ("WARNING", "covector.jit")
    assert "argument x was f32[4] and is now f32[3]. It was compiled be" in first[2]
    assert f"closure value c was {drawn} and is now {drawn + 1}" in second[2]


@pytest.mark.parametrize("prefix", ["", "jax_"])
@pytest.mark.parametrize("name", ["log_compiles", "explain_cache_misses"])
def test_the_options_work_for_the_process(caplog, drawn, prefix, name):
    f = fresh(drawn)
    f(X)
    cv.config.update(prefix + name, True)
    try:
        f(cnp.ones(5))
    finally:
        cv.config.update(prefix + name, False)
    f(cnp.ones(6))
    count = {"log_compiles": 3, "explain_cache_misses": 1}[name]
    assert len(messages(caplog)) == count

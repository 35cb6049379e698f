"""``checking_leaks``: traced values that outlive their trace, and who holds them."""

import gc
import json
import re

import pytest

import covector as cv
from covector import errors
from covector.core.trace import Trace
from tests.core import leaks
from tests.core.leaks import CLEAN, LEAKS, OPTIONS, TRANSFORMS, X, into_list
from tests.runtime.programs import output_of

#: What is imported before covector can hold none of its values, and is not searched.
FRESH = """
import gc, json, numpy, jaxlib.xla_client
gc.freeze()
from tests.core import leaks
print(leaks.main())
"""


@pytest.fixture(scope="module")
def messages() -> dict[str, str | None]:
    """The messages about each function."""
    return json.loads(output_of(FRESH))


@pytest.fixture(autouse=True)
def nothing_saved():
    yield
    leaks.saved.clear()


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize(("leak", "holder"), [(k, h) for k, (_, h) in LEAKS.items()])
def test_who_holds_a_leaked_value_is_named(messages, leak, holder, transform):
    words = messages[f"{leak}, {transform}"]
    assert re.search(holder, words)
    assert "has ended, but the" in words or "Slotted" in words
    assert "Return the value from the transformed function" in words


def test_a_leaked_value_is_an_unexpected_one():
    assert issubclass(errors.LeakedTracerError, errors.UnexpectedTracerError)


def test_the_line_that_made_the_value_is_named(messages):
    line = f"{leaks.__file__}:{into_list.__code__.co_firstlineno + 1}"
    words = f"a traced value of type f32[]. It was made at {line} (into_list)"
    assert words in messages["a global list, jit"]


# -- what is no leak -------------------------------------------------------------------


@pytest.mark.parametrize("name", CLEAN)
def test_what_goes_with_its_frame_is_no_leak(messages, name):
    assert messages[name] is None


def test_an_error_of_the_function_is_the_one_that_is_raised():
    def fails(x):
        return x.reshape(7)

    with cv.checking_leaks(), pytest.raises(errors.TypeMismatch, match="reshape"):
        cv.jit(fails)(X)


# -- when it looks ---------------------------------------------------------------------


def test_it_costs_nothing_when_it_is_off(monkeypatch):
    assert Trace.watch is None
    monkeypatch.setattr(gc, "collect", lambda: pytest.fail("nobody asked"))
    cv.jit(into_list)(1.0)
    cv.grad(into_list)(1.0)
    with cv.check_tracer_leaks(False):
        cv.vmap(into_list)(X)


@pytest.mark.parametrize("name", OPTIONS)
def test_the_option_of_the_process(messages, name):
    assert "the global last of tests.core.leaks" in messages[f"{name} on"]
    assert messages[f"{name} off"] is None

"""What every test has: golden files, and the checks of programs switched on."""

import gc
import os
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest

import covector
from covector import options
from tests.public.seeds import SEED

GOLDEN = Path(__file__).parent / "golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write the golden files instead of comparing with them",
    )


def pytest_configure() -> None:
    """Processes that tests start read bytecode: compiling it would take each 0.4 s.

    So does the next run of the tests, for which pytest rewrites their assertions.
    """
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is collected lasts as long as the process: garbage is not sought in it.

    The tests are a million objects. To go through them takes half a second, which each
    test that counts objects, or lets them be freed, would wait for.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.write_line(f"public functions: TEST_SEED={SEED}")


@pytest.fixture(autouse=True, scope="session")
def checked_programs() -> None:
    """Every program that a pass writes down is checked."""
    options.settings.check_programs = True


@pytest.fixture(autouse=True, scope="module")
def forgotten_programs() -> Iterator[None]:
    """Programs hold maps of memory, of which a process may have some 65,000.

    A module leaves the options as it found them, or the next one would be tested
    under others.
    """
    before = options.current()
    yield
    assert options.current() is before
    covector.clear_caches()
    if "jax" in sys.modules:
        sys.modules["jax"].clear_caches()


@pytest.fixture(scope="session")
def with_all_objects() -> Callable[[Callable[[], object]], object]:
    """Calls a function while the collector of garbage sees what was collected, too."""

    def call(fun: Callable[[], object]) -> object:
        gc.unfreeze()
        try:
            return fun()
        finally:
            gc.freeze()

    return call


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """``golden("grad/sin.txt", text)``: the text is what that golden file holds.

    A difference is a change of a printed program. Where it is meant,
    ``pytest --update-golden`` writes the file, and the change is read in review.
    """
    update = request.config.getoption("--update-golden")

    def check(name: str, text: str) -> None:
        path = GOLDEN / name
        text = text.rstrip() + "\n"
        if update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.exists(), f"{name} is missing; pytest --update-golden writes it"
        assert text == path.read_text(encoding="utf-8")

    return check

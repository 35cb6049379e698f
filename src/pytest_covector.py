"""Plugin of pytest: reports of failures show the lines of tests, not covector's.

It is loaded by every pytest where covector is installed, and so imports nothing of it:
where covector has not been imported, no failure has frames of it.
"""

import contextlib
import sys
from collections.abc import Callable, Generator
from typing import Any

import pytest

_WAY = "pytest --full-trace shows them"


@contextlib.contextmanager
def _as_shown(node: Any, excinfo: Any) -> Generator[None, None, None]:
    tracebacks = sys.modules.get("covector.core.tracebacks")
    if tracebacks is None or excinfo is None or node.config.getoption("fulltrace"):
        yield
        return
    whole = excinfo.traceback
    with tracebacks.as_shown(excinfo.value, way=_WAY):
        excinfo.traceback = type(whole)(excinfo.value.__traceback__)
        try:
            yield
        finally:
            excinfo.traceback = whole


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: Any, call: Any) -> Generator[None, Any, Any]:
    """What a test raised is reported as it is shown; for --pdb it is whole again."""
    # A unittest.TestCase keeps what it raised until the report is made.
    kept = getattr(item, "_excinfo", None)
    with _as_shown(item, kept[0] if kept else call.excinfo):
        return (yield)


def pytest_collectstart(collector: Any) -> None:
    """So is what was raised when the module of a test was imported."""
    collector.repr_failure = _around(collector, collector.repr_failure)


def _around(collector: Any, report: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def repr_failure(excinfo: Any) -> Any:
        with _as_shown(collector, excinfo):
            return report(excinfo)

    return repr_failure

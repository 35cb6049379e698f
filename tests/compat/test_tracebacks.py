"""Files of packages, whose lines are none of the user's."""

import sys
import traceback

import pytest

import covector as cv
from covector import options
from covector.compat import tracebacks
from covector.core import source


def test_operations_are_attributed_to_the_caller_of_a_package(monkeypatch):
    monkeypatch.setattr(source, "_passed_over", set())
    monkeypatch.setattr(tracebacks, "exclude_paths", [])
    code = compile("def double(x):\n    return x * 2\n", "/package/double.py", "exec")
    package = {}
    exec(code, package)

    def lines():
        def program(x):
            return package["double"](x)

        return [
            equation.line.file for equation in cv.make_jaxpr(program)(1.0).equations
        ]

    assert lines() == ["/package/double.py"]
    tracebacks.register_exclusion("/package/double.py")
    assert lines() == [__file__]
    assert tracebacks.exclude_paths == ["/package/double.py"]
    source._is_internal.clear()


def test_printed_tracebacks_leave_out_the_frames_of_a_package(monkeypatch):
    monkeypatch.setattr(source, "_passed_over", set())
    monkeypatch.setattr(tracebacks, "exclude_paths", [])
    package = {}
    exec(compile("def call(f):\n    f()\n", "/package/call.py", "exec"), package)

    def printed():
        with pytest.raises(ZeroDivisionError) as failed:
            package["call"](lambda: 1 / 0)
        with options.override(traceback="filtered"):
            return "".join(traceback.format_exception(failed.value))

    assert "/package/call.py" in printed()
    tracebacks.register_exclusion("/package/call.py")
    assert "/package/call.py" not in printed()
    assert printed().count(__file__) == 2


def test_a_frame_is_the_users_unless_its_file_was_named(monkeypatch):
    monkeypatch.setattr(tracebacks, "exclude_paths", [])
    frame = sys._getframe()
    assert tracebacks.include_frame(frame)
    tracebacks.exclude_paths.append(__file__)
    assert not tracebacks.include_frame(frame)


def test_a_boundary_is_the_function_itself():
    assert tracebacks.api_boundary(len, repro_api_name="len") is len

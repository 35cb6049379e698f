"""Files of packages, whose lines are none of the user's."""

import sys
import traceback

import pytest

import covector as cv
from covector import options
from covector.compat import internals
from covector.compat.internals import api_boundary, include_frame
from covector.core import source


def test_operations_are_attributed_to_the_caller_of_a_package(monkeypatch):
    monkeypatch.setattr(source, "passed_over", [])
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
    source.pass_over("/package/double.py")
    assert lines() == [__file__]
    assert source.passed_over == ["/package/double.py"]
    source._is_internal.clear()


def test_printed_tracebacks_leave_out_the_frames_of_a_package(monkeypatch):
    monkeypatch.setattr(source, "passed_over", [])
    package = {}
    exec(compile("def call(f):\n    f()\n", "/package/call.py", "exec"), package)

    def printed():
        with pytest.raises(ZeroDivisionError) as failed:
            package["call"](lambda: 1 / 0)
        with options.override(traceback="filtered"):
            return "".join(traceback.format_exception(failed.value))

    assert "/package/call.py" in printed()
    source.pass_over("/package/call.py")
    assert "/package/call.py" not in printed()
    assert printed().count(__file__) == 2


def test_a_frame_is_the_users_unless_its_file_was_named(monkeypatch):
    frame = sys._getframe()
    assert include_frame(frame)
    monkeypatch.setattr(internals, "passed_over", [__file__])
    assert not include_frame(frame)


def test_a_boundary_is_the_function_itself():
    assert api_boundary(len, repro_api_name="len") is len

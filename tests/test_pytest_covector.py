"""The plugin of pytest: reports show the lines of tests, and none of covector's."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.runtime.programs import SRC

TESTS = """
import unittest
import covector as cv, covector.numpy as cnp

def layer(w, x):
    return cnp.tanh(x @ w)

def wrong_shape():
    cv.grad(layer)(cnp.ones((3, 4)), cnp.ones((5, 2)))

def test_function():
    wrong_shape()

class TestOfUnittest(unittest.TestCase):
    def test_method(self):
        wrong_shape()

def test_chained():
    try:
        wrong_shape()
    except TypeError:
        raise ValueError("chained")
"""
AT_IMPORT = "import covector.numpy as cnp\n\nmean = cnp.ones(3).mean(axis=7)\n"
HINT = "frames inside covector hidden; pytest --full-trace shows them)"


def run_pytest(folder: Path, *options: str) -> str:
    """What pytest prints of tests that fail.

    Where it finds CI in the environment its summary repeats each message as a whole.
    """
    continuous = {"CI", "BUILD_NUMBER"}
    environment = {k: v for k, v in os.environ.items() if k not in continuous}
    environment["COVECTOR_TRACEBACK"] = "filtered"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "pytest_covector", *options],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout


@pytest.fixture
def failing(tmp_path: Path) -> Path:
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -p no:cacheprovider\n")
    (tmp_path / "test_layers.py").write_text(TESTS)
    return tmp_path


def test_failures_show_the_lines_of_the_tests(failing):
    (failing / "test_at_import.py").write_text(AT_IMPORT)
    report = run_pytest(failing, "--continue-on-collection-errors")
    assert "3 failed, 1 error" in report
    assert str(SRC) not in report
    assert report.count(">       return cnp.tanh(x @ w)") == 3
    assert "> mean = cnp.ones(3).mean(axis=7)" in " ".join(report.split())
    assert report.count(HINT) == 4


def test_its_option_for_full_tracebacks_shows_all(failing):
    report = run_pytest(failing, "--full-trace", "-k", "function")
    assert "matrix_products.py" in report
    assert HINT not in report


def test_the_plugin_is_registered_and_imports_nothing_of_covector():
    project = tomllib.loads((SRC.parent / "pyproject.toml").read_text("utf-8"))
    plugins = project["project"]["entry-points"]["pytest11"]
    assert plugins == {"pytest_covector": "pytest_covector"}
    code = "import sys, pytest_covector; print('covector' in sys.modules)"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"]

"""The ends of processes, forks and signals, while threads compute and compile."""

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.runtime import endings
from tests.runtime.programs import run_python

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="for POSIX")


def run(*arguments):
    code = (
        f"from tests.runtime import endings; endings.{arguments[0]}(*{arguments[1:]})"
    )
    done = run_python(code)
    return done.returncode, done.stdout, done.stderr


def test_daemon_threads_that_compute_do_not_abort_the_end_of_the_interpreter():
    with ThreadPoolExecutor(2) as pool:
        found = pool.map(lambda name: run("daemons", name), endings.WORK)
    assert list(found) == [(0, "done\n", "")] * len(endings.WORK)


def test_a_child_forked_while_others_compile_computes_and_compiling_in_it_is_refused():
    assert run("forks")[:2] == (0, "done\n")


def test_a_handler_in_the_midst_of_an_import_does_not_wait_for_itself():
    """Another thread was to import the compiler, and waited for the import to go on."""
    assert run("imports")[:2] == (0, "0\n")


def test_a_signal_handler_may_compute_during_the_first_compilation():
    code, output, errors = run("signals", "25")
    assert (code, output) == (0, "done\n"), errors

"""The commands that make ``jax`` covector: ``run`` and ``dropin``."""

import os
import sys
from types import SimpleNamespace

import pytest

from covector.cli import distribution
from covector.cli.main import main
from covector.compat.finder import DOOR
from covector.errors import SettingError


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        (["program.py", "-x", "--help"], ["program.py", "-x", "--help"]),
        (["-m", "pytest", "-q"], ["-m", "pytest", "-q"]),
    ],
)
def test_run_becomes_python_with_the_door_first_on_its_path(
    arguments, command, monkeypatch
):
    became = []
    monkeypatch.setenv("PYTHONPATH", "/mine")
    monkeypatch.setattr(os, "execv", lambda *words: became.append(words))
    main(["run", *arguments])
    ((program, words),) = became
    assert program == words[0] == sys.executable
    assert words[-len(command) :] == command
    assert os.environ["PYTHONPATH"].split(os.pathsep) == [str(DOOR), "/mine"]


def test_run_refuses_a_python_that_would_not_find_the_door(monkeypatch, capsys):
    monkeypatch.setattr(sys, "flags", SimpleNamespace(ignore_environment=1))
    assert main(["run", "program.py"]) == 2
    assert "leave out -I and -E" in capsys.readouterr().err


def test_dropin_says_what_it_did_or_why_it_did_not(monkeypatch, capsys):
    def refuse(*, replace):
        raise SettingError(f"not here, replace={replace}")

    monkeypatch.setattr(distribution, "enable", refuse)
    assert main(["dropin", "enable", "--replace"]) == 1
    assert capsys.readouterr().err == "covector dropin: not here, replace=True\n"
    monkeypatch.setattr(distribution, "disable", lambda: "it is gone")
    assert main(["dropin", "disable"]) == 0
    assert capsys.readouterr().out == "it is gone\n"
    assert main(["dropin", "status"]) == 0
    assert "import jax" in capsys.readouterr().out

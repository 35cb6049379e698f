"""The types of public functions, as a user's type checker and editor see them."""

import ast
import os
import runpy
import subprocess
import sys
from pathlib import Path

from tests.typing.completeness import known_names

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "tests" / "typing" / "user_script.py"
TRANSFORMATIONS = SCRIPT.with_name("transformations.py")
PROGRAMS = (SCRIPT, TRANSFORMATIONS, SCRIPT.with_name("precise.py"))


def _called_functions():
    """The public functions that the programs call, by their names with modules."""
    tree = ast.parse(SCRIPT.read_text() + TRANSFORMATIONS.read_text())
    modules = {"cv", "cnp", "lax", "nn", "random", "tree"}
    return {
        ast.unparse(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id in modules
    }


def test_the_programs_use_seventy_five_public_functions():
    assert len(_called_functions()) >= 75


def test_the_script_learns():
    words = runpy.run_path(str(SCRIPT))["main"]().split()
    assert float(words[0]) < 0.7
    assert words[1] == "True"


def _checked(words):
    done = subprocess.run(
        [sys.executable, "-m", *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, "MYPYPATH": str(ROOT / "src")},
    )
    return done.returncode, done.stdout + done.stderr


def test_programs_of_users_pass_pyright_in_its_strict_mode():
    options = ["--pythonpath", sys.executable]
    code, words = _checked(["pyright", *options, *map(str, PROGRAMS)])
    assert code == 0, words


def test_programs_of_users_pass_mypy_in_its_strict_mode(tmp_path):
    # Errors in covector itself are none of a user's: only the programs are reported.
    options = ["--strict", "--follow-imports=silent", f"--cache-dir={tmp_path}"]
    code, words = _checked(["mypy", *options, str(SCRIPT), str(TRANSFORMATIONS)])
    assert code == 0, words


def test_the_program_of_transformations_runs():
    """That is, the types that it asserts are those of a program that works."""
    runpy.run_path(str(TRANSFORMATIONS))


def test_checkers_know_the_types_of_public_names():
    known = known_names()
    unknown = [name for name, is_known in known.items() if not is_known]
    assert len(known) > 3000
    assert len(unknown) <= 0.01 * len(known), unknown

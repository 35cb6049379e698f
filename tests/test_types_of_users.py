"""The types of public functions, as a user's type checker and editor see them."""

import ast
import runpy
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parent / "typing" / "user_script.py"


def _called_functions():
    """The public functions that the script calls, by their names with modules."""
    tree = ast.parse(SCRIPT.read_text())
    modules = {"cv", "cnp", "lax", "nn", "random"}
    return {
        ast.unparse(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id in modules
    }


def test_the_script_uses_forty_public_functions():
    assert len(_called_functions()) >= 40


def test_the_script_learns():
    words = runpy.run_path(str(SCRIPT))["main"]().split()
    assert float(words[0]) < 0.7
    assert words[1] == "True"


def test_a_script_of_a_user_passes_a_strict_type_checker():
    done = subprocess.run(
        [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, SCRIPT],
        capture_output=True,
        text=True,
        check=False,
        cwd=SCRIPT.parents[2],
    )
    assert done.returncode == 0, done.stdout + done.stderr

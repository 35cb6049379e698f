"""An elementwise operation is added in five files: nothing else has to name it."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
#: an operation that no other uses, and that nothing is special about
NAME = "asinh"


def test_an_elementwise_operation_is_named_in_four_files_and_the_changelog():
    """Lists of names and tables of tests are collected from these; golden files are
    written. Programs that import jax name what they like, and the opcodes of XLA are
    read as they are.
    """
    folders = ("tests/compat", "tests/ecosystem", "src/covector/analysis/compiled")
    others = [path for folder in folders for path in ROOT.glob(f"{folder}/**/*.py")]
    paths = {*ROOT.glob("src/**/*.py"), *ROOT.glob("tests/**/*.py")}.difference(others)
    named = [
        str(path.relative_to(ROOT))
        for path in paths
        if re.search(rf"\b{NAME}\b", path.read_text(encoding="utf-8"), re.IGNORECASE)
    ]
    assert sorted(named) == [
        "src/covector/lax/transcendental.py",
        "src/covector/numpy/trigonometric.py",
        "src/covector/operations/transcendental.py",
        "tests/operations/cases/transcendental.py",
        "tests/test_adding_operations.py",
    ]

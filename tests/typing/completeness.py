"""How many public names have types that a checker knows, by ``pyright --verifytypes``.

    python -c "from tests.typing.completeness import *; print(unknown_names())"

A name counts where it is written, and with a class its members count.
"""

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

from tests.public_modules import completed_names

ROOT = Path(__file__).parents[2]


def known_names() -> dict[str, bool]:
    """By its full name, whether the type of a public name is known."""
    words = ["--verifytypes", "covector", "--ignoreexternal", "--outputjson"]
    done = subprocess.run(
        [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )
    symbols = json.loads(done.stdout)["typeCompleteness"]["symbols"]
    known = {s["name"]: s["isTypeKnown"] for s in symbols}
    public = {path for path in _written_at() if path in known}
    members = {name for name in known if name.rpartition(".")[0] in public}
    return {name: known[name] for name in sorted(public | members)}


def _written_at() -> set[str]:
    """The full names of everything public, by the module that each is written in."""
    found = set()
    for path, (_, names) in completed_names().items():
        module = importlib.import_module(path)
        for name in names:
            value = getattr(module, name)
            if not isinstance(value, ModuleType):
                home = getattr(value, "__module__", path)
                found.add(f"{home}.{getattr(value, '__qualname__', name)}")
                found.add(f"{path}.{name}")
    return found


def unknown_names() -> list[str]:
    """The public names whose types no checker knows."""
    return [name for name, is_known in known_names().items() if not is_known]

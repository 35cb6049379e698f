"""Runs the realistic programs and compares their numbers with those of JAX.

programs/with_optax.py     three programs in the words of jax and optax
recorded/with_optax.json   their numbers on JAX, written by ``--record``
"""

import json
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np

from tests.ecosystem import environment
from tests.ecosystem.suites import Result

_HERE = Path(__file__).parent
FILES = {path.stem: path for path in sorted((_HERE / "programs").glob("with_*.py"))}
_RECORDED = _HERE / "recorded"
#: Numbers agree to this: the algorithms and the compiler are the same, mostly in f32.
_RELATIVE, _ABSOLUTE = 2e-4, 1e-5

Outcomes = dict[str, dict[str, Any]]


def run(name: str, folder: Path) -> Result:
    """Run the programs of a file in an environment and compare with the record."""
    start = time.monotonic()
    outcomes = _measured(name, folder)
    recorded: Outcomes = json.loads((_RECORDED / f"{name}.json").read_text())
    found = {key: _difference(outcomes.get(key, {}), recorded[key]) for key in recorded}
    failures = {key: words for key, words in found.items() if words}
    passed = recorded.keys() - failures.keys()
    return Result(name, passed, failures, 0, time.monotonic() - start)


def record(name: str, folder: Path) -> None:
    """Write down the numbers of an environment that has the real JAX."""
    outcomes = _measured(name, folder, "--known")
    for program, outcome in outcomes.items():
        if "error" in outcome:
            raise SystemExit(f"{name}: {program}: {outcome['error']}")
    numbers = {key: outcome["numbers"] for key, outcome in outcomes.items()}
    _RECORDED.mkdir(exist_ok=True)
    text = json.dumps(numbers, indent=1, sort_keys=True)
    (_RECORDED / f"{name}.json").write_text(text + "\n")


def _measured(name: str, folder: Path, *options: str) -> Outcomes:
    script = (_HERE / "measure.py", FILES[name], *options)
    command = [environment.python(folder), "-P", *script]
    ended = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False
    )
    lines = ended.stdout.splitlines()
    if ended.returncode or not lines:
        last = (ended.stderr.splitlines() or ["no output"])[-1]
        return {program: {"error": last} for program in _programs(name)}
    return json.loads(lines[-1])


def _programs(name: str) -> list[str]:
    return list(json.loads((_RECORDED / f"{name}.json").read_text()))


def _difference(outcome: dict[str, Any], recorded: dict[str, Any]) -> str:
    """The words of the first difference; none where there is none."""
    if "error" in outcome:
        return outcome["error"]
    numbers = outcome.get("numbers", {})
    if numbers.keys() != recorded.keys():
        return f"results {sorted(numbers)} and not {sorted(recorded)}"
    for key, value in recorded.items():
        got, wanted = np.asarray(numbers[key]), np.asarray(value)
        if got.shape != wanted.shape:
            return f"{key} has shape {got.shape}, and not {wanted.shape}"
        if not np.allclose(got, wanted, _RELATIVE, _ABSOLUTE, equal_nan=True):
            return f"{key} differs by {np.max(np.abs(got - wanted)):.2g}"
    return ""

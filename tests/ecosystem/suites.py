"""Runs the suites of packages with pytest, each in processes of their own."""

import os
import subprocess
import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from tests.ecosystem import environment
from tests.ecosystem.packages import SOURCES, SUITES

_EXPLAINED = Path(__file__).with_name("explained.toml")


@dataclass(frozen=True)
class Result:
    """What came of a suite or of the programs of one file.

    Args:
      name: of the package or of the file.
      counts: how many passed, failed, were skipped.
      failures: the words of each failure, by the name of the test.
      seconds: how long it took.
    """

    name: str
    counts: Counter[str]
    failures: dict[str, str]
    seconds: float

    def explained(self) -> dict[str, str]:
        """The reasons of ``explained.toml`` for those failures that have one."""
        reasons = tomllib.loads(_EXPLAINED.read_text()).get(self.name, {})
        found = {test: _reason(test, reasons) for test in self.failures}
        return {test: reason for test, reason in found.items() if reason}

    def unexplained(self) -> list[str]:
        return [test for test in self.failures if test not in self.explained()]


def _reason(test: str, reasons: dict[str, str]) -> str | None:
    """A name of the list that ends in a star stands for all that begin with it."""
    for name, reason in reasons.items():
        if test == name or (name.endswith("*") and test.startswith(name[:-1])):
            return reason
    return None


def run(name: str, folder: Path, fast: bool, checkout: Path | None) -> Result:
    """Run the suite of a package in an environment, with as many processes as cores."""
    suite, start = SUITES[name], time.monotonic()
    report, work = folder / f"{name}.xml", folder / "work"
    work.mkdir(exist_ok=True)
    report.unlink(missing_ok=True)
    settings = work / "pytest.ini"  # or pytest would find those of this project
    settings.write_text("[pytest]\n")
    if name in SOURCES and checkout is None:
        checkout = environment.sources(folder, name)
    if checkout is not None:
        settings = checkout / "pyproject.toml"
    command = [environment.python(folder), "-m", "pytest", "-q", "--tb=line"]
    command += ["-c", settings, "-p", "no:cacheprovider", f"--junitxml={report}"]
    command += ["--continue-on-collection-errors"]
    command += ["-n", os.cpu_count(), "--dist", "worksteal", *suite.arguments]
    command += _tests(name, suite.quick if fast else (), checkout)
    subprocess.run(
        [str(part) for part in command],
        cwd=work,
        env=os.environ | suite.environment,
        stdout=(folder / f"{name}.log").open("w"),
        stderr=subprocess.STDOUT,
        check=False,
        timeout=suite.minutes * 60,
    )
    return _read(name, report, time.monotonic() - start)


def _tests(name: str, parts: Sequence[str], checkout: Path | None) -> Iterator[object]:
    """What pytest is given: the installed package, or a folder of sources."""
    if checkout is None:
        yield "--pyargs"
        yield from [f"{name}.{part}" for part in parts] or [name]
    else:
        root = checkout / SUITES[name].folder
        yield from [root / part for part in parts] or [root]


def _read(name: str, report: Path, seconds: float) -> Result:
    counts, failures = Counter[str](), dict[str, str]()
    for case in ElementTree.parse(report).iter("testcase"):
        test = f"{case.get('classname')}.{case.get('name')}"
        (outcome, words) = _outcome(case)
        counts[outcome] += 1
        if outcome == "failed":
            failures[test] = words
    return Result(name, counts, failures, seconds)


def _outcome(case: ElementTree.Element) -> tuple[str, str]:
    for part in case:
        if part.tag in ("failure", "error"):
            return "failed", part.get("message", "")
        if part.tag == "skipped":
            return "skipped", ""
    return "passed", ""

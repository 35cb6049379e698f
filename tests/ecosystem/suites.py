"""Runs the suites of packages with pytest, each in processes of their own."""

import os
import subprocess
import time
import tomllib
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
      passed: the names of the tests that passed.
      failures: the words of each failure, by the name of the test.
      skipped: how many were skipped.
      seconds: how long it took.
    """

    name: str
    passed: set[str]
    failures: dict[str, str]
    skipped: int
    seconds: float

    @property
    def reasons(self) -> dict[str, str]:
        """What ``explained.toml`` says of tests of this name."""
        return tomllib.loads(_EXPLAINED.read_text()).get(self.name, {})

    def unexplained(self) -> list[str]:
        """The failures that ``explained.toml`` does not list."""
        return [test for test in self.failures if not _reason(test, self.reasons)]

    def outdated(self) -> list[str]:
        """What ``explained.toml`` lists although it passes."""
        return [test for test in self.reasons if test in self.passed]


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
    root = _root(name, folder, checkout)
    command += ["--rootdir", root]  # names of tests begin below it
    command += [root / part for part in suite.quick if fast] or [root]
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


def _root(name: str, folder: Path, checkout: Path | None) -> Path:
    """Where the tests are: in the installed package, or in sources."""
    if checkout is not None:
        return checkout / SUITES[name].folder
    (root,) = folder.glob(f"lib/python*/site-packages/{name}")
    return root


def _read(name: str, report: Path, seconds: float) -> Result:
    passed, failures, skipped = set[str](), dict[str, str](), 0
    for case in ElementTree.parse(report).iter("testcase"):
        test = f"{case.get('classname')}.{case.get('name')}"
        outcome, words = _outcome(case)
        if outcome == "failed":
            failures[test] = words
        elif outcome == "passed":
            passed.add(test)
        skipped += outcome == "skipped"
    if not passed and not failures:
        failures[name] = f"no test ran; see {report.with_suffix('.log')}"
    return Result(name, passed - failures.keys(), failures, skipped, seconds)


def _outcome(case: ElementTree.Element) -> tuple[str, str]:
    for part in case:
        if part.tag in ("failure", "error"):
            return "failed", part.get("message", "")
        if part.tag == "skipped":
            return "skipped", ""
    return "passed", ""

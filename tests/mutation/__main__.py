"""``make mutation``: plant faults, one at a time, and see whether the tests notice.

    python -m tests.mutation                    all of them
    python -m tests.mutation scan fingerprint   those in files with these words

The faults are planted in a copy of the sources; the checkout stays as it is. Ends
non-zero if fewer than 95 % are caught.
"""

# ruff: noqa: T201  a command prints

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.mutation.mutations import MUTATIONS, Mutation

ROOT = Path(__file__).parents[2]
#: seconds for the tests of one fault, and the part of the faults that must be caught
LIMIT, WANTED = 300, 0.95


def planted(text: str, mutation: Mutation) -> str:
    """The source with the fault in it."""
    assert text.count(mutation.old) == 1, (
        f"{mutation.file}: {mutation.fault!r} replaces a text that stands there "
        f"{text.count(mutation.old)} times"
    )
    return text.replace(mutation.old, mutation.new)


def failing(sources: Path, *tests: str) -> list[str]:
    """The first test that fails with these sources, if one does; by its name.

    Tests that take longer than the limit have not noticed a thing.
    """
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
    path = os.pathsep.join([str(sources), str(ROOT)])
    try:
        done = subprocess.run(
            [*command, *tests],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        print(f"no answer in {LIMIT} s: {' '.join(tests)}")
        return []
    assert done.returncode != 5, f"no tests are {tests}: {done.stdout[-500:]}"
    if done.returncode > 1:
        print(done.stdout[-2000:], done.stderr[-2000:])
    names = re.findall(r"^(?:FAILED|ERROR) (\S+::.*?)(?: - .*)?$", done.stdout, re.M)
    return names[:1] or ["no test by name"] * bool(done.returncode)


def noticed(sources: Path, mutation: Mutation) -> str | None:
    """The first test that fails while the fault is there, and passes without it."""
    file = sources / "covector" / mutation.file
    text = file.read_text(encoding="utf-8")
    file.write_text(planted(text, mutation), encoding="utf-8")
    try:
        found = failing(sources, *shlex.split(mutation.tests))
    finally:
        file.write_text(text, encoding="utf-8")
    if found and "::" in found[0] and failing(sources, *found):
        print(f"{found[0]} fails without the fault, too")
        return None
    return found[0] if found else None


def main(words: list[str]) -> int:
    chosen = [m for m in MUTATIONS if not words or any(w in m.file for w in words)]
    survivors = 0
    with tempfile.TemporaryDirectory() as folder:
        sources = Path(folder) / "src"
        shutil.copytree(ROOT / "src", sources)
        for mutation in chosen:
            start = time.monotonic()
            test = noticed(sources, mutation)
            survivors += test is None
            word = "SURVIVED" if test is None else "caught  "
            seconds = time.monotonic() - start
            where = f"{mutation.file}: {mutation.fault}"
            print(f"{word} {seconds:4.0f} s  {where}  {test or ''}", flush=True)
    share = 1 - survivors / max(len(chosen), 1)
    print(f"{len(chosen) - survivors} of {len(chosen)} caught ({share:.0%})")
    return int(share < WANTED)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

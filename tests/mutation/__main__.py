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
#: what stands for the name of a test where all of them fail at once
NO_NAME = "no test by name"


def planted(text: str, mutation: Mutation) -> str:
    """The source with the fault in it."""
    assert text.count(mutation.old) == 1, (
        f"{mutation.file}: {mutation.fault!r} replaces a text that stands there "
        f"{text.count(mutation.old)} times"
    )
    return text.replace(mutation.old, mutation.new)


def failing(sources: Path, *arguments: str) -> list[str]:
    """The tests that fail with these sources, by their names.

    Tests that take longer than the limit have not noticed a thing.
    """
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    path = os.pathsep.join([str(sources), str(ROOT)])
    try:
        done = subprocess.run(
            [*command, *arguments],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        print(f"no answer in {LIMIT} s: {' '.join(arguments)}")
        return []
    output = done.stdout[-2000:] + done.stderr[-2000:]
    gone = done.returncode == 5 or "ERROR: not found: " in output
    assert not gone, f"no tests are {arguments}: {output}"
    if done.returncode not in {0, 1}:
        print(output)
    names = re.findall(r"^(?:FAILED|ERROR) (\S+::.*?)(?: - .*)?$", done.stdout, re.M)
    return names or [NO_NAME] * bool(done.returncode)


def noticed(sources: Path, mutation: Mutation) -> str | None:
    """The first test that fails while the fault is there."""
    file = sources / "covector" / mutation.file
    text = file.read_text(encoding="utf-8")
    file.write_text(planted(text, mutation), encoding="utf-8")
    try:
        return next(iter(failing(sources, "-x", *shlex.split(mutation.tests))), None)
    finally:
        file.write_text(text, encoding="utf-8")


def main(words: list[str]) -> int:
    chosen = [m for m in MUTATIONS if not words or any(w in m.file for w in words)]
    found: list[str | None] = []
    with tempfile.TemporaryDirectory() as folder:
        sources = Path(folder) / "src"
        shutil.copytree(ROOT / "src", sources)
        for mutation in chosen:
            start = time.monotonic()
            found.append(noticed(sources, mutation))
            word = "caught  " if found[-1] else "SURVIVED"
            seconds = time.monotonic() - start
            where = f"{mutation.file}: {mutation.fault}"
            print(f"{word} {seconds:4.0f} s  {where}  {found[-1] or ''}", flush=True)
        by_name = {name for name in found if name and name != NO_NAME}
        together = failing(sources, *sorted(by_name)) if by_name else []
        # Together they may leave things behind for each other; alone is what counts.
        suspects = by_name if NO_NAME in together else by_name.intersection(together)
        anyway = {name for name in suspects if failing(sources, name)}
    for name in sorted(anyway):
        print(f"{name} fails without the fault, too")
    count = sum(name is not None and name not in anyway for name in found)
    share = count / max(len(chosen), 1)
    print(f"{count} of {len(chosen)} caught ({share:.0%})")
    return int(share < WANTED)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

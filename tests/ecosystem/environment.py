"""Environments of their own for the packages: one on covector, one on the real JAX.

    .venv-ecosystem          covector from this checkout, which is ``jax`` there
    .venv-ecosystem-jax      jax from the index; only to record its numbers

A file ``made-of`` in the environment has the list of what was installed. Where the list
is another one now, the environment is made anew.
"""

import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

from tests.ecosystem.packages import JAX, REQUIREMENTS, SOURCES, VERSIONS

ROOT = Path(__file__).parents[2]
#: versions of what the packages require, so that tomorrow's run is that of today
_CONSTRAINTS = Path(__file__).with_name("constraints.txt")


def environment(real: bool = False) -> Path:
    """The folder of the environment, made if need be."""
    folder = ROOT / (".venv-ecosystem-jax" if real else ".venv-ecosystem")
    pins = [f"{name}=={version}" for name, version in VERSIONS.items()]
    jax = [f"jax=={JAX}", f"jaxlib=={JAX}"] if real else ["-e", str(ROOT)]
    made_of = folder / "made-of"
    content = "\n".join([*pins, *REQUIREMENTS, *jax, _CONSTRAINTS.read_text()])
    if made_of.exists() and made_of.read_text() == content:
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    _run(sys.executable, "-m", "venv", folder)
    pip = (python(folder), "-m", "pip")
    _run(*pip, "install", "-q", *jax)
    if not real:
        _run(folder / "bin" / "covector", "dropin", "enable")
    _run(*pip, "install", "-q", "-c", _CONSTRAINTS, *pins, *REQUIREMENTS)
    for name in SOURCES:
        _unpack(name, folder / "sources", pip)
    made_of.write_text(content)
    return folder


def python(folder: Path) -> Path:
    """The interpreter of an environment."""
    return folder / "bin" / "python"


def sources(folder: Path, name: str) -> Path:
    """Where the sources of a package are, if its tests are in none of its wheels."""
    return folder / "sources" / f"{name}-{VERSIONS[name]}"


def _unpack(name: str, folder: Path, pip: tuple) -> None:
    wanted = ("--no-deps", "--no-binary", name, f"{name}=={VERSIONS[name]}")
    _run(*pip, "download", "-q", "-d", folder, *wanted)
    (archive,) = folder.glob(f"{name}-*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")


def _run(*command: object) -> None:
    print("$", *command, flush=True)
    subprocess.run([str(part) for part in command], check=True)

"""A local distribution ``jax``, so that an environment lives on covector.

It is one module of two lines, that of the door, and metadata whose version satisfies
what other packages require of ``jax``. It is written where it is asked for and never
published: the name belongs to others, and an index takes no local versions.
"""

import importlib
import importlib.util
import subprocess
import sys
import sysconfig
from importlib import metadata
from pathlib import Path

from covector.compat.finder import DOOR, is_installed
from covector.compat.names import API_VERSION
from covector.errors import SettingError
from covector.version import __version__

_LABEL = "+covector"
#: the version that other packages see, and the covector that made it
VERSION = f"{API_VERSION}{_LABEL}.{__version__}"
_MODULE = "jax.py"


def _site() -> Path:
    return Path(sysconfig.get_paths()["purelib"])


def _found(site: Path) -> metadata.Distribution | None:
    """The distribution ``jax`` in a folder of packages."""
    importlib.invalidate_caches()  # it may just have been written
    return next(iter(metadata.distributions(name="jax", path=[str(site)])), None)


def _is_ours(found: metadata.Distribution) -> bool:
    return _LABEL in found.version


def enable(site: Path | None = None, *, replace: bool = False) -> str:
    """Write the distribution into the current environment; what was done, in words.

    Args:
      site: the folder of packages, by default that of the Python that runs this.
      replace: uninstall a real jax that is there, by pip.

    Raises:
      SettingError: there is a real jax, or the folder cannot be written to.
    """
    folder = _site() if site is None else site
    found = _found(folder)
    if found is not None and not _is_ours(found):
        if not replace:
            raise SettingError(
                f"jax {found.version} is installed in {folder}, and is left as it is. "
                "covector dropin enable --replace uninstalls it; covector run "
                "program.py uses covector beside it."
            )
        _uninstall()
    disable(folder)
    try:
        _write(folder)
    except OSError as error:
        raise SettingError(f"covector cannot write to {folder}: {error}") from error
    return f"jax {VERSION} is covector now, in {folder}"


def _uninstall() -> None:
    command = [sys.executable, "-m", "pip", "uninstall", "--yes", "jax"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise SettingError(f"pip could not uninstall jax: {ended.stderr.strip()}")


def _write(folder: Path) -> None:
    (metadata_of_door,) = DOOR.glob("*.dist-info/METADATA")
    info = f"jax-{VERSION}.dist-info"
    files = {
        _MODULE: (DOOR / _MODULE).read_text(),
        f"{info}/METADATA": metadata_of_door.read_text(),
        f"{info}/INSTALLER": "covector\n",
        f"{info}/RECORD": f"{_MODULE},,\n{info}/METADATA,,\n{info}/INSTALLER,,\n"
        f"{info}/RECORD,,\n",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def disable(site: Path | None = None) -> str:
    """Take the distribution away again; what was done, in words."""
    folder = _site() if site is None else site
    found = _found(folder)
    if found is None or not _is_ours(found):
        return f"there is no jax of covector's in {folder}"
    version = found.version  # of the metadata that is removed
    for file in found.files or []:
        Path(str(found.locate_file(file))).unlink(missing_ok=True)
    (folder / f"jax-{version}.dist-info").rmdir()
    return f"jax {version} is gone from {folder}"


def describe() -> dict[str, str]:
    """Which ``jax`` programs find that this Python starts, as a small table."""
    inside = {"import jax": "finds covector, in this process and those it starts"}
    if is_installed():
        return inside
    spec = importlib.util.find_spec("jax")
    if spec is None or spec.origin is None:
        return {
            "import jax": "finds nothing; covector run program.py gives it covector"
        }
    origin = Path(spec.origin)
    if origin.read_bytes() != (DOOR / _MODULE).read_bytes():
        return {
            "import jax": f"finds jax {metadata.version('jax')}, {origin.parent}",
            "covector run": "uses covector, and leaves that one alone",
        }
    if origin.parent == DOOR:
        return inside
    version = metadata.version("jax")
    found = {
        "import jax": f"finds covector, by jax {version} in {origin.parent}",
        "pip": "takes it for jax; installing another jax overwrites it",
    }
    if version != VERSION:
        found["problem"] = (
            f"it was made for jax {version}, this is covector {__version__}: make it "
            "anew with covector dropin enable"
        )
    return found

"""The folder of compiled programs, where later processes find them.

    file = MAGIC, digest of the rest, the program's key, serialized executable

jaxlib loads damaged machine code without complaint, hence the digest; a file under
another's name would run as that program, hence the key. A file that does not check out
is ignored, with one warning, and written anew.

The files are machine code: whoever can write them can do what this process may do. So a
folder that others can write is not used, and a warning says so. Where there are more
than ``MOST_BYTES``, the files that have not been used for the longest time go.
"""

import contextlib
import functools
import hashlib
import os
import stat
import sys
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path

from covector.errors import SettingWarning

MAGIC = b"covector executable 2\n"
_DIGEST = hashlib.sha256().digest_size
_HEAD = len(MAGIC) + 2 * _DIGEST
#: what the files of a folder may take together
MOST_BYTES = 1 << 30
#: new files after which their sizes are added up again
_CHECKED_EVERY = 64
#: seconds that a program takes to compile for which it is kept where nobody has asked
#: for it; loading one takes some milliseconds
WORTH_KEEPING = 0.1


def user_cache() -> Path | None:
    """The folder for what programs of this user may keep, and lose; None without a
    home.
    """
    named = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(named):  # as its standard asks
        return Path(named) / "covector"
    with contextlib.suppress(RuntimeError):
        if sys.platform == "darwin":
            return Path("~/Library/Caches/covector").expanduser()
        if sys.platform == "win32":
            local = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
            return Path(local).expanduser() / "covector" / "Cache"
        return Path("~/.cache/covector").expanduser()
    return None


def write_in_one_step(path: Path, content: bytes) -> None:
    """Write a file, of which no reader sees a part.

    A folder that is full or read-only costs the speed-up, not the computation.
    """
    part = path.with_name(f"part-{os.urandom(8).hex()}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        part.touch(mode=0o600, exist_ok=False)
        part.write_bytes(content)
        os.replace(part, path)
    except OSError:
        pass
    finally:
        with contextlib.suppress(OSError):  # it is not there, or cannot be
            part.unlink()


class CacheFolder:
    """Executables in files, by their keys, which are digests in hexadecimal digits.

    A folder that nobody has ``chosen`` takes only what is worth the space.
    """

    def __init__(self, path: Path, chosen: bool) -> None:
        self.path = path
        self.chosen = chosen
        self._lock = threading.Lock()
        self._written = 0

    @functools.cached_property
    def is_private(self) -> bool:
        """Whether only this user (and root) can write it; it is made if need be."""
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            problem = _who_else_writes(self.path)
        except OSError:
            return False
        if problem is not None and self.chosen:
            warnings.warn(
                f"compiled programs are not kept in {self.path} (COVECTOR_CACHE_DIR): "
                f"{problem}, and who can write its files can run code in this process. "
                "Use a folder of your own, with `chmod go-w`.",
                SettingWarning,
                stacklevel=2,
            )
        return problem is None

    def takes(self, seconds: float) -> bool:
        """Whether it keeps a program that took so long to compile."""
        return (self.chosen or seconds >= WORTH_KEEPING) and self.is_private

    def read(self, key: str) -> bytes | None:
        """The executable of this key, if there is one and it is undamaged."""
        path = self._file(key)
        try:
            content = path.read_bytes()
        except OSError:
            return None
        if not self.is_private:
            return None
        head, serialized = content[:_HEAD], content[_HEAD:]
        if head != _head(key, serialized):
            self._warn_of_damage()
            return None
        with contextlib.suppress(OSError):
            os.utime(path)  # used now
        return serialized

    def write(self, key: str, serialized: bytes) -> None:
        """Write the file of an executable."""
        write_in_one_step(self._file(key), _head(key, serialized) + serialized)
        with self._lock:
            due = self._written % _CHECKED_EVERY == 0
            self._written += 1
        if due:
            self._drop_oldest()

    def sizes(self) -> tuple[int, int]:
        """The number of executables, and of the bytes that they take together."""
        found = list(self._files())
        return len(found), sum([size for _, size, _ in found])

    def clear(self) -> int:
        """Remove all executables; how many there were."""
        return sum([_removed(path) for _, _, path in self._files()])

    def _files(self) -> Iterator[tuple[float, int, str]]:
        """Of each executable, when it was used last, its size, and its path."""
        try:
            with os.scandir(self.path) as entries:
                for entry in entries:
                    if entry.name.endswith(".xla"):
                        with contextlib.suppress(OSError):  # another process removed it
                            status = entry.stat()
                            yield status.st_mtime, status.st_size, entry.path
        except OSError:
            return

    def _drop_oldest(self) -> None:
        """Where the files are too large, remove until a tenth of the space is free."""
        found = sorted(self._files())
        size = sum([size for _, size, _ in found])
        if size <= MOST_BYTES:
            return
        for _, freed, path in found:
            if size <= MOST_BYTES * 9 // 10:
                return
            _removed(path)
            size -= freed

    def _file(self, key: str) -> Path:
        return self.path / f"{key}.xla"

    def _warn_of_damage(self) -> None:
        _warn_once(
            f"a compiled program in {self.path} is damaged, or of another version, and "
            "is compiled again. `covector cache clear` removes all."
        )


@functools.cache
def _warn_once(words: str) -> None:
    warnings.warn(words, SettingWarning, stacklevel=2)


def _removed(path: str) -> bool:
    try:
        os.unlink(path)
    except OSError:
        return False
    return True


def _head(key: str, serialized: bytes) -> bytes:
    name = bytes.fromhex(key)
    return MAGIC + hashlib.sha256(name + serialized).digest() + name


def _who_else_writes(folder: Path) -> str | None:
    if os.name != "posix":
        return None
    found = folder.stat()
    if found.st_uid not in (0, os.geteuid()):
        return f"it belongs to another user (number {found.st_uid})"
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"others can write it (its mode is {stat.S_IMODE(found.st_mode):o})"
    return None

"""The table of environment variables.

Each has a form that its value must have; any other value is refused, in words, when
covector is imported, and so is told a name that is near one of these and is none. The
options of ``covector.options`` that have choices can be set as well; they enter the
table from there. ``docs/environment-variables.md`` lists them all.
"""

import inspect
import os
import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from covector.errors import SettingError, SettingWarning, did_you_mean

Environment = Mapping[str, str]

#: devices that a CPU may appear as; ten thousand would take half a minute to make
MOST_CPU_DEVICES = 4096
_PREFIX = "COVECTOR_"
_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
#: the names of platforms, as users may write them
_PLATFORMS = {"cpu": "cpu", "host": "cpu", "gpu": "gpu", "cuda": "gpu"}
#: the words of what is on or off, in any case
_SWITCH = {
    **dict.fromkeys(("1", "true", "on", "yes"), True),
    **dict.fromkeys(("0", "false", "off", "no"), False),
}


@dataclass(frozen=True)
class Variable:
    """An environment variable: what its value must be, and how it is read."""

    name: str
    #: what its value must be, for messages and the page
    wanted: str
    #: the value of a text; a ValueError or KeyError where it is none
    parse: Callable[[str], Any]
    default: Any = None

    def read(self, environ: Environment = os.environ) -> Any:
        """Its value; the default where it is not set, or empty.

        Raises:
          SettingError: it has a value that it cannot have.
        """
        text = environ.get(self.name, "").strip()
        if not text:
            return self.default
        try:
            return self.parse(text)
        except (ValueError, KeyError):
            raise SettingError(
                f"{self.name} must be {self.wanted}, but is {text!r}."
            ) from None


def choice(name: str, choices: Iterable[Any]) -> Variable:
    """One of some values by name; a switch where True is among them."""
    by_text = {str(c).lower(): c for c in choices}
    if True in by_text.values():
        by_text |= _SWITCH
    by_text.pop("none", None)
    wanted = f"one of {', '.join(by_text)}"
    return Variable(name, wanted, lambda text: by_text[text.lower()])


def _whole(name: str, low: int, high: int | None = None) -> Variable:
    def parse(text: str) -> int:
        number = int(text) if text.isdecimal() and len(text) < 19 else -1
        if number < low or (high is not None and number > high):
            raise ValueError
        return number

    end = f"from {low} on" if high is None else f"from {low} to {high}"
    return Variable(name, f"a whole number {end}", parse)


def _switch(name: str, default: bool | None) -> Variable:
    made = choice(name, (False, True))
    return Variable(name, made.wanted, made.parse, default)


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds <= 1e9:
        raise ValueError
    return seconds


def _folder(text: str) -> str:
    """The folder; an empty text for none."""
    return "" if _SWITCH.get(text.lower()) is False else text


def _address(text: str) -> str:
    found = re.fullmatch(r".+:(\d{1,5})", text)
    if found is None or not 0 < int(found[1]) < 65536:
        raise ValueError
    return text


def _platforms(text: str) -> tuple[str, ...]:
    chosen = [word.strip().lower() for word in text.split(",") if word.strip()]
    return tuple(dict.fromkeys([_PLATFORMS[word] for word in chosen]))


PLATFORMS = Variable("COVECTOR_PLATFORMS", "cpu, gpu, or gpu,cpu", _platforms, ())
NUM_CPU_DEVICES = _whole("COVECTOR_NUM_CPU_DEVICES", 1, MOST_CPU_DEVICES)
ASYNC_CPU = _switch("COVECTOR_ASYNC_CPU", None)
KEEP_MEMORY = _switch("COVECTOR_KEEP_MEMORY", True)
CACHE_DIR = Variable("COVECTOR_CACHE_DIR", "a folder, or off", _folder)
COORDINATOR_ADDRESS = Variable(
    "COVECTOR_COORDINATOR_ADDRESS", "host:port, as in 10.0.0.1:1234", _address
)
COORDINATOR_PORT = _whole("COVECTOR_COORDINATOR_PORT", 1, 65535)
NUM_PROCESSES = _whole("COVECTOR_NUM_PROCESSES", 1)
PROCESS_ID = _whole("COVECTOR_PROCESS_ID", 0)
LOCAL_PROCESS_ID = _whole("COVECTOR_LOCAL_PROCESS_ID", 0)
PEER_TIMEOUT = Variable(
    "COVECTOR_PEER_TIMEOUT", "a positive number of seconds", _seconds, 300.0
)

#: where other programs have it, for those who do not set ours
JAX_PLATFORMS = Variable("JAX_PLATFORMS", PLATFORMS.wanted, _platforms, ())

#: all of them, by name
VARIABLES: dict[str, Variable] = {
    variable.name: variable
    for variable in (
        PLATFORMS,
        NUM_CPU_DEVICES,
        ASYNC_CPU,
        KEEP_MEMORY,
        CACHE_DIR,
        COORDINATOR_ADDRESS,
        COORDINATOR_PORT,
        NUM_PROCESSES,
        PROCESS_ID,
        LOCAL_PROCESS_ID,
        PEER_TIMEOUT,
    )
}


def of_option(option: str, choices: Iterable[Any]) -> Variable:
    """The variable that sets an option, as a row of the table."""
    made = choice(f"{_PREFIX}{option.upper()}", choices)
    return VARIABLES.setdefault(made.name, made)


def check(environ: Environment = os.environ) -> None:
    """Raise where a variable that is set is unknown, or has a value that it cannot
    have.

    Raises:
      SettingError: a variable has a value that it cannot have.
    """
    for name in environ:
        if not name.startswith(_PREFIX):
            continue
        variable = VARIABLES.get(name)
        if variable is not None:
            variable.read(environ)
            continue
        warnings.warn(
            f"{name} is set in the environment, but covector has no such variable."
            f"{did_you_mean(name, VARIABLES)} The page Environment variables of the "
            "documentation lists them all.",
            SettingWarning,
            stacklevel=_level_of_import(),
        )


def _level_of_import() -> int:
    """The ``stacklevel`` of the line that imports covector, seen from the caller.

    ``warnings`` does not count the frames of ``importlib``.
    """
    frame, level = inspect.currentframe(), 0
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith((_HERE, "<frozen importlib")):
            return level
        level += file.startswith(_HERE)
        frame = frame.f_back
    return 2

"""``jax.config``: covector's options under the names of the field, and the others.

An option is one of covector's (``covector.config``), one that is ignored, or one with a
single value; ``names/options.txt`` has the last two kinds.
"""

import contextlib
import os
import re
import sys
from ast import literal_eval
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from covector import options, variables
from covector.compat.names import rows
from covector.configuration import Config
from covector.errors import SettingError, UnknownOption, did_you_mean
from covector.runtime import client

_PREFIX = "jax_"
_SET = re.compile(r"(?<!\S)(\w+)=(\S+)")


class Fixed(NamedTuple):
    """An option with one value that covector knows."""

    value: Any
    instead: str


#: any value is taken, and read again; with their defaults
IGNORED: dict[str, Any] = {}
FIXED: dict[str, Fixed] = {}

for _row in rows("options.txt"):
    _values = {name: literal_eval(text) for name, text in _SET.findall(_row)}
    _instead = " ".join(_SET.sub("", _row).split())
    if _instead:
        FIXED |= {name: Fixed(value, _instead) for name, value in _values.items()}
    else:
        IGNORED |= _values


#: what the field calls the ways to print a traceback
_FILTERING = {"filtered": "auto", "full": "off"}
#: options that are read otherwise, or have another name
_READ: dict[str, Callable[[], Any]] = {
    "enable_checks": lambda: options.settings.check_programs,
    "num_cpu_devices": lambda: client.cpu_devices_wanted() or -1,
    "platform_name": lambda: Config().read("platform_name") or "",
    "traceback_filtering": lambda: _FILTERING[options.current().traceback],
}
#: all options, without the prefix
_KNOWN = tuple({**Config().values, **_READ, **IGNORED, **FIXED})


class FieldConfig(Config):
    """``covector.config`` for programs of the field: what it updates is the same."""

    def __init__(self) -> None:
        self._ignored = dict(IGNORED)

    def update(self, name: str, value: Any) -> None:
        """Set an option for the process.

        Raises:
          SettingError: (an AttributeError too) no option has this name; or covector
            knows the option with another value only.
        """
        bare = name.removeprefix(_PREFIX)
        if bare in self._ignored:
            self._ignored[bare] = value
        elif bare in FIXED:
            _check_fixed(bare, value)
        elif bare == "enable_checks":
            options.settings.check_programs = bool(value)
        elif bare == "traceback_filtering":
            options.update(traceback="full" if value == "off" else "filtered")
        else:
            super().update(bare, value)

    def read(self, name: str) -> Any:
        """The value of an option, as this thread sees it."""
        bare = name.removeprefix(_PREFIX)
        if bare in self._ignored:
            return self._ignored[bare]
        if bare in FIXED:
            return FIXED[bare].value
        return _READ[bare]() if bare in _READ else super().read(bare)

    @property
    def values(self) -> dict[str, Any]:
        """All options, by the names of the field."""
        return {f"{_PREFIX}{name}": self.read(name) for name in _KNOWN}

    def __getattr__(self, name: str) -> Any:
        bare = name.removeprefix(_PREFIX)
        if bare in _KNOWN:
            return self.read(bare)
        raise AttributeError(f"jax.config has no option {name!r}")

    def _check(self, name: str) -> None:
        if name not in _KNOWN:
            raise UnknownOption(
                f"neither jax nor covector has an option {_PREFIX}{name}."
                f"{did_you_mean(name, _KNOWN)}"
            )

    def config_with_absl(self) -> None:
        """Make the options flags of ``absl``; they are set when it reads its flags."""
        from absl import app, flags  # type: ignore[import]  # noqa: PLC0415

        for option in _KNOWN:
            name, on_or_off = f"{_PREFIX}{option}", isinstance(self.read(option), bool)
            define = flags.DEFINE_boolean if on_or_off else flags.DEFINE_string
            if name not in flags.FLAGS:
                define(name, None, f"the option {name}")
        app.call_after_init(partial(self._take, flags.FLAGS))

    def parse_flags_with_absl(self) -> None:
        """Set the options that are flags of the command line, such as
        ``--jax_enable_x64=true``.
        """
        from absl import flags  # type: ignore[import]  # noqa: PLC0415

        self.config_with_absl()
        mine = [a for a in sys.argv[1:] if a.lstrip("-").startswith(_PREFIX)]
        flags.FLAGS([sys.argv[0], *mine], known_only=True)
        self._take(flags.FLAGS)

    def _take(self, flags: Any) -> None:
        for option in _KNOWN:
            value = flags[f"{_PREFIX}{option}"].value
            if value is not None:
                parsed = _parsed(option, value) if isinstance(value, str) else value
                self.update(option, parsed)


config = FieldConfig()


def _check_fixed(name: str, value: Any) -> None:
    known, instead = FIXED[name]
    said = getattr(value, "value", value)  # some are members of enumerations
    if value is not None and said != known:
        raise SettingError(
            f"covector knows the option {_PREFIX}{name} as {known!r} only, but got "
            f"{value!r}. {instead}"
        )


def _parsed(name: str, text: str) -> Any:
    """The value of an option that is given as text.

    Raises:
      SettingError: it is none.
    """
    default = FIXED[name].value if name in FIXED else IGNORED.get(name)
    own = variables.VARIABLES.get(f"COVECTOR_{name.upper()}")
    theirs = f"JAX_{name.upper()}"
    if own is not None:
        variable = replace(own, name=theirs)
    elif isinstance(default, bool) or name == "enable_checks":
        variable = variables.choice(theirs, (False, True))
    elif isinstance(default, int | float):
        variable = variables.Variable(theirs, "a number", type(default))
    else:
        return text
    return variable.read({theirs: text})


def from_environment(environ: Mapping[str, str] = os.environ) -> None:
    """Set options as the environment says by names of the field, ``JAX_ENABLE_X64=1``.

    Variables of covector go first.
    """
    for name in _KNOWN:
        theirs, ours = f"JAX_{name.upper()}", f"COVECTOR_{name.upper()}"
        text = environ.get(theirs, "").strip()
        if text and ours not in environ and theirs != variables.JAX_PLATFORMS.name:
            config.update(name, _parsed(name, text))


@contextlib.contextmanager
def _block(name: str, value: Any = True) -> Iterator[None]:
    before = config.read(name)
    config.update(name, value)
    try:
        yield
    finally:
        config.update(name, before)


def __getattr__(name: str) -> Callable[..., Any]:
    """Context managers of options by name: ``softmax_custom_jvp(True)``."""
    if name not in (*IGNORED, *FIXED, "enable_checks", "traceback_filtering"):
        raise AttributeError(name)
    return partial(_block, name)

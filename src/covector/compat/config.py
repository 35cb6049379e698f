"""``jax.config``: covector's options under the names of the field, and the others.

An option is one of covector's (``covector.config``), one that is ignored, or one with a
single value; ``names/options.txt`` has the last two kinds.
"""

import contextlib
import os
import re
from ast import literal_eval
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

from covector import options, variables
from covector.compat.names import rows
from covector.errors import SettingError, did_you_mean
from covector.settings import Config, Setting

_PREFIX = "jax_"
_SET = re.compile(r"(?<!\S)(\w+)=(\S+)")

#: any value is taken, and read again; with their defaults
IGNORED: dict[str, Any] = {}
#: the value that covector knows, and what to do instead of another
FIXED: dict[str, tuple[Any, str]] = {}

for _row in rows("options.txt"):
    _values = {name: literal_eval(text) for name, text in _SET.findall(_row)}
    _instead = " ".join(_SET.sub("", _row).split())
    if _instead:
        FIXED |= {name: (value, _instead) for name, value in _values.items()}
    else:
        IGNORED |= _values


def _ignored(name: str) -> Setting:
    values = {name: IGNORED[name]}
    return Setting(partial(values.get, name), partial(values.__setitem__, name))


def _fixed(name: str) -> Setting:
    known, instead = FIXED[name]

    def check(value: Any) -> None:
        said = getattr(value, "value", value)  # some are members of enumerations
        if value is not None and said != known:
            raise SettingError(
                f"covector knows the option {_PREFIX}{name} as {known!r} only, but got "
                f"{value!r}. {instead}"
            )

    return Setting(lambda: known, check)


def _or(name: str, otherwise: Any) -> Setting:
    """A setting of covector's, which reads as ``otherwise`` instead of None."""
    ours = Config.settings[name]
    return ours._replace(read=lambda: ours.read() or otherwise)


#: what the field calls the ways to print a traceback
_FILTERING = {"filtered": "auto", "full": "off"}
#: options that covector has otherwise, or elsewhere
_OTHERWISE = {
    "enable_checks": Setting(
        lambda: options.settings.check_programs,
        lambda value: setattr(options.settings, "check_programs", bool(value)),
    ),
    "num_cpu_devices": _or("num_cpu_devices", -1),
    "platform_name": _or("platform_name", ""),
    "traceback_filtering": Setting(
        lambda: _FILTERING[options.current().traceback],
        lambda value: options.update(
            traceback="full" if value == "off" else "filtered"
        ),
    ),
}


class FieldConfig(Config):
    """``covector.config`` for programs of the field: what it updates is the same."""

    prefix = _PREFIX
    settings: ClassVar[dict[str, Setting]] = {
        **Config.settings,
        **_OTHERWISE,
        **{name: _ignored(name) for name in IGNORED},
        **{name: _fixed(name) for name in FIXED},
    }

    @property
    def values(self) -> dict[str, Any]:
        """All options, by the names of the field."""
        return {_PREFIX + name: value for name, value in super().values.items()}

    def _unknown(self, name: str) -> str:
        return (
            f"neither jax nor covector has an option {_PREFIX}{name}."
            f"{did_you_mean(name, self.settings)}"
        )

    def _variable(self, name: str) -> variables.Variable | None:
        own, theirs = super()._variable(name), f"JAX_{name.upper()}"
        value = self.read(name)
        if own is not None:
            return replace(own, name=theirs)
        if isinstance(value, bool):
            return variables.choice(theirs, (False, True))
        if isinstance(value, int | float):
            return variables.Variable(theirs, "a number", type(value))
        return None


config = FieldConfig()


def from_environment(environ: Mapping[str, str] = os.environ) -> None:
    """Set options as the environment says by names of the field, ``JAX_ENABLE_X64=1``.

    Variables of covector go first.
    """
    for name in config.settings:
        theirs, ours = f"JAX_{name.upper()}", f"COVECTOR_{name.upper()}"
        text = environ.get(theirs, "").strip()
        if text and ours not in environ and theirs != variables.JAX_PLATFORMS.name:
            config.update(name, config.parsed(name, text))


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
    if name not in (*IGNORED, *FIXED, *_OTHERWISE):
        raise AttributeError(name)
    return partial(_block, name)

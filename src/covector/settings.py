"""Options as users set them for the process: ``covector.config``.

Every option is a field of ``covector.options.Options``, or one of a few that are set
once; names are accepted with and without the prefix ``jax_``, under which the ecosystem
knows them. A variable of the environment such as ``COVECTOR_DEBUG_NANS=1`` sets an
option when covector is imported. ``configuration.py`` sets them for a ``with`` block.
"""

import sys
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, NamedTuple

from covector import options, variables
from covector.errors import DeviceError, UnknownOption, did_you_mean
from covector.runtime import client, compilation_cache


class Setting(NamedTuple):
    """How an option is read, and set."""

    read: Callable[[], Any]
    update: Callable[[Any], None]


def _of_options(name: str) -> Setting:
    def update(value: Any) -> None:
        value = as_device(value) if name == "default_device" else value
        options.update(**{name: value})

    return Setting(lambda: getattr(options.current(), name), update)


def _platforms() -> str | None:
    names = variables.PLATFORMS.read() or variables.JAX_PLATFORMS.read()
    return ",".join(names) or None


_SETTINGS = {name: _of_options(name) for name in options.names()} | {
    # These are set once, before the first device is used, or are no options.
    "num_cpu_devices": Setting(client.cpu_devices_wanted, client.set_cpu_devices),
    "compilation_cache_dir": Setting(
        compilation_cache.directory, compilation_cache.set_directory
    ),
    "platforms": Setting(_platforms, client.set_platforms),
    "platform_name": Setting(_platforms, client.set_platforms),
}


class Config:
    """The options of this process; ``covector.config``."""

    #: how each option is read and set, by its name
    settings: ClassVar[dict[str, Setting]] = _SETTINGS
    #: what the names of flags begin with
    prefix: ClassVar[str] = "covector_"

    def update(self, name: str, value: Any) -> None:
        """Set an option for every thread that has no override of its own.

        Args:
          name: the name of an option; ``covector.config.values`` has all.
          value: what it is to be.

        Returns:
          Nothing.

        Raises:
          UnknownOption: (a SettingError) no option has this name.
          SettingError: the value is not one of its choices.

        >>> import covector as cv
        >>> cv.config.update("numpy_rank_promotion", "allow")

        See also: ``covector.enable_x64`` and others, for a ``with`` block.
        """
        self._setting(name).update(value)

    def read(self, name: str) -> Any:
        """The value of an option, as this thread sees it."""
        return self._setting(name).read()

    @property
    def x64_enabled(self) -> bool:
        return options.current().enable_x64

    @property
    def values(self) -> dict[str, Any]:
        """All options by name."""
        return {name: self.read(name) for name in self.settings}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or _bare(name) not in self.settings:
            raise AttributeError(f"covector.config has no option {name!r}")
        return self.read(name)

    def _setting(self, name: str) -> Setting:
        found = self.settings.get(_bare(name))
        if found is None:
            raise UnknownOption(self._unknown(_bare(name)))
        return found

    def _unknown(self, name: str) -> str:
        return (
            f"covector.config has no option {name!r}."
            f"{did_you_mean(name, self.settings)} The options are "
            f"{', '.join(self.settings)}."
        )

    def __repr__(self) -> str:
        shown = ", ".join(f"{k}={v!r}" for k, v in self.values.items())
        return f"config({shown})"

    # -- as text, and as flags of absl -------------------------------------------------

    def parsed(self, name: str, text: str) -> Any:
        """The value of an option that is given as text.

        Raises:
          SettingError: it is none.

        >>> import covector as cv
        >>> cv.config.parsed("enable_x64", "on")
        True
        """
        variable = self._variable(name)
        return text if variable is None else variable.read({variable.name: text})

    def _variable(self, name: str) -> variables.Variable | None:
        """What the text of an option must be, if that is known."""
        return variables.VARIABLES.get(f"COVECTOR_{name.upper()}")

    def config_with_absl(self) -> None:
        """Make the options flags of ``absl``, such as ``--covector_debug_nans``; they
        are set when it reads its flags.

        >>> import covector as cv
        >>> cv.config.config_with_absl()  # doctest: +SKIP

        See also: ``covector.config.parse_flags_with_absl``.
        """
        # Few programs have absl, and fewer flags of this kind.
        from absl import app, flags  # type: ignore[import]  # noqa: PLC0415

        for option in self.settings:
            name, on_or_off = self.prefix + option, isinstance(self.read(option), bool)
            define = flags.DEFINE_boolean if on_or_off else flags.DEFINE_string
            if name not in flags.FLAGS:
                define(name, None, f"the option {name}")
        app.call_after_init(partial(self._take, flags.FLAGS))

    def parse_flags_with_absl(self) -> None:
        """Set the options that are flags of the command line, such as
        ``--covector_enable_x64=true``, at once.

        >>> import covector as cv
        >>> cv.config.parse_flags_with_absl()  # doctest: +SKIP

        See also: ``covector.config.config_with_absl``.
        """
        from absl import flags  # type: ignore[import]  # noqa: PLC0415

        self.config_with_absl()
        given = [a for a in sys.argv[1:] if a.lstrip("-").startswith(self.prefix)]
        flags.FLAGS([sys.argv[0], *given], known_only=True)
        self._take(flags.FLAGS)

    def _take(self, flags: Any) -> None:
        for option in self.settings:
            value = flags[self.prefix + option].value
            if isinstance(value, str):
                value = self.parsed(option, value)
            if value is not None:
                self.update(option, value)


#: the options of this process: ``config.update(name, value)`` sets one
config: Config = Config()


def _bare(name: str) -> str:
    """An option without the prefix of the ecosystem."""
    return name.removeprefix("jax_")


def as_device(value: Any) -> client.Device | None:
    """A device, or the first one of a platform; None for none."""
    if value is None or isinstance(value, client.Device):
        return value
    if isinstance(value, str):
        return client.local_devices(backend=value)[0]
    raise DeviceError(
        "the option default_device needs a device, such as covector.devices()[0], the "
        f"name of a platform, such as 'cpu', or None, but got {value!r} of type "
        f"{type(value).__name__}."
    )

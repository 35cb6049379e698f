"""What is checked when a program is exported, and when it is called elsewhere."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from covector.errors import ExportError
from covector.runtime import lapack

#: targets that programs of any later version can call
_STABLE = {"LayoutConstraint", lapack.PERTURBED}
_TARGET = re.compile(r"stablehlo\.custom_call @(?:([\w.$]+)|\"([^\"]*)\")")


@dataclass(frozen=True)
class DisabledSafetyCheck:
    """A check that is left out; made by its two class methods.

    >>> DisabledSafetyCheck.custom_call("rms_norm")
    DisabledSafetyCheck.custom_call('rms_norm')
    """

    #: the target that may be called; None for the check of platforms
    target: str | None

    @classmethod
    def platform(cls) -> "DisabledSafetyCheck":
        """The program may be called on platforms that it was not exported for."""
        return cls(None)

    @classmethod
    def custom_call(cls, target_name: str) -> "DisabledSafetyCheck":
        """The program may call this foreign function, whose meaning nobody promises to
        keep.
        """
        return cls(target_name)

    def is_custom_call(self) -> str | None:
        """The name of the foreign function that this is about, if it is about one."""
        return self.target

    def __repr__(self) -> str:
        if self.target is None:
            return "DisabledSafetyCheck.platform()"
        return f"DisabledSafetyCheck.custom_call({self.target!r})"


def check_targets(
    who: str, module: str, disabled: Sequence[DisabledSafetyCheck]
) -> None:
    """Raise where a module calls a foreign function that may not be there later.

    Raises:
      ExportError: it does, and nobody said that it may.
    """
    allowed = _STABLE | {check.target for check in disabled}
    for target in dict.fromkeys(map("".join, _TARGET.findall(module))):
        if target not in allowed and not target.startswith(lapack.PREFIX):
            raise ExportError(
                f"{who} calls the foreign function {target!r}, of which nobody "
                "promises that it will be there, and mean the same, where the program "
                "is called. If you do, pass disabled_checks=[DisabledSafetyCheck."
                f"custom_call({target!r})]."
            )

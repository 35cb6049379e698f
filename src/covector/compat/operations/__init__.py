"""The primitives of the field: ``add_p``, ``dot_general_p``, ``scan_p`` and others.

Each is an attribute of this module: its name, and ``_p``. The modules here say what is
called otherwise there than in covector.
"""

from typing import Any

from covector.compat.operation_primitives import PRIMITIVES, enter_others
from covector.compat.operations import (  # noqa: F401  each enters its primitives
    collectives,
    functions,
    linear_algebra,
    plain,
    programs,
    shapes,
)

enter_others()

#: attributes that are not called after their primitive
_OTHERWISE = {
    "custom_linear_solve": "linear_solve",
    "remat2": "remat",
    "add_any": "add_jaxvals",
}
_ATTRIBUTES = {
    _OTHERWISE.get(name, name).replace("-", "_") + "_p": primitive
    for name, primitive in PRIMITIVES.items()
} | {"pjit_p": PRIMITIVES["jit"]}
globals().update(_ATTRIBUTES)

__all__ = list(_ATTRIBUTES)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    raise AttributeError(f"covector has no primitive {name}")

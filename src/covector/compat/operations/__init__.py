"""The primitives of the field: ``add_p``, ``dot_general_p``, ``scan_p`` and others.

Each is an attribute of this module: its name, and ``_p``. The modules here say what is
called otherwise there than in covector.
"""

from covector.compat.names import rows
from covector.compat.operation_primitives import PRIMITIVES, enter_others, primitive

for _row in rows("operations.txt"):
    primitive(_row)

from covector.compat.operations import (  # noqa: E402, F401  each enters its primitives
    parameters,
    programs,
    shapes,
)

enter_others()

# Some classes of covector give lists of one, and the other way round.
for _name in ("device_put", "householder_product", "ormqr"):
    PRIMITIVES[_name].multiple_results = not PRIMITIVES[_name].multiple_results

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

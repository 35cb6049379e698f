"""Export: functions as programs that can be stored, and called in other processes.

    exported = export(jit(f))(ShapeDtypeStruct((3,), "float32"))
    blob = exported.serialize()                      bytes, for a file
    deserialize(blob).call(x)                        here, there, and years later

The program is StableHLO in its portable form. docs/exporting.md shows the rest.
"""

from covector.export.deserialization import (
    deserialize,
    maximum_supported_calling_convention_version,
    minimum_supported_calling_convention_version,
)
from covector.export.exported import Exported
from covector.export.exporting import default_export_platform, export
from covector.export.safety_checks import DisabledSafetyCheck
from covector.export.trees import (
    register_namedtuple_serialization,
    register_pytree_node_serialization,
)

__all__ = [
    "DisabledSafetyCheck",
    "Exported",
    "default_export_platform",
    "deserialize",
    "export",
    "maximum_supported_calling_convention_version",
    "minimum_supported_calling_convention_version",
    "register_namedtuple_serialization",
    "register_pytree_node_serialization",
]

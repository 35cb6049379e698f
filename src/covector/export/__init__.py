"""Export: functions as programs that can be stored, and called in other processes.

    exported = export(jit(f))(ShapeDtypeStruct((3,), "float32"))
    blob = exported.serialize()                      bytes, for a file
    deserialize(blob).call(x)                        here, there, and years later

The program is StableHLO in its portable form. docs/exporting.md shows the rest.
"""

from covector import namespaces
from covector.export.deserialization import (
    deserialize,
    maximum_supported_calling_convention_version,
    minimum_supported_calling_convention_version,
)
from covector.export.exported import Exported
from covector.export.exporting import default_export_platform, export
from covector.export.safety_checks import DisabledSafetyCheck
from covector.export.symbolic_scope import SymbolicScope
from covector.export.symbolic_shapes import (
    is_symbolic_dim,
    symbolic_args_specs,
    symbolic_shape,
)
from covector.export.trees import (
    register_namedtuple_serialization,
    register_pytree_node_serialization,
)

__all__ = [
    "DisabledSafetyCheck",
    "Exported",
    "SymbolicScope",
    "default_export_platform",
    "deserialize",
    "export",
    "is_symbolic_dim",
    "maximum_supported_calling_convention_version",
    "minimum_supported_calling_convention_version",
    "register_namedtuple_serialization",
    "register_pytree_node_serialization",
    "symbolic_args_specs",
    "symbolic_shape",
]
__dir__ = namespaces.completions(globals())

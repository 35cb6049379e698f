"""Names and policies for ``checkpoint``, and what a derivative keeps."""

from covector import namespaces
from covector.dispatch.checkpoint import checkpoint
from covector.programs.remat.policies import (
    Offloadable,
    Recompute,
    Saveable,
    checkpoint_name,
    checkpoint_policies,
)
from covector.programs.remat.residuals import print_saved_residuals, saved_residuals

__all__ = [
    "Offloadable",
    "Recompute",
    "Saveable",
    "checkpoint",
    "checkpoint_name",
    "checkpoint_policies",
    "print_saved_residuals",
    "saved_residuals",
]
__dir__ = namespaces.completions(globals())

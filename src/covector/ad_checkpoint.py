"""Names and policies for ``checkpoint``."""

from covector.programs.checkpoint import (
    checkpoint,
    checkpoint_name,
    checkpoint_policies,
)

__all__ = ["checkpoint", "checkpoint_name", "checkpoint_policies"]

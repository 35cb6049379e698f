"""What a trace tells of single instructions, for profile-guided compilation."""

from covector import namespaces
from covector.runtime import profiling

__all__ = ["get_profiled_instructions_proto"]
__dir__ = namespaces.completions(globals())


def get_profiled_instructions_proto(tensorboard_dir: str) -> bytes:
    """The costs of instructions in the traces of a folder, as a protocol buffer that
    XLA's compiler reads (``ProfiledInstructionsProto``).

    Args:
      tensorboard_dir: the ``log_dir`` of ``covector.profiler.start_trace``.
    """
    return profiling.get_profiled_instructions_proto(tensorboard_dir)

"""Functions and packages whose interface may still change.

A package is imported when it is first asked for.
"""

import typing

from covector import namespaces
from covector.callbacks.callback import io_callback as io_callback

if typing.TYPE_CHECKING:
    from covector.experimental import checkify as checkify
    from covector.experimental import checkpoint as checkpoint
    from covector.experimental import compilation_cache as compilation_cache
    from covector.experimental import jet as jet
    from covector.experimental import layout as layout
    from covector.experimental import mesh_utils as mesh_utils
    from covector.experimental import multihost_utils as multihost_utils
    from covector.experimental import ode as ode
    from covector.experimental import pjit as pjit
    from covector.experimental import profiler as profiler
    from covector.experimental import serialize_executable as serialize_executable
    from covector.experimental import shard_map as shard_map
    from covector.experimental import sparse as sparse
else:
    __getattr__, __dir__ = namespaces.lazy(
        __name__,
        (),
        packages=(
            "checkify",
            "checkpoint",
            "compilation_cache",
            "jet",
            "layout",
            "mesh_utils",
            "multihost_utils",
            "ode",
            "pjit",
            "profiler",
            "serialize_executable",
            "shard_map",
            "sparse",
        ),
    )

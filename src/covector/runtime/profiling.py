"""The profiler of the runtime: sessions, annotations, the server, and what they record.

A *session* records what the host and the devices do until it is stopped; XLA allows one
at a time. What it recorded is an XSpace, a protocol buffer that ``ProfileData`` reads.
"""

import gzip

from jaxlib._profile_data import (
    ProfileData,
    ProfileEvent,
    ProfilePlane,
)
from jaxlib._profiler import (
    ProfileOptions,
    ProfilerServer,
    ProfilerSession,
    TraceMe,
    get_profiled_instructions_proto,
    register_subprocess,
    start_server,
)

from covector.runtime import client

__all__ = [
    "ProfileData",
    "ProfileEvent",
    "ProfileOptions",
    "ProfilePlane",
    "ProfilerServer",
    "ProfilerSession",
    "TraceMe",
    "get_profiled_instructions_proto",
    "heap_profile",
    "register_subprocess",
    "start_server",
]


def heap_profile(platform: str | None) -> bytes:
    """What fills the memory of a platform, as pprof reads it."""
    return gzip.compress(client.client(platform).heap_profile())

"""The profiler of the runtime: sessions, annotations, the server, and what they record.

A *session* records what the host and the devices do until it is stopped; XLA allows one
at a time. What it recorded is an XSpace, a protocol buffer that ``ProfileData`` reads.
"""

import gzip
from typing import TypeAlias

from jaxlib import _profile_data, _profiler
from jaxlib._profiler import (
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

#: what a trace recorded: ``from_file(path)`` reads one, ``planes`` are its parts
ProfileData: TypeAlias = _profile_data.ProfileData
#: one event: ``name``, ``start_ns``, ``duration_ns`` and ``stats``
ProfileEvent: TypeAlias = _profile_data.ProfileEvent
#: a device or the host in a trace: ``name``, and ``lines`` of events
ProfilePlane: TypeAlias = _profile_data.ProfilePlane
#: what a trace is to record: ``host_tracer_level`` (0 to 3), ``python_tracer_level`` (0
#: or 1), ``enable_hlo_proto``, and options of devices in ``advanced_configuration``
ProfileOptions: TypeAlias = _profiler.ProfileOptions


def heap_profile(platform: str | None) -> bytes:
    """The contents of the memory of a platform, as pprof reads it."""
    return gzip.compress(client.client(platform).heap_profile())

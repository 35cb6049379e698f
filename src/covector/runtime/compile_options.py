"""What XLA is told besides a module: the devices, and fields of its DebugOptions."""

import functools
import os
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from jaxlib import xla_client as xc

from covector.runtime import client

Options: TypeAlias = Mapping[str, object]

#: How many bytes a step of a loop may touch for the loop to be compiled as one kernel.
SMALL_LOOP_BYTES = "xla_cpu_small_while_loop_byte_threshold"
SMALL_LOOP = 65_536
#: which operations YNNPACK computes, and two kinds of them
LIBRARY_FUSIONS = "xla_cpu_experimental_ynn_fusion_type"
DOTS = "LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT"
_REDUCTIONS = "LIBRARY_FUSION_TYPE_REDUCE"
#: Whether MLIR makes kernels of HLO; and not one tile after the other, which it does
#: of some.
FUSION_EMITTERS = "xla_cpu_use_fusion_emitters"
WITHOUT_TILES = "xla_cpu_disable_tiled_emitter"
#: the bits of registers that LLVM is to use for vectors, if the processor has them; and
#: twice as many as XLA would have
VECTOR_WIDTH, LONG_VECTORS = "xla_cpu_prefer_vector_width", 512
#: How many steps of a loop over vectors LLVM takes beside each other: of its own choice
#: one, where a step has many instructions. An option of LLVM, and in force while the
#: program is compiled.
STEPS_BESIDE_EACH_OTHER = "-force-vector-interleave"
#: passes of XLA that a program is compiled without, and the one that divides kernels
#: among cores
DISABLED_PASSES = "xla_disable_hlo_passes"
DIVISION_AMONG_CORES = "cpu-parallel-task-assigner"
# Settings that XLA reads from a map among its DebugOptions, and not from a field.
_EXTRA = frozenset({SMALL_LOOP_BYTES, WITHOUT_TILES, STEPS_BESIDE_EACH_OTHER})


#: what users tell XLA, which reads it before its first client
FLAGS = os.environ.get("XLA_FLAGS", "")


def left_to_us(options: Options) -> dict[str, Any]:
    """Those of the options that ``FLAGS`` do not name."""
    return {name: value for name, value in options.items() if name not in FLAGS}


#: What makes kernels without MLIR is in jaxlib up to 0.10.
HAS_PLAIN_KERNELS = xc._version < 480 and FUSION_EMITTERS not in FLAGS

# Fields of XLA's DebugOptions that covector sets, by platform; a caller's go before
# them.
DEFAULT_OPTIONS: dict[str, dict[str, object]] = {
    # Dots and reductions go to the YNNPACK library as XLA would have it, convolutions
    # do not: XLA's own are parallel. 3×3, 64 channels, 32×56×56: 34 → 21 ms, the
    # gradient of its kernel 90 → 27 ms. Depthwise ones and those of one channel lose up
    # to three times.
    "cpu": {
        LIBRARY_FUSIONS: f"{DOTS},{_REDUCTIONS}",
        # A loop of which a step reads and writes fewer bytes becomes one kernel; XLA
        # would have 1024. Larger ones run each operation of a step as a kernel of its
        # own, some on all cores (docs/decisions/0008-small-loops-are-one-kernel.md).
        SMALL_LOOP_BYTES: SMALL_LOOP,
    },
}


def compile_options_of(
    devices: tuple[client.Device, ...], options: Options | None
) -> xc.CompileOptions:
    """For a partition on each device; ``options`` go before our own defaults."""
    ours = _default_options(client.device_platform(devices[0]))
    chosen = {**ours, **(options or {})}
    extra = tuple([(n, str(chosen.pop(n))) for n in _EXTRA if n in chosen])
    made = xc.CompileOptions.ParseFromString(_serialized(extra))
    made.num_replicas, made.num_partitions = 1, len(devices)
    made.device_assignment = xc.DeviceAssignment.create(
        np.array([[device.id for device in devices]], np.int32)
    )
    if len(devices) > 1:
        build = made.executable_build_options
        build.use_spmd_partitioning = build.use_shardy_partitioner = True
        # Results without a sharding in the module are partitioned by the compiler.
        build.allow_spmd_sharding_propagation_to_output = [True]
    made.env_option_overrides = list(chosen.items())
    return made


@functools.cache
def _default_options(platform: str) -> Options:
    """Ours for a platform, without those that are not left to us."""
    ours = DEFAULT_OPTIONS.get(platform, {})
    return {n: v for n, v in ours.items() if n not in _EXTRA or n not in FLAGS}


@functools.lru_cache(256)
def _serialized(extra: tuple[tuple[str, str], ...]) -> bytes:
    """A CompileOptions with these ``xla_backend_extra_options``, as a protocol buffer.

    No attribute reaches that map. But buffers one after the other are read as one, the
    later adding to the earlier.
    """
    entries = [
        _field(500, _field(1, name.encode()) + _field(2, value.encode()))
        for name, value in extra
    ]
    executable_build_options, debug_options = 3, 3
    added = _field(executable_build_options, _field(debug_options, b"".join(entries)))
    return xc.CompileOptions().SerializeAsString() + added


def _field(number: int, content: bytes) -> bytes:
    """A field of bytes: its number with the wire type 2, its length, its content."""
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(number: int) -> bytes:
    low, high = number & 127, number >> 7
    return bytes([low | 128]) + _varint(high) if high else bytes([low])

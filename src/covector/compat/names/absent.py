"""Names of the field that covector does not have: what is planned, and what to do.

A name here stands for all below it.
"""

from typing import NamedTuple


class Absent(NamedTuple):
    """A name without a counterpart."""

    planned: bool
    instead: str


#: what will come
PLANNED = {
    "jax.experimental.rnn": "An LSTM is a covector.lax.scan over its cell.",
}

#: what will not, as far as anybody knows
NOT_PLANNED = {
    "jax.experimental.array_serialization": "covector.experimental.checkpoint keeps "
    "arrays in files.",
    "jax.experimental.buffer_callback": "covector.ffi calls functions on buffers.",
    "jax.experimental.colocated_python": "covector launch starts a program on a "
    "machine, several times.",
    "jax.experimental.compute_on": "Programs run whole on the device of their "
    "arguments; covector.pure_callback calls Python on the host.",
    "jax.experimental.cur_qdd": "Programs carry arrays alone, no types of "
    "packages; covector.new_ref makes references, which programs change.",
    "jax.experimental.control_deps": "covector.lax.optimization_barrier keeps order.",
    "jax.experimental.custom_partitioning": "covector.shard_map says how a function is "
    "divided.",
    "jax.experimental.jax2tf": "covector.export writes StableHLO, which TensorFlow "
    "reads.",
    "jax.experimental.key_reuse": "Whether keys are reused is not watched for.",
    "jax.experimental.mosaic": "covector.ffi calls kernels of other compilers.",
    "jax.experimental.multihost_utils.live_devices": "A peer that is gone is an error, "
    "covector.errors.PeerLost.",
    "jax.experimental.multihost_utils.reached_preemption_sync_point": "A warning of a "
    "cluster reaches a program as a signal: signal.signal(signal.SIGTERM, …).",
    "jax.experimental.pallas": "covector.ffi calls kernels of other compilers; XLA "
    "fuses elementwise operations by itself.",
    "jax.experimental.scheduling_groups": "The compiler orders operations.",
    "jax.experimental.topologies": "Programs are compiled for devices that are there; "
    "covector.export writes them for others.",
    "jax.experimental.xla_metadata": "covector.named_scope names operations.",
    "jax.extend.ifrt_programs": "There is no proxy between a program and its devices.",
    "jax.extend.source_info_util.user_context": "Equations keep the lines they have.",
    "jax.extend.xla": "covector.jit(f).lower(x).as_text() is the program.",
    "jax.interpreters.ad.jvp": "covector.jvp differentiates a function.",
    "jax.interpreters.ad.linearize": "covector.linearize linearizes a function.",
    "jax.interpreters.batching.register_vmappable": "Register the class as a node of "
    "pytrees, whose leaves are arrays.",
    "jax.interpreters.mlir.core_call_lowering": "mlir.lower_fun makes a rule of a "
    "function.",
    "jax.interpreters.pxla": "Executables: covector.jit(f).lower(x).compile().",
    "jax.sharding.auto_axes": "Types do not say how arrays are divided over a mesh: "
    "every axis is left to the compiler already.",
    "jax.sharding.explicit_axes": "Types do not say how arrays are divided over a "
    "mesh; covector.shard_map says it by hand.",
    "jax._src.core.physical_aval": "Packages cannot define element types.",
    "jax._src.cudnn": "covector.nn.dot_product_attention is attention.",
    "jax._src.earray": "Packages cannot define element types.",
    "jax._src.interpreters.pxla": "Packages cannot define element types.",
    "jax._src.literals": "Numbers and NumPy's arrays in programs stay what they are.",
}


def find(name: str) -> Absent | None:
    """What is known of a missing name, or of what it is in; None for nothing."""
    while name:
        for planned, table in ((True, PLANNED), (False, NOT_PLANNED)):
            if name in table:
                return Absent(planned, table[name])
        name = name.rpartition(".")[0]
    return None

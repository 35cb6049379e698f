"""LAPACK on CPUs: the kernels of jaxlib, made known to XLA when first needed.

The kernels are custom calls around the LAPACK that SciPy carries, which jaxlib
requires. Until they are bound to it, a program that calls one would crash: so whoever
writes such a call into a program, or loads one, calls ``prepare`` before.
"""

import functools
import importlib

from jaxlib import xla_client as xc

#: how the names of the kernels begin that are LAPACK, and the name of one that is not
PREFIX = "lapack_"
PERTURBED = "tridiagonal_solve_perturbed_ffi"


def is_called_by(executable: bytes) -> bool:
    """Whether a serialized executable calls one of the kernels."""
    return PREFIX.encode() in executable or PERTURBED.encode() in executable


@functools.cache
def prepare() -> None:
    """Register the kernels and bind them to SciPy's LAPACK, which takes 0.2 s once."""
    kernels = importlib.import_module("jaxlib.lapack")
    for name, kernel, version in kernels.registrations()["cpu"]:
        xc.register_custom_call_target(
            name, kernel, platform="cpu", api_version=version
        )
    for name in kernels.batch_partitionable_targets():
        xc.register_custom_call_as_batch_partitionable(name)
    kernels._lapack.initialize()

"""The interface to jaxlib: clients, buffers and executables.

This package speaks NumPy arrays, PJRT devices and buffers, StableHLO modules and
executables; no covector concept enters it. With ``lowering/hlo.py`` and ``tree`` it is
the only place that imports jaxlib, and it absorbs the differences between jaxlib
versions.
"""

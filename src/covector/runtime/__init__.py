"""What covector asks of jaxlib: clients, buffers, executables. No covector concept enters here.

This package speaks NumPy arrays, PJRT devices and buffers, StableHLO modules and executables. It
is the only place, with ``lowering/hlo.py`` and ``tree.py``, where jaxlib is imported, and it
absorbs the differences between jaxlib versions.
"""

"""What tests and examples have in common: a CPU that appears as eight devices, and
tracebacks with the frames of covector.
"""

import os

# It takes effect when the first array is made. Programs on one device do not notice.
os.environ.setdefault("COVECTOR_NUM_CPU_DEVICES", "8")
os.environ.setdefault("COVECTOR_TRACEBACK", "full")

#: importing these makes ``jax`` covector, for the whole process
collect_ignore = ["src/covector/compat/jax.py", "src/covector/compat/door"]

#: they have no doctests, and tests/test_gallery.py imports and runs them
collect_ignore_glob = ["docs/gallery/*.py"]

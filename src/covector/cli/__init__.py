"""The command line: ``covector demo``, ``doctor`` and ``launch``."""

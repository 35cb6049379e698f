"""The command line: ``covector demo`` and ``covector doctor``."""

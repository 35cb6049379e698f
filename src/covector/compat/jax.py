"""``import covector.compat.jax`` is ``covector.compat.install()``, and this module is
``jax`` itself.
"""

import importlib
import sys

from covector.compat import finder

finder.install()
sys.modules[__name__] = importlib.import_module("jax")

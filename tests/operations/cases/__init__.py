"""The table of operations: one module per subject, each with its rows in ``CASES``."""

import importlib
import pkgutil

from tests.laws import Case

CASES: dict[str, list[Case]] = {
    module.name: importlib.import_module(f"{__name__}.{module.name}").CASES
    for module in pkgutil.iter_modules(__path__)
}

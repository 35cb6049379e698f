"""The table of operations: one module per subject, each with its rows in ``CASES``."""

import dataclasses
import importlib
import pkgutil
from collections import defaultdict
from typing import Any

import numpy as np

from covector.core.primitive import Primitive
from tests.laws import Case


def _in_order(rows: dict[str, list[Case]]) -> dict[str, list[Case]]:
    """The rows, each with those of its kind that come before it."""
    before: defaultdict[tuple[Any, ...], list[Case]] = defaultdict(list)

    def after_others(case: Case) -> Case:
        alike = before[_kind(case.op)]
        alike.append(dataclasses.replace(case, before=tuple(alike)))
        return alike[-1]

    return {subject: list(map(after_others, cases)) for subject, cases in rows.items()}


def _kind(op: Primitive) -> tuple[Any, ...]:
    """The class, and the element types among the parameters: casts to another type, of
    every type, are another operation.
    """
    parameters = op.parameters.values()
    return (type(op), *[str(p) for p in parameters if isinstance(p, np.dtype)])


CASES = _in_order(
    {
        module.name: importlib.import_module(f"{__name__}.{module.name}").CASES
        for module in pkgutil.iter_modules(__path__)
    }
)

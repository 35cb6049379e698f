"""Rows of functions that are an elementwise operation: derived from the operation.

``lax.cosh`` and ``numpy.cosh`` apply the operation ``cosh``: its class says which
element types it takes, and its cases in ``tests/operations/cases/`` where derivatives
exist and what NumPy makes of its operands. A function that differs in anything has a
row of its own under ``rows/``.
"""

from typing import Any

import numpy as np

import covector.numpy as cnp
from covector import lax
from covector.operations.families import Elementwise
from tests.laws import Case
from tests.operations.cases import CASES
from tests.public.makers import alike, elementwise
from tests.public.table import TABLE, rows
from tests.public.worlds import World

_SAMPLES = {"b": np.bool_, "i": np.int32, "u": np.uint32, "f": np.float32}
_SAMPLES |= {"c": np.complex64}


def add_rows() -> None:
    """A row for each public function that has none and the name of an operation."""
    # By what they are: a row may have another name of the function.
    function = World("covector").function
    # Of a package with lazy modules, a list that is made each time.
    in_lax, in_numpy = set(lax.__all__), set(cnp.__all__)
    known = {function(name) for name in TABLE if name.startswith("numpy.")}
    for cases in CASES.values():
        for case in cases:
            if not isinstance(case.op, Elementwise) or not _is_real(case):
                continue
            name, kinds, facts = case.op.name, _kinds(case.op), _facts(case)
            count, smooth = len(case.args), _range(case)
            if name in in_lax and f"lax.{name}" not in TABLE:
                rows("lax", name, alike(kinds, count, smooth=smooth), **facts)
            if name in in_numpy and getattr(cnp, name) not in known:
                known.add(getattr(cnp, name))
                # What is of floats only takes integers too: they are promoted.
                promoted = kinds if "i" in kinds else f"biu{kinds}"
                make = elementwise(*[promoted] * count, smooth=smooth)
                rows("numpy", name, make, **facts)


def _kinds(op: Elementwise) -> str:
    accepts = type(op).accepts
    return "".join([k for k, x in _SAMPLES.items() if accepts(np.dtype(x))])


def _facts(case: Case) -> dict[str, Any]:
    known = hasattr(np, case.op.name)
    return {"derivative": any(case.active), "numpy": "" if known else case.reference}


def _is_real(case: Case) -> bool:
    return all(x.size and x.dtype.kind in "iuf" for x in case.args)


def _range(case: Case) -> tuple[float, float]:
    """That of its operands: there the operation is defined, and has derivatives."""
    return min(x.min() for x in case.args), max(x.max() for x in case.args)

"""Whether two results agree: shape, dtype, weak type, values, NaN, signs of zero."""

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from covector.core import dtypes


@dataclass(frozen=True)
class Tolerance:
    """``rounding`` machine epsilons, of the value and of ``scale``.

    ``zeros``: the signs of zeros count too. Numbers below the smallest normal one are
    zero for XLA on the CPU, so that they differ from zero by nothing.
    """

    rounding: float
    scale: float = 0.0
    zeros: bool = True


EXACT = Tolerance(0.0)


def value_difference(found: Any, wanted: Any, tolerance: Tolerance) -> str | None:
    """What differs between two arrays, dtypes not counted; None if nothing does."""
    ours, theirs = np.asarray(found), rounded(wanted, found)
    if ours.shape != theirs.shape:
        return f"shape {ours.shape}, not {theirs.shape}"
    if not (_is_inexact(ours) or _is_inexact(theirs)):
        same = np.array_equal(ours, theirs)
        return None if same else f"{_short(ours)}, not {_short(theirs)}"
    with np.errstate(all="ignore"):
        if _is_complex(ours) or _is_complex(theirs):
            ours, theirs = ours.astype(np.complex128), theirs.astype(np.complex128)
            wrong = _far(ours, theirs, _epsilon(found, wanted), tolerance)
        else:
            ours, theirs = ours.astype(np.float64), theirs.astype(np.float64)
            wrong = _far(ours, theirs, _epsilon(found, wanted), tolerance)
            if tolerance.zeros:
                signs = np.signbit(ours) != np.signbit(theirs)
                wrong |= (ours == 0) & (theirs == 0) & signs
    return f"{_short(ours)}, not {_short(theirs)}" if wrong.any() else None


def type_difference(found: Any, wanted: Any) -> str | None:
    """What differs between the dtypes and weaknesses of two results."""
    ours, theirs = getattr(found, "dtype", None), getattr(wanted, "dtype", None)
    if ours is None or theirs is None or str(ours) == str(theirs):
        return None  # a shape, for instance, is made of Python's integers
    return f"dtype {ours}, not {theirs}"


def weakness_difference(found: Any, wanted: Any) -> str | None:
    ours, theirs = getattr(found, "weak_type", None), getattr(wanted, "weak_type", None)
    if (
        ours is None
        or theirs is None
        or ours == theirs
        or np.dtype(found.dtype) == bool
    ):
        return None  # a weak bool is promoted like any other
    return f"weak_type {ours}, not {theirs}"


def rounded(reference: Any, found: Any) -> np.ndarray:
    """A reference, worked out in another dtype, as the dtype of the result."""
    ours, theirs = np.asarray(found), np.asarray(reference)
    if ours.dtype == theirs.dtype or ours.dtype.kind not in "fVcui":
        return theirs
    if _is_inexact(theirs) and not _is_inexact(ours):
        return theirs
    if _is_complex(theirs) and not _is_complex(ours):
        return theirs
    with np.errstate(all="ignore"):
        return theirs.astype(ours.dtype)


def magnitude(values: list[Any]) -> float:
    """The largest finite magnitude among arrays."""
    sizes = [0.0]
    for value in values:
        x = np.asarray(value)
        if x.dtype.kind in "biufcV" and x.size:
            wide = np.abs(
                x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)
            )
            sizes.append(float(wide[np.isfinite(wide)].max(initial=0.0)))
    return max(sizes)


def _far(
    ours: np.ndarray, theirs: np.ndarray, info: Any, tolerance: Tolerance
) -> np.ndarray:
    rounding = min(tolerance.rounding, 4.0) if info.eps > 1e-4 else tolerance.rounding
    margin = rounding * float(info.eps)
    allowed = margin * np.maximum(np.abs(theirs), tolerance.scale) + float(info.tiny)
    close = np.abs(ours - theirs) <= allowed
    both_nan = np.isnan(ours) & np.isnan(theirs)
    return ~(close | (ours == theirs) | both_nan | _beyond(ours, theirs, info, margin))


def _beyond(ours: Any, theirs: Any, info: Any, margin: float) -> Any:
    """Where one is infinite because it was rounded up, and the other is the maximum."""
    largest = float(info.max) * (1 - margin)
    over = (np.abs(ours) >= largest) & (np.abs(theirs) >= largest)
    return over & (np.sign(ours) == np.sign(theirs)) & (margin > 0)


def _is_inexact(x: np.ndarray) -> bool:
    return dtypes.is_inexact(x.dtype)


def _is_complex(x: np.ndarray) -> bool:
    return x.dtype.kind == "c"


def _epsilon(*values: Any) -> Any:
    """The format of the less precise of two results."""
    found = [np.asarray(v).dtype for v in values]
    infos = [ml_dtypes.finfo(d) for d in found if dtypes.is_inexact(d)]
    return max(infos, key=lambda info: float(info.eps))


def _short(x: np.ndarray) -> str:
    return np.array2string(x, threshold=40, precision=9, separator=", ").replace(
        "\n", ""
    )

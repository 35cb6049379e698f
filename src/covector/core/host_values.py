"""NumPy arrays at the boundary: brought to one form, and handed out read-only.

Arrays of NumPy come in many forms that say the same: with a dtype object that equals
NumPy's and is another (``pickle`` and ``newbyteorder`` make such), in another order of
bytes, as a subclass. Inside there is one: a plain array in native order, whose dtype is
the object that ``core/dtypes.py`` knows. Going out, nobody gets at memory of ours to
write to it.
"""

from typing import Any

import numpy as np

from covector.core import dtypes
from covector.errors import DTypeError


def with_dtype(values: Any, dtype: np.dtype) -> Any:
    """``values``, whose dtype equals ``dtype``, with that very object for a dtype."""
    return values.view(dtype)


def refuse_masks(values: np.ndarray | np.generic) -> None:
    """Raise where elements are hidden by a mask, which arrays here do not have."""
    if isinstance(values, np.ma.MaskedArray):
        raise DTypeError(
            f"a masked array of {values.dtype} and shape {values.shape} came where an "
            "array was wanted: arrays have no masks. Fill the gaps with x.filled(0), "
            "and pass where=~x.mask to functions that take it."
        )


def plain(x: Any) -> np.ndarray:
    """``np.asarray(x)``, which does not take a masked array without its mask."""
    values = np.asanyarray(x)
    if type(values) is not np.ndarray:
        refuse_masks(values)
    return np.asarray(values)


def in_numpy_dtype(values: np.ndarray) -> np.ndarray:
    """``values``, or their bits where NumPy only stores elements of their dtype."""
    if dtypes.is_of_numpy(values.dtype):
        return values
    return values.view(f"u{values.dtype.itemsize}")


def read_only(values: np.ndarray) -> np.ndarray:
    """A view of ``values`` that cannot be written to, nor be made writable."""
    # What has the memory of an array as its base can be followed back to that array,
    # and be made writable there. A capsule leads nowhere.
    try:
        view = np.from_dlpack(values)
    except (AttributeError, BufferError):
        return _read_only_otherwise(np.asarray(values))
    view.setflags(write=False)
    return view


def _read_only_otherwise(values: np.ndarray) -> np.ndarray:
    """The same for scalars of NumPy, dtypes that DLPack does not know, and NumPy before
    2.1, which exports nothing that is read-only.
    """
    if not values.dtype.itemsize:
        return values  # float0: there is nothing to write
    bits = in_numpy_dtype(values)
    try:
        view = np.from_dlpack(bits)
    except BufferError:
        view = np.from_dlpack(bits.copy())
    view.setflags(write=False)
    return with_dtype(view, values.dtype)

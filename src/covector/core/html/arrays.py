"""What a notebook shows of an array: its values where they are few, else a picture."""

from typing import Any

import numpy as np

from covector.core import dtypes
from covector.core.html.elements import element, fragment
from covector.core.html.pictures import Values, picture
from covector.core.html.shardings import device_name, shards
from covector.errors import how_many

#: more elements than that are drawn
_FEW = 100
#: more than that are neither drawn nor brought to the host for it
_MOST = 2**24


def array_html(array: Any, described: bool) -> str:
    """The HTML of a concrete array. One that is only ``described`` has no numbers to
    draw: it is deleted, holds random keys, or is not all in this process.
    """
    if array.is_deleted():
        return fragment(element("pre", repr(array)))
    facts = _facts(array)
    divided = array.sharding.num_devices > 1
    where = [shards(array.sharding, array.shape)] if divided and array.ndim else []
    if array.size <= _FEW:
        return fragment(element("pre", repr(array)), facts, *where)
    title = element("b", f"Array {array.shape} {array.dtype.name}")
    if described:
        return fragment(title, facts, *where)
    if array.size > _MOST:
        note = element("div", f"More than {_MOST:,} elements are not drawn.")
        return fragment(title, facts, note, *where)
    return fragment(title, facts, *_drawn(array), *where)


def tracer_html(tracer: Any) -> str:
    """The HTML of a traced array: its type, and what made it."""
    return fragment(
        element("pre", repr(tracer)), element("div", tracer.origin(), class_="soft")
    )


def _facts(array: Any) -> str:
    """The size, the memory and the device of an array."""
    devices = array.sharding.flat_devices
    several = how_many(len(devices), "device")
    where = device_name(devices[0]) if len(devices) == 1 else several
    count = how_many(f"{array.size:,}", "element")
    facts = f"{array.type} · {count} · {_bytes(array.nbytes)} · {where}"
    return element("div", facts, class_="soft")


def _bytes(count: float) -> str:
    if count < 1024:
        return f"{count} B"
    for unit in ("KiB", "MiB"):
        count /= 1024
        if count < 1024:
            return f"{count:.1f} {unit}"
    return f"{count / 1024:.1f} GiB"


def _drawn(array: Any) -> list[str]:
    """The range of the values in words, and their picture."""
    values = np.asarray(array.host())
    magnitude = dtypes.is_complex(array.dtype)
    with np.errstate(over="ignore"):
        numbers: Values = (np.abs(values) if magnitude else values).astype(np.float64)
    finite = numbers[np.isfinite(numbers)]
    others = _not_finite(numbers)
    if not finite.size:
        return [element("div", f"no finite values: {others}")]
    low, high = float(finite.min()), float(finite.max())
    if low == high and not others:
        return [element("div", f"all elements are {low:.6g}")]
    mean = float((finite / finite.size).sum())  # the sum itself may overflow
    name = "|x|" if magnitude else "x"
    words = f"{low:.4g} ≤ {name} ≤ {high:.4g}, mean {mean:.4g}"
    line = element("div", f"{words}; {others}" if others else words)
    return [line, picture(numbers, low, high)]


def _not_finite(numbers: Values) -> str:
    """``3 NaN, 1 inf``: how many values are not finite."""
    nans, infinities = int(np.isnan(numbers).sum()), int(np.isinf(numbers).sum())
    counts = [(nans, "NaN"), (infinities, "inf")]
    return ", ".join(f"{count:,} {name}" for count, name in counts if count)

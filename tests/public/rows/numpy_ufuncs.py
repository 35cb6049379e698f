"""Rows of the methods of ``covector.numpy``'s ufuncs, and of what only tells about types."""

from typing import Any

import numpy as np

from tests.public.draws import Draw, Maker
from tests.public.makers import elementwise, of_array
from tests.public.table import rows

REAL, ANY = "biuf", "biufc"
#: ufuncs, and what they take
UFUNCS = {
    "add": ANY, "multiply": ANY, "subtract": "iufc", "maximum": REAL, "minimum": REAL,
    "logaddexp": "f", "logaddexp2": "f", "logical_and": REAL, "logical_or": REAL,
    "logical_xor": REAL, "bitwise_and": "biu", "bitwise_or": "biu", "bitwise_xor": "biu",
}


def reduced(kinds: str) -> Maker:
    def make(draw: Draw) -> Any:
        draw.huge = False
        x = draw.array(kinds, draw.shape((1, 3), empty=False), (-3, 4))
        return (x,), draw.some(keepdims=(True, False)) | {"axis": draw.pick(None, draw.axis(x.ndim))}

    return make


def in_64_bits(make: Maker) -> Maker:
    """Samples under ``enable_x64``, without which such dtypes are warned of."""

    def made(draw: Draw) -> Any:
        draw.x64 = True
        return make(draw)

    return made


def added_at(kinds: str) -> Maker:
    def make(draw: Draw) -> Any:
        x = draw.array(kinds, (4,), (-3, 4))
        index = draw.array("i", (3,), (-4, 4))
        return (x, index, draw.values(x.dtype, (3,), (-3, 4))), {"inplace": False}

    return make


def at_in_place(name: str) -> Any:
    def write(x: np.ndarray, index: Any, value: Any, inplace: bool = False) -> Any:
        out = x.copy()
        getattr(np, name).at(out, index, value)
        return out

    return write


def truthful(name: str) -> Any:
    """NumPy's ``reduceat`` of logical functions, of truth values."""
    return lambda x, starts, axis: getattr(np, name).reduceat(x != 0, starts, axis)


def pieces(draw: Draw, x: np.ndarray) -> tuple[Any, int]:
    """Where slices begin, which must be known."""
    axis = draw.axis(x.ndim)
    return [draw.integer(0, x.shape[axis]) for _ in range(3)], axis


for name, kinds in UFUNCS.items():
    facts: dict[str, Any] = {"cancels": True, "zeros": False}
    if name in ("maximum", "minimum"):
        facts["derivative"] = False  # where numbers are equal, there is none
    scan = of_array(kinds, lambda d, x: (d.axis(x.ndim),), ndim=(1, 2), empty=False, within=(-3, 4))
    rows(f"numpy.{name}", "reduce", reduced(kinds), **facts)
    rows(f"numpy.{name}", "accumulate", scan, **facts)
    rows(f"numpy.{name}", "outer", lambda d, kinds=kinds: (d.array(kinds, d.shape((0, 1)), (-3, 4)),
                                                           d.array(kinds, d.shape((0, 2)), (-3, 4))), **facts)
    truth = {"numpy": truthful(name)} if name.startswith("logical") else {}
    rows(f"numpy.{name}", "reduceat", of_array(kinds, pieces, ndim=(1, 2), empty=False, within=(-3, 4)), **facts | truth)
    if name == "multiply":
        facts["derivative"] = False  # of products of what is repeated, at is refused
    if not name.startswith("logical"):
        rows(f"numpy.{name}", "at", added_at(kinds), numpy=at_in_place(name), **facts)

NAMES = ("bool", "int8", "uint8", "int32", "float16", "float32", "complex64", "bfloat16")

rows("numpy", "promote_types", lambda d: (d.pick(*NAMES), d.pick(*NAMES)), numpy=None, traced=None)
rows("numpy", "can_cast", lambda d: (d.pick(*NAMES[:-1]), d.pick(*NAMES[:-1])), traced=None)
rows("numpy", "result_type", elementwise(ANY, ANY), numpy=None, traced=None)
rows("numpy", "isdtype", lambda d: (np.dtype(d.pick(*NAMES[:-1])), d.pick("integral", "numeric", "real floating", "bool")), traced=None)
rows("numpy", "issubdtype", lambda d: (d.pick(*NAMES[:-1]), d.pick(np.integer, np.floating, np.inexact)), traced=None)
rows("numpy", "isscalar iterable", lambda d: (d.pick(1, 2.5, [1], "words", np.float32(1)),), traced=None)
rows("numpy", "float32 float16 bfloat16 complex64", elementwise(REAL, within=(-9, 9)), numpy=None, derivative=False)
rows("numpy", "float64 complex128", in_64_bits(elementwise(REAL, within=(-9, 9))), numpy=None, derivative=False)
rows("numpy", "bool_ int8 int16 int32 uint8 uint16 uint32", elementwise(REAL, within=(0, 9)), numpy=None)
rows("numpy", "int64 uint64", in_64_bits(elementwise(REAL, within=(0, 9))), numpy=None)
rows("Array", "dtype weak_type", of_array(ANY), numpy=None, traced=None)

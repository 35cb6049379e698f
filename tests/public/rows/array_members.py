"""Rows of what arrays have: methods, attributes, updates ``.at``, and Python's operators."""

from typing import Any

import numpy as np

from tests.public.draws import Draw, Function, Maker, cast
from tests.public.makers import elementwise, of_array, reduction
from tests.public.rows.numpy_creation import DTYPES
from tests.public.rows.numpy_elementwise import (
    EITHER_ZERO,
    clipped,
    floor_divide,
    power,
)
from tests.public.rows.numpy_reductions import masked, running
from tests.public.rows.numpy_selection import indices, partitioned, searched, taken
from tests.public.rows.numpy_shapes import (
    new_shape,
    ones,
    perhaps_order,
    repeated,
    two_axes,
)
from tests.public.table import rows

REAL, ANY = "biuf", "biufc"
SUMS = {"cancels": True, "zeros": False}

# -- methods and attributes ------------------------------------------------------------

rows("Array", "T real imag size ndim shape", of_array(ANY))
rows("Array", "itemsize nbytes", of_array("biu"))
rows("Array", "mT", of_array(ANY, ndim=(2, 3)))
rows("Array", "conj conjugate copy flatten ravel", of_array(ANY))
rows("Array", "sum", masked(ANY, True), **SUMS)
rows("Array", "prod", masked(ANY, True, within=(-3, 4)))
rows("Array", "mean", masked(ANY, False, single=True), cancels=True)
rows("Array", "var std", masked(ANY, False, single=True, ddof=(0, 1), within=(-9, 10), least=1),
     cancels=True)
rows("Array", "max min", masked(REAL, True), **EITHER_ZERO)
rows("Array", "all any", masked(ANY, False), numpy=None)
rows("Array", "ptp", reduction("iuf", empty=False), numpy=np.ptp, cancels=True)
rows("Array", "argmax argmin", reduction(REAL, several=False, empty=False))
rows("Array", "cumsum", running(ANY), cancels=True)
rows("Array", "cumprod", running(ANY))
rows("Array", "reshape", of_array(ANY, new_shape))
rows("Array", "squeeze", ones)
rows("Array", "transpose", of_array(ANY, perhaps_order))
rows("Array", "swapaxes", of_array(ANY, two_axes, ndim=(1, 3)))
rows("Array", "repeat", repeated)
rows("Array", "diagonal", of_array(ANY, lambda d, x: (d.integer(-2, 3),), ndim=(2, 3)))
rows("Array", "trace", of_array(ANY, lambda d, x: (d.integer(-2, 3),), ndim=(2, 3)), **SUMS)
rows("Array", "round", of_array("iufc", decimals=(0, 1)), cancels=True)
rows("Array", "clip", clipped, promotes=True, **EITHER_ZERO)
rows("Array", "astype", of_array("biuf", lambda d, x: ("float64" if d.smooth else d.pick(*DTYPES),)),
     numpy=cast)
rows("Array", "sort", of_array(ANY, lambda d, x: (d.axis(x.ndim),), ndim=(1, 3)), numpy=np.sort)
rows("Array", "argpartition", partitioned)
rows("Array", "argsort", of_array(ANY, lambda d, x: (d.axis(x.ndim),), ndim=(1, 3)),
     numpy=lambda x, axis: np.argsort(x, axis, stable=True))
rows("Array", "take", taken)
rows("Array", "searchsorted", searched, shuffled=False)
rows("Array", "compress", lambda d: (d.array(ANY, (2, 3)), np.array([True, False, True]), 1), traced=False)
rows("Array", "nonzero", of_array(ANY, ndim=(1, 2)), traced=False)
rows("Array", "dot", lambda d: (d.array(ANY, (2, 3), (-3, 4)), d.array(ANY, (3,), (-3, 4))), **SUMS)
rows("Array", "choose", lambda d: ((d.array("i", (4,), (0, 3)), [d.array("f", ()) for _ in range(3)]), {"mode": "wrap"}))
rows("Array", "view", lambda d: (d.values("float32", d.shape((1, 2))), d.pick("int32", "uint32")), derivative=False)
rows("Array", "byteswap", of_array("iu"))

# -- what Python writes with signs -----------------------------------------------------


def with_array(maker: Maker) -> Maker:
    """At least one operand is an array: of two numbers Python makes a number."""

    def make(draw: Draw) -> Any:
        while True:
            args, named = maker(draw)
            if any(isinstance(x, np.ndarray) for x in args):
                return args, named

    return make


def operator(*kinds: str, **bounds: Any) -> Maker:
    return with_array(elementwise(*kinds, **bounds))


def indexed(draw: Draw) -> tuple[np.ndarray, Any]:
    """An array and an index: whole numbers, slices, None, masks and arrays."""
    x = draw.array(ANY, draw.shape((1, 3), empty=False))
    return x, index_of(draw, x)


def index_of(draw: Draw, x: np.ndarray) -> Any:
    n = len(x)
    step = draw.pick(None, 1, 2, -1, -2)
    part = slice(draw.pick(None, draw.integer(-n - 1, n + 2)), draw.pick(None, draw.integer(-n - 1, n + 2)), step)
    choices = [
        draw.axis(n), part, ..., None, (..., draw.axis(x.shape[-1])), (None, part),
        indices(draw, n), indices(draw, n, (2,)), (part, ..., None),
    ]
    if x.ndim > 1:
        m = x.shape[1]
        choices += [
            (indices(draw, n, (2,)), indices(draw, m, (2,))), (part, indices(draw, m, (3,))),
            (indices(draw, n, (2, 1)), indices(draw, m, (3,))), (draw.axis(n), part), (indices(draw, n, ()), part),
            (part, [0, -1]),
        ]
    return draw.pick(*choices)


rows("operator", "add mul", operator(ANY, ANY), cancels=True)
rows("operator", "sub", operator("iufc", "iufc"), cancels=True)
rows("operator", "truediv", operator("iufc", "iufc"))
rows("operator", "floordiv", operator("iuf", "iuf"), numpy=floor_divide, promotes=True)
rows("operator", "mod", operator("iuf", "iuf"), cancels=True, promotes=True)
rows("operator", "pow", operator("iufc", "iufc", smooth=(0.1, 3.0)), numpy=power,
     rounding=2048)
rows("operator", "eq ne", operator(ANY, ANY), promotes=True)
rows("operator", "lt le gt ge", operator(REAL, REAL), promotes=True)
rows("operator", "and_ or_ xor", operator("biu", "biu"))
rows("operator", "lshift rshift", operator("iu", "iu", within=(0, 7)))
rows("operator", "neg pos abs", of_array("iufc"))
rows("operator", "invert", of_array("biu"))
rows("operator", "matmul", lambda d: (d.array(ANY, (2, 3), (-3, 4)), d.array(ANY, (3, 2), (-3, 4))), **SUMS)
rows("operator", "getitem", indexed)

# -- updates ---------------------------------------------------------------------------


def updated(kinds: str, value: str | None = None, within: Any = None) -> Maker:
    """An array, an index, and a value that broadcasts to what is indexed."""

    def make(draw: Draw) -> Any:
        draw.infinite = draw.huge = False
        x = draw.array(kinds, draw.shape((1, 3), empty=False), within)
        index = index_of(draw, x)
        shape = x[index].shape
        shape = shape[draw.integer(0, len(shape) + 1):] if shape else ()
        dtype = draw.dtype(value) if value else x.dtype
        return x, index, draw.values(dtype, shape, within)

    return make


def distinct(maker: Maker) -> Maker:
    """With an index that names every element once: else the last write is not known."""

    def make(draw: Draw) -> Any:
        while True:
            x, index, value = maker(draw)
            named = np.arange(x.size).reshape(x.shape)[index]
            if np.unique(named).size == named.size:
                return (x, index, value), {"unique_indices": True}

    return make


rows("at", "get", indexed)
rows("at", "set", distinct(updated(ANY)))
rows("at", "add subtract", updated("iufc", within=(-5, 6)), cancels=True)
rows("at", "multiply mul", distinct(updated("iufc", within=(-3, 4))), cancels=True)
rows("at", "divide", distinct(updated("fc", within=(1, 4))), rounding=64)
rows("at", "min max", updated("iuf"), derivative=False, **EITHER_ZERO)
rows("at", "power", distinct(updated("f", within=(0.5, 3))), rounding=64)
rows("at", "apply", lambda d: (*distinct(updated("if"))(d)[0][:2], Function(lambda xp: xp.square, "square")))

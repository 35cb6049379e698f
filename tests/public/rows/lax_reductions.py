"""Rows of ``covector.lax``: reductions, running totals, windows, sorting."""

from typing import Any

import numpy as np

from tests.public.draws import Draw, Function, Maker, Within
from tests.public.makers import of_array
from tests.public.rows.lax_shapes import subset
from tests.public.rows.numpy_elementwise import EITHER_ZERO
from tests.public.table import rows

REAL, ANY = "iuf", "biufc"
#: functions to reduce with, and where they start
FUNCTIONS = {"add": 0, "multiply": 1, "maximum": -9, "minimum": 9}


def reduced(kinds: str, within: Within = None) -> Maker:
    return of_array(kinds, subset, within=within)


def folded(kinds: str, within: Within = None) -> Maker:
    """Along one axis, perhaps backwards."""

    def make(draw: Draw) -> Any:
        draw.huge = draw.infinite = False
        x = draw.array(kinds, draw.shape((1, 3)), within)
        return (x, draw.integer(0, x.ndim)), draw.some(reverse=(True, False))

    return make


def combined(draw: Draw) -> tuple[Any, Any, Any]:
    """An array, an initial value, and the function to reduce with."""
    x = draw.array("if", draw.shape((1, 3)), (-3, 4))
    name = draw.pick(*FUNCTIONS)
    function = Function(lambda numpy: getattr(numpy, name), name)
    return x, np.asarray(FUNCTIONS[name]).astype(x.dtype), function


def reduced_by_function(draw: Draw) -> Any:
    x, start, function = combined(draw)
    return x, start, function, *subset(draw, x)


def in_windows(draw: Draw) -> Any:
    x, start, function = combined(draw)
    window, strides, dilation = (
        tuple([draw.integer(1, 3) for _ in x.shape]) for _ in range(3)
    )
    pads = tuple([(draw.integer(0, 2), draw.integer(0, 2)) for _ in x.shape])
    padding = draw.pick("SAME", "VALID", pads)
    base = tuple([draw.integer(1, 3) for _ in x.shape])
    named = draw.some(window_dilation=(dilation,), base_dilation=(base,))
    return (x, start, function, window, strides, padding), named


def chosen_index(draw: Draw, x: np.ndarray) -> tuple[int, Any]:
    return draw.integer(0, x.ndim), draw.pick(np.int32, np.uint8)


def sorted_along(draw: Draw) -> Any:
    x = draw.array(ANY, draw.shape((1, 3)))
    return (x,), draw.some(dimension=(0, -1), is_stable=(True, False))


def operands_sorted(draw: Draw) -> Any:
    """One array, or several by the first of them, or by two."""
    if draw.chance(0.5):
        return sorted_along(draw)
    shape = draw.shape((1, 3))
    count = draw.integer(2, 4)
    arrays = tuple([draw.array(ANY, shape, (0, 3)) for _ in range(count)])
    return (arrays,), draw.some(dimension=(0, -1), num_keys=(1, 2)) | {"is_stable": True}


def several_sorted(draw: Draw) -> Any:
    keys = draw.array("biu", draw.shape((1, 2)))
    return (keys, draw.array(ANY, keys.shape)), draw.some(dimension=(0, -1))


def largest(draw: Draw) -> Any:
    x = draw.array(REAL, draw.shape((1, 3), empty=False))
    axis = draw.axis(x.ndim)
    return (x, draw.integer(0, x.shape[axis] + 1)), {"axis": axis}


rows("lax", "reduce_sum", reduced("iufc"), cancels=True)
rows("lax", "reduce_prod", reduced("iufc", (-3, 4)))
rows("lax", "reduce_max reduce_min", reduced("biuf"), **EITHER_ZERO)
rows("lax", "reduce_and reduce_or reduce_xor", reduced("biu"))
rows("lax", "reduce", reduced_by_function, cancels=True, **EITHER_ZERO)
rows("lax", "reduce_window", in_windows, cancels=True, **EITHER_ZERO)
rows("lax", "argmax argmin", of_array(REAL, chosen_index, ndim=(1, 3), empty=False))
# A total that begins with -0.0 is -0.0, as in NumPy; in JAX 0.0.
rows("lax", "cumsum", folded("iufc"), cancels=True, zeros=False)
rows("lax", "cumprod", folded("iufc", (-3, 4)))
rows("lax", "cummax cummin", folded(REAL), **EITHER_ZERO)
rows("lax", "cumlogsumexp", folded("f", (-5, 5)), rounding=128, cancels=True)
rows("lax", "sort", operands_sorted)
rows("lax", "sort_key_val", several_sorted)
rows("lax", "top_k", largest)


def floats_largest(draw: Draw) -> Any:
    n = draw.integer(1, 6)
    x = draw.values("float32" if not draw.smooth else "float64", (2, n), (-4, 4))
    return (x, draw.integer(1, n + 1)), draw.some(recall_target=(0.9,))


rows("lax", "approx_max_k approx_min_k", floats_largest, placed=False)

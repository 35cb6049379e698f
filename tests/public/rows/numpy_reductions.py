"""Rows of ``covector.numpy``: reductions, statistics and running totals."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.public.draws import Draw, Maker
from tests.public.makers import reduction
from tests.public.rows.numpy_elementwise import EITHER_ZERO
from tests.public.table import rows

REAL, ANY = "biuf", "biufc"
DTYPES = ("float32", "int32")


def weighted(draw: Draw) -> Any:
    """``average``: weights of the array's shape, or of the axis."""
    x = draw.array("iuf", draw.shape((1, 2), empty=False), (-5, 6))
    axis = draw.pick(None, 0)
    shape = draw.pick(x.shape, x.shape[:1]) if axis == 0 else x.shape
    weights = draw.array("f", shape, (0.5, 2.0))
    named = {"axis": axis, "weights": weights} if draw.chance(0.7) else {"axis": axis}
    return (x,), named | draw.some(returned=(True, False), keepdims=(True, False))


def quantile(scale: float) -> Maker:
    """The levels are an operand too, of any shape."""

    def make(draw: Draw) -> Any:
        draw.infinite = False  # where infinity is beside a number, NumPy has NaN
        x = draw.array("iuf", draw.shape((1, 3), empty=False))
        q = draw.array("f", draw.shape((0, 1)), (0.0, scale))
        methods = ("linear", "lower", "higher", "nearest", "midpoint")
        named = {"axis": draw.axes(x.ndim)} if draw.chance(0.6) else {}
        return (x, q), named | draw.some(keepdims=(True, False), method=methods)

    return make


def precise(function: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy looks for the levels in their own precision, we in the array's too."""
    return lambda x, q, **named: function(x, q.astype(np.float64), **named)


def whole(x: np.ndarray, named: dict[str, Any]) -> dict[str, Any]:
    """Keywords that ask for integers only where there are some: NaN is none."""
    if x.dtype.kind not in "biu" and named.get("dtype") == "int32":
        return named | {"dtype": "float32"}
    return named


def masked(kinds: str, initial: bool, single: bool = False, **keywords: Any) -> Maker:
    """A reduction with ``where``, and the ``initial`` that it may need.

    ``single``: there is no derivative where it reduces one element, or none.
    """

    def make(draw: Draw) -> Any:
        (x,), named = reduction(kinds, **keywords)(draw)
        if draw.chance(0.3) and not (single and draw.smooth):
            named["where"] = draw.array("b", x.shape)
        if initial and ("where" in named or x.size == 0 or draw.chance(0.2)):
            named["initial"] = draw.pick(0, 1, 2)
        return (x,), whole(x, named)

    return make


TYPED = masked(ANY, True, dtype=DTYPES)
PRODUCT = masked(ANY, True, dtype=DTYPES, within=(-3, 4))
rows("numpy", "sum nansum", TYPED, cancels=True)
rows("numpy", "prod nanprod", PRODUCT)
rows("numpy", "mean nanmean", masked(ANY, False, single=True, dtype=("float32",)), cancels=True)
DEVIATION = masked(ANY, False, single=True, ddof=(0, 1), within=(-9, 10), least=1)
rows("numpy", "var std nanvar nanstd", DEVIATION, cancels=True)
rows("numpy", "max min amax amin nanmax nanmin", masked(REAL, True), **EITHER_ZERO)
rows("numpy", "ptp", reduction("iuf", empty=False), cancels=True)
rows("numpy", "all any", masked(ANY, False))
rows("numpy", "count_nonzero", reduction(ANY))
rows("numpy", "median nanmedian", reduction("iuf", empty=False, least=1),
     cancels=True, zeros=False)
for name, top in {"quantile": 1.0, "percentile": 100.0}.items():
    for each in (name, f"nan{name}"):
        rows("numpy", each, quantile(top), cancels=True, zeros=False,
             numpy=precise(getattr(np, each)))
rows("numpy", "average", weighted, cancels=True)
rows("numpy", "argmax argmin nanargmax nanargmin",
     reduction(REAL, several=False, empty=False))


def running(kinds: str, flat: bool = True, **keywords: Any) -> Maker:
    """An array and perhaps the axis to run along."""

    def make(draw: Draw) -> Any:
        x = draw.array(kinds, draw.shape((1, 3)), (-3, 4))
        named = {} if flat and draw.chance(0.3) else {"axis": draw.axis(x.ndim)}
        return (x,), whole(x, named | draw.some(**keywords))

    return make


rows("numpy", "cumsum nancumsum", running(ANY, dtype=DTYPES), cancels=True)
rows("numpy", "cumprod nancumprod", running(ANY, dtype=DTYPES))
rows("numpy", "cumulative_sum cumulative_prod",
     running(ANY, flat=False, include_initial=(True, False)), cancels=True)

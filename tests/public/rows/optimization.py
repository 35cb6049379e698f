"""Rows of ``scipy.optimize``: functions with one minimum, which every method finds."""

from typing import Any

from tests.public.draws import Draw, Function
from tests.public.table import rows


def bowl(draw: Draw) -> Any:
    n = draw.integer(1, 4)

    def make(xp: Any) -> Any:
        return lambda x: xp.sum(xp.cosh(x - 1)) + xp.sum(x) ** 2 / 8

    start = draw.values("float32", (n,), (-2, 2))
    return Function(make, "sum(cosh(x - 1)) + sum(x)² / 8"), start


def minimum(minimize: Any, fun: Any, x0: Any) -> Any:
    return minimize(fun, x0, method="BFGS").x


# A gradient of 1e-5 is a distance of as much from the minimum.
rows("scipy.optimize", "minimize", bowl, calling=minimum, rounding=1 << 10, cancels=True,
     derivative=False, numpy=None)  # fmt: skip

"""Products of matrices: square, transposed, batched, contracted, narrow types."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.measure import Bound, Measure
from benchmarks.measures.workload import everywhere, integers, normal, workload

TITLE = "Products"


def measures(tiny: bool) -> list[Measure]:
    return [*square(tiny), *batched(tiny), *contractions(tiny), *narrow(tiny)]


def product(np: Any) -> Callable[..., Any]:
    return lambda a, b: a @ b


def flops(rows: int, inner: int, columns: int, times: int = 1) -> Bound:
    """Multiplications and additions of a product, and the bytes of its matrices."""
    entries = rows * inner + inner * columns + rows * columns
    return Bound(bytes=4 * times * entries, flops=2 * times * rows * inner * columns)


def square(tiny: bool) -> list[Measure]:
    sizes, n, wide = ((4,), 4, 8) if tiny else ((64, 512, 2048), 1024, 4096)
    return [
        *[
            everywhere(
                f"matmul, {k}²", product, normal((k, k), (k, k)), bound=flops(k, k, k)
            )
            for k in sizes
        ],
        everywhere(
            f"matrix · vector, {wide}²",
            product,
            normal((wide, wide), (wide,)),
            bound=flops(wide, wide, 1),
        ),
        everywhere(
            f"matmul transposed, aᵀ·b, {n}²",
            lambda np: lambda a, b: a.T @ b,
            normal((n, n), (n, n)),
            bound=flops(n, n, n),
        ),
        everywhere(
            f"gradient of sum(tanh(a·b)), {n}²",
            lambda np: lambda a, b: np.tanh(a @ b).sum(),
            normal((n, n), (n, n), scale=n**-0.5),
            peers=("torch",),
            wrt=(0, 1),
            bound=Bound(flops=6 * n**3),
        ),
    ]


def batched(tiny: bool) -> list[Measure]:
    shapes = ((64, 256), (1000, 64), (4096, 8))
    if tiny:
        shapes = ((3, 4),)
    count = 5 if tiny else 100_000
    return [
        *[
            everywhere(
                f"{times:,} × {n}³, batched",
                product,
                normal((times, n, n), (times, n, n)),
                bound=flops(n, n, n, times),
            )
            for times, n in shapes
        ],
        everywhere(
            f"{count:,} × 3 × 3 by 3, batched",
            lambda np: lambda a, x: np.einsum("nij,nj->ni", a, x),
            normal((count, 3, 3), (count, 3)),
            bound=Bound(bytes=60 * count),
        ),
    ]


def contractions(tiny: bool) -> list[Measure]:
    batch, heads, length, units = (2, 2, 4, 3) if tiny else (8, 8, 512, 64)
    shape = (batch, heads, length, units)
    many, side = (2, 3) if tiny else (32, 64)
    rows = 8 if tiny else 4096
    return [
        workload(
            f"einsum bhqd,bhkd->bhqk, {batch}·{heads}·{length}·{units}",
            lambda cv: partial(cv.numpy.einsum, "bhqd,bhkd->bhqk"),
            normal(shape, shape),
            others={
                "numpy": lambda np: lambda q, k: q @ k.swapaxes(-1, -2),
                "torch": lambda torch: partial(torch.einsum, "bhqd,bhkd->bhqk"),
            },
            bound=flops(length, units, length, batch * heads),
        ),
        workload(
            f"einsum bij,bjk,kl->il, {many}·{side}",
            lambda cv: partial(cv.numpy.einsum, "bij,bjk,kl->il"),
            normal((many, side, side), (many, side, side), (side, side)),
            others={
                "numpy": lambda np: lambda a, b, c: (a @ b).sum(0) @ c,
                "torch": lambda torch: partial(torch.einsum, "bij,bjk,kl->il"),
            },
            bound=Bound(bytes=8 * many * side**2, flops=2 * many * side**3),
        ),
        everywhere(
            f"tensordot over two axes, {side}³ by {side}³",
            lambda np: lambda a, b: np.tensordot(a, b, ([0, 1], [0, 1])),
            normal((side, side, side), (side, side, side)),
            bound=flops(side, side**2, side),
        ),
        everywhere(
            f"outer product and sum of rows, {rows}",
            lambda np: lambda x, y: np.exp(-np.abs(x[:, None] - y)).sum(1),
            normal((rows,), (rows,)),
            compiled=not tiny,
        ),
    ]


def narrow(tiny: bool) -> list[Measure]:
    n = 4 if tiny else 1024
    return [
        workload(
            f"matmul of bfloat16, {n}²",
            lambda cv: in_type(cv.numpy.bfloat16, lambda x: x.astype),
            normal((n, n), (n, n)),
            others={"torch": lambda torch: in_type(torch.bfloat16, lambda x: x.to)},
            bound=Bound(flops=2 * n**3, dtype="bfloat16"),
        ),
        workload(
            f"matmul of int8 to int32, {n}²",
            lambda cv: (
                lambda a, b: cv.numpy.matmul(
                    a, b, preferred_element_type=cv.numpy.int32
                )
            ),
            integers(100, (n, n), (n, n), low=-100, dtype=np.int8),
            others={"torch": lambda torch: torch._int_mm},
        ),
    ]


def in_type(dtype: Any, convert: Callable[[Any], Callable[[Any], Any]]) -> Any:
    """The product of two matrices that are rounded to ``dtype`` first."""
    return lambda a, b: convert(a)(dtype) @ convert(b)(dtype)

"""Convolutions and pooling, channels first as PyTorch has them."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.measure import Bound, Measure
from benchmarks.measures.workload import normal, workload

TITLE = "Windows"

LETTERS = {
    1: ("NCH", "OIH", "NCH"),
    2: ("NCHW", "OIHW", "NCHW"),
    3: ("NCDHW", "OIDHW", "NCDHW"),
}


def measures(tiny: bool) -> list[Measure]:
    return [*convolutions(tiny), *transposed(tiny), *pools(tiny), *together(tiny)]


def convolutions(tiny: bool) -> list[Measure]:
    few, many, long, side, large = (
        (1, 2, 12, 6, 12) if tiny else (16, 64, 4096, 56, 224)
    )
    line = (few, many, long), (many, many, 9)
    image = (2 * few, many, side, side), (many, many, 3, 3)
    first = (few, 3, large, large), (many, 3, 7, 7)
    deep = (few, many, side, side), (many, 1, 3, 3)
    edge = 6 if tiny else 16
    volume = (few // 4 + 1, few, edge, edge, edge), (few, few, 3, 3, 3)
    cubes = (few // 4 + 1) * few**2 * edge**3 * 27
    taps = 2 * few * many * side**2 * many * 9
    picture = 4 * few * many * side**2
    both = {"wrt": (0, 1)}
    rows = [
        (f"conv 1-D, {line[0]}, 9 wide", line, {}, few * many**2 * long * 9, {}),
        (f"conv 3 × 3, {image[0]}", image, {}, taps, {}),
        (f"gradients of conv 3 × 3, {image[0]}", image, {}, 3 * taps, both),
        (
            f"conv 7 × 7, stride 2, {first[0]}",
            first,
            {"stride": 2},
            few * many * (large // 2) ** 2 * 3 * 49,
            {},
        ),
        (f"depthwise conv 3 × 3, {deep[0]}", deep, {"groups": many}, 0, {}),
        (
            f"gradients of depthwise conv 3 × 3, {deep[0]}",
            deep,
            {"groups": many},
            0,
            both,
        ),
        (f"conv 3 × 3 × 3, {volume[0]}", volume, {}, cubes, {}),
        (f"gradients of conv 3 × 3 × 3, {volume[0]}", volume, {}, 3 * cubes, both),
    ]
    return [
        workload(
            name,
            partial(convolution, total=bool(facts), **options),
            normal(*shapes),
            others={"torch": partial(in_torch, total=bool(facts), **options)},
            bound=Bound(flops=2 * products) if products else Bound(bytes=2 * picture),
            **facts,
        )
        for name, shapes, options, products, facts in rows
    ]


def convolution(
    cv: Any, *, total: bool, stride: int = 1, groups: int = 1
) -> Callable[..., Any]:
    """Of images and kernels; the sum of squares of the result if ``total``."""

    def run(x: Any, kernel: Any) -> Any:
        around = [(n // 2, n // 2) for n in kernel.shape[2:]]
        out = cv.lax.conv_general_dilated(
            x,
            kernel,
            (stride,) * len(around),
            around,
            dimension_numbers=LETTERS[len(around)],
            feature_group_count=groups,
        )
        return (out**2).sum() if total else out

    return run


def in_torch(
    torch: Any, *, total: bool, stride: int = 1, groups: int = 1
) -> Callable[..., Any]:
    functional = torch.nn.functional

    def run(x: Any, kernel: Any) -> Any:
        convolve = getattr(functional, f"conv{x.ndim - 2}d")
        around = kernel.shape[-1] // 2
        out = convolve(x, kernel, stride=stride, padding=around, groups=groups)
        return (out**2).sum() if total else out

    return run


def transposed(tiny: bool) -> list[Measure]:
    """A convolution that doubles the sides of images, as decoders have it."""
    few, many, side = (2, 3, 4) if tiny else (16, 32, 16)
    shapes = (few, 2 * many, side, side), (many, 2 * many, 4, 4)

    def program(cv: Any) -> Callable[..., Any]:
        return squared(
            partial(
                cv.lax.conv_general_dilated,
                window_strides=(1, 1),
                padding=[(2, 2), (2, 2)],
                lhs_dilation=(2, 2),
                dimension_numbers=LETTERS[2],
            )
        )

    def theirs(torch: Any) -> Callable[..., Any]:
        double = partial(torch.nn.functional.conv_transpose2d, stride=2, padding=1)
        return squared(lambda x, kernel: double(x, kernel.swapaxes(0, 1).flip(2, 3)))

    return [
        workload(
            f"gradients of transposed conv 4 × 4, stride 2, {shapes[0]}",
            program,
            normal(*shapes),
            wrt=(0, 1),
            others={"torch": theirs},
            bound=Bound(flops=2 * 3 * few * (2 * side) ** 2 * many * 2 * many * 4),
        )
    ]


def pools(tiny: bool) -> list[Measure]:
    few, many, side = (1, 2, 5) if tiny else (16, 64, 57)
    shape, even = (few, many, side, side), (few, many, side - 1, side - 1)
    size = 4 * few * many * side**2
    return [
        workload(
            f"max pool 3 × 3, stride 2, {shape}",
            lambda cv: pool(cv, -np.inf, cv.lax.max, 3),
            normal(shape),
            others={"torch": lambda torch: partial(maxima(torch), kernel_size=3)},
            bound=Bound(bytes=1.25 * size),
        ),
        workload(
            f"avg pool 3 × 3, stride 2, {shape}",
            lambda cv: mean(pool(cv, 0.0, cv.lax.add, 3)),
            normal(shape),
            others={"torch": lambda torch: partial(means(torch), kernel_size=3)},
            bound=Bound(bytes=1.25 * size),
        ),
        workload(
            f"gradient of max pool 2 × 2, {even}",
            lambda cv: squared(pool(cv, -np.inf, cv.lax.max, 2)),
            normal(even),
            wrt=0,
            others={
                "torch": lambda torch: squared(partial(maxima(torch), kernel_size=2))
            },
            bound=Bound(bytes=2 * size),
        ),
    ]


def together(tiny: bool) -> list[Measure]:
    """A convolution, a pooling whose windows overlap, and a convolution, of one image
    at a time.
    """
    count, few, side = (2, 2, 12) if tiny else (64, 8, 28)
    shapes = (count, 1, side, side), (few, 1, 4, 4), (2 * few, few, 3, 3)
    name = f"gradients of conv, max pool and conv, vmap over {count} images of {side}²"

    def program(cv: Any) -> Callable[..., Any]:
        conv = partial(cv.lax.conv, window_strides=(1, 1), padding="VALID")
        pooled = pool(cv, -np.inf, cv.lax.max, 2, stride=1)

        def one(x: Any, first: Any, second: Any) -> Any:
            h = pooled(cv.nn.relu(conv(x[None], first)))
            return (cv.nn.relu(conv(h, second)) ** 2).sum()

        return lambda x, *kernels: cv.vmap(lambda x: one(x, *kernels))(x).sum()

    return [workload(name, program, normal(*shapes, scale=0.3), wrt=(1, 2))]


def pool(
    cv: Any, start: float, join: Any, side: int, stride: int = 2
) -> Callable[[Any], Any]:
    window, strides = (1, 1, side, side), (1, 1, stride, stride)
    return lambda x: cv.lax.reduce_window(x, start, join, window, strides, "VALID")


def mean(pooled: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: pooled(x) / 9


def squared(fun: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: (fun(*args) ** 2).sum()


def maxima(torch: Any) -> Callable[..., Any]:
    return partial(torch.nn.functional.max_pool2d, stride=2)


def means(torch: Any) -> Callable[..., Any]:
    return partial(torch.nn.functional.avg_pool2d, stride=2)

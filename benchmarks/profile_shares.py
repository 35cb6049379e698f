"""Do profiles tell the truth? ``python -m benchmarks.profile_shares`` compares them
with ablation, for the table of docs/profiling.md.

A program has two parts, each a line. One is left out, and the program timed again: what
is missing then is what the line took with the other; what the program takes without the
other is what the line takes alone. The mean of both, as a share of the time, stands
beside the share that ``covector.profile`` says.
"""

import inspect
import statistics
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

import covector as cv
import covector.numpy as cnp
from covector import lax

ROUNDS, CALLS = 5, 20
#: how far a share may be from that of ablation
ALLOWED = 0.15


def product_and_functions(left_out: str, x: Any) -> Any:
    y = x if left_out == "product" else x @ x
    return y if left_out == "functions" else cnp.tanh(y) * cnp.exp(-cnp.abs(y))


def two_products(left_out: str, x: Any, w: Any) -> Any:
    y = x if left_out == "large" else x @ x
    return y if left_out == "small" else y @ w


def sort_and_sums(left_out: str, x: Any) -> Any:
    y = x if left_out == "sort" else cnp.sort(x, axis=1)
    return y if left_out == "sums" else cnp.exp(cnp.sin(y)).sum(0)


def scan_and_product(left_out: str, x: Any) -> Any:
    y = x if left_out == "scan" else lax.scan(step, x[0], x)[1]
    return y if left_out == "product" else x @ y


def step(carry: Any, x: Any) -> Any:
    carry = cnp.sin(carry) + x
    return carry, carry


def convolution_and_pooling(left_out: str, images: Any, kernel: Any) -> Any:
    y = images if left_out == "convolution" else convolved(images, kernel)
    return y if left_out == "pooling" else pooled(cnp.tanh(y))


def convolved(images: Any, kernel: Any) -> Any:
    axes = ("NHWC", "HWIO", "NHWC")
    return lax.conv_general_dilated(
        images, kernel, (1, 1), "SAME", dimension_numbers=axes
    )


def pooled(images: Any) -> Any:
    window = (1, 3, 3, 1)
    return lax.reduce_window(images, -np.inf, lax.max, window, window, "VALID")


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


PROGRAMS: dict[Callable[..., Any], tuple[tuple[Any, ...], tuple[str, ...]]] = {
    product_and_functions: ((numbers(1000, 1000),), ("product", "functions")),
    two_products: ((numbers(1000, 1000), numbers(1000, 400)), ("large", "small")),
    sort_and_sums: ((numbers(40_000, 25),), ("sort", "sums")),
    scan_and_product: ((numbers(1200, 1200),), ("scan", "product")),
    convolution_and_pooling: (
        (numbers(8, 128, 128, 32), numbers(3, 3, 32, 32)),
        ("convolution", "pooling"),
    ),
}


def fastest(functions: dict[str, Callable[..., Any]], args: Any) -> dict[str, float]:
    """Seconds of the fastest call of each function; they take turns."""
    times: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(CALLS):
        for name, fun in functions.items():
            start = perf_counter()
            cv.block_until_ready(fun(*args))
            times[name].append(perf_counter() - start)
    return {name: min(found[1:]) for name, found in times.items()}


def by_ablation(
    program: Callable[..., Any], args: tuple[Any, ...], parts: tuple[str, ...]
) -> dict[str, float]:
    """The share of each part: what it takes, with and without the other, on average."""
    functions = {
        name: cv.jit(lambda *args, name=name: program(name, *args))
        for name in ("", *parts)
    }
    times = fastest(functions, args)
    whole, (one, other) = times[""], parts
    missing = {name: whole - times[name] for name in parts}
    alone = {one: times[other], other: times[one]}
    return {name: (missing[name] + alone[name]) / 2 / whole for name in parts}


def by_profile(
    program: Callable[..., Any], args: tuple[Any, ...], parts: tuple[str, ...]
) -> dict[str, float]:
    """The share of each part: of its line, and of the functions called there."""
    lines, first = inspect.getsourcelines(program)
    of_line = {
        first + k: name
        for k, line in enumerate(lines)
        for name in parts
        if name in line
    }
    found = dict.fromkeys(parts, 0.0)
    measured = cv.profile(cv.jit(lambda *args: program("", *args)))(*args)
    others = {"step": "scan", "convolved": "convolution", "pooled": "pooling"}
    for line in measured.by_line():
        name = of_line.get(line.line, others.get(line.function))
        if name is not None:
            found[name] += line.share
    return found


def main() -> None:
    """Print the table; fail where a share is further off than is allowed."""
    print("| program | line | share by ablation | share by profile |")
    print("|---|---|---|---|")
    wrong = []
    for program, (args, parts) in PROGRAMS.items():
        on_device = tuple(map(cnp.asarray, args))
        rounds = [
            [how(program, on_device, parts) for how in (by_ablation, by_profile)]
            for _ in range(ROUNDS)
        ]
        for name in parts:
            one, other = (
                statistics.median([shares[i][name] for shares in rounds])
                for i in range(2)
            )
            subject = program.__name__.replace("_", " ")
            print(f"| {subject} | {name} | {one:.0%} | {other:.0%} |", flush=True)
            if abs(one - other) > ALLOWED:
                wrong.append(f"{subject}: {name}")
    if wrong:
        raise SystemExit(f"further apart than {ALLOWED:.0%}: {', '.join(wrong)}")


if __name__ == "__main__":
    main()

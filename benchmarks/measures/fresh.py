"""Inputs that no cache has seen, neither in this process nor on disk."""

from collections.abc import Iterator
from random import SystemRandom

RANDOM = SystemRandom()


def number() -> float:
    """A number just above one, for a program that must differ from all before it."""
    return 1 + RANDOM.random() / 1000


def shapes(limit: int) -> Iterator[tuple[int, int, int]]:
    """Shapes of at most ``limit`` elements and at least half as many, none twice."""
    seen = set()
    while True:
        rows, columns = RANDOM.randint(2, 9), RANDOM.randint(2, 9)
        depth = RANDOM.randint(limit // 2, limit) // (rows * columns)
        shape = (rows, columns, max(depth, 1))
        if shape not in seen:
            seen.add(shape)
            yield shape

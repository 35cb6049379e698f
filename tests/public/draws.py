"""Random arguments: dtypes, shapes, values and axes, drawn from one generator.

A ``Draw`` is the source of everything random in a sample. It is made of (function,
seed, number), so that these three words give the same arguments on every machine.

An argument that is an array, a ``Scalar``, a ``Key`` or a ``Function`` is an operand:
it is converted for the library that is asked. Everything else is passed as it is.
"""

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

#: what the letters of ``kinds`` stand for; the second part needs 64 bits
DTYPES: dict[str, tuple[tuple[Any, ...], tuple[Any, ...]]] = {
    "b": ((np.bool_,), ()),
    "i": ((np.int8, np.int16, np.int32, np.int32), (np.int64,)),
    "u": ((np.uint8, np.uint16, np.uint32), (np.uint64,)),
    "f": (
        (np.float32, np.float32, np.float32, np.float16, ml_dtypes.bfloat16),
        (np.float64, np.float64),
    ),
    "c": ((np.complex64,), (np.complex128,)),
}


@dataclass(frozen=True)
class Scalar:
    """A Python number that is an operand: it has a weak type."""

    value: bool | int | float | complex

    def __repr__(self) -> str:
        return repr(self.value)


@dataclass(frozen=True)
class Key:
    """A random key, or several, made of a number."""

    seed: int
    shape: tuple[int, ...] = ()

    def __repr__(self) -> str:
        return f"key({self.seed}){f'.split{self.shape}' if self.shape else ''}"


@dataclass(frozen=True)
class Function:
    """A function argument; ``make(numpy)`` writes it with the library that is asked."""

    make: Callable[[Any], Callable[..., Any]]
    name: str

    def __repr__(self) -> str:
        return self.name


Within = tuple[float, float] | None
Maker = Callable[["Draw"], Any]


def cast(x: Any, dtype: Any) -> np.ndarray:
    """As ``astype`` casts here and in JAX: to the nearest integer that there is, NaN to
    0. What C makes of a float that does not fit is not defined.
    """
    x, dtype = np.asarray(x), np.dtype(dtype)
    if x.dtype.kind not in "fV" or dtype.kind not in "iu":
        return x.astype(dtype)
    info, whole = np.iinfo(dtype), np.trunc(np.nan_to_num(x.astype(np.float64)))
    low, high = whole <= info.min, whole >= info.max
    inside = np.where(low | high, 0, whole).astype(dtype)
    bounds = [np.full_like(inside, bound) for bound in (info.min, info.max)]
    return np.select([low, high], bounds, inside)


class Draw:
    """A source of random arguments.

    ``smooth``: the arguments are for derivatives: float64 or complex128, finite, and
    neither whole numbers nor equal to each other, so that no kink is met.
    """

    def __init__(self, name: str, seed: int, number: int, smooth: bool = False) -> None:
        entropy = [zlib.crc32(name.encode()), seed, number, int(smooth)]
        self.rng = np.random.default_rng(entropy)
        self.smooth = smooth
        self.x64 = smooth or self.chance(0.2)
        #: whether the largest numbers are drawn, few of which can be added
        self.huge = True
        #: whether infinities are
        self.infinite = True

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def integer(self, low: int, high: int) -> int:
        """A whole number in [low, high)."""
        return int(self.rng.integers(low, high))

    def pick(self, *options: Any) -> Any:
        return options[self.integer(0, len(options))]

    def dtype(self, kinds: str) -> np.dtype:
        """A dtype of one of the kinds; for derivatives an inexact one, if any."""
        if self.smooth and set(kinds) & set("fc"):
            kinds = "".join([k for k in kinds if k in "fc"])
            letter = "f" if "f" in kinds and self.chance(0.7) else kinds[-1]
            return np.dtype(DTYPES[letter][1][0])
        letter = "f" if "f" in kinds and self.chance(0.3) else self.pick(*kinds)
        narrow, wide = DTYPES[letter]
        return np.dtype(self.pick(*narrow, *(wide if self.x64 else ())))

    def shape(self, ndim: tuple[int, int] = (0, 3), empty: bool = True) -> Any:
        """A shape whose number of axes is in [low, high]; seldom an empty one."""
        size = self.integer(ndim[0], ndim[1] + 1)
        sizes = [self.integer(1 + self.smooth, 5) for _ in range(size)]
        if sizes and empty and not self.smooth and self.chance(0.1):
            sizes[self.integer(0, size)] = 0
        return tuple(sizes)

    def shapes(self, count: int, ndim: tuple[int, int] = (0, 3)) -> list[Any]:
        """Shapes that broadcast with each other."""
        full = self.shape(ndim)

        def part() -> Any:
            start = self.pick(0, 0, self.integer(0, len(full) + 1))
            return tuple([1 if self.chance(0.2) else n for n in full[start:]])

        return [part() for _ in range(count)]

    def array(self, kinds: str, shape: Any = None, within: Within = None) -> np.ndarray:
        """An array of one of the kinds; ``within`` bounds values (and has no edges)."""
        shape = self.shape() if shape is None else shape
        return self.values(self.dtype(kinds), shape, within)

    def values(self, dtype: Any, shape: Any, within: Within = None) -> np.ndarray:
        """Values of a dtype."""
        dtype = np.dtype(dtype)
        if dtype == np.bool_:
            return np.asarray(self.rng.random(shape) < 0.5)
        if np.issubdtype(dtype, np.integer):
            return self._integers(dtype, shape, within)
        if np.issubdtype(dtype, np.complexfloating):
            parts = [self._reals(np.float64, shape, within, 1) for _ in range(2)]
            return np.asarray(parts[0] + 1j * parts[1]).astype(dtype)
        with np.errstate(all="ignore"):
            return self._reals(dtype, shape, within, self.integer(0, 3))

    def _integers(self, dtype: Any, shape: Any, within: Any) -> np.ndarray:
        info = np.iinfo(dtype)
        low, high = within or (-6, 7)
        low = max(int(low), info.min)
        out = self.rng.integers(low, max(int(high), low + 1), shape).astype(dtype)
        if within is None and not self.smooth and self.chance(0.3):
            edges = np.array([info.min, info.max, info.min + 1, info.max - 1], dtype)
            out = self._mixed(out, edges)
        return np.asarray(out)

    def _reals(self, dtype: Any, shape: Any, within: Any, style: int) -> np.ndarray:
        """Style 0: with edges of the format, 1: ordinary, 2: small whole ones."""
        if within is not None:
            return np.asarray(self.rng.uniform(*within, shape)).astype(dtype)
        if self.smooth or style == 1:
            return np.asarray(self.rng.normal(0, 2, shape)).astype(dtype)
        if style == 2:
            return self.rng.integers(-4, 5, shape).astype(dtype)
        info = ml_dtypes.finfo(dtype)
        edges = [0.0, -0.0, 1.0, -1.0, 0.5, np.nan] + [np.inf, -np.inf] * self.infinite
        edges += [float(info.tiny), float(info.eps)]
        edges += [float(info.max), float(info.min)] * self.huge
        ordinary = np.asarray(self.rng.normal(0, 2, shape)).astype(dtype)
        return self._mixed(ordinary, np.array(edges).astype(dtype))

    def _mixed(self, values: np.ndarray, edges: np.ndarray) -> np.ndarray:
        chosen = edges[self.rng.integers(0, len(edges), values.shape)]
        return np.where(self.rng.random(values.shape) < 0.5, chosen, values)

    def scalar(self, kinds: str) -> Scalar:
        """A Python number of one of the kinds."""
        letter = self.pick(*kinds.replace("u", "i"))
        if letter == "b":
            return Scalar(self.chance(0.5))
        if letter == "i":
            return Scalar(self.integer(-3 if "u" not in kinds else 0, 4))
        value = self.pick(0.0, -0.0, 1.0, 0.5, -2.5, float(self.rng.normal()))
        return Scalar(complex(value, 1.5) if letter == "c" else value)

    def axis(self, ndim: int) -> int:
        """One axis, counted from either end."""
        return self.integer(-ndim, ndim)

    def axes(self, ndim: int) -> Any:
        """None, one axis, or several different ones."""
        several = self.rng.permutation(ndim)[: self.integer(0, ndim + 1)]
        signed = tuple([int(a) - self.pick(0, ndim) for a in several])
        return self.pick(None, self.axis(ndim), signed) if ndim else self.pick(None, ())

    def some(self, **choices: Sequence[Any]) -> dict[str, Any]:
        """Keywords, each with one of its values, each left out half of the time.

        For derivatives ``dtype`` is left out always: it may be too coarse.
        """
        chosen = {k: self.pick(*v) for k, v in choices.items() if self.chance(0.5)}
        if self.smooth:
            chosen.pop("dtype", None)
        return chosen

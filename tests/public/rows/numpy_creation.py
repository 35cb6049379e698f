"""Rows of ``covector.numpy``: arrays made of nothing, of shapes, of ranges."""

from typing import Any

import numpy as np

from tests.public.draws import Draw, Function, Maker, cast
from tests.public.makers import elementwise, of_array
from tests.public.table import rows

ANY = "biufc"
DTYPES = ("float32", "int32", "bool", "complex64", "float16", "uint8")


def of_shape(*values: Any) -> Maker:
    """A shape, perhaps a value, perhaps a dtype."""

    def make(draw: Draw) -> Any:
        shape = draw.pick(draw.shape(), draw.integer(0, 4))
        return (shape, *[draw.scalar("if") for _ in values]), draw.some(dtype=DTYPES)

    return make


def filled(shape: Any, value: Any, dtype: Any = None) -> Any:
    """``full`` with the cast of ``astype``."""
    return np.full(shape, value) if dtype is None else np.full(shape, cast(value, dtype))


def filled_like(x: np.ndarray, value: Any, dtype: Any = None, shape: Any = None) -> Any:
    return filled(x.shape if shape is None else shape, value, dtype or x.dtype)


def whole(low: int, high: int, *more: tuple[int, int], **keywords: Any) -> Maker:
    """Whole numbers that are not traced."""
    limits = ((low, high), *more)
    return lambda d: (tuple([d.integer(*pair) for pair in limits]), d.some(**keywords))


def like(draw: Draw) -> Any:
    return (draw.array(ANY),), draw.some(dtype=DTYPES, shape=((2, 3), 4))


def steps(draw: Draw) -> Any:
    """Start, stop and step of ``arange``, of whole numbers or not."""
    unit = draw.pick(1, 0.25)
    start, stop = draw.integer(-5, 6) * unit, draw.integer(-5, 12) * unit
    step = draw.pick(1, 2, 3, -1, -2) * unit
    return draw.pick((stop,), (start, stop), (start, stop, step)), draw.some(
        dtype=("float32", "int32") if unit == 1 else ("float32",)
    )


def between(kinds: str, within: tuple[float, float], **keywords: Any) -> Maker:
    """From here to there in so many steps."""

    def make(draw: Draw) -> Any:
        start, stop = [draw.array(kinds, s, within) for s in draw.shapes(2, (0, 1))]
        named = draw.some(num=(0, 1, 2, 7), endpoint=(True, False), **keywords)
        return (start, stop), named

    return make


rows("numpy", "zeros ones", of_shape())
rows("numpy", "empty", of_shape(), numpy=None)
rows("numpy", "full", of_shape("value"), numpy=filled)
rows("numpy", "zeros_like ones_like", like)
rows("numpy", "empty_like", like, numpy=None)
rows("numpy", "full_like",
     lambda d: ((d.array("iufc"), d.scalar("uf")), d.some(dtype=DTYPES, shape=((2, 3), 4))),
     numpy=filled_like)
rows("numpy", "eye", whole(0, 5, (0, 5), (-4, 5), dtype=DTYPES))
rows("numpy", "tri", whole(0, 5, (0, 5), (-4, 5), dtype=DTYPES))
rows("numpy", "identity", whole(0, 5, dtype=DTYPES))
rows("numpy", "arange", steps)
rows("numpy", "linspace", between("iufc", (0, 9), axis=(0, -1), retstep=(True, False)),
     cancels=True)
rows("numpy", "logspace", between("f", (-2, 2), base=(2.0, 10.0)), rounding=128)
rows("numpy", "geomspace", between("f", (0.5, 9), axis=(0, -1)), rounding=128)
rows("numpy", "tril triu", of_array(ANY, lambda d, x: (d.integer(-4, 5),), ndim=(2, 3)))
rows("numpy", "diag diagflat",
     of_array(ANY, lambda d, x: (d.integer(-3, 4),), ndim=(1, 2)))
rows("numpy", "diagonal",
     of_array(ANY, lambda d, x: (d.integer(-3, 4), *d.pick((0, 1), (1, 0), (-1, 0))),
              ndim=(2, 3)))
rows("numpy", "trace",
     of_array(ANY, lambda d, x: (d.integer(-3, 4), *d.pick((0, 1), (1, 0), (-1, 0))),
              ndim=(2, 3)), cancels=True)
rows("numpy", "vander",
     of_array("iufc", ndim=(1, 1), within=(-2, 3), N=(0, 1, 2, 5), increasing=(True, False)))
rows("numpy", "meshgrid",
     lambda d: (tuple([d.array(ANY, d.shape((0, 1))) for _ in range(d.integer(1, 4))]),
                d.some(indexing=("xy", "ij"), sparse=(True,))))
rows("numpy", "indices",
     lambda d: ((d.shape(),), d.some(dtype=("int32", "float32"), sparse=(True,))))
rows(
    "numpy", "ix_", lambda d: tuple([d.array(k, d.shape((1, 1))) for k in ("iu", "iu")])
)
rows("numpy", "tril_indices triu_indices", whole(0, 5, (-3, 4), (0, 5)))
rows("numpy", "tril_indices_from triu_indices_from",
     of_array("f", lambda d, x: (d.integer(-3, 4),), ndim=(2, 2)), placed=False)
rows("numpy", "diag_indices", whole(0, 5, (1, 4)))
rows("numpy", "diag_indices_from", lambda d: (d.array("f", (3,) * d.integer(2, 4)),), placed=False)
rows("numpy", "mask_indices",
     lambda d: (d.integer(0, 5), Function(lambda xp: xp.triu, "triu"), d.integer(-2, 3)))
rows(
    "numpy", "bartlett blackman hamming hanning", whole(0, 9), rounding=64, cancels=True
)
rows(
    "numpy", "kaiser", lambda d: (d.integer(0, 9), d.array("f", (), (0.5, 9.0)))
)

rows("numpy", "array", of_array("biuf", dtype=DTYPES, copy=(True,), ndmin=(0, 2, 4)),
     numpy=lambda x, dtype=None, **named: np.array(cast(x, dtype or x.dtype), **named))
rows("numpy", "asarray", of_array("biuf", dtype=DTYPES, copy=(True,)),
     numpy=lambda x, dtype=None, copy=None: cast(x, dtype or x.dtype))
rows("numpy", "copy", elementwise(ANY))
rows("numpy", "astype",
     of_array("biuf", lambda d, x: ("float64" if d.smooth else d.pick(*DTYPES, "int8", "bfloat16"),)),
     numpy=cast)
rows("numpy", "fromfunction",
     lambda d: ((Function(lambda xp: lambda i, j: i + 2 * j, "i + 2j"), (2, 3)),
                d.some(dtype=("int32", "float32"))))
rows(
    "numpy",
    "frombuffer",
    lambda d: (d.array("u", (8,)).tobytes(), d.pick("uint8", "int16")),
)
rows("numpy", "fromiter", lambda d: ([1, 2, d.integer(0, 9)], "int32"), jax=None)
rows("numpy", "fromstring", lambda d: ((f"1 2 {d.integer(0, 9)}",), {"sep": " "}))

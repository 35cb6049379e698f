"""Rows of ``covector.numpy``: shapes and axes, joining and splitting."""

from typing import Any

import numpy as np

from tests.public.draws import Draw
from tests.public.makers import of_array, of_arrays
from tests.public.table import rows

ANY = "biufc"


def axis(draw: Draw, x: np.ndarray) -> tuple[int]:
    return (draw.axis(x.ndim),)


def two_axes(draw: Draw, x: np.ndarray) -> tuple[int, int]:
    return draw.axis(x.ndim), draw.axis(x.ndim)


def order(draw: Draw, x: np.ndarray) -> tuple[Any]:
    """A permutation of the axes, some counted from the end."""
    axes = draw.rng.permutation(x.ndim)
    return (tuple([int(a) - draw.pick(0, x.ndim) for a in axes]),)


def perhaps_order(draw: Draw, x: np.ndarray) -> tuple[Any]:
    return (draw.pick(None, *order(draw, x)),)


def new_shape(draw: Draw, x: np.ndarray) -> tuple[Any]:
    """The sizes in another order, with parts joined, one of them perhaps unknown."""
    sizes = [int(n) for n in draw.rng.permutation(x.shape)]
    if len(sizes) > 1 and draw.chance(0.5):
        sizes[:2] = [sizes[0] * sizes[1]]
    sizes.insert(draw.integer(0, len(sizes) + 1), 1)
    if x.size and draw.chance(0.3):
        sizes[draw.integer(0, len(sizes))] = -1
    return (draw.pick(tuple(sizes), sizes, -1 if x.size else tuple(sizes)),)


def new_axes(draw: Draw, x: np.ndarray) -> tuple[Any]:
    more = x.ndim + 2
    axes = [int(a) for a in draw.rng.choice(more, 2, replace=False)]
    return (draw.pick(draw.axis(x.ndim + 1), (axes[0], axes[1] - more)),)


def wider(draw: Draw, x: np.ndarray) -> tuple[Any]:
    """A shape to which the array broadcasts."""
    front = draw.shape((0, 2))
    return ((*front, *[draw.integer(0, 4) if n == 1 else n for n in x.shape]),)


def moves(draw: Draw, x: np.ndarray) -> tuple[Any, Any]:
    some = int(draw.rng.integers(0, x.ndim + 1))
    one, other = order(draw, x)[0][:some], order(draw, x)[0][:some]
    return draw.pick((one, other), two_axes(draw, x))


def ones(draw: Draw) -> Any:
    """An array with axes of length 1, and which of them go."""
    shape = [1 if draw.chance(0.5) else n for n in draw.shape((0, 4))]
    lone = [k for k, n in enumerate(shape) if n == 1]
    some = tuple([k - draw.pick(0, len(shape)) for k in lone if draw.chance(0.6)])
    return draw.array(ANY, tuple(shape)), draw.pick(None, some)


def repeated(draw: Draw) -> Any:
    """All as often as each other, or each by itself; along an axis or raveled."""
    x = draw.array(ANY, draw.shape((0, 3)))
    along = draw.pick(None, draw.axis(x.ndim)) if x.ndim else None
    count = x.size if along is None else x.shape[along]
    each = [draw.integer(0, 4) for _ in range(count)]
    return (x, draw.pick(draw.integer(0, 4), each)), {"axis": along}


def blocks(draw: Draw, dtype: Any) -> Any:
    """Of one dtype: others meet row by row here, and all at once in NumPy."""
    return ([[draw.values(dtype, (m, n)) for n in (1, 3)] for m in (2, 1)],)


rows("numpy", "ravel", of_array(ANY, order=("C", "F")))
rows("numpy", "reshape", of_array(ANY, new_shape, order=("C", "F")))
rows("numpy", "squeeze", ones)
rows("numpy", "expand_dims", of_array(ANY, new_axes))
rows("numpy", "transpose", of_array(ANY, perhaps_order))
rows("numpy", "permute_dims", of_array(ANY, order))
rows("numpy", "matrix_transpose", of_array(ANY, ndim=(2, 4)))
rows("numpy", "swapaxes", of_array(ANY, two_axes, ndim=(1, 3)))
rows("numpy", "moveaxis", of_array(ANY, moves, ndim=(1, 4)))
rows("numpy", "rollaxis",
     of_array(ANY, lambda d, x: (d.axis(x.ndim), d.integer(-x.ndim, x.ndim + 1)),
              ndim=(1, 3)))
rows("numpy", "flip", of_array(ANY, lambda d, x: (d.axes(x.ndim),)))
rows("numpy", "fliplr", of_array(ANY, ndim=(2, 3)))
rows("numpy", "flipud", of_array(ANY, ndim=(1, 3)))
rows("numpy", "rot90", of_array(ANY, lambda d, x: (d.integer(-5, 6), order(d, x)[0][:2]),
                                ndim=(2, 3)))
rows("numpy", "roll",
     of_array(ANY, lambda d, x: d.pick((d.integer(-9, 9),), (d.integer(-9, 9), *axis(d, x)),
                                       ((2, -1), two_axes(d, x)), (d.integer(-9, 9), two_axes(d, x))),
              ndim=(1, 3)))
rows(
    "numpy",
    "tile",
    of_array(ANY, lambda d, x: (d.pick(2, 0, (2,), (1, 3), (2, 1, 2)),)),
)
rows("numpy", "repeat", repeated)
rows("numpy", "resize", of_array(ANY, lambda d, x: (d.shape(),), empty=False))
rows("numpy", "broadcast_to", of_array(ANY, wider))
rows(
    "numpy", "broadcast_arrays", lambda d: tuple([d.array(ANY, s) for s in d.shapes(3)])
)
rows("numpy", "broadcast_shapes", lambda d: tuple(d.shapes(3)))
rows("numpy", "atleast_1d atleast_2d atleast_3d",
     lambda d: tuple([d.array(ANY) for _ in range(d.integer(1, 3))]))

rows("numpy", "concatenate concat", of_arrays(ANY, ndim=(1, 3), differ="axis"))
rows("numpy", "stack", of_arrays(ANY, axis=(0, -1)))
rows("numpy", "vstack hstack dstack column_stack", of_arrays(ANY))
rows("numpy", "block", lambda d: blocks(d, d.dtype(ANY)))
rows("numpy", "append",
     lambda d: d.pick((d.array(ANY), d.array(ANY)),
                      (d.array(ANY, (2, 3)), d.array(ANY, (2, 1)), d.pick(1, -1))))


def parts(draw: Draw, length: int, equal: bool) -> Any:
    """How many parts, or where to cut."""
    whole = (
        [n for n in range(1, length + 1) if not length % n] if equal else [1, 2, 3, 5]
    )
    cuts = sorted([draw.integer(-length, length + 2) for _ in range(2)])
    return draw.pick(draw.pick(*whole), cuts) if length else cuts


def along(of: int, equal: bool = True) -> Any:
    """The array has the axis ``of``, and is cut along it."""
    return of_array(ANY, lambda d, x: (parts(d, x.shape[of], equal),),
                    ndim=(max(1, of + 1), 3))


rows("numpy", "split",
     of_array(ANY, lambda d, x: (parts(d, x.shape[-1], True), -1), ndim=(1, 3)))
rows("numpy", "array_split", along(0, equal=False))
rows(
    "numpy",
    "vsplit",
    of_array(ANY, lambda d, x: (parts(d, len(x), True),), ndim=(2, 3)),
)
rows("numpy", "hsplit", along(1))
rows("numpy", "dsplit", along(2))
rows("numpy", "unstack", of_array(ANY, ndim=(1, 3), axis=(0, -1)))


STATISTICS = ("maximum", "minimum", "mean", "median")


def padding(draw: Draw) -> Any:
    x = draw.array("iuf", draw.shape((1, 2), empty=False), (-9, 10))
    pair = (draw.integer(0, 3), draw.integer(0, 3))
    width = draw.pick(draw.integer(0, 3), pair, tuple([pair[::-1]] * x.ndim))
    mode = draw.pick("constant", "edge", "reflect", "symmetric", "wrap", "linear_ramp",
                     *STATISTICS)
    keywords: dict[str, dict[str, Any]] = {
        "constant": {"constant_values": (1, (1, 2))}, "linear_ramp": {"end_values": (3, (1, 2))},
        "reflect": {"reflect_type": ("even", "odd")}, "symmetric": {"reflect_type": ("even", "odd")},
    }
    extra = draw.some(**keywords.get(mode, {"stat_length": (1, 2, (1, 3))} if mode in STATISTICS else {}))
    return (x, width), {"mode": mode} | extra


rows("numpy", "pad", padding, cancels=True)


def inserted(draw: Draw) -> Any:
    """One value or several, before one index, several, or those of a slice."""
    x = draw.array(ANY, draw.shape((1, 3)))
    along = draw.pick(None, draw.axis(x.ndim))
    n = x.size if along is None else x.shape[along]
    one = draw.integer(-n, n + 1)
    where = draw.pick(one, one, [one], [draw.integer(-n, n + 1) for _ in range(3)], slice(0, n, 2))
    return x, where, draw.values(x.dtype, ()), along


def deleted(draw: Draw) -> Any:
    x = draw.array(ANY, draw.shape((1, 3), empty=False))
    along = draw.pick(None, draw.axis(x.ndim))
    n = x.size if along is None else x.shape[along]
    part = slice(draw.pick(None, draw.axis(n)), draw.pick(None, draw.axis(n)), draw.pick(None, 2, -1))
    return x, draw.pick(draw.axis(n), [0, -1], [draw.axis(n)] * 2, part), along


rows("numpy", "insert", inserted)
rows("numpy", "delete", deleted)
rows("numpy", "trim_zeros", of_array("iuf", ndim=(1, 1), within=(-1, 2), trim=("f", "b")),
     traced=False, derivative=False)

"""Rows of ``covector.numpy``: products, statistics of data, polynomials, loops."""

from typing import Any

import numpy as np

from tests.public.draws import Draw, Function, Maker
from tests.public.makers import of_array
from tests.public.table import rows

ANY, REAL = "biufc", "biuf"


def product(*shapes: str, kinds: str = ANY, **keywords: Any) -> Maker:
    """Operands with axes of letters: the same letter is the same length.

    ``*`` stands for axes in front that broadcast.
    """

    def make(draw: Draw) -> Any:
        draw.huge = False
        sizes = {
            c: draw.integer(0 if draw.chance(0.1) and not draw.smooth else 1, 4)
            for c in "nmkab"
        }
        fronts = draw.shapes(len(shapes), (0, 2))
        dtype = draw.dtype(kinds)
        operands = []
        for letters, front in zip(shapes, fronts, strict=True):
            shape = tuple([sizes[c] for c in letters if c != "*"])
            shape = (*front, *shape) if "*" in letters else shape
            one = dtype if draw.chance(0.6) else draw.dtype(kinds)
            operands.append(draw.values(one, shape, (-3, 4)))
        return tuple(operands), draw.some(**keywords)

    return make


def either(*makers: Maker) -> Maker:
    return lambda draw: draw.pick(*makers)(draw)


def contraction(draw: Draw) -> Any:
    """``einsum``: one or two operands, with sums, diagonals, dots and none."""
    letters = draw.pick(
        ("ij,jk->ik", "nm", "mk"),
        ("ij,jk", "nm", "mk"),
        ("ii", "nn"),
        ("ij->", "nm"),
        ("i,j->ji", "n", "m"),
        ("...ij,...jk->...ik", "anm", "amk"),
        ("ij,ij->i", "nm", "nm"),
        ("i,ij,j", "n", "nm", "m"),
        ("ji", "nm"),
        ("ii->i", "nn"),
        (",i", "", "n"),
    )
    args, _ = product(*letters[1:])(draw)
    return (letters[0], *args)


def histogram_of(draw: Draw) -> Any:
    x = draw.array("iuf", (draw.integer(1, 9),), (-4, 5))
    bins = draw.pick(4, np.array([-2.0, 0.0, 1.5, 3.0], np.float32))
    named = draw.some(range=((-3.0, 3.0),)) if isinstance(bins, int) else {}
    weights = {"weights": draw.array("f", x.shape, (0, 2))} if draw.chance(0.3) else {}
    # NumPy has no edges in bfloat16; of no elements there is no density.
    if x.dtype.kind != "V" and np.any((x > -2) & (x < 3)):
        named |= draw.some(density=(True,))
    return (x, bins), named | weights


def signals(draw: Draw) -> Any:
    draw.huge = draw.infinite = False
    a, v = [draw.array("iufc", (draw.integer(1, 6),), (-4, 5)) for _ in range(2)]
    return (a, v), draw.some(mode=("full", "same", "valid"))


def interpolation(draw: Draw) -> Any:
    xp = np.sort(draw.values("float64", (4,), (-3, 3))).astype(draw.dtype("f"))
    x = draw.values(xp.dtype, draw.shape((0, 2)), (-4, 4))
    named = draw.some(period=(5.0,))
    if draw.some(
        bounded=(True,)
    ):  # both: JAX takes a program for the left one for the right
        named |= {"left": -7.0, "right": 9.0}
    return (x, xp, draw.values(xp.dtype, (4,), (-3, 3))), named


def polynomials(count: int, **keywords: Any) -> Maker:
    def make(draw: Draw) -> Any:
        sizes = [draw.integer(1, 5) for _ in range(count)]
        ps = [draw.array("if", (n,), (-4, 5)) for n in sizes]
        return tuple(ps), draw.some(**keywords)

    return make


def differences(x: np.ndarray, n: int, axis: int, **ends: int) -> Any:
    """With numbers at the ends that take the dtype of the array."""
    return np.diff(
        x, n, axis, **{k: np.asarray(v).astype(x.dtype) for k, v in ends.items()}
    )


SUMS = {"cancels": True, "zeros": False}  # a sum may start from +0
rows(
    "numpy",
    "dot",
    either(
        product("n", "n"),
        product("nm", "mk"),
        product("anm", "m"),
        product("nm", "bmk"),
        product("", "nm"),
    ),
    **SUMS,
)
rows(
    "numpy",
    "matmul",
    either(
        product("n", "n"),
        product("*nm", "*mk"),
        product("n", "*nm"),
        product("*nm", "m"),
    ),
    **SUMS,
)
rows("numpy", "inner", either(product("n", "n"), product("an", "bkn")), **SUMS)
rows("numpy", "outer", either(product("n", "m"), product("ab", "n")), **SUMS)
rows("numpy", "vdot", either(product("n", "n"), product("nm", "nm")), **SUMS)
rows("numpy", "vecdot", product("*n", "*n"), **SUMS)
rows("numpy", "matvec", product("*nm", "*m"), **SUMS)
rows("numpy", "vecmat", product("*n", "*nm"), **SUMS)
rows(
    "numpy",
    "tensordot",
    either(
        product("anm", "nmb", axes=(2,)),
        product("nm", "mk", axes=(1, ([1], [0]), ([-1], [0]))),
    ),
    **SUMS,
)
rows(
    "numpy",
    "kron",
    either(product("n", "m"), product("nm", "ab"), product("n", "ab")),
    **SUMS,
)
rows(
    "numpy",
    "cross",
    lambda d: d.pick(
        (d.array("ifc", (2, 3), (-4, 5)), d.array("ifc", (3,), (-4, 5))),
        (
            (d.array("ifc", (3, 2), (-4, 5)), d.array("ifc", (2, 3), (-4, 5))),
            {"axisa": 0, "axisb": -1, "axisc": d.axis(2)},
        ),
        (
            (d.array("ifc", (3, 2), (-4, 5)), d.array("ifc", (3, 2), (-4, 5))),
            {"axis": 0},
        ),
    ),
    **SUMS,
)
rows("numpy", "einsum", contraction, **SUMS)
rows(
    "numpy",
    "einsum_path",
    lambda d: ("ij,jk,kl->il", *[d.array("f", (2, 2)) for _ in "abc"]),
    numpy=None,
    calling=lambda path, *args: path(*args)[0][1:],
)

rows("numpy", "histogram", histogram_of, cancels=True, shuffled=False, promotes=True)
rows(
    "numpy",
    "histogram_bin_edges",
    lambda d: (d.array("iuf", (6,), (-4, 5)), d.integer(1, 5)),
    cancels=True,
)
rows(
    "numpy",
    "histogram2d",
    lambda d: (
        d.array("if", (6,), (-4, 5)),
        d.array("if", (6,), (-4, 5)),
        d.integer(1, 5),
    ),
    cancels=True,
)
rows(
    "numpy",
    "histogramdd",
    lambda d: (d.array("if", (6, 2), (-4, 5)), d.integer(1, 4)),
    cancels=True,
)
rows(
    "numpy",
    "bincount",
    lambda d: (
        (x := d.array("iu", d.shape((1, 1)), (0, 6)),),
        {"minlength": d.integer(0, 8)}
        | d.pick({}, {"weights": d.array("f", x.shape, (-2, 2))}),
    ),
    traced=False,
    cancels=True,
)
rows(
    "numpy",
    "cov",
    lambda d: (
        (d.array("ifc", (d.integer(2, 4), 4), (-9, 10)),),
        d.some(rowvar=(False,), bias=(True,), ddof=(0, 1))
        | d.pick(
            {},
            {},
            {
                "fweights": d.array("i", (4,), (1, 4)),
                "rowvar": True,
            },
            {"aweights": d.array("f", (4,), (0.5, 2)), "rowvar": True},
        ),
    ),
    cancels=True,
)
rows(
    "numpy",
    "corrcoef",
    lambda d: ((d.array("ifc", (3, 6), (-9, 10)),), d.some(rowvar=(True, False))),
    cancels=True,
    derivative=False,
)
rows("numpy", "convolve correlate", signals, cancels=True)
rows(
    "numpy",
    "gradient",
    lambda d: (
        (d.array("fc", (3, 4), (-4, 5)), *d.pick((), (0.5,))),
        d.some(axis=(0, 1, -1, (0, 1))),
    ),
    cancels=True,
)
rows(
    "numpy",
    "diff",
    of_array(
        "iufc",
        lambda d, x: (d.integer(0, 3), d.axis(x.ndim)),
        ndim=(1, 3),
        within=(0, 7),
        prepend=(0,),
        append=(2,),
    ),
    cancels=True,
    numpy=differences,
)
rows(
    "numpy",
    "ediff1d",
    of_array("ifc", ndim=(1, 2), within=(-4, 5), to_end=(3,), to_begin=(1,)),
    cancels=True,
)
rows(
    "numpy",
    "trapezoid",
    lambda d: (
        (d.array("if", (3, 4), (-4, 5)),),
        d.pick(
            d.some(dx=(0.5,)) | {"axis": d.axis(2)},
            {"x": d.values(d.pick("float32", "float64"), (4,), (-4, 5))},
            {"x": d.values(d.pick("float32", "float64"), (3,), (-4, 5)), "axis": 0},
        ),
    ),
    cancels=True,
    promotes=True,
)
rows("numpy", "interp", interpolation, cancels=True, shuffled=False)
rows(
    "numpy",
    "unwrap",
    of_array("f", ndim=(1, 2), within=(-9, 9), axis=(0, -1)),
    cancels=True,
    derivative=False,
)

rows("numpy", "polyadd polysub", polynomials(2), cancels=True)
rows(
    "numpy", "polymul", polynomials(2), cancels=True, numpy=np.convolve
)  # leading zeros stay
rows("numpy", "polyder", polynomials(1, m=(0, 1, 2)))
rows("numpy", "polyint", polynomials(1, m=(1, 2), k=(3,)))
rows(
    "numpy",
    "polydiv",
    lambda d: ((d.array("f", (4,), (-4, 5)), d.array("f", (2,), (1, 3)))),
    numpy=None,
    cancels=True,
)
rows(
    "numpy",
    "polyval",
    lambda d: (
        d.array("ifc", (d.integer(0, 5),), (-3, 4)),
        d.array("ifc", d.shape((0, 2)), (-3, 4)),
    ),
    cancels=True,
)

rows(
    "numpy",
    "apply_along_axis",
    lambda d: (
        Function(lambda xp: lambda v: xp.sum(v) * v, "sum(v) * v"),
        d.axis(2),
        d.array("if", (2, 3), (-3, 4)),
    ),
    cancels=True,
)
rows(
    "numpy",
    "apply_over_axes",
    lambda d: (
        Function(lambda xp: xp.sum, "sum"),
        d.array("if", (2, 3, 2), (-3, 4)),
        d.pick((0, 2), (1,)),
    ),
    cancels=True,
)


def mapped(draw: Draw) -> Any:
    times = Function(lambda xp: lambda a, b: a * b + 1, "a * b + 1")
    return times, *[draw.values("float32", s, (-4, 5)) for s in draw.shapes(2)]


rows(
    "numpy",
    "vectorize",
    mapped,
    calling=lambda make, f, *xs: make(f)(*xs),
    cancels=True,
    derivative=False,
)
rows(
    "numpy",
    "frompyfunc",
    mapped,
    calling=lambda make, f, *xs: make(f, 2, 1)(*xs),
    cancels=True,
    derivative=False,
)


# -- zeros of polynomials, fits --------------------------------------------------------


def zeros_given(draw: Draw) -> Any:
    dtype = draw.dtype("f") if not draw.smooth else np.dtype("float64")
    if dtype.itemsize < 4:
        dtype = np.dtype("float32")
    wide = np.dtype("complex128" if dtype.itemsize == 8 else "complex64")
    shape = draw.pick((1,), (3,), (2, 2))
    complex_ = len(shape) == 1 and not draw.smooth and draw.chance(0.3)
    return (draw.values(wide if complex_ else dtype, shape, (1, 3)),)


def coefficients_given(draw: Draw) -> Any:
    n = draw.pick(1, 2, 3)
    p = np.cumprod(draw.values("float64", (n + 1,), (1.5, 2.5)))
    dtype = "float64" if draw.x64 else "float32"
    return (p.astype(dtype),), {"strip_zeros": False}


def symmetric_sums(function: Any, p: Any, strip_zeros: bool = True) -> Any:
    """Of zeros, which come in any order, sums."""
    w = function(p) if function is np.roots else function(p, strip_zeros=strip_zeros)
    return [abs(w).sum(), (w * w).sum().real]


def points(draw: Draw) -> Any:
    x = (np.arange(6) + draw.values("float64", (6,), (0, 0.5))).astype("float32")
    y = draw.values("float32", draw.pick((6,), (6, 2)), (-2, 2))
    named = draw.some(
        w=(np.linspace(1, 2, 6).astype("float32"),), cov=(True, "unscaled")
    )
    if draw.smooth:
        x, y, named = x.astype("float64"), y.astype("float64"), draw.some(cov=(True,))
    return (x, y, draw.pick(0, 1, 2)), named


rows("numpy", "poly", zeros_given, rounding=1 << 10, cancels=True, zeros=False)
rows("numpy", "roots", coefficients_given, rounding=1 << 12, cancels=True,
     calling=symmetric_sums)  # fmt: skip
rows(
    "numpy",
    "polyfit",
    points,
    rounding=1 << 12,
    cancels=True,
    shuffled=False,
    zeros=False,
)

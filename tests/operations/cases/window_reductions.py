"""Rows of ``operations/window_reductions`` and ``window_selection``."""

import numpy as np

from covector.core.types import ArrayType
from covector.operations.window_reductions import ReduceWindowSum
from covector.operations.window_selection import (
    ReduceWindowMax,
    ReduceWindowMin,
    SelectAndGatherAdd,
    SelectAndScatterAdd,
)
from tests.laws import Case

_rng = np.random.default_rng(0)


def _shuffled(*shape):
    return _rng.permutation(np.prod(shape)).reshape(shape) / 8 - 1.0


def _fields(sizes, strides=None, padding=None, base=None, gaps=None):
    rank = len(sizes)
    return (
        sizes,
        strides or (1,) * rank,
        padding or ((0, 0),) * rank,
        base or (1,) * rank,
        gaps or (1,) * rank,
    )


# operand, window, and for which element types: compiling takes a while
_ALL, _FEW = None, ("float32", "float64")
_WINDOWS = [
    (_shuffled(7), _fields((3,)), _ALL),
    (_shuffled(7), _fields((2,), (3,), ((1, 1),)), _FEW),
    (_shuffled(2, 6, 5), _fields((1, 2, 3), (1, 2, 1), ((0, 0), (1, 0), (1, 1))), _FEW),
    (_shuffled(6, 5), _fields((2, 2), (2, 2)), _FEW),
    (_shuffled(9, 7), _fields((2, 4), (3, 4), ((1, 0), (-1, 2))), _FEW),
    (_shuffled(3, 4), _fields((3, 4), (2, 1)), _FEW),
    (_shuffled(9), _fields((3,), (2,), ((2, -1),), (2,), (2,)), _FEW),
    (_shuffled(20), _fields((7,), None, ((3, 3),)), _FEW),
    (_shuffled(4), _fields((9,), None, ((4, 4),)), _FEW),
    (_shuffled(3), _fields((5,)), _FEW),
    (np.zeros((0, 3)), _fields((1, 2)), _FEW),
]
_large = (_shuffled(9, 10), _fields((9, 9), (1, 1), ((4, 4), (4, 4))))


def _by_loops(x, fields, fill, function):
    """The function of the elements in each window, one window after the other."""
    sizes, strides, padding, base, gaps = fields
    dilated = [(n - 1) * b + 1 if n else 0 for n, b in zip(x.shape, base, strict=True)]
    whole = np.full(
        [max(lo + n + hi, 0) for n, (lo, hi) in zip(dilated, padding, strict=True)],
        fill,
        x.dtype,
    )
    for at in np.ndindex(*x.shape):
        to = tuple(i * b + lo for i, b, (lo, _) in zip(at, base, padding, strict=True))
        if all(0 <= t < n for t, n in zip(to, whole.shape, strict=True)):
            whole[to] = x[at]
    spans = [(k - 1) * d + 1 for k, d in zip(sizes, gaps, strict=True)]
    shape = [
        max((n - span) // s + 1, 0) if n >= span else 0
        for n, span, s in zip(whole.shape, spans, strides, strict=True)
    ]
    out = np.zeros(shape, x.dtype)
    for at in np.ndindex(*shape):
        window = tuple(
            slice(i * s, i * s + span, d)
            for i, s, span, d in zip(at, strides, spans, gaps, strict=True)
        )
        out[at] = function(whole[window])
    return out


def _least(x):
    if x.dtype.kind == "b":
        return False
    return np.iinfo(x.dtype).min if x.dtype.kind in "iu" else -np.inf


def _greatest(x):
    if x.dtype.kind == "b":
        return True
    return np.iinfo(x.dtype).max if x.dtype.kind in "iu" else np.inf


def _sums(fields):
    return lambda x: _by_loops(x, fields, 0, lambda w: np.sum(w, dtype=w.dtype))


def _extrema(fields, bound, function):
    return lambda x: _by_loops(x, fields, bound(x), function)


def _selecting(x, fields, select, **options):
    gather = SelectAndGatherAdd(*fields, select)
    scatter = SelectAndScatterAdd(*fields, select)
    (out,) = ReduceWindowMax(*fields).type_rule(ArrayType(x.shape, np.float64))
    options = {"derivative": (True, False), "dtypes": _FEW, **options}
    return [
        Case(gather, (_shuffled(*x.shape), x), **options),
        Case(scatter, (_shuffled(*out.shape), x), **options),
    ]


_nan = np.array([1.0, np.nan, 3.0, 3.0, np.nan, np.nan, -np.inf, np.inf, np.inf])

CASES = [
    *[
        Case(ReduceWindowSum(*f), (x,), _sums(f), dtypes=some)
        for x, f, some in _WINDOWS
    ],
    Case(
        ReduceWindowSum(*_fields((2,))),
        (_shuffled(4) + 1j * _shuffled(4),),
        _sums(_fields((2,))),
    ),
    # of integers without a sign and narrow floats NumPy knows no bounds
    *[
        Case(
            ReduceWindowMax(*f),
            (x,),
            _extrema(f, _least, np.max),
            dtypes=some or ("float32", "bfloat16", "int32", "uint8", "bool"),
            upcast=False,
        )
        for x, f, some in _WINDOWS[1:-2]
    ],
    *[
        Case(op(*_fields((3,))), (_shuffled(7),))
        for op in (ReduceWindowMax, ReduceWindowMin)
    ],
    Case(
        ReduceWindowMin(*_WINDOWS[6][1]),
        (_WINDOWS[6][0],),
        _extrema(_WINDOWS[6][1], _greatest, np.min),
        dtypes=_FEW,
    ),
    *[
        Case(
            op(*_fields((2,))),
            (_nan,),
            _extrema(_fields((2,)), _least, function),
            name=f"{op(*_fields((2,))).name} of special values",
            derivative=False,
            dtypes=("float32", "float64", "bfloat16"),
        )
        for op, function in ((ReduceWindowMax, np.max), (ReduceWindowMin, np.min))
    ],
    *[case for x, f, _ in _WINDOWS[:-2] for case in _selecting(x, f, "ge")],
    *_selecting(_WINDOWS[2][0], _WINDOWS[2][1], "le"),
    *_selecting(*_large, "ge", name="large windows"),
    *_selecting(np.rint(_shuffled(8, 3)), _fields((3, 2)), "ge", name="ties"),
    *_selecting(_nan, _fields((3,)), "ge", name="special values", derivative=False),
    *_selecting(_nan, _fields((3,)), "le", name="special values", derivative=False),
]

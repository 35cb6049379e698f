"""Rows of the operations in ``operations/gathering.py`` and ``scattering.py``.

The reference goes through the windows one by one, in Python.
"""

import itertools

import numpy as np

from covector.operations.gathering import Gather, ScatterAdd
from covector.operations.scattering import Scatter, ScatterMax, ScatterMin, ScatterMul
from covector.operations.windows import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
)
from tests.laws import Case

CLIP = GatherScatterMode.CLIP
FILL_OR_DROP = GatherScatterMode.FILL_OR_DROP
PROMISE = GatherScatterMode.PROMISE_IN_BOUNDS

_v = np.array([0.5, -1.25, 2.0, 3.75, -0.75])
_x = np.random.default_rng(1).permutation(20).reshape(4, 5) / 4 - 2.1
_cube = np.random.default_rng(2).permutation(60).reshape(3, 4, 5) / 8 - 3.1
_z = _x[:2, :3] + 1j * _x[2:, 2:]
_bools = np.array([True, False, True, True])


#: every element type is tried on one shape, these on the others
_FEW = ("float64", "int32", "bfloat16")


def _int(*values):
    return np.array(values, np.int32)


def _windows(numbers, sizes, x, indices, clip):
    """For each window: where it is in the operand (or None), and where among all."""
    batch = indices.shape[:-1]
    offset = numbers.offset_dims
    for index in np.ndindex(*batch):
        start = [0] * x.ndim
        for axis, i in zip(numbers.start_index_map, indices[index], strict=True):
            start[axis] = int(i)
        pairs = zip(
            numbers.operand_batching_dims,
            numbers.start_indices_batching_dims,
            strict=True,
        )
        for axis, of_batch in pairs:
            start[axis] = index[of_batch]
        last = [n - size for n, size in zip(x.shape, sizes, strict=True)]
        if clip:
            start = [min(max(s, 0), k) for s, k in zip(start, last, strict=True)]
        inside = all(0 <= s <= k for s, k in zip(start, last, strict=True))
        source = tuple(slice(s, s + n) for s, n in zip(start, sizes, strict=True))
        rest = iter(index)
        count = len(batch) + len(offset)
        where = tuple(slice(None) if k in offset else next(rest) for k in range(count))
        yield (source if inside else None), where


def _gone(numbers):
    return (*numbers.collapsed_slice_dims, *numbers.operand_batching_dims)


def _gather(numbers, sizes, x, indices, fill=None, *, mode=FILL_OR_DROP, **options):
    numbers = GatherDimensionNumbers(*numbers)
    unique = options.pop("unique_indices", False)
    op = Gather(numbers, sizes, unique_indices=unique, mode=mode, fill_value=fill)

    def reference(x, indices):
        kept = [n for k, n in enumerate(sizes) if k not in _gone(numbers)]
        rest, inside = iter(indices.shape[:-1]), iter(kept)
        count = indices.ndim - 1 + len(kept)
        shape = [
            next(inside if k in numbers.offset_dims else rest) for k in range(count)
        ]
        out = np.full(shape, op.fill(np.asarray(x).dtype), x.dtype)
        clip = mode is not FILL_OR_DROP
        for source, where in _windows(numbers, sizes, x, indices, clip):
            if source is not None:
                out[where] = np.squeeze(x[source], _gone(numbers))
        return out

    if np.asarray(x).dtype == np.float64:
        options.setdefault("dtypes", _FEW)
    return Case(op, (x, indices), reference, upcast=False, **options)


GATHERS = [
    _gather(((), (0,), (0,)), (1,), _v, _int([1], [3], [0], [1]), dtypes=None),
    _gather(((), (0,), (0,)), (1,), _v, _int(2)),
    _gather(((2,), (0,), (0,)), (1, 5), _x, _int([[1], [3]], [[0], [1]])),
    _gather(((0,), (1,), (1,)), (4, 1), _x, _int([1], [3], [1])),
    _gather(((), (0, 1), (0, 1)), (1, 1), _x, _int([1, 4], [3, 0])),
    _gather(((), (0, 1), (1, 0)), (1, 1), _x, _int([1, 2], [3, 0])),
    _gather(((0, 1), (), (0, 1)), (2, 3), _x, _int(1, 2)),
    _gather(((0, 2), (), (1,)), (4, 2), _x, _int([1], [3], [0])),
    _gather(((1, 2), (1,), (0, 1)), (2, 1, 5), _cube, _int([0, 1], [1, 3])),
    _gather(((0,), (0, 2), (0, 2)), (1, 4, 1), _cube, _int([2, 1], [0, 4])),
    _gather(((0, 1), (1,), (2, 1)), (3, 1, 2), _cube, _int([[1, 2]], [[0, 3]])),
    _gather(((1,), (), (), (0,), (0,)), (1, 5), _x, np.zeros((4, 0), np.int32)),
    _gather(((), (1,), (1,), (0,), (0,)), (1, 1), _x, _int([1], [0], [4], [2])),
    _gather(((1,), (2,), (2,), (0,), (0,)), (1, 4, 1), _cube, _int([1], [0], [4])),
    _gather(
        ((0,), (1,), (1,), (2,), (1,)),
        (3, 1, 1),
        _cube,
        _int([[1], [0], [3], [2], [1]], [[0], [0], [2], [2], [3]]),
    ),
    _gather(((0, 1), (), ()), (4, 5), _x, np.zeros(0, np.int32)),
    _gather(((), (), ()), (), 1.5, np.zeros((2, 0), np.int32)),
    _gather(((1,), (0,), (0,)), (1, 3), _z, _int([1], [0], [1])),
    _gather(((), (0,), (0,)), (1,), _bools, _int([1], [9])),
    _gather(((), (0,), (0,)), (1,), _v, np.zeros((0, 1), np.int32)),
    _gather(((1,), (0,), (0,)), (1, 0), np.zeros((4, 0)), _int([1], [3])),
    _gather(((0,), (), (0,)), (0,), np.zeros(0), _int(0)),
    _gather(
        ((), (0,), (0,)), (1,), _v, _int([3], [1]), unique_indices=True, name="unique"
    ),
]

_outside = _int([1], [5], [-1], [4], [99], [-7])
_partly_outside = _int([1, 2], [3, 2], [-1, 0], [2, 3], [0, -1], [9, 9])
OUTSIDE = [
    case
    for mode in (FILL_OR_DROP, CLIP, PROMISE)
    for case in (
        _gather(
            ((), (0,), (0,)), (1,), _v, _outside, mode=mode, derivative=mode is CLIP
        ),
        _gather(
            ((1, 2), (), (0, 1)),
            (2, 3),
            _x,
            _partly_outside,
            mode=mode,
            derivative=mode is CLIP,
        ),
    )
]

FILLS = [
    _gather(((), (0,), (0,)), (1,), _v, _outside, 0, name="fill"),
    _gather(((0,), (1,), (1,)), (4, 1), _x, _outside, 0, name="fill"),
    _gather(((1, 2), (), (0, 1)), (2, 3), _x, _partly_outside, 0, name="fill"),
    _gather(((1,), (0,), (0,)), (1, 3), _z, _outside, "(1+2j)", name="fill"),
    *[
        _gather(
            ((), (0,), (0,)),
            (1,),
            _v,
            _outside,
            fill,
            name=f"fill {fill}",
            dtypes=("float32",),
            derivative=False,
        )
        for fill in ("-0.0", "nan", "inf", "2.5")
    ],
    _gather(
        ((), (0,), (0,)), (1,), _v, np.array([[1], [-1]], np.int8), 0, name="8-bit"
    ),
    _gather(
        ((), (0,), (0,)),
        (1,),
        np.arange(300.0),
        np.array([[1], [255]], np.uint8),
        name="8-bit indices, long axis",
    ),
    *[
        _gather(
            ((), (0,), (0,)),
            (1,),
            _v,
            np.array([[1], [2**32 - 1], [5]], dtype),
            0 if mode is FILL_OR_DROP else None,
            mode=mode,
            name=f"{np.dtype(dtype)}",
        )
        for mode in (FILL_OR_DROP, CLIP)
        for dtype in (np.uint32, np.int64, np.uint64)
    ],
]


def _scatter(kind, numbers, x, indices, updates, *, mode=FILL_OR_DROP, **options):
    numbers = ScatterDimensionNumbers(*numbers)
    reading = GatherDimensionNumbers(*numbers)
    op = kind(numbers, unique_indices=options.pop("unique_indices", False), mode=mode)
    combine = {
        Scatter: lambda old, new: new,
        ScatterAdd: np.add,
        ScatterMul: np.multiply,
        ScatterMin: np.minimum,
        ScatterMax: np.maximum,
    }[kind]

    def reference(x, indices, updates):
        out = np.array(x)
        window = [a for a in range(x.ndim) if a not in _gone(reading)]
        sizes = [1] * x.ndim
        for axis, k in zip(window, numbers.update_window_dims, strict=True):
            sizes[axis] = updates.shape[k]
        for target, where in _windows(reading, sizes, x, indices, mode is CLIP):
            if target is not None:
                new = np.expand_dims(updates[where], _gone(reading))
                out[target] = combine(out[target], new)
        return out

    return Case(op, (x, indices, updates), reference, upcast=False, **options)


def _like(shape):
    """Updates, no two of which tie with each other or with an operand."""
    size = int(np.prod(shape))
    return np.random.default_rng(3).permutation(size).reshape(shape) / 4 - 1.53


#: dimension numbers, operand, indices, shape of the updates; windows apart, then not
_APART = [
    (((), (0,), (0,)), _v, _int([1], [3], [0]), (3,)),
    (((), (0,), (0,)), _v, _int(2), ()),
    (((1,), (0,), (0,)), _x, _int([2], [0]), (2, 5)),
    (((0,), (1,), (1,)), _x, _int([1], [3]), (4, 2)),
    (((), (0, 1), (1, 0)), _x, _int([1, 2], [3, 0]), (2,)),
    (((0, 1), (), (0, 1)), _x, _int(1, 2), (2, 3)),
    (((0,), (0, 2), (0, 2)), _cube, _int([2, 1], [0, 4]), (4, 2)),
    (((), (1,), (1,), (0,), (0,)), _x, _int([1], [0], [4], [2]), (4,)),
    (((1,), (2,), (2,), (0,), (0,)), _cube, _int([1], [0], [4]), (3, 4)),
    (((0, 1), (), ()), _x, np.zeros(0, np.int32), (4, 5)),
    (((), (), ()), np.array(1.5), np.zeros(0, np.int32), ()),
    (((), (0,), (0,)), _v, np.zeros((0, 1), np.int32), (0,)),
    (((1,), (0,), (0,)), np.zeros((4, 0)), _int([1], [3]), (2, 0)),
]
_OVERLAPPING = [
    (((), (0,), (0,)), _v, _int([1], [3], [1], [1]), (4,)),
    (((2,), (0,), (0,)), _x, _int([[1], [3]], [[0], [1]]), (2, 2, 5)),
    (((1, 2), (), (0, 1)), _x, _int([1, 1], [0, 0], [2, 2]), (3, 2, 3)),
    (((), (1,), (1,), (0,), (1,)), _x, _int(*[[[1]] * 4, [[2]] * 4]), (2, 4)),
]
_OUTSIDE = [
    (((), (0,), (0,)), _v, _outside, (6,)),
    (((1, 2), (), (0, 1)), _x, _partly_outside, (6, 2, 3)),
]


def _rows(kind, every_shape=False, overlapping=True):
    """Rows of one kind of scatter, on all operands or those of a few shapes.

    Where windows overlap, the derivative of the updates may not exist.
    """
    exact, name = (True, False, overlapping), kind.__name__
    z = (_z, _int([1], [0]), _like((2, 3)) + 0.5j)
    yield _scatter(kind, ((1,), (0,), (0,)), *z, unique_indices=True, name=name)
    for k, row in enumerate(_APART if every_shape else _APART[1:12:5]):
        numbers, x, indices, shape = row
        operands = (x, indices, _like(shape))
        yield _scatter(
            kind,
            numbers,
            *operands,
            unique_indices=True,
            name=f"{name} apart",
            dtypes=_FEW if k else None,
        )
    for numbers, x, indices, shape in _OVERLAPPING:
        operands = (x, indices, _like(shape))
        yield _scatter(
            kind,
            numbers,
            *operands,
            derivative=exact,
            name=f"{name} overlapping",
            dtypes=_FEW,
        )
    for row, mode in itertools.product(_OUTSIDE, (FILL_OR_DROP, CLIP)):
        numbers, x, indices, shape = row
        operands = (x, indices, _like(shape))
        yield _scatter(
            kind,
            numbers,
            *operands,
            mode=mode,
            derivative=exact,
            name=f"{name} outside, {mode.name}",
            dtypes=_FEW,
        )


SCATTERS = [
    *_rows(Scatter, every_shape=True),
    *_rows(ScatterAdd, every_shape=True),
    *_rows(ScatterMul, overlapping=False),
    *_rows(ScatterMin),
    *_rows(ScatterMax),
    _scatter(Scatter, ((), (0,), (0,)), _bools, _int([1], [0]), _bools[:2]),
    _scatter(ScatterMax, ((), (0,), (0,)), _bools, _int([1], [0]), _bools[:2]),
    _scatter(ScatterMin, ((), (0,), (0,)), _bools, _int([1], [0]), _bools[:2]),
    _scatter(
        ScatterMax,
        ((), (0,), (0,)),
        np.array([1.0, np.nan, -np.inf]),
        _int([0], [1], [2], [2]),
        np.array([np.nan, 1.0, -np.inf, 3.0]),
        derivative=False,
    ),
    _scatter(
        ScatterAdd,
        ((), (0,), (0,)),
        np.array([100, -100, 7], np.int8),
        _int([0], [0], [1]),
        np.array([100, 100, -100], np.int8),
        name="integers that wrap around",
    ),
    _scatter(
        ScatterAdd,
        ((), (0,), (0,)),
        np.arange(300.0),
        np.array([[1], [255]], np.uint8),
        _v[:2],
        name="8-bit indices",
    ),
    _scatter(
        ScatterAdd,
        ((), (0,), (0,)),
        _v,
        np.array([[1], [2**32 - 1]], np.uint32),
        _v[:2],
        mode=CLIP,
        name="unsigned indices",
    ),
]

CASES = [*GATHERS, *OUTSIDE, *FILLS, *SCATTERS]

"""Rows of the operations in ``operations/slicing.py`` and ``dynamic_slicing.py``."""

import numpy as np

from covector.operations.dynamic_slicing import DynamicSlice, DynamicUpdateSlice
from covector.operations.slicing import Pad, Slice
from tests.laws import Case

_v = np.array([0.5, -1.25, 2.0, 3.75, -0.75])
_x = np.arange(20.0).reshape(4, 5) / 4 - 2
_cube = np.arange(60.0).reshape(3, 4, 5) / 8 - 3
_z = _x[:2, :3] + 1j * _x[2:, 2:]
_none = np.zeros((0, 3))
_special = np.array([np.nan, np.inf, -0.0, 1.0, -np.inf])
_bools = np.array([True, False, True, True])

SLICES = [
    Case(Slice((1,), (4,)), (_v,), lambda x: x[1:4]),
    Case(Slice((1,), (5,), (3,)), (_v,), lambda x: x[1:5:3]),
    Case(Slice((2,), (2,)), (_v,), lambda x: x[2:2]),
    Case(Slice((5,), (5,), (2,)), (_v,), lambda x: x[5:]),
    Case(Slice((3,), (4,), None, (0,)), (_v,), lambda x: x[3]),
    Case(Slice((0, 1), (4, 5), (2, 3)), (_x,), lambda x: x[::2, 1::3]),
    Case(Slice((1, 0), (2, 5), None, (0,)), (_x,), lambda x: x[1]),
    Case(Slice((0, 2), (4, 3), (1, 2), (1,)), (_x,), lambda x: x[:, 2]),
    Case(Slice((2, 0, 1), (3, 3, 2), None, (0, 2)), (_cube,), lambda x: x[2, :3, 1]),
    Case(Slice((0, 1), (2, 3)), (_z,), lambda x: x[:, 1:3]),
    Case(Slice((), ()), (1.5,), lambda x: x),
    Case(Slice((0, 1), (0, 3)), (_none,), lambda x: x[:, 1:]),
    Case(Slice((0, 1), (0, 2), None, (1,)), (_none,), lambda x: x[:, 1]),
    Case(Slice((0,), (5,), (2,)), (_special,), lambda x: x[::2], derivative=False),
    Case(Slice((1,), (3,)), (_bools,), lambda x: x[1:3]),
]


def _padded(config):
    """Padding by assignment: the elements dilated, framed, and cut."""

    def reference(x, value):
        for axis, (low, high, interior) in enumerate(config):
            x = np.moveaxis(x, axis, 0)
            n = len(x)
            dilated = np.full(
                (n + max(n - 1, 0) * interior, *x.shape[1:]), value, x.dtype
            )
            dilated[:: interior + 1] = x
            frames = [
                np.full((max(k, 0), *x.shape[1:]), value, x.dtype) for k in (low, high)
            ]
            dilated = dilated[max(-low, 0) : len(dilated) - max(-high, 0)]
            x = np.moveaxis(np.concatenate([frames[0], dilated, frames[1]]), 0, axis)
        return x

    return reference


def _pad(config, x, value=0.25, **options):
    return Case(Pad(config), (x, value), _padded(config), **options)


PADS = [
    _pad(((2, 1, 0),), _v),
    _pad(((0, 0, 2),), _v),
    _pad(((-1, -2, 0),), _v),
    _pad(((-2, 3, 1),), _v),
    _pad(((3, -4, 2),), _v),
    _pad(((-5, -4, 1),), _v),
    _pad(((1, 0, 0), (0, 2, 1)), _x),
    _pad(((-1, 2, 1), (1, -1, 0)), _x),
    _pad(((0, 1, 0), (0, 0, 0), (2, -3, 0)), _cube),
    _pad(((1, 1, 1), (0, 1, 0)), _z, 1 - 2j),
    _pad((), 1.5),
    _pad(((1, 2, 3), (0, 1, 0)), _none),
    _pad(((0, 0, 0), (-1, -2, 0)), _none),
    _pad(((1, 0, 1),), _special, np.nan, derivative=False),
    _pad(((1, 0, 1),), _v, -np.inf, derivative=False),
    _pad(((1, 0, 1),), _bools, True),
]


def _starts(x, sizes, starts):
    pairs = zip(x.shape, sizes, starts, strict=True)
    return [int(np.clip(int(s), 0, n - size)) for n, size, s in pairs]


def _window(x, sizes, starts):
    bounds = zip(_starts(x, sizes, starts), sizes, strict=True)
    return tuple(slice(s, s + size) for s, size in bounds)


def _dynamic_slice(sizes, x, *starts, collapsed=(), **options):
    def reference(x, *starts):
        return np.squeeze(x[_window(x, sizes, starts)], collapsed)

    return Case(DynamicSlice(sizes, collapsed), (x, *starts), reference, **options)


def _dynamic_update(x, update, *starts, inserted=(), **options):
    def reference(x, update, *starts):
        x, update = x.copy(), np.expand_dims(update, inserted)
        x[_window(x, update.shape, starts)] = update
        return x

    return Case(
        DynamicUpdateSlice(inserted), (x, update, *starts), reference, **options
    )


_i = np.int32

DYNAMIC = [
    _dynamic_slice((2,), _v, _i(1)),
    _dynamic_slice((2,), _v, _i(-3), name="before the start"),
    _dynamic_slice((2,), _v, _i(99), name="past the end"),
    _dynamic_slice((1,), _v, _i(2), collapsed=(0,)),
    _dynamic_slice((2, 3), _x, _i(1), _i(2)),
    _dynamic_slice((1, 5), _x, _i(2), _i(0), collapsed=(0,)),
    _dynamic_slice((4, 1), _x, _i(7), _i(-1), collapsed=(1,)),
    _dynamic_slice((1, 4, 1), _cube, _i(1), _i(0), _i(3), collapsed=(0, 2)),
    _dynamic_slice((1, 2), _z, _i(1), _i(1)),
    _dynamic_slice((2,), _bools, _i(1)),
    _dynamic_slice((), 1.5),
    _dynamic_slice((0, 2), _none, _i(0), _i(1)),
    _dynamic_slice((0, 1), _x, _i(3), _i(1), name="nothing"),
    _dynamic_slice((2,), _v, np.int8(-1), name="8-bit start"),
    _dynamic_slice(
        (2,), np.arange(300.0), np.uint8(255), name="8-bit start, long axis"
    ),
    _dynamic_slice((2,), _v, np.uint32(2**32 - 1), name="unsigned start"),
    _dynamic_slice((2,), _v, np.int64(2**40), name="64-bit start"),
    _dynamic_update(_v, _v[:2] * 3, _i(1)),
    _dynamic_update(_v, _v[:2] * 3, _i(-3), name="before the start"),
    _dynamic_update(_v, _v[:2] * 3, _i(99), name="past the end"),
    _dynamic_update(_v, 8.0, _i(2), inserted=(0,)),
    _dynamic_update(_x, _x[:2, :3] * 3, _i(1), _i(2)),
    _dynamic_update(_x, _x[0] * 3, _i(2), _i(1), inserted=(0,)),
    _dynamic_update(_x, _x[:, 0] * 3, _i(0), _i(4), inserted=(1,)),
    _dynamic_update(_cube, _cube[0, :2, 0] * 3, _i(1), _i(1), _i(4), inserted=(0, 2)),
    _dynamic_update(_z, _z[:1, :2] * 3, _i(1), _i(1)),
    _dynamic_update(_bools, ~_bools[:2], _i(1)),
    _dynamic_update(1.5, 2.5),
    _dynamic_update(_none, _none[:, :1], _i(0), _i(1)),
    _dynamic_update(_x, _x[:0, :2], _i(1), _i(1), name="nothing"),
    _dynamic_update(_v, _v[:2] * 3, np.int8(-1), name="8-bit start"),
    _dynamic_update(_v, _v[:2] * 3, np.uint32(2**32 - 1), name="unsigned start"),
]

CASES = [*SLICES, *PADS, *DYNAMIC]

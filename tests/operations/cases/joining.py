"""Rows of the operations in ``operations/joining.py``."""

import numpy as np

from covector.operations.joining import Concatenate, Roll, Split, Stack, Unstack
from tests.laws import Case

_v = np.array([0.5, -1.25, 2.0, 3.75, -0.75])
_x = np.arange(20.0).reshape(4, 5) / 4 - 2
_cube = np.arange(24.0).reshape(2, 3, 4) / 8 - 1
_z = _x[:2, :3] + 1j * _x[2:, 2:]
_none = np.zeros((0, 3))
_bools = np.array([True, False, True, True])


def _concatenate(axis, *xs, **options):
    def reference(*xs):
        return np.concatenate(xs, axis)

    return Case(Concatenate(axis), xs, reference, **options)


def _roll(shifts, x):
    def reference(x):
        return np.roll(x, shifts, range(len(shifts))) if shifts else x

    return Case(Roll(shifts), (x,), reference)


def _split(sizes, axis, x, **options):
    def reference(x):
        return np.split(x, np.cumsum(sizes)[:-1], axis)

    return Case(Split(sizes, axis), (x,), reference, **options)


def _stack(axis, *xs, **options):
    def reference(*xs):
        return np.stack(xs, axis)

    return Case(Stack(axis), xs, reference, **options)


def _unstack(axis, x, **options):
    def reference(x):
        return list(np.moveaxis(x, axis, 0))

    return Case(Unstack(axis), (x,), reference, **options)


CASES = [
    _concatenate(0, _v, _v[:2] * 3),
    _concatenate(0, _v),
    _concatenate(1, _x, _x[:, :1] * 3, _x[:, :0]),
    _concatenate(0, _x, _x[:2]),
    _concatenate(1, _cube, _cube[:, :1], _cube[:, 1:]),
    _concatenate(0, _z, _z[:1] * 2),
    _concatenate(0, _none, _none),
    _concatenate(0, _bools, ~_bools[:1]),
    _split((2, 3), 0, _v),
    _split((5,), 0, _v),
    _split((1, 0, 4), 1, _x),
    _split((3, 1), 0, _x),
    _split((1, 2), 1, _cube),
    _split((1, 2), 1, _z),
    _split((0, 0), 0, _none),
    _split((1, 3), 0, _bools),
    _stack(0, _v, _v * 3),
    _stack(1, _v, _v * 3, -_v),
    _stack(0, 1.5, 2.5, -3.0),
    _stack(1, _x, _x * 3),
    _stack(2, _x, _x * 3),
    _stack(0, _z),
    _stack(1, _none, _none),
    _stack(0, _bools, ~_bools),
    _unstack(0, _v[:3]),
    _unstack(0, _x),
    _unstack(1, _x[:, :3]),
    _unstack(1, _cube),
    _unstack(0, _z),
    _unstack(1, _none),
    _unstack(0, _none),
    _unstack(0, _bools),
    _roll((2,), _v),
    _roll((-1, 7), _x),
    _roll((0, 1, -2), _cube),
    _roll((5, 0), _x),
    _roll((1, 1), _z),
    _roll((3, 1), _none),
    _roll((1,), _bools),
    _roll((), 1.5),
]

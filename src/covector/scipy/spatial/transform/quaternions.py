"""Unit quaternions ``[..., 4]`` that stand for rotations, the scalar part last.

    q = (axis · sin(angle / 2), cos(angle / 2))

q and −q are the same rotation. Formulas in which an angle divides have a series near 0,
so that they have derivatives of any order there.
"""

from typing import Any

from covector import numpy as cnp
from covector.core.array_like import Array
from covector.core.number_info import finfo

Quaternion = Array


def normalized(q: Array) -> Quaternion:
    """``q`` with length 1."""
    return q / cnp.sqrt(cnp.sum(q * q, -1, keepdims=True))


def product(p: Quaternion, q: Quaternion) -> Quaternion:
    """The rotation ``q``, and then ``p``."""
    u, a = p[..., :3], p[..., 3:]
    v, b = q[..., :3], q[..., 3:]
    scalar = a * b - cnp.sum(u * v, -1, keepdims=True)
    return cnp.concatenate([a * v + b * u + cnp.cross(u, v), scalar], -1)


def inverse(q: Quaternion) -> Quaternion:
    """The rotation back."""
    return cnp.concatenate([-q[..., :3], q[..., 3:]], -1)


def rotated(q: Quaternion, vectors: Array) -> Array:
    """Vectors ``[..., 3]``, rotated."""
    u, a = q[..., :3], q[..., 3:]
    twice = 2 * cnp.cross(u, vectors)
    return vectors + a * twice + cnp.cross(u, twice)


def canonical(q: Quaternion) -> Quaternion:
    """Of q and −q the one whose last part that is not 0 is positive."""
    signs = cnp.sign(q)
    sign = signs[..., 3]
    for part in (2, 1, 0):
        sign = cnp.where(sign == 0, signs[..., part], sign)
    return q * cnp.where(sign == 0, 1.0, sign)[..., None]


# -- matrices --------------------------------------------------------------------------


def to_matrix(q: Quaternion) -> Array:
    """``[..., 3, 3]``, for which the matrix times a vector is the vector rotated."""
    x, y, z, w = (q[..., k] for k in range(4))
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return cnp.stack([cnp.stack(row, -1) for row in rows], -2)


def of_matrix(m: Array) -> Quaternion:
    """The quaternion of a rotation matrix.

    Each row of 4 q qᵀ is a multiple of it and can be read from the matrix; the one with
    the largest diagonal element has the most digits.
    """
    t = cnp.trace(m, axis1=-2, axis2=-1)
    e = [[m[..., i, j] for j in range(3)] for i in range(3)]
    xy, xz, yz = e[0][1] + e[1][0], e[0][2] + e[2][0], e[1][2] + e[2][1]
    xw, yw, zw = e[2][1] - e[1][2], e[0][2] - e[2][0], e[1][0] - e[0][1]
    xx, yy, zz = (1 - t + 2 * e[k][k] for k in range(3))
    rows = [[xx, xy, xz, xw], [xy, yy, yz, yw], [xz, yz, zz, zw], [xw, yw, zw, 1 + t]]
    table = cnp.stack([cnp.stack(row, -1) for row in rows], -2)
    largest = cnp.argmax(cnp.linalg.diagonal(table), -1)
    chosen = cnp.take_along_axis(table, largest[..., None, None], -2)
    return normalized(chosen[..., 0, :])


# -- rotation vectors, and Rodrigues parameters ----------------------------------------


def _small(square: Array) -> float:
    """Below it the terms of the series are enough."""
    return finfo(square.dtype).eps ** 0.25


def _by_square(square: Array, near: Any, far: Any) -> Array:
    """``near(t)`` where the square t is small, else ``far`` of its root."""
    small = square < _small(square)
    root = cnp.sqrt(cnp.where(small, 1.0, square))
    return cnp.where(small, near(cnp.where(small, square, 0.0)), far(root))


def of_rotation_vector(v: Array) -> Quaternion:
    """The rotation about the axis of ``v`` ``[..., 3]``, by its length."""
    t = cnp.sum(v * v, -1, keepdims=True)
    sine = _by_square(
        t,
        lambda t: 0.5 - t / 48 * (1 - t / 80 * (1 - t / 168)),
        lambda r: cnp.sin(r / 2) / r,
    )
    cosine = _by_square(
        t,
        lambda t: 1 - t / 8 * (1 - t / 48 * (1 - t / 120 * (1 - t / 224))),
        lambda r: cnp.cos(r / 2),
    )
    return cnp.concatenate([sine * v, cosine], -1)


def to_rotation_vector(q: Quaternion) -> Array:
    """The axis times the angle, which is at most π."""
    q = canonical(q)
    u, w = q[..., :3], q[..., 3:]
    t = cnp.sum(u * u, -1, keepdims=True)
    small = t < _small(t)
    # 2 arctan(r) / r of r, the tangent of half the angle.
    cosine = cnp.where(small, w, 1.0)
    s = cnp.where(small, t, 0.0) / (cosine * cosine)
    near = 2 * (1 - s * (1 / 3 - s * (1 / 5 - s * (1 / 7 - s / 9)))) / cosine
    length = cnp.sqrt(cnp.where(small, 1.0, t))
    far = 2 * cnp.arctan2(length, w) / length
    return u * cnp.where(small, near, far)


def of_rodrigues(p: Array) -> Quaternion:
    """The rotation with the modified parameters axis · tan(angle / 4)."""
    t = cnp.sum(p * p, -1, keepdims=True)
    return cnp.concatenate([2 * p, 1 - t], -1) / (1 + t)


def to_rodrigues(q: Quaternion) -> Array:
    """The modified Rodrigues parameters; their length is at most 1."""
    sign = cnp.where(q[..., 3:] < 0, -1.0, 1.0)
    return sign * q[..., :3] / (1 + sign * q[..., 3:])


def angle_of(q: Quaternion) -> Array:
    """The angle of a rotation, from 0 to π."""
    length = cnp.linalg.norm(q[..., :3], axis=-1)
    return 2 * cnp.arctan2(length, cnp.abs(q[..., 3]))

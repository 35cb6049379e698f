"""Rows of the operations in ``operations/linear_algebra/``.

Which eigenvectors and singular vectors there are is up to LAPACK: the tests of that
room look at what does not depend on the choice.
"""

import numpy as np

from covector.operations.linear_algebra.cholesky import cholesky, upper_cholesky
from covector.operations.linear_algebra.determined import (
    Determined,
    Turns,
    TurnsOfTwo,
)
from covector.operations.linear_algebra.eig import Eig
from covector.operations.linear_algebra.eigh import Eigh
from covector.operations.linear_algebra.householder import (
    HouseholderMultiply,
    householder_product,
)
from covector.operations.linear_algebra.lu import (
    LUPivotsToInverse,
    LUPivotsToPermutation,
    lu,
)
from covector.operations.linear_algebra.pseudo_inverse import (
    least_squares,
    pseudo_inverse,
)
from covector.operations.linear_algebra.qr import QR, HouseholderQR
from covector.operations.linear_algebra.schur import Schur
from covector.operations.linear_algebra.solve import (
    determinant,
    inverse,
    slogdet,
    solve,
)
from covector.operations.linear_algebra.svd import SVD
from covector.operations.linear_algebra.triangular_solve import TriangularSolve
from covector.operations.linear_algebra.tridiagonal import (
    Tridiagonal,
    TridiagonalSolve,
    hessenberg,
)
from tests.laws import Case

_rng = np.random.default_rng(0)
_square = _rng.uniform(-1, 1, (3, 3)) + 2 * np.diag([1.0, -1.5, 2.0])
_stack = _rng.uniform(-1, 1, (2, 3, 3)) + 2 * np.eye(3)
_complex = _square + 1j * _rng.uniform(-1, 1, (3, 3))
_columns = _rng.uniform(-2, 2, (3, 2))
_none = np.zeros((0, 0))


def _positive(x):
    """A positive definite matrix, with other numbers above its diagonal."""
    full = x @ np.conj(np.swapaxes(x, -1, -2)) + np.eye(x.shape[-1])
    return np.tril(full) + np.triu(np.ones_like(x), 1)


def _lower(x):
    """The Hermitian matrix of a lower triangle."""
    below = np.tril(x, -1)
    real = np.real(np.einsum("...ii->...i", x))[..., None, :] * np.eye(x.shape[-1])
    return below + np.conj(np.swapaxes(below, -1, -2)) + real


def _upper_factor(x):
    """That of the adjoint, of which the lower triangle is read."""
    lower = np.linalg.cholesky(_lower(np.conj(np.swapaxes(x, -1, -2))))
    return np.conj(np.swapaxes(lower, -1, -2))


def _triangular(left, lower, transpose, conjugate, unit):
    def reference(a, b):
        a = np.tril(a, -unit) if lower else np.triu(a, unit)
        a = a + unit * np.eye(a.shape[-1])
        a = np.swapaxes(a, -1, -2) if transpose else a
        a = np.conj(a) if conjugate else a
        if left:
            return np.linalg.solve(a, b)
        a, b = [np.swapaxes(x, -1, -2) for x in (a, b)]
        return np.swapaxes(np.linalg.solve(a, b), -1, -2)

    return reference


def _triangular_case(options, a, b, **facts):
    return Case(
        TriangularSolve(*options), (a, b), _triangular(*options), rtol=1e-5, **facts
    )


def _factors(a):
    """Gaussian elimination with partial pivoting, matrix by matrix."""
    a = np.array(a)
    m, n = a.shape[-2:]
    pivots = np.zeros((*a.shape[:-2], min(m, n)), np.int32)
    for index in np.ndindex(a.shape[:-2]):
        x = a[index]
        for k in range(min(m, n)):
            sizes = np.abs(x[k:, k].real) + np.abs(x[k:, k].imag)  # as BLAS has it
            j = pivots[index][k] = k + np.argmax(sizes)
            x[[k, j]] = x[[j, k]]
            x[k + 1 :, k] /= x[k, k]
            x[k + 1 :, k + 1 :] -= np.outer(x[k + 1 :, k], x[k, k + 1 :])
    return a, pivots


def _permutation(size):
    def reference(pivots):
        orders = np.zeros((*pivots.shape[:-1], size), np.int32)
        for index in np.ndindex(pivots.shape[:-1]):
            order = list(range(size))
            for i, j in enumerate(pivots[index]):
                order[i], order[j] = order[j], order[i]
            orders[index] = order
        return orders

    return reference


_pivots = np.array([[2, 1, 3], [0, 3, 2]], np.int32)
_singular = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [0.5, -1.0, 2.0]])

_symmetric = _square + _square.T
_hermitian = _complex + np.conj(_complex.T)
_turning = np.roll(_square, 1, 0)[:, [1, 0, 2]]
_tall, _wide = _stack[0][:, :2], _stack[0][:2]
_taus = np.array([1.25, 0.75])
_diagonals = [_rng.uniform(-1, 1, (2, 4)) for _ in range(3)]
_diagonals[1] += 3


def _nearest(a, b, rcond):
    return np.linalg.pinv(a, rcond) @ b, np.linalg.svd(a, compute_uv=False)


def _gram(x, rcond):
    return np.linalg.pinv(x, rcond), np.linalg.svd(x, compute_uv=False)


def _banded(dl, d, du, b):
    n = d.shape[-1]
    full = np.zeros((*d.shape, n), d.dtype)
    for i in range(n):
        full[..., i, i] = d[..., i]
        if i:
            full[..., i, i - 1], full[..., i - 1, i] = dl[..., i], du[..., i - 1]
    return np.linalg.solve(full, b)


_banded_operands = *_diagonals, np.swapaxes(_stack, 0, 1)[:2].repeat(2, 1)[:, :4]

CASES = [
    Case(
        cholesky,
        (_positive(_stack),),
        lambda x: np.linalg.cholesky(_lower(x)),
        rtol=1e-5,
    ),
    Case(
        cholesky,
        (_positive(_complex),),
        lambda x: np.linalg.cholesky(_lower(x)),
        rtol=1e-5,
    ),
    *[
        Case(
            upper_cholesky,
            (np.conj(np.swapaxes(_positive(x), -1, -2)),),
            _upper_factor,
            rtol=1e-5,
        )
        for x in (_stack, _complex)
    ],
    _triangular_case((True, True, False, False, False), _square, _columns),
    _triangular_case(
        (False, False, False, False, True), _stack, np.swapaxes(_stack, 1, 2)
    ),
    _triangular_case((True, False, True, True, False), _complex, _columns + 1j),
    _triangular_case((False, True, False, True, False), _complex, _columns.T + 1j),
    Case(lu, (_stack,), _factors, rtol=1e-5),
    Case(lu, (_complex[:2],), _factors, rtol=1e-5),
    Case(lu, (_complex[:, :2],), _factors, rtol=1e-5),
    Case(lu, (np.zeros((2, 0)),), _factors),
    Case(LUPivotsToPermutation(4), (_pivots,), _permutation(4), dtypes=("int32",)),
    Case(
        LUPivotsToInverse(4),
        (_pivots,),
        lambda x: np.argsort(_permutation(4)(x)).astype(x.dtype),
        dtypes=("int32",),
    ),
    Case(solve, (_stack, _stack[..., :2]), np.linalg.solve, rtol=1e-5),
    Case(solve, (_complex, _columns + 1j), np.linalg.solve, rtol=1e-5),
    Case(inverse, (_stack,), np.linalg.inv, rtol=1e-5),
    Case(inverse, (_none,), np.linalg.inv),
    Case(determinant, (_stack,), np.linalg.det, rtol=1e-5),
    Case(determinant, (_complex,), np.linalg.det, rtol=1e-5),
    Case(determinant, (_singular,), np.linalg.det, rtol=1e-5, second_order=False),
    Case(determinant, (_none,), np.linalg.det),
    Case(slogdet, (_stack,), np.linalg.slogdet, rtol=1e-5),
    Case(slogdet, (_complex,), np.linalg.slogdet, rtol=1e-5),
    Case(QR(), (_stack,)),
    Case(QR(False), (_tall,)),
    Case(QR(False), (_wide,)),
    Case(QR(False, True), (_complex,)),
    Case(QR(), (_tall,), name="full qr", derivative=False),
    Case(QR(), (np.zeros((2, 0)),), lambda x: (np.eye(2), x)),
    Case(HouseholderQR(), (_stack,)),
    Case(HouseholderQR(), (_tall,)),
    Case(HouseholderQR(True), (_complex[:2],)),
    Case(householder_product, (_stack[:, :, :2], np.stack([_taus, _taus]))),
    Case(householder_product, (_complex, _taus + 0.5j)),
    Case(HouseholderMultiply(), (_tall, _taus, _columns)),
    Case(
        HouseholderMultiply(False, True),
        (_complex[:, :2], _taus + 0.5j, _columns.T + 1j),
    ),
    Case(Eigh(), (np.stack([_symmetric, 2 * _symmetric + 1]),)),
    Case(Eigh(False), (_hermitian,), np.linalg.eigvalsh, rtol=1e-5),
    Case(Eigh(), (_none,)),
    Case(Turns("eigh"), (_square, _square > 9), lambda x, free: x),
    Case(
        TurnsOfTwo("svd"),
        (_square, _stack[0], _square > 9, _square > 9),
        lambda x, y, *free: (x + y, x - y),
    ),
    Case(
        Determined("eigh"),
        (_square, abs(_square), _square > 9),
        lambda ct, size, free: ct,
        dtypes=(np.float32, np.float64),
        derivative=(True, False, False),
    ),
    Case(SVD(False), (_tall,)),
    Case(SVD(False), (_wide,)),
    Case(
        SVD(False, False),
        (_complex,),
        lambda x: np.linalg.svd(x, compute_uv=False),
        rtol=1e-5,
    ),
    Case(
        SVD(), (np.zeros((2, 0)),), lambda x: (np.eye(2), np.zeros(0), np.zeros((0, 0)))
    ),
    Case(Eig(True, True), (_square,)),
    Case(Eig(), (_complex,)),
    Case(Schur(), (_turning,)),
    Case(Schur(False), (_square,)),
    Case(Schur(), (_complex,), derivative=False),
    Case(hessenberg, (_square,), derivative=False),
    Case(Tridiagonal(), (_symmetric,), derivative=False),
    Case(
        TridiagonalSolve(),
        _banded_operands,
        _banded,
        rtol=1e-5,
    ),
    Case(
        pseudo_inverse,
        (_tall, np.array(1e-6)),
        _gram,
        rtol=1e-5,
        derivative=(True, False),
    ),
    Case(TridiagonalSolve(True), _banded_operands, _banded, rtol=1e-5),
    Case(
        least_squares,
        (_tall, _columns, np.array(1e-6)),
        _nearest,
        rtol=1e-5,
        derivative=(True, True, False),
    ),
    Case(
        least_squares,
        (_complex[:2], _columns[:2] + 1j, np.array(1e-6)),
        _nearest,
        rtol=1e-5,
        derivative=(True, True, False),
    ),
]

"""Rotations and their interpolation, beside SciPy's."""

import itertools

import numpy as np
import pytest
from scipy.spatial.transform import Rotation as Theirs
from scipy.spatial.transform import Slerp as TheirSlerp

import covector as cv
import covector.numpy as cnp
from covector import errors, random
from covector.scipy.spatial.transform import Rotation, Slerp

QUATERNIONS = np.concatenate(
    [np.random.default_rng(0).normal(size=(9, 4)), np.eye(4), -np.eye(4)]
)
SEQUENCES = [
    "".join(s)
    for axes in ("xyz", "XYZ")
    for s in itertools.product(axes, repeat=3)
    if s[0] != s[1] != s[2]
]


@pytest.fixture(autouse=True)
def in_double_precision():
    with cv.enable_x64(True):
        yield


def both():
    return Rotation.from_quat(QUATERNIONS), Theirs.from_quat(QUATERNIONS)


def close(mine, theirs, tolerance=1e-12):
    np.testing.assert_allclose(mine, theirs, tolerance, tolerance)


def same(mine, theirs):
    close(mine.as_matrix(), theirs.as_matrix())


def test_forms_of_rotations_are_those_of_scipy():
    mine, theirs = both()
    close(mine.as_matrix(), theirs.as_matrix())
    close(mine.as_quat(canonical=True), theirs.as_quat(canonical=True))
    close(mine.as_quat(scalar_first=True), theirs.as_quat(scalar_first=True))
    same(Rotation.from_rotvec(mine.as_rotvec()), theirs)
    close(mine.as_rotvec()[:9], theirs.as_rotvec()[:9])
    close(mine.as_rotvec(degrees=True)[:9], theirs.as_rotvec(degrees=True)[:9])
    close(mine.as_mrp()[:9], theirs.as_mrp()[:9])
    close(mine.magnitude(), theirs.magnitude())
    same(Rotation.from_matrix(mine.as_matrix()), theirs)
    same(Rotation.from_mrp(mine.as_mrp()), theirs)
    same(Rotation.from_rotvec(np.array([0, 0, 90.0]), degrees=True),
         Theirs.from_rotvec([0, 0, 90], degrees=True))  # fmt: skip


@pytest.mark.parametrize("seq", SEQUENCES)
def test_angles_about_axes_are_those_of_scipy(seq):
    mine, theirs = both()
    close(mine.as_euler(seq)[:9], theirs[:9].as_euler(seq), 1e-7)
    same(Rotation.from_euler(seq, mine.as_euler(seq)), theirs)


def test_sequences_of_fewer_axes():
    for seq, angles in [
        ("x", 30.0), ("Z", np.array([[30.0], [40.0]])), ("xz", np.array([30.0, 40.0])),
        ("YX", np.array([[30.0, 40.0], [1, 2]])), ("y", np.array([[5.0]])),
    ]:  # fmt: skip
        mine = Rotation.from_euler(seq, angles, degrees=True)
        same(mine, Theirs.from_euler(seq, angles, degrees=True))


def test_where_axes_meet_the_third_angle_is_zero():
    half = np.pi / 2
    for seq, angles in [("xyz", (0.3, half, 0.2)), ("XYZ", (0.3, -half, 0.2)),
                        ("zxz", (0.3, 0, 1)), ("ZXZ", (0.3, np.pi, 1))]:  # fmt: skip
        mine = Rotation.from_euler(seq, np.array(angles))
        found = mine.as_euler(seq)
        assert float(found[2]) == 0
        close(Rotation.from_euler(seq, found).as_matrix(), mine.as_matrix(), 1e-7)


def test_products_inverses_and_vectors():
    mine, theirs = both()
    vectors = np.random.default_rng(1).normal(size=(17, 3))
    close(mine.apply(vectors), theirs.apply(vectors))
    close(mine.apply(vectors[0]), theirs.apply(vectors[0]))
    close(mine[3].apply(vectors, inverse=True), theirs[3].apply(vectors, inverse=True))
    same(mine * mine[2], theirs * theirs[2])
    same(mine.inv() * mine, Theirs.identity(17))
    close(mine.mean().as_matrix(), theirs.mean().as_matrix())
    weights = np.arange(1.0, 18.0)
    close(mine.mean(weights).as_matrix(), theirs.mean(weights).as_matrix())
    assert len(mine[1:4]) == 3 and mine[0].single and len(mine) == 17
    same(Rotation.concatenate([mine[0], mine[1:3]]), theirs[:3])
    assert Rotation.identity(2).as_quat().tolist() == [[0, 0, 0, 1]] * 2


def test_random_rotations_have_no_preferred_direction():
    vectors = Rotation.random(random.key(0), 4000).apply(cnp.array([1.0, 0.0, 0.0]))
    np.testing.assert_allclose(vectors.mean(0), 0, atol=0.05)
    assert Rotation.random(random.key(0)).single


def test_interpolated_rotations_are_those_of_scipy():
    mine, theirs = both()
    at = np.array([0.0, 0.5, 2.9, 3.0, 7.5, 8.0])
    times = np.arange(9.0)
    found = cv.jit(lambda s, t: s(t))(Slerp.init(times, mine[:9]), at)
    same(found, TheirSlerp(times, theirs[:9])(at))
    assert Slerp.init(times, mine[:9])(0.5).single


def test_rotation_vectors_have_derivatives_at_zero():
    def there_and_back(v):
        return Rotation.from_rotvec(v).as_rotvec()

    zero = cnp.zeros(3)
    np.testing.assert_allclose(cv.jacrev(there_and_back)(zero), np.eye(3), atol=1e-15)
    np.testing.assert_allclose(cv.hessian(there_and_back)(zero), 0, atol=1e-15)

    def turned(v):
        return Rotation.from_rotvec(v).apply(cnp.array([1.0, 0.0, 0.0]))

    second = np.asarray(cv.hessian(turned)(zero))[0]  # 1 − (v_y² + v_z²) / 2
    np.testing.assert_allclose(second, np.diag([0.0, -1, -1]), atol=1e-15)


def test_rotations_are_batched_and_compiled():
    mine, theirs = both()
    vectors = np.random.default_rng(1).normal(size=(17, 3))
    found = cv.jit(cv.vmap(lambda r, v: r.apply(v)))(mine, vectors)
    close(found, theirs.apply(vectors))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: Rotation.from_quat(np.ones(3)), errors.TypeMismatch,
         r"from_quat needs \[4\] or \[n, 4\], but got f64\[3\]"),
        (lambda: Rotation.from_quat(np.zeros(4)), errors.ArgumentError, "are not 0"),
        (lambda: Rotation.from_euler("xx", np.ones(2)), errors.ArgumentError, "'xx'"),
        (lambda: Rotation.from_euler("xY", np.ones(2)), errors.ArgumentError, "'xY'"),
        (lambda: Rotation.from_euler("xyz", np.ones(2)), errors.TypeMismatch,
         r"each axis of 'xyz', but got f64\[2\]"),
        (lambda: both()[0].as_euler("xy"), errors.ArgumentError, "three axes"),
        (lambda: len(Rotation.identity()), errors.TypeMismatch, "no length"),
        (lambda: Rotation.identity()[0], errors.TypeMismatch, "no length"),
        (lambda: both()[0].apply(np.ones((2, 3))), errors.TypeMismatch,
         "there are 17 rotations, but 2 vectors"),
        (lambda: both()[0] * Rotation.identity(3), errors.TypeMismatch, "but 3 others"),
        (lambda: both()[0].mean(np.ones(2)), TypeError, "each of 17 rotations"),
        (lambda: Slerp.init(np.ones(1), Rotation.identity(1)), errors.TypeMismatch,
         r"two rotations or more .* times f64\[1\]"),
        (lambda: Slerp.init(np.zeros(2), Rotation.identity(2)), errors.ArgumentError,
         "that ascend"),
        (lambda: Slerp.init(np.arange(2), Rotation.identity(2))(np.ones((1, 1))),
         errors.TypeMismatch, "a vector of them"),
    ],
)  # fmt: skip
def test_words_of_rotations(call, error, words):
    with pytest.raises(error, match=words):
        call()

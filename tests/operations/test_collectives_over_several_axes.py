"""Collectives over a tuple of axes are those over one axis, the product of theirs."""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import P, errors, lax

#: 2 · 3 participants, each with f32[12, 6]
Z = np.random.default_rng(0).normal(size=(6, 12, 6)).astype(np.float32)
GRID = (2, 3)
RING = [(k, (k + 1) % 6) for k in range(6)]

COLLECTIVES = {
    "all_gather": lambda x, a: lax.all_gather(x, a, axis=1),
    "all_gather tiled": lambda x, a: lax.all_gather(x, a, axis=1, tiled=True),
    "psum_scatter": lambda x, a: lax.psum_scatter(x, a, scatter_dimension=1),
    "psum_scatter tiled": lambda x, a: lax.psum_scatter(x, a, tiled=True),
    "all_to_all": lambda x, a: lax.all_to_all(x, a, 1, 0),
    "all_to_all in place": lambda x, a: lax.all_to_all(x, a, 1, 1),
    "all_to_all tiled": lambda x, a: lax.all_to_all(x, a, 0, 1, tiled=True),
    "all_to_all tiled back": lambda x, a: lax.all_to_all(x, a, 1, 0, tiled=True),
    "all_to_all tiled in place": lambda x, a: lax.all_to_all(x, a, 0, 0, tiled=True),
    "ppermute": lambda x, a: lax.ppermute(x, a, RING),
    "ppermute to some": lambda x, a: lax.ppermute(x, a, [(0, 4), (5, 1), (2, 3)]),
    "ppermute of bools": lambda x, a: lax.ppermute(x > 0, a, RING[:4]) * x,
    "pshuffle": lambda x, a: lax.pshuffle(x, a, [3, 1, 2, 5, 4, 0]),
    "pbroadcast": lambda x, a: lax.pbroadcast(x, a, 4),
    "pswapaxes": lambda x, a: lax.pswapaxes(x, a, 1),
    "psum": lax.psum,
    "pmax": lax.pmax,
    "axis_index": lambda x, a: x * lax.axis_index(a),
}


def of_one_axis(f):
    return cv.vmap(lambda x: f(x, "k"), axis_name="k")


def of_two_batches(f):
    inner = cv.vmap(lambda x: f(x, ("i", "j")), axis_name="j")
    both = cv.vmap(inner, axis_name="i")

    def over(z):
        out = both(z.reshape(*GRID, *z.shape[1:]))
        return out.reshape(6, *out.shape[2:])

    return over


def of_two_mesh_axes(f):
    mesh = cv.make_mesh(GRID, ("i", "j"))
    over = cv.shard_map(
        lambda x: f(x[0], ("i", "j"))[None],
        mesh=mesh,
        in_specs=P(("i", "j")),
        out_specs=P(("i", "j")),
    )
    return cv.jit(over)


def of_a_batch_and_a_mesh_axis(f):
    mesh = cv.make_mesh((2,), ("i",))
    inner = cv.vmap(lambda x: f(x, ("i", "j")), axis_name="j")
    over = cv.shard_map(
        lambda x: inner(x[0])[None], mesh=mesh, in_specs=P("i"), out_specs=P("i")
    )

    def flat(z):
        out = cv.jit(over)(z.reshape(*GRID, *z.shape[1:]))
        return out.reshape(6, *out.shape[2:])

    return flat


def slope(f):
    return cv.grad(lambda z: cnp.sum(cnp.sin(f(z)) * 0.1))


@pytest.mark.parametrize("name", COLLECTIVES)
@pytest.mark.parametrize(
    "over", [of_two_batches, of_two_mesh_axes, of_a_batch_and_a_mesh_axis]
)
def test_two_axes_are_as_one(name, over):
    f = COLLECTIVES[name]
    wanted = of_one_axis(f)
    found = over(f)
    np.testing.assert_allclose(found(Z), wanted(Z), rtol=1e-5, atol=1e-5)
    if name != "pmax":  # ties, of parts that are equal, are another test's
        np.testing.assert_allclose(
            slope(found)(Z), slope(wanted)(Z), rtol=1e-4, atol=1e-5
        )


@pytest.mark.parametrize("dtype", ["int32", "bool", "complex64", "bfloat16"])
def test_of_other_dtypes(dtype):
    z = cnp.asarray(Z > 0).astype(dtype)
    for name in ("all_gather", "all_to_all tiled", "ppermute"):
        f = COLLECTIVES[name]
        wanted = of_one_axis(f)(z)
        for over in (of_two_batches, of_two_mesh_axes):
            found = over(f)(z)
            assert found.dtype == wanted.dtype
            np.testing.assert_array_equal(found, wanted)


def words(error, f):
    with pytest.raises(error) as caught:
        of_two_batches(f)(Z)
    return str(caught.value)


def test_words():
    assert words(errors.AxisError, lambda x, a: lax.all_gather(x, ())) == (
        "all_gather needs the name of an axis, but got ()."
    )
    assert words(errors.TypeMismatch, lax.psum_scatter) == (
        "psum_scatter over ('i', 'j') of size 6 scatters axis 0 of f32[12,6]: its "
        "length must be equal to 6, but is 12."
    )
    split = lambda x, a: lax.all_to_all(x[:5], a, 0, 0, tiled=True)  # noqa: E731
    assert words(errors.TypeMismatch, split) == (
        "all_to_all over ('i', 'j') of size 6 splits axis 0 of f32[5,6]: its length "
        "must be a multiple of 6, but is 5."
    )
    assert "from 0 to 5 stands at most once" in words(
        errors.TypeMismatch, lambda x, a: lax.ppermute(x, a, [(0, 6)])
    )

"""shard_map and pjit under the names and signatures of older programs."""

import numpy as np
import pytest

import covector as cv
from covector import P, errors, lax
from covector.experimental.pjit import pjit
from covector.experimental.shard_map import shard_map

X = np.arange(8, dtype=np.float32)


def test_the_older_shard_map():
    mesh = cv.make_mesh((4,), ("x",))
    f = shard_map(lambda x: lax.psum(x, "x"), mesh, P("x"), P())
    np.testing.assert_allclose(f(X), X.reshape(4, 2).sum(0))
    with pytest.raises(errors.ShardingError, match="still varies over 'x'"):
        shard_map(lambda x: x, mesh=mesh, in_specs=P("x"), out_specs=P())(X)
    unchecked = shard_map(lambda x: x, mesh, P("x"), P(), check_rep=False)
    assert cv.jit(unchecked)(X).shape == (2,)


def test_axes_left_to_the_compiler():
    mesh = cv.make_mesh((2, 4), ("x", "y"))
    f = shard_map(lambda x: lax.psum(x, "x"), mesh, P("x"), P(), auto={"y"})
    np.testing.assert_allclose(cv.jit(f)(X), X.reshape(2, 4).sum(0))
    for auto in ({"x", "y"}, {"z"}):
        with pytest.raises(errors.ArgumentError) as caught:
            shard_map(lambda x: x, mesh, P("x"), P("x"), auto=frozenset(auto))
        assert str(caught.value) == (
            "shard_map: auto names axes of Mesh('x': 2, 'y': 4) left to the "
            f"compiler, some but not all of them, but got {sorted(auto)}."
        )


def test_pjit_is_jit():
    mesh = cv.make_mesh((4,), ("x",))
    with cv.set_mesh(mesh):
        f = pjit(lambda x: x + 1, in_shardings=P("x"), out_shardings=P())
        out = f(X)
    np.testing.assert_allclose(out, X + 1)
    assert out.is_fully_replicated

"""``smap`` is shard_map over one axis of the mesh in force, with numbers for specs."""

import numpy as np
import pytest

import covector as cv
from covector import P, lax
from covector.errors import ShardingError
from covector.sharding import NamedSharding, get_abstract_mesh
from tests.meshes import mesh, numbers

X = numbers(8, 8)


def test_each_smap_maps_one_axis_of_the_mesh_in_force():
    seen = []

    def part(x, shift):
        seen.append((get_abstract_mesh().manual_axes, x["x"].shape))
        return {"parts": x["x"] + shift, "total": lax.psum(x["x"].sum(), ("x", "y"))}

    inner = cv.smap(
        part, in_axes=(1, None), out_axes={"parts": 1, "total": None}, axis_name="y"
    )
    both = cv.smap(
        inner, in_axes=(0, None), out_axes={"parts": 0, "total": None}, axis_name="x"
    )
    with cv.set_mesh(mesh()):
        got = cv.jit(both)({"x": X}, 1.0)
    assert seen == [(("x", "y"), (4, 2))]
    np.testing.assert_allclose(got["parts"], X + 1, rtol=1e-6)
    assert float(got["total"]) == pytest.approx(float(X.sum()), rel=1e-4)
    assert got["parts"].sharding == NamedSharding(mesh(), P("x", "y"))


def test_what_smap_cannot_map_is_said():
    def smap(axes=0, name="x"):
        return cv.smap(lambda x: x, in_axes=axes, out_axes=axes, axis_name=name)

    with pytest.raises(ShardingError, match="needs a mesh"):
        smap()(X)
    with pytest.raises(ShardingError, match="one axis of the mesh, but got"):
        smap(name=("x", "y"))
    for axes in (-1, (0, "x")):
        with pytest.raises(ShardingError, match="in_axes must be None or numbers of"):
            smap(axes)
    with cv.set_mesh(mesh()), pytest.raises(ShardingError, match="still varies over"):
        cv.smap(lambda x: x, in_axes=0, out_axes=None, axis_name="x")(X)

"""Communication between devices is told with its bytes, axes and lines."""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import P, lax
from covector.analysis.compiled.collectives import groups_of
from covector.analysis.compiled.compilation import compilation
from tests import meshes
from tests.analysis.compiled.programs import compiled


def test_what_the_compiler_inserts_is_told_from_what_is_written():
    def written(x):
        return (
            lax.psum(x, "y"),
            lax.ppermute(x, "y", [(0, 1), (1, 2)]),
            lax.psum_scatter(x, "x", scatter_dimension=1, tiled=True),
            lax.pmax(x, ("x", "y")),
        )

    specs = P("x"), P("x", "y"), P("x", "y"), P()
    fun = cv.shard_map(
        written, mesh=meshes.mesh(), in_specs=P("x", "y"), out_specs=specs
    )
    found = compilation(fun)(cnp.ones((64, 64))).collectives
    assert {(c.operation, c.axes) for c in found} == {
        ("all-reduce", ("y",)),
        ("collective-permute", ("y",)),
        ("reduce-scatter", ("x",)),
        ("all-reduce", ("x", "y")),
    }
    assert all(c.written and c.bytes == 32 * 16 * 4 for c in found)
    inserted = compilation(compiled("several devices"))().collectives
    assert {c.operation for c in inserted} == {"all-gather"}
    assert {c.axes for c in inserted} == {("x",), ("y",)}
    assert not any(c.written for c in inserted)
    assert {o.function for c in inserted for o in c.origins} == {"over_devices"}
    assert "inserted by the compiler" in str(inserted[0])


def test_one_device_does_not_communicate():
    assert compilation(compiled("elementwise"))().collectives == ()


@pytest.mark.parametrize(
    ("text", "groups"),
    [
        ("", [[0, 1, 2, 3, 4, 5, 6, 7]]),
        ("{{0,1},{2,3}}", [[0, 1], [2, 3]]),
        ("[2,4]<=[8]", [[0, 1, 2, 3], [4, 5, 6, 7]]),
        ("[4,2]<=[2,4]T(1,0)", [[0, 4], [1, 5], [2, 6], [3, 7]]),
        ("mesh['a'=4,'b'=2] {'b'}", [[0, 1], [2, 3], [4, 5], [6, 7]]),
        ("mesh['a'=8] {'a':(2)2}", [[0, 2], [1, 3], [4, 6], [5, 7]]),
        (
            "mesh['a'=1,'b'=4,'c'=2], device_ids=([2,4]T(1,0)) {'b'}",
            [[0, 1, 2, 3], [4, 5, 6, 7]],
        ),
        ("mesh['a'=8] {'b'}", None),
        ("something new", None),
    ],
)
def test_groups_of_devices_are_read_in_each_form(text, groups):
    found = groups_of(text, 8)
    assert (found if found is None else np.asarray(found).tolist()) == groups

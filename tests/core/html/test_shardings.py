"""What a notebook shows of meshes and shardings."""

import covector as cv
from covector import P
from tests.core.html.reading import read


def mesh():
    return cv.make_mesh((2, 4), ("x", "y"))


def shown(x):
    return read(x._repr_html_())


def test_a_mesh_is_a_grid_of_devices_with_the_names_of_its_axes():
    assert shown(mesh()).rows == [
        ["", "y=0", "y=1", "y=2", "y=3"],
        ["x=0", "cpu:0", "cpu:1", "cpu:2", "cpu:3"],
        ["x=1", "cpu:4", "cpu:5", "cpu:6", "cpu:7"],
    ]


def test_a_sharding_is_a_grid_of_shards():
    rows = cv.NamedSharding(mesh(), P("x", None))
    assert shown(rows).text.startswith(repr(rows))
    assert shown(rows).rows == [
        ["", "all"],
        ["1 of 2", "cpu:0,1,2,3"],
        ["2 of 2", "cpu:4,5,6,7"],
    ]
    assert shown(cv.NamedSharding(mesh(), P())).rows[1] == ["", "cpu:0,1,2,3,4,5,6,7"]
    single = cv.sharding.SingleDeviceSharding(cv.devices()[3])
    assert shown(single).rows == [["", "all"], ["", "cpu:3"]]


def test_of_three_axes_the_first_two_are_rows():
    assert shown(cv.NamedSharding(mesh(), P("x", None, "y"))).rows == [
        ["", "1 of 4", "2 of 4", "3 of 4", "4 of 4"],
        ["1 of 2, all", "cpu:0", "cpu:1", "cpu:2", "cpu:3"],
        ["2 of 2, all", "cpu:4", "cpu:5", "cpu:6", "cpu:7"],
    ]


def test_a_sharding_without_devices_is_its_text():
    abstract = cv.NamedSharding(mesh().abstract_mesh, P("x"))
    assert shown(abstract).text == repr(abstract)
    assert shown(abstract).rows == []

"""Where an array is changes where results are, and nothing else.

The same function is called with an argument here and there, in every order of two
placements: what was compiled or remembered for one must not serve the other.
"""

import functools
import itertools

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import P, lax, tree
from tests.meshes import mesh, named, numbers
from tests.tree.examples import TREES

SMALL, LARGE = numbers(8, 8), numbers(256, 256)
TABLE = numbers(8, seed=1)


def placements():
    first, second = cv.devices()[:2]
    return {
        "anywhere": None,
        "first device": first,
        "second device": second,
        "rows over x": named("x", None),
        "over both": named("y", "x"),
        "everywhere": named(),
    }


#: functions whose results do not depend on the values of their operand
CONSTANT = {
    "isin of nothing": lambda x: cnp.isin(x, x[:0]),
    "take of nothing": lambda x: cnp.take(x[:0], np.zeros(0, np.int32)),
    "take_along_axis of nothing": lambda x: cnp.take_along_axis(
        x[:0], np.zeros((0, 8), np.int32), 0
    ),
    "polyval without coefficients": lambda x: cnp.polyval(x[:0, 0], x),
    "array_equal of another shape": lambda x: cnp.array_equal(x, x[0]),
    "array_equiv of another shape": lambda x: cnp.array_equiv(x, x[:3, :3]),
    "searchsorted in nothing": lambda x: cnp.searchsorted(x[:0, 0], x),
    "the step of one number": lambda x: cnp.linspace(x, x, 1, retstep=True)[1],
    "edges within given bounds": lambda x: cnp.histogram_bin_edges(x, 3, (0, 1)),
    "zeros_like of another shape": lambda x: cnp.zeros_like(x, shape=(3,)),
}


@pytest.mark.parametrize("fun", CONSTANT.values(), ids=CONSTANT)
def test_what_is_known_before_is_where_the_operand_was_put(fun):
    for placement in cv.devices()[1], named("x", None):
        x = cv.device_put(SMALL, placement)
        out = fun(x)
        assert out.committed
        assert out.devices() == x.devices()


def every_transition(names):
    """A walk from each name to each other, and from each to itself."""
    walk = list(itertools.chain.from_iterable(itertools.permutations(names, 2)))
    return [name for name in walk for _ in range(2)]


def mix(x):
    return cnp.sin(x) * 2 - x


def running(x):
    """The running sums of rows, times the rows."""
    return lax.scan(lambda c, row: (c + row, c * row), cnp.zeros(8), x)[1]


def until_large(x):
    grow = lambda c: (c[0] + 1, c[1] * 1.5)  # noqa: E731
    return lax.while_loop(lambda c: (c[0] < 9) & (abs(c[1]).max() < 9), grow, (0, x))[1]


def total(fun):
    return lambda x: (fun(x) ** 2).sum()


FUNCTIONS = {
    "operations": mix,
    "methods": lambda x: x.at[1].set(0).T.astype("int32"),
    "jit": cv.jit(mix),
    "a captured table": cv.jit(lambda x: x @ cnp.diag(cnp.asarray(TABLE))),
    "grad": cv.grad(total(mix)),
    "grad of jit": cv.grad(cv.jit(total(mix))),
    "jit of grad": cv.jit(cv.grad(total(mix))),
    "jvp": lambda x: cv.jvp(mix, (x,), (cnp.ones_like(x),))[1],
    "vmap": cv.vmap(lambda row: row / (1 + (row * row).sum()), in_axes=1, out_axes=1),
    "scan": running,
    "jit of scan": cv.jit(running),
    "grad of scan": cv.grad(total(running)),
    "cond": lambda x: lax.cond(x.sum() > 0, cnp.sin, cnp.cos, x),
    "jit of cond": cv.jit(lambda x: lax.cond(x.sum() > 0, cnp.sin, cnp.cos, x)),
    "while_loop": until_large,
    "jit of while_loop": cv.jit(until_large),
    "grad of checkpoint": cv.grad(total(cv.checkpoint(mix))),
    "custom_jvp": cv.grad(total(cv.nn.relu)),
    "like": lambda x: cnp.ones_like(x) + x,
    "functions of NumPy": lambda x: x // 3 + x % 2 + cnp.hypot(x, x) + cnp.median(x),
    "of known values": lambda x: cnp.unique(x)[cnp.nonzero(cnp.unique(x))[0]],
    "callback": lambda x: cv.pure_callback(np.negative, x, x),
}


@functools.cache
def at(placement, large=False):
    x = cnp.asarray(LARGE if large else SMALL)
    where = placements()[placement]
    return x if where is None else cv.device_put(x, where)


def check(fun, large=False):
    wanted = np.asarray(fun(cnp.asarray(LARGE if large else SMALL)))
    for placement in every_transition(placements()):
        x = at(placement, large)
        out = fun(x)
        assert out.committed == x.committed, placement
        assert out.devices() == x.devices(), placement
        np.testing.assert_allclose(out, wanted, rtol=2e-5, atol=2e-5, err_msg=placement)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_result_is_where_the_argument_is_whatever_was_called_before(name):
    check(FUNCTIONS[name])


def test_large_operations_run_where_the_argument_is():
    check(mix, large=True)


def test_what_is_divided_element_by_element_is_divided_in_the_result():
    for placement, where in placements().items():
        x = at(placement)
        for fun in (mix, cv.jit(mix), cv.grad(total(mix))):
            assert where is None or fun(x).sharding is x.sharding


def test_what_has_no_place_runs_on_the_default_device_of_the_block():
    double, free = cv.jit(lambda x: 2 * x), cnp.asarray(SMALL)
    for device in every_transition([None, *cv.devices()[:3]]):
        with cv.default_device(device):
            home = device or cv.devices()[0]
            for out in (double(free), double(cnp.ones(3)), double(double(free))):
                assert out.device is home and not out.committed
            for placement in ("second device", "rows over x"):
                assert double(at(placement)).devices() == at(placement).devices()
        np.testing.assert_array_equal(double(free), 2 * SMALL)


def test_an_argument_with_no_place_goes_to_that_of_another():
    add = cv.jit(lambda x, y: x + y)
    for placement in every_transition(placements()):
        x = at(placement)
        for out in (add(x, SMALL), add(at("anywhere"), x), x + at("anywhere")):
            assert out.devices() == x.devices() and out.committed == x.committed
            np.testing.assert_allclose(out, 2 * SMALL, rtol=1e-6)


@pytest.mark.parametrize("name", TREES)
def test_a_tree_of_any_kind_is_put_where_it_is_to_be(name):
    whole = tree.map(lambda number: np.full(8, number, np.float32), TREES[name])
    leaves, treedef = tree.flatten(whole)
    last = cv.devices()[-1]
    for where in (last, named(("x", "y")), P("x"), None):
        with cv.set_mesh(mesh()):
            put = cv.device_put(whole, where)
        assert tree.structure(put) == treedef
        for x, leaf in zip(tree.leaves(put), leaves, strict=True):
            np.testing.assert_array_equal(x, leaf)
            assert x.committed == (where is not None)
            assert where is not last or x.device is last
            assert where is None or where is last or x.sharding.num_devices == 8
    each = treedef.unflatten([cv.devices()[k % 8] for k in range(len(leaves))])
    put = tree.leaves(cv.device_put(whole, each)) if leaves else []
    assert [x.device for x in put] == tree.leaves(each)

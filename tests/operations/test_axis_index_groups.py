"""A collective among groups of indices is the collective over an axis of each group."""

import numpy as np
import pytest

import covector as cv
from covector import P, errors, lax

#: six participants, each with f32[4, 4], in groups
PAIRS = [[0, 3], [4, 1], [5, 2]]
UNEVEN = [[4, 1], [0, 5, 3, 2]]
Z = np.random.default_rng(0).normal(size=(6, 4, 4)).astype(np.float32)

ANY_SIZE = {
    "psum": lax.psum,
    "pmean": lax.pmean,
    "pmax": lax.pmax,
    "pmin": lax.pmin,
    "psum of a number": lambda x, a, **kw: x * lax.psum(1, a, **kw),
    "psum of bools": lambda x, a, **kw: x * lax.psum(x > 0, a, **kw),
    "pmean of bools": lambda x, a, **kw: x * lax.pmean(x > 0, a, **kw),
}
ONE_SIZE = {
    "all_gather": lax.all_gather,
    "all_gather tiled": lambda x, a, **kw: lax.all_gather(x, a, tiled=True, **kw),
    "psum_scatter": lambda x, a, **kw: lax.psum_scatter(x[:2], a, **kw),
    "psum_scatter tiled": lambda x, a, **kw: lax.psum_scatter(x, a, tiled=True, **kw),
    "psum_scatter of bools": lambda x, a, **kw: lax.psum_scatter(x[:2] > 0, a, **kw),
    "all_to_all": lambda x, a, **kw: lax.all_to_all(x[:2], a, 0, 1, **kw),
    "all_to_all tiled": lambda x, a, **kw: lax.all_to_all(x, a, 0, 1, tiled=True, **kw),
    "pswapaxes": lambda x, a, **kw: lax.pswapaxes(x[:, :2], a, 1, **kw),
}
CASES = [(ANY_SIZE, PAIRS), (ANY_SIZE, UNEVEN), (ONE_SIZE, PAIRS)]


def everything(functions, groups):
    return lambda x: [
        f(x, "i", axis_index_groups=groups) * 1.0 for f in functions.values()
    ]


def group_by_group(functions, groups, x):
    """Each group as a batch of its own."""
    found = [None] * len(x)
    alone = cv.vmap(everything(functions, None), axis_name="i")
    for group in groups:
        outs = alone(x[np.array(group)])
        for k, index in enumerate(group):
            found[index] = [np.asarray(out)[k] for out in outs]
    return [np.stack(column) for column in zip(*found, strict=True)]


def over_devices(fun, checked=True):
    mesh = cv.make_mesh((6,), ("i",))

    def on_parts(x):
        return [out[None] for out in fun(x[0])]

    return cv.jit(
        cv.shard_map(
            on_parts, mesh=mesh, in_specs=P("i"), out_specs=P("i"), check_vma=checked
        )
    )


@pytest.mark.parametrize(("functions", "groups"), CASES)
def test_groups_are_batches_of_their_own(functions, groups):
    fun, wanted = everything(functions, groups), group_by_group(functions, groups, Z)
    runs = {
        "vmap": cv.vmap(fun, axis_name="i"),
        "shard_map": over_devices(fun),
        "unchecked": over_devices(fun, checked=False),
    }
    for how, run in runs.items():
        for name, got, expected in zip(functions, run(Z), wanted, strict=True):
            np.testing.assert_allclose(
                got, expected, rtol=1e-5, atol=1e-6, err_msg=f"{name} by {how}"
            )


@pytest.mark.parametrize(("functions", "groups"), CASES)
def test_gradients_over_devices_are_those_over_a_batch(functions, groups):
    fun = everything(functions, groups)

    def loss(run):
        return lambda x: sum((y * y).sum() for y in run(x))

    over_batch = loss(cv.vmap(fun, axis_name="i"))
    wanted = cv.grad(over_batch)(Z)
    step = np.random.default_rng(1).normal(size=Z.shape).astype(np.float32)
    slope = float(cv.jvp(over_batch, (Z,), (step,))[1])
    assert float((np.asarray(wanted) * step).sum()) == pytest.approx(slope, rel=1e-3)
    for checked in (True, False):
        got = cv.grad(loss(over_devices(fun, checked)))(Z)
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-4)


def test_what_differs_between_groups_varies_over_the_axis():
    mesh = cv.make_mesh((6,), ("i",))
    total = cv.shard_map(
        lambda x: lax.psum(x, "i", axis_index_groups=PAIRS),
        mesh=mesh,
        in_specs=P("i"),
        out_specs=P(),
    )
    with pytest.raises(errors.ShardingError, match="still varies over 'i'"):
        total(Z)


@pytest.mark.parametrize(
    "groups", [[[0, 3]], [[0, 1, 2], [2, 3, 4, 5]], [], [[], [*range(6)]], 3, [[0.5]]]
)
def test_groups_that_do_not_hold_each_member_once_are_refused_in_words(groups):
    def total(x):
        return lax.psum(x, "i", axis_index_groups=groups)

    words = r"psum over 'i' of size 6 needs axis_index_groups of any size that hold"
    with pytest.raises(errors.TypeMismatch, match=words):
        cv.vmap(total, axis_name="i")(Z)


def test_groups_of_other_sizes_than_one_cannot_be_gathered():
    for name, gather in ONE_SIZE.items():
        fun = everything({name: gather}, UNEVEN)
        with pytest.raises(errors.TypeMismatch, match="axis_index_groups of one size"):
            cv.vmap(fun, axis_name="i")(Z)


def test_groups_are_of_one_axis():
    def total(x):
        return lax.psum(x, ("i", "j"), axis_index_groups=PAIRS)

    inner = cv.vmap(total, axis_name="j")
    with pytest.raises(errors.TypeMismatch, match="indices of one axis, but got the"):
        cv.vmap(inner, axis_name="i")(Z)

"""What moves elements: how it does so on the host, and how short its programs are."""

import numpy as np
import pytest

import covector
import covector.numpy as cnp
from covector.core.convert import as_array
from covector.core.staging import stage
from covector.core.types import ArrayType
from covector.operations.creation import Iota
from covector.operations.dynamic_slicing import DynamicSlice, DynamicUpdateSlice
from covector.operations.gathering import Gather, ScatterAdd
from covector.operations.joining import Split, Stack, Unstack
from covector.operations.scattering import Scatter
from covector.operations.slicing import Slice, index_axis
from covector.operations.transposing import Reshape
from covector.operations.windows import GatherDimensionNumbers, ScatterDimensionNumbers

ROWS = GatherDimensionNumbers((1,), (0,), (0,))


def random(*shape):
    return as_array(np.random.default_rng(0).uniform(size=shape).astype(np.float32))


def names(fun, *types):
    """The operations of the program that a function is."""
    jaxpr = stage(fun, types).jaxpr
    return [e.op.name for e in jaxpr.equations]


F = ArrayType((5, 4, 3), np.float32)
PLACES = ArrayType((5,), np.int32)


# -- on the host -----------------------------------------------------------------------


def test_a_small_part_does_not_keep_a_large_array_alive():
    x = random(1000, 10)
    for part in (x[3], x[3:5], x[cnp.asarray(3)], *Split((1, 999), 0)(x)[:1]):
        assert not np.shares_memory(part.host(), x.host())


def test_most_of_an_array_is_a_view_of_it():
    x = random(1000, 10)
    assert np.shares_memory(x[1:].host(), x.host())


def test_a_part_outlives_the_donation_of_the_whole():
    double = covector.jit(lambda x: 2 * x, donate_argnums=0)
    x = covector.jit(lambda x: x + 1)(random(1000, 10))
    part, wanted = x[1:], np.array(x)[1:]
    double(x).block_until_ready()
    covector.jit(lambda x: x * 0)(random(1000, 10)).block_until_ready()
    np.testing.assert_array_equal(part, wanted)


def test_few_rows_of_a_large_table_are_read_on_the_host():
    table, indices = random(100_000, 4), as_array(np.int32([[7], [99_999]]))
    gather = Gather(ROWS, (1, 4))
    assert gather.plan((table.type, indices.type)).prefers_host
    np.testing.assert_array_equal(gather(table, indices), table.host()[[7, 99_999]])


def test_columns_named_together_with_rows_are_read_in_order():
    cube, indices = random(3, 4, 5), as_array(np.int32([[0, 4], [2, 1]]))
    gather = Gather(GatherDimensionNumbers((1,), (0, 2), (0, 2)), (1, 4, 1))
    np.testing.assert_array_equal(gather(cube, indices), cube.host()[[0, 2], :, [4, 1]])


@pytest.mark.parametrize("shape", [(70, 500), (500, 70)])
def test_what_is_too_large_for_the_host_is_compiled_to_the_same(shape):
    x, indices = random(*shape), as_array(np.int32([[3], [0], [3]]))
    updates = random(3, shape[1])
    add = ScatterAdd(ScatterDimensionNumbers(*ROWS))
    assert not add.plan((x.type, indices.type, updates.type)).prefers_host
    wanted = add.on_host(x.host(), indices.host(), updates.host())
    np.testing.assert_allclose(add(x, indices, updates), wanted, rtol=1e-6)


def test_no_operand_is_written_to():
    x, updates = random(4, 3), random(2, 3)
    before = np.array(x), np.array(updates)
    indices = as_array(np.int32([[1], [0]]))
    for kind in (Scatter, ScatterAdd):
        kind(ScatterDimensionNumbers(*ROWS))(x, indices, updates)
    DynamicUpdateSlice()(x, updates, as_array(np.int32(0)), as_array(np.int32(0)))
    np.testing.assert_array_equal(x, before[0])
    np.testing.assert_array_equal(updates, before[1])


# -- programs --------------------------------------------------------------------------


def test_a_slice_of_one_element_drops_its_axis_in_one_operation():
    assert names(lambda x: [x[1]], F) == ["slice"]
    assert names(lambda x: [x[:, 0, 1:]], F) == ["slice"]
    # Not the same object after tens of thousands of others: old ones are forgotten.
    wanted = Slice((0, 2), (4, 3), (1, 1), (1,))
    assert repr(index_axis((4, 3), 1, 2)) == repr(wanted)


def test_indices_over_a_batch_are_one_gather():
    def read(x, i):
        return DynamicSlice((1, 3), (0,))(x, i, as_array(np.int32(0)))

    batch = covector.vmap(read)
    assert names(lambda x, i: [batch(x, i)], F, PLACES) == ["stack", "gather"]


def test_a_place_without_choice_is_no_reason_to_gather():
    def read(x, i):
        return DynamicSlice((4, 2))(x, i, as_array(np.int32(1)))

    batch = covector.vmap(read)
    assert names(lambda x, i: [batch(x, i)], F, PLACES) == ["dynamic_slice"]


def test_an_operand_over_a_batch_is_not_moved_to_be_gathered():
    gather = Gather(ROWS, (1, 3))
    indices = as_array(np.int32([[1], [2]]))
    batch = covector.vmap(lambda x: gather(x, indices), in_axes=2, out_axes=2)
    assert names(lambda x: [batch(x)], ArrayType((5, 3, 4), np.float32)) == ["gather"]


def test_an_axis_of_length_one_comes_and_goes_without_moving_the_batch():
    batch = covector.vmap(Reshape((5, 1, 4)), in_axes=2, out_axes=3)
    assert names(lambda x: [batch(x)], F) == ["reshape"]
    assert batch(random(5, 4, 3)).shape == (5, 1, 4, 3)


def test_taking_apart_is_one_operation_backwards_too():
    def total(x):
        rows = Unstack(0)(x)
        return cnp.sum(rows[0] * rows[2])

    program = names(lambda x: [covector.grad(total)(x)], ArrayType((3, 4), np.float32))
    assert program.count("unstack") == program.count("stack") == 1
    assert "pad" not in program


def test_what_is_known_of_a_shape_stays_known():
    seen = []

    def fun(x):
        count = Iota(np.dtype(np.int32), (x.type.ndim,), 0)()
        seen.append(Stack(0)(*Unstack(0)(count)).tolist())
        return [x]

    assert names(fun, F) == []
    assert seen == [[0, 1, 2]]


VECTORS = [(20_000, 8), (8, 20_000), (9, 20_001, 30), (30_000, 1, 0, 2000, 17)]


@pytest.mark.parametrize("dtype", ["float32", "int8", "bool", "complex64", "float16"])
@pytest.mark.parametrize("lengths", VECTORS, ids=str)
def test_long_vectors_are_joined_as_by_numpy_bit_by_bit(lengths, dtype):
    generator = np.random.default_rng(0)
    size = 1 if dtype == "bool" else np.dtype(dtype).itemsize
    octets = [
        generator.integers(0, 2 if dtype == "bool" else 256, n * size) for n in lengths
    ]
    parts = [x.astype("u1").view(dtype) for x in octets]
    joined = covector.jit(lambda *parts: cnp.concatenate(parts))(*parts)
    assert np.asarray(joined).tobytes() == np.concatenate(parts).tobytes()


def test_long_vectors_of_different_lengths_are_copied_one_by_one():
    def joined(*lengths):
        parts = [cnp.ones((n // 2, 2)) for n in lengths]
        join = covector.jit(lambda *xs: cnp.concatenate([x.ravel() for x in xs]))
        return join.lower(*parts).compile().as_text().count(" fusion(")

    assert joined(40_000, 200, 8) == 0
    assert joined(40_000, 40_000) == 1


def test_a_tree_of_parameters_as_one_vector_has_its_derivative():
    leaves = [cnp.full((200, 100), 0.5), cnp.arange(100.0), cnp.ones(())]

    @covector.jit
    @covector.grad
    def slopes(leaves):
        return cnp.sum(cnp.concatenate([x.ravel() for x in leaves]) ** 2)

    for slope, x in zip(slopes(leaves), leaves, strict=True):
        np.testing.assert_array_equal(slope, 2 * x)

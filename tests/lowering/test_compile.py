"""Programs that are lowered and compiled: what is passed, kept, donated and refused."""

import logging
import warnings

import numpy as np
import pytest

import covector.numpy as cnp
from covector import device_put, jit, tree
from covector.core import dtypes
from covector.core.array import ConcreteArray
from covector.core.effects import LASTS
from covector.core.jaxpr import Equation, Jaxpr, Var
from covector.core.primitive import ManyResults, Primitive
from covector.core.staging import stage
from covector.core.types import ArrayType
from covector.errors import DeletedArrayError, DeviceError, DonationWarning
from covector.lowering import compile as compiling
from covector.lowering.compile import (
    MANY_SCALARS,
    LoweredProgram,
    compile_operation,
    compile_program,
)
from covector.lowering.compiled import ArgumentsElsewhere
from covector.operations.arithmetic import add, mul
from covector.operations.broadcasting import ReduceSum
from covector.operations.transcendental import sin
from covector.runtime import client
from covector.runtime.compile_options import (
    DOTS,
    FUSION_EMITTERS,
    LIBRARY_FUSIONS,
    SMALL_LOOP_BYTES,
)
from tests.laws import array

F32 = ArrayType((3,), dtypes.float32)
DEVICE = client.default_device()


def numbers(k=1.0):
    return array(np.float32([k, 2 * k, 3 * k]))


def staged(fun, count=1):
    return stage(fun, [F32] * count, "loss").jaxpr


def lowered(fun, count=1, **options):
    return LoweredProgram(staged(fun, count), "loss", DEVICE, **options)


@pytest.fixture(scope="module")
def program():
    """A compiled program of three arguments, of which it does not use the second."""
    return lowered(lambda x, y, z: [add(mul(x, x), z), x], 3).compile()


# -- inputs ----------------------------------------------------------------------------


@pytest.mark.parametrize("keep_unused", [False, True])
def test_inputs_that_nobody_reads_are_dropped_unless_they_are_to_be_kept(keep_unused):
    made = lowered(lambda x, y, z: [add(z, x)], 3, keep_unused=keep_unused)
    assert made.kept == ([0, 1, 2] if keep_unused else [0, 2])
    signature = made.text().partition("->")[0]
    assert signature.count("tensor<3xf32>") == len(made.kept)


def test_an_input_that_is_an_output_is_kept():
    assert lowered(lambda x, y: [y], 2).kept == [1]


def test_an_input_that_only_an_effect_reads_is_kept():
    class Tells(ManyResults):
        effects = LASTS

        def type_rule(self, x):
            return ()

        def lower(self, ctx, x):
            return []

    x, y = Var(F32), Var(F32)
    jaxpr = Jaxpr((x, y), [Equation(Tells(), (y,), (), None)], ())
    assert LoweredProgram(jaxpr, "tells", DEVICE).kept == [1]


def test_a_compiled_program_is_called_with_all_arguments(program):
    given = numbers(), numbers(7.0), numbers(0.5)
    outs = program(given)
    assert [x.tolist() for x in outs] == [[1.5, 5.0, 10.5], [1.0, 2.0, 3.0]]
    assert [x.type for x in outs] == [F32, F32]
    assert not any(x.committed for x in outs)
    assert all(x.committed for x in program(given, program.out_shardings[0]))


def test_a_dropped_argument_may_be_anything(program):
    gone = numbers()
    gone.delete()
    assert program([numbers(), gone, numbers()])[1].tolist() == [1.0, 2.0, 3.0]


def test_the_fast_path_gives_what_the_program_gives(program):
    _, out_tree = tree.flatten({"a": 0, "b": 0})
    leaves = [numbers(), numbers(7.0), numbers(0.5)]
    fast = program.bind_fast_path([], leaves, out_tree, [], [None, None])
    found = {k: x.tolist() for k, x in fast(leaves).items()}
    assert found == {"a": [1.5, 5.0, 10.5], "b": [1.0, 2.0, 3.0]}
    some, others = leaves[:1], leaves[1:]
    captured = program.bind_fast_path(some, others, out_tree, [], [None, None])
    assert captured(others)["a"].tolist() == found["a"]


def test_the_fast_path_refuses_what_is_gone(program):
    _, out_tree = tree.flatten([0, 0])
    leaves = [numbers(), numbers(), numbers()]
    fast = program.bind_fast_path([], leaves, out_tree, [], [None, None])
    leaves[0].delete()
    with pytest.raises(DeletedArrayError, match=r"f32\[3\] was used after"):
        fast(leaves)


@pytest.mark.parametrize(
    "other",
    [
        cnp.ones(2),
        cnp.ones(3, "int32"),
        device_put(numbers(), DEVICE),
        np.ones(3, np.float32),
        2.0,
    ],
    ids=["shape", "dtype", "committed", "NumPy", "number"],
)
def test_the_fast_path_is_for_arguments_like_the_first(program, other):
    _, out_tree = tree.flatten([0, 0])
    leaves = [numbers(), numbers(), numbers()]
    fast = program.bind_fast_path([], leaves, out_tree, [], [None, None])
    for given in ([other, *leaves[1:]], [*leaves[:2], other]):
        with pytest.raises(ArgumentsElsewhere):
            fast(given)


# -- donation --------------------------------------------------------------------------


def test_donation_is_kept_for_the_inputs_that_are_kept():
    made = lowered(lambda x, y, z: [add(z, x)], 3, donated=[False, True, True])
    assert made.kept == [0, 2]
    text = made.text()
    assert text.count("jax.buffer_donor") == 1
    assert "%arg1: tensor<3xf32> {jax.buffer_donor = true}" in text


def test_memory_that_no_result_can_use_is_warned_of():
    with pytest.warns(DonationWarning, match=r"no result can use .* f32\[3\], which"):
        lowered(lambda x: [x[0]], donated=[True])
    with pytest.warns(DonationWarning, match=r"memory of f32\[3\], which"):
        lowered(lambda x, y: [add(x, y)], 2, donated=[True, True])


def test_memory_is_as_good_for_another_type_of_its_size():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lowered(lambda x: [(x * 2).astype("int32")], donated=[True])
        lowered(lambda x, y: [x], 2, donated=[False, True])


def test_a_warning_of_donation_is_about_the_line_of_the_user():
    with pytest.warns(DonationWarning) as found:
        lowered(lambda x: [x[0]], donated=[True])
    assert found[0].filename == __file__


# -- where it runs ---------------------------------------------------------------------


def test_a_program_for_another_platform_has_a_text_only():
    made = lowered(lambda x: [sin(x)], platform="cuda", who="grad of loss")
    assert "stablehlo.sine" in made.text()
    with pytest.raises(DeviceError, match=r"grad of loss was lowered for cuda, but"):
        made.compile()


def test_a_program_on_one_device_has_that_device():
    made = lowered(lambda x: [sin(x)])
    assert made.devices == (DEVICE,)
    assert made.platform == "cpu"


# -- how it is compiled ----------------------------------------------------------------


def options_of(jaxpr):
    lowered = LoweredProgram(jaxpr, "loss", DEVICE)
    return compiling._options_by_content(lowered)


def test_sums_of_small_floats_are_not_compiled_as_small_loops():
    for dtype, small in ((dtypes.float8_e5m2, True), (dtypes.int8, False)):
        jaxpr = stage(lambda x: [x], [ArrayType((3,), dtype)]).jaxpr
        assert (SMALL_LOOP_BYTES in options_of(jaxpr)) == small


@pytest.mark.parametrize(
    ("shape", "axes", "long"),
    [
        *(((2, 2**15), (0,), True), ((3, 2, 128, 256), (1,), True)),
        *(((2, 2**15 - 1), (0,), False), ((2**15, 2), (0,), False)),
        *(((2, 2**15), (0, 1), False), ((2, 2**15), (), False)),
    ],
)
def test_sums_of_long_rows_are_left_to_xla(shape, axes, long):
    for dtype in (dtypes.float32, dtypes.int32):
        jaxpr = stage(lambda x: [ReduceSum(axes)(x)], [ArrayType(shape, dtype)]).jaxpr
        found = options_of(jaxpr).get(LIBRARY_FUSIONS)
        assert found == (DOTS if long and dtype == dtypes.float32 else None)


def test_a_sum_of_long_rows_calls_no_library():
    def total(x):
        return x.sum(0)

    for length, calls in ((2**15, False), (2**10, True)):
        text = jit(total).lower(cnp.ones((64, length))).compile().as_text()
        assert ("__ynn_fusion" in text) == calls


@pytest.mark.parametrize("count", [MANY_SCALARS, MANY_SCALARS + 1])
def test_a_program_of_many_scalars_is_compiled_without_their_list(count):
    x = Var(ArrayType((), dtypes.float32))
    equations, last = [], x
    for _ in range(count):
        equations.append(Equation(sin, (last,), (Var(x.type),), None))
        (last,) = equations[-1].outputs
    found = options_of(Jaxpr((x,), equations, (last,)))
    assert ("xla_llvm_enable_noalias_metadata" in found) == (count > MANY_SCALARS)


def test_of_what_another_module_does_nothing_is_known():
    source = lowered(lambda x: [sin(x)]).text()

    class Called(Primitive):
        def type_rule(self, x):
            return (x,)

        def lower(self, ctx, x):
            return ctx.call_module(source, [x])

    assert FUSION_EMITTERS not in options_of(staged(lambda x: [Called()(x)]))


def test_a_program_is_compiled_once_for_a_device(monkeypatch):
    made = []

    def compile(self, options=None):
        made.append(self.who)
        return object()

    monkeypatch.setattr(LoweredProgram, "compile", compile)
    jaxpr = staged(lambda x: [sin(x)])
    assert compile_program(jaxpr, DEVICE) is compile_program(jaxpr, DEVICE)
    compile_operation(sin, [F32], DEVICE)
    assert made == ["jit_loss", "eager_sin"]


def test_what_is_compiled_is_logged_where_somebody_reads(caplog, monkeypatch):
    monkeypatch.setattr(LoweredProgram, "_compile", lambda self, options: "made")
    made = lowered(lambda x: [sin(x)], who="grad of loss")
    assert made.compile() == "made"
    assert not caplog.records
    with caplog.at_level(logging.DEBUG, "covector.compile"):
        assert made.compile() == "made"
    words = [record.getMessage() for record in caplog.records]
    assert words[0] == "Compiling grad of loss for f32[3]"
    assert words[1].startswith("Compiled grad of loss for f32[3]: lowered in ")


def test_an_eager_operation_is_a_program_of_its_own():
    made = compile_operation(mul, [F32, F32], DEVICE)
    (out,) = made([numbers(2.0), numbers(3.0)])
    assert type(out) is ConcreteArray
    assert out.tolist() == [6.0, 24.0, 54.0]

"""Types, attributes and modules in MLIR."""

import numpy as np
import pytest

from covector.core import dtypes
from covector.core.key_types import KeyType
from covector.core.source import user_line
from covector.core.types import ArrayType
from covector.lowering import hlo, spelling

DTYPES = [
    dtypes.bool_,
    dtypes.int4,
    dtypes.uint4,
    dtypes.int8,
    dtypes.uint8,
    dtypes.int32,
    dtypes.uint64,
    dtypes.float16,
    dtypes.bfloat16,
    dtypes.float32,
    dtypes.float64,
    dtypes.complex64,
    dtypes.complex128,
    dtypes.float8_e4m3fn,
    dtypes.float8_e5m2,
]
each_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=[d.name for d in DTYPES])
F32 = ArrayType((2, 3), dtypes.float32)


def test_element_types_have_different_names():
    assert len({spelling.element_name(d) for d in DTYPES}) == len(DTYPES)


@each_dtype
def test_a_tensor_has_the_shape_and_the_elements_of_its_type(dtype):
    for shape in ((), (3,), (2, 0)):
        tensor = hlo.tensor_type(ArrayType(shape, dtype))
        assert list(tensor.shape) == list(shape)
        assert str(tensor.element_type) == spelling.element_name(dtype)


def test_types_that_are_held_alike_are_one_tensor():
    assert hlo.tensor_type(F32) is hlo.tensor_type(F32)
    weak = ArrayType((2, 3), dtypes.float32, weak=True)
    assert hlo.tensor_type(weak) == hlo.tensor_type(F32)
    keys = ArrayType((2,), KeyType("threefry2x32"))
    assert str(hlo.tensor_type(keys)) == "tensor<2xui64>"


@each_dtype
def test_a_constant_has_the_values_it_was_made_of(dtype):
    values = np.array([0, 1, 2, 3]).astype(dtype)
    t = ArrayType((4,), dtype)
    with hlo.lock, hlo.context, hlo.unknown:
        straight = hlo.constant(values, t)
        strided = hlo.constant(np.repeat(values, 2)[::2], t)
        other = hlo.constant(values[::-1], t)
    assert straight == strided
    assert straight != other
    assert straight.type == hlo.tensor_type(t)


@pytest.mark.parametrize("value", [0.1, -0.0, np.inf, np.nan])
def test_constants_keep_the_bits_of_special_numbers(value):
    values = np.full(2, value, np.float32)
    with hlo.lock, hlo.context, hlo.unknown:
        made = hlo.constant(values, ArrayType((2,), dtypes.float32))
        assert np.array(made).tobytes() == values.tobytes()


def test_axes_are_an_array_of_64_bits():
    assert str(hlo.dims((0, 2))) == "array<i64: 0, 2>"
    assert str(hlo.dims(())) == "array<i64>"


def test_functions_of_one_name_are_told_apart():
    with hlo.lock, hlo.context, hlo.unknown:
        module = hlo.Module("test")
        names = [module.function(n, [], []).name for n in ("f", "f", "f_1", "f")]
    assert names[0] == "f"
    assert len({*names}) == 4


def test_a_function_takes_and_gives_its_types():
    with hlo.lock, hlo.context, hlo.unknown:
        module = hlo.Module("test")
        main = module.function("main", [F32], [F32], public=True)
        hlo.operation("func.return", [], main.arguments, None, hlo.unknown, main.point)
        module.verify()
        text = module.text()
    assert "func.func public @main(%arg0: tensor<2x3xf32>) -> tensor<2x3xf32>" in text
    assert "module @test" in text


def test_a_malformed_module_is_found_when_it_is_verified():
    with hlo.lock, hlo.context, hlo.unknown:
        module = hlo.Module("test")
        module.function("main", [F32], [F32])
        with pytest.raises(Exception, match=r"block|terminat"):
            module.verify()


def test_attributes_of_arguments_and_results_stand_beside_them():
    with hlo.lock, hlo.context, hlo.unknown:
        module = hlo.Module("test")
        main = module.function("main", [F32, F32], [F32], public=True)
        taken = main.arguments[:1]
        hlo.operation("func.return", [], taken, None, hlo.unknown, main.point)
        main.argument_attributes([{}, {"jax.buffer_donor": "true"}])
        main.result_attributes([{"test.name": '"y"'}])
        module.verify()
        text = module.text()
    assert "%arg1: tensor<2x3xf32> {jax.buffer_donor = true}" in text
    assert '-> (tensor<2x3xf32> {test.name = "y"})' in text


def test_a_location_tells_operation_scope_function_and_line():
    line = user_line()
    named = line._replace(scope="encoder/layer")
    assert f"test_hlo.py:{line.number}" in str(hlo.location("sin", line)).replace(
        '":', ":"
    ).replace('"', "")
    assert f'"{line.function}"' in str(hlo.location("sin", line))
    assert '"encoder/layer/sin"' in str(hlo.location("sin", named))
    assert str(hlo.location("sin", None)) == 'loc("sin")'


def test_equal_code_of_two_files_has_two_locations():
    for file in ("one.py", "other.py"):
        space = {"user_line": user_line}
        exec(compile("def fun():\n    return user_line()", file, "exec"), space)
        assert f'"{file}":2' in str(hlo.location("sin", space["fun"](), file))


def test_the_first_device_has_one_mesh_however_often_it_is_asked_for():
    with hlo.lock, hlo.context, hlo.unknown:
        module = hlo.Module("test")
        assert module.first_device() == module.first_device()
        assert module.text().count("sdy.mesh") == 1


def test_results_of_a_rule_are_values_however_it_gives_them():
    with hlo.lock, hlo.context, hlo.unknown:
        module = hlo.Module("test")
        main = module.function("main", [F32, F32], [])
        a, b = main.arguments
        tensor = hlo.tensor_type(F32)
        made = hlo.operation(
            "stablehlo.add", [tensor], [a, b], None, hlo.unknown, main.point
        )
        assert hlo.results(a) == [a]
        assert hlo.results([a, b]) == hlo.results((a, b)) == [a, b]
        assert hlo.results(made) == [made.result]
        assert hlo.results([]) == []

"""Executables: results, donation, options, analyses, callbacks, and their errors."""

import threading

import ml_dtypes
import numpy as np
import pytest

from covector.errors import DeletedArrayError, DeviceError
from covector.runtime import buffers, client, compiler, modules
from covector.runtime.compile_options import DEFAULT_OPTIONS, compile_options_of
from tests.runtime.programs import F32, add, callback, output_of, square

ELEMENTS = {
    "f32": np.float32,
    "f64": np.float64,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "i8": np.int8,
    "i64": np.int64,
    "ui8": np.uint8,
    "i4": ml_dtypes.int4,
    "complex<f32>": np.complex64,
    "complex<f64>": np.complex128,
}


@pytest.fixture
def device():
    return client.cpu_device()


@pytest.fixture
def put(device):
    return lambda *values, dtype=F32: buffers.put(np.array(values, dtype), device)


@pytest.fixture
def adder(device):
    return compiler.compile_module(add(), device, outputs=[((4,), F32)])


def host(results):
    return [buffers.to_host(r).tolist() for r in results]


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("size", [0, 3])
def test_results_have_the_value_and_dtype_of_the_program(element, size, device):
    dtype = np.dtype(ELEMENTS[element])
    program = compiler.compile_module(
        add(size, element), device, outputs=[((size,), dtype)]
    )
    ones = buffers.put(np.ones(size, dtype), device)
    (total,) = program.execute([ones, ones])
    value = buffers.to_host(total)
    assert value.dtype == dtype
    assert value.astype("c16").tolist() == [2] * size
    assert buffers.device_of(total) is device


def test_results_come_in_the_order_of_the_program(device, put):
    text = (
        "func.func public @main(%a: tensor<2xf32>, %b: tensor<2xf32>) -> "
        "(tensor<2xf32>, tensor<i1>, tensor<2xf32>) { "
        "%t = stablehlo.constant dense<true> : tensor<i1> "
        "return %b, %t, %a : tensor<2xf32>, tensor<i1>, tensor<2xf32> }"
    )
    outputs = [((2,), F32), ((), np.bool_), ((2,), F32)]
    program = compiler.compile_module(text, device, outputs=outputs)
    results = program.execute([put(1, 2), put(3, 4)])
    assert host(results) == [[3, 4], True, [1, 2]]
    assert [repr(r.aval) for r in results] == ["f32[2]", "bool[]", "f32[2]"]


def test_a_program_may_have_no_results(device, put):
    text = "func.func public @main(%a: tensor<2xf32>) { return }"
    program = compiler.compile_module(text, device, outputs=[])
    assert program.execute([put(1, 2)]) == []


def test_several_threads_may_run_one_executable(adder, put):
    a, found = put(1, 2, 3, 4), []

    def work():
        results = [adder.execute([a, a]) for _ in range(200)]
        found.extend(host(result) for result in results)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[[2, 4, 6, 8]]] * 800


def test_programs_run_on_a_second_device_and_on_threads_of_the_runtime():
    code = """
import numpy as np
from covector.runtime import buffers, client, compiler
from covector.runtime.compile_options import DEFAULT_OPTIONS, compile_options_of
from tests.runtime.programs import square
device = client.local_devices(backend="cpu")[1]
program = compiler.compile_module(square(64), device, outputs=[((64, 64), "f4")])
x = buffers.put(2 * np.eye(64, dtype="f4"), device)
for _ in range(5):
    (x,) = program.execute([x])
print(buffers.device_of(x), buffers.to_host(x)[0, 0] == 2.0 ** 32)
"""
    environment = {"COVECTOR_NUM_CPU_DEVICES": "2", "COVECTOR_ASYNC_CPU": "1"}
    assert output_of(code, **environment) == "cpu:1 True"


# -- donation -------------------------------------------------------------------------


def test_a_donated_argument_is_deleted_and_another_is_not(device, put):
    program = compiler.compile_module(
        add(), device, outputs=[((4,), F32)], donated=(1,)
    )
    a, b = put(1, 2, 3, 4), put(1, 1, 1, 1)
    assert host(program.execute([a, b])) == [[2, 3, 4, 5]]
    assert buffers.is_deleted(b)
    assert not buffers.is_deleted(a)
    with pytest.raises(DeletedArrayError, match=r"deleted or donated: its f32\[4\]"):
        program.execute([a, b])
    with pytest.raises(DeletedArrayError, match=r"deleted or donated: its f32\[4\]"):
        buffers.to_host(b)


def test_a_donation_that_fits_no_result_leaves_the_argument_alone(device, put):
    text = (
        "func.func public @main(%a: tensor<8xf32>, %b: tensor<2xf32>) -> tensor<2xf32> "
        "{ %0 = stablehlo.add %b, %b : tensor<2xf32> return %0 : tensor<2xf32> }"
    )
    program = compiler.compile_module(text, device, outputs=[((2,), F32)], donated=(0,))
    a = buffers.put(np.ones(8, F32), device)
    assert host(program.execute([a, put(1, 2)])) == [[2, 4]]
    assert not buffers.is_deleted(a)


def test_donating_an_argument_that_is_passed_twice_is_refused(device, put):
    program = compiler.compile_module(
        add(), device, outputs=[((4,), F32)], donated=(0,)
    )
    a = put(1, 2, 3, 4)
    with pytest.raises(DeletedArrayError, match="the same array as a donated argument"):
        program.execute([a, a])


def test_a_view_of_a_donated_argument_keeps_its_values(device, put):
    program = compiler.compile_module(
        add(), device, outputs=[((4,), F32)], donated=(0,)
    )
    a, b = put(1, 2, 3, 4), put(1, 1, 1, 1)
    view = buffers.to_host(a)
    assert host(program.execute([a, b])) == [[2, 3, 4, 5]]
    assert view.tolist() == [1, 2, 3, 4]


def test_other_attributes_of_arguments_survive_donation(device, put):
    text = add().replace("%b: tensor<4xf32>", '%b: tensor<4xf32> {jax.note = "kept"}')
    with modules.opened(text, [1]) as module:
        donating = str(module)
    assert "jax.buffer_donor = true" in donating
    assert 'jax.note = "kept"' in donating


# -- options --------------------------------------------------------------------------


def test_options_reach_the_compiler(device):
    options = {"xla_backend_optimization_level": 0, "xla_disable_all_hlo_passes": True}
    text = square(8)
    plain = compiler.compile_module(text, device, outputs=[((8, 8), F32)])
    changed = compiler.compile_module(
        text, device, outputs=[((8, 8), F32)], options=options
    )
    assert plain.fingerprint != changed.fingerprint


def test_an_unknown_option_is_an_error_that_names_it(device):
    with pytest.raises(DeviceError, match="xla_go_faster"):
        compiler.compile_module(
            add(), device, outputs=[((4,), F32)], options={"xla_go_faster": True}
        )


def test_a_caller_may_override_our_defaults(device):
    name = "xla_cpu_experimental_ynn_fusion_type"
    ours = DEFAULT_OPTIONS["cpu"][name]
    plain = compile_options_of((device,), None)
    assert plain.env_option_overrides == [(name, ours)]
    overridden = compile_options_of((device,), {name: ""})
    assert overridden.env_option_overrides == [(name, "")]


# -- what one can ask -----------------------------------------------------------------


def test_analyses(device):
    program = compiler.compile_module(square(32), device, outputs=[((32, 32), F32)])
    assert program.as_text().startswith("HloModule")
    assert program.cost_analysis()["flops"] == 2 * 32**3
    memory = program.memory_analysis()
    assert memory.argument_size_in_bytes == memory.output_size_in_bytes == 4 * 32**2
    assert repr(program.outputs) == "[f32[32,32]]"


def test_serialized_executables_run_again(adder, device, put):
    loaded = compiler.load_executable(adder.serialize(), device, [((4,), F32)])
    assert loaded.fingerprint == adder.fingerprint
    assert host(loaded.execute([put(1, 2, 3, 4), put(1, 1, 1, 1)])) == [[2, 3, 4, 5]]


@pytest.mark.parametrize(
    "damaged", [b"", b"nonsense", None], ids=["empty", "junk", "cut"]
)
def test_bytes_that_are_no_executable_are_refused(damaged, adder, device):
    if damaged is None:
        damaged = adder.serialize()[:-1]
    with pytest.raises(DeviceError, match="these bytes are not an executable"):
        compiler.load_executable(damaged, device, [((4,), F32)])


# -- errors ---------------------------------------------------------------------------


def test_text_that_is_no_module_is_refused(device):
    with pytest.raises(DeviceError, match="not a StableHLO module"):
        compiler.compile_module("what is this?", device, outputs=[])


def test_what_xla_cannot_compile_is_an_error_in_its_words(device):
    text = add().replace("stablehlo.add %a, %b :", "stablehlo.custom_call @gone(%a) :")
    text = text.replace(
        ": tensor<4xf32> return", ": (tensor<4xf32>) -> tensor<4xf32> return"
    )
    with pytest.raises(DeviceError, match=r"XLA cannot compile .*gone"):
        compiler.compile_module(text, device, outputs=[((4,), F32)])


def test_a_wrong_number_of_arguments_is_an_error(adder, put):
    with pytest.raises(DeviceError, match=r"supplied 1 arguments but .* expected 2"):
        adder.execute([put(1, 2, 3, 4)])


# -- callbacks ------------------------------------------------------------------------


def test_a_program_calls_back_into_python(device, put):
    program = compiler.compile_with_callbacks(
        callback(), device, [lambda x: (np.flip(x),)], outputs=[((4,), F32)]
    )
    assert host(program.execute([put(1, 2, 3, 4)])) == [[4, 3, 2, 1]]


def test_equal_modules_with_other_callbacks_are_other_programs(device, put):
    for factor in (2, 3):
        program = compiler.compile_with_callbacks(
            callback(),
            device,
            [lambda x, k=factor: (x * F32.type(k),)],
            outputs=[((4,), F32)],
        )
        assert host(program.execute([put(1, 2, 3, 4)])) == [
            [factor, 2 * factor, 3 * factor, 4 * factor]
        ]


def test_a_callback_may_run_a_program(device, put, adder):
    def twice(x):
        x = buffers.put(x, device)
        return (buffers.to_host(adder.execute([x, x])[0]),)

    program = compiler.compile_with_callbacks(
        callback(), device, [twice], outputs=[((4,), F32)]
    )
    assert host(program.execute([put(1, 2, 3, 4)])) == [[2, 4, 6, 8]]


def test_an_exception_in_a_callback_comes_out(device, put):
    error = ValueError("no luck today")

    def fail(x):
        raise error

    program = compiler.compile_with_callbacks(
        callback(), device, [fail], outputs=[((4,), F32)]
    )
    with pytest.raises(ValueError, match="no luck today") as raised:
        buffers.block_until_ready(program.execute([put(1, 2, 3, 4)]))
    assert raised.value is error

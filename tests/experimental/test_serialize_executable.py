"""Machine code as bytes, loaded in the same process and in another."""

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector.errors import ExportError, TreeMismatch, TypeMismatch
from covector.experimental.serialize_executable import deserialize_and_load, serialize

X = np.arange(4, dtype=np.float32)


def compiled(**options):
    table = np.arange(4000, dtype=np.float32)

    def f(x, unused, *, k):
        least = cnp.sort(cnp.asarray(table)[::-1])[:4]  # in NumPy
        return {"sum": (least * x).sum(), "all": [x * k, None]}

    return cv.jit(f, **options).lower(X, X, k=2.0).compile()


def test_a_loaded_program_does_what_the_compiled_one_did():
    before = compiled()
    loaded = deserialize_and_load(*serialize(before))
    for made in (before, loaded):
        out = made(X, X, k=2.0)
        assert float(out["sum"]) == 14
        assert out["all"][0].tolist() == [0, 2, 4, 6]
    assert "HloModule" in loaded.as_text()
    assert loaded.cost_analysis()["flops"] > 0
    assert loaded.memory_analysis().argument_size_in_bytes > 0


def test_a_program_that_was_found_on_disk_is_serialized_with_all_of_its_kernels(
    tmp_path,
):
    """What was loaded gave back bytes without some: calls failed with "Function
    add_tanh_fusion.1 not found".
    """
    code = """
import covector as cv, covector.numpy as cnp
from covector.experimental.serialize_executable import deserialize_and_load, serialize
def loss(p, x):
    for w, b in p:
        x = cnp.tanh(x @ w + b)
    return cnp.mean(x**2)
p = [(cnp.eye(32), cnp.ones(32)) for _ in range(3)]
args = p, cnp.ones((8, 32))
made = cv.jit(cv.grad(loss)).lower(*args).compile()
found = deserialize_and_load(*serialize(made))(*args)
print(float(cnp.sum(found[0][0])))
"""
    environment = {**os.environ, "COVECTOR_CACHE_DIR": str(tmp_path)}
    outputs = [
        subprocess.run(
            [sys.executable, "-c", code],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for _ in range(2)
    ]
    assert outputs[0] == outputs[1]


def test_another_process_runs_it_without_compiling(tmp_path):
    (tmp_path / "program").write_bytes(pickle.dumps(serialize(compiled())))
    code = f"""
import pickle, numpy as np
from covector import monitoring
from covector.experimental.serialize_executable import deserialize_and_load
heard = []
monitoring.register_event_duration_secs_listener(lambda name, _: heard.append(name))
run = deserialize_and_load(*pickle.load(open({str(tmp_path / "program")!r}, "rb")))
x = np.arange(4, dtype=np.float32)
print(float(run(x, x, k=2.0)["sum"]), heard)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["14.0", "[]"]


def test_a_donated_argument_is_given_up():
    made = cv.jit(lambda x: x + 1, donate_argnums=0).lower(X).compile()
    x = cnp.asarray(X)
    assert deserialize_and_load(*serialize(made))(x).tolist() == [1, 2, 3, 4]
    assert x.is_deleted()


def test_a_program_over_a_mesh_keeps_its_shardings():
    if cv.device_count() < 2:
        pytest.skip("needs two devices")
    mesh = cv.make_mesh((2,), ("x",))
    sharded = cv.device_put(X, cv.NamedSharding(mesh, cv.P("x")))
    made = cv.jit(lambda x: (x * 2, x.sum())).lower(sharded).compile()
    loaded = deserialize_and_load(*serialize(made), execution_devices=cv.devices()[:2])
    doubled, total = loaded(X)
    assert doubled.sharding == made(sharded)[0].sharding
    assert float(total) == 6
    with pytest.raises(ExportError, match="2 devices, but there are 1"):
        deserialize_and_load(*serialize(made), execution_devices=cv.devices()[:1])


def test_other_arguments_are_refused():
    loaded = deserialize_and_load(*serialize(compiled()))
    with pytest.raises(TreeMismatch, match=r"the compiled jit of .*f .*a tuple of 1"):
        loaded(X, k=2.0)
    with pytest.raises(TypeMismatch, match=r"takes f32\[4\] as argument 0"):
        loaded(X[:2], X, k=2.0)
    with pytest.raises(TypeMismatch, match="with its values, but got a traced f32"):
        cv.jit(lambda x: loaded(x, X, k=2.0))(X)


def test_what_calls_python_cannot_be_stored():
    def f(x):
        cv.debug.print("{}", x)
        return x

    with pytest.raises(ExportError, match=r"jit of .*f .* calls Python functions"):
        serialize(cv.jit(f).lower(1.0).compile())


def test_what_calls_numpy_is_loaded_with_its_functions_or_not_at_all():
    serialized, *trees = serialize(compiled())
    other = serialized.replace(b'["sort"]', b'["tros"]')
    assert other != serialized
    with pytest.raises(ExportError, match="calls 'tros' of another version"):
        deserialize_and_load(other, *trees)

"""The cache: found by content, in memory and on disk, never believed when damaged."""

import concurrent.futures
import hashlib
import os
import threading
import warnings

import numpy as np
import pytest

from covector.errors import SettingWarning
from covector.runtime import buffers, client, compilation_cache, executable
from tests.runtime.programs import F32, add, callback, output_of


@pytest.fixture(autouse=True)
def empty_cache():
    """Every test starts and ends with nothing in memory and no folder."""
    before = compilation_cache.directory()
    compilation_cache.set_directory(None)
    compilation_cache.clear()
    yield
    compilation_cache.set_directory(before)
    compilation_cache.clear()


def flipped(content, position):
    """The same bytes with one bit of one of them changed."""
    changed = bytearray(content)
    changed[position] ^= 1
    return bytes(changed)


@pytest.fixture
def compiled(monkeypatch):
    """The modules that XLA really compiled."""
    seen = []
    compile_now = executable._compile

    def record(module, *rest):
        seen.append(module)
        return compile_now(module, *rest)

    monkeypatch.setattr(executable, "_compile", record)
    return seen


def run(text=None, **arguments):
    device = client.cpu_device()
    text = text or add()
    made = executable.compile_module(text, device, outputs=[((4,), F32)], **arguments)
    a, b = (buffers.put(np.array(x, F32), device) for x in ([1, 2, 3, 4], [1, 1, 1, 1]))
    return buffers.to_host(made.execute([a, b])[0]).tolist()


def test_equal_modules_are_compiled_once(compiled):
    assert run() == run() == [2, 3, 4, 5]
    assert len(compiled) == 1


def test_source_locations_make_no_difference(compiled):
    named = add().replace("return", 'loc("here") return', 1)
    assert run() == run("\n\n" + add()) == run(named) == [2, 3, 4, 5]
    assert len(compiled) == 1


def test_everything_else_does(compiled):
    assert run() == [2, 3, 4, 5]
    assert run(add().replace("stablehlo.add", "stablehlo.multiply")) == [1, 2, 3, 4]
    assert run(options={"xla_backend_optimization_level": 1}) == [2, 3, 4, 5]
    assert run(donated=[0]) == [2, 3, 4, 5]
    assert len(compiled) == 4


def test_two_outputs_of_one_size_do_not_meet(compiled):
    device = client.cpu_device()
    ones = buffers.put(np.ones(4, F32), device)
    for shape in ((4,), (2, 2)):
        made = executable.compile_module(add(), device, outputs=[(shape, F32)])
        assert made.execute([ones, ones])[0].aval.shape == shape
    assert len(compiled) == 1


def test_clear_forgets(compiled):
    run()
    compilation_cache.clear()
    run()
    assert len(compiled) == 2


def test_the_least_recently_used_is_forgotten_first(compiled, monkeypatch):
    monkeypatch.setattr(compilation_cache, "_ENTRIES_IN_MEMORY", 2)
    subtract = add().replace("stablehlo.add", "stablehlo.subtract")
    multiply = add().replace("stablehlo.add", "stablehlo.multiply")
    for text in (add(), subtract, add(), multiply, add()):
        run(text)
    assert len(compiled) == 3
    run(subtract)
    assert len(compiled) == 4


def test_programs_with_callbacks_are_not_kept(compiled):
    device = client.cpu_device()
    for _ in range(2):
        executable.compile_with_callbacks(
            callback(), device, [lambda x: (x,)], outputs=[((4,), F32)]
        )
    assert len(compiled) == 2


def test_devices_of_two_clients_do_not_share_executables():
    code = """
from jaxlib import xla_client
from covector.runtime import buffers, client, executable
from tests.runtime.programs import add
import numpy as np
for device in (client.cpu_device(), xla_client.make_cpu_client().devices()[0]):
    made = executable.compile_module(add(), device, outputs=[((4,), "f4")])
    one = buffers.put(np.ones(4, "f4"), device)
    print(buffers.to_host(made.execute([one, one])[0]).tolist())
"""
    assert output_of(code).split("\n") == ["[2.0, 2.0, 2.0, 2.0]"] * 2


def test_threads_may_compile_at_once(compiled):
    results = []
    threads = [threading.Thread(target=lambda: results.append(run())) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [[2, 3, 4, 5]] * 6


# -- on disk --------------------------------------------------------------------------


def test_nothing_is_written_unless_wanted(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run()
    assert list(tmp_path.iterdir()) == []


def test_a_file_replaces_the_compiler(tmp_path, compiled):
    compilation_cache.set_directory(tmp_path / "new" / "folder")
    run()
    (file,) = (tmp_path / "new" / "folder").iterdir()
    assert file.suffix == ".xla"
    compilation_cache.clear()
    assert run() == [2, 3, 4, 5]
    assert len(compiled) == 1


def test_donation_survives_the_file(tmp_path):
    compilation_cache.set_directory(tmp_path)
    device = client.cpu_device()
    for _ in range(2):
        made = executable.compile_module(
            add(), device, outputs=[((4,), F32)], donated=[0]
        )
        a, b = (buffers.put(np.ones(4, F32), device) for _ in range(2))
        made.execute([a, b])
        assert buffers.is_deleted(a)
        compilation_cache.clear()


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[: len(content) // 2],
        lambda content: content[:-1],
        lambda content: content + b"\0",
        lambda content: b"nonsense" + content,
        lambda content: content.replace(b"executable 2", b"executable 1"),
        lambda content: flipped(content, len(content) // 2),
    ],
    ids=["empty", "half", "cut", "longer", "prefixed", "older", "one bit"],
)
def test_a_damaged_file_is_ignored_and_written_anew(damage, tmp_path, compiled):
    compilation_cache.set_directory(tmp_path)
    run()
    (file,) = tmp_path.iterdir()
    whole = file.read_bytes()
    assert damage(whole) != whole
    file.write_bytes(damage(whole))
    compilation_cache.clear()
    assert run() == [2, 3, 4, 5]
    assert len(compiled) == 2
    compilation_cache.clear()
    assert run() == [2, 3, 4, 5]
    assert len(compiled) == 2
    assert list(tmp_path.iterdir()) == [file]


def test_an_undamaged_file_that_jaxlib_cannot_load_is_ignored(tmp_path, compiled):
    compilation_cache.set_directory(tmp_path)
    run()
    (file,) = tmp_path.iterdir()
    junk, key = b"this is not an executable", bytes.fromhex(file.stem)
    digest = hashlib.sha256(key + junk).digest()
    file.write_bytes(compilation_cache.MAGIC + digest + key + junk)
    compilation_cache.clear()
    assert run() == [2, 3, 4, 5]
    assert len(compiled) == 2


def test_a_file_under_the_name_of_another_program_does_not_run_as_that(
    tmp_path, compiled
):
    compilation_cache.set_directory(tmp_path)
    run()
    (first,) = tmp_path.iterdir()
    other = add().replace("stablehlo.add", "stablehlo.multiply")
    assert run(other) == [1, 2, 3, 4]
    (second,) = set(tmp_path.iterdir()) - {first}
    second.write_bytes(first.read_bytes())
    compilation_cache.clear()
    assert run(other) == [1, 2, 3, 4]
    assert len(compiled) == 3


@pytest.mark.skipif(os.name != "posix", reason="modes are of POSIX")
@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o775])
def test_a_folder_that_others_can_write_is_not_used_and_one_warning_says_so(
    mode, tmp_path, compiled
):
    run()
    tmp_path.chmod(mode)
    compilation_cache.set_directory(tmp_path)
    compilation_cache.clear()
    with pytest.warns(SettingWarning, match="others can write it") as warned:
        assert run() == [2, 3, 4, 5]
        assert run(add().replace("add", "subtract")) == [0, 1, 2, 3]
    assert len(warned) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_made_is_for_its_owner_alone(tmp_path, compiled):
    before = os.umask(0)
    try:
        compilation_cache.set_directory(tmp_path / "made")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            run()
    finally:
        os.umask(before)
    assert len(list((tmp_path / "made").iterdir())) == 1


def test_processes_that_fill_one_folder_at_once_do_not_meet(tmp_path):
    code = """
import covector as cv, covector.numpy as cnp
for n in range(6):
    print(cv.jit(lambda x: x * n)(cnp.ones(2)).tolist())
"""
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        outputs = pool.map(
            lambda _: output_of(code, COVECTOR_CACHE_DIR=str(tmp_path)), range(3)
        )
    assert len(set(outputs)) == 1
    assert {file.suffix for file in tmp_path.iterdir()} == {".xla"}


def test_a_folder_that_cannot_be_written_costs_only_the_speed_up(tmp_path, compiled):
    (tmp_path / "a file").write_text("in the way")
    compilation_cache.set_directory(tmp_path / "a file")
    assert run() == [2, 3, 4, 5]
    assert run() == [2, 3, 4, 5]
    assert len(compiled) == 1


def test_a_write_that_fails_half_way_leaves_nothing(tmp_path, monkeypatch):
    def full(*_):
        raise OSError("no space left on device")

    compilation_cache.set_directory(tmp_path)
    monkeypatch.setattr(compilation_cache.os, "replace", full)
    assert run() == [2, 3, 4, 5]
    assert list(tmp_path.iterdir()) == []


def test_another_process_finds_the_file(tmp_path):
    code = """
import numpy as np
from covector.runtime import buffers, client, executable
from tests.runtime.programs import add
count, compile_now = [], executable._compile
executable._compile = lambda *a: count.append(1) or compile_now(*a)
device = client.cpu_device()
one = buffers.put(np.ones(4, "f4"), device)
made = executable.compile_module(add(), device, outputs=[((4,), "f4")])
print(len(count), buffers.to_host(made.execute([one, one])[0]).tolist())
"""
    environment = {"COVECTOR_CACHE_DIR": str(tmp_path)}
    assert output_of(code, **environment) == "1 [2.0, 2.0, 2.0, 2.0]"
    assert output_of(code, **environment) == "0 [2.0, 2.0, 2.0, 2.0]"
    flags = {"XLA_FLAGS": "--xla_backend_optimization_level=1"}
    assert output_of(code, **environment, **flags)[0] == "1"

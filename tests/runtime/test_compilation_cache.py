"""The cache: found by content, in memory and on disk, never believed when damaged."""

import concurrent.futures
import hashlib
import os
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest

from covector.cli import main as cli
from covector.errors import SettingWarning
from covector.runtime import (
    buffers,
    cache_folder,
    client,
    compilation_cache,
    compiler,
)
from tests.runtime.programs import F32, add, callback, output_of


@pytest.fixture(autouse=True)
def empty_cache():
    """Every test starts and ends with nothing in memory and no folder."""
    before = compilation_cache.folder()
    compilation_cache.set_directory(None)
    compilation_cache.clear()
    yield
    compilation_cache._cache.folder = before
    compilation_cache.clear()
    cache_folder._warn_once.cache_clear()


def flipped(content, position):
    """The same bytes with one bit of one of them changed."""
    changed = bytearray(content)
    changed[position] ^= 1
    return bytes(changed)


@pytest.fixture
def compiled(monkeypatch):
    """The modules that XLA really compiled."""
    seen = []
    compile_now = compiler._compile

    def record(module, *rest):
        seen.append(module)
        return compile_now(module, *rest)

    monkeypatch.setattr(compiler, "_compile", record)
    return seen


def run(text=None, **arguments):
    device = client.cpu_device()
    text = text or add()
    made = compiler.compile_module(text, device, outputs=[((4,), F32)], **arguments)
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
        made = compiler.compile_module(add(), device, outputs=[(shape, F32)])
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
        compiler.compile_with_callbacks(
            callback(), device, [lambda x: (x,)], outputs=[((4,), F32)]
        )
    assert len(compiled) == 2


def test_devices_of_two_clients_do_not_share_executables():
    code = """
from jaxlib import xla_client
from covector.runtime import buffers, client, compiler
from tests.runtime.programs import add
import numpy as np
for device in (client.cpu_device(), xla_client.make_cpu_client().devices()[0]):
    made = compiler.compile_module(add(), device, outputs=[((4,), "f4")])
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
        made = compiler.compile_module(
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
    with pytest.warns(SettingWarning, match="is damaged, or of another version"):
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
    file.write_bytes(cache_folder.MAGIC + digest + key + junk)
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
    with pytest.warns(SettingWarning, match="is damaged"):
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
    monkeypatch.setattr(cache_folder.os, "replace", full)
    assert run() == [2, 3, 4, 5]
    assert list(tmp_path.iterdir()) == []


def test_another_process_finds_the_file(tmp_path):
    code = """
import numpy as np
from covector.runtime import buffers, client, compiler
from tests.runtime.programs import add
count, compile_now = [], compiler._compile
compiler._compile = lambda *a: count.append(1) or compile_now(*a)
device = client.cpu_device()
one = buffers.put(np.ones(4, "f4"), device)
made = compiler.compile_module(add(), device, outputs=[((4,), "f4")])
print(len(count), buffers.to_host(made.execute([one, one])[0]).tolist())
"""
    environment = {"COVECTOR_CACHE_DIR": str(tmp_path)}
    assert output_of(code, **environment) == "1 [2.0, 2.0, 2.0, 2.0]"
    assert output_of(code, **environment) == "0 [2.0, 2.0, 2.0, 2.0]"
    flags = {"XLA_FLAGS": "--xla_backend_optimization_level=1"}
    assert output_of(code, **environment, **flags)[0] == "1"


# -- the folder that nobody has to name ------------------------------------------------


LONG = """
import covector as cv, covector.numpy as cnp
from covector.runtime import cache_folder
cache_folder.WORTH_KEEPING = 0.0
print(cv.jit(lambda x: cnp.sin(x) @ x)(cnp.ones((2, 2))).tolist())
"""


def test_long_compilations_are_kept_among_the_caches_of_the_user(tmp_path):
    environment = {"XDG_CACHE_HOME": str(tmp_path), "COVECTOR_CACHE_DIR": ""}
    first = output_of(LONG, **environment)
    folder = tmp_path / "covector" / "programs"
    kept = {file.name for file in folder.iterdir()}
    assert kept and all(name.endswith(".xla") for name in kept)
    assert output_of(LONG, **environment) == first
    assert {file.name for file in folder.iterdir()} == kept


def test_short_compilations_are_not_worth_the_space(tmp_path):
    folder = cache_folder.CacheFolder(tmp_path / "new", chosen=False)
    assert not folder.takes(cache_folder.WORTH_KEEPING / 2)
    assert not folder.path.exists()
    assert folder.takes(cache_folder.WORTH_KEEPING)
    assert cache_folder.CacheFolder(tmp_path, chosen=True).takes(0.0)


def test_off_keeps_programs_in_memory_only(tmp_path):
    environment = {"XDG_CACHE_HOME": str(tmp_path), "COVECTOR_CACHE_DIR": "off"}
    output_of(LONG, **environment)
    assert not list(tmp_path.iterdir())


def test_the_folder_is_the_one_that_the_user_has_for_caches(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder.user_cache() == tmp_path / "covector"
    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")  # is to be passed over
    assert cache_folder.user_cache().is_relative_to(Path.home())


def test_without_a_home_nothing_is_kept(monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)

    def homeless(path):
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(cache_folder.Path, "expanduser", homeless)
    assert cache_folder.user_cache() is None


def test_the_files_that_were_not_used_for_longest_go_first(tmp_path, monkeypatch):
    monkeypatch.setattr(cache_folder, "MOST_BYTES", 4000)
    monkeypatch.setattr(cache_folder, "_CHECKED_EVERY", 1)
    folder = cache_folder.CacheFolder(tmp_path, chosen=True)
    keys = [hashlib.sha256(bytes([k])).hexdigest() for k in range(5)]
    for age, key in enumerate(keys[:4]):
        folder.write(key, b"x" * 800)
        os.utime(tmp_path / f"{key}.xla", (1000 + age, 1000 + age))
    assert folder.read(keys[0]) == b"x" * 800  # used now
    folder.write(keys[4], b"x" * 800)
    left = {file.stem for file in tmp_path.iterdir()}
    assert keys[1] not in left
    assert {keys[0], keys[4]} <= left
    assert folder.sizes()[1] <= 4000


def test_info_and_clear_tell_what_is_kept(tmp_path, capsys, monkeypatch):
    compilation_cache.set_directory(tmp_path)
    run()
    assert cli.main(["cache"]) == 0
    assert f"{tmp_path}: 1 program," in capsys.readouterr().out
    assert cli.main(["cache", "clear"]) == 0
    assert "1 program removed" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())
    compilation_cache.set_directory(None)
    assert cli.main(["cache"]) == 0
    assert "in memory only" in capsys.readouterr().out

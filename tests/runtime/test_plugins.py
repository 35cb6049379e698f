"""Plugins: found without importing them, and described when they cannot be used."""

import importlib.metadata
import subprocess
from pathlib import Path

import pytest

from covector.runtime import plugins
from tests.runtime.programs import SRC, run_python

REPORT = (
    "import sys\n"
    "from covector.runtime import client, plugins\n"
    "for p in plugins.found_plugins():\n"
    "    print(p.name, p.platform, p.problem)\n"
    "print(client.default_platform(), 'jax' in sys.modules)\n"
)


@pytest.fixture
def installed(tmp_path: Path):
    """Runs a report in a process that sees one plugin package of these files."""

    def run(package: str, files: dict[str, bytes], code: str = REPORT):
        folder = tmp_path / "jax_plugins" / package
        folder.mkdir(parents=True)
        for name, content in files.items():
            (folder / name).write_bytes(content)
        return run_python(code, PYTHONPATH=f"{SRC}:{tmp_path}")

    return run


def lines(done: subprocess.CompletedProcess[str]) -> list[str]:
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_without_plugins_nothing_is_found_and_the_cpu_is_the_default(tmp_path):
    if any(p.library for p in plugins.found_plugins()):
        pytest.skip("a plugin is installed here")
    assert lines(run_python(REPORT))[-1] == "cpu False"


def test_a_plugin_is_found_without_being_imported(installed):
    code = b"raise SystemExit('imported')"
    done = installed("xla_cuda13", {"__init__.py": code})
    assert lines(done) == [
        "xla_cuda13 gpu its xla_cuda_plugin.so is missing",
        "cpu False",
    ]


def test_a_plugin_for_other_devices_is_reported_and_left_alone(installed):
    done = installed("some_device", {"__init__.py": b"raise SystemExit('imported')"})
    assert lines(done)[0] == "some_device None covector loads only NVIDIA's plugin"


def test_a_library_that_cannot_be_loaded_leaves_the_cpu_and_says_why(installed):
    files = {"__init__.py": b"", "xla_cuda_plugin.so": b"not a library"}
    code = REPORT + (
        "try: client.client('gpu')\nexcept RuntimeError as error: print(error)"
    )
    first, default, *problem = lines(installed("xla_cuda13", files, code))
    assert first == "xla_cuda13 gpu None"
    assert default == "cpu False"
    assert "Backend 'gpu' failed to initialize" in problem[0]
    assert "xla_cuda_plugin.so" in "".join(problem)


def declare(folder: Path, name: str, text: str) -> None:
    """An installed package whose metadata declares these entry points."""
    (folder / f"{name}.dist-info").mkdir()
    (folder / f"{name}.dist-info" / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n"
    )
    (folder / f"{name}.dist-info" / "entry_points.txt").write_text(text)


def test_an_entry_point_whose_package_is_gone_is_a_problem_not_a_crash(
    tmp_path, monkeypatch
):
    declare(tmp_path, "lost-1", "[jax_plugins]\nlost = no_such_package.plugin\n")
    monkeypatch.syspath_prepend(tmp_path)
    (lost,) = (p for p in plugins.found_plugins.__wrapped__() if p.name == "lost")
    assert lost.library is None
    assert "it cannot be found" in lost.problem


def test_entry_points_are_those_that_importlib_finds(tmp_path, monkeypatch):
    text = (
        "[console_scripts]\nother = b:main\n\n[ jax_plugins ]\n"
        "[jax_plugins]\n# none = of.this\none=a.b\ntwo = c.d : make [extra]\n"
        "[z]\nx = y\n"
    )
    declare(tmp_path, "some-1", text)
    monkeypatch.syspath_prepend(tmp_path)
    for group in ("jax_plugins", "console_scripts"):
        expected = importlib.metadata.entry_points(group=group)
        found = plugins._entry_points(group)
        assert found.keys() == {entry.module for entry in expected}
        assert {*found.values()} <= {entry.name for entry in expected}
    assert plugins._entry_points("jax_plugins") == {"a.b": "one", "c.d": "two"}

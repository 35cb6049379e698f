"""The local distribution ``jax``, in an environment of its own."""

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from types import SimpleNamespace

import pytest

import covector
from covector.cli import distribution
from covector.compat.finder import DOOR
from covector.compat.names import API_VERSION
from covector.errors import SettingError

_CHECKS = """
import importlib.metadata, multiprocessing
import jax.numpy, covector
assert jax.numpy.sum is covector.numpy.sum
version = importlib.metadata.version("jax")
assert version == f"{jax.__version__}+covector.{covector.__version__}"
if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.map(jax.numpy.sin, [jax.numpy.zeros(2)])[0].tolist())
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """The Python of a new environment, whose packages are followed by those here."""
    root = tmp_path_factory.mktemp("environment")
    venv.create(root, symlinks=True)
    (site,) = root.glob("lib/python*/site-packages")
    here = [Path(covector.__file__).parents[1], sysconfig.get_paths()["purelib"]]
    (site / "here.pth").write_text("\n".join(map(str, here)))
    return root / "bin" / "python"


def _run(python, *arguments):
    environ = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    command = [python, *arguments]
    return subprocess.run(
        command, env=environ, capture_output=True, text=True, check=False
    )


def test_an_environment_lives_on_covector_until_it_is_told_otherwise(python, tmp_path):
    dropin = ("-m", "covector", "dropin")
    done = _run(python, *dropin, "enable")
    assert f"jax {distribution.VERSION} is covector now" in done.stdout, done.stderr
    program = tmp_path / "program.py"
    program.write_text(_CHECKS)
    done = _run(python, str(program))
    assert done.stdout == "[0.0, 0.0]\n", done.stderr
    assert (
        "finds covector, by jax 0.10.2+covector"
        in _run(python, *dropin, "status").stdout
    )
    assert "is gone from" in _run(python, *dropin, "disable").stdout


def test_what_was_written_is_taken_away_whole(tmp_path):
    distribution.enable(tmp_path)
    distribution.enable(tmp_path)  # once more, as after an update of covector
    assert len(list(tmp_path.iterdir())) == 2
    assert "is gone" in distribution.disable(tmp_path)
    assert not list(tmp_path.iterdir())
    assert "there is no jax of covector's" in distribution.disable(tmp_path)


def test_a_real_jax_is_not_touched_without_being_asked(tmp_path):
    info = tmp_path / "jax-0.4.30.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: jax\nVersion: 0.4.30\n"
    )
    with pytest.raises(
        SettingError, match=r"jax 0\.4\.30 is installed .* left as it is"
    ):
        distribution.enable(tmp_path)
    assert "there is no jax of covector's" in distribution.disable(tmp_path)
    assert info.exists() and not (tmp_path / "jax.py").exists()


def test_a_real_jax_is_uninstalled_by_pip_where_that_is_asked_for(
    tmp_path, monkeypatch
):
    info = tmp_path / "jax-0.4.30.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: jax\nVersion: 0.4.30\n"
    )
    commands = []

    def pip(command, **_):
        commands.append(command[1:])
        return SimpleNamespace(returncode=1, stderr="cannot\n")

    monkeypatch.setattr(subprocess, "run", pip)
    with pytest.raises(SettingError, match="pip could not uninstall jax: cannot"):
        distribution.enable(tmp_path, replace=True)
    assert commands == [["-m", "pip", "uninstall", "--yes", "jax"]]


def test_a_folder_that_cannot_be_written_to_is_an_error_in_words(tmp_path):
    file = tmp_path / "site"
    file.write_text("")
    with pytest.raises(SettingError, match="covector cannot write to"):
        distribution.enable(file)


def test_the_versions_that_are_told_agree():
    (info,) = DOOR.glob("*.dist-info")
    assert info.name == f"jax-{API_VERSION}.dist-info"
    said = (info / "METADATA").read_text()
    assert f"\nVersion: {API_VERSION}+covector.{covector.__version__}\n" in said


def test_the_jax_that_programs_find_is_described():
    assert distribution.describe()["covector run"]  # here it is the peer of the tests
    assert "jax" in sys.modules or "finds jax" in distribution.describe()["import jax"]

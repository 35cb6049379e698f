"""The command line, as a user types it."""

import builtins
import subprocess
import sys
from pathlib import Path

import pytest

from covector import environment
from covector.cli.help import pages
from covector.cli.main import main
from covector.runtime import client, compilation_cache, plugins
from covector.runtime.cache_folder import CacheFolder
from covector.version import __version__


def test_version_is_printed(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out == f"covector {__version__}\n"


def test_help_names_every_command_and_what_it_does(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    out = capsys.readouterr().out
    assert "train a classifier of handwritten digits" in out
    assert "the installation and devices" in out


def test_without_a_command_the_help_is_shown(capsys):
    assert main([]) == 0
    assert "train a classifier of handwritten digits" in capsys.readouterr().out


def test_a_pipe_that_is_closed_early_is_no_error():
    command = [sys.executable, "-m", "covector", "doctor"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


def test_doctor_prints_every_section_and_finds_no_problem(capsys):
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    for title in environment.SECTIONS:
        assert f"\n{title}\n" in f"\n{out}"
    assert "problem" not in out


def test_doctor_lists_versions_and_every_device(capsys):
    main(["doctor"])
    words = capsys.readouterr().out.split()
    assert words[words.index("covector") + 1] == __version__
    for device in client.devices("cpu"):
        assert f"cpu:{device.id}" in words


def test_doctor_says_why_a_plugin_is_not_usable(monkeypatch):
    tpu = plugins.Plugin("tpu", "jax_plugins.tpu", None, None, "it is not NVIDIA's")
    monkeypatch.setattr(plugins, "found_plugins", lambda: (tpu,))
    assert environment.found_plugins() == {"tpu": "not usable: it is not NVIDIA's"}


def test_doctor_says_why_a_plugin_without_its_device_is_not_usable(monkeypatch):
    def no_gpu(platform):
        raise RuntimeError(f"no {platform} is visible")

    cuda = plugins.Plugin("cuda13", "jax_plugins.cuda", "gpu", Path("x.so"))
    monkeypatch.setattr(plugins, "found_plugins", lambda: (cuda,))
    monkeypatch.setattr(client, "client", no_gpu)
    assert environment.found_plugins() == {"cuda13": "not usable: no gpu is visible"}


def test_doctor_without_plugins_says_how_to_get_one(monkeypatch):
    monkeypatch.setattr(plugins, "found_plugins", tuple)
    assert "pip install 'covector[cuda13]'" in environment.found_plugins()["none"]


def test_doctor_survives_a_platform_that_does_not_work(capsys, monkeypatch):
    def broken():
        raise RuntimeError("the platform 'gpu' does not work on this machine")

    monkeypatch.setattr(client, "backends", broken)
    assert main(["doctor"]) == 1
    out = capsys.readouterr().out
    assert "problem  the platform 'gpu' does not work on this machine" in out
    assert "\noptions\n" in out


def test_doctor_counts_the_files_of_the_program_cache(monkeypatch, tmp_path):
    (tmp_path / "0a.xla").write_bytes(bytes(2**20))
    folder = CacheFolder(tmp_path, chosen=True)
    monkeypatch.setattr(compilation_cache, "folder", lambda: folder)
    assert environment.caches() == {"programs": f"{tmp_path} (1 files, 1.0 MiB)"}


def test_a_wheel_that_is_missing_is_said_to_be(monkeypatch):
    monkeypatch.setattr(environment, "_WHEELS", ("no-such-wheel",))
    assert environment.versions()["no-such-wheel"] == "not installed"


def test_print_environment_info_prints_what_it_can_return(capsys):
    text = environment.print_environment_info(return_string=True)
    assert environment.print_environment_info() is None
    assert capsys.readouterr().out.splitlines()[0] == text.splitlines()[0] == "versions"


@pytest.mark.parametrize("epochs", ["0", "-1", "many"])
def test_demo_rejects_a_bad_number_of_epochs(capsys, epochs):
    with pytest.raises(SystemExit):
        main(["demo", f"--epochs={epochs}"])
    message = f"a positive whole number is needed, not '{epochs}'"
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("seed", ["-1", "2147483648", "0.5"])
def test_demo_rejects_a_seed_that_cannot_be_one(capsys, seed):
    with pytest.raises(SystemExit):
        main(["demo", f"--seed={seed}"])
    message = f"a whole number from 0 to 2147483647 is needed, not '{seed}'"
    assert message in capsys.readouterr().err


def test_demo_rejects_a_report_that_is_a_folder(capsys, tmp_path):
    with pytest.raises(SystemExit):
        main(["demo", f"--output={tmp_path}"])
    assert f"{tmp_path} is a folder; name a file" in capsys.readouterr().err


def test_demo_rejects_a_report_in_a_folder_that_does_not_exist(capsys, tmp_path):
    missing = tmp_path / "nowhere" / "report.html"
    with pytest.raises(SystemExit):
        main(["demo", f"--output={missing}"])
    assert f"the folder {missing.parent} does not exist" in capsys.readouterr().err


def test_demo_without_its_libraries_says_how_to_install_them(capsys, monkeypatch):
    def without_rich(name, *rest):
        if name.startswith("rich"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return imported(name, *rest)

    imported = builtins.__import__
    for name in [n for n in sys.modules if n.startswith(("covector.demo", "rich"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr("covector.demo", raising=False)
    monkeypatch.setattr(builtins, "__import__", without_rich)
    assert main(["demo"]) == 2
    error = capsys.readouterr().err
    assert "covector demo needs rich" in error
    assert "pip install 'covector[demo]'" in error


# -- pages about errors ----------------------------------------------------------------


def test_help_prints_the_page_about_an_error(capsys):
    assert main(["help", "random-key"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("# A random key is missing, or used twice\n")
    assert ">>> random.normal(key, (3,)).shape" in out


def test_help_without_a_name_lists_the_pages(capsys):
    assert main(["help"]) == 0
    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert listed == sorted(pages()) and "leaked-tracer" in listed


def test_help_suggests_a_name_for_one_that_is_misspelled(capsys):
    assert main(["help", "leaked-tracr"]) == 1
    words = capsys.readouterr().err
    assert words == (
        "covector help: no page 'leaked-tracr'. Did you mean 'leaked-tracer'?\n"
    )

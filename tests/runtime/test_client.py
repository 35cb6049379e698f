"""Clients: chosen by the environment, made once, and late wishes refused in words."""

import os
import subprocess

import numpy as np
import pytest

from covector.errors import CovectorError, DeviceError, SettingError
from covector.runtime import buffers, client, overlap, shards
from tests.runtime.programs import output_of, run_python

IMPORTS = "from covector.runtime import client, buffers, compiler\n"


def failure(done: subprocess.CompletedProcess[str]) -> str:
    """What a program that failed printed, on one line."""
    assert done.returncode != 0, done.stdout
    return " ".join(done.stderr.split())


def test_importing_creates_no_client_and_does_not_import_jax():
    code = IMPORTS + "import sys; print(client._clients.made, 'jax' in sys.modules)"
    assert output_of(code) == "{} False"


def test_a_client_is_made_quietly_and_without_jax():
    done = run_python(
        IMPORTS + "import sys; print(client.devices()); print('jax' in sys.modules)"
    )
    assert done.stderr == ""
    assert done.stdout == "[CpuDevice(id=0)]\nFalse\n"


def test_the_cpu_is_always_a_backend():
    assert client.backends()["cpu"] is client.client("cpu")
    assert client.cpu_device().client is client.client("cpu")
    assert client.device_platform(client.cpu_device()) == "cpu"


def test_synonyms_name_one_platform():
    assert client.client("CPU") is client.client("host") is client.client("cpu")


def test_devices_counts_and_indices_agree():
    assert len(client.devices("cpu")) == client.device_count("cpu")
    assert len(client.local_devices(backend="cpu")) == client.local_device_count("cpu")
    assert client.process_index("cpu") == 0
    assert client.process_count("cpu") == 1


def test_the_default_device_is_the_first_of_the_default_platform():
    first = client.local_devices(backend=client.default_platform())[0]
    assert client.default_device() is first


def test_threads_that_ask_at_once_get_one_client():
    code = IMPORTS + (
        "import threading\n"
        "found, start = [], threading.Barrier(8)\n"
        "def ask():\n"
        "    start.wait(); found.append(client.client('cpu'))\n"
        "threads = [threading.Thread(target=ask) for _ in range(8)]\n"
        "[t.start() for t in threads]; [t.join() for t in threads]\n"
        "print(len(found), len(set(map(id, found))))"
    )
    assert output_of(code) == "8 1"


def test_an_unknown_platform_is_an_error_that_names_the_known_ones():
    with pytest.raises(
        DeviceError, match="Unknown backend 'tpu': there are only cpu and gpu"
    ) as info:
        client.devices("tpu")
    assert isinstance(info.value, RuntimeError)
    assert isinstance(info.value, CovectorError)


def test_covector_platforms_goes_before_jax_platforms():
    code = IMPORTS + "print(list(client.backends()))"
    chosen = {"COVECTOR_PLATFORMS": "cpu", "JAX_PLATFORMS": "gpu"}
    assert output_of(code, **chosen) == "['cpu']"


def test_an_unknown_platform_in_the_environment_names_the_variable():
    done = run_python(IMPORTS + "client.devices()", JAX_PLATFORMS="cpu,tpu")
    assert "JAX_PLATFORMS must be cpu, gpu, or gpu,cpu, but is 'cpu,tpu'" in failure(
        done
    )


def test_a_chosen_gpu_that_is_not_there_is_an_error_not_the_cpu():
    code = "from covector.runtime import client, plugins\n"
    code += "plugins.found_plugins = lambda: ()\nclient.devices()"
    message = failure(run_python(code, COVECTOR_PLATFORMS="cuda"))
    assert "Backend 'gpu' failed to initialize" in message
    assert "pip install 'covector[cuda13]'" in message


def test_the_environment_sets_the_number_of_cpu_devices():
    code = IMPORTS + "print(client.local_device_count('cpu'))"
    assert output_of(code, COVECTOR_NUM_CPU_DEVICES="3") == "3"


def test_xla_flags_set_the_number_of_cpu_devices_where_nothing_else_does():
    code = IMPORTS + "print(client.local_device_count('cpu'))"
    flags = "--xla_force_host_platform_device_count=2"
    assert output_of(code, XLA_FLAGS=flags) == "2"
    assert output_of(code, XLA_FLAGS=flags, COVECTOR_NUM_CPU_DEVICES="1") == "1"


def test_set_cpu_devices_works_before_the_first_client_and_again_with_that_number():
    code = IMPORTS + (
        "client.set_cpu_devices(2); print(client.device_count('cpu'))\n"
        "client.set_cpu_devices(2)"
    )
    assert output_of(code, COVECTOR_NUM_CPU_DEVICES="5") == "2"


def test_set_cpu_devices_too_late_says_what_to_do():
    done = run_python(IMPORTS + "client.devices('cpu'); client.set_cpu_devices(4)")
    message = failure(done)
    assert "DeviceError: set_cpu_devices(4) comes too late" in message
    assert "already in use as 1 device(s)" in message
    assert "COVECTOR_NUM_CPU_DEVICES=4" in message


def test_an_impossible_number_of_cpu_devices_is_refused():
    with pytest.raises(SettingError, match="from 1 to 4096, but got 0"):
        client.set_cpu_devices(0)
    done = run_python(IMPORTS + "client.devices()", COVECTOR_NUM_CPU_DEVICES="two")
    words = "COVECTOR_NUM_CPU_DEVICES must be a whole number from 1 to 4096, but is "
    assert words in failure(done)
    assert "'two'" in failure(done)


def test_local_devices_are_those_of_a_process_and_a_backend():
    here = client.process_index("cpu")
    found = client.local_devices(here, backend="cpu")
    assert found == client.local_devices(backend="cpu")
    assert client.process_indices("cpu") == [here]
    with pytest.raises(DeviceError, match="there is no process 7, only 0"):
        client.local_devices(7, "cpu")


def test_the_platform_that_is_in_use_may_be_chosen_again():
    before = os.environ.get("COVECTOR_PLATFORMS")
    client.client("cpu")
    client.set_platforms("cpu")
    with pytest.raises(SettingError, match="cannot be chosen any more: cpu"):
        client.set_platforms("gpu,cpu")
    assert os.environ.get("COVECTOR_PLATFORMS") == before


# -- programs that run while Python goes on --------------------------------------------


def test_collectives_of_several_devices_do_not_wait_for_threads_that_are_not_there():
    assert len(client.local_devices(backend="cpu")) > 1
    assert not overlap.may_overlap(client.cpu_device())


def test_programs_overlap_on_one_device():
    words = ["-q", "-p", "no:cacheprovider", "tests/runtime/test_overlap.py"]
    code = f"import pytest; raise SystemExit(pytest.main({words}))"
    done = run_python(code, COVECTOR_NUM_CPU_DEVICES="1")
    assert done.returncode == 0, done.stdout
    assert "44 passed" in done.stdout


def test_programs_over_devices_do_not_wait_for_ever_for_a_number_that_is_copied_there():
    """Copies run on the threads of partitions, so they end before a program begins."""
    first, *others = client.local_devices(backend="cpu")
    source = buffers.put(np.ones(1 << 23, np.float32), first)
    copies = shards.copy_shards([source] * len(others), tuple(others))
    assert all(copy.is_ready() for copy in copies)

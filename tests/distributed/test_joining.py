"""What ``initialize`` takes from arguments and from the environment, and refuses."""

import pytest

from covector import distributed
from covector.distributed import clusters, initialization
from covector.distributed.clusters import Found, detect
from covector.errors import ArgumentError, DistributedError, SettingError
from covector.runtime import client, lockstep, membership, multi_process, plugins
from covector.runtime.membership import Membership, ProcessSettings
from covector.runtime.rendezvous import Address
from covector.variables import PEER_TIMEOUT

SLURM = {
    "SLURM_JOB_ID": "70123",
    "SLURM_PROCID": "5",
    "SLURM_NTASKS": "8",
    "SLURM_LOCALID": "1",
    "SLURM_STEP_NODELIST": "gpu[012-015,20],login",
}
OPEN_MPI = {
    "OMPI_COMM_WORLD_RANK": "2",
    "OMPI_COMM_WORLD_SIZE": "4",
    "OMPI_COMM_WORLD_LOCAL_RANK": "0",
    "OMPI_MCA_orte_hnp_uri": "1531576320.0;tcp://10.96.0.1,10.148.0.1:34911",
}
KUBERNETES = {
    "KUBERNETES_SERVICE_HOST": "10.0.0.1",
    "JOB_COMPLETION_INDEX": "3",
    "JOB_COMPLETIONS": "4",
    "JOB_NAME": "train",
    "JOB_SERVICE_NAME": "train-svc",
}
BY_HAND = {
    "COVECTOR_COORDINATOR_ADDRESS": "here:99",
    "COVECTOR_NUM_PROCESSES": "2",
    "COVECTOR_PROCESS_ID": "1",
}


@pytest.mark.parametrize(
    ("environ", "found"),
    [
        ({}, Found()),
        (SLURM, Found(f"gpu012:{61440 + 70123 % 4096}", 8, 5, 1)),
        (OPEN_MPI, Found(f"10.96.0.1:{61440 + 1531576320 % 4096}", 4, 2, 0)),
        (KUBERNETES, Found("train-0.train-svc:61440", 4, 3)),
        (
            {**KUBERNETES, "COVECTOR_COORDINATOR_PORT": "1234"},
            Found("train-0.train-svc:1234", 4, 3),
        ),
        (BY_HAND, Found("here:99", 2, 1)),
        ({**SLURM, **BY_HAND}, Found("here:99", 2, 1)),
    ],
)
def test_who_is_who_is_found_in_the_environment(environ, found):
    assert detect(environ) == found


def test_what_is_set_by_hand_goes_before_what_the_scheduler_says():
    found = detect({**SLURM, "COVECTOR_COORDINATOR_ADDRESS": "here:1"}, "slurm")
    assert found == Found("here:1", 8, 5, 1)


def test_one_scheduler_can_be_asked_or_none():
    both = {**SLURM, **OPEN_MPI}
    assert detect(both, "ompi").num_processes == 4
    assert detect(both, "slurm").num_processes == 8
    assert detect(both, "deactivate") == Found()
    with pytest.raises(
        SettingError, match="cluster_detection_method must be one of 'c"
    ):
        detect(both, "pbs")


@pytest.mark.parametrize(
    ("machines", "first"),
    [("a", "a"), ("a,b", "a"), ("n[3-5]", "n3"), ("n[07,09]-x,m", "n07-x")],
)
def test_the_first_machine_of_a_list(machines, first):
    assert clusters.first_host(machines) == first


def test_a_variable_that_is_no_number_is_named():
    with pytest.raises(SettingError, match="SLURM_NTASKS needs a whole number, but is"):
        detect({**SLURM, "SLURM_NTASKS": "many"})


@pytest.mark.parametrize(("text", "seconds"), [(None, 300), ("5", 5), ("0.5", 0.5)])
def test_the_time_for_peers_is_set_in_the_environment(text, seconds):
    environ = {"COVECTOR_PEER_TIMEOUT": text} if text else {}
    assert PEER_TIMEOUT.read(environ) == seconds


@pytest.mark.parametrize("text", ["0", "-1", "soon", "nan"])
def test_a_time_that_is_none_is_refused(text):
    with pytest.raises(SettingError, match="COVECTOR_PEER_TIMEOUT must be a positive"):
        PEER_TIMEOUT.read({"COVECTOR_PEER_TIMEOUT": text})


# -- arguments -------------------------------------------------------------------------


@pytest.fixture
def unused(monkeypatch):
    """A process that has not used a device, and what it would join."""
    asked = []
    monkeypatch.setattr(client, "platforms_in_use", tuple)
    monkeypatch.setattr(lockstep, "start", asked.append)
    for variable in (*BY_HAND, *SLURM, *OPEN_MPI, *KUBERNETES):
        monkeypatch.delenv(variable, raising=False)
    return asked


def test_arguments_become_settings(unused):
    distributed.initialize(
        "[::1]:80", 4, 3, [0, 1], coordinator_bind_address="0.0.0.0:81"
    )
    (found,) = unused
    assert found == ProcessSettings(
        Address("::1", 80), 4, 3, 300, 100, 300, Address("0.0.0.0", 81), (0, 1)
    )


def test_what_is_missing_is_named_with_its_variable(unused):
    words = (
        "needs num_processes, process_id: pass them, or set COVECTOR_NUM_PROCESSES, "
    )
    with pytest.raises(ArgumentError, match=words):
        distributed.initialize("here:1")
    with pytest.raises(
        ArgumentError, match="process_id: pass it, or set COVECTOR_PROC"
    ):
        distributed.initialize("here:1", 2)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ("here:1", 2, 2),
            "process_id must be from 0 to 1, for num_processes=2, but is",
        ),
        (("here:1", 2, -1), "process_id must be from 0 to 1"),
        (("here:1", 0, 0), "num_processes must be at least 1, but is 0"),
        (
            ("here", 2, 0),
            "coordinator_address must be host:port, such as 10.0.0.1:1234",
        ),
        (("here:99999", 2, 0), "must be host:port"),
        (("here:1", 2, 0, None, None, 0), "initialization_timeout must be a positive"),
    ],
)
def test_arguments_that_cannot_be_are_refused(unused, arguments, words):
    with pytest.raises(ArgumentError, match=words):
        distributed.initialize(*arguments)


def test_after_the_first_use_of_a_device_it_is_too_late():
    client.client("cpu")
    words = "initialize comes too late: this process uses the devices of cpu already"
    with pytest.raises(DistributedError, match=words):
        distributed.initialize("here:1", 2, 0)


def test_joining_twice_is_an_error(monkeypatch):
    member = Membership(ProcessSettings(Address("here", 1), 2, 1))
    monkeypatch.setattr(membership._here, "member", member)
    monkeypatch.setattr(multi_process._state, "session", object())
    with pytest.raises(
        DistributedError, match="joined the others already, as process 1"
    ):
        distributed.initialize("here:1", 2, 0)


def test_without_others_shutdown_is_nothing():
    distributed.shutdown()
    assert not distributed.is_initialized()


def test_each_process_of_a_machine_takes_the_gpu_of_its_number():
    assert initialization._device_ids(None, 2, {}) == (2,)
    assert initialization._device_ids(None, 2, {"CUDA_VISIBLE_DEVICES": "5"}) is None
    assert initialization._device_ids(1, 2, {}) == (1,)
    assert initialization._device_ids(None, None, {}) is None


def test_the_client_of_gpus_is_told_of_the_others():
    settings = ProcessSettings(Address("here", 1), 4, 3, local_device_ids=(1,))
    assert plugins.gpu_options(Membership(settings)) == {
        "node_id": 3,
        "num_nodes": 4,
        "visible_devices": [1],
    }

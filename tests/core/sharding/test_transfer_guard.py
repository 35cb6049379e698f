"""Transfers that nobody asked for are logged or refused, where an option wants that."""

import logging

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector.core.sharding.transfer import guard
from covector.errors import DisallowedTransfer, SettingError

VALUES = np.ones(3, np.float32)


@cv.jit
def double(x):
    return x * np.float32(2)


IMPLICIT = {
    "jit of an array of NumPy": lambda x: double(VALUES),
    "jit of a number": lambda x: double(1.0),
    "an operation on an array of NumPy": lambda x: x + VALUES,
}
FREE = {
    "a number in an operation": lambda x: x + 1,
    "array": lambda x: cnp.array(VALUES),
    "constants of a program": cv.jit(lambda x: x - VALUES),
    "reading on the CPU": lambda x: float(x.sum()),
    "device_get": cv.device_get,
}


@pytest.mark.parametrize("what", IMPLICIT)
def test_a_transfer_that_nobody_asked_for_is_refused(what):
    x = cnp.ones(3)
    with (
        cv.transfer_guard("disallow"),
        pytest.raises(DisallowedTransfer, match=r"implicit host-.*device_put"),
    ):
        IMPLICIT[what](x)
    assert not guard.on
    IMPLICIT[what](x)


@pytest.mark.parametrize("what", FREE)
def test_what_is_no_transfer_is_not_refused(what):
    x = cnp.ones(3)
    with cv.transfer_guard("disallow_explicit"):
        FREE[what](x)


def test_a_transfer_by_name_is_refused_only_if_explicit_ones_are():
    with cv.transfer_guard("disallow"):
        assert cv.device_put(VALUES).tolist() == [1, 1, 1]
    words = "explicit host-to-device transfer of float32.3. for device_put"
    with (
        cv.transfer_guard_host_to_device("disallow_explicit"),
        pytest.raises(DisallowedTransfer, match=words),
    ):
        cv.device_put(VALUES)


def test_a_transfer_is_logged(caplog):
    with cv.transfer_guard("log"), caplog.at_level(logging.WARNING):
        double(VALUES)
        cv.device_put(VALUES)
    (record,) = caplog.records
    assert record.name == "covector.transfer"
    assert "implicit host-to-device transfer of float32[3]" in record.getMessage()


def test_a_direction_goes_before_all_directions():
    with cv.transfer_guard("disallow"), cv.transfer_guard_host_to_device("allow"):
        assert double(VALUES).tolist() == [2, 2, 2]
    cv.config.update("jax_transfer_guard", "disallow")
    try:
        with pytest.raises(DisallowedTransfer, match="implicit"):
            double(VALUES)
    finally:
        cv.config.update("jax_transfer_guard", None)
    assert double(VALUES).tolist() == [2, 2, 2]


def test_an_array_that_moves_between_devices_is_refused():
    first, *_, last = cv.devices()
    if first is last:
        pytest.skip("needs two devices")
    x, y = cv.device_put(VALUES, last), cnp.ones(3) + 0
    y.block_until_ready()
    y.buffer(first)
    with (
        cv.transfer_guard("disallow"),
        pytest.raises(DisallowedTransfer, match=r"device-to-device transfer of f32"),
    ):
        double(x) + cv.jit(cnp.add)(x, y)
    with cv.transfer_guard("disallow"):
        assert cv.device_put(x, first).device is first


def test_values_of_an_accelerator_are_not_read_unasked(monkeypatch):
    x = double(cnp.ones(3))
    x._host = None
    monkeypatch.setattr(type(x), "platform", lambda self: "gpu")
    with cv.transfer_guard("disallow"):
        with pytest.raises(DisallowedTransfer, match=r"device-to-host .*device_get"):
            np.asarray(x)
        assert cv.device_get(x).tolist() == [2, 2, 2]


def test_a_level_that_there_is_not():
    with (
        pytest.raises(SettingError, match=r"transfer_guard must be one of .*'log'"),
        cv.transfer_guard("perhaps"),
    ):
        pass

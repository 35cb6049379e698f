"""Programs over several processes give what they give in one."""

import re

import numpy as np
import pytest

from tests.distributed.starting import launch, output, succeeded


def test_arrays_over_two_processes_of_two_devices():
    assert succeeded(launch(2, "arrays", devices=2))


def test_every_kind_of_element_goes_and_comes():
    assert succeeded(launch(2, "dtypes"))


@pytest.mark.parametrize(("count", "devices"), [(2, 2), (4, 1)])
def test_products_collectives_and_gradients(count, devices):
    assert succeeded(launch(count, "programs", devices=devices))


def test_values_go_from_process_to_process():
    assert succeeded(launch(4, "values_between"))


def losses(done, rank=0):
    assert succeeded(done)
    return [float.fromhex(x) for x in re.findall(r"loss (\S+)", output(done, rank))]


def test_training_in_parallel_has_the_losses_of_one_process(tmp_path):
    alone = losses(launch(1, "train", 8, devices=4))
    assert len(alone) == 8 and alone[-1] < alone[0]
    for count, devices in ((2, 2), (4, 1)):
        done = launch(count, "train", 8, tmp_path / str(count), devices=devices)
        np.testing.assert_allclose(losses(done), alone, rtol=1e-5)
        assert len({str(losses(done, rank)) for rank in range(count)}) == 1

"""The ways in, each in a process of its own: in this one, jax is the peer of tests."""

import os
import subprocess
import sys

import pytest

_CHECKS = """
import sys
import jax
import jax.numpy as jnp
from unittest import mock
from jax.scipy.stats import norm
import covector
assert jnp.sum is covector.numpy.sum and jax.jit is covector.jit
assert jax.random.fold_in is covector.random.fold_in
assert callable(jax.random.normal)  # of a module of the same name
assert "sum" in dir(jnp) and "sum" in jnp.__all__
with mock.patch.object(jax.random, "fold_in", 5):
    assert jax.random.fold_in == 5
assert jax.random.fold_in is covector.random.fold_in
jax.jit = 3
assert jax.jit == 3 and covector.jit != 3
assert isinstance(jnp.ones(2), jax.Array)
assert jax.__version_info__ == (0, 10, 2)
assert "jax._src.cloud_tpu_init" not in sys.modules
print(*sys.argv[1:])
"""


def _run(*command, folder, **environ):
    ended = subprocess.run(
        [sys.executable, *command],
        env={**os.environ, **environ},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.strip()


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(_CHECKS)
    return path


def test_a_program_that_is_run_by_covector_finds_it_as_jax(program, tmp_path):
    said = _run("-m", "covector", "run", str(program), "a", "-b", folder=tmp_path)
    assert said == "a -b"


def test_a_program_may_install_covector_as_jax_in_its_first_line(program, tmp_path):
    program.write_text("import covector.compat.jax\n" + _CHECKS)
    assert _run(str(program), "a", folder=tmp_path) == "a"

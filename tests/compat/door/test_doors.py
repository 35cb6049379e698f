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
assert jnp.newaxis is None and isinstance(jnp.ones(2), jax.Array)
assert jax.__version_info__ == (0, 10, 2)
# jaxlib looks for modules of jax, and takes what it finds for its own.
import jax.core, jax._src.sharding_impls
assert jnp.ones(2, "bfloat16").tolist() == [1, 1]
assert "jax._src.cloud_tpu_init" not in sys.modules
try:
    from jax import no_such_name
except ImportError as error:
    assert str(error).startswith("covector has no jax.no_such_name"), error
print(*sys.argv[1:])
"""
#: with a worker, a pickle and a child, which find covector as well
_STARTS_OTHERS = """
import multiprocessing, pickle, subprocess, sys
import jax, jax.numpy as jnp
def work(x):
    found = "covector" in sys.modules
    return pickle.loads(pickle.dumps(jnp.sin))(x), jax.__name__, found
def test_work():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        (y, name, found), = pool.map(work, [jnp.zeros(2)])
    assert y.tolist() == [0, 0] and name == "jax" and found
    code = "import jax, covector; print(jax.grad is covector.grad)"
    assert subprocess.check_output([sys.executable, "-c", code]) == b"True\\n"
if __name__ == "__main__":
    test_work()
    print("all found it")
"""


def _run(*command, folder):
    ended = subprocess.run(
        [sys.executable, *command],
        env=dict(os.environ),
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr + ended.stdout
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


def test_what_a_program_starts_finds_covector_as_jax(program, tmp_path):
    program.write_text("import covector.compat.jax\n" + _STARTS_OTHERS)
    assert _run(str(program), folder=tmp_path) == "all found it"


def test_a_module_such_as_pytest_is_run_as_well(tmp_path):
    (tmp_path / "test_work.py").write_text(_STARTS_OTHERS)
    said = _run("-m", "covector", "run", "-m", "pytest", "-q", folder=tmp_path)
    assert "1 passed" in said

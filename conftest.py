"""What tests and examples have in common: a CPU that appears as eight devices, and
tracebacks with the frames of covector.
"""

import importlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCES = Path(__file__).parent / "src"

# It takes effect when the first array is made. Programs on one device do not notice.
os.environ.setdefault("COVECTOR_NUM_CPU_DEVICES", "8")
os.environ.setdefault("COVECTOR_TRACEBACK", "full")
# What is compiled is compiled, also by the processes that tests start.
os.environ.setdefault("COVECTOR_CACHE_DIR", "off")

#: importing these makes ``jax`` covector, for the whole process
collect_ignore = ["src/covector/compat/jax.py", "src/covector/compat/door"]

#: they have no doctests, and tests/test_gallery.py imports and runs them
collect_ignore_glob = ["docs/gallery/*.py"]


def pytest_collect_file(file_path: Path) -> None:
    """Import the package of a module before pytest imports the module by itself.

    Its parent's attribute becomes the module then, where a function has that name.
    """
    if SOURCES / "covector" in file_path.parents:
        importlib.import_module(".".join(file_path.parent.relative_to(SOURCES).parts))


@pytest.fixture(autouse=True, scope="session")
def machine_of_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The limits of some machine: no test measures the one that it runs on."""
    from covector.analysis.costs import machine  # noqa: PLC0415  after the variables

    limits = machine.MachineLimits(
        name="a machine of tests",
        platform="cpu",
        bytes_per_s=2e10,
        flops_per_s={"float32": 2e11, "float64": 1e11, "bfloat16": 2e11},
        elementwise_per_s=5e10,
        transcendentals_per_s=5e9,
        measured_on="2026-11-23",
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(machine, "measured", lambda device: limits)
        patch.setattr(machine, "folder", tmp_path_factory.mktemp("cache"))
        yield

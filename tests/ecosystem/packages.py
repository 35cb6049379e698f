"""The packages, their versions, where their tests are, and what of them is quick."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Suite:
    """Tests of a package, as its source distribution (or a checkout) has them.

    Args:
      folder: where in the sources the tests are, if they are not in the wheel.
      environment: settings that the package's own runner makes.
      arguments: of pytest, those that the package's own runner gives.
      quick: parts of the fast run, below ``folder``; none means all.
      minutes: when to give up.
    """

    folder: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()
    quick: tuple[str, ...] = ()
    minutes: int = 40


#: what the packages' tests import and the packages do not require
REQUIREMENTS = (
    "beartype",
    "cloudpickle",
    "dm-tree",
    "pytest",
    "pytest-xdist",
    "scikit-learn",
    "toolz",
)

VERSIONS = {
    "equinox": "0.13.8",
    "optax": "0.2.8",
    "chex": "0.1.92",
    "traceax": "1.0.2",
    "lineax": "0.1.1",
    "optimistix": "0.1.0",
    "diffrax": "0.7.2",
    "flax": "0.12.8",
    "numpyro": "0.22.0",
    "dm-haiku": "0.0.17",
    "distrax": "0.1.9",
    "blackjax": "1.7.1",
}

_OPTAX = (
    "_src/combine_test.py",
    "_src/linesearch_test.py",
    "_src/transform_test.py",
    "_src/update_test.py",
    "losses",
    "projections",
    "schedules",
    "transforms",
    "tree_utils",
)

#: The version of JAX whose numbers are recorded.
JAX = "0.10.2"

#: Packages whose tests are in their source distribution and not in their wheel.
SOURCES = ("traceax",)
#: Packages whose tests are in neither: ``--checkout equinox=FOLDER`` runs those of a
#: checkout of the repository.
SOURCELESS = ("equinox",)

SUITES = {
    "equinox": Suite("tests", {"JAX_NUM_CPU_DEVICES": "2"}),
    "optax": Suite(quick=_OPTAX),
    "chex": Suite(),
    "traceax": Suite("tests"),
}

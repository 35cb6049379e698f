"""The pages of the documentation: what they name exists."""

import re
from importlib import import_module
from pathlib import Path

import pytest

import covector

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
#: these name what JAX has
OF_JAX = {"differences-from-jax.md", "programs-as-data.md", "run-your-jax-program.md"}
PAGES = sorted(page for page in DOCS.rglob("*.md") if page.name not in OF_JAX)
#: importing it makes ``jax`` covector, for the whole process
CHANGING_THE_PROCESS = {"covector.compat.jax"}
#: the names by which pages know modules
MODULES = {"covector": "", "cv": "", "cnp": "numpy.", "lax": "lax.", "nn": "nn."}
NAMED = re.compile(rf"(?<![\w./])({'|'.join(MODULES)})\.([A-Za-z_][\w.]*\w)")


def named(path: Path) -> set[str]:
    found = NAMED.findall(path.read_text("utf-8"))
    return {MODULES[module] + name for module, name in found}


def exists(name: str) -> bool:
    """Whether it is an attribute, at any depth, below the longest module in it."""
    found = covector
    for i, part in enumerate(parts := name.split(".")):
        if not hasattr(found, part):
            module = ".".join(["covector", *parts[: i + 1]])
            if module in CHANGING_THE_PROCESS:
                return True
            try:
                import_module(module)
            except ImportError:
                return False
        found = getattr(found, part)
    return True


def test_every_name_of_covector_in_a_page_exists():
    names = {name: page.name for page in PAGES for name in named(page)}
    assert len(names) > 250
    missing = {name: page for name, page in names.items() if not exists(name)}
    assert not missing


@pytest.mark.parametrize("name", ["jot", "numpy.sine", "experimental.nothing.at.all"])
def test_a_name_that_does_not_exist_is_found(name):
    assert not exists(name)

"""The packages that are namespaces: each name is stated once, and none is missing."""

import ast
import importlib
import importlib.util
import py_compile
import subprocess
import sys
from collections import Counter
from pathlib import Path

import jax
import jax.numpy
import pytest

import covector
from covector import missing_names, namespaces

ROOT = Path(__file__).parents[1]
SPACES = ["numpy", "lax", "random", "nn"]


def starred(space):
    """The modules that a package takes names from; those that it does so for editors
    only.
    """
    text = Path(getattr(covector, space).__file__).read_text()
    lines = [line for line in text.splitlines() if line.endswith(" import *")]
    paths = [(line.startswith(" "), line.split()[1]) for line in lines]
    return [p for lazy, p in paths if not lazy], [p for lazy, p in paths if lazy]


@pytest.mark.parametrize("space", SPACES)
def test_each_public_name_is_stated_by_one_module(space):
    modules = [importlib.import_module(p) for group in starred(space) for p in group]
    stated = Counter(name for module in modules for name in module.__all__)
    assert [name for name, times in stated.items() if times > 1] == []
    package = getattr(covector, space)
    others = {
        "nn": {"initializers"},
        "numpy": {"fft", "linalg"},
        "lax": {"AccuracyMode", "Tolerance", "linalg"},
    }
    assert set(package.__all__) == {*stated} | others.get(space, set())
    assert {*package.__all__} <= {*dir(package)}


@pytest.mark.parametrize("space", SPACES)
def test_a_star_import_brings_every_public_name(space):
    found = {}
    exec(f"from covector.{space} import *", found)
    assert {*found} - {"__builtins__"} == {*getattr(covector, space).__all__}


def test_editors_see_the_lazy_modules_that_the_package_has():
    _, for_editors = starred("numpy")
    lazy = [f"covector.numpy.{name}" for name in covector.numpy._LAZY]
    with_names = [path for path in lazy if importlib.import_module(path).__all__]
    assert for_editors == with_names


def test_the_names_of_a_lazy_module_are_read_from_its_source():
    for name in covector.numpy._LAZY:
        module = importlib.import_module(f"covector.numpy.{name}")
        assert namespaces.declared(module.__name__) == module.__all__


def test_without_its_source_a_module_is_imported_for_its_names(tmp_path, monkeypatch):
    source = tmp_path / "sourceless.py"
    source.write_text('__all__ = ["one"]\none = 1\n')
    py_compile.compile(str(source), cfile=str(tmp_path / "sourceless.pyc"))
    source.unlink()
    monkeypatch.syspath_prepend(tmp_path)
    assert namespaces.declared("sourceless") == ["one"]
    monkeypatch.delitem(sys.modules, "sourceless")


def test_a_loader_that_gives_no_source_imports_the_module(monkeypatch):
    spec = importlib.util.find_spec("covector.numpy.windows")
    spec.loader = object()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)
    found = namespaces.declared("covector.numpy.windows")
    assert found == covector.numpy.windows.__all__


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"'covector\.numpy' has no .* 'sine'"):
        covector.numpy.sine  # noqa: B018


def test_public_functions_are_definitions_with_docstrings():
    """So that editors show what they take, and lead to them."""
    for space in SPACES:
        for path in (p for group in starred(space) for p in group):
            module = importlib.import_module(path)
            body = ast.parse(Path(module.__file__).read_text()).body
            # The last of several is the function, those before it are overloads.
            defined = {n.name: n for n in body if isinstance(n, ast.FunctionDef)}
            bare = [
                name
                for name, n in defined.items()
                if name in module.__all__
                and (ast.get_docstring(n) is None or n.returns is None)
            ]
            assert bare == [], f"{path}: without a docstring or types"


@pytest.fixture(scope="module")
def completed():
    """What ``dir`` shows in each public module, in a process that has used none."""
    code = "from tests.public_modules import *; print(completed_names())"
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, capture_output=True, text=True, check=True, cwd=ROOT)
    return ast.literal_eval(done.stdout)


def test_editors_complete_the_public_names_of_each_module_and_no_others(completed):
    for path, (shown, public) in completed.items():
        names = [name for name in shown if name[:2] != "__"]
        assert names == sorted(n for n in public if n[:2] != "__"), path


def test_editors_complete_the_same_once_names_were_used(completed):
    for path, (shown, _) in completed.items():
        now = [name for name in dir(importlib.import_module(path)) if name[:2] != "__"]
        assert now == [name for name in shown if name[:2] != "__"], path


def test_every_public_module_is_reached_by_its_names(completed):
    expected = {f"covector.{name}" for name in covector._MODULES - {"core"}}
    assert expected <= {*completed}
    assert {"covector.scipy.stats.norm", "covector.experimental.sparse"} <= {*completed}


def test_editors_complete_members_of_arrays_that_the_field_has():
    seen = []
    covector.jit(lambda x: seen.append(x) or x)(covector.numpy.ones(3))
    for x in (covector.numpy.ones(3), *seen):
        names = {name for name in dir(x) if not name.startswith("_")}
        assert names <= {*dir(jax.numpy.ones(3))}


@pytest.mark.parametrize(
    ("module", "name", "instead"),
    [
        ("numpy", "in1d", "isin"),
        ("numpy", "random", "covector.random"),
        ("", "tree_map", "tree.map"),
        ("", "transform", "compose"),
        ("", "zeros", "covector.numpy.zeros"),
        ("numpy", "softmax", "covector.nn.softmax"),
        ("numpy", "savetxt", "numpy.savetxt, outside of functions that are"),
        ("lax", "sin_p", "sin; operations of your own begin at covector.extend"),
        ("random", "randn", r"normal\(key, shape\)"),
        ("nn", "Linear", "x @ w"),
        ("scipy.linalg", "pinv", "covector.numpy.linalg.pinv"),
        ("scipy.signal", "butter", "scipy.signal.butter, outside of functions that"),
        ("ops", "segment_mean", "segment_sum, divided by that of ones"),
        ("random", "SeedSequence", r"split\(key, n\)"),
    ],
)
def test_names_of_other_libraries_say_what_to_use(module, name, instead):
    package = importlib.import_module(f"covector.{module}".rstrip("."))
    with pytest.raises(AttributeError, match=f"no attribute '{name}': use {instead}"):
        getattr(package, name)
    with pytest.raises(AttributeError, match=r"no attribute 'nothing_like_it'$"):
        package.nothing_like_it  # noqa: B018


@pytest.mark.parametrize(
    ("module", "name", "near"),
    [
        ("numpy", "concatanate", "concatenate"),
        ("", "value_and_gard", "value_and_grad"),
        ("lax", "fori_lop", "fori_loop"),
        ("random", "unifrom", "uniform"),
    ],
)
def test_a_misspelled_name_is_answered_with_the_nearest(module, name, near):
    package = importlib.import_module(f"covector.{module}".rstrip("."))
    words = rf"no attribute '{name}'\. Did you mean '{near}'\?$"
    with pytest.raises(AttributeError, match=words):
        getattr(package, name)


def test_packages_of_the_field_that_are_not_here_are_answered_with_what_to_use():
    with pytest.raises(AttributeError, match=r"pallas': use covector\.ffi, which"):
        _ = covector.experimental.pallas


def test_names_that_are_said_to_be_missing_are_missing():
    for path, names in missing_names.INSTEAD.items():
        assert not {*names} & {*importlib.import_module(path).__all__}
    assert not {*missing_names.MEMBERS} & {*dir(covector.numpy.ones(3))}


def test_examples_of_a_module_run_alone_where_a_function_has_its_name():
    module = ROOT / "src" / "covector" / "debug" / "callback.py"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", module],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stdout

"""The environment variables: all in one table, and what is wrong with one is told."""

import re
from pathlib import Path

import pytest

from covector.errors import SettingError, SettingWarning
from covector.variables import VARIABLES, check
from tests.runtime.programs import SRC, output_of, run_python

PAGE = SRC.parent / "docs" / "environment-variables.md"
GARBAGE = {
    "COVECTOR_PLATFORMS": ["tpu", "cpu,7"],
    "COVECTOR_NUM_CPU_DEVICES": ["0", "-1", "two", "4097", "100000", "1.5", "9" * 99],
    "COVECTOR_COORDINATOR_ADDRESS": ["here", "here:", ":1", "here:70000", "here:x"],
    "COVECTOR_COORDINATOR_PORT": ["0", "65536", "http"],
    "COVECTOR_NUM_PROCESSES": ["0", "all"],
    "COVECTOR_PROCESS_ID": ["-1", "first"],
    "COVECTOR_LOCAL_PROCESS_ID": ["-1", "first"],
    "COVECTOR_PEER_TIMEOUT": ["0", "-1", "soon", "nan", "inf"],
}
#: what cannot be wrong before it is used
ANYTHING = {"COVECTOR_CACHE_DIR"}


def named_in(folder: Path) -> set[str]:
    texts = [path.read_text("utf-8") for path in folder.rglob("*.py")]
    return set(re.findall(r"\bCOVECTOR_[A-Z0-9_]*[A-Z0-9]\b", "\n".join(texts)))


def test_every_variable_that_the_sources_name_is_in_the_table():
    assert named_in(SRC) - VARIABLES.keys() == set()


def test_the_sources_read_variables_through_the_table_alone():
    for path in SRC.rglob("*.py"):
        text = path.read_text("utf-8")
        assert not re.search(r"environ(\.get\(|\[)\s*f?\"COVECTOR_", text), path


def test_the_page_lists_every_variable_and_no_other():
    listed = re.findall(r"^\| `(COVECTOR_\w+)` \|", PAGE.read_text("utf-8"), re.M)
    assert sorted(listed) == sorted(VARIABLES)


@pytest.mark.parametrize("name", sorted(VARIABLES.keys() - ANYTHING))
def test_garbage_is_refused_in_words(name):
    for text in GARBAGE.get(name, ["garbage", "2"]):
        with pytest.raises(SettingError) as caught:
            check({name: text})
        wanted = VARIABLES[name].wanted
        assert str(caught.value) == f"{name} must be {wanted}, but is {text!r}."


@pytest.mark.parametrize("name", VARIABLES)
def test_an_empty_variable_is_one_that_is_not_set(name):
    check({name: " "})
    assert VARIABLES[name].read({name: ""}) == VARIABLES[name].default


def test_a_misspelled_name_is_told_with_the_nearest():
    with pytest.warns(SettingWarning) as warned:
        check({"COVECTOR_NUM_CPU_DEVICE": "4", "PATH": "/bin"})
    (words,) = [str(w.message) for w in warned]
    assert words.startswith(
        "COVECTOR_NUM_CPU_DEVICE is set in the environment, but covector has no such "
        "variable. Did you mean 'COVECTOR_NUM_CPU_DEVICES'? The page Environment "
    )


def test_a_process_hears_of_it_when_it_imports_covector():
    done = run_python("import covector", COVECTOR_ASINC_CPU="1")
    assert done.stderr.startswith("<string>:1: SettingWarning: COVECTOR_ASINC_CPU is")
    assert "Did you mean 'COVECTOR_ASYNC_CPU'?" in done.stderr
    done = run_python("import covector", COVECTOR_ASYNC_CPU="maybe")
    assert done.returncode == 1
    assert "SettingError: COVECTOR_ASYNC_CPU must be one of false, true" in done.stderr


def test_variables_of_the_field_count_only_where_covector_is_the_jax_of_a_program():
    show = "print(cnp.arange(3.0).dtype, covector.config.debug_nans)"
    theirs = {"JAX_ENABLE_X64": "1", "JAX_DEBUG_NANS": "true"}
    alone = f"import covector; import covector.numpy as cnp; {show}"
    assert output_of(alone, **theirs) == "float32 False"
    dropin = f"import covector.compat.jax; import jax.numpy as cnp, covector; {show}"
    assert output_of(dropin, **theirs) == "float64 True"

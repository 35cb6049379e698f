"""The mutations fit the sources; ``make mutation`` runs them."""

import ast
from pathlib import Path

import pytest

import covector
from tests.mutation.__main__ import ROOT, planted
from tests.mutation.mutations import MUTATIONS, Mutation

SOURCES = Path(covector.__file__).parent


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda m: f"{m.file}: {m.fault}")
def test_a_mutation_changes_its_file_in_one_place(mutation: Mutation) -> None:
    text = (SOURCES / mutation.file).read_text(encoding="utf-8")
    changed = planted(text, mutation)
    assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(text))
    for word in mutation.tests.split():
        if word.startswith("tests/"):
            file, _, name = word.partition("::")
            tests = (ROOT / file).read_text(encoding="utf-8")
            assert f"def {name.partition('[')[0]}" in tests, word


def test_a_mutation_whose_text_is_gone_is_told() -> None:
    stale = Mutation("nothing", "options.py", "no such text", "", "tests")
    with pytest.raises(AssertionError, match="stands there 0 times"):
        planted("some text", stale)


def test_there_are_many_mutations() -> None:
    assert len({(m.file, m.fault) for m in MUTATIONS}) == len(MUTATIONS) >= 60

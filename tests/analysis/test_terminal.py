"""Tables in the terminal."""

import builtins

import pytest

from covector.analysis.terminal import Row, Table, plain_text, show
from covector.errors import MissingLibrary


def test_texts_give_way_where_a_table_is_too_wide():
    rows = (Row(("a" * 80, "b" * 40, "1")), Row(("c", "d", "22")))
    text = plain_text([Table("t", ("s",), ("one", "two", "n"), rows, 2)], width=60)
    assert max(map(len, text.splitlines())) <= 60
    assert text.splitlines()[-1].split() == ["c", "d", "22"]


def test_optional_columns_are_left_out_where_texts_would_be_cut_short():
    rows = (Row(("a" * 40, "1" * 10, "2" * 10, "3" * 10)),)
    table = Table("t", (), ("text", "one", "two", "three"), rows, 1, ("three", "one"))
    heads = [plain_text([table], width).splitlines()[1].split() for width in (80, 62)]
    assert heads == [["text", "one", "two", "three"], ["text", "two", "three"]]


def test_without_rich_the_error_names_the_extra_and_print(monkeypatch):
    imported = builtins.__import__

    def without_rich(name, *rest):
        if name.startswith("rich"):
            raise ImportError(name)
        return imported(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without_rich)
    with pytest.raises(
        MissingLibrary, match=r"covector\[inspect\].*print shows the same"
    ):
        show([Table("t")])

"""The page of an explanation: one file, whatever the program says."""

import html.parser
import json
import re
import sys

import pytest

from covector import errors
from covector.analysis.explain import html as page
from covector.analysis.explain.html.colors import tokens
from covector.analysis.explain.html.packing import pack
from tests.analysis.explain.html import programs


class Elements(html.parser.HTMLParser):
    """The elements of a page with their attributes, and the texts of its scripts."""

    def __init__(self, text):
        super().__init__()
        self.found, self.scripts = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data):
        if self.found and self.found[-1][0] == "script" and data.strip():
            self.scripts.append(data)


def unpacked(x):
    """What ``pack`` packed."""
    if isinstance(x, list):
        return [unpacked(item) for item in x]
    if not isinstance(x, dict):
        return x
    if set(x) != {"columns"}:
        return {key: unpacked(value) for key, value in x.items()}
    columns = [
        [c["distinct"][k] for k in c["at"]] if isinstance(c, dict) else unpacked(c)
        for c in x["columns"].values()
    ]
    return [
        dict(zip(x["columns"], row, strict=True)) for row in zip(*columns, strict=True)
    ]


@pytest.fixture(scope="module")
def small():
    return page.render(programs.small())


def test_the_page_needs_no_other_file_and_no_network(small):
    elements = Elements(small).found
    loads = [
        value
        for tag, attributes in elements
        for name, value in attributes.items()
        if name in ("src", "href", "action", "data") and not value.startswith("#")
    ]
    assert loads == []
    assert {tag for tag, _ in elements}.isdisjoint({"link", "iframe", "object", "img"})
    assert not re.search(r"@import|url\(|\bfetch\(|XMLHttpRequest|\bimport\(", small)
    (policy,) = [a["content"] for _, a in elements if "http-equiv" in a]
    assert policy.startswith("default-src 'none'")


def test_source_text_that_looks_like_markup_is_no_markup(small):
    elements = Elements(small)
    assert '"</script>"' in programs.small()["lines"][2]["source"]
    assert len(elements.scripts) == 3
    assert not [a for _, a in elements.found if any(k.startswith("on") for k in a)]
    data = programs.small() | {"name": "</title><script>alert(1)</script>"}
    assert len(Elements(page.render(data)).scripts) == 3


def test_the_data_in_the_page_is_that_of_the_explanation(small):
    data, sources, _ = Elements(small).scripts
    assert unpacked(json.loads(data)) == programs.small()
    pieces = json.loads(sources)
    texts = ["".join(text for _, text in line) for line in pieces]
    assert texts == [line["source"] for line in programs.small()["lines"]]


def test_a_program_of_5000_operations_is_less_than_a_megabyte():
    data = programs.transformer(operations=2.9)
    assert 4500 < len(data["equations"]) < 5500
    text = page.render(data)
    assert len(text.encode()) < 1_000_000
    assert unpacked(json.loads(Elements(text).scripts[0])) == data


def test_a_program_without_operations_and_without_a_compiler_has_a_page():
    elements = Elements(page.render(programs.empty()))
    assert unpacked(json.loads(elements.scripts[0])) == programs.empty()


def test_numbers_that_json_does_not_have_are_none():
    packed = pack([{"x": float("nan")}, {"x": float("inf")}])
    assert unpacked(packed) == [{"x": None}, {"x": None}]


def test_records_of_different_fields_stay_as_they_are():
    mixed = [{"x": 1}, {"y": 2}]
    assert pack(mixed) == mixed
    assert pack([]) == []


def test_a_line_is_coloured_piece_by_piece():
    assert tokens("x = 1  # one") == [
        ["", "x = "],
        ["number", "1"],
        ["", "  "],
        ["comment", "# one"],
    ]
    assert tokens("") == []


def test_without_jinja_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(
        errors.MissingLibrary, match=r"pip install 'covector\[inspect\]'"
    ):
        page.render(programs.small())


def test_every_script_is_in_the_page():
    folder = page.files(page.__name__)
    scripts = {f.name for f in folder.iterdir() if f.name.endswith(".js")}
    assert scripts == {f"{name}.js" for name in page.SCRIPTS}

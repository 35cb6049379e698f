"""``covector explain``, as a user types it."""

import json
import sys

import pytest

from covector.cli.main import main

MODULE = """
import covector.numpy as cnp

class Net:
    @staticmethod
    def loss(w, x):
        return cnp.sum(cnp.tanh(x @ w))

SIZE = 3
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    (tmp_path / "explained_net.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield tmp_path
    sys.modules.pop("explained_net", None)


SHAPES = ["--shapes", "f32[4,2]", "f32[3,4]"]


def test_a_function_of_this_folder_is_explained_in_the_terminal(capsys):
    assert main(["explain", "explained_net:Net.loss", *SHAPES]) == 0
    shown = capsys.readouterr().out
    assert "return cnp.sum(cnp.tanh(x @ w))" in shown
    assert "explained_net.py" in shown


def test_the_gradient_of_a_batch_is_written_as_data_and_as_a_page(folder, capsys):
    options = ["--grad", "--vmap", "--json", "net.json", "--html", "net.html"]
    shapes = ["--shapes", "f32[5,4,2]", "f32[5,3,4]"]
    assert main(["explain", "explained_net.py:Net.loss", *shapes, *options]) == 0
    data = json.loads((folder / "net.json").read_text())
    assert {line["scope"] for line in data["lines"]} >= {"", "transpose()"}
    assert "<html" in (folder / "net.html").read_text()
    assert "The page is in net.html" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("explained_net", "a function is named as module:function, as in train:loss"),
        ("nowhere:f", "there is no module 'nowhere': neither a file of the folder"),
        ("explained_net:Net.los", "explained_net.Net has no 'los'. Did you mean 'los"),
        ("explained_net:SIZE", "explained_net:SIZE is not a function, but of type int"),
        ("explained_net:Net.loss", "matmul of f32[3,5] and f32[4,2]"),
    ],
)
def test_what_cannot_be_explained_is_said_in_a_sentence(name, words, capsys):
    assert main(["explain", name, "--shapes", "f32[4,2]", "f32[3,5]"]) == 1
    message = capsys.readouterr().err
    assert message.startswith("covector explain: ")
    assert words in message


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ("f32(4)", "a type is written as f32[32,784], or f32 for a single number"),
        ("f23[4]", "Did you mean 'f32'?"),
        ("f32[4,,2]", "a size is missing in 'f32[4,,2]'"),
    ],
)
def test_a_type_that_is_none_is_refused_with_one_that_is(shape, words, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["explain", "explained_net:Net.loss", "--shapes", shape])
    assert stop.value.code == 2
    assert words in capsys.readouterr().err

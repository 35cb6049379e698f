"""A notebook, executed: its cells show what they should."""

import nbformat
import pytest
from nbclient import NotebookClient

from tests.core.html.reading import pictures, read

CELLS = (
    """
import covector as cv, covector.numpy as cnp
def energy(x):
    y = cnp.sin(x) * 2
    return cnp.sum(y * x)
cnp.arange(3.)
""",
    "cnp.ones((20, 30)).at[0].set(2)",
    "cv.make_jaxpr(energy)(cnp.ones(3))",
    "cv.NamedSharding(cv.make_mesh((2,), ('x',)), cv.P('x'))",
    "cv.progress(cv.lax.fori_loop)(0, 20, lambda i, c: c + i, 0)",
)


@pytest.fixture(scope="module")
def outputs():
    """What each cell shows, by the kind of text."""
    cells = [nbformat.v4.new_code_cell(cell.strip()) for cell in CELLS]
    made = nbformat.v4.new_notebook(cells=cells)
    # The slow part is to start a kernel: one for all tests.
    done = NotebookClient(made, timeout=300, kernel_name="python3").execute()
    return [[o.get("data", o) for o in cell.outputs] for cell in done.cells]


def test_cells_show_html_and_text(outputs):
    for (shown, *_), words in zip(
        outputs,
        ["Array([0., 1., 2.], dtype=float32)", "Array (20, 30)", "sin a", "1 of 2"],
        strict=False,
    ):
        assert words in read(shown["text/html"]).text
        assert shown["text/plain"]
    assert len(pictures(outputs[1][0]["text/html"])) == 1


def test_a_bar_of_progress_comes_without_warnings(outputs):
    bar, shown = "".join(o["text"] for o in outputs[4] if "text" in o), outputs[4][-1]
    assert "20/20" in bar
    assert "Warning" not in bar
    assert shown["text/plain"].startswith("Array(190")


def test_a_program_shows_the_lines_of_its_cell(outputs):
    words = read(outputs[2][0]["text/html"]).text
    assert "line 3  y = cnp.sin(x) * 2" in words
    assert "ipykernel" not in words

"""The page in a browser: it opens, is as wide as the screen, and answers."""

import pytest

from covector.analysis.explain import html as page
from tests.analysis.explain.html import browser, programs

pytestmark = pytest.mark.skipif(browser.PROGRAM is None, reason="needs Chromium")

PROGRAMS = {
    "small": programs.small,
    "large": lambda: programs.transformer(operations=2.9),
    "empty": programs.empty,
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    for name, data in PROGRAMS.items():
        (folder / f"{name}.html").write_text(page.render(data()))
    return {name: folder / f"{name}.html" for name in PROGRAMS}


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    with browser.opened(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture
def small(chromium, files):
    chromium.open(files["small"], 1280)
    yield chromium
    assert chromium.complaints == []


@pytest.fixture
def large(chromium, files):
    chromium.open(files["large"], 1280)
    yield chromium
    assert chromium.complaints == []


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_page_opens_without_complaints_and_fits_the_screen(chromium, files, name):
    for width in (400, 1280):
        for dark in (False, True):
            chromium.dark(dark)
            took = chromium.open(files[name], width)
            assert chromium.complaints == []
            assert chromium.run("document.documentElement.scrollWidth") == width
            assert took < 10
    assert chromium.run("document.title").endswith(" explained")


def test_a_search_finds_an_operation_and_shows_its_slices(large):
    large.run("document.querySelector('#search').focus()")
    large.type("dot_general")
    assert "dot_general" in large.text("#found li button")
    assert large.run("document.querySelectorAll('#found li').length") == 31
    large.press("Enter")
    assert "dot_general" in large.text("#flow .panel h3")
    assert "▲ It needs" in large.text("#flow .slice-up")
    assert "selected; it needs" in large.text("#spoken")
    assert large.run("document.activeElement.tagName") == "CANVAS"


def test_a_slice_of_an_argument_reaches_the_result(small):
    small.run("document.querySelector('#search').focus()")
    small.type("params")
    small.press("Enter")
    assert small.text("#flow .panel h3") == "params['w']"
    assert "▼ 6 operations need it" in small.text("#flow .slice-down")


def test_arrow_keys_go_along_edges_and_enter_opens_a_loop(small):
    small.run("document.querySelector('canvas.graph').focus()")
    small.press("ArrowDown")
    small.press("ArrowDown")
    assert small.text("#flow .panel h3") == "scan"
    small.press("Enter")
    assert "scan × 3 (model.py:4)" in small.text("#flow .breadcrumb")
    small.press("Escape")
    assert small.text("#flow .panel h3") == "Inside scan × 3 (model.py:4)"
    small.click("#flow .breadcrumb button")
    assert small.text("#flow .panel h3") == "The whole program"
    assert small.run("document.querySelector('#flow .breadcrumb').hidden")


def test_the_graph_is_pointed_at_dragged_and_opened_with_a_mouse(small):
    small.run("document.querySelector('canvas.graph').scrollIntoView()")
    box = small.run(
        "document.querySelector('canvas.graph').getBoundingClientRect().toJSON()"
    )
    middle = box["x"] + box["width"] / 2
    heights = range(int(box["y"]) + 10, int(box["y"] + box["height"]) - 10, 15)

    def pointed_at(y):
        small.mouse("Moved", middle, y)
        return small.run("document.querySelector('#flow .tip').textContent")

    (at, *_) = [y for y in heights if pointed_at(y).startswith("scan")]
    small.mouse("Moved", middle + 200, at)
    small.mouse("Pressed", middle + 200, at, 1)
    small.mouse("Moved", middle + 200, at + 60)
    small.mouse("Released", middle + 200, at + 60, 1)
    assert pointed_at(at + 60).startswith("scan"), "it was dragged"
    assert small.text("#flow .panel h3") == "The whole program"
    small.mouse("Pressed", middle, at + 60, 1)
    small.mouse("Released", middle, at + 60, 1)
    assert small.text("#flow .panel h3") == "scan"
    small.mouse("Pressed", middle, at + 60, 2)
    small.mouse("Released", middle, at + 60, 2)
    assert "scan × 3" in small.text("#flow .breadcrumb")


def test_a_group_opens_and_folds_again(large):
    seen = large.text("#flow output")
    large.run("document.querySelector('canvas.graph').focus()")
    large.press("ArrowDown")
    large.press("Enter")
    assert large.text("#flow output") != seen
    large.run(
        "[...document.querySelectorAll('#flow .panel button')]"
        ".find(e => e.innerText.startsWith('Fold into')).click()"
    )
    assert large.text("#flow output") == seen


def test_all_5000_operations_are_drawn_in_time(large):
    for _ in range(3):
        large.click("#flow .group button:nth-of-type(2)")
    assert "all operations" in large.text("#flow output")
    took = large.run(
        """new Promise(done => {
          const canvas = document.querySelector("canvas.graph");
          const start = performance.now();
          let frames = 0;
          const frame = () => {
            if (frames === 20) return done((performance.now() - start) / frames);
            frames += 1;
            const turn = {deltaY: 40, clientX: 300, clientY: 500, ctrlKey: true};
            canvas.dispatchEvent(new WheelEvent("wheel", turn));
            requestAnimationFrame(frame);
          };
          requestAnimationFrame(frame);
        })"""
    )
    assert took < 200, "milliseconds for one picture"


def test_lines_fold_and_a_chosen_one_shows_its_operations(small):
    rows = "document.querySelectorAll('#lines .row').length"
    before = small.run(rows)
    small.click('#lines .row[aria-expanded="true"] .fold')
    assert small.run(rows) < before
    small.click("#lines .row:last-child .source")
    assert "reduce_sum f32[1]" in small.text("#lines .details")
    assert "<img src=x onerror=alert(1)>" in small.text("#lines")
    small.run("document.querySelector('#filter').focus()")
    small.type("tanh")
    assert small.run(rows) == 1


def test_lines_are_sorted_by_what_they_cost(large):
    large.run("document.querySelector('#flat').click()")
    large.click('#lines [data-sort="bytes"] button')
    sizes = large.run(
        "[...document.querySelectorAll('#lines .cost.bytes')].map(e => e.innerText)"
    )
    assert sizes[0].endswith("MB")
    assert sizes[-1].endswith("kB")
    assert large.run(
        "document.querySelectorAll('#lines [aria-sort=descending]').length"
    )


def test_the_memory_at_a_position_names_values_and_lines(small):
    small.run(
        "const slider = document.querySelector('#memory input');"
        "slider.value = 0; slider.dispatchEvent(new Event('input'))"
    )
    shown = small.text("#memory .panel")
    assert "params['w'] f32[1000]" in shown
    assert "model.py:3" in shown


def test_the_button_changes_the_colours(small):
    background = "getComputedStyle(document.body).backgroundColor"
    small.dark(False)
    light = small.run(background)
    small.click("#theme")
    assert small.run(background) == light
    small.click("#theme")
    assert small.run(background) != light
    assert small.text("#theme") == "● dark"

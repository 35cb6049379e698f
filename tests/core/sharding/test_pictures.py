"""Pictures of divisions, and what says where an array is."""

import sys

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import debug
from covector.errors import ArgumentError, ShardingError
from tests.meshes import named, numbers, put

X = numbers(8, 8)


def picture(capsys, *args, show=debug.visualize_array_sharding, **how):
    show(*args, **how)
    return capsys.readouterr().out.splitlines()


def test_boxes_are_shards_with_the_devices_that_hold_them(capsys):
    assert picture(capsys, put(X, "x", "y"), scale=0.1) == [
        "┌───────┬───────┬───────┬───────┐",
        "│ CPU 0 │ CPU 1 │ CPU 2 │ CPU 3 │",
        "├───────┼───────┼───────┼───────┤",
        "│ CPU 4 │ CPU 5 │ CPU 6 │ CPU 7 │",
        "└───────┴───────┴───────┴───────┘",
    ]
    assert picture(capsys, put(X[0], "y")) == [
        "┌─────────┬─────────┬─────────┬─────────┐",
        "│ CPU 0,4 │ CPU 1,5 │ CPU 2,6 │ CPU 3,7 │",
        "└─────────┴─────────┴─────────┴─────────┘",
    ]
    (_, middle, _) = picture(capsys, put(X), scale=0.1)
    assert middle == "│ CPU 0,1,2,3,4,5,6,7 │"


def test_large_shards_are_larger_up_to_bounds(capsys):
    lines = picture(
        capsys, (64, 64), named("x", None), show=debug.visualize_sharding, max_width=40
    )
    assert len(lines) == 2 * 5 + 3 and all(len(line) == 40 for line in lines)
    assert "CPU 0,1,2,3" in lines[3] and "CPU 4,5,6,7" in lines[9]


def test_colours_where_a_terminal_has_them(capsys, monkeypatch):
    pytest.importorskip("rich")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("FORCE_COLOR", "1")
    colored = picture(capsys, put(X, "x", "y"), scale=0.1)
    assert any("\x1b[" in line for line in colored)
    named_ = picture(capsys, put(X, "x"), scale=0.1, color_map=lambda n: "blue")
    assert any("\x1b[44m" in line for line in named_)
    plain = picture(capsys, put(X, "x", "y"), scale=0.1, use_color=False)
    assert not any("\x1b[" in line for line in plain)


def test_words_of_what_cannot_be_drawn():
    with pytest.raises(ArgumentError, match=r"one or two axes, but got the shape \(\)"):
        debug.visualize_array_sharding(1.0)
    with pytest.raises(ArgumentError, match=r"but got a traced one \(f32\[8,8\]\)"):
        cv.jit(debug.visualize_array_sharding)(X)
    with pytest.raises(ShardingError, match="not a multiple of 2"):
        debug.visualize_sharding((7, 8), named("x"))


def test_inspecting_says_where_an_array_is():
    seen = []
    debug.inspect_array_sharding(put(X, "x"), callback=seen.append)
    debug.inspect_array_sharding(np.ones(2), callback=seen.append)
    assert seen == [named("x"), cnp.ones(2).sharding]
    with pytest.raises(ArgumentError, match="when the program is compiled"):
        cv.jit(lambda x: debug.inspect_array_sharding(x, callback=print))(X)

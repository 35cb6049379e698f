"""What a notebook shows of programs."""

import covector as cv
import covector.numpy as cnp
from covector.core.html import programs
from tests.core.html.reading import read


def energy(x):
    y = cnp.sin(x) * 2.5
    return cnp.sum(y * x)


def program():
    return cv.make_jaxpr(energy)(cnp.ones(3))


def test_a_program_shows_its_text_beside_the_lines_that_asked_for_it():
    first = energy.__code__.co_firstlineno
    shown = read(program()._repr_html_()).text
    for line in repr(program()).splitlines():
        assert line.strip() in shown
    # once for both equations of a line
    assert shown.count(f"test_programs.py:{first + 1}  y = cnp.sin(x) * 2.5") == 1
    assert shown.count(f"test_programs.py:{first + 2}  return cnp.sum(y * x)") == 1


def test_operations_types_and_numbers_are_coloured():
    shown = program()._repr_html_()
    for kind, word in [
        ("strong", "energy"),
        ("strong", "reduce_sum"),
        ("strong", "return"),
        ("type", ":f32[3]"),
        ("number", "2.5"),
        ("number", "0"),  # of axes=(0,)
    ]:
        assert f'<span class="{kind}">{word}</span>' in shown


def test_a_cell_has_no_name_of_a_file_and_its_text_is_escaped():
    names = {"cnp": cnp}
    exec(compile("def f(x):\n  return x < 1", "/tmp/cell_17.py", "exec"), names)
    shown = cv.make_jaxpr(names["f"])(1.0)._repr_html_()
    assert "line 2" in read(shown).text
    assert "cell_17.py" not in read(shown).text


def test_a_long_program_is_shown_in_part(monkeypatch):
    monkeypatch.setattr(programs, "_MOST", 3)
    words = read(program()._repr_html_()).text
    assert "mul b 2.5" in words
    assert "reduce_sum" not in words
    assert "… 3 more lines: print it to see them" in words

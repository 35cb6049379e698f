"""How explanations look in the terminal."""

from dataclasses import replace

import covector as cv
import covector.numpy as cnp
from covector import lax
from covector.analysis.explain.tables import tables
from covector.analysis.terminal import plain_text


def program(w, x):
    def step(c, _):
        return cnp.tanh(c @ w), None

    y, _ = lax.scan(step, x, None, length=5)
    return cnp.sum(y)


SUMMARY = """\
program on cpu:0
  4 operations, 327 FLOP, 996 B moved, 0.33 FLOP per byte
  arguments 96 B, results 4 B, peak 192 B
"""
BY_LINE = """\
by line
  line  source                                    ops  FLOP  bytes  FLOP/B    time  made  kept
        program (test_tables.py)
  16    y, _ = lax.scan(step, x, None, length=5)    3   320  960 B    0.33  97.9 %   0 B  64 B
  14      ×5 return cnp.tanh(c @ w), None           2   320  960 B    0.33  97.9 %  64 B  32 B
  17    return cnp.sum(y)                           1     7   36 B    0.19   2.1 %   4 B   0 B
"""  # noqa: E501  as wide as it is
MEMORY = """\
memory
  the peak is 192 B at test_tables.py:16 (scan), held by
  value     from               bytes   share
  f32[4,4]  w                   64 B  33.3 %
  f32[2,4]  x                   32 B  16.7 %
  f32[2,4]  test_tables.py:14   32 B  16.7 %
"""


def without_the_compiler(found):
    """An explanation in which nothing depends on what XLA makes of the program."""
    total = found.totals.flops
    lines = [replace(n, estimated_share=n.flops / total) for n in found.lines]
    unknown = {"compiled_peak_bytes": None, "lower_bound_s": None}
    return replace(
        found,
        lines=tuple(lines),
        totals=replace(found.totals, **unknown),
        optimisation=None,
        roofline=None,
    )


def test_a_small_program_in_the_terminal():
    found = cv.explain(program)(cnp.ones((4, 4)), cnp.ones((2, 4)))
    text = plain_text(tables(without_the_compiler(found)), width=100)
    assert text.startswith(f"{SUMMARY}\n{BY_LINE}\n{MEMORY}")


def test_few_lines_are_the_costliest_with_those_around_them():
    found = cv.explain(program)(cnp.ones((4, 4)), cnp.ones((2, 4)))
    shown = plain_text(tables(without_the_compiler(found), lines=2)[1:2])
    assert "1 more lines with 2.1 % of the time" in shown
    assert "×5 return cnp.tanh(c @ w), None" in shown
    assert "cnp.sum" not in shown


def test_loops_and_branches_whose_runs_values_decide_say_so():
    def f(x):
        def halve(x):
            return x / 2

        def keep(x):
            return x

        x = lax.while_loop(
            lambda c: cnp.sum(c) < 9,
            lambda c: c + 1,
            x,
        )
        return lax.cond(cnp.sum(x) > 0, halve, keep, x)

    shown = str(cv.explain(f)(cnp.ones(3)))
    assert "×? lambda c: c + 1," in shown
    assert "×0–1 return x / 2" in shown


def test_repr_and_html_of_an_explanation_are_its_views():
    found = cv.explain(program)(cnp.ones((4, 4)), cnp.ones((2, 4)))
    assert "by line" in str(found)
    assert found._repr_html_().startswith("<iframe srcdoc=")

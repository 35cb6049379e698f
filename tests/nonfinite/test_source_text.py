"""The expression that an operation came from, and its line with another operand."""

import covector as cv
import covector.numpy as cnp
from covector.nonfinite.source_text import (
    Expression,
    operand_texts,
    source_line,
    with_operand,
)


def lines(fun, *args):
    return {e.op.name: e.line for e in cv.make_jaxpr(fun)(*args).equations}


def two_calls(x):
    return cnp.log(x) + cnp.sin(x ** 0.5)  # fmt: skip


def test_calls_of_one_line_are_told_apart():
    found = lines(two_calls, 1.0)
    assert Expression.at(found["log"]).text == "cnp.log(x)"
    assert operand_texts(found["sin"]) == ("cnp.sin", ["x ** 0.5"])
    assert operand_texts(found["pow"]) == ("Pow", ["x", "0.5"])
    assert source_line(found["log"]).startswith("return cnp.log(x)")


def test_an_operand_is_changed_in_its_line():
    line = lines(two_calls, 1.0)["pow"]
    changed = with_operand(line, 0, "abs({})".format)
    assert changed == "return cnp.log(x) + cnp.sin(abs(x) ** 0.5)  # fmt: skip"
    assert with_operand(line, 2, str) is None


def test_what_has_no_text_of_its_own_is_not_changed():
    starred = lines(lambda *xs: cnp.log(*xs) * 2, 1.0)["log"]
    assert with_operand(starred, 0, str) is None
    code = compile("f = lambda x: cnp.log(x)", "<nowhere>", "exec")
    made = {"cnp": cnp}
    exec(code, made)
    assert with_operand(lines(made["f"], 1.0)["log"], 0, str) is None
    assert with_operand(None, 0, str) is None and source_line(None) == ""

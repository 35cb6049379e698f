"""Which operations the time of kernels belongs to."""

import pytest

import covector as cv
import covector.numpy as cnp
from covector.analysis.compiled.hlo import Origin
from covector.analysis.explain.attribution import Attribution


def layers(x):
    for _ in range(2):
        x = cnp.sin(x)
    return cnp.cos(x)


@pytest.fixture
def found():
    return cv.explain(layers)(cnp.ones(3))


def origin(found, number):
    line = found.lines[found.equations[number].line]
    operation = found.equations[number].operation
    return Origin(operation, line.scope, line.file, line.line, line.function)


def test_operations_that_take_no_time_leave_shares_that_add_up_to_one(found):
    parts = [{origin(found, 0): 1.0}, {origin(found, 2): 1.0}]
    made = Attribution(found.lines, found.equations, parts, [0.0, 1e-9, 1e-9])
    shares = made.shares([3.0, 1.0])
    assert sum(shares) == pytest.approx(1, rel=1e-12)
    assert shares[2] == pytest.approx(0.25)


def test_kernels_are_dealt_out_to_the_layers_that_are_alike(found):
    parts = [{origin(found, 0): 1.0}, {origin(found, 1): 0.5, origin(found, 2): 0.5}]
    made = Attribution(found.lines, found.equations, parts, [1.0, 1.0, 1.0])
    assert made.kernel_of_each(3) == [0, 1, 1]


def test_an_operation_that_no_line_has_counts_for_its_line(found):
    unknown = origin(found, 2)._replace(operation="fma", scope="transpose()")
    made = Attribution(found.lines, found.equations, [{unknown: 1.0}], [1.0] * 3)
    assert made.shares([2.0]) == [0, 0, 1]
    elsewhere = unknown._replace(file="/no/where.py")
    made = Attribution(found.lines, found.equations, [{elsewhere: 1.0}], [1.0] * 3)
    assert made.shares([2.0]) == [0, 0, 0]

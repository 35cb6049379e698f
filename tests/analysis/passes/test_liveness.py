"""``liveness``: births, deaths, and what makes the peak."""

import numpy as np

import covector as cv
import covector.numpy as cnp
from covector import analysis, lax

X = np.ones(1000, "f")


def test_the_peak_names_what_is_held_largest_first():
    def f(x):
        wide = cnp.outer(x[:100], x[:100])
        return cnp.sin(wide).sum() + wide[0]

    found = analysis.liveness(cv.make_jaxpr(f)(X))
    first, second, *_ = found.peak.values
    assert {first.value.type.shape, second.value.type.shape} == {(100, 100)}
    assert first.line.function.endswith("f")


def test_constants_are_counted_once_and_numbers_are_not():
    table = cnp.asarray(X)

    def f(x):
        return cnp.sin(x + table) + cv.jit(lambda y: y * table)(x) * 2

    found = analysis.liveness(cv.make_jaxpr(f)(X))
    assert [v.nbytes for v in found.values if v.kind == "constant"] == [4000]


def test_a_donated_argument_dies_when_it_was_read():
    jaxpr = cv.make_jaxpr(lambda x: cnp.cos(cnp.sin(x)))(X)
    assert analysis.liveness(jaxpr).peak.nbytes == 12_000
    assert analysis.liveness(jaxpr, donated=[0]).peak.nbytes == 8_000


def test_what_a_loop_needs_inside_is_held_while_it_runs():
    def f(x):
        def step(c, _):
            return c + cnp.outer(c, c).sum(0), None

        return lax.scan(step, x, None, length=3)[0]

    peak = analysis.liveness(cv.make_jaxpr(f)(X)).peak
    assert peak.inside >= 4_000_000
    assert peak.nbytes == peak.inside + 8_000


def test_a_program_without_equations_holds_its_arguments():
    found = analysis.liveness(cv.make_jaxpr(lambda x, y: x)(X, X))
    assert (found.curve, found.peak.position, found.peak.nbytes) == ((), -1, 8_000)


def test_the_estimate_is_what_the_compiled_program_holds_where_nothing_fuses():
    def f(a, b):
        return (a @ b) @ (b @ a)

    a = np.ones((64, 64), "f")
    compiled = cv.jit(f).lower(a, a).compile().memory_analysis()
    held = (
        compiled.argument_size_in_bytes
        + compiled.output_size_in_bytes
        + compiled.temp_size_in_bytes
    )
    peak = analysis.liveness(cv.make_jaxpr(f)(a, a)).peak.nbytes
    assert abs(peak - held) <= 0.1 * held

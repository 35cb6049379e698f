"""``merge_common``: what is the same, and what only looks so."""

import numpy as np

import covector as cv
import covector.numpy as cnp
from covector import analysis, lax
from covector.operations.casting import ConvertElementType


def names(f, *args):
    made = analysis.merge_common(cv.make_jaxpr(f)(*args))
    return [e.op.name for e in made.equations]


def test_what_follows_from_merged_values_is_merged():
    f = lambda x: cnp.cos(cnp.sin(x)) * cnp.cos(cnp.sin(x))  # noqa: E731
    assert names(f, 1.0) == ["sin", "cos", "mul"]


def test_numbers_that_draw_from_a_state_are_not_merged():
    def f(x):
        return lax.rng_uniform(0.0, x, (2,)) + lax.rng_uniform(0.0, x, (2,))

    assert names(f, 1.0).count("rng_uniform") == 2


def test_effects_are_not_merged():
    def f(x):
        for _ in range(2):
            cv.debug.print("{}", x)
        back = [
            cv.pure_callback(np.sin, cv.ShapeDtypeStruct((), "float32"), x)
            for _ in range(2)
        ]
        return back

    found = names(f, cnp.float32(1.0))
    assert len(found) == 4


def test_barriers_are_not_merged():
    def f(x):
        return lax.optimization_barrier(x) * lax.optimization_barrier(x)

    assert names(f, 1.0).count("optimization_barrier") == 2


def test_results_of_other_dtypes_and_of_weak_types_are_not_merged():
    def f(x):
        return (
            cnp.full(200, 1, "int32") * x,
            cnp.full(200, 1, "int16") * x,
            ConvertElementType(cnp.dtype("float32"))(x),
            ConvertElementType(cnp.dtype("float32"), True)(x),
        )

    jaxpr = cv.make_jaxpr(f)(cnp.int8(3))
    made = analysis.merge_common(jaxpr)
    assert made.out_types == jaxpr.out_types
    assert len({id(a) for a in made.outputs}) == 4


def test_loops_on_different_lines_are_merged_and_different_loops_are_not():
    def f(x):
        a = lax.fori_loop(0, 3, lambda i, c: cnp.sin(c), x)
        b = lax.fori_loop(0, 3, lambda i, c: cnp.sin(c), x)
        c = lax.fori_loop(0, 3, lambda i, c: cnp.cos(c), x)
        return a + b + c

    assert names(f, 1.0) == ["scan", "scan", "add", "add"]


def test_functions_with_rules_of_their_own_are_kept():
    @cv.custom_jvp
    def f(x):
        return cnp.sin(x)

    f.defjvp(lambda p, t: (f(*p), t[0]))
    both = lambda x: f(x) + f(x)  # noqa: E731
    made = analysis.merge_common(cv.make_jaxpr(both)(0.5))
    assert float(cv.grad(lambda x: made(x)[0])(0.5)) == 2.0

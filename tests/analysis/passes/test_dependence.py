"""``dependence``: through loops, branches and calls, by result and not as a whole."""

import covector as cv
import covector.numpy as cnp
from covector import analysis, lax


def depends(f, *args):
    """For each input, the mask of the outputs that depend on it."""
    jaxpr = cv.make_jaxpr(f)(*args)
    found = [
        analysis.dependence(jaxpr, inputs=[i]).outputs for i in range(len(jaxpr.inputs))
    ]
    return [[int(d) for d in mask] for mask in found]


def test_a_loop_is_followed_for_as_many_steps_as_it_takes():
    def f(x, y, z):
        def step(carry, _):
            a, b, c = carry
            return (b, cv.jit(lambda b, c: (c, b))(b, c)[0], c), a

        return lax.scan(step, (x, y, z), None, length=5)

    assert depends(f, 1.0, 2.0, 3.0) == [
        [1, 0, 0, 1],
        [1, 1, 0, 1],
        [1, 1, 1, 1],
    ]


def test_what_decides_is_something_that_all_results_depend_on():
    def f(n, x, y):
        a = lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] * 2), (0, x))
        return a[1], lax.cond(n > 3, lambda: (y, 1.0), lambda: (2.0, 1.0))

    assert depends(f, 3, 1.0, 2.0) == [[1, 1, 1], [1, 0, 0], [0, 1, 0]]


def test_what_is_only_printed_is_not_needed():
    @cv.jit
    def f(x, y):
        cv.debug.print("{}", x)
        return cnp.sin(y)

    found = analysis.dependence(cv.make_jaxpr(f)(1.0, 2.0), outputs=[0])
    assert found.inputs == (False, True)
    assert found.equations == (0, 2)


def test_rules_of_users_do_not_make_values_depend():
    @cv.custom_vjp
    def first(x, y):
        return cnp.sin(x)

    first.defvjp(lambda x, y: (x, y), lambda r, ct: r)
    assert depends(first, 1.0, 2.0) == [[1], [0]]

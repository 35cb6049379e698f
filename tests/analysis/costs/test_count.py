"""``cost``: what is counted for each operation, and how programs add up."""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import errors, lax
from covector.analysis import Amount, cost

X = np.ones((4, 8), np.float32)
W = np.ones((8, 3), np.float32)


def cost_of(f, *args):
    return cost(cv.make_jaxpr(f)(*args))


def test_a_product_of_matrices_counts_a_product_and_a_sum_for_each_term():
    found = cost_of(lambda x, w: x @ w, X, W)
    assert found.total == Amount(2 * 4 * 8 * 3, 0, X.nbytes + W.nbytes, 4 * 3 * 4)
    assert found.known


def test_what_is_in_a_loop_counts_as_often_as_the_loop_has_steps():
    found = cost_of(lambda x: lax.fori_loop(0, 5, lambda i, y: cnp.sin(y), x), X)
    assert found.total.transcendentals == 5 * X.size


def test_of_a_loop_of_unknown_length_one_step_is_counted_and_said_to_be_unsure():
    loop = lambda x: lax.while_loop(lambda y: y.sum() < 9, cnp.sin, x)  # noqa: E731
    found = cost_of(loop, X)
    assert found.total.transcendentals == X.size
    assert not found.known


def test_of_branches_the_total_takes_the_one_with_the_most_flops():
    def f(x, w):
        return lax.cond(x[0, 0] > 0, lambda: x @ w, lambda: x[:, :3] * 2)

    found = cost_of(f, X, W)
    flops = 2 * 4 * 8 * 3
    assert flops <= found.total.flops <= flops + 2
    assert not found.known


def test_lines_add_up_what_their_equations_cost():
    def f(x, w):
        y = x @ w
        return cnp.sin(y)

    product, sine = cost_of(f, X, W).lines
    assert (product.line.number + 1, product.known) == (sine.line.number, True)
    assert product.amount.flops == 2 * 4 * 8 * 3
    assert sine.amount.transcendentals == 4 * 3


def test_a_cost_is_shown_in_one_line():
    found = repr(cost_of(lambda x: lax.cond(x[0, 0] > 0, cnp.sin, cnp.cos, x), X))
    assert found.startswith("Cost(5 equations, Amount(flops=")
    assert found.endswith(", not known for sure)")


def test_a_callback_tells_no_cost():
    def f(x):
        return cv.pure_callback(np.sin, x, x)

    found = cost_of(f, X)
    assert found.uncounted == ("pure_callback",)
    assert not found.known


def test_cost_of_a_function_says_how_its_program_is_made():
    with pytest.raises(errors.ArgumentError, match=r"make_jaxpr\(f\)\(\*args\)"):
        cost(np.sin)


def test_an_operand_that_is_named_twice_is_read_once():
    assert cost_of(lambda x: x * x, X).total.read == X.nbytes


def test_an_update_is_written_in_place_and_a_slice_reads_what_it_takes():
    part = cost_of(lambda x: x[1:3], X).total
    assert (part.read, part.written) == (2 * 8 * 4, 2 * 8 * 4)
    large = np.ones((1000, 8), np.float32)
    update = cost_of(lambda x, i: x.at[i].set(1.0), large, 2)
    assert update.total.bytes < large.nbytes / 10


def test_functions_with_rules_of_users_count_what_they_run():
    @cv.custom_jvp
    def wave(x):
        return cnp.sin(x)

    wave.defjvp(lambda x, dx: (wave(*x), cnp.cos(x[0]) * dx[0]))
    assert cost_of(wave, X).total.transcendentals == X.size


def test_a_linear_map_that_is_a_function_is_staged_to_be_counted():
    def divide(r, x):
        return x / r

    def f(x):
        return cv.custom_derivatives.linear_call(divide, divide, x[0], x)

    found = cost_of(f, X)
    assert found.total.flops == X.size
    assert found.known


def test_what_each_device_runs_counts_for_all_of_them():
    mesh = cv.make_mesh((4,), ("x",))
    spec = cv.P("x")
    one = cost_of(lambda x, w: cnp.sin(x @ w), X, W).total
    f = cv.shard_map(
        lambda x, w: cnp.sin(x @ w), mesh=mesh, in_specs=(spec, cv.P()), out_specs=spec
    )
    found = cost_of(f, X, W)
    assert found.total[:2] == one[:2]
    assert sum([line.amount.flops for line in found.lines]) == one.flops


def test_cost_of_a_program_of_symbolic_sizes_is_refused():
    shape = cv.export.symbolic_shape("n, 3")
    program = cv.make_jaxpr(cnp.sin)(cv.ShapeDtypeStruct(shape, np.float32))
    with pytest.raises(
        errors.ArgumentError, match=r"known sizes, but sin takes f32\[n"
    ):
        cost(program)

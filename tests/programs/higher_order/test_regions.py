"""What folds over regions find in every operation that carries programs."""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import errors, lax
from covector.core.jaxpr import run
from covector.core.show import nested_programs
from covector.memory_budgets.chunks import Chunked
from covector.nonfinite.lane_by_lane import lanes_apart
from covector.programs.custom_rules.linear_call import LinearCall
from covector.programs.higher_order.dead_code import dce
from covector.programs.higher_order.program_primitive import ProgramPrimitive
from covector.programs.higher_order.regions import has_loop, named_axes

W = np.arange(9, dtype="f").reshape(3, 3) / 9
X = np.ones((2, 3), np.float32)


def both(w, x):
    """What is read, and a product, which is not."""
    return cnp.sin(x), x @ w


def in_jit(w, x):
    return cv.jit(both)(w, x)


def in_checkpoint(w, x):
    return cv.checkpoint(both)(w, x)


def in_checkpoint_within_a_budget(w, x):
    return cv.checkpoint(both, memory="1GB")(w, x)


def in_chunks(w, x):
    return cv.vmap(both, (None, 0), memory="1GB")(w, x)


def in_scan(w, x):
    def step(carry, _):
        a, b = carry
        return (cnp.sin(a), b @ w), None

    return lax.scan(step, (x, x), None, length=3)[0]


def _sin_and_product(w, a, b):
    def step(carry):
        i, a, b = carry
        return i + 1, cnp.sin(a), b @ w

    return lax.while_loop(lambda carry: carry[0] < 3, step, (0, a, b))[1:]


def in_lanes(w, x):
    with lanes_apart():
        return cv.vmap(both, (None, 0))(w, x)


def in_while_loop(w, x):
    return _sin_and_product(w, x, x)


def in_reversed_while_loop(w, x):
    _, back = cv.vjp(lambda a, b: _sin_and_product(w, a, b), x, x)
    return back((x, x))


def in_cond(w, x):
    return lax.cond(cnp.sum(x) > 0, both, lambda w, x: (x, 2 * x), w, x)


def in_custom_jvp(w, x):
    f = cv.custom_jvp(both)
    f.defjvp(lambda primals, tangents: cv.jvp(both, primals, tangents))
    return f(w, x)


def in_custom_vjp(w, x):
    f = cv.custom_vjp(both)
    f.defvjp(lambda *p: (f(*p), p), lambda p, ct: cv.vjp(both, *p)[1](ct))
    return f(w, x)


def in_custom_vmap(w, x):
    f = cv.custom_batching.custom_vmap(both)

    @f.def_vmap
    def rule(size, batched, w, x):
        return cv.vmap(both, [0 if b else None for b in batched])(w, x), (True, True)

    return f(w, x)


def in_shard_map(w, x):
    mesh = cv.make_mesh((1,), ("i",))
    specs = (cv.P(), cv.P("i"))
    return cv.shard_map(both, mesh=mesh, in_specs=specs, out_specs=(cv.P("i"),) * 2)(
        w, x
    )


def in_root(w, x):
    def solve(f, y):
        return lax.fori_loop(0, 20, lambda _, y: y - f(y), y), x @ w

    return lax.custom_root(
        lambda y: y - 0.1 * cnp.sin(y) - x,
        x,
        solve,
        lambda g, y: y / g(cnp.ones_like(y)),
        has_aux=True,
    )


def in_linear_solve(w, x):
    return lax.custom_linear_solve(
        lambda v: 2 * v, x, lambda _, b: (b / 2, x @ w), symmetric=True, has_aux=True
    )


def in_composite(w, x):
    return lax.composite(both, "my.both")(w, x)


CARRIERS = {
    f.__name__: f
    for f in (
        in_jit,
        in_checkpoint,
        in_checkpoint_within_a_budget,
        in_chunks,
        in_scan,
        in_lanes,
        in_while_loop,
        in_reversed_while_loop,
        in_cond,
        in_custom_jvp,
        in_custom_vjp,
        in_custom_vmap,
        in_shard_map,
        in_root,
        in_linear_solve,
        in_composite,
    )
}
#: that of a composite stays whole, for a compiler knows it by a name
NARROWED = [c for c in CARRIERS if c != "in_composite"]
LOOPS = {"in_scan", "in_lanes", "in_while_loop", "in_reversed_while_loop", "in_root"}


@pytest.mark.parametrize("carrier", NARROWED)
def test_what_nobody_reads_of_an_operation_is_not_computed(carrier):
    jaxpr = cv.make_jaxpr(CARRIERS[carrier])(W, X)
    assert "dot_general" in str(jaxpr)
    read = dce(jaxpr, (True, *[False] * (len(jaxpr.outputs) - 1)))
    assert "dot_general" not in str(read)
    expected = run(jaxpr, [W, X])[0]
    np.testing.assert_allclose(run(read, [W, X])[0], expected, rtol=1e-6)


@pytest.mark.parametrize("carrier", [c for c in NARROWED if "reversed" not in c])
def test_what_is_left_of_an_operation_has_its_derivatives_and_batches(carrier):
    jaxpr = cv.make_jaxpr(CARRIERS[carrier])(W, X)
    read = dce(jaxpr, (True, False))

    def of(jaxpr):
        return lambda x: cnp.sum(cnp.cos(run(jaxpr, [cnp.asarray(W), x])[0]))

    found, expected = (cv.grad(of(j))(X) for j in (read, jaxpr))
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    xs = np.stack([X, 2 * X])
    found, expected = (cv.vmap(cv.grad(of(j)))(xs) for j in (read, jaxpr))
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_a_result_that_another_step_reads_is_computed():
    def f(x):
        def step(carry):
            i, a, b, c = carry
            return i + 1, a + b, b * c, c

        return lax.while_loop(lambda carry: carry[0] < 3, step, (0, x, x, x))[1:]

    jaxpr = cv.make_jaxpr(f)(2.0)
    read = dce(jaxpr, (True, False, False))
    assert run(read, [2.0])[0] == f(2.0)[0] == 16
    none_but_the_last = dce(jaxpr, (False, False, True))
    assert "mul" not in str(none_but_the_last)


def test_effects_stay_where_no_result_is_read():
    seen = []

    def step(carry, _):
        cv.debug.callback(lambda x: seen.append(float(x)), carry)
        return carry + 1, None

    jaxpr = cv.make_jaxpr(lambda x: (lax.scan(step, x, None, length=3)[0], x))(0.0)
    run(dce(jaxpr, (False, True)), [0.0])
    cv.effects_barrier()
    assert seen == [0, 1, 2]


@pytest.mark.parametrize("carrier", CARRIERS)
def test_loops_are_found_at_any_depth(carrier):
    jaxpr = cv.make_jaxpr(cv.jit(CARRIERS[carrier]))(W, X)
    assert jaxpr.memo(has_loop) == (carrier in LOOPS)


@pytest.mark.parametrize("carrier", [c for c in CARRIERS if c != "in_shard_map"])
def test_named_axes_are_found_at_any_depth(carrier):
    def sees(x):
        jaxpr = cv.make_jaxpr(lambda w: CARRIERS[carrier](lax.psum(w, "i"), x))(W)
        assert jaxpr.memo(named_axes) == ("i",)
        inner = cv.make_jaxpr(cv.jit(lambda w: _product_over_axis(carrier, w, x)))(W)
        assert inner.memo(named_axes) == ("i",)
        return x

    cv.vmap(sees, axis_name="i")(np.stack([X, X]))


def _product_over_axis(carrier, w, x):
    return CARRIERS[carrier](lax.pmean(w, "i"), lax.pmean(x, "i"))


@pytest.mark.parametrize("carrier", CARRIERS)
def test_ties_name_operands_and_results_of_the_right_types(carrier):
    """An input has the type of its operand, or of an element of it; an output that of
    its result, or of an element, and of the operand that it feeds.
    """

    def check(jaxpr):
        for e in jaxpr.equations:
            for region in e.op.regions:
                check(region.jaxpr)
                check_region(e, region)

    def check_region(e, region):
        operands = [a.type for a in e.inputs]
        pairs = zip(region.operands, region.jaxpr.in_types, strict=True)
        for i, t in pairs:
            assert i is None or operands[i].shape[-t.ndim or None :] == t.shape
        columns = zip(region.results, region.feeds, region.jaxpr.out_types, strict=True)
        for result, operand, t in columns:
            if result is not None:
                shape = e.outputs[result].type.shape
                assert shape[len(shape) - t.ndim :] == t.shape
            if operand is not None:
                assert operands[operand].shape == t.shape

    check(cv.make_jaxpr(CARRIERS[carrier])(W, X))


def _subclasses(cls):
    below = [c for sub in cls.__subclasses__() for c in _subclasses(sub)]
    # Pages of the documentation, which run as tests, define some of their own.
    ours = cls.fields and cls.__module__.startswith("covector.")
    return {cls, *below} if ours else {*below}


def test_the_table_has_every_operation_that_carries_programs():
    seen, pending = set(), [cv.make_jaxpr(f)(W, X) for f in CARRIERS.values()]
    while pending:
        for e in pending.pop().equations:
            pending += [region.jaxpr for region in e.op.regions]
            seen.add(type(e.op))
    # A LinearCall is in linear programs alone, and gives all that it has.
    assert _subclasses(ProgramPrimitive) - seen == {LinearCall}


def test_a_program_of_an_operation_belongs_to_a_region():
    pending = [cv.make_jaxpr(f)(W, X) for f in CARRIERS.values()]
    while pending:
        for e in pending.pop().equations:
            programs = [region.jaxpr for region in e.op.regions]
            # It carries the program of a lane, and runs one over the batch.
            if type(e.op) is not Chunked:
                assert set(map(id, programs)) == set(map(id, nested_programs(e.op)))
            pending += programs


@pytest.mark.parametrize("carrier", [in_while_loop, in_root, in_custom_vmap])
def test_a_nan_is_found_inside(carrier):
    with cv.debug_nans(True), pytest.raises(errors.NonFiniteError, match="first NaN"):
        cv.jit(carrier)(W, np.full_like(X, np.inf))

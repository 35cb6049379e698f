"""After every pass a program means the same, is well formed, and stays as it is."""

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import P, analysis, lax
from covector.analysis.walk import visits
from covector.core.check import check_jaxpr
from covector.core.jaxpr import Jaxpr
from covector.random import key, normal, split
from tests.meshes import mesh

W = np.arange(9, dtype="f").reshape(3, 3) / 9 - 0.4
X = np.linspace(-1, 1, 6, dtype="f").reshape(2, 3)


def layer(w, x):
    return cnp.tanh(x @ w + cnp.sqrt(cnp.full(200, 2.0))[:3])


def mlp(w, x):
    shared = cv.jit(layer)
    return (shared(w, shared(w, x)) ** 2).sum() + 0 * cnp.sin(x).sum()


def mlp_gradient(w, x):
    return cv.jit(cv.value_and_grad(mlp))(w, x)


def loops(w, x):
    def step(carry, k):
        a, b, unread = carry
        again = cv.jit(cnp.sin)(a) + cnp.sin(a)
        return (again * k, b @ w + 0 * cnp.cos(b), unread + a), (a, cnp.exp(b))

    carry, (ys, _) = lax.scan(step, (x, x, x), cnp.arange(3.0))
    _, x, _ = lax.while_loop(
        lambda c: c[0] < 4, lambda c: (c[0] + 1, c[1] * 0.5, c[2] @ w), (0, x, x)
    )
    return carry[0], ys, x


def branches(w, x):
    outs = lax.cond(
        x.sum() > 0,
        lambda w, x: (cnp.sin(x) + cnp.sin(x), x @ w),
        lambda w, x: (x, cv.jit(layer)(w, x)),
        w,
        x,
    )
    return outs[0], lax.switch(1, [cnp.sin, cnp.cos], x), lax.stop_gradient(x) + x


def loop_gradient(w, x):
    def loss(w):
        return lax.scan(lambda c, _: (layer(w, c), c), x, None, length=4)[0].sum()

    return cv.grad(loss)(w), cv.grad(lambda w: cv.checkpoint(layer)(w, x).sum())(w)


@cv.custom_vjp
def ruled(w, x):
    return cnp.sin(x @ w) + cnp.sin(x @ w), cnp.cos(x)


ruled.defvjp(lambda w, x: (ruled(w, x), x), lambda x, ct: (W * ct[0].sum(), ct[1] * x))


def rules(w, x):
    return ruled(w, x)[0], cv.jit(cv.grad(lambda w: ruled(w, x)[0].sum()))(w)


def mapped(w, x):
    return cv.vmap(branches, in_axes=(None, 0))(w, x[:, None])


def sharded(w, x):
    def shard(w, x):
        return lax.psum(cnp.sin(x) + cnp.sin(x), "x"), x @ w, cnp.ones(3).sum()

    over = cv.shard_map(
        shard, mesh=mesh("2"), in_specs=(P(), P("x")), out_specs=(P(), P("x"), P())
    )
    return over(w, x)[:2]


def drawn(w, x):
    first, second = split(key(x.sum().astype(int)))
    return normal(first, x.shape) + normal(first, x.shape) * x, normal(second, (2,)) @ x


def nothing(w, x):
    return x[:0] @ w, cnp.sum(x[:0]), x, 1.5


PROGRAMS = [
    mlp_gradient,
    loops,
    branches,
    loop_gradient,
    rules,
    mapped,
    sharded,
    drawn,
    nothing,
]
PASSES = [
    analysis.dce,
    analysis.fold_constants,
    analysis.merge_common,
    analysis.inline_calls,
]


@pytest.fixture(scope="module", params=PROGRAMS, ids=lambda f: f.__name__)
def program(request):
    jaxpr = cv.make_jaxpr(request.param)(W, X)
    return jaxpr, jaxpr(cnp.asarray(W), cnp.asarray(X))


def equation_count(jaxpr):
    return sum(1 for _ in visits(jaxpr))


def assert_same(program, made):
    jaxpr, wanted = program
    assert (made.in_types, made.out_types) == (jaxpr.in_types, jaxpr.out_types)
    found = made(cnp.asarray(W), cnp.asarray(X))
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("simplify", PASSES, ids=lambda f: f.__name__)
def test_the_program_means_the_same_and_the_pass_changes_it_once(program, simplify):
    made = simplify(program[0])
    check_jaxpr(made)
    assert simplify(made) is made
    assert_same(program, made)
    if simplify is not analysis.inline_calls:
        assert equation_count(made) <= equation_count(program[0])


def test_the_passes_go_together(program):
    made = program[0]
    for simplify in (PASSES[3], *PASSES, PASSES[0]):
        made = simplify(made)
    check_jaxpr(made)
    assert_same(program, made)


def test_lifetimes_add_up_to_the_curve(program):
    jaxpr = program[0]
    found = analysis.liveness(jaxpr)
    count = len(jaxpr.equations)
    assert len(found.curve) == count
    assert all(-1 <= v.born <= v.dies <= count for v in found.values)
    for i, held in enumerate(found.curve):
        assert held >= sum(v.nbytes for v in found.at(i))
    assert found.peak.nbytes == max(found.curve)
    inside = sum(v.nbytes for v in found.peak.values) + found.peak.inside
    assert inside == found.peak.nbytes
    given_up = analysis.liveness(jaxpr, donated=range(len(jaxpr.inputs)))
    assert given_up.peak.nbytes <= found.peak.nbytes


def test_levels_and_paths_follow_what_equations_need(program):
    jaxpr = program[0]
    levels, path = analysis.topological_levels(jaxpr), analysis.critical_path(jaxpr)
    made = {v: i for i, e in enumerate(jaxpr.equations) for v in e.outputs}
    for i, e in enumerate(jaxpr.equations):
        before = [
            made[a] for a in e.inputs if not isinstance(a, cv.Array) and a in made
        ]
        assert all(levels.of[j] < levels.of[i] for j in before)
    assert sorted(i for group in levels.groups for i in group) == list(
        range(len(jaxpr.equations))
    )
    for i, j in zip(path.equations, path.equations[1:], strict=False):
        assert any(
            v is a
            for v in jaxpr.equations[i].outputs
            for a in jaxpr.equations[j].inputs
        )
    assert path.length <= path.total


def test_outputs_that_are_independent_of_an_input_stay_when_it_changes(program):
    jaxpr, before = program
    for i, other in enumerate([(W + 1, X), (W, X * 1.5)]):
        depends = analysis.dependence(jaxpr, inputs=[i]).outputs
        for a, b, d in zip(
            jaxpr(*map(cnp.asarray, other)), before, depends, strict=True
        ):
            assert d or np.array_equal(a, b)


def test_forward_and_backward_dependence_agree(program):
    jaxpr = program[0]
    for i in range(len(jaxpr.inputs)):
        for k in range(len(jaxpr.outputs)):
            forward = analysis.dependence(jaxpr, inputs=[i])
            backward = analysis.dependence(jaxpr, outputs=[k])
            both = analysis.dependence(jaxpr, inputs=[i], outputs=[k])
            assert forward.outputs[k] == backward.inputs[i] == both.outputs[k]
            assert set(both.equations) == {
                n
                for n, (f, b) in enumerate(
                    zip(forward.results, backward.results, strict=True)
                )
                if any(x and y for x, y in zip(f, b, strict=True))
            }
            assert len(both.results) == equation_count(jaxpr)


def test_a_slice_of_outputs_needs_only_what_it_depends_on(program):
    jaxpr, wanted = program
    for k in range(len(jaxpr.outputs)):
        part = analysis.dce(jaxpr, outputs=[k])
        assert isinstance(part, Jaxpr)
        check_jaxpr(part)
        (found,) = part(cnp.asarray(W), cnp.asarray(X))
        np.testing.assert_allclose(found, wanted[k], rtol=1e-5, atol=1e-6)
        assert equation_count(part) <= equation_count(jaxpr)

"""Programs as data: interpreters, rewriters and counters as users write them."""

from collections import Counter

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import lax
from covector.compat import operations as p
from covector.compat.jaxprs import (
    ClosedJaxpr,
    DropVar,
    Jaxpr,
    JaxprEqn,
    Literal,
    SourceInfo,
    Var,
    eval_jaxpr,
    jaxpr_as_fun,
    jaxprs_in_params,
    subjaxprs,
)
from covector.compat.linear_util import wrap_init
from covector.compat.primitives import Primitive
from covector.compat.programs import make_jaxpr
from covector.errors import ArgumentError, MalformedProgram
from covector.test_util import check_grads

X = cnp.array([0.5, 1.0, 1.5])


@cv.custom_jvp
def doubled(x):
    return 2 * x


@doubled.defjvp
def _(primals, tangents):
    return doubled(*primals), 5 * tangents[0]


@cv.custom_vjp
def clipped(x):
    return x * 1


clipped.defvjp(lambda x: (x, 2 * x), lambda kept, ct: (kept * ct,))


def everything(x):
    """A function with each kind of program inside."""
    y = cv.checkpoint(cnp.sin)(cv.jit(lambda x: cnp.cos(x) + X)(x))
    total, parts = lax.scan(lambda c, x: (c + x, c * x), 0.0, y)
    z = lax.cond(total > 0, cnp.sin, cnp.cos, parts)
    _, w = lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 1.5), (0, z))
    return clipped(doubled(w)).sum()


# -- what make_jaxpr gives -------------------------------------------------------------


def test_consts_are_the_very_arrays_that_the_function_closes_over():
    large = cnp.ones((50, 50))
    closed = make_jaxpr(lambda x: (x + X) * large.sum() + X + large[0, :3])(1.0)
    assert {id(c) for c in closed.consts} == {id(X), id(large)}
    avals = [v.aval for v in closed.jaxpr.constvars]
    assert avals == [c.type for c in closed.consts]


def test_a_traced_value_that_is_closed_over_is_a_const():
    seen = []

    @cv.jit
    def f(x):
        closed = make_jaxpr(lambda y: y * x)(2.0)
        seen.append(closed.consts[0] is x)
        return jaxpr_as_fun(closed)(3.0)[0]

    assert float(f(2.0)) == 6.0
    assert seen == [True]


def test_scalars_are_literals_and_unread_results_are_dropped():
    closed = make_jaxpr(lambda x: lax.top_k(x * 2.0, 1)[0])(X)
    multiply, top = closed.eqns
    assert multiply.primitive is p.mul_p
    assert type(multiply.invars[1]) is Literal
    assert float(multiply.invars[1].val) == 2.0
    assert type(top.outvars[0]) is Var and type(top.outvars[1]) is DropVar
    assert (repr(multiply.invars[1]), str(top.outvars[1])) == ("Literal(2.0)", "_")


def test_the_text_of_a_program_is_in_the_notation_of_the_field():
    closed = make_jaxpr(cv.jit(lambda x: cnp.sum(x + X)))(X)
    inner = closed.eqns[0].params["jaxpr"]
    assert str(inner) == (
        "{ lambda a:f32[3]; b:f32[3]. let\n"
        "    c:f32[3] = add b a\n"
        "    d:f32[] = reduce_sum[axes=(0,) out_sharding=None] c\n"
        "  in (d,) }"
    )
    assert "jit[" in closed.pretty_print() and "name=<lambda>" in str(closed)
    assert str(make_jaxpr(lambda x: x)(1.0)) == "{ lambda ; a:f32[]. let  in (a,) }"


def test_static_arguments_named_axes_and_shapes_are_as_for_make_jaxpr():
    traced = make_jaxpr(
        lambda x, n: {"a": lax.psum(x, "i") * n},
        static_argnums=1,
        axis_env=[("i", 4)],
        return_shape=True,
    )
    closed, shape = traced(X, 3)
    assert shape["a"].shape == (3,)
    assert closed.eqns[0].primitive is p.psum_p
    assert closed.eqns[0].params == {"axes": ("i",), "axis_index_groups": None}


def test_a_program_of_covector_runs_as_well():
    program = cv.jit(lambda x: x + 1).trace(1.0).jaxpr
    assert [float(x) for x in eval_jaxpr(program.jaxpr, program.consts, 2.0)] == [3.0]
    assert [float(x) for x in jaxpr_as_fun(program)(2.0)] == [3.0]


def test_names_around_an_equation_are_its_name_stack():
    def f(x):
        with cv.named_scope("layer"), cv.named_scope("norm"):
            return cnp.sin(x)

    assert str(make_jaxpr(f)(1.0).eqns[0].source_info.name_stack) == "layer/norm"


def test_an_equation_of_a_primitive_of_the_user_has_it_and_its_parameters():
    mine = Primitive("mine")
    mine.def_impl(lambda x, tag: x + 1)
    mine.def_abstract_eval(lambda x, tag: x)
    tag = object()
    (eqn,) = make_jaxpr(lambda x: mine.bind(x, tag=tag))(1.0).eqns
    assert eqn.primitive is mine and eqn.params["tag"] is tag


# -- running and rebuilding ------------------------------------------------------------


def test_a_program_gives_what_its_function_gives_under_every_transformation():
    closed = make_jaxpr(everything)(X)

    def again(x):
        return jaxpr_as_fun(closed)(x)[0]

    np.testing.assert_allclose(again(X), everything(X), rtol=1e-6)
    np.testing.assert_allclose(cv.jit(again)(X), everything(X), rtol=1e-6)
    grads = cv.grad(again)(X), cv.grad(everything)(X)
    np.testing.assert_allclose(*grads, rtol=1e-5)
    both = cv.vmap(again)(cnp.stack([X, X / 2]))
    np.testing.assert_allclose(both[1], everything(X / 2), rtol=1e-6)


def carriers():
    """Functions that are one operation each, which carries a program or a function."""
    mesh, spec = cv.make_mesh((1,), ("a",)), cv.sharding.PartitionSpec
    tripled = cv.custom_batching.custom_vmap(lambda x: x * 3)
    tripled.def_vmap(lambda size, batched, x: (x * 3, batched[0]))
    sharding = cv.sharding.NamedSharding(mesh, spec("a"))

    def loop(x):
        return lax.while_loop(lambda c: c < 9, lambda c: c * x.sum(), 1.0)

    return {
        "shard_map": cv.shard_map(
            lambda x: lax.psum(x * 2, "a"),
            mesh=mesh,
            in_specs=spec("a"),
            out_specs=spec(),
        ),
        "custom_linear_solve": lambda b: lax.custom_linear_solve(
            lambda x: 2 * x, b, lambda _, b: b / 2, symmetric=True
        ),
        "custom_root": lambda b: lax.custom_root(
            lambda x: 2 * x - b, b, lambda f, x: b / 2, lambda g, y: y / 2
        ),
        "custom_vmap_call": tripled,
        "pure_callback": lambda x: cv.pure_callback(
            lambda x: 2 * np.asarray(x), cv.ShapeDtypeStruct((3,), "float32"), x
        ),
        "sharding_constraint": lambda x: lax.with_sharding_constraint(x, sharding),
        "reverse_while": cv.grad(loop),
        "composite": lax.composite(cnp.sin, "test.sine"),
        "safe_operands": cv.vmap(lambda x: lax.cond(x > 1, cnp.sin, cnp.cos, x)),
        "name": lambda x: cv.ad_checkpoint.checkpoint_name(x, "sine"),
    }


def test_operations_that_carry_programs_or_functions_are_their_equations_bound_again():
    for name, f in carriers().items():
        closed = make_jaxpr(f)(X)
        assert name in [e.primitive.name for e in closed.eqns]
        (out,) = jaxpr_as_fun(closed)(X)
        np.testing.assert_allclose(out, f(X), rtol=1e-5, err_msg=name)


def test_rules_of_users_are_kept_where_their_program_is_replaced():
    def inlined(eqn):
        """The program of the equation with its additions as subtractions."""
        closed = eqn.params["call_jaxpr"]
        eqns = [
            e.replace(primitive=p.sub_p) if e.primitive is p.add_p else e
            for e in closed.eqns
        ]
        jaxpr = closed.jaxpr.replace(eqns=eqns)
        return eqn.replace(
            params=eqn.params | {"call_jaxpr": closed.replace(jaxpr=jaxpr)}
        )

    @cv.custom_jvp
    def f(x):
        return x + 10.0

    f.defjvp(lambda p, t: (f(*p), 7 * t[0]))
    for fun, slope in ((f, 7.0), (_with_vjp(), 9.0)):
        closed = make_jaxpr(fun)(1.0)
        changed = closed.jaxpr.replace(eqns=[inlined(e) for e in closed.eqns])
        again = jaxpr_as_fun(ClosedJaxpr(changed, closed.consts))
        assert float(again(1.0)[0]) == -9.0
        assert float(cv.grad(lambda x, again=again: again(x)[0])(1.0)) == slope


def _with_vjp():
    g = cv.custom_vjp(lambda x: x + 10.0)
    g.defvjp(lambda x: (x + 10.0, ()), lambda _, ct: (9 * ct,))
    return g


def test_subfunctions_of_a_custom_rule_can_be_called():
    (eqn,) = make_jaxpr(doubled)(1.0).eqns
    params = eqn.primitive.get_bind_params(eqn.params)
    fun, jvp = params["subfuns"]
    assert float(fun.call_wrapped(3.0)[0]) == 6.0
    value, tangent = jvp.call_wrapped(cnp.float32(3), cnp.float32(1))
    assert (float(value), float(tangent)) == (6.0, 5.0)
    (out,) = eqn.primitive.bind(cnp.float32(2), **params)
    assert float(out) == 4.0


def test_functions_of_ones_own_make_a_custom_jvp_but_not_a_custom_vjp():
    fun = wrap_init(lambda x: [x * x])
    jvp = wrap_init(lambda x, t: [x * x, 11 * t])

    def f(x):
        return p.custom_jvp_call_p.bind(x, subfuns=(fun, jvp))[0]

    assert float(cv.grad(f)(3.0)) == 11.0
    with pytest.raises(ArgumentError, match=r"is made by jax\.custom_vjp"):
        p.custom_vjp_call_p.bind(cnp.float32(1), subfuns=(fun, fun, fun))


def test_a_program_edited_in_place_is_not_the_one_it_was():
    f = cv.jit(lambda x: cnp.sin(x) + 1.0)
    closed = make_jaxpr(f)(1.0)
    (eqn,) = closed.eqns
    before = jaxpr_as_fun(closed)(0.0)
    eqn.params["jaxpr"].jaxpr.eqns[0].primitive = p.cos_p
    after = jaxpr_as_fun(closed)(0.0)
    assert (float(before[0]), float(after[0])) == (1.0, 2.0)
    anew = jaxpr_as_fun(make_jaxpr(f)(1.0))(0.0)
    assert float(anew[0]) == 1.0


def test_programs_that_are_shared_at_each_of_many_levels_are_looked_at_once():
    def twice(f):
        f = cv.jit(f)
        return lambda x: f(x) + f(x)

    fun = cnp.sin
    for _ in range(24):
        fun = twice(fun)
    closed = make_jaxpr(fun)(1.0)
    assert closed.origin.is_still(closed)
    assert str(closed).count("(as above)") == 24


def test_a_program_is_made_of_new_equations():
    x, y, z = Var(X.type), Var(X.type), Var(X.type)
    eqns = [
        JaxprEqn([x, Literal(cnp.float32(2), cnp.float32(2).type)], [y], p.mul_p, {}),
        JaxprEqn([y], [z], p.sin_p, {"accuracy": None}),
    ]
    jaxpr = Jaxpr([], [x], [z, y], eqns)
    sine, twice = eval_jaxpr(jaxpr, [], X)
    np.testing.assert_allclose(sine, np.sin(2 * np.asarray(X)), rtol=1e-6)
    inner = p.jit_p.bind(X, jaxpr=ClosedJaxpr(jaxpr, []), name="mine")
    np.testing.assert_allclose(inner[1], twice)
    assert eqns[0].source_info == SourceInfo() and "mul" in str(eqns[0])


def test_a_jitted_program_may_close_over_a_traced_value():
    @cv.jit
    def f(x):
        closed = make_jaxpr(lambda y: y * x)(2.0)
        return p.jit_p.bind(cnp.float32(5), jaxpr=closed, name="f")[0]

    assert float(f(2.0)) == 10.0
    (eqn,) = make_jaxpr(lambda y: lax.scan(lambda c, _: (c + y, None), 0.0, None, 2))(
        1.0
    ).eqns

    def traced_const(x):
        body = make_jaxpr(lambda c: c * x)(1.0)
        params = eqn.params | {"jaxpr": body, "num_consts": 0}
        return eqn.primitive.bind(1.0, **params)

    with pytest.raises(ArgumentError, match="traced values among its consts"):
        cv.jit(traced_const)(2.0)


# -- interpreters ----------------------------------------------------------------------

INVERSES = {
    p.exp_p: cnp.log,
    p.tanh_p: cnp.arctanh,
    p.sin_p: cnp.arcsin,
}


def inverse(fun):
    """The inverse of a chain of invertible operations of one variable."""

    def inverted(y):
        closed = make_jaxpr(fun)(y)
        return backwards(closed, [y])[0]

    return inverted


def backwards(closed, values):
    env = dict(zip(closed.jaxpr.outvars, values, strict=True))
    for eqn in reversed(closed.jaxpr.eqns):
        out = [env[v] for v in eqn.outvars]
        if eqn.primitive is p.jit_p:
            found = make_jaxpr(lambda *ys, e=eqn: backwards(e.params["jaxpr"], ys))(
                *out
            )
            params = eqn.params | {"jaxpr": found}
            env[eqn.invars[0]] = eqn.primitive.bind(*out, **params)[0]
        elif eqn.primitive is p.mul_p:
            known = eqn.invars[1].val
            env[eqn.invars[0]] = p.div_p.bind(out[0], known, **eqn.params)
        else:
            env[eqn.invars[0]] = INVERSES[eqn.primitive](*out)
    return [env[v] for v in closed.jaxpr.invars]


def test_an_inverse_is_written_as_an_interpreter():
    def f(x):
        return cv.jit(lambda y: cnp.tanh(y) * 3.0)(cnp.exp(cnp.sin(x)))

    g = inverse(f)
    np.testing.assert_allclose(g(f(0.25)), 0.25, rtol=1e-5)
    np.testing.assert_allclose(cv.jit(g)(f(0.25)), 0.25, rtol=1e-5)
    check_grads(lambda x: g(f(x)), (0.25,), 1, rtol=1e-2, atol=1e-2)


def count(jaxpr):
    """How often each primitive stands in a program, at any depth."""
    found = Counter([e.primitive.name for e in jaxpr.eqns])
    for inner in subjaxprs(jaxpr):
        found += count(inner)
    return found


def test_primitives_are_counted_by_name_at_any_depth():
    found = count(make_jaxpr(everything)(X).jaxpr)
    wanted = {
        *["jit", "remat2", "scan", "cond", "while"],
        *["custom_jvp_call", "custom_vjp_call", "reduce_sum", "gt", "lt"],
    }
    assert wanted <= found.keys()
    assert found["cos"] == 2 and found["sin"] == 2


def test_the_programs_of_an_equation_are_found_among_its_parameters():
    eqns = {e.primitive.name: e for e in make_jaxpr(everything)(X).eqns}
    counts = {n: len(list(jaxprs_in_params(e.params))) for n, e in eqns.items()}
    assert (counts["cond"], counts["while"], counts["scan"], counts["jit"]) == (
        2,
        2,
        1,
        1,
    )


def test_a_rewriter_replaces_operations_inside_of_jitted_functions():
    def slower(jaxpr):
        """sin(x) as cos(π/2 − x), everywhere."""

        def rule(*args):
            env = dict(zip(jaxpr.jaxpr.invars, args, strict=True))
            env.update(zip(jaxpr.jaxpr.constvars, jaxpr.consts, strict=True))
            for e in jaxpr.eqns:
                values = [v.val if type(v) is Literal else env[v] for v in e.invars]
                if e.primitive is p.sin_p:
                    outs = [cnp.cos(cnp.pi / 2 - values[0])]
                elif e.primitive is p.jit_p:
                    outs = cv.jit(slower(e.params["jaxpr"]))(*values)
                else:
                    out = e.primitive.bind(*values, **e.params)
                    outs = out if e.primitive.multiple_results else [out]
                env.update(zip(e.outvars, outs, strict=True))
            return [env[v] for v in jaxpr.jaxpr.outvars]

        return rule

    closed = make_jaxpr(lambda x: cv.jit(cnp.sin)(x) + X)(X)
    rewritten = make_jaxpr(slower(closed))(X)
    assert count(rewritten.jaxpr).keys() == {"jit", "sub", "cos", "add"}
    np.testing.assert_allclose(jaxpr_as_fun(rewritten)(X)[0], np.sin(X) + X, rtol=1e-6)


def test_provenance_is_tracked_through_jitted_functions():
    def sources(jaxpr, names):
        env = dict(zip(jaxpr.invars, names, strict=True))

        def read(v):
            return frozenset() if isinstance(v, Literal) else env.get(v, frozenset())

        for e in jaxpr.eqns:
            given = list(map(read, e.invars))
            if e.primitive is p.jit_p:
                outs = sources(e.params["jaxpr"].jaxpr, given)
            else:
                outs = [frozenset().union(*given)] * len(e.outvars)
            env.update(zip(e.outvars, outs, strict=True))
        return list(map(read, jaxpr.outvars))

    def f(x, y, z):
        return cv.jit(lambda a, b: (a * 2, a + b))(x, y), cnp.sin(z)

    closed = make_jaxpr(f)(1.0, 2.0, 3.0)
    found = sources(closed.jaxpr, [frozenset(n) for n in "xyz"])
    assert found == [frozenset("x"), frozenset("xy"), frozenset("z")]


def test_a_walker_draws_a_program_from_its_results():
    closed = make_jaxpr(lambda x: cnp.sin(x) * X + cnp.cos(x))(X)
    jaxpr = closed.jaxpr
    made_by = {v: e for e in jaxpr.eqns for v in e.outvars}
    order, queue = [], list(jaxpr.outvars)
    while queue:
        v = queue.pop()
        if v in made_by:
            order.append(made_by[v].primitive.name)
            queue += [a for a in made_by[v].invars if isinstance(a, Var)]
    assert order == ["add", "cos", "mul", "sin"]
    assert {str(v.aval) for v in jaxpr.invars + jaxpr.constvars} == {"f32[3]"}


def test_a_program_with_constvars_may_be_a_parameter_of_a_primitive_of_ones_own():
    prim = Primitive("applied")
    prim.def_impl(lambda *args, jaxpr: eval_jaxpr(jaxpr, args[:1], *args[1:]))
    prim.def_abstract_eval(lambda const, x, jaxpr: x)
    inner = make_jaxpr(lambda x: x * X)(X)
    applied = make_jaxpr(
        cv.jit(lambda x: prim.bind(*inner.consts, x, jaxpr=inner.jaxpr)[0])
    )(X)
    eqn = applied.eqns[0].params["jaxpr"].eqns[0]
    assert eqn.params["jaxpr"] is inner.jaxpr


def test_what_the_program_around_computes_is_a_const_whether_it_is_known_or_not():
    counts = []

    @cv.jit
    def around(x):
        for factor in (cnp.float32(1) + 1, x + 1):
            closed = make_jaxpr(lambda y, k=factor: y * k * 3.0)(X)
            counts.append(len(closed.consts))
        return x

    around(1.0)
    assert counts == [1, 1]


# -- errors ----------------------------------------------------------------------------


def test_a_program_that_is_none_is_refused_in_words():
    x, y = Var(X.type), Var(X.type)
    with pytest.raises(MalformedProgram, match="one value for each of the constvars"):
        ClosedJaxpr(Jaxpr([x], [], [x], []), [])
    with pytest.raises(ArgumentError, match="which has no values for them"):
        p.remat_p.bind(X, jaxpr=Jaxpr([x], [y], [x], []), policy=None)

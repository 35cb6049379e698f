"""Operations in the open style of the field: a name, and rules that are entered."""

import functools

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector.compat import finder, operations
from covector.compat.jaxprs import mapped_aval, unmapped_aval
from covector.compat.primitives import Bound, Primitive
from covector.errors import MissingRule, TypeMismatch
from covector.operations.identities import StopGradient

ad = finder.make("jax.interpreters.ad")
batching = finder.make("jax.interpreters.batching")
mlir = finder.make("jax.interpreters.mlir")


def scaled():
    """x·k, with all rules."""
    p = Primitive("scaled")
    p.def_impl(lambda x, *, k: x * k)
    p.def_abstract_eval(lambda x, *, k: x)
    ad.deflinear2(p, lambda ct, x, *, k: [p.bind(ct, k=k)])
    batching.defvectorized(p)
    mlir.register_lowering(p, mlir.lower_fun(lambda x, *, k: x * k, False))
    return p


@pytest.fixture(scope="module")
def scaled_p():
    return scaled()


def test_it_works_under_every_transformation(scaled_p):
    def f(x):
        return scaled_p.bind(x, k=3.0) ** 2

    x = cnp.array([1.0, 2.0])
    np.testing.assert_allclose(f(x), [9, 36])
    np.testing.assert_allclose(cv.jit(f)(x), [9, 36])
    np.testing.assert_allclose(cv.vmap(f)(x), [9, 36])
    assert cv.jvp(f, (2.0,), (1.0,))[1] == 36
    assert cv.grad(f)(2.0) == 36
    np.testing.assert_allclose(cv.jit(cv.vmap(cv.grad(cv.grad(f))))(x), [18, 18])
    _, pull = cv.vjp(cv.jit(f), x)
    np.testing.assert_allclose(pull(x)[0], [18, 72])
    assert cv.linear_transpose(lambda x: scaled_p.bind(x, k=3.0), 1.0)(2.0) == (6.0,)


def test_it_works_in_loops_branches_and_checkpoints(scaled_p):
    def step(c, _):
        return scaled_p.bind(c, k=2.0), c

    def loop(x):
        return cv.lax.scan(step, x, None, length=3)[0]

    def branch(x):
        return cv.lax.cond(x > 0, lambda x: scaled_p.bind(x, k=5.0), lambda x: x, x)

    assert loop(1.0) == 8 and cv.jit(cv.grad(loop))(1.0) == 8
    assert cv.grad(branch)(1.0) == 5 and cv.grad(branch)(-1.0) == 1
    saved = cv.checkpoint(lambda x: cnp.sin(scaled_p.bind(x, k=2.0)))
    np.testing.assert_allclose(cv.grad(saved)(1.0), 2 * np.cos(2), rtol=1e-6)


def test_it_works_in_shard_map(scaled_p):
    mesh = cv.make_mesh((1,), ("x",))
    spec = cv.P("x")
    f = cv.shard_map(
        lambda x: scaled_p.bind(x, k=2.0), mesh=mesh, in_specs=spec, out_specs=spec
    )
    np.testing.assert_allclose(cv.jit(f)(cnp.arange(2.0)), [0, 2])


def test_bind_calls_the_impl_on_arrays_and_gives_what_it_returns():
    p, seen = Primitive("p"), []

    @p.def_impl
    def impl(*args, **params):
        seen.append((args, params))
        return "anything"

    assert p.bind(1.0, np.zeros(2), config={"a": []}) == "anything"
    ((x, y), params) = seen[0]
    assert isinstance(x, cv.Array) and isinstance(y, cv.Array)
    assert params == {"config": {"a": []}}
    p.def_impl(lambda *args, **params: "replaced")
    assert p.bind(1.0) == "replaced"


def test_it_is_staged_where_all_operands_are_known():
    p = Primitive("p")
    p.def_abstract_eval(lambda x: x)
    program = cv.make_jaxpr(lambda x: x + p.bind(cnp.array(1.0)))(2.0)
    assert "p" in [e.op.name for e in program.jaxpr.eqns]


def test_parameters_need_no_hash_and_are_compared_by_value_where_they_are_data():
    p = Primitive("p")
    array = np.arange(3)

    def bound(**params):
        return Bound(p, params)

    assert bound(k=(1, "a", np.dtype("int8"))) == bound(k=(1, "a", np.dtype("int8")))
    assert hash(bound(k=1)) == hash(bound(k=1))
    assert bound(k=1) != bound(k=1.0) and bound(k=0.0) != bound(k=-0.0)
    assert bound(k=1) != bound(j=1) and bound(k=(1,)) != bound(k=(True,))
    assert bound(k=array) == bound(k=array) != bound(k=array.copy())
    assert bound(k=[1]) != bound(k=[1])


def test_a_rule_sees_the_object_that_bind_was_given():
    class Filled:
        pass

    p = Primitive("p")
    p.multiple_results = True

    @p.def_abstract_eval
    def types(x, *, box):
        box.shape = x.shape
        return [x, x.update(shape=(2, *x.shape))]

    def f(x):
        box = Filled()
        outs = p.bind(x, box=box)
        assert box.shape == x.shape
        return outs

    found = cv.eval_shape(lambda x: [*f(x), *f(x[1:])], cnp.ones(3))
    assert [x.shape for x in found] == [(3,), (2, 3), (2,), (2, 2)]


def test_rules_are_looked_up_when_they_are_asked_for():
    p = scaled()
    f = cv.jit(lambda x: p.bind(x, k=2.0))
    assert f(1.0) == 2
    ad.deflinear(p, lambda ct, *, k: [ct * 100])
    assert cv.grad(f)(1.0) == 100
    ad.primitive_jvps[p] = lambda primals, tangents, *, k: (
        p.bind(*primals, k=k),
        tangents[0] * 7,
    )
    assert cv.grad(lambda x: p.bind(x, k=2.0))(1.0) == 7


def test_zeros_are_symbolic_in_both_modes():
    p, seen = Primitive("two"), []
    p.multiple_results = True
    p.def_impl(lambda x, y, n: [x * y, x + y])
    p.def_abstract_eval(lambda x, y, n: [x, y])

    @functools.partial(ad.primitive_jvps.__setitem__, p)
    def jvp(primals, tangents):
        seen.extend(map(type, tangents))
        _x, y, _n = primals
        assert tangents[1].aval.shape == y.shape
        assert tangents[2].aval.dtype == cv.dtypes.float0
        dx = tangents[0]
        return p.bind(*primals), [linear.bind(dx), ad.Zero.from_primal_value(y)]

    linear = Primitive("linear")
    linear.def_impl(lambda x: 2 * x)
    linear.def_abstract_eval(lambda x: x)

    @functools.partial(ad.primitive_transposes.__setitem__, linear)
    def transpose(ct, x):
        assert type(x) is ad.UndefinedPrimal and ad.is_undefined_primal(x)
        seen.append(type(ct))
        return ad.Zero if type(ct) is ad.Zero else [2 * ct]

    y = cnp.ones(())
    _outs, tangents = cv.jvp(lambda x: p.bind(x, y, 3), (2.0,), (1.0,))
    assert [float(t) for t in tangents] == [2, 0]
    assert seen == [type(cnp.ones(())), ad.Zero, ad.Zero]
    assert cv.grad(lambda x: p.bind(x, y, 3)[0])(2.0) == 2
    assert cv.grad(lambda x: p.bind(x, y, 3)[1] * x)(2.0) == 3


def test_a_derivative_rule_may_call_transformations():
    p = Primitive("p")
    p.def_impl(cnp.sin)
    p.def_abstract_eval(lambda x: x)

    def jvp(primals, tangents):
        (x,), (t,) = primals, tangents
        slope = cv.vmap(cv.grad(cnp.sin))(x)
        return p.bind(x), cv.jit(
            lambda t: cv.lax.cond(True, lambda t: t * slope, cnp.zeros_like, t)
        )(t)

    ad.primitive_jvps[p] = jvp
    batching.defvectorized(p)
    x = cnp.array([0.5, 1.0])
    _, pull = cv.vjp(p.bind, x)
    np.testing.assert_allclose(pull(cnp.ones(2))[0], np.cos(x), rtol=1e-6)


def test_an_operation_with_effects_is_kept_though_nobody_reads_it():
    p = Primitive("p")
    p.def_effectful_abstract_eval(lambda x: (x, {"an effect"}))
    q = Primitive("q")
    q.def_abstract_eval(lambda x: x)

    def f(x):
        p.bind(x)
        q.bind(x)
        return x

    program = cv.make_jaxpr(f)(1.0).jaxpr
    pure = [e.op.pure for e in program.eqns]
    assert pure == [False, True]


@pytest.mark.parametrize(
    ("use", "words"),
    [
        (lambda p: p.bind(1.0), r"no rule for evaluation.*p_p.def_impl\(rule\)"),
        (lambda p: cv.jit(p.bind)(1.0), r"no rule for types.*def_abstract_eval"),
        (lambda p: cv.jvp(p.bind, (1.0,), (1.0,)), r"ad.primitive_jvps\[p_p\] = rule"),
        (lambda p: cv.vmap(p.bind)(cnp.ones(2)), r"batching.primitive_batchers\[p_p\]"),
    ],
)
def test_a_missing_rule_is_named_with_the_table_for_it(use, words):
    with pytest.raises(MissingRule, match=words):
        use(Primitive("p"))


def test_a_missing_rule_for_compilation_or_reverse_mode_is_named():
    p = Primitive("p")
    p.def_abstract_eval(lambda x: x)
    ad.primitive_jvps[p] = lambda primals, tangents: (1.0, p.bind(*tangents))
    with pytest.raises(MissingRule, match=r"compilation for .*mlir.register_lowering"):
        cv.jit(p.bind)(1.0)
    with pytest.raises(MissingRule, match=r"ad.primitive_transposes\[p_p\] = rule"):
        cv.grad(p.bind)(1.0)


def test_what_rules_return_is_checked():
    p, x = scaled(), cnp.ones(2)

    def f(x):
        return p.bind(x, k=1.0)

    ad.primitive_jvps[p] = lambda primals, tangents, *, k: 1.0
    with pytest.raises(TypeMismatch, match="must return a pair, the value and its"):
        cv.jvp(f, (x,), (x,))
    ad.primitive_jvps[p] = lambda primals, tangents, *, k: (primals[0], x.sum())
    with pytest.raises(
        TypeMismatch, match=r"tangent of type f32\[2\].*returned f32\[\]"
    ):
        cv.jvp(f, (x,), (x,))
    ad.deflinear2(p, lambda ct, x, *, k: [ct, ct])
    with pytest.raises(TypeMismatch, match="or None, for each of 1 operand"):
        cv.grad(f)(1.0)
    ad.deflinear2(p, lambda ct, x, *, k: [ct.sum()])
    with pytest.raises(TypeMismatch, match=r"cotangent of type f32\[2\]"):
        cv.vjp(f, x)[1](x)
    batching.primitive_batchers[p] = lambda args, dims, *, k: args
    with pytest.raises(TypeMismatch, match="the result and its batch axis"):
        cv.vmap(f)(x)
    batching.primitive_batchers[p] = lambda args, dims, *, k: (args[0], 1)
    with pytest.raises(TypeMismatch, match=r"is of size 2, or None.*1 for f32\[2\]"):
        cv.vmap(f)(x)
    mlir.register_lowering(p, mlir.lower_fun(lambda x, *, k: x.sum(), False))
    with pytest.raises(
        TypeMismatch, match="must give values of the types tensor<2xf32>"
    ):
        cv.jit(f)(x)
    p.multiple_results = True
    with pytest.raises(TypeMismatch, match="for types must return a list"):
        cv.jit(f)(1.0)
    p.def_abstract_eval(lambda x, *, k: ["no type"])
    with pytest.raises(TypeMismatch, match="must return a ShapedArray for each result"):
        cv.jit(f)(1.0)


def test_a_rule_that_is_entered_for_an_operation_of_covector_is_its_rule(monkeypatch):
    cls, p = StopGradient, operations.stop_gradient_p
    monkeypatch.setattr(cls, "transpose", cls.transpose)
    monkeypatch.setattr(cls, "differentiate", cls.differentiate)
    monkeypatch.setitem(ad.primitive_transposes, p, lambda ct, x: [3 * ct])
    got = cv.linear_transpose(lambda x: 2 * p.bind(x), cnp.ones(2))(cnp.ones(2))
    np.testing.assert_allclose(got[0], [6, 6])

    def jvp(primals, tangents):
        return p.bind(*primals), p.bind(*tangents)

    monkeypatch.setitem(ad.primitive_jvps, p, jvp)
    assert cv.grad(lambda x: cv.lax.stop_gradient(x) * x)(2.0) == 2 + 6


def over(rule, dims, size, name, **changes):
    return cv.vmap(rule, in_axes=dims, axis_size=size, axis_name=name, **changes)


def batched_by_vmap(p, impl, jvp, transpose):
    """Let the batch of ``p`` be another primitive, with the rules of ``p`` under vmap;
    zeros and undefined primals cross vmap as nodes without leaves.
    """
    many = Primitive("many")
    many.multiple_results = True

    def batch(size, name, _, args, dims, **params):
        outs = many.bind(*args, size=size, name=name, dims=dims, params=params)
        return outs, [0] * len(outs)

    def many_impl(*args, size, name, dims, params):
        return over(functools.partial(impl, **params), dims, size, name)(*args)

    def many_types(*avals, size, name, dims, params):
        lanes = [mapped_aval(size, d, a) for d, a in zip(dims, avals, strict=True)]
        return [unmapped_aval(size, 0, a) for a in lanes]

    def many_jvp(primals, tangents, *, size, name, dims, params):
        kinds = zip(tangents, dims, strict=True)
        axes = [None if type(t) is ad.Zero else d for t, d in kinds]
        rule = over(functools.partial(jvp, **params), (dims, axes), size, name)
        return rule(primals, list(tangents))

    def many_transpose(cts, x, y, *, size, name, dims, params):
        lane = ad.UndefinedPrimal(mapped_aval(size, dims[0], x.aval))
        given = tuple([None if type(ct) is ad.Zero else ct for ct in cts])
        axes, out_axes = (0, None, dims[1]), [dims[0], None]
        rule = functools.partial(transpose, **params)
        return over(rule, axes, size, name, out_axes=out_axes)(given, lane, y)

    many.def_impl(many_impl)
    many.def_abstract_eval(many_types)
    ad.primitive_jvps[many] = many_jvp
    ad.primitive_transposes[many] = many_transpose
    mlir.register_lowering(many, mlir.lower_fun(many_impl, multiple_results=True))
    batching.axis_primitive_batchers[p] = batch


def test_rules_may_be_obtained_by_vmap_of_other_rules():
    p = Primitive("scaled_pair")
    p.multiple_results = True

    def impl(x, y, *, k):
        return [x * k, y]

    def jvp(primals, tangents, *, k):
        dx, dy = tangents
        moved = dx if type(dx) is ad.Zero else p.bind(dx, cnp.zeros(()), k=k)[0]
        return p.bind(*primals, k=k), [moved, dy]

    def transpose(cts, x, y, *, k):
        ct, _ = cts
        assert ad.is_undefined_primal(x) and x.aval.shape == ()
        return [None if ct is None or type(ct) is ad.Zero else ct * k, None]

    p.def_impl(impl)
    p.def_abstract_eval(lambda x, y, *, k: [x, y])
    ad.primitive_jvps[p] = jvp
    ad.primitive_transposes[p] = transpose
    batched_by_vmap(p, impl, jvp, transpose)

    def f(x, y):
        a, b = p.bind(x, y, k=3.0)
        return a**2 + b

    x = cnp.array([1.0, 2.0])
    each = cv.vmap(f, (0, None))
    np.testing.assert_allclose(each(x, 1.0), [10, 37])
    np.testing.assert_allclose(cv.jvp(lambda x: each(x, 1.0), (x,), (x,))[1], [18, 72])
    np.testing.assert_allclose(cv.grad(lambda x: each(x, 1.0).sum())(x), [18, 36])
    got = cv.jit(cv.vmap(cv.grad(f), (0, None), axis_name="i"))(x, 1.0)
    np.testing.assert_allclose(got, [18, 36])

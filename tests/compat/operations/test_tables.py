"""The tables of primitives: complete, inverse to themselves, and as JAX has them."""

import importlib
import pkgutil

import jax
import jax.extend.core.primitives
import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import lax
from covector.compat import finder
from covector.compat import operations as p
from covector.compat.jaxprs import Literal, eval_jaxpr
from covector.compat.operation_primitives import (
    OF_CLASS,
    PRIMITIVES,
    OperationPrimitive,
    _below,
)
from covector.compat.programs import closed_jaxpr, make_jaxpr
from covector.core import primitive as core
from covector.core.staging import stage
from covector.errors import ArgumentError
from covector.operations.transcendental import Sin
from tests.laws import arrays
from tests.operations.cases import CASES

ad = finder.make("jax.interpreters.ad")

#: classes that stand for several operations, or for none
NO_OPERATION = {
    "Bound": "the primitives of users, which have names of their own",
    "Windowed": "a base with a name, of the operations on windows",
    "LaneByLane": "of programs in which a NaN is looked for",
    "LanesTogether": "of programs in which a NaN is looked for",
    "HostCall": "a base, of callbacks",
    "LastingCall": "a base, of callbacks",
    "SumOfProducts": "two products and their sum in the field",
    "MultiplyAdd": "a product and a sum in the field",
}


def operation_classes():
    for module in pkgutil.walk_packages(cv.__path__, "covector."):
        if not {"compat", "demo", "__main__"}.intersection(module.name.split(".")):
            importlib.import_module(module.name)
    found, queue = [], [core.Primitive]
    while queue:
        cls = queue.pop()
        queue += cls.__subclasses__()
        if cls.__module__.startswith("covector.") and not cls.__subclasses__():
            found.append(cls)
    return found


def test_every_operation_has_a_name_in_the_field_that_no_other_has():
    later = [c for c in operation_classes() if c not in OF_CLASS]
    names = [c.name for c in later if c.__name__ not in NO_OPERATION]
    assert len({*names, *p.__all__}) == len(names) + len(p.__all__)
    assert not PRIMITIVES.keys() & set(names)


#: primitives of JAX that are steps of its own functions, or of what only it has
INTERNAL = """
    cholesky_update_p custom_lin_p empty2_p get_p select_and_scatter_p stage_p swap_p
    symmetric_product_p threefry2x32_p
"""


def test_every_primitive_of_the_field_is_there():
    modules = [jax.lax, jax.lax.linalg, jax.extend.core.primitives]
    names = {n for m in modules for n in dir(m) if n.endswith("_p")}
    assert {n for n in names if not hasattr(p, n)} == set(INTERNAL.split())


def smallest_cases():
    """For each operation, and each choice of which parameters are not the default, the
    case with the fewest elements.
    """
    found = {}
    for case in [case for cases in CASES.values() for case in cases]:
        size = sum([a.size for a in case.args])
        cls = type(case.op)
        chosen = [getattr(cls, f, None) != getattr(case.op, f) for f in cls.fields]
        key = cls, tuple(chosen)
        if size and (key not in found or size < found[key][0]):
            found[key] = size, case
    return [case for _, case in found.values()]


def view(op, args):
    """The program of one operation, in the classes of the field."""

    def flat(*xs):
        out = op(*xs)
        return out if op.multiple_results else [out]

    return closed_jaxpr(stage(flat, [a.type for a in args], "f", np.inf).jaxpr)


def as_numbers(x):
    is_key = cnp.issubdtype(x.dtype, cv.dtypes.prng_key)
    return np.asarray(cv.random.key_data(x) if is_key else x)


def test_each_operation_is_its_equations_bound_again():
    with cv.enable_x64(True):
        for case in smallest_cases():
            args = arrays(case.args)
            closed = view(case.op, args)
            again = eval_jaxpr(closed.jaxpr, closed.consts, *args)
            out = case.op(*args)
            for x, y in zip(
                out if case.op.multiple_results else [out], again, strict=True
            ):
                assert x.type == y.type, case.label
                np.testing.assert_allclose(
                    as_numbers(x), as_numbers(y), rtol=1e-12, err_msg=case.label
                )


# -- beside JAX ------------------------------------------------------------------------


def pairs():
    """Functions, and their operands, that are one operation of both libraries."""
    v, x, k = np.linspace(0.1, 0.9, 4, dtype="f4"), np.eye(3, dtype="f4") + 1, 3
    index = np.array([[1], [2]], "i4")
    square = np.array([[4, 1, 0], [1, 3, 1], [0, 1, 2]], "f4")
    spatial = x[None, None]
    return [
        *[(lambda m, n=n: (getattr(m.lax, n), [v])) for n in UNARY.split()],
        *[
            (lambda m, n=n: (getattr(m.lax, n), [v, v[::-1].copy()]))
            for n in BINARY.split()
        ],
        lambda m: (lambda x: m.lax.dot_general(x, x, (((1,), (0,)), ((), ()))), [x]),
        lambda m: (
            lambda x: m.lax.conv_general_dilated(x, x, (1, 1), "SAME"),
            [spatial],
        ),
        lambda m: (lambda x: m.lax.broadcast_in_dim(x, (2, 3, 3), (1, 2)), [x]),
        lambda m: (lambda x: m.lax.transpose(x, (1, 0)), [x]),
        lambda m: (lambda x: m.lax.reshape(x, (9,)), [x]),
        lambda m: (lambda x: m.lax.squeeze(x, (0, 1)), [spatial]),
        lambda m: (lambda x: m.lax.rev(x, (0,)), [x]),
        lambda m: (lambda x: m.lax.pad(x, np.float32(2), ((1, 0, 1), (0, 1, 0))), [x]),
        lambda m: (lambda x: m.lax.concatenate([x, x], 1), [x]),
        lambda m: (lambda x: m.lax.split(x, (1, 2)), [x]),
        lambda m: (lambda x: m.lax.slice(x, (0, 1), (2, 3), (1, 1)), [x]),
        lambda m: (
            lambda x, i: m.lax.dynamic_slice(x, (i, i), (2, 2)),
            [x, np.int32(1)],
        ),
        lambda m: (
            lambda x, i: m.lax.dynamic_update_slice(x, x[:1], (i, i)),
            [x, np.int32(1)],
        ),
        lambda m: (
            lambda x, i: m.lax.gather(
                x, i, m.lax.GatherDimensionNumbers((1,), (0,), (0,)), (1, 3)
            ),
            [x, index],
        ),
        lambda m: (
            lambda x, i: m.lax.gather(
                x,
                i,
                m.lax.GatherDimensionNumbers((1,), (0,), (0,)),
                (1, 3),
                mode="fill",
                fill_value=7,
            ),
            [x, index],
        ),
        lambda m: (
            lambda x, i, u: m.lax.scatter_mul(
                x, i, u, m.lax.ScatterDimensionNumbers((1,), (0,), (0,))
            ),
            [x, index, x[:2]],
        ),
        lambda m: (lambda x: m.lax.convert_element_type(x, "int32"), [x]),
        lambda m: (lambda x: m.lax.bitcast_convert_type(x, "int32"), [x]),
        lambda m: (lambda x: m.lax.reduce_precision(x, 5, 10), [x]),
        lambda m: (lambda x: m.lax.iota("int32", 4) + x, [np.int32(1)]),
        *[
            (lambda m, n=n: (lambda x: getattr(m.lax, n)(x, (0,)), [x]))
            for n in ("reduce_sum", "reduce_max", "reduce_min", "reduce_prod")
        ],
        *[
            (lambda m, n=n: (lambda x: getattr(m.lax, n)(x, 1, "int32"), [x]))
            for n in ("argmax", "argmin")
        ],
        *[
            (lambda m, n=n: (lambda x: getattr(m.lax, n)(x, 1, reverse=True), [x]))
            for n in ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp")
        ],
        lambda m: (lambda x: m.lax.sort((x, x), num_keys=2, dimension=0), [x]),
        lambda m: (lambda x: m.lax.top_k(x, 2), [v]),
        lambda m: (lambda x: m.lax.integer_pow(x, 3), [v]),
        lambda m: (lambda x: m.lax.clamp(np.float32(0.2), x, np.float32(0.5)), [v]),
        lambda m: (lambda c, x: m.lax.select_n(c, x, -x), [v > 0.5, v]),
        lambda m: (lambda x: m.lax.fft(x, "rfft", (4,)), [v]),
        lambda m: (m.lax.stop_gradient, [v]),
        lambda m: (m.lax.linalg.cholesky, [square]),
        lambda m: (lambda x: m.lax.linalg.svd(x, full_matrices=False), [square]),
        lambda m: (lambda x: m.lax.linalg.eigh(x, symmetrize_input=False), [square]),
        lambda m: (lambda x: m.lax.linalg.qr(x, full_matrices=False), [square]),
        lambda m: (m.lax.linalg.lu, [square]),
        lambda m: (
            lambda x: m.lax.linalg.triangular_solve(x, x, left_side=True, lower=True),
            [square],
        ),
        lambda m: (lambda x: m.lax.scan(lambda c, x: (c + x, c), x[0], x), [v]),
        lambda m: (
            lambda x: m.lax.while_loop(lambda c: c.sum() < 9, lambda c: c * 2, x),
            [v],
        ),
        lambda m: (
            lambda i, x: m.lax.switch(i, [m.lax.sin, m.lax.cos], x),
            [np.int32(1), v],
        ),
        lambda m: (m.checkpoint(m.lax.sin), [v]),
        lambda m: (m.jit(m.lax.sin), [v]),
        lambda m: (lambda s: m.random.bits(m.random.key(s), (3,), "uint32"), [k]),
    ]


UNARY = """
    neg abs sign floor ceil round exp exp2 expm1 log log1p logistic sin cos tan asin
    acos atan sinh cosh tanh asinh acosh atanh sqrt rsqrt cbrt square is_finite
    erf erfc erf_inv lgamma digamma bessel_i0e bessel_i1e
"""
BINARY = """
    add sub mul div rem pow max min atan2 nextafter eq ne lt le gt ge igamma igammac
    zeta complex
"""
#: parameters that one of the two has: the text of a program, or of no meaning to us
OF_ONE = {"out_dtype", "update_jaxpr", "unroll", "policy"}


#: operations whose values differ: JAX leaves a triangle as it was, or combines by a
#: program among the parameters; keys are of each library
OTHERWISE = {"cholesky", "scatter-mul", "random_bits", "random_seed"}
#: operations that carry programs, which are those of each library
PROGRAMS = {"scan", "while", "cond", "remat2", "jit"}


@pytest.fixture(scope="module")
def both():
    """The programs of each function in JAX and here, and their operands."""
    found = []
    for pair in pairs():
        theirs, operands = pair(jax)
        ours, _ = pair(cv)
        closed = jax.make_jaxpr(theirs)(*operands), make_jaxpr(ours)(*operands)
        found.append((*closed, operands))
    return found


def equations(jaxpr):
    """The equations of a program of JAX by name, also of jitted functions in it."""
    found = {}
    for e in jaxpr.eqns:
        found[e.primitive.name] = e
        if e.primitive.name == "jit":
            found = equations(e.params["jaxpr"].jaxpr) | found
    return found


def test_primitives_have_the_names_and_parameters_of_jax(both):
    seen = set()
    for theirs, ours, _ in both:
        known = equations(theirs.jaxpr)
        for e in ours.jaxpr.eqns:
            name = e.primitive.name
            if name not in known:
                continue
            their = known[name]
            params = their.params.keys() - OF_ONE
            assert params == e.params.keys() - OF_ONE, name
            assert len(e.outvars) == len(their.outvars), name
            assert their.primitive.multiple_results == e.primitive.multiple_results
            seen.add(name)
    assert len(seen) > 95, sorted(seen)


def in_jax(value):
    """A parameter with JAX's classes for ours."""
    kind = type(value).__name__
    if kind.endswith("DimensionNumbers"):
        return getattr(jax.lax, kind)(*value)
    if kind in ("GatherScatterMode", "RoundingMethod", "FftType"):
        return getattr(jax.lax, kind)[value.name]
    return value


def test_parameters_mean_what_they_mean_in_jax(both):
    """Primitives of JAX, bound with our parameters, give what ours do."""
    bound, results = [], []
    for theirs, ours, operands in both:
        known = equations(theirs.jaxpr)
        inputs = [*ours.jaxpr.constvars, *ours.jaxpr.invars]
        env = dict(zip(inputs, [*ours.consts, *operands], strict=True))
        for e in ours.jaxpr.eqns:
            values = [v.val if isinstance(v, Literal) else env[v] for v in e.invars]
            out = e.primitive.bind(*values, **e.primitive.get_bind_params(e.params))
            outs = out if e.primitive.multiple_results else [out]
            env.update(zip(e.outvars, outs, strict=True))
            name = e.primitive.name
            if name in known and name not in (*PROGRAMS, *UNARY.split(), *OTHERWISE):
                params = {k: in_jax(v) for k, v in e.params.items()}
                bound.append((known[name].primitive, values, params))
                results.append((name, outs))

    @jax.jit
    def all_of_them(operands):
        found = [
            prim.bind(*values, **params)
            for (prim, _, params), values in zip(bound, operands, strict=True)
        ]
        return [out if isinstance(out, list | tuple) else [out] for out in found]

    found = all_of_them([list(map(np.asarray, values)) for _, values, _ in bound])
    assert len(results) > 50
    for (name, outs), theirs in zip(results, found, strict=True):
        for x, y in zip(outs, theirs, strict=True):
            # Vectors are what they are up to their signs.
            given = (x, y) if name not in ("svd", "eigh", "qr") else (abs(x), abs(y))
            np.testing.assert_allclose(*given, rtol=1e-5, atol=1e-6, err_msg=name)


# -- binding ---------------------------------------------------------------------------


def test_the_primitives_of_equations_are_those_of_lax():
    (eqn,) = make_jaxpr(lax.sin)(1.0).eqns
    assert eqn.primitive is p.sin_p is PRIMITIVES["sin"]
    assert p.pjit_p is p.jit_p and p.remat_p.name == "remat2"
    with pytest.raises(AttributeError, match="no attribute 'sine_p'"):
        _ = p.sine_p


def test_parameters_that_an_operation_has_not_are_refused_unless_they_are_none():
    assert float(p.sin_p.bind(0.0, out_dtype=None)) == 0.0
    with pytest.raises(
        ArgumentError, match="sin has no parameter axis, but got axis=1"
    ):
        p.sin_p.bind(0.0, axis=1)
    with pytest.raises(ArgumentError, match=r"cumsum\.bind needs the parameter axis"):
        p.cumsum_p.bind(cnp.ones(3))
    with pytest.raises(ArgumentError, match="for dimensions=None alone"):
        p.reshape_p.bind(cnp.ones((2, 3)), new_sizes=(6,), dimensions=(1, 0))
    with pytest.raises(ArgumentError, match="leaves out axes of length 1"):
        p.squeeze_p.bind(cnp.ones((2, 3)), dimensions=(1,))
    with pytest.raises(
        ArgumentError, match=r"for impl=.*fry.* alone, but got impl='rbg'"
    ):
        p.random_seed_p.bind(0, impl="rbg")
    with pytest.raises(ArgumentError, match="eigh is for lower=True alone"):
        p.eigh_p.bind(cnp.eye(2), lower=False)


def test_the_types_of_results_are_known_without_computing():
    outs, effects = p.lu_p.abstract_eval(cnp.ones((3, 2)).type)
    assert [str(t) for t in outs] == ["f32[3,2]", "i32[2]", "i32[3]"]
    assert not effects
    out, _ = p.add_p.abstract_eval(cnp.ones(3).type, cnp.ones(3).type)
    assert out is cnp.ones(3).type


def test_a_slice_of_one_index_is_a_slice_and_a_squeeze():
    names = [e.primitive.name for e in make_jaxpr(lambda x: x[1, 2:])(np.eye(4)).eqns]
    assert names == ["slice", "squeeze"]

    def updated(x, i):
        return x.at[i].set(x[i] * 2)

    names = [e.primitive.name for e in make_jaxpr(updated)(np.eye(4), 1).eqns]
    assert {"dynamic_slice", "squeeze", "dynamic_update_slice"} <= {*names}


def test_the_index_of_a_branch_is_an_integer_also_between_two():
    def f(x):
        return lax.cond(x > 0, lax.sin, lax.cos, x)

    *_, convert, cond = make_jaxpr(f)(1.0).eqns
    assert convert.primitive is p.convert_element_type_p
    assert str(cond.invars[0].aval) == "i32[]"
    closed = make_jaxpr(f)(1.0)
    for x in (1.0, -1.0):
        (out,) = eval_jaxpr(closed.jaxpr, [], x)
        assert float(out) == float(f(x))


def test_functions_of_several_operations_are_primitives_too():
    x = cnp.array([[1.0, 2.0], [3.0, 4.0]])
    assert p.tile_p.bind(x, reps=(2, 1)).shape == (4, 2)
    assert p.add_jaxvals_p.bind(x, x).tolist() == (x + x).tolist()
    product = make_jaxpr(lambda a, b: a * b)(1.0, 1.0).jaxpr
    (out,) = p.reduce_p.bind(x, cnp.float32(1), jaxpr=product, dimensions=(1,))
    assert out.tolist() == [2.0, 12.0]
    windows = {"window_dimensions": (1, 2), "window_strides": (1, 1)}
    (out,) = p.reduce_window_p.bind(
        x, cnp.float32(1), jaxpr=product, padding="VALID", **windows
    )
    assert out.tolist() == [[2.0], [12.0]]
    closed = make_jaxpr(lambda x: x + 1)(x)
    (out,) = p.closed_call_p.bind(x, call_jaxpr=closed)
    assert out.tolist() == (x + 1).tolist()


def test_a_rule_can_be_entered_for_an_operation_of_covector():
    class Tripled(core.Primitive):
        """3 x, for this test."""

        def type_rule(self, x):
            return (x,)

        def evaluate(self, x):
            return (x * 3,)

    (eqn,) = make_jaxpr(Tripled())(1.0).eqns
    assert isinstance(eqn.primitive, OperationPrimitive)
    tripled = eqn.primitive
    ad.deflinear2(tripled, lambda ct, x: [ct * 3])
    assert float(cv.grad(lambda x: tripled.bind(x) * 2)(1.0)) == 6.0


def test_collectives_know_the_sizes_of_their_axes_from_what_is_around():
    def f(x):
        x = p.ppermute_p.bind(x, axis_name=("i",), perm=((0, 1), (1, 0)))
        x = p.all_to_all_p.bind(
            x,
            axis_name="i",
            split_axis=0,
            concat_axis=0,
            axis_index_groups=None,
            tiled=False,
        )
        return p.psum_p.bind(x, axes=("i",), axis_index_groups=None)

    x = cnp.arange(4.0).reshape(2, 2)
    assert cv.vmap(f, axis_name="i")(x).tolist() == [[5.0, 1.0], [5.0, 1.0]]


def test_an_operation_of_a_users_class_does_not_hide_the_one_it_is_made_from():
    class OwnSine(Sin):
        """As somebody's own rules make one."""

    assert OwnSine in Sin.__subclasses__()
    assert _below(Sin) == []

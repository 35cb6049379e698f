"""The laws, for every row of the table of operations.

To look into one subject: ``pytest tests/operations/test_laws.py -k contraction``.
"""

import importlib
import itertools
import pkgutil
import re
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pytest

import covector
from covector import options
from covector.core import dtypes
from covector.core.array import ConcreteArray
from covector.core.jaxpr import Equation, Jaxpr, Var
from covector.core.number_info import finfo
from covector.core.primitive import Linear, Primitive
from covector.core.show import show_operation
from covector.core.types import show_types
from covector.lowering import hlo, module
from covector.operations.broadcasting import batched as in_front
from covector.operations.broadcasting import zeros
from covector.operations.casting import convert
from covector.operations.collectives import Collective, PVary
from covector.operations.complex_functions import ComplexFunction
from covector.operations.families import Elementwise
from covector.operations.placement import ShardingConstraint
from covector.operations.platform_random import RngUniform
from covector.runtime.compile_options import FUSION_EMITTERS, HAS_PLAIN_KERNELS
from covector.transforms.batch import batch_flat
from covector.transforms.linearize import jvp_flat, linearize_flat
from tests.laws import (
    KEY,
    KEYS,
    Case,
    agree,
    array,
    arrays,
    bound,
    compiled_results,
    directions,
    host_results,
    jvp,
    masked,
    masks,
    pairing,
    quotient,
    reference_results,
    results,
    scale,
    vjp,
)
from tests.operations.cases import CASES
from tests.public.seeds import SEED

BATCH = 3
#: what has the kernels of large arrays made for small ones
OF_LARGE_ARRAYS = {FUSION_EMITTERS: True} if HAS_PLAIN_KERNELS else None


def rows(wanted: Callable[[Case], bool] = lambda case: True) -> pytest.MarkDecorator:
    """A test for each row of which ``wanted`` is true."""
    chosen = [
        pytest.param(case, id=f"{subject}.{case.label}")
        for subject, cases in CASES.items()
        for case in cases
        if wanted(case)
    ]
    return pytest.mark.parametrize("case", chosen)


every_row = rows()
differentiable_rows = rows(lambda case: any(case.active))


@pytest.fixture
def x64() -> Iterator[None]:
    with options.override(enable_x64=True):
        yield


pytestmark = pytest.mark.usefixtures("x64")


def slack(case: Case, rtol: float, *values: np.ndarray) -> float:
    """Absolute tolerance: none for elementwise operations; others add things up."""
    return 0.0 if isinstance(case.op, Elementwise) else rtol * scale(*values)


def agree_all(case: Case, got: Sequence, wanted: Sequence, who: str) -> None:
    """Results of an operation agree up to the tolerance of the case."""
    for g, w in zip(got, wanted, strict=True):
        rtol = case.tolerance(np.asarray(w).dtype)
        try:
            agree(g, w, rtol, slack(case, rtol, w) if rtol else 0.0)
        except AssertionError as error:
            error.add_note(who)
            raise


# -- values ----------------------------------------------------------------------------


@rows(lambda case: case.reference is not None)
def test_the_value_is_that_of_the_reference(case):
    for dtype in case.computed:
        agree_all(
            case, results(case, dtype), reference_results(case, dtype), f"in {dtype}"
        )


@every_row
def test_the_type_rule_predicts_what_comes_out(case):
    compiled = compiled_results(case)
    for dtype in case.variants:
        _, types = case.types(dtype)
        wanted = [(t.shape, t.storage) for t in types]
        if dtype in compiled:
            assert [(x.shape, x.dtype) for x in compiled[dtype]] == wanted
        if case.on_host(dtype):
            host = host_results(case, dtype)
            assert [(np.shape(x), x.dtype) for x in host] == wanted
            # The very dtype: others look it up by identity, and equal ones differ.
            assert all(x.dtype is d for x, (_, d) in zip(host, wanted, strict=True))


@rows(lambda case: case.op.on_host is not None)
def test_the_host_and_the_compiled_program_agree(case):
    compiled = compiled_results(case)
    for dtype in filter(case.on_host, compiled):
        agree_all(case, host_results(case, dtype), compiled[dtype], f"in {dtype}")


@rows(lambda case: type(case.op).host_function is not Primitive.host_function)
def test_the_function_for_known_types_gives_what_the_host_gives(case):
    for dtype in filter(case.on_host, case.variants):
        args, wanted = case.variants[dtype], host_results(case, dtype)
        with np.errstate(all="ignore"):
            found = case.op.host_function(*[a.type for a in args])(
                *[a.host() for a in args]
            )
        agree_all(case, found if case.op.multiple_results else [found], wanted, dtype)


@every_row
def test_jit_changes_nothing(case):
    """The operation, and its derivative where it has one, with 64-bit types off.

    Of rows of one kind, the first has its derivative, and every other one, which each
    day are other ones. So it is with the kernels of large arrays, which are not those
    of small ones.
    """
    args = next(iter(case.variants.values()))
    whole = not case.before or (len(case.before) + SEED) % 2
    fun = with_derivative(case) if whole else bound(case.op)
    count = len(bound(case.op)(*args))
    with options.override(enable_x64=False):
        eager = fun(*args)
        large = not case.before or (len(case.before) + SEED // 2) % 2
        chosen = OF_LARGE_ARRAYS if large else None
        compiled = covector.jit(fun, compiler_options=chosen)(*args)
    for e, c in zip(eager, compiled, strict=True):
        assert e.type.strong() is c.type.strong()
    hosts = [x.host() for x in eager], [x.host() for x in compiled]
    agree_all(case, hosts[1][:count], hosts[0][:count], "the values")
    for e, c in zip(hosts[0][count:], hosts[1][count:], strict=True):
        rtol = 64 * finfo(c.dtype).eps
        agree(c, e, rtol, rtol * scale(e))


def with_derivative(case: Case) -> Callable[..., list[ConcreteArray]]:
    """The results of an operation, and the cotangents that reach its operands."""

    def fun(*args):
        outs = list(bound(case.op)(*args))
        if not any(case.active):
            return outs
        weights = [
            None if w is None else convert(w, o.type.dtype)
            for w, o in zip(directions(outs, seed=1), outs, strict=True)
        ]
        cotangents = vjp(bound(case.op), args, case.active, weights)
        return outs + [ct for ct in cotangents if ct is not None]

    return fun


def test_every_element_type_that_an_operation_takes_is_compiled_in_some_row():
    taken, compiled = (
        {(type(c.op), d) for cases in CASES.values() for c in cases for d in which(c)}
        for which in (lambda case: case.variants, lambda case: case.compiled)
    )
    assert taken == compiled


# -- derivatives -----------------------------------------------------------------------


@differentiable_rows
def test_the_derivative_is_that_of_difference_quotients(case):
    args, fun = arrays(case.args), bound(case.op)
    for active in masks(case.active):
        tangents = masked(directions(args, seed=2), active)
        outs = fun(*args)
        for out, tangent, wanted in zip(
            outs, jvp(fun, args, tangents), quotient(fun, args, tangents), strict=True
        ):
            if not dtypes.is_inexact(out.type.dtype):
                assert tangent is None, f"a tangent of {out.type}"
                continue
            got = zeros(out.type) if tangent is None else tangent
            assert got.type is out.type.strong()
            agree(got.host(), wanted, 1e-8, 1e-8 * scale(wanted, out.host()))


@differentiable_rows
def test_the_value_is_the_same_beside_a_derivative(case):
    fun = bound(case.op)
    for dtype, args in case.variants.items():
        if not dtypes.is_inexact(dtype):
            continue
        plain = fun(*args)
        tangents = [
            None if t is None else convert(t, a.type.dtype)
            for t, a in zip(directions(args, seed=2), args, strict=True)
        ]
        tangents = masked(tangents, case.active)
        beside, _ = jvp_flat(fun, args, tangents)
        agree_all(case, beside, plain, f"jvp of {show_types([a.type for a in args])}")
        before, _ = linearize_flat(fun, args, case.active)
        agree_all(case, before, plain, f"linearize of {args[0].type}")


@differentiable_rows
def test_what_is_linear_in_operands_has_one_derivative_in_them(case):
    args, fun = arrays(case.args), bound(case.op)
    for active in masks(case.active):
        operands = [
            Linear(a.type) if m else a for a, m in zip(args, active, strict=True)
        ]
        if not case.op.linear_in(operands):
            continue
        tangents = masked(directions(args, seed=2), active)
        elsewhere = masked(directions(args, seed=3), active)
        others = [a if x is None else x for a, x in zip(args, elsewhere, strict=True)]
        here, there = jvp(fun, args, tangents), jvp(fun, others, tangents)
        for x, y in zip(here, there, strict=True):
            assert (x is None) == (y is None)
            if x is not None:
                agree(x, y, 1e-12, 1e-12 * scale(x.host()))


@differentiable_rows
def test_the_transpose_is_the_adjoint(case):
    """⟨ȳ, J ẋ⟩ = ⟨Jᵀ ȳ, ẋ⟩ to machine precision: no step size, no truncation error."""
    args, fun = arrays(case.args), bound(case.op)
    outs = fun(*args)
    differentiable = [dtypes.is_inexact(o.type.dtype) for o in outs]
    weights = directions(outs, seed=3)
    for active, given in itertools.product(masks(case.active), masks(differentiable)):
        tangents = masked(directions(args, seed=4), active)
        cotangents = masked(weights, given)
        pushed = jvp(fun, args, tangents)
        pulled = vjp(fun, args, active, cotangents)
        for a, ct in zip(args, pulled, strict=True):
            assert ct is None or ct.type is a.type
        left, size = pairing(cotangents, pushed)
        right, _ = pairing(pulled, tangents)
        assert left == pytest.approx(right, rel=1e-12, abs=1e-12 * size)


@rows(lambda case: any(case.active) and case.second_order)
def test_the_second_derivative_is_that_of_difference_quotients(case):
    args, fun = arrays(case.args), bound(case.op)
    weights = directions(fun(*args), seed=5)
    for active in masks(case.active):

        def gradient(*xs, active=active):
            found = vjp(fun, xs, active, weights)
            return [ct for ct in found if ct is not None]

        tangents = masked(directions(args, seed=6), active)
        along = [t for t in tangents if t is not None]
        second = vjp(gradient, args, active, along)
        wanted = quotient(gradient, args, tangents)
        for s, w, g in zip(
            [s for s in second if s is not None], wanted, gradient(*args), strict=True
        ):
            agree(s.host(), w, 1e-7, 1e-7 * scale(w, g.host()))


# -- batches ---------------------------------------------------------------------------


@rows(lambda case: len(case.args) > 0)
def test_vmap_is_a_loop(case):
    """For every axis, and every subset of the operands (of those of many, some)."""
    fun = bound(case.op)
    for dims in choices_of_axes(case):
        stacked = [
            stacked_at(a, d) if d is not None else array(a)
            for a, d in zip(case.args, dims, strict=True)
        ]
        outs, out_dims = batch_flat(fun, BATCH, stacked, dims)
        for i in range(BATCH):
            single = [
                array(a if d is None else in_lane(a, i))
                for a, d in zip(case.args, dims, strict=True)
            ]
            got = [
                o.host() if d is None else np.take(o.host(), i, d)
                for o, d in zip(outs, out_dims, strict=True)
            ]
            wanted = [o.host() for o in fun(*single)]
            agree_all(case, got, wanted, f"for axes {dims}, entry {i}")


@rows(lambda case: len(case.args) > 0)
def test_vmap_over_nothing_gives_nothing_of_the_right_type(case):
    types = case.op.type_rule(*[a.type for a in arrays(case.args)])
    empty = [array(np.zeros((0, *a.shape), a.dtype)) for a in case.args]
    outs, dims = batch_flat(bound(case.op), 0, empty, [0] * len(empty))
    for out, d, t in zip(outs, dims, types, strict=True):
        shape = t.shape if d is None else (*t.shape[:d], 0, *t.shape[d:])
        assert np.shape(out.host()) == shape
        assert out.type.dtype == t.dtype


@differentiable_rows
def test_jvp_of_vmap_is_vmap_of_jvp(case):
    fun, n = bound(case.op), len(case.args)
    for dims in {(0,) * n, (0, *[None] * (n - 1))}:
        args = [
            stacked_at(a, d) if d is not None else array(a)
            for a, d in zip(case.args, dims, strict=True)
        ]
        tangents = masked(directions(args, seed=7), case.active)
        active = [t is not None for t in tangents]

        def batched(*xs, dims=dims):
            outs, out_dims = batch_flat(fun, BATCH, xs, dims)
            return [in_front(BATCH, x, d) for x, d in zip(outs, out_dims, strict=True)]

        def pushed(*xs, active=active):
            given = iter(xs[n:])
            ts = [next(given) if m else None for m in active]
            return [t for t in jvp(fun, xs[:n], ts) if t is not None]

        left = [t for t in jvp(batched, args, tangents) if t is not None]
        given = [t for t in tangents if t is not None]
        given_dims = [d for d, m in zip(dims, active, strict=True) if m]
        outs, out_dims = batch_flat(
            pushed, BATCH, [*args, *given], [*dims, *given_dims]
        )
        right = [in_front(BATCH, x, d) for x, d in zip(outs, out_dims, strict=True)]
        for x, y in zip(left, right, strict=True):
            agree(x.host(), y.host(), 1e-12, 1e-12 * scale(y.host()))


def choices_of_axes(case: Case) -> list[tuple[int | None, ...]]:
    """Batch axes for the operands: each subset, each axis, operands out of step."""
    ranks = [a.ndim for a in case.args]
    subsets = list(itertools.product([True, False], repeat=len(ranks)))[:-1]
    return [
        tuple(
            (turn + k) % (r + 1) if b else None
            for k, (b, r) in enumerate(zip(subset, ranks, strict=True))
        )
        for subset in subsets[:16]
        for turn in range(max(ranks) + 1)
    ]


def in_lane(x: np.ndarray, i: int) -> np.ndarray:
    """Entry i of a batch of operands like ``x``: scaled numbers, or others in turn."""
    if x.dtype == KEY:
        return in_lane(x.view(KEYS.storage), i).view(KEY)
    if dtypes.is_inexact(x.dtype):
        parts = np.ascontiguousarray(x).view(dtypes.real_part(x.dtype))
        return (
            (parts * (1 - 0.05 * i)).astype(parts.dtype).view(x.dtype).reshape(x.shape)
        )
    if x.ndim:
        return np.roll(x.ravel(), i).reshape(x.shape)
    return (x + i).astype(x.dtype) if dtypes.is_integer(x.dtype) else x ^ bool(i % 2)


def stacked_at(x: np.ndarray, axis: int) -> ConcreteArray:
    return array(np.stack([in_lane(x, i) for i in range(BATCH)], axis))


# -- programs --------------------------------------------------------------------------


#: lines of StableHLO
READABLE = 60


def lowers_to_one(case: Case) -> bool:
    """Whether the family lowers it: to the StableHLO operation that its class names."""
    lower, operands = type(case.op).lower, next(iter(case.variants.values()))
    if isinstance(case.op, ComplexFunction) and lower is ComplexFunction.lower:
        if type(case.op).of_real is not None:
            return False
        return not any(dtypes.is_complex(a.type.dtype) for a in operands)
    return isinstance(case.op, Elementwise) and lower is Elementwise.lower


@pytest.mark.parametrize("subject", CASES)
def test_the_lowering_is_as_it_was(subject, golden):
    cases = [case for case in CASES[subject] if not lowers_to_one(case)]
    if cases:
        golden(f"lowering/{subject}.txt", "\n".join(lowerings(cases)))


@pytest.mark.parametrize("subject", CASES)
def test_an_elementwise_operation_lowers_to_the_one_that_its_class_names(subject):
    for case in filter(lowers_to_one, CASES[subject]):
        _, text = lowerings([case])
        steps = re.findall(r"%\w+ = (?:\"?)([\w.]+)", text)
        scalars = ["stablehlo.broadcast_in_dim"] * broadcast_scalars(case)
        assert steps == [*scalars, case.op.hlo], text


def broadcast_scalars(case: Case) -> int:
    """How many operands are brought to the shape of the others."""
    shapes = [a.type.shape for a in next(iter(case.variants.values()))]
    return shapes.count(()) if any(shapes) else 0


def lowerings(cases: Sequence[Case]) -> list[str]:
    """The StableHLO of each operation and types, once, in the default precision.

    Of what is longer than anybody reads, only the values are looked at.
    """
    texts = {}
    for case in cases:
        types = tuple([a.type for a in next(iter(case.variants.values()))])
        inputs = [Var(t) for t in types]
        outputs = [Var(t) for t in case.op.type_rule(*types)]
        program = Jaxpr(inputs, [Equation(case.op, inputs, outputs, None)], outputs)
        title = f"// {show_operation(case.op)} of {show_types(types)}"
        with hlo.lock, hlo.context, hlo.unknown:
            text = module.lower_module(program, "law", "cpu").text()
        if text.count("\n") <= READABLE:
            texts[title] = text
    return [line for title, text in texts.items() for line in (title, text)]


def test_every_operation_has_a_case():
    rowed = {type(case.op) for cases in CASES.values() for case in cases}
    # Collectives, and the adjoint of one, need a named axis, and constraints a mesh:
    # test_collectives.py and the tests of shardings have laws of their own. What
    # RngUniform gives is another each time: tests/lax/test_generators.py.
    elsewhere = (Collective, PVary, RngUniform, ShardingConstraint)
    missing = [
        f"{op.__module__}.{op.__name__}"
        for op in classes()
        if op not in rowed and not issubclass(op, elsewhere)
    ]
    assert not missing, (
        f"add rows to tests/operations/cases for {', '.join(sorted(missing))}"
    )


def classes() -> list[type[Primitive]]:
    """The classes in ``covector.operations`` but families, the bases of others."""
    for found in pkgutil.walk_packages(
        covector.operations.__path__, "covector.operations."
    ):
        importlib.import_module(found.name)

    def below(kind: type[Primitive]) -> Iterator[type[Primitive]]:
        for member in kind.__subclasses__():
            if member.__module__.startswith("covector.operations."):
                yield member
                yield from below(member)

    found = dict.fromkeys(below(Primitive))
    return [op for op in found if not any(op in other.__bases__ for other in found)]


@rows(lambda case: type(case.op).written_out is not Primitive.written_out)
def test_what_it_is_written_out_as_computes_the_same(case):
    for dtype in case.computed:
        args = case.variants[dtype]
        plainer = case.op.written_out([a.type for a in args])
        if plainer is None:
            continue
        rtol = case.tolerance(dtype)
        for got, wanted in zip(plainer(*args), results(case, dtype), strict=True):
            agree(got.host(), wanted, rtol, rtol * scale(wanted))

"""Two laws of shard_map, over the whole table of operations and over meshes.

shard_map is vmap    shard_map(vmap(g))(xs) = vmap(g)(xs), for g an operation, its first
                     and its second derivatives

a gradient has the type of what it is taken with respect to
                     that of a value that varies is each device's own; that of one
                     which does not is the sum of those over the devices

Each program holds several rows, since compiling is what takes time. What is wanted is
computed one operation at a time, most of them by NumPy. On each day a row obeys one of
the laws, and the other one on the next: both are about its derivative over a mesh.
"""

import itertools
import math

import numpy as np
import pytest

import covector as cv
from covector import P, lax
from covector.core import dtypes
from covector.core.array import ConcreteArray
from covector.core.number_info import finfo
from covector.operations.arithmetic import mul
from covector.operations.casting import convert
from covector.operations.composite import Composite
from tests.laws import array, bound, directions, vjp
from tests.operations.cases import CASES
from tests.public.seeds import SEED

#: rows to a program
ROWS = 8
MESHES = [
    ((2,), "x"),
    ((4,), "x"),
    ((8,), "x"),
    ((2, 2), "xy"),
    ((2, 4), "xy"),
    ((1,), "x"),
]


def chunks(law):
    """Every second program of all, as a law has the first or the second of each two."""
    return itertools.islice(programs(), (SEED + law) % 2, None, 2)


def programs():
    for subject, cases in CASES.items():
        # Formulas consist of operations that have rows: one of a subject is enough.
        formulas = [case for case in cases if isinstance(case.op, Composite)]
        left_out = set(map(id, formulas[1:]))
        kept = [case for case in cases if case.args and id(case) not in left_out]
        for k in range(0, len(kept), ROWS):
            yield pytest.param(kept[k : k + ROWS], id=f"{subject}-{k // ROWS}")


def mesh_for(cases):
    shape, names = MESHES[sum(map(ord, cases[0].label)) % len(MESHES)]
    return cv.make_mesh(shape, tuple(names)), P(tuple(names))


@pytest.fixture(autouse=True)
def in_double_precision():
    with cv.enable_x64(True):
        yield


def operands(case):
    """The operands in double precision, where the operation takes it."""
    for dtype in (dtypes.float64, dtypes.complex128):
        if dtype in case.variants:
            return case.variants[dtype]
    return case.variants[next(iter(case.variants))]


def per_device(x, n):
    """The array for each of ``n`` devices: its elements in another order."""
    host = x.host()
    rows = [np.roll(host.ravel(), k).reshape(host.shape) for k in range(n)]
    return ConcreteArray(x.type.with_shape((n, *x.type.shape)), np.stack(rows))


def flat_vjp(fun, args, active, seed):
    """Cotangents of active operands, for cotangents that are the same everywhere."""
    outs = fun(*args)
    pairs = zip(directions(outs, seed), outs, strict=True)
    cts = [d if d is None else convert(d, o.type.dtype) for d, o in pairs]
    return [ct for ct in vjp(fun, args, active, cts) if ct is not None]


def with_derivatives(case):
    """The operation, and its first and second derivatives, on one device."""
    fun, active = bound(case.op), case.active

    def first(*args):
        return flat_vjp(fun, args, active, 1)

    def everything(*args):
        outs = list(fun(*args))
        if any(active):
            outs += first(*args)
        if any(active) and case.second_order:
            outs += flat_vjp(first, args, active, 2)
        return outs

    return everything


def compare(found, wanted, labels):
    for label, xs, ys in zip(labels, found, wanted, strict=True):
        for x, y in zip(xs, ys, strict=True):
            same(x.host(), y.host(), label)


def same(x, y, label):
    if not dtypes.is_inexact(x.dtype):
        np.testing.assert_array_equal(x, y, err_msg=label)
        return
    rtol = finfo(x.dtype).eps ** 0.5 / 10  # 1.5e-9 in double precision
    kind = np.complex128 if dtypes.is_complex(x.dtype) else np.float64
    x, y = x.astype(kind), y.astype(kind)
    most = np.abs(y[np.isfinite(y)]).max(initial=1.0)
    np.testing.assert_allclose(x, y, rtol=rtol, atol=rtol * most, err_msg=label)


def test_each_row_obeys_one_law_today_and_the_other_one_tomorrow():
    one, other = ({c.id for c in chunks(law)} for law in (0, 1))
    assert one.isdisjoint(other)
    assert one | other == {c.id for c in programs()}


@pytest.mark.parametrize("cases", [*chunks(0)])
def test_shard_map_is_vmap(cases):
    mesh, spec = mesh_for(cases)
    xs = [[per_device(a, mesh.size) for a in operands(case)] for case in cases]
    functions = [with_derivatives(case) for case in cases]

    def over(xs):
        return [cv.vmap(f)(*args) for f, args in zip(functions, xs, strict=True)]

    mapped = cv.shard_map(over, mesh=mesh, in_specs=spec, out_specs=spec)
    compare(cv.jit(mapped)(xs), over(xs), [case.label for case in cases])


def slopes(case, active, others, factor):
    """Cotangents of the active operands, of the results times ``factor``."""
    rest = iter(others)
    held = [None if a else next(rest) for a in case.active]

    def scaled(*given):
        given = iter(given)
        args = [next(given) if h is None else h for h in held]
        return [
            mul(o, convert(factor, o.type.dtype))
            for o in bound(case.op)(*args)
            if dtypes.is_inexact(o.type.dtype)
        ]

    return flat_vjp(scaled, active, [True] * len(active), 3)


@pytest.mark.parametrize("cases", [*chunks(1)])
def test_a_gradient_has_the_type_of_what_it_is_taken_with_respect_to(cases):
    cases = [case for case in cases if any(case.active)]
    if not cases:
        pytest.skip("nothing here has a derivative")
    mesh, spec = mesh_for(cases)
    n = mesh.size
    invariant = [[a for a, m in zip(operands(c), c.active) if m] for c in cases]  # noqa: B905
    varying = [
        [per_device(a, n) for a, m in zip(operands(c), c.active) if not m]  # noqa: B905
        for c in cases
    ]
    factors = array(np.linspace(0.5, 1.5, n, dtype=np.float32))

    def of_each(invariant, varying, factors):
        columns = zip(cases, invariant, varying, strict=True)
        return [
            cv.vmap(lambda o, k, c=c, s=s: slopes(c, s, o, k), (0, 0))(others, factors)
            for c, s, others in columns
        ]

    def on_devices(invariant, varying, factors):
        first = lambda x: x[0]  # noqa: E731
        others = cv.tree.map(first, varying)
        columns = [*zip(cases, invariant, others, strict=True)]
        summed = [slopes(c, s, o, factors[0]) for c, s, o in columns]
        cast = [lax.pcast(s, mesh.axis_names, to="varying") for s in invariant]
        unsummed = [
            [ct[None] for ct in slopes(c, s, o, factors[0])]
            for (c, _, o), s in zip(columns, cast, strict=True)
        ]
        return summed, unsummed

    mapped = cv.shard_map(
        on_devices, mesh=mesh, in_specs=(P(), spec, spec), out_specs=(P(), spec)
    )
    summed, unsummed = cv.jit(mapped)(invariant, varying, factors)
    wanted = of_each(invariant, varying, factors)
    labels = [case.label for case in cases]
    compare(unsummed, wanted, labels)
    totals = [[array(np.sum(ct.host(), 0)) for ct in cts] for cts in wanted]
    compare(summed, totals, labels)
    assert math.prod(mesh.axis_sizes) == n

"""Loops compiled as one kernel say the same as loops whose operations are kernels."""

import os
import subprocess
import sys

import numpy as np
import pytest

import covector as cv
from covector import lax, random, tree
from covector import numpy as cnp
from covector.programs.higher_order import tiering
from covector.runtime import client, compiler, modules
from covector.runtime.compile_options import (
    DEFAULT_OPTIONS,
    SMALL_LOOP_BYTES,
    compile_options_of,
)

STEPS = 5
KERNEL = "xla_cpu_small_call"

V = np.linspace(-1.5, 2.0, 6, dtype=np.float32)
M = np.linspace(-1.0, 1.0, 16, dtype=np.float32).reshape(4, 4)


def compiled(fun, args, limit):
    """A program in which loops that touch fewer bytes a step are one kernel each."""
    options = {SMALL_LOOP_BYTES: limit}
    return cv.jit(fun).lower(*args).compile(compiler_options=options)


def loop_kernels(program):
    """The calls of kernels, but for those that write an array before it is read."""
    lines = [line for line in program.as_text().splitlines() if KERNEL in line]
    return [line for line in lines if "in_memory" not in line]


def unfused_and_fused(fun, *args):
    """The results with a kernel for each operation and with one for each loop."""
    unfused, fused = [compiled(fun, args, limit) for limit in (0, 10**9)]
    assert not loop_kernels(unfused)
    assert loop_kernels(fused)
    results = [tree.leaves(program(*args)) for program in (unfused, fused)]
    return [[np.asarray(x) for x in leaves] for leaves in results]


def assert_same(fun, *args, rtol=2e-6):
    for x, y in zip(*unfused_and_fused(fun, *args), strict=True):
        assert x.dtype == y.dtype
        unfused, fused = [
            z.astype(np.float32) if z.dtype.kind == "V" else z  # bfloat16, say
            for z in (x, y)
        ]
        scale = float(np.abs(unfused[np.isfinite(unfused)]).max(initial=0.0))
        np.testing.assert_allclose(fused, unfused, rtol=rtol, atol=rtol * scale)


def scan_of(step, *start, xs=None):
    return lax.scan(step, start, xs, STEPS)


def counted(body, *start):
    """A while_loop of as many iterations, the count among its carry."""
    step = lambda c: (c[0] + 1, *body(c[0], *c[1:]))  # noqa: E731
    return lax.while_loop(lambda c: c[0] < STEPS, step, (0, *start))


def nested(v):
    inner = lambda c, x: (c * 0.9 + x, c.sum())  # noqa: E731
    return scan_of(lambda c, _: ((lax.scan(inner, c[0], v)[0],), c[0]), v)


def with_cond(v):
    def step(c, i):
        (c,) = c
        bigger = lambda: cnp.sin(c) + i  # noqa: E731
        return (lax.cond(c.sum() > i, bigger, lambda: c * 0.5),), c.max()

    return scan_of(step, v, xs=cnp.arange(STEPS))


def with_switch(v):
    cases = [cnp.sin, cnp.cos, cnp.tanh]
    return counted(lambda i, c: (lax.switch(i % 3, cases, c),), v)


def until(v):
    """Lanes of a batch that stop at different times."""
    one = lambda x: lax.while_loop(lambda c: c < 9.0, lambda c: c * c + 1.5, x)  # noqa: E731
    return cv.vmap(one)(v)


def keys(v):
    def step(c, _):
        key, other = random.split(c[0])
        return (key, c[1] + random.normal(other, v.shape)), random.bits(other)

    key, (moved, bits) = random.key(3), (None, None)
    (key, moved), bits = scan_of(step, key, v)
    return random.key_data(key), moved, bits


def calls(v):
    @cv.jit
    def layer(x):
        for _ in range(9):
            x = cnp.sin(x) * 1.1 + 0.1
        return x

    return counted(lambda i, c: (layer(layer(c) + layer(c * i)),), v)


def pieces(v):
    def step(c, i):
        (c,) = c
        moved = lax.dynamic_update_slice(c, cnp.flip(c[1:3]), (i % 3,))
        moved = cnp.roll(cnp.concatenate([moved[3:], moved[:3]]), 1)
        padded = cnp.pad(moved[::2], (1, 2), constant_values=1.0)
        return (cnp.where(padded > 0, padded, moved),), moved[i]

    return scan_of(step, v, xs=cnp.arange(STEPS))


def extremes(v):
    def step(c, i):
        (c,) = c
        rows = cnp.stack([c, cnp.roll(c, i), -c])
        found = (rows.max(0), rows.min(1), rows.argmax(1), rows.sum(0))
        return (found[0] * 0.5,), found

    return scan_of(step, v, xs=cnp.arange(STEPS))


def powers(v):
    def step(c, i):
        return (c[0] ** 3 * 0.1 + cnp.abs(c[0]) ** 0.3 + c[0] ** -2,), c[0] // 0.3

    return scan_of(step, v, xs=cnp.arange(STEPS))


def products(v):
    def step(c, _):
        return (cnp.tanh(M[:, :3] @ c[0]) @ M[:, :3],), cnp.outer(c[0], c[0])

    return scan_of(step, v[:3])


def integers(v):
    def step(c, i):
        c, (n, m) = c[0], c[1]
        n, m = n * 7 + i.astype(n.dtype), (m << 1) ^ (m >> 2)
        return (c + n.astype(c.dtype), (n, m)), (n % 3, n // 2, lax.population_count(m))

    start = (cnp.asarray([100, -7], "int8"), cnp.asarray([5, 2**31], "uint32"))
    return scan_of(step, v[:2], start, xs=cnp.arange(STEPS))


def four_bits(v):
    step = lambda c, _: ((c[0] + c[0] * 3,), c[0].astype("float32"))  # noqa: E731
    carry, ys = scan_of(step, (v * 3).astype("int4"))
    return carry[0].astype("int32"), ys


def nothing(v):
    """A carry and outputs without elements."""
    step = lambda c, _: ((c[0] * 2, cnp.sin(c[1])), (c[0], c[1].sum()))  # noqa: E731
    return scan_of(step, v[:0], v)


def squares(v):
    """Outputs of more axes, put together from the last step on."""
    step = lambda c, x: (c * 0.5 + x, cnp.outer(c, x))  # noqa: E731
    return lax.scan(step, v, cnp.stack([v, -v, v * v]), reverse=True)


def written_out(v):
    step = lambda c, _: (cnp.cos(c) * 1.1, c.sum())  # noqa: E731
    return lax.scan(step, v, None, 7, unroll=2)


BODIES = {
    f.__name__: f
    for f in (
        nested,
        with_cond,
        with_switch,
        until,
        keys,
        calls,
        pieces,
        extremes,
        powers,
        products,
        integers,
        four_bits,
        nothing,
        squares,
        written_out,
    )
}
SMOOTH = ("nested", "with_cond", "pieces", "products", "squares", "written_out")


@pytest.mark.parametrize("name", BODIES)
def test_one_kernel_gives_the_same(name):
    assert_same(BODIES[name], V)


@pytest.mark.parametrize("name", BODIES)
def test_one_kernel_gives_the_same_over_a_batch(name):
    assert_same(cv.vmap(BODIES[name]), np.stack([V, V[::-1], V * 0.5]))


def total(f):
    """A scalar of all results that have derivatives."""

    def fun(v):
        leaves = [x for x in tree.leaves(f(v)) if x.dtype == v.dtype]
        return sum([(x * x).sum() for x in leaves])

    return fun


@pytest.mark.parametrize("name", SMOOTH)
def test_one_kernel_gives_the_same_gradient(name):
    assert_same(cv.grad(total(BODIES[name])), V, rtol=1e-5)


@pytest.mark.parametrize("name", ["with_cond", "products"])
def test_one_kernel_gives_the_same_hessian(name):
    assert_same(cv.hessian(total(BODIES[name])), V, rtol=1e-5)


@pytest.mark.parametrize("dtype", ["float64", "bfloat16", "float16", "complex64"])
def test_one_kernel_gives_the_same_in_every_precision(dtype):
    def f(v):
        step = lambda c, x: (cnp.sin(c) * x + c * 0.5, (c * x).sum())  # noqa: E731
        return lax.scan(step, v, cnp.stack([v, v + 1, v * v]))

    with cv.options.override(enable_x64=True):
        rtol = {"float64": 1e-14, "bfloat16": 2e-2, "float16": 2e-3}.get(dtype, 2e-6)
        assert_same(f, cnp.asarray(V).astype(dtype), rtol=rtol)


def test_infinities_and_what_is_not_a_number_stay():
    v = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-40], np.float32)
    for f in (extremes, pieces, powers):
        for x, y in zip(*unfused_and_fused(f, v), strict=True):
            np.testing.assert_array_equal(np.isnan(x), np.isnan(y))
            np.testing.assert_array_equal(np.isinf(x), np.isinf(y))
            finite = np.isfinite(x)
            np.testing.assert_allclose(y[finite], x[finite], rtol=2e-6)


# -- which loops -----------------------------------------------------------------------


def ring(count):
    """A step of Lorenz's ring of 1996, each element a scalar."""

    def step(x, _):
        slopes = [
            (x[(i + 1) % count] - x[i - 2]) * x[i - 1] - x[i] for i in range(count)
        ]
        moved = [a + 0.01 * b for a, b in zip(x, slopes, strict=True)]
        return moved, moved[0]

    def last(x):
        x, ys = lax.scan(step, x, None, 100)
        return sum(x) + ys.sum()

    return last, ([np.float32(1 + i / count) for i in range(count)],)


def kernels(fun, args):
    """How many loops are one kernel, and how many run operation by operation."""
    text = cv.jit(fun).lower(*args).compile().as_text()
    entry = text[text.index("\nENTRY") :]
    return entry.count(KERNEL), entry.count(" while(")


@pytest.mark.parametrize("count", [4, 60, 200])
def test_a_loop_over_scalars_is_one_kernel_and_so_is_its_gradient(count):
    fun, args = ring(count)
    assert kernels(fun, args) == (1, 0)
    assert kernels(cv.grad(fun), args) == (2, 0)


def test_a_loop_over_large_arrays_keeps_a_kernel_for_each_operation():
    fun = lambda x: lax.scan(lambda c, _: (cnp.sort(c) * 0.9, None), x, None, 9)[0]  # noqa: E731
    assert kernels(fun, (np.ones(30_000, np.float32),)) == (0, 1)


def test_a_loop_over_products_of_matrices_leaves_them_to_the_library():
    fun = lambda x: lax.scan(lambda c, _: (c @ M, None), x, None, 9)[0]  # noqa: E731
    assert kernels(fun, (np.ones((64, 4), np.float32),)) == (0, 1)


def test_narrow_floats_are_rounded_as_they_are_outside_of_loops():
    x, y = (
        cnp.asarray([48.0, 1.0], "float8_e4m3fn"),
        cnp.asarray(448.0, "float8_e4m3fn"),
    )
    fun = lambda x, y: lax.scan(lambda c, a: (c, a + y), 0, x)[1]  # noqa: E731
    sums = np.asarray(cv.jit(fun)(x, y)).astype(np.float32)
    np.testing.assert_array_equal(sums, [np.nan, 448.0])


def test_loops_of_very_many_scalars_are_compiled_without_pairs_of_buffers(monkeypatch):
    given, make = [], compiler.compile_module

    def compile_module(*args, options, **kwargs):
        given.append(options)
        return make(*args, options=options, **kwargs)

    monkeypatch.setattr(compiler, "compile_module", compile_module)
    for count in (4, 60):
        fun, args = ring(count)
        cv.jit(cv.grad(fun)).lower(*args).compile()
    listed = [options.get("xla_llvm_enable_noalias_metadata") for options in given]
    assert listed == [None, False]


# -- the setting -----------------------------------------------------------------------


def limit_in(options):
    shown = repr(options.executable_build_options.debug_options)
    return shown.partition(f'key: "{SMALL_LOOP_BYTES}"')[2].partition('"')[2][:5]


def test_the_limit_reaches_the_compiler_and_can_be_changed():
    device = (client.cpu_device(),)
    wanted = str(DEFAULT_OPTIONS["cpu"][SMALL_LOOP_BYTES])
    assert limit_in(compile_options_of(device, None)) == wanted
    changed = compile_options_of(device, {SMALL_LOOP_BYTES: 12345})
    assert limit_in(changed) == "12345"


def test_what_the_user_has_said_in_the_environment_holds():
    program = f"""
import os
os.environ["XLA_FLAGS"] = "--xla_backend_extra_options={SMALL_LOOP_BYTES}=0"
import covector as cv
f = lambda x: cv.lax.scan(lambda c, _: (c * x + 1, None), 1.0, None, 9)[0]
print("{KERNEL}" in cv.jit(f).lower(2.0).compile().as_text())
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


# -- loops that are run by themselves --------------------------------------------------


def compilations(monkeypatch):
    """The programs compiled from now on, by name."""
    names = []
    make = compiler.compile_module

    def counted(module, *args, **kwargs):
        with modules.opened(module) as read:
            names.append(modules.name_of(read))
        return make(module, *args, **kwargs)

    monkeypatch.setattr(compiler, "compile_module", counted)
    return names


def test_a_loop_is_compiled_once_it_has_cost_as_much(monkeypatch):
    names = compilations(monkeypatch)
    step = lambda c, x: (c * 0.875 + x, c)  # noqa: E731
    xs = np.linspace(0, 1, 100, dtype=np.float32)
    calls, first = 0, None
    while not names:
        last = lax.scan(step, 1.0, xs)
        first = last if first is None else first
        calls += 1
        cv.block_until_ready(last)
    assert names == ["eager_scan"]
    cost = 100 * (tiering.CALL * 4 + 10 / tiering.PACE)
    assert calls == int(tiering.COMPILE_COST // cost) + 1
    for x, y in zip(tree.leaves(first), tree.leaves(last), strict=True):
        np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=1e-6)
    lax.scan(step, 1.0, xs)
    assert len(names) == 1


def test_a_long_scan_is_compiled_at_once(monkeypatch):
    names = compilations(monkeypatch)
    lax.scan(lambda c, _: (c * 0.75 + 0.125, None), 1.0, None, 10_000)
    assert names == ["eager_scan"]


def test_a_long_while_loop_goes_on_compiled(monkeypatch):
    names = compilations(monkeypatch)
    body = lambda c: (c[0] + 1, c[1] * 0.9375)  # noqa: E731
    count, _ = lax.while_loop(lambda c: c[0] < 100_000, body, (0, 1.0))
    assert (int(count), names) == (100_000, ["eager_while"])


def test_short_loops_of_changing_programs_are_never_compiled(monkeypatch):
    names = compilations(monkeypatch)
    for k in range(30):
        lax.fori_loop(0, 50, lambda i, c, k=k: c * 0.5 + k, 1.0)
        lax.while_loop(lambda c: c < 9, lambda c, k=k: c * 2 + k, 1.0)
    assert names == []


LOOPS = {
    "stacked": lambda x: lax.scan(lambda c, a: (c + a, c), cnp.float32(0), x),
    "constant": lambda x: lax.scan(lambda c, a: (c, 1.0), cnp.float32(0), x),
    "captured": lambda x: lax.scan(lambda c, _: (c + x, 2 * c), x, None, 3),
    "counted": lambda x: lax.while_loop(
        lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 2), (0, x)
    ),
}


@pytest.mark.parametrize("name", LOOPS)
def test_results_of_a_loop_on_the_host_are_where_those_of_a_program_are(name):
    program = f"""
import numpy as np
import covector as cv
from tests.programs.control_flow.test_small_loops import LOOPS
x = cv.device_put(np.ones(3, np.float32), cv.devices()[1])
for f in (LOOPS[{name!r}], cv.jit(LOOPS[{name!r}])):
    print({{str(y.device) for y in cv.tree.leaves(f(x))}} == {{str(x.device)}})
"""
    two = {
        **os.environ,
        "COVECTOR_NUM_CPU_DEVICES": "2",
        "PYTHONPATH": ":".join(sys.path),
    }
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env=two,
    )
    assert done.stdout.split() == ["True", "True"]

"""Arrays are read before a part of them is overwritten, and never copied for that."""

import random

import ml_dtypes
import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import lax
from covector.lowering.in_place import PartsRead, with_updates_in_place

ROWS = 12
X = np.linspace(-1, 1, ROWS * 8, dtype=np.float32).reshape(ROWS, 8)
W = np.cos(np.arange(64, dtype=np.float32)).reshape(8, 8) / 4
PLACES = np.array([[3, 1, 7], [7, 3, 0], [1, 2, 5], [11, 10, 9]] * 3, np.int32)


def named(i):
    """Numbers of three rows."""
    return cnp.array(PLACES)[i]


def repeated(step):
    """The program that takes a step for each row but the first."""
    return lambda x: lax.fori_loop(1, x.shape[0], step, x)


def history(x):
    """Each row becomes the carry, which is made of what was there."""

    def step(carry, i):
        h, rows = carry
        return (cnp.tanh(h + rows[i]), rows.at[i].set(h)), rows[i - 1].sum()

    return lax.scan(step, (x[0], x), cnp.arange(x.shape[0]))


def in_turns(x):
    """Two arrays, each written from the other."""

    def step(i, pair):
        a, b = pair
        return a.at[i].set(b[i - 1] * 2), b.at[i].set(cnp.sin(a[i - 1]))

    return lax.fori_loop(1, x.shape[0], step, (x, x * 2))


def table(x):
    """A table of which each number is made of its neighbours."""

    def number(i, j, t):
        return t.at[i, j].set(cnp.sin(t[i - 1, j] + t[i, j - 1]) + t[i - 1, j - 1] * 2)

    def row(i, t):
        return lax.fori_loop(1, x.shape[1], lambda j, t: number(i, j, t), t)

    return lax.fori_loop(1, x.shape[0], row, x)


def by_a_branch(i, a):
    def written(a):
        return a.at[i].set(cnp.tanh(a[i - 1]))

    return lax.cond(i % 2 == 0, written, lambda a: a, a)


@cv.jit
def by_a_call(i, a):
    return a.at[i].set(cnp.tanh(a[i - 1]) + a[i])


def behind_another(i, a):
    """The place that is written is the least of a row that is read."""
    k = cnp.argmin(a[i])
    return a.at[i - 1, k].set(a[i, k] * 2 + a[k, 0])


PROGRAMS = {
    "a row of the one before": repeated(lambda i, a: a.at[i].set(a[i] + a[i - 1])),
    "a row by a product": repeated(lambda i, a: a.at[i].set(cnp.tanh(a[i - 1] @ W))),
    "added to a row": repeated(lambda i, a: a.at[i].add(a[i - 1] * 0.5)),
    "times a row": repeated(lambda i, a: a.at[i].multiply(a[i - 1])),
    "a number": repeated(lambda i, a: a.at[i, 3].set(cnp.sin(a[i - 1, 3]))),
    "a column": repeated(lambda i, a: a.at[:, i % 8].set(a[:, i % 8 - 1] * 0.5)),
    "rows exchanged": repeated(
        lambda i, a: a.at[i].set(a[i - 1]).at[i - 1].set(a[i] * 2)
    ),
    "rows that arrays name": repeated(
        lambda i, a: a.at[named(i)].set(a[named(i - 1)] * 0.5, unique_indices=True)
    ),
    "added to rows that arrays name": repeated(
        lambda i, a: a.at[named(i)].add(a[named(i - 1)])
    ),
    "a branch": repeated(by_a_branch),
    "a call": repeated(by_a_call),
    "a place that depends on what is read": repeated(behind_another),
    "a batch": cv.vmap(repeated(lambda i, a: a.at[i].set(cnp.tanh(a[i - 1])))),
    "history": history,
    "two arrays in turns": in_turns,
    "a table": table,
}
# What a branch or a call is given it may have to copy, and argmin reads all of a row.
WITHOUT_COPIES = [
    name for name in PROGRAMS if name not in ("a batch", "a branch", "a call")
]


def pulled_back(program):
    """The gradient by what the program is given, for cotangents of ones."""

    def gradient(x):
        outs, pull = cv.vjp(program, x)
        return pull(cv.tree.map(cnp.ones_like, outs))[0]

    return gradient


def check_same(found, wanted, rtol=1e-5):
    for a, b in zip(cv.tree.leaves(found), cv.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("of", [lambda program: program, pulled_back], ids=["", "grad"])
def test_compiled_updates_are_those_of_numpy(name, of):
    program = of(PROGRAMS[name])
    with cv.disable_jit():
        wanted = program(cnp.array(X))
    check_same(cv.jit(program)(X), wanted)


def copies_of_arrays_in(compiled, shape):
    """Lines of loops that copy an array of this shape, which is not a part of one."""
    text = compiled.as_text()
    loops = text[: text.index("\nENTRY")]
    whole = f"f32[{','.join(map(str, shape))}]"
    return [x for x in loops.splitlines() if f"= {whole}" in x and " copy(" in x]


@pytest.mark.parametrize("name", WITHOUT_COPIES)
@pytest.mark.parametrize("of", [lambda program: program, pulled_back], ids=["", "grad"])
def test_no_step_copies_the_array_that_it_updates(name, of):
    x = np.resize(X, (2048, 24 if name == "a table" else 16))
    if "product" in name:
        x = x[:, :8]
    compiled = cv.jit(of(PROGRAMS[name])).lower(x).compile()
    assert not copies_of_arrays_in(compiled, x.shape)


def test_small_floats_are_added_to_a_row_without_widening_all():
    x = cnp.zeros((512, 64), ml_dtypes.bfloat16)
    program = pulled_back(PROGRAMS["a row of the one before"])
    text = cv.jit(program).lower(x).compile().as_text()
    assert "f32[512,64]" not in text


def test_a_read_that_needs_the_update_comes_after_it():
    def step(i, a):
        written = a.at[i].set(a[i - 1] + 1)
        k = written[i, 0].astype(cnp.int32) % 3
        return written.at[0].set(a[k] + written[k])

    x = np.arange(40, dtype=np.float32).reshape(10, 4)
    program = repeated(step)
    with cv.disable_jit():
        wanted = program(cnp.array(x))
    check_same(cv.jit(program)(x), wanted)


def test_what_is_printed_keeps_its_order(capfd):
    def step(i, a):
        cv.debug.print("before {}", i, ordered=True)
        a = a.at[i].set(a[i - 1] + 1)
        cv.debug.print("after {}", a[i, 0], ordered=True)
        return a.at[i - 1].set(a[i])

    cv.jit(repeated(step))(np.zeros((3, 64), np.float32)).block_until_ready()
    cv.effects_barrier()
    said = capfd.readouterr().out.split("\n")
    assert [x.split()[0] for x in said if x] == ["before", "after"] * 2


def test_parts_of_what_is_computed_where_it_is_needed_are_not_read_first():
    def program(x):
        wave = cnp.sin(x)
        return wave.at[3].set(wave[2])

    jaxpr = cv.make_jaxpr(program)(np.zeros((2048, 16), np.float32)).jaxpr
    made = with_updates_in_place(jaxpr, 0)
    assert not [e for e in made.equations if type(e.op) is PartsRead]


def test_outside_of_loops_small_arrays_are_copied():
    def program(x, i):
        return x.at[i].set(x[i - 1])

    def kernels(rows):
        x = np.zeros((rows, 16), np.float32)
        return cv.jit(program).lower(x, 3).as_text().count("read_parts")

    assert not kernels(16)
    assert kernels(4096)


def test_cotangents_of_parts_are_added_in_place():
    def program(x, i, places, rows):
        _, to_places = cv.vjp(lambda x: x[places], x)
        _, to_row = cv.vjp(lambda x: lax.dynamic_slice(x, (i, 0), (1, 8)), x)
        return x + to_places(rows)[0] + to_row(rows[:1])[0]

    i, places, rows = np.int32(2), np.array([1, 1, 3]), X[:3]
    jaxpr = cv.make_jaxpr(program)(X, i, places, rows).jaxpr
    made = with_updates_in_place(jaxpr, 0)
    whole = [e for e in made.equations if e.outputs[0].type.shape == X.shape]
    assert [e.op.name for e in whole if e.op.adds or e.op.updates_part] == [
        "scatter-add",
        "dynamic_update_slice",
    ]
    wanted = np.array(X)
    np.add.at(wanted, [1, 1, 3, 2], X[[0, 1, 2, 0]])
    np.testing.assert_allclose(cv.jit(program)(X, i, places, rows), wanted, rtol=1e-6)


@pytest.mark.parametrize("seed", range(40))
def test_random_reads_and_updates_are_those_of_numpy(seed):
    choose = random.Random(seed)
    steps = []
    for _ in range(choose.randint(3, 14)):
        kind = choose.choice(["set", "add", "rows", "swap", "carry"])
        steps.append((kind, *[choose.randrange(9) for _ in range(4)]))

    def run(a, b, turn):
        arrays, known = [a, b], [turn, turn + 1]
        for kind, p, q, r, s in steps:
            to, of = p % 2, q % 2
            at = (known[r % len(known)] * 3 + s) % 9
            source = (known[s % len(known)] + r) % 9
            read = arrays[of][source]
            if kind == "set":
                arrays[to] = arrays[to].at[at].set(read + 1)
            elif kind == "add":
                arrays[to] = arrays[to].at[at].add(read)
            elif kind == "rows":
                places = cnp.stack([at, (at + 2) % 9])
                rows = arrays[of][places[::-1]]
                arrays[to] = arrays[to].at[places].set(rows)
            elif kind == "swap":
                old = arrays[to][at]
                arrays[to] = arrays[to].at[at].set(read).at[source].set(old * 0.5)
            else:
                known.append(cnp.floor(abs(read[p % 4])).astype(cnp.int32) % 9)
        return arrays

    def program(a, b):
        turn = lambda i, pair: tuple(run(*pair, i))  # noqa: E731
        return lax.fori_loop(0, 5, turn, (a, b))

    a = np.sin(np.arange(36, dtype=np.float32)).reshape(9, 4)
    b = np.cos(np.arange(36, dtype=np.float32)).reshape(9, 4)
    with cv.disable_jit():
        wanted = program(cnp.array(a), cnp.array(b))
    check_same(cv.jit(program)(a, b), wanted)

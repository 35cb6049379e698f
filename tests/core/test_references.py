"""References: a program with them is the program written without them.

Functions that use references inside are compared with the same ones without, under
every transformation; functions that change the references of their callers, with what
they should have left behind; and what cannot be given a meaning is refused in words.
"""

import copy
import pickle

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import lax
from covector.errors import DTypeError, RefError, TypeMismatch

X = cnp.asarray([0.5, -0.25, 1.5])


# -- laws: the same program without references -----------------------------------------


def powers(x):
    ref = cv.new_ref(x)
    ref[...] = ref[...] * ref[...] + x
    ref[1] += cnp.sin(ref[0])
    ref[1:] *= 2.0
    return ref[...]


def powers_without(x):
    y = x * x + x
    y = y.at[1].add(cnp.sin(y[0]))
    return y.at[1:].multiply(2.0)


def accumulated(x):
    total, last = cv.new_ref(cnp.zeros(())), cv.new_ref(x)

    def step(carry, y):
        total[...] += y * carry
        last[...] = cnp.sin(last[...]) * y
        return carry + y, total[...]

    _, sums = lax.scan(step, 1.0, x)
    return last[...] + cv.freeze(total) + sums


def accumulated_without(x):
    total, carry, last, sums = 0.0, 1.0, x, []
    for y in x:
        total = total + y * carry
        last = cnp.sin(last) * y
        carry = carry + y
        sums.append(total)
    return last + total + cnp.stack(sums)


def chosen(x):
    ref, other = cv.new_ref(x), cv.new_ref(2 * x)

    def double():
        ref[...] = ref[...] * other[...]

    def swapped():
        other[0] = cnp.cos(ref[1])

    lax.cond(x[0] > 0, double, swapped)
    lax.switch(2, [double, swapped, lambda: ref.addupdate(1.0, 0)])
    return ref[...] * other[...]


def chosen_without(x):
    yes = x * 2 * x, 2 * x
    no = x, (2 * x).at[0].set(cnp.cos(x[1]))
    a, b = [cnp.where(x[0] > 0, s, t) for s, t in zip(yes, no, strict=True)]
    return a.at[0].add(1.0) * b


def looped(x):
    ref = cv.new_ref(x)

    def body(n):
        ref[...] = cnp.sin(ref[...]) + x
        return n + 1

    count = lax.while_loop(lambda n: (n < 3) & (ref[2] > -9), body, 0)
    lax.fori_loop(0, 2, lambda i, _: ref.addupdate(x, ...), None)
    return ref[...] * count


def looped_without(x):
    y = x
    for _ in range(3):
        y = cnp.sin(y) + x
    return (y + 2 * x) * 3


def nested(x):
    ref = cv.new_ref(x)

    @cv.jit
    def outer(y):
        inside = cv.new_ref(y)

        def step(_, z):
            lax.cond(
                z > 0,
                lambda r: r.addupdate(z * inside[0]),
                lambda r: None,
                ref,
            )
            inside[0] = inside[0] * 2
            return None, None

        lax.scan(step, None, y)
        return inside[...]

    return cv.checkpoint(outer)(x) + ref[...]


def nested_without(x):
    y, first = x, x[0]
    for z in x:
        y = cnp.where(z > 0, y + z * first, y)
        first = first * 2
    return x.at[0].set(first) + y


LAWS = {
    "indices": (powers, powers_without),
    "scan": (accumulated, accumulated_without),
    "cond": (chosen, chosen_without),
    "loops": (looped, looped_without),
    "calls": (nested, nested_without),
}


def sum_of(f):
    return lambda x: cnp.sum(f(x) * cnp.arange(1.0, 4.0))


TRANSFORMED = {
    "eager": lambda f: f,
    "jit": cv.jit,
    "grad of jit": lambda f: cv.grad(cv.jit(sum_of(f))),
    "forward over reverse": lambda f: lambda x: cv.jvp(cv.grad(sum_of(f)), (x,), (x,)),
    "checkpoint": lambda f: cv.grad(cv.checkpoint(sum_of(f))),
    "batch of gradients": lambda f: (
        lambda x: cv.vmap(cv.grad(sum_of(f)))(cnp.stack([x, -x]))
    ),
}


@pytest.mark.parametrize("transformation", TRANSFORMED)
@pytest.mark.parametrize("program", LAWS)
def test_a_program_with_references_equals_the_one_without(program, transformation):
    transform = TRANSFORMED[transformation]
    given, wanted = [transform(f)(X) for f in LAWS[program]]
    for x, y in zip(cv.tree.leaves(given), cv.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(x, y, rtol=2e-5, atol=2e-5)


# -- references of the caller ----------------------------------------------------------


def test_a_jitted_function_changes_the_references_that_it_is_given_or_closes_over():
    mine, given = cv.new_ref(cnp.zeros(2)), {"a": cv.new_ref(1.0), "b": 2.0}

    @cv.jit
    def step(refs, x):
        mine[0] += x
        refs["a"][...] *= refs["b"]
        return mine[...]

    for k in range(1, 4):  # traced, remembered, and by the quickest way
        assert step(given, 1.0).tolist() == [k, 0.0]
        assert float(given["a"][...]) == 2.0**k
    other = {"a": cv.new_ref(5.0), "b": 3.0}
    step(other, 10.0)
    assert (float(other["a"][...]), float(given["a"][...])) == (15.0, 8.0)
    assert mine[...].tolist() == [13.0, 0.0]
    assert len(step.programs) == 1


def test_a_jitted_function_reads_what_a_reference_holds_now():
    scale = cv.new_ref(cnp.ones(2000))
    scaled = cv.jit(lambda x: x * scale[0])
    assert float(scaled(3.0)) == 3.0
    scale[0] = 5.0
    assert float(scaled(3.0)) == 15.0
    assert float(cv.jit(lambda x: scaled(x) + scaled(x))(1.0)) == 10.0


def test_calls_inside_of_programs_see_each_others_writes_in_order():
    ref = cv.new_ref(0.0)

    @cv.jit
    def append(digit):
        ref[...] = ref[...] * 10 + digit
        return ref[...]

    def number(x):
        return append(x), append(2.0), lax.cond(x > 0, append, append, 3.0), ref[...]

    wanted = [1.0, 12.0, 123.0, 123.0]
    for f in (number, cv.jit(number), cv.checkpoint(number)):
        ref[...] = 0.0
        assert list(map(float, f(1.0))) == wanted
        assert float(ref[...]) == 123.0
    ref[...] = 0.0
    primals, tangents = cv.jvp(lambda x: (x * ref[...], append(4.0))[0], (2.0,), (1.0,))
    assert (float(primals), float(tangents), float(ref[...])) == (0.0, 0.0, 4.0)


def test_a_branch_that_does_not_write_leaves_a_reference_as_it_was():
    one, two = cv.new_ref(1.0), cv.new_ref(2.0)
    choose = cv.jit(
        lambda p: lax.cond(
            p, lambda: one.set(10.0), lambda: two.set(one[...] + two[...])
        )
    )
    choose(True)
    assert (float(one[...]), float(two[...])) == (10.0, 2.0)
    choose(False)
    assert (float(one[...]), float(two[...])) == (10.0, 12.0)


def test_a_function_that_fails_while_it_is_traced_leaves_references_as_they_were():
    ref = cv.new_ref(1.0)

    @cv.jit
    def fails(x, given):
        ref[...] = 2.0
        given[...] = x
        raise KeyError("of the user")

    given = cv.new_ref(3.0)
    for f in (fails, cv.vmap(lambda g: fails(0.0, g))):
        with pytest.raises(KeyError):
            f(*([1.0, given] if f is fails else [cv.new_ref(cnp.ones(2))]))
    assert (float(ref[...]), float(given[...])) == (1.0, 3.0)
    cv.jit(lambda r: r.set(7.0))(given)
    assert float(given[...]) == 7.0


def test_vmap_gives_each_lane_its_part_of_a_reference():
    vectors = cnp.arange(12.0).reshape(3, 4)
    distances = cv.new_ref(cnp.zeros((3, 3)))

    def distance(x, y, out):
        assert out.shape == ()
        out[...] += cnp.sum((x - y) ** 2)

    all_pairs = cv.vmap(cv.vmap(distance, (0, None, 0)), (None, 0, 1))
    all_pairs(vectors, vectors[::-1], distances)
    cv.jit(all_pairs)(vectors, vectors[::-1], distances)
    wanted = 2 * ((vectors[:, None] - vectors[::-1]) ** 2).sum(-1)
    np.testing.assert_array_equal(distances[...], wanted)
    shared = cv.new_ref(2.0)
    doubled = cv.vmap(lambda x, r: x * r[...] * shared[...], in_axes=(0, None))
    assert doubled(cnp.arange(3.0), shared).tolist() == [0.0, 4.0, 8.0]


@cv.custom_vjp
def noting(x, ref):
    return x


noting.defvjp(
    lambda x, ref: (x, ref), lambda ref, ct: (ref.addupdate(ct), (ct, None))[1]
)


def test_the_backward_rule_of_a_custom_vjp_writes_the_gradient_inside_of_a_function():
    noted = cv.new_ref(0.0)

    def f(x, ref):
        return cnp.sin(noting(x, ref)) * 2

    np.testing.assert_allclose(f(1.0, noted), cv.jit(f)(1.0, noted), rtol=1e-6)
    slope = 2 * np.cos(1.0)
    for k, gradient in enumerate([cv.grad(f), cv.jit(cv.grad(f))], start=1):
        np.testing.assert_allclose(gradient(1.0, noted), slope, rtol=1e-6)
        np.testing.assert_allclose(noted[...], k * slope, rtol=1e-6)
    with pytest.raises(RefError, match="made outside of it: its reads and writes"):
        cv.grad(cv.jit(lambda x: f(x, noted)))(1.0)


def test_a_value_that_is_not_differentiated_is_written_out_of_a_derivative():
    seen = cv.new_ref(0.0)

    def f(x, ref):
        ref[...] += lax.stop_gradient(x * x)
        return x * 3

    for gradient in (cv.grad(f), cv.jit(cv.grad(f)), cv.grad(cv.jit(f))):
        assert float(gradient(2.0, seen)) == 3.0
    assert float(seen[...]) == 12.0


def test_loops_without_jit_change_references_as_compiled_ones_do():
    def run():
        ref = cv.new_ref(cnp.zeros(2))
        _, seen = lax.scan(lambda c, x: (c, ref.swap(x, 0)), 0.0, cnp.arange(1.0, 4.0))
        lax.cond(True, lambda r: r.addupdate(1.0), lambda r: None, ref)
        return seen.tolist(), ref[...].tolist()

    with cv.disable_jit():
        without = run()
    assert without == run() == ([0.0, 1.0, 2.0], [4.0, 1.0])


def test_compiled_stages_take_references():
    step = cv.jit(lambda ref, x: ref.addupdate(x)).lower(cv.new_ref(0.0), 1.0).compile()
    ref = cv.new_ref(1.0)
    step(ref, 2.0)
    assert float(ref[...]) == 3.0
    with pytest.raises(
        TypeMismatch, match=r"was traced for Ref{f32\[\]} as argument 0"
    ):
        step(1.0, 2.0)
    with pytest.raises(TypeMismatch, match=r"but got Ref{f32\[\]}"):
        step(ref, ref)
    like = cv.ShapeDtypeStruct((2,), "float32", is_ref=True)
    assert cv.eval_shape(lambda r: r[0], like).shape == ()


# -- what cannot be given a meaning ----------------------------------------------------


def refusals():
    ref, other = cv.new_ref(cnp.ones(3)), cv.new_ref(1.0)
    frozen = cv.new_ref(1.0)
    cv.freeze(frozen)
    escaped = []
    cv.jit(lambda x: escaped.append(cv.new_ref(x)))(1.0)
    return {
        "returned": (
            lambda: cv.jit(lambda r: [r])(ref),
            RefError,
            "returns a reference",
        ),
        "returned from a branch": (
            lambda: lax.cond(True, lambda: ref, lambda: ref),
            RefError,
            "returns a reference, Ref{f32[3]}, but a reference stays in",
        ),
        "passed twice": (
            lambda: cv.jit(lambda r, s: r[...] + s[...])(ref, ref),
            RefError,
            "has a reference as an argument, and the same one closed over",
        ),
        "passed and closed over": (
            lambda: cv.jit(lambda r: r[...] + ref[...])(ref),
            RefError,
            "use one argument alone",
        ),
        "mapped and closed over": (
            lambda: cv.vmap(lambda r: r[...] + ref[0])(ref),
            RefError,
            "closed over or as another argument",
        ),
        "mapped twice": (
            lambda: cv.vmap(lambda r, s: r[...] + s[...])(ref, ref),
            RefError,
            "of which one does not see what the other writes",
        ),
        "carried": (
            lambda: lax.scan(lambda c, _: (c, None), ref, None, length=2),
            TypeMismatch,
            "needs an array, but got a reference, Ref{f32[3]}. Read it first",
        ),
        "written by a test": (
            lambda: lax.while_loop(
                lambda n: (other.set(0.0), n < 2)[1], lambda n: n, 0
            ),
            RefError,
            "writes to a reference, Ref{f32[]}, but it only answers whether",
        ),
        "written by a batch": (
            lambda: cv.vmap(other.set)(cnp.ones(2)),
            RefError,
            "which of the lanes of the batch writes last?",
        ),
        "written by a derivative": (
            lambda: cv.grad(lambda x: (other.set(x), x)[1])(1.0),
            RefError,
            "where its derivative would be lost",
        ),
        "written by a rule": (
            lambda: cv.jvp(rule_that_writes(other), (1.0,), (1.0,)),
            RefError,
            "writes a tangent to a reference made outside of it",
        ),
        "written by shards": (
            lambda: cv.shard_map(
                lambda x: x + ref[0],
                mesh=cv.make_mesh((1,), ("x",)),
                in_specs=cv.P(),
                out_specs=cv.P(),
            )(1.0),
            RefError,
            "its reads and writes would not come in the order",
        ),
        "written by a custom function": (
            lambda: cv.jit(lambda x: writing(x, other))(1.0),
            RefError,
            "writes to a reference made outside of it, Ref{f32[]}, inside of a program",
        ),
        "differentiated": (
            lambda: cv.grad(lambda r: r[...])(other),
            TypeMismatch,
            "but got a reference, Ref{f32[]}. Read it first",
        ),
        "computed with": (
            lambda: cnp.sin(ref),
            TypeMismatch,
            "sin needs an array, but got a reference, Ref{f32[3]}",
        ),
        "used by NumPy": (lambda: np.asarray(ref), TypeMismatch, "NumPy needs"),
        "as a condition": (lambda: bool(other), TypeMismatch, "Read it first"),
        "written a reference": (
            lambda: ref.set(other),
            TypeMismatch,
            "a reference needs an array, but got a reference",
        ),
        "of another dtype": (
            lambda: cv.new_ref(1).set(1.5),
            DTypeError,
            "f32[] cannot be written to a reference to i32[] as it is: their common",
        ),
        "of another shape": (
            lambda: ref.set(cnp.ones(4)),
            TypeMismatch,
            "cannot broadcast f32[4] to the shape (3,)",
        ),
        "of a reference": (
            lambda: cv.new_ref(init_val=ref),
            RefError,
            "new_ref(ref[...])",
        ),
        "frozen": (lambda: frozen[...], RefError, "was used after freeze, which ended"),
        "frozen in a program": (
            cv.jit(lambda: frozen[...]),
            RefError,
            "was used after freeze",
        ),
        "frozen elsewhere": (
            cv.jit(lambda: cv.freeze(ref)),
            RefError,
            "freeze ends a reference in the function that made it, but Ref{f32[3]}",
        ),
        "frozen by who was given it": (
            lambda: cv.jit(cv.freeze)(ref),
            RefError,
            "call freeze where new_ref was called",
        ),
        "escaped": (
            lambda: escaped[0][...],
            RefError,
            "was made inside of <lambda>, and used outside of it",
        ),
        "escaped into another": (
            cv.jit(lambda: escaped[0].set(1.0)),
            RefError,
            "A reference stays in the function that makes it",
        ),
    }


@cv.custom_jvp
def writing(x, ref):
    ref[...] = 5.0
    return x


def rule_that_writes(ref):
    @cv.custom_jvp
    def f(x):
        return x

    @f.defjvp
    def rule(primals, tangents):
        ref[...] = tangents[0]
        return primals[0], tangents[0]

    return cv.grad(f)


writing.defjvp(lambda primals, tangents: (primals[0], tangents[0]))


REFUSALS = refusals()


@pytest.mark.parametrize("case", REFUSALS)
def test_what_has_no_meaning_is_refused_in_words(case):
    call, error, words = REFUSALS[case]
    with pytest.raises(error) as caught:
        call()
    assert words in str(caught.value)


# -- the object ------------------------------------------------------------------------


def test_a_reference_says_what_it_is():
    ref = cv.new_ref(cnp.zeros((2, 3)))
    assert (ref.shape, ref.ndim, ref.size, len(ref)) == ((2, 3), 2, 6, 2)
    assert ref.dtype == "float32" and str(cv.typeof(ref)) == "Ref{f32[2,3]}"
    assert cv.typeof(ref) == cv.typeof(cv.new_ref(cnp.ones((2, 3)))) == ref.aval
    assert cv.typeof(ref) != cv.typeof(cv.new_ref(1)) and cv.typeof(ref) != 3
    assert isinstance(cv.typeof(ref), cv.ref.AbstractRef)
    assert isinstance(ref, cv.Ref) and not isinstance(ref, cv.Array)
    assert not ref.committed and ref.sharding == ref[...].sharding
    assert ref.block_until_ready() is ref and ref.format == ref[...].format
    assert cv.tree.leaves([ref]) == [ref]
    shown = []
    cv.jit(lambda r: shown.append(repr(r)))(ref)
    assert shown == ["Ref{f32[2,3]}"] and repr(cv.new_ref(2)) == "Ref(2, dtype=int32)"
    assert isinstance(ref.unsafe_buffer_pointer(), int)


def test_a_number_makes_a_reference_of_its_default_dtype():
    ref = cv.new_ref(0.0)
    assert not ref[...].weak_type
    assert (ref[...] + cnp.ones((), "bfloat16")).dtype == "float32"


def test_copies_of_a_reference_are_other_references():
    ref = cv.new_ref(cnp.arange(3))
    copies = [copy.copy(ref), copy.deepcopy(ref), pickle.loads(pickle.dumps(ref))]
    ref[0] = 9
    assert [c[...].tolist() for c in copies] == [[0, 1, 2]] * 3


def test_a_program_changes_a_large_reference_in_its_memory():
    ref = cv.new_ref(cnp.zeros(1 << 16))
    step = cv.jit(lambda r: r.addupdate(1.0))
    step(ref)
    address = ref.unsafe_buffer_pointer()
    for _ in range(3):
        step(ref)
    assert ref.unsafe_buffer_pointer() == address
    _, pull = cv.vjp(cv.jit(lambda x: cnp.sum(x * ref[...])), ref[...])
    step(ref)
    step(ref)
    assert float(pull(1.0)[0][0]) == 4.0 and float(ref[0]) == 6.0
    with cv.debug_nans(True):
        step(ref)
    assert float(ref[0]) == 7.0


def test_a_program_that_fails_in_its_midst_leaves_a_reference_as_it_was():
    ref = cv.new_ref(cnp.zeros(1 << 16))

    def refuse(x):
        if x > 2:
            raise KeyError("of the user")
        return x

    @cv.jit
    def step(r):
        like = cv.ShapeDtypeStruct((), "float32")
        r[...] = r[...] + cv.pure_callback(refuse, like, r[0]) + 1

    step(ref)
    step(ref)
    with pytest.raises(KeyError):
        step(ref)
    assert float(ref[0]) == 3.0


def test_what_was_read_does_not_change():
    ref = cv.new_ref(cnp.zeros(40_000))
    step = cv.jit(lambda r: r.addupdate(1.0))
    seen = []
    for _ in range(3):
        step(ref)
        step(ref)
        seen.append((ref[...], np.asarray(ref[:2])))
    assert [float(x[0]) for x, _ in seen] == [2.0, 4.0, 6.0]
    assert [part.tolist() for _, part in seen] == [[2.0] * 2, [4.0] * 2, [6.0] * 2]

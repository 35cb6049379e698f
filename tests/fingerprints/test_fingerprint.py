"""What a function says: which function objects are traced once, and which anew."""

# Functions are made in each of the ways in which users make them.
# ruff: noqa: B008, B023, F821, PLW0108

import dataclasses
import dis
import functools
import gc
import inspect
import types
import weakref

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector.dispatch import tracing
from covector.fingerprints.contents import reads_of
from covector.fingerprints.fingerprint import fingerprint_of

X = cnp.asarray(np.arange(4, dtype=np.float32))


def tracings(make, times=1):
    """How often functions are traced, in calling each that ``make()`` gives once."""
    count = 0

    def stage(*args, **kwargs):
        nonlocal count
        count += 1
        return before(*args, **kwargs)

    before, tracing.stage = tracing.stage, stage
    try:
        for _ in range(times):
            cv.jit(make())(X)
    finally:
        tracing.stage = before
    return count


SCALE = 2.0


def of(c):
    return lambda x: x * c


def by_default(c):
    def f(x, c=c):
        return x * c

    return f


def by_keyword(c):
    def f(x, *, c=c):
        return x * c

    return f


@dataclasses.dataclass(frozen=True)
class Frozen:
    scale: float

    def __call__(self, x):
        return x * self.scale


class Model:
    def __init__(self, scale):
        self.scale = scale

    def apply(self, x):
        return x * self.scale


# -- the same --------------------------------------------------------------------------

WEIGHTS = cnp.ones(4)
MODEL = Model(3.0)
PARAMETERS = {"w": WEIGHTS, "b": [1.0, (2, "three")]}

SAME = {
    "a closure over a number": lambda: of(2.0),
    "a default": lambda: by_default(2.0),
    "a default by keyword": lambda: by_keyword(2.0),
    "nan": lambda: of(float("nan")),
    "an array": lambda: of(WEIGHTS),
    "a key": lambda: lambda x, k=KEY: x + cv.random.normal(k),
    "a NumPy array": lambda: of(np.ones(4, np.float32)),
    "a NumPy scalar": lambda: of(np.float32(2)),
    "a tree": lambda: lambda x: x * PARAMETERS["w"] + PARAMETERS["b"][0],
    "a list": lambda: lambda x, sizes=[1, 2]: x * sizes[0],
    "a set": lambda: lambda x, axes=frozenset({0}): x.sum(tuple(axes)),
    "a slice": lambda: lambda x, part=slice(1, 3): x[part],
    "a dtype": lambda: lambda x, dtype=np.dtype("int32"): x.astype(dtype),
    "a class": lambda: lambda x, kind=Frozen: kind(2.0)(x),
    "a function": lambda: lambda x, f=of(2.0): f(x),
    "a global function": lambda: lambda x: by_default(SCALE)(x),
    "a partial": lambda: functools.partial(lambda c, x: x * c, 2.0),
    "a frozen dataclass": lambda: Frozen(2.0),
    "a bound method": lambda: MODEL.apply,
    "an object that is not changed": lambda: lambda x: x * MODEL.scale,
    "grad": lambda: cv.grad(lambda x: cnp.sum(x * SCALE)),
    "value_and_grad": lambda: cv.value_and_grad(lambda x: cnp.sum(x**2), has_aux=False),
    "vmap": lambda: cv.vmap(lambda x: x * 2, in_axes=0),
    "vmap of grad": lambda: cv.vmap(cv.grad(lambda x: x**2)),
    "jacfwd": lambda: cv.jacfwd(lambda x: x**2),
    "hessian": lambda: cv.hessian(lambda x: cnp.sum(x**3)),
    "checkpoint": lambda: cv.checkpoint(lambda x: cnp.sin(x)),
    "jit": lambda: cv.jit(lambda x: cnp.sin(x)),
    "a jitted function inside": lambda: lambda x, f=cv.jit(of(2.0)): f(x),
    "recursion": lambda: power(3),
}

KEY = cv.random.key(0)


def power(n):
    def f(x, k=n):
        return x if k == 0 else x * f(x, k - 1)

    return f


@pytest.mark.parametrize("make", SAME.values(), ids=SAME)
def test_functions_that_say_the_same_are_traced_once(make):
    fingerprint, reason = fingerprint_of(make())
    assert fingerprint is not None, reason
    assert fingerprint_of(make())[0] == fingerprint
    assert tracings(make) >= 1
    assert tracings(make, 3) == 0


def test_a_loop_compiles_once_per_value():
    calls = [tracings(lambda c=c: of(c)) for c in (11.0, 11.0, 12.0, 11.0)]
    assert calls == [1, 0, 1, 0]


def test_results_are_those_of_each_function():
    for c in (2.0, 3.0, 2, True, -0.0, 0.0):
        out = cv.jit(of(c))(X)
        assert np.array_equal(np.signbit(out), np.signbit(np.asarray(X) * c))
        assert out.tolist() == (np.asarray(X) * c).tolist()
        slope = cv.jit(cv.grad(lambda x, c=c: cnp.sum(x * c)))(X)
        assert slope.tolist() == [float(c)] * 4


# -- different -------------------------------------------------------------------------

DIFFERENT = {
    "numbers": (1.0, 2.0),
    "1 and 1.0": (1, 1.0),
    "1 and True": (1, True),
    "0.0 and -0.0": (0.0, -0.0),
    "widths": (np.float32(1), np.float16(1)),
    "NumPy arrays": (np.ones(2), np.zeros(2)),
    "arrays": (cnp.ones(2), cnp.ones(2)),
    "tuples": ((1, 2), (1, 3)),
    "a tuple and a list": ((1, 2), [1, 2]),
    "lengths": ([1], [1, 2]),
    "keys of dicts": ({"a": 1}, {"b": 1}),
    "orders of dicts": ({"a": 1, "b": 1}, {"b": 1, "a": 1}),
    "functions": (of(1.0), of(2.0)),
    "codes": (lambda x: x, lambda y: y + 1),
    "objects": (Model(1.0), Model(1.0)),
    "frozen dataclasses": (Frozen(1.0), Frozen(2.0)),
    "partials": (functools.partial(of, 1), functools.partial(of, 2)),
    "methods": (Model(1.0).apply, Model(1.0).apply),
    "strings": ("sum", "mean"),
    "none": (None, 0),
}


@pytest.mark.parametrize(("a", "b"), DIFFERENT.values(), ids=DIFFERENT)
def test_functions_that_say_different_things_are_told_apart(a, b):
    assert fingerprint_of(of(a))[0] != fingerprint_of(of(b))[0]
    assert fingerprint_of(of(a))[0] == fingerprint_of(of(a))[0]


def test_what_was_changed_between_two_functions_is_seen():
    model, numbers, values = Model(1.0), [1.0], np.ones(4, np.float32)
    makes = [
        lambda: lambda x: x * model.scale,
        lambda: lambda x: x * numbers[0],
        lambda: lambda x: x * values,
        lambda: model.apply,
    ]
    for make in makes:
        model.scale, numbers[0], values[:] = 1.0, 1.0, 1.0
        assert cv.jit(make())(X).tolist() == X.tolist()
        model.scale, numbers[0], values[:] = 2.0, 2.0, 2.0
        assert cv.jit(make())(X).tolist() == (2 * X).tolist()


def test_globals_and_attributes_of_modules_are_part_of_the_fingerprint():
    module = types.ModuleType("settings_of_a_user")
    module.__file__ = __file__
    module.scale = 1.0
    space = {"scale": 1.0, "settings": module, "cnp": cnp}
    code = "def make():\n    return lambda x: x * scale * settings.scale"
    exec(compile(code, __file__, "exec"), space)
    for scale, other in ((1.0, 1.0), (2.0, 1.0), (2.0, 3.0), (1.0, 1.0)):
        space["scale"], module.scale = scale, other
        assert cv.jit(space["make"]())(X).tolist() == (scale * other * X).tolist()


def appending():
    seen = []
    return lambda x: (seen.append(x.shape), x)[1], seen


def counting():
    seen = {"traces": 0}

    def f(x):
        seen["traces"] += 1
        return x

    return f, seen


@pytest.mark.parametrize("make", [appending, counting])
def test_what_a_trace_writes_is_written_for_each_function_that_is_made(make):
    found = []
    for _ in range(3):
        f, seen = make()
        cv.jit(f)(X)
        found.append(seen)
    assert found in ([[X.shape]] * 3, [{"traces": 1}] * 3)


def test_a_function_that_is_made_again_prints_again(capsys):
    for _ in range(2):
        cv.jit(lambda x: (print("tracing"), x)[1])(X)  # noqa: T201
    assert capsys.readouterr().out == "tracing\n" * 2


def test_a_loop_variable_of_a_script_is_seen():
    space = {"jit": cv.jit, "x": X, "seen": []}
    code = "for c in (1.0, 2.0, 3.0):\n    seen.append(jit(lambda x: x * c)(x))"
    exec(compile(code, __file__, "exec"), space)
    assert [float(out[1]) for out in space["seen"]] == [1.0, 2.0, 3.0]


def test_one_function_object_is_traced_once_though_its_closure_changes():
    c = 1.0

    @cv.jit
    def f(x):
        return x * c

    assert f(X).tolist() == X.tolist()
    c = 2.0
    assert f(X).tolist() == X.tolist()  # as it was traced
    assert float(f(1.0)) == 2.0  # another signature: traced now
    assert cv.jit(lambda x: f.fun(x))(X).tolist() == (2 * X).tolist()


def test_static_arguments_are_part_of_the_fingerprint():
    def make():
        return cv.jit(lambda x, n: x * n, static_argnums=1)

    assert make()(X, 2).tolist() == (2 * X).tolist()
    assert make()(X, 3).tolist() == (3 * X).tolist()
    assert make()(X, 2.5).tolist() == (2.5 * X).tolist()


def names_read(code):
    """What ``reads_of`` finds, as ``dis`` tells it: globals, attributes, imports."""
    kinds = {
        **dict.fromkeys(("LOAD_GLOBAL", "LOAD_NAME"), 0),
        **dict.fromkeys(("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR"), 1),
        "IMPORT_FROM": 1,
        "IMPORT_NAME": 2,
    }
    found = set(), set(), set()
    for instruction in dis.get_instructions(code):
        if instruction.opname in kinds:
            found[kinds[instruction.opname]].add(instruction.argval)
    if "getattr" in found[0]:
        found[1].update(c for c in code.co_consts if isinstance(c, str))
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            for names, more in zip(found, names_read(inner), strict=True):
                names.update(more)
    return found


def test_the_names_that_code_reads_are_those_that_dis_tells():
    many = "\n".join(f"a{i} = b{i}.c{i}" for i in range(300))  # beyond one byte
    sources = [inspect.getsource(m) for m in (dataclasses, functools, inspect, types)]
    for source in [many, *sources]:
        code = compile(source, "some.py", "exec")
        found = reads_of(code)
        assert names_read(code) == (
            {*found.globals},
            {*found.attributes},
            {*found.imports},
        )


# -- what cannot be told ---------------------------------------------------------------

UNKNOWN = {
    "an iterator": (lambda: iter([1.0, 2.0]), "list_iterator"),
    "a generator of numbers": (lambda: np.random.default_rng(0), "Generator"),
    "a large NumPy array": (lambda: np.zeros(1 << 20), "NumPy array of 8388608 bytes"),
    "too many values": (lambda: list(range(1000)) + [[i] for i in range(5000)], "many"),
}


@pytest.mark.parametrize(("make", "words"), UNKNOWN.values(), ids=UNKNOWN)
def test_what_cannot_be_compared_stands_for_itself(make, words):
    fingerprint, reason = fingerprint_of(of(make()))
    assert fingerprint is None
    assert words in reason


def test_what_an_iterator_gives_is_not_mixed_up():
    numbers = iter([1.0, 2.0])
    assert float(cv.jit(lambda x: x * next(numbers))(1.0)) == 1.0
    assert float(cv.jit(lambda x: x * next(numbers))(1.0)) == 2.0


# -- nothing is kept alive -------------------------------------------------------------


def test_neither_a_function_nor_what_it_closes_over_is_kept_alive():
    big = cnp.ones(5000)
    model = Model(big)
    f = lambda x: x + model.scale  # noqa: E731
    cv.jit(f)(cnp.ones(5000))
    alive = [weakref.ref(v) for v in (big, model, f)]
    del big, model, f
    gc.collect()
    assert [ref() for ref in alive] == [None] * 3


def test_an_array_in_the_place_of_one_that_is_gone_is_another():
    for value in range(20):  # objects of one size reuse their memory
        big = cnp.full(2000, float(value))
        out = cv.jit(lambda x: x + big)(cnp.zeros(2000))
        assert float(out[0]) == value
        del big, out


def test_an_object_with_the_identity_of_one_that_is_gone_is_another():
    def reading(model):
        return lambda x: x * model.scale

    models = [Model(2.0) for _ in range(100)]
    known = {id(model): fingerprint_of(reading(model))[0] for model in models}
    assert fingerprint_of(reading(models[0]))[0] == known[id(models[0])] is not None
    del models
    gc.collect()
    made = [Model(2.0) for _ in range(2000)]  # in the memory of those that are gone
    again = [model for model in made if id(model) in known]
    assert again
    for model in again:
        assert fingerprint_of(reading(model))[0] != known[id(model)]


def test_forgetting_programs():
    def make():
        return lambda x: x * 7.5

    assert tracings(make) == 1
    cv.clear_caches()
    assert tracings(make) == 1
    assert tracings(make) == 0
    cv.jit(make()).clear_cache()
    assert tracings(make) == 1


def test_numpy_scalars_that_are_equal_numbers_are_told_by_their_bytes():
    for zero in (np.float32(0.0), np.float32(-0.0), np.float32(0.0)):
        out = cv.jit(lambda x: x * zero)(X + 1)
        assert np.signbit(np.asarray(out)).all() == np.signbit(zero)


def test_functions_that_differ_in_a_keyword_default_are_different():
    found = [cv.jit(by_keyword(c))(X)[1].item() for c in (2.0, 3.0, 2.0)]
    assert found == [2.0, 3.0, 2.0]


class Slotted:
    __slots__ = ("scale",)


def test_a_slot_that_is_set_to_something_else_is_noticed():
    held = Slotted()
    found = []
    for held.scale in (2.0, 3.0):
        found.append(cv.jit(lambda x: x * held.scale)(X)[1].item())
    assert found == [2.0, 3.0]


def test_a_reference_counts_by_identity_and_not_by_what_it_holds():
    ref, other = cv.new_ref(0.0), cv.new_ref(0.0)

    def reading(r):
        return lambda x: x * r[...]

    before = fingerprint_of(reading(ref))
    ref[...] = 2.0
    assert fingerprint_of(reading(ref)) == before != fingerprint_of(reading(other))
    assert [float(cv.jit(reading(r))(3.0)) for r in (ref, other, ref)] == [
        6.0,
        0.0,
        6.0,
    ]

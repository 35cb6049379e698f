"""The data of explanations, over programs of all kinds."""

import functools
import json

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector import lax
from covector.errors import ArgumentError
from tests.meshes import mesh, named

X = cnp.ones((4, 3))


def loss(params, x):
    for w in params["layers"]:
        x = cnp.tanh(x @ w)
    return cnp.sum(x**2)


PARAMS = {"layers": [cnp.ones((3, 3))] * 2}


def loop(x):
    return lax.fori_loop(0, 5, lambda _, c: cnp.sin(c), x)


def until(x):
    return lax.while_loop(lambda c: cnp.sum(c) < 100.0, lambda c: c * 2, x)


def branch(x):
    return lax.cond(cnp.sum(x) > 0, cnp.sin, lambda x: x * 2, x)


def prints(x):
    cv.debug.print("{}", x)
    return cv.pure_callback(np.sin, x, x)


def draw(key):
    return cv.random.normal(key, (3,))


def writes(ref):
    ref[...] = ref[...] * 2


def mean_over_devices(x):
    of_one = cv.shard_map(
        lambda x: lax.psum(cnp.sum(x, 0), "x"),
        mesh=mesh("8"),
        in_specs=cv.P("x"),
        out_specs=cv.P(),
    )
    return cnp.sum(of_one(x) ** 2)


def sharded():
    x = cv.device_put(cnp.ones((8, 3)), named("x", on="8"))
    return cv.explain(cv.grad(mean_over_devices))(x)


def in_64_bits():
    with cv.enable_x64(True):
        return cv.explain(cv.grad(lambda x: cnp.sum(x**2)))(cnp.ones(3, "float64"))


def closure():
    large = cnp.ones(5000)
    step = cv.jit(lambda x, n: x + large * n, donate_argnums=0, static_argnums=1)
    return cv.explain(step)(cnp.ones(5000), 2)


PROGRAMS = {
    "sharded": sharded,
    "64 bits": in_64_bits,
    "a closure, donated and static": closure,
    "gradient": lambda: cv.explain(cv.grad(loss))(PARAMS, X),
    "jitted": lambda: cv.explain(cv.jit(loss))(PARAMS, X),
    "traced": cv.explain(cv.jit(loss).trace(PARAMS, X)),
    "batched": lambda: cv.explain(cv.vmap(cv.jit(cnp.sin)))(X),
    "loop": lambda: cv.explain(cv.grad(lambda x: cnp.sum(loop(x))))(X),
    "loop of unknown length": lambda: cv.explain(until)(X),
    "branch": lambda: cv.explain(branch)(X),
    "effects": lambda: cv.explain(prints)(X),
    "keys": lambda: cv.explain(draw)(cv.random.key(0)),
    "references": lambda: cv.explain(writes)(cv.new_ref(X)),
    "nothing": lambda: cv.explain(lambda x: x)(X),
    "a constant": cv.explain(lambda: cnp.ones(3)),
    "types": lambda: cv.explain(loop)(cv.ShapeDtypeStruct((7,), "bfloat16")),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_data_is_json_and_every_number_in_it_is_of_something(name):
    found = json.loads(json.dumps(PROGRAMS[name]().to_dict(), allow_nan=False))
    counts = {key: len(found[key]) for key in ("equations", "values", "lines")}

    def check(numbers, of):
        assert all(0 <= i < counts[of] for i in numbers if i is not None)

    for i, e in enumerate(found["equations"]):
        check([*e["inputs"], *e["outputs"]], "values")
        check([e["line"]], "lines")
        assert all(k < i for k in e["around"])
    for v in found["values"]:
        check([v["made_by"], *v["used_by"]], "equations")
        check(v["ties"], "values")
        assert -1 <= v["born"] <= v["dies"] <= counts["equations"]
    for i, line in enumerate(found["lines"]):
        check(line["equations"], "equations")
        assert line["parent"] is None or 0 <= line["parent"] < i
    check([r["value"] for r in found["results"]], "values")
    check([v["value"] for v in found["memory"]["peak"]["values"]], "values")
    check([v["line"] for v in found["memory"]["peak"]["values"]], "lines")
    check(found["graph"]["critical_path"], "equations")
    in_lines = [i for line in found["lines"] for i in line["equations"]]
    assert sorted(in_lines) == list(range(counts["equations"]))
    flops = sum(line["flops"] for line in found["lines"])
    assert flops == sum(e["flops"] for e in found["equations"])


@pytest.mark.parametrize("name", ["gradient", "loop", "branch", "sharded"])
def test_shares_of_the_time_add_up_to_one(name):
    found = PROGRAMS[name]()
    shares = [line.estimated_share for line in found.lines]
    assert min(shares) >= 0
    assert sum(shares) == pytest.approx(1)
    assert sum(e.estimated_share for e in found.equations) == pytest.approx(1)


def test_arguments_and_results_have_paths():
    found = cv.explain(cv.grad(loss))(PARAMS, X)
    names = [v.argument for v in found.values if v.argument is not None]
    assert names == ["params['layers'][0]", "params['layers'][1]", "x"]
    assert [r.path for r in found.results] == [
        "result['layers'][0]",
        "result['layers'][1]",
    ]
    names = [v.argument for v in closure().values if v.argument is not None]
    assert names == ["closed over 0", "x"]


def test_methods_and_objects_that_are_called_have_names_for_their_arguments():
    class Model:
        @functools.partial(cv.jit, static_argnums=0)
        def jitted(self, x):
            return cnp.sin(x)

        def __call__(self, x, *, scale):
            return x * scale

    names = lambda found: [v.argument for v in found.values if v.argument]  # noqa: E731
    found = cv.explain(Model().jitted)(X)
    assert names(found) == ["x"]
    assert found.run(repeats=1).totals.measured_s > 0
    assert names(cv.explain(Model())(X, scale=2.0)) == ["x", "scale"]


def test_lines_in_a_jitted_function_stand_below_its_call():
    @cv.jit
    def inner(x):
        y = cnp.sin(x)
        return y * 2

    def outer(x):
        x = inner(x)
        return inner(x)

    found = cv.explain(outer)(X)
    parents = [None if n.parent is None else n.parent for n in found.lines]
    assert parents == [None, 0, 0, None, 3, 3]
    assert [n.kind for n in found.lines] == ["call", "line", "line"] * 2
    assert {n.function for n in found.lines if n.parent is not None} == {"inner"}


def test_communication_has_the_line_that_causes_it():
    found = sharded()
    (each,) = found.compilation.collectives
    assert each.axes == ("x",)
    assert "lax.psum" in found.lines[each.line].source


def test_while_a_function_is_traced_nothing_is_explained():
    def f(x):
        cv.explain(cnp.sin)(x)
        return x

    with pytest.raises(ArgumentError, match="explain looks at a whole program, but"):
        cv.jit(f)(1.0)


def test_a_slice_has_what_an_output_needs_and_what_depends_on_an_input():
    def f(x, y):
        return {"a": cnp.sin(x) * cnp.cos(y), "b": cnp.tan(y)}

    whole = cv.explain(f)(X, X)
    names = lambda part: [e.operation for e in part.equations]  # noqa: E731
    assert names(whole.slice(output="['a']")) == ["sin", "cos", "mul"]
    assert names(whole.slice(input="y")) == ["cos", "mul", "tan"]
    both = whole.slice(output=0, input=1)
    assert names(both) == ["cos", "mul"]
    assert names(whole.slice(output="result['a']").slice(input="y")) == names(both)
    assert both.totals.bytes < whole.totals.bytes
    json.dumps(both.to_dict(), allow_nan=False)


def test_a_slice_of_what_is_not_there_names_what_is():
    whole = cv.explain(loss)(PARAMS, X)
    with pytest.raises(ArgumentError, match="Did you mean \"params\\['layers'\\]\\[0"):
        whole.slice(input="params['layer'][0]")
    with pytest.raises(ArgumentError, match="output must be the path of a leaf"):
        whole.slice(output=3)


def test_prints_depend_on_what_they_print():
    def f(x, y):
        cv.debug.print("{}", cnp.sin(x))
        return y

    part = cv.explain(f)(X, X).slice(input="x")
    assert len(part.equations) == 2

    def in_loop(x, y):
        def step(y, row):
            cv.debug.print("{}", row)
            return y + 1, None

        return lax.scan(step, y, x)[0]

    part = cv.explain(in_loop)(X, X).slice(input="x")
    assert [e.operation for e in part.equations][:2] == ["scan", "debug_callback"]


def test_a_function_that_is_none_is_refused_in_words():
    with pytest.raises(TypeError, match="explain needs a function, but got 3"):
        cv.explain(3)

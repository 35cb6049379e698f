"""The steps of compilation are timed, by function, and a recompile has its cause."""

import json

import covector as cv
import covector.numpy as cnp
from covector.analysis.compiled.compilation import compilation
from tests.analysis.compiled.programs import M, V


def test_functions_that_are_called_are_named_with_their_times():
    @cv.jit
    def slow(x):
        for _ in range(50):
            x = cnp.sin(x) + 1
        return x

    @cv.jit
    def quick(x):
        return cnp.cos(x)

    def whole(x):
        return slow(quick(x)) + quick(x + 1)

    times = compilation(whole)(V)
    assert [(f.name, f.calls) for f in times.functions] == [("slow", 1), ("quick", 2)]
    assert times.trace_s > times.functions[0].seconds > times.functions[1].seconds
    assert times.lower_s > 0
    json.dumps(times.to_dict())
    assert "slow" in str(times)


def test_an_executable_from_the_cache_was_not_compiled():
    made = compilation(lambda x: cnp.sin(x) - 7)(V)
    found = compilation(lambda x: cnp.sin(x) - 7)(V)
    assert made.compile_s > 0
    assert not made.cached
    assert found.compile_s is None
    assert found.cached
    assert "found in the cache" in str(found)


def test_the_times_of_a_call_are_those_of_the_first():
    jitted = cv.jit(lambda x: cnp.sin(x) - 8)
    jitted(V)
    assert compilation(jitted)(V).compile_s > 0
    assert compilation(jitted)(V) == compilation(jitted)(V)


def test_a_recompile_has_its_cause():
    jitted = cv.jit(lambda x, n: x * n, static_argnums=1)
    assert compilation(jitted)(V, 1).recompiled_because is None
    because = compilation(jitted)(V, 2).recompiled_because
    assert because.startswith("the static argument n was 1 and is now 2")
    because = compilation(jitted)(M, 2).recompiled_because
    assert because == "argument x was f32[64] and is now f32[48,48]"
    assert "compiled again: argument x" in str(compilation(jitted)(M, 2))
    assert compilation(jitted)(V, 1).recompiled_because is None

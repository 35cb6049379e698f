"""A plan tells kernels with their lines, and why what was not fused was not."""

import json
import re

import numpy as np
import pytest

import covector as cv
import covector.numpy as cnp
from covector.analysis.compiled.fusion_plan import fusion_plan, plan_of
from covector.analysis.compiled.reading import parse
from covector.errors import ArgumentError
from tests.analysis.compiled.programs import PROGRAMS, M, compiled, layer

each_program = pytest.mark.parametrize("name", PROGRAMS)


@each_program
def test_every_kernel_has_a_line(name):
    plan = fusion_plan(compiled(name))()
    assert plan.kernels
    without = [k.name for k in plan.kernels if not k.lines]
    assert not without
    assert {k.name for lines in plan.by_line().values() for k in lines} == {
        k.name for k in plan.kernels
    }


@each_program
def test_kernels_compute_what_xla_counts(name):
    program = compiled(name)
    # XLA counts one step of each loop.
    text = re.sub(r'("known_trip_count":."n":)"\d+"', r'\1"1"', program.as_text())
    flops = sum([k.flops * k.times for k in plan_of(parse(text)).kernels])
    expected = program.cost_analysis().get("flops", 0)
    assert flops == pytest.approx(expected, rel=0.01, abs=4)


@each_program
def test_a_damaged_text_has_a_plan_too(name):
    text = compiled(name).as_text()
    draw = np.random.default_rng(0)
    for _ in range(8):
        lines = text.splitlines()
        kept = [line for line in lines if draw.random() > 0.05]
        cut = "\n".join(kept)[: draw.integers(len(text) // 4, len(text))]
        plan_of(parse(cut.replace("%", "", int(draw.integers(3)))))
        strange = re.sub(r" (dot|reduce|fusion|add|while|sort)\(", r" new-\1(", text)
        plan_of(parse(strange))
        without = re.sub(r"\b(dot|convolution|scatter|reduce)\(%[^)]*\)", r"\1()", text)
        plan_of(parse(without))


def kernels(name):
    return fusion_plan(compiled(name))().kernels


def test_a_loop_for_several_results_is_a_kernel_of_all_their_lines():
    def both(x, y):
        shared = cnp.exp(x)
        return (
            shared * y,
            shared + y,
        )

    x = np.ones((256, 256), np.float32)
    (kernel,) = fusion_plan(both)(x, x).kernels
    assert kernel.operations == ("exponential", "multiply", "add")
    assert (kernel.flops, kernel.transcendentals) == (2 * x.size, x.size)
    first = both.__code__.co_firstlineno
    assert {line for _, line in kernel.lines} == {first + 1, first + 3, first + 4}


def test_operations_along_a_chain_are_one_kernel():
    (kernel,) = kernels("elementwise")
    assert kernel.kind == "loop fusion"
    assert {o.operation for o in kernel.origins} == {"sin", "cos", "mul", "add"}
    assert (kernel.reads, kernel.writes) == (256, 256)
    assert (kernel.flops, kernel.transcendentals) == (128, 128)


def test_scopes_are_kept_in_forward_and_backward_pass():
    scopes = {o.scope for k in kernels("gradient of a layer") for o in k.origins}
    assert {"layer", "transpose(layer)"} <= scopes


def test_a_kernel_without_a_line_has_that_of_what_uses_it_inside_a_fusion():
    def fun(x):
        total = x.sum()
        return total * 3

    first, last = fusion_plan(fun)(np.ones(1000, np.float32)).kernels
    line = fun.__code__.co_firstlineno + 1
    assert first.inherited
    assert [n for _, n in first.lines] == [line]
    assert [n for _, n in last.lines] == [line, line + 1]


def test_a_small_loop_is_one_kernel():
    (loop,) = [k for k in kernels("small loop") if k.kind == "loop in one kernel"]
    assert {"sine", "multiply"} <= set(loop.operations)
    assert loop.times == 1


def test_the_kernels_of_a_larger_loop_run_in_each_step():
    (product,) = [k for k in kernels("large loop") if "dot" in k.operations]
    assert (product.kind, product.times, product.times_known) == ("library", 3, True)


def test_how_often_kernels_run_may_depend_on_values():
    assert {k.times_known for k in kernels("branches")} == {True, False}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("callback", "callback"),
        ("updates", "library"),
        ("several devices", "collective"),
    ],
)
def test_libraries_callbacks_and_communication_are_told_apart(name, kind):
    assert kind in {k.kind for k in kernels(name)}


@pytest.mark.parametrize(
    ("fun", "words"),
    [
        (lambda x: cnp.tanh(x @ x), "a library computes it"),
        (lambda x: cnp.sort(x.ravel()) * 2, "it sorts"),
        (lambda x: cnp.sin(x) - cnp.sin(x).sum(), "would compute sine each time"),
        (lambda x: (cnp.sort(cnp.tanh(x)), cnp.tanh(x) + 1), "it sorts"),
        (lambda x: x - x.sum(), "ends before its result is used"),
    ],
)
def test_what_is_not_fused_has_a_reason(fun, words):
    plan = fusion_plan(fun)(M)
    reasons = [each.reason for each in plan.not_fused]
    assert any(words in reason for reason in reasons if reason), reasons
    names = {kernel.name for kernel in plan.kernels}
    assert {each.producer for each in plan.not_fused} <= names
    assert words in str(plan)


def test_a_program_has_its_own_lines_when_an_equal_one_was_compiled_before():
    first = cv.jit(lambda x: cnp.sin(x) + 1)
    first(M)
    other = lambda x: cnp.sin(x) + 1  # noqa: E731  of the same name
    jaxpr = cv.make_jaxpr(other)(M)
    (kernel,) = fusion_plan(lambda x: jaxpr(x)[0])(M).kernels
    assert kernel.lines == ((__file__, other.__code__.co_firstlineno),)
    (kernel,) = fusion_plan(first)(M).kernels
    assert kernel.lines == ((__file__, first.fun.__code__.co_firstlineno),)


def test_every_stage_of_a_function_has_a_plan():
    jitted = cv.jit(layer)
    expected = fusion_plan(layer)(M, M)
    assert fusion_plan(jitted)(M, M) == expected
    traced = jitted.trace(M, cv.ShapeDtypeStruct(M.shape, M.dtype))
    assert fusion_plan(traced)() == expected
    assert fusion_plan(traced.lower())() == expected
    assert fusion_plan(traced.lower().compile())() == expected
    json.dumps(expected.to_dict())


def test_a_stage_takes_no_arguments():
    words = r"fusion_plan was given a lowered function, .* Leave them out: fusion_plan"
    with pytest.raises(ArgumentError, match=words):
        fusion_plan(cv.jit(layer).lower(M, M))(M)

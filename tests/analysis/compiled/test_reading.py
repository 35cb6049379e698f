"""The text of a module becomes data, whole, whatever is in it."""

import re

import pytest

import covector as cv
import covector.numpy as cnp
from covector.analysis.compiled.hlo import Shape
from covector.analysis.compiled.reading import parse
from tests.analysis.compiled.programs import PROGRAMS, V, compiled

each_program = pytest.mark.parametrize("name", PROGRAMS)


def loaded_module(program):
    """The module as jaxlib has it."""
    return program.runtime_executable()._loaded.hlo_modules()[0]


@each_program
def test_every_instruction_of_every_computation_is_read(name):
    program = compiled(name)
    module, expected = parse(program.as_text()), loaded_module(program)
    assert module.name == expected.name
    read = {
        c.name: [(i.name, list(i.operands)) for i in c.instructions.values()]
        for c in module.computations.values()
    }
    for computation in expected.computations():
        found = read.pop(computation.name)
        wanted = [
            (i.name, [o.name for o in i.operands()]) for i in computation.instructions()
        ]
        assert sorted(found) == sorted(wanted)
        read_as = module.computations[computation.name].instructions
        for i in computation.instructions():
            assert f" {read_as[i.name].opcode}(" in i.to_string()
    assert not read


@each_program
def test_what_instructions_refer_to_is_there(name):
    module = parse(compiled(name).as_text())
    called = set()
    for computation in module.computations.values():
        assert computation.root.name in computation.instructions
        for instruction in computation.instructions.values():
            assert len(computation.operands(instruction)) == len(instruction.operands)
            assert len(module.called(instruction)) == len(instruction.called)
            called.update(instruction.called)
            assert instruction.shape.bytes > 0 or not instruction.shape.size
    assert called | {module.entry.name} == set(module.computations)


def test_shapes_have_sizes_in_bytes():
    text = """HloModule m
ENTRY %main (p: (f32[2,3], bf16[4], /*index=2*/pred[], s4[3])) -> c128[2] {
  %p = (f32[2,3]{1,0:T(8,128)}, bf16[4]{0}, /*index=2*/pred[], s4[3]{0}) parameter(0)
  ROOT %strange = c128[2]{0} never-heard-of(%p), what={(1, 2), "},{"}, calls=%main
}"""
    module = parse(text)
    tuple_, strange = module.entry.instructions.values()
    assert [part.bytes for part in tuple_.shape.parts] == [24, 8, 1, 2]
    assert str(tuple_.shape) == "(f32[2,3], bf16[4], pred[], s4[3])"
    assert strange.shape == Shape("c128", (2,), "{0}")
    assert strange.shape.bytes == 32
    assert strange.is_root
    assert strange.operands == ("p",)
    assert strange.attributes["what"] == '{(1, 2), "},{"}'


@pytest.mark.parametrize(
    "text",
    ["", "no module", "HloModule m", "ENTRY e {\n  %x = f32[\n  y = ?? z(", "{}\n)"],
)
def test_a_text_that_is_cut_off_is_read_as_far_as_it_goes(text):
    assert parse(text).entry is not None


def test_lines_and_scopes_are_those_of_the_user():
    def named(x):
        with cv.named_scope('a "quoted" name'):
            return cnp.sin(x)

    module = parse(cv.jit(named).lower(V).compile().as_text())
    (origin,) = module.origins
    assert origin.operation == "sin"
    assert origin.scope == 'a "quoted" name'
    assert origin.file == __file__
    assert origin.line == named.__code__.co_firstlineno + 2
    assert re.fullmatch(r".*test_reading\.py:\d+ \(named\)", str(origin))


def test_files_may_have_any_name():
    name = 'C:\\a "b" é.py'
    space = {"cnp": cnp}
    exec(compile("def fun(x):\n    return cnp.sin(x)", name, "exec"), space)
    module = parse(cv.jit(space["fun"]).lower(V).compile().as_text())
    assert {(o.file, o.line) for o in module.origins} == {(name, 2)}

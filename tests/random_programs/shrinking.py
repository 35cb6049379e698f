"""Making a program that fails smaller, as long as it fails in the same way."""

import dataclasses
import time
from collections.abc import Callable, Iterator

from tests.random_programs.program import (
    Block,
    Program,
    Step,
    Var,
    is_whole,
    without_unused,
)


def shrunk(
    program: Program, fails: Callable[[Program], bool], seconds: float = 60.0
) -> Program:
    """The smallest program found in so much time for which ``fails`` is true."""
    end = time.monotonic() + seconds
    progress = True
    while progress and time.monotonic() < end:
        progress = False
        for block in _smaller(program.block, ()):
            # What nobody reads is run as well, and may be what fails.
            candidates = [
                dataclasses.replace(program, block=b)
                for b in (without_unused(block), block)
                if is_whole(b)
            ]
            found = next((c for c in candidates if fails(c)), None)
            if found is not None:
                program, progress = found, True
            if progress or time.monotonic() > end:
                break
    return program


def _smaller(block: Block, outer: tuple[Var, ...]) -> Iterator[Block]:
    """Blocks with one thing less, those with much less first."""
    if len(block.results) > 1 and not outer:
        for result in block.results:
            yield dataclasses.replace(block, results=(result,), returns="{0},")
    for k in reversed(range(len(block.steps))):
        step = block.steps[k]
        before = (*outer, *block.parameters)
        before += tuple([v for s in block.steps[:k] for v in s.outs])
        for less in _less(step, before):
            steps = (*block.steps[:k], *less, *block.steps[k + 1 :])
            yield dataclasses.replace(block, steps=steps)


def _less(step: Step, before: tuple[Var, ...]) -> Iterator[tuple[Step, ...]]:
    """Steps that may stand for one: with the same results, and less to do."""
    yield ()
    constants = tuple([_constant(v) for v in step.outs])
    if step in constants:
        return
    yield constants
    if step.template != "{0}" and len(step.outs) == 1:
        (out,) = step.outs
        same = [v for v in before if (v.dtype, v.shape) == (out.dtype, out.shape)]
        for v in {*same[:1], *same[-1:]}:
            yield (Step((out,), "{0}", (v,)),)
    for template in step.simpler:
        if template != step.template:
            yield (dataclasses.replace(step, template=template, simpler=()),)
    for numbers in _smaller_numbers(step.numbers):
        yield (dataclasses.replace(step, numbers=numbers),)
    for k, inner in enumerate(step.blocks):
        for smaller in _smaller(inner, before):
            blocks = (*step.blocks[:k], smaller, *step.blocks[k + 1 :])
            yield (dataclasses.replace(step, blocks=blocks),)


def _smaller_numbers(numbers: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    for k, number in enumerate(numbers):
        for less in sorted({0, 1, number - 1}):
            if 0 <= less < number:
                yield (*numbers[:k], less, *numbers[k + 1 :])


def _constant(v: Var) -> Step:
    """A step that gives numbers that have nothing to do with any other."""
    value = {"float64": "0.5", "bool": "True"}.get(v.dtype, "1")
    return Step((v,), f"cnp.full({v.shape}, {value}, '{v.dtype}')")

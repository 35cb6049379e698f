"""From the signature of a call to the program: found under its key, or traced."""

import time
from typing import Any

from covector.core.array import ConcreteArray
from covector.core.flat import FlatFunction
from covector.core.references import Ref
from covector.core.source import user_line
from covector.core.staging import Staged, stage
from covector.core.trace import Tracer
from covector.core.types import AbstractRef
from covector.dispatch import program_cache, recompiles
from covector.dispatch.arguments import ProgramKey
from covector.dispatch.jit_shardings import NOTHING
from covector.dispatch.program import Program
from covector.dispatch.references import References, references_of, stage_on_values
from covector.fingerprints.fingerprint import fingerprint_of, is_unchanged
from covector.lowering.evaluate import base
from covector.lowering.placement import meshes_of
from covector.programs.higher_order.named_scope import outermost_scope
from covector.runtime import compilation_cache


def find_or_trace(jitted: Any, key: ProgramKey, called: bool = True) -> Program:
    """The program of a function for a key that it was not called with yet.

    It is one function, since jitted functions nest as deep as Python's stack lets them.
    """
    fun, statics = jitted.fun, key.statics
    fingerprint, unknown = fingerprint_of(fun, statics)
    # The static arguments are in the fingerprint, which keeps nothing alive.
    dynamic = key._replace(statics=()) if statics else key
    shared = None if fingerprint is None else (fingerprint, jitted.spec, dynamic)
    program = None if shared is None else program_cache.get(shared)
    if program is None:
        shown = recompiles.shown_statics(key)
        now = recompiles.Tracing(dynamic, shown, fingerprint, unknown, user_line())
        recompiles.report(jitted, now, called)
        flat = FlatFunction(
            jitted.spec.with_statics(fun, statics), key.in_tree, jitted.who
        )
        start = time.perf_counter()
        recompiles.depth.now += 1
        try:
            with outermost_scope():
                # As a method: to call the object takes more of Python's stack.
                what = flat.__call__, key.types, jitted.__name__
                if AbstractRef in map(type, key.types):
                    staged, references = stage_on_values(*what)
                else:
                    staged, references = stage(*what, references=True), None
                    if Ref in map(type, staged.captured):
                        references = references_of(*staged[:2], (), staged.changed)
        finally:
            recompiles.depth.now -= 1
        seconds = time.perf_counter() - start
        recompiles.remember(jitted, now, staged.jaxpr, seconds)
        if compilation_cache.listeners:
            compilation_cache.tell(compilation_cache.TRACED, seconds)
        program = _program(jitted, key, staged, references, flat.out_tree)
        # What a callback writes into is what it closes over, and not something equal.
        known = {ConcreteArray}.issuperset(map(type, program.captured))
        # A trace that writes into what the function reads, a count of traces perhaps,
        # is to write for each function: another's program would leave it undone.
        if (
            shared is not None
            and known
            and not program.jaxpr.effects
            and key.context.options.keeps_programs
            and is_unchanged(shared[0], fun, statics)
        ):
            program_cache.put(shared, program)
    if not any([_ends(x) for x in program.captured]):
        if not key.context.options.keeps_programs:
            return program
        jitted.programs[key] = program
    return program


def _ends(captured: Any) -> bool:
    """Whether a captured value is one of a trace that ends."""
    if type(captured) is Ref:
        return captured.owner is not base
    return isinstance(captured, Tracer)


def _program(
    jitted: Any,
    key: ProgramKey,
    staged: Staged,
    references: References | None,
    out_tree: Any,
) -> Program:
    """The traced program, with the shardings and donation asked for."""
    jaxpr, shardings = staged.jaxpr, NOTHING
    meshes = jaxpr.memo(meshes_of)
    if jitted.spec.shardings is not None:
        shardings = jitted.spec.shardings.resolved(
            key.in_tree, key.types, out_tree, jaxpr.out_types, jitted.who
        )
        meshes += shardings.meshes
        if references is not None and shardings.outs:
            nowhere = [None] * len(references.changed)
            outs = (*shardings.outs[: out_tree.num_leaves], *nowhere)
            shardings = shardings._replace(outs=outs)
    donated = jitted.spec.donated_leaves(key)
    given_up = [i for i, m in enumerate(donated) if m]
    captured = staged.captured
    return Program(
        jaxpr,
        captured,
        out_tree,
        donated,
        given_up,
        {},
        meshes,
        shardings,
        references,
        [],
    )

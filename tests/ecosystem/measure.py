"""Run the programs of one file and print their numbers as one line of JSON.

    python measure.py programs/with_optax.py [--known]

With ``--known``, a program that is refused because it asks under ``jit`` for a value is
run without ``jit``: so JAX's numbers are found of programs that only covector compiles.

It runs in the environment of the packages, so it needs nothing but ``jax`` there,
whichever that is. A program that ends in an exception leaves its words instead of its
numbers, and the others run.
"""

import json
import runpy
import sys
import time
import traceback

import jax
import numpy as np


def numbers(result: object) -> dict[str, object]:
    """The leaves of a result, flat, by their paths in it."""
    leaves = jax.tree_util.tree_leaves_with_path(result)
    return {
        jax.tree_util.keystr(path): np.asarray(leaf).astype(float).tolist()
        for path, leaf in leaves
    }


def measured(program, known: bool) -> dict[str, object]:
    """The numbers of a program or the words of its error, and how long it took."""
    start = time.perf_counter()
    try:
        outcome = {"numbers": numbers(_result(program, known))}
    except Exception as error:  # noqa: BLE001 - any error is a finding, with its words
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{last.filename}:{last.lineno}"
        outcome = {"error": f"{type(error).__name__}: {error} ({where})"}
    return outcome | {"seconds": round(time.perf_counter() - start, 1)}


def _result(program, known: bool) -> object:
    try:
        return program()
    except jax.errors.ConcretizationTypeError:
        if not known:
            raise
    with jax.disable_jit():
        return program()


def main(path: str, *options: str) -> None:
    programs = runpy.run_path(path)["PROGRAMS"]
    known = "--known" in options
    print(json.dumps({each.__name__: measured(each, known) for each in programs}))


if __name__ == "__main__":
    main(*sys.argv[1:])

"""How long a fresh interpreter needs for ``import peer``, and to a first result."""

import compileall
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.measure import Goal, Measure, Setup

TITLE = "Import"

CLOCK = """
from time import perf_counter
start = perf_counter()
{statements}
print(perf_counter() - start)
"""


def measures(tiny: bool) -> list[Measure]:
    first_sum = "({0}.numpy.asarray([1.0, 2.0]) + 1).block_until_ready()"
    numpy_sum = "numpy.asarray([1.0, 2.0]) + 1"
    torch_sum = "torch.tensor([1.0, 2.0]) + 1"
    return [
        Measure(
            "import",
            in_fresh_interpreter("import {0}"),
            {peer: in_fresh_interpreter("import {0}") for peer in OTHERS},
            goals=(Goal(0.4),),
            clocked=True,
            samples=2,
        ),
        Measure(
            "import and the first sum of two numbers",
            in_fresh_interpreter("import {0}\n" + first_sum),
            {
                "numpy": in_fresh_interpreter("import numpy\n" + numpy_sum),
                "torch": in_fresh_interpreter("import torch\n" + torch_sum),
            },
            clocked=True,
            samples=2,
        ),
    ]


OTHERS = ("numpy", "autograd", "torch")


def in_fresh_interpreter(statements: str) -> Setup:
    """Statements about the module ``{0}``, timed by an interpreter of their own."""

    def setup(module: Any) -> Callable[[], float]:
        # An installed wheel has its bytecode; a checkout may have none yet.
        compileall.compile_dir(Path(module.__file__).parent, quiet=2)
        script = CLOCK.format(statements=statements.format(module.__name__))

        def clocked() -> float:
            command = [sys.executable, "-c", script]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise RuntimeError(done.stderr.strip().splitlines()[-1])
            return float(done.stdout)

        return clocked

    return setup

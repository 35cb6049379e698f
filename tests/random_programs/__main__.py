"""Random programs for a while: ``python -m tests.random_programs --seconds 600``."""

# ruff: noqa: T201  a command prints
import argparse
import os
import sys
import time

parser = argparse.ArgumentParser(prog="random_programs", description=__doc__)
parser.add_argument("--seconds", type=float, default=600.0)
parser.add_argument("--seed", type=int, default=int(time.time()))
parser.add_argument("--programs", type=int, help="stop after so many")
parser.add_argument(
    "--optimize", action="store_true", help="compile as usual, which takes longer"
)
given = parser.parse_args()
os.environ.setdefault("COVECTOR_NUM_CPU_DEVICES", "8")
if not given.optimize:
    os.environ["XLA_FLAGS"] = (
        "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false "
        "--xla_cpu_parallel_codegen_split_count=1"
    )

import covector as cv  # noqa: E402  the environment is read when it is imported
from tests.random_programs.running import Failure, run  # noqa: E402

cv.config.update("enable_x64", True)


def begin(words: str) -> None:
    """One line that changes: the last says where a process that is aborted was."""
    print(f"\r{words:60}", end="", file=sys.stderr, flush=True)


def tell(failure: Failure) -> None:
    print(failure.words(), end="\n\n" + "=" * 88 + "\n", flush=True)


failures, log = run(
    given.seed,
    given.seconds,
    given.programs,
    cv.device_count(),
    tell=tell,
    begin=begin,
)
print(file=sys.stderr)
print(f"seeds from {given.seed} on: {log}; {len(failures)} differences")
sys.exit(bool(failures))

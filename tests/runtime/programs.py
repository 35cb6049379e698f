"""StableHLO programs for the tests here, and a fresh Python to run code in."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

SRC = Path(__file__).parents[2] / "src"

F32 = np.dtype(np.float32)


def add(size: int = 4, element: str = "f32") -> str:
    """``a + b`` of vectors."""
    t = f"tensor<{size}x{element}>"
    return (
        f"func.func public @main(%a: {t}, %b: {t}) -> {t} {{ "
        f"%0 = stablehlo.add %a, %b : {t} return %0 : {t} }}"
    )


def square(size: int) -> str:
    """``a @ a`` of a square matrix."""
    t = f"tensor<{size}x{size}xf32>"
    return (
        f"func.func public @main(%a: {t}) -> {t} {{ %0 = stablehlo.dot_general %a, %a, "
        f"contracting_dims = [1] x [0] : ({t}, {t}) -> {t} return %0 : {t} }}"
    )


def callback(size: int = 4) -> str:
    """The Python function number 0, applied to a vector."""
    t = f"tensor<{size}xf32>"
    return (
        f"func.func public @main(%a: {t}) -> {t} {{ "
        "%0 = stablehlo.custom_call @xla_ffi_python_cpu_callback(%a) "
        "{api_version = 4 : i32, has_side_effect = false, "
        f"backend_config = {{index = 0 : ui64}}}} : ({t}) -> {t} return %0 : {t} }}"
    )


def run_python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run code in a new process, in which nothing has been imported or chosen yet."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("COVECTOR_", "JAX_", "XLA_", "TF_CPP_"))
    }
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**inherited, "PYTHONPATH": f"{SRC}:{SRC.parent}", **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def output_of(code: str, **environment: str) -> str:
    """What the code prints; it must not fail."""
    done = run_python(code, **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()

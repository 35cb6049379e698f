"""``covector run``: runs a program whose ``import jax`` is covector."""

import os
import subprocess
import sys
from argparse import REMAINDER, ArgumentParser, Namespace

from covector.compat import finder


def add_options(parser: ArgumentParser) -> None:
    """The options of run: the program, as Python itself takes it."""
    parser.add_argument(
        "-m",
        "--module",
        action="store_true",
        help="the program is the name of a module, as of python -m",
    )
    parser.add_argument("program", help="the program, a Python file")
    parser.add_argument("arguments", nargs=REMAINDER, help="its arguments")


def run(options: Namespace) -> int:
    """Become the program: Python starts again, with the door first on its path."""
    if sys.flags.ignore_environment:
        print(
            "covector run tells the program's Python by PYTHONPATH what jax is, and so "
            "cannot be run by a Python that ignores it: leave out -I and -E",
            file=sys.stderr,
        )
        return 2
    finder.tell_children()
    module = ["-m"] if options.module else []
    flags = subprocess._args_from_interpreter_flags()  # such as -W error  # pyright: ignore
    command = [sys.executable, *flags, *module, options.program, *options.arguments]
    sys.stdout.flush()
    os.execv(sys.executable, command)

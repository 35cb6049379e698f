"""The entry point ``covector``: a command is a module with options and a ``run``."""

import os
import sys
from argparse import ArgumentParser
from collections.abc import Sequence

from covector.cli import cache, demo, doctor, dropin, explain, help, launch, run, trace
from covector.version import __version__

COMMANDS = {
    "cache": cache,
    "demo": demo,
    "doctor": doctor,
    "dropin": dropin,
    "explain": explain,
    "help": help,
    "launch": launch,
    "run": run,
    "trace": trace,
}

#: the status of a tool that wrote into a closed pipe: 128 and the number of SIGPIPE
CLOSED_PIPE = 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; its exit status."""
    parser = ArgumentParser(
        "covector", description="Arrays, grad, jit and vmap over XLA."
    )
    parser.add_argument(
        "--version", action="version", version=f"covector {__version__}"
    )
    commands = parser.add_subparsers(title="commands", metavar="command")
    for name, module in COMMANDS.items():
        summary = (module.__doc__ or "").splitlines()[0].partition(": ")[2]
        command = commands.add_parser(name, help=summary, description=summary)
        module.add_options(command)
        command.set_defaults(run=module.run)
    options = parser.parse_args(arguments)
    if "run" not in options:
        parser.print_help()
        return 0
    try:
        status = options.run(options)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read what is printed wants no more of it: no error, as of other tools.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CLOSED_PIPE
    return status

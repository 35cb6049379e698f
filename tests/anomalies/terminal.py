"""A terminal for the table of mistakes: what each program prints when it ends.

``python -m tests.anomalies.terminal FOLDER`` writes each program to ``train.py`` in the
folder and runs it. Its exception goes to ``sys.excepthook``, as at the end of a
process, and what that writes is printed, by the name of the program, as JSON.
"""

import contextlib
import importlib
import io
import json
import linecache
import os
import sys
from pathlib import Path

from tests.anomalies.mistakes import IMPORTS, MISTAKES


def printed(program: str) -> str:
    """What a terminal shows of a program that fails.

    Its file is relative: messages are laid out in lines, whatever the folder is.
    """
    file = Path("train.py")
    file.write_text(IMPORTS + program, encoding="utf-8")
    linecache.clearcache()
    shown = io.StringIO()
    with contextlib.redirect_stderr(shown), contextlib.redirect_stdout(io.StringIO()):
        try:
            exec(compile(file.read_text(), file, "exec"), {"__name__": "__main__"})
        except Exception as error:  # noqa: BLE001  as at the end of a process
            link = error.__traceback__.tb_next  # without this frame
            sys.excepthook(type(error), error.with_traceback(link), link)
    return shown.getvalue()


if __name__ == "__main__":
    importlib.import_module("covector.compat.jax")  # for programs that import jax
    os.chdir(sys.argv[1])
    shown = {name: printed(text) for name, text in MISTAKES.items()}
    sys.stdout.write(json.dumps(shown))

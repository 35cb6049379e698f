"""The first use of anything may come from several threads at once."""

import os

import pytest

from tests.runtime.programs import run_python


@pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")
def test_first_compilations_from_several_threads_do_not_crash():
    code = "from tests.runtime import first_uses; print(first_uses.main(rounds=4))"
    done = run_python(code, COVECTOR_PLATFORMS="")
    assert done.stdout == "0\n", done.stdout + done.stderr

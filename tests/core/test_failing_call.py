"""The public call of which an error that nobody foresaw came."""

import sys
import types

import covector.numpy as cnp
from covector.core.failing_call import failing_call


def test_the_call_that_failed_is_public_and_without_defaults():
    def f(first, second=3):
        return sys._getframe()

    assert failing_call(f(1)) == ""
    frame = types.SimpleNamespace(
        f_code=types.SimpleNamespace(co_name="where"),
        f_globals=vars(sys.modules[cnp.where.__module__]),
        f_locals={"condition": cnp.ones((2, 3)), "x": [1] * 100},
    )
    shown = failing_call(frame)
    assert shown.startswith("covector.numpy.where got condition=f32[2,3], x=[1, 1, ")
    assert len(shown) < 100

"""What asking for names of the field changes in the process, changed back."""

import pytest

from covector.runtime import host_calls


@pytest.fixture(autouse=True)
def host_functions_raise_what_they_did(monkeypatch):
    monkeypatch.setattr(host_calls, "raised", host_calls.raised)

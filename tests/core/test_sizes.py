"""Sizes of memory, as texts and numbers."""

import pytest

from covector.core.sizes import bytes_of, show_bytes
from covector.errors import ArgumentError


def test_units_are_powers_of_a_thousand_or_of_1024():
    assert bytes_of("1GB", "f") == 10**9
    assert bytes_of("1GiB", "f") == 2**30
    assert bytes_of(" .5 mb ", "f") == 500_000
    assert bytes_of("7", "f") == bytes_of(7.9, "f") == 7


@pytest.mark.parametrize("size", ["", "1XB", "GB", "-1GB", 0, -3, None, True, "0GB"])
def test_what_is_no_size_is_refused_in_words(size):
    with pytest.raises(ArgumentError, match="f takes a size of memory: a positive"):
        bytes_of(size, "f")


def test_sizes_are_shown_in_the_unit_that_leaves_few_digits():
    shown = [show_bytes(n) for n in (0, 999, 1000, 999_960, 12e6, 2.5e12, 3e18)]
    assert shown == [
        "0 B",
        "999 B",
        "1.0 KB",
        "1.0 MB",
        "12.0 MB",
        "2.5 TB",
        "3000.0 PB",
    ]

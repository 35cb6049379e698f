"""Sizes of memory: what users write, and what messages show."""

import re

import numpy as np
import pytest

from covector.core.byte_sizes import byte_count, shown_bytes
from covector.errors import ArgumentError


@pytest.mark.parametrize(
    ("given", "count"),
    [
        (1, 1),
        (np.int64(4096), 4096),
        ("12B", 12),
        ("12 b", 12),
        ("2kB", 2000),
        ("512MB", 512_000_000),
        (" 1.5 GB ", 1_500_000_000),
        (".5tb", 500_000_000_000),
        ("1KiB", 1024),
        ("1GiB", 2**30),
        ("1.25MiB", 1_310_720),
    ],
)
def test_sizes_are_bytes_or_numbers_with_a_unit(given, count):
    assert byte_count(given, "f") == count


@pytest.mark.parametrize(
    "given",
    [0, -1, "0MB", "-1GB", "1", "GB", "1 XB", "1GBs", "1e3MB", 1.5, None, True, ""],
)
def test_a_size_that_is_none_is_refused_in_words(given):
    words = (
        f"vmap of f: memory is a positive number of bytes, or one with a unit such as "
        f'"512MB", "1.5GB" or "1GiB", but got {given!r}.'
    )
    with pytest.raises(ArgumentError, match=f"^{re.escape(words)}$"):
        byte_count(given, "vmap of f")


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1 kB"),
        (1001, "1.01 kB"),
        (12_340, "12.4 kB"),
        (999_999, "1000 kB"),
        (1_048_576, "1.05 MB"),
        (123_456_789, "124 MB"),
        (5 * 10**15, "5000 TB"),
    ],
)
def test_bytes_are_shown_with_three_digits_rounded_up(count, text):
    assert shown_bytes(count) == text
    assert count == 0 or byte_count(text, "f") >= count

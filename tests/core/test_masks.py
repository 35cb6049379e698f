"""Laws of masks, over every mask of up to four values."""

from itertools import compress, product

import pytest

from covector.core.masks import drop, fixpoint, merge, present, scatter, select

MASKS = [mask for n in range(5) for mask in product((False, True), repeat=n)]


def items(mask):
    return list("abcd"[: len(mask)])


def opposite(mask):
    return [not m for m in mask]


def test_select_gives_the_items_where_the_mask_is_true():
    for mask in MASKS:
        assert select(items(mask), mask) == list(compress(items(mask), mask))


def test_drop_selects_by_the_opposite_mask():
    for mask in MASKS:
        assert drop(items(mask), mask) == select(items(mask), opposite(mask))


def test_scatter_after_select_keeps_the_selected_items_where_they_were():
    for mask in MASKS:
        kept = [x if m else None for x, m in zip(items(mask), mask, strict=True)]
        assert scatter(select(items(mask), mask), mask) == kept


def test_select_after_scatter_gives_the_values_back():
    for mask in MASKS:
        values = list(range(sum(mask)))
        assert select(scatter(values, mask), mask) == values
        assert present(scatter(values, mask)) == values


def test_what_select_and_drop_take_apart_merge_puts_together():
    for mask in MASKS:
        dropped = scatter(drop(items(mask), mask), opposite(mask))
        assert merge(select(items(mask), mask), mask, dropped) == items(mask)


def test_scatter_merges_with_nones():
    for mask in MASKS:
        values = list(range(sum(mask)))
        assert scatter(values, mask) == merge(values, mask, [None] * len(mask))


def test_present_keeps_values_that_are_false_but_not_none():
    assert present([0, None, False, "", None]) == [0, False, ""]


@pytest.mark.parametrize(
    "call",
    [
        lambda: select("ab", [True]),
        lambda: drop("a", [True, False]),
        lambda: merge([1], [True], "ab"),
    ],
)
def test_a_mask_of_another_length_is_a_bug(call):
    with pytest.raises(ValueError, match=r"zip\(\)"):
        call()


def graphs(n):
    """Every graph over n values without loops, as the set of its arrows."""
    arrows = [(a, b) for a in range(n) for b in range(n) if a != b]
    for chosen in product((False, True), repeat=len(arrows)):
        yield select(arrows, chosen)


def test_a_fixpoint_is_the_least_mask_that_a_step_preserves():
    masks = list(product((False, True), repeat=3))
    for arrows in graphs(3):

        def after(mask, arrows=arrows):
            """A value becomes true by an arrow from a true one; nothing stays true."""
            return tuple([any(mask[a] for a, b in arrows if b == k) for k in range(3)])

        for start in masks:
            made, found = fixpoint(start, lambda mask: (mask, after(mask)))
            assert made == found, "what is made is made for the mask that is found"
            preserved = [
                m
                for m in masks
                if all(a >= b for a, b in zip(m, start, strict=True))
                and all(a >= b for a, b in zip(m, after(m), strict=True))
            ]
            least = tuple([all(m[k] for m in preserved) for k in range(3)])
            assert found == least

"""The laws of one row run one after the other, so that they share what was compiled."""

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    rows: dict[int, int] = {}

    def row(item: pytest.Item) -> int:
        callspec = getattr(item, "callspec", None)
        case = callspec.params.get("case") if callspec is not None else None
        return -1 if case is None else rows.setdefault(id(case), len(rows))

    laws = [k for k, item in enumerate(items) if item.path.name == "test_laws.py"]
    ordered = sorted([items[k] for k in laws], key=row)
    for k, item in zip(laws, ordered, strict=True):
        items[k] = item

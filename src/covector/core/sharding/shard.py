"""``Shard``: one shard of an array, with its device and index."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from covector.core.sharding.shardings import Index


@dataclass(frozen=True)
class Shard:
    """A shard of an array: its device, the index of its elements, and the number of
    devices before this one that hold the same.
    """

    device: Any
    index: Index
    replica_id: int
    data: Any


def numbered(indices: Mapping[Any, Index], data: Sequence[Any]) -> list[Shard]:
    """The shards that devices hold, replicas numbered."""
    seen: Counter[str] = Counter()
    shards: list[Shard] = []
    for (device, index), shard in zip(indices.items(), data, strict=True):
        shards.append(Shard(device, index, seen[str(index)], shard))
        seen[str(index)] += 1
    return shards

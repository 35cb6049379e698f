"""Rows on disk, a file for each subject, so that a run can go on where it ended."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from importlib import import_module
from pathlib import Path

from benchmarks.session import Row
from benchmarks.worker import Sample

FOLDER = Path(__file__).parent.parent / "dist" / "benchmarks"


def write(subject: str, rows: Iterable[Row]) -> None:
    """Keep what the peers answered to the measures of ``subject``."""
    content = {
        row.measure.name: {
            "answers": {
                p: [asdict(s) for s in found] for p, found in row.answers.items()
            },
            "failures": row.failures,
        }
        for row in rows
    }
    FOLDER.mkdir(parents=True, exist_ok=True)
    path(subject).write_text(json.dumps(content, indent=1))


def read(subject: str) -> dict[str, Row]:
    """The rows of ``subject`` that are kept, by the names of their measures."""
    if not path(subject).exists():
        return {}
    content = json.loads(path(subject).read_text())
    module = import_module(subject)
    return {
        measure.name: Row(
            module.TITLE,
            measure,
            {
                peer: [sample(fields) for fields in found]
                for peer, found in content[measure.name]["answers"].items()
            },
            content[measure.name]["failures"],
        )
        for measure in module.measures(tiny=False)
        if measure.name in content
    }


def in_order(subject: str, tiny: bool, rows: Mapping[str, Row]) -> list[Row]:
    """The rows as their module lists them."""
    names = [measure.name for measure in import_module(subject).measures(tiny)]
    return [rows[name] for name in names if name in rows]


def path(subject: str) -> Path:
    return FOLDER / f"{subject.rpartition('.')[2]}.json"


def sample(fields: dict) -> Sample:
    sums = fields["sums"]
    return Sample(fields["seconds"], fields["digest"], sums and tuple(sums))

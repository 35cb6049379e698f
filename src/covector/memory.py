"""Memory: who holds what, what a block of code takes, what a program will need.

>>> import covector as cv, covector.numpy as cnp
>>> with cv.memory.track(limit="1GB") as tracking:
...     table = cnp.ones((1000, 1000)) * 2
>>> tracking.peak_bytes >= table.nbytes
True
"""

from covector import namespaces
from covector.analysis.memory.estimates import (
    ArgumentNeed,
    LineNeed,
    MemoryEstimate,
    estimate,
)
from covector.analysis.memory.held import Group, HeldArray
from covector.analysis.memory.report import MemoryReport, report
from covector.analysis.memory.snapshots import Change, Difference, Snapshot, snapshot
from covector.analysis.memory.statistics import (
    DeviceMemory,
    ProcessMemory,
    Statistics,
    statistics,
)
from covector.analysis.memory.tracking import LineUse, Tracking, track
from covector.configuration import record_lines
from covector.errors import OutOfMemory
from covector.placement.transfer import live_arrays

__all__ = [
    "ArgumentNeed",
    "Change",
    "DeviceMemory",
    "Difference",
    "Group",
    "HeldArray",
    "LineNeed",
    "LineUse",
    "MemoryEstimate",
    "MemoryReport",
    "OutOfMemory",
    "ProcessMemory",
    "Snapshot",
    "Statistics",
    "Tracking",
    "estimate",
    "live_arrays",
    "record_lines",
    "report",
    "snapshot",
    "statistics",
    "track",
]
__dir__ = namespaces.completions(globals())

"""``HostBudget``: how long something runs in NumPy before it is compiled.

Compiling costs some 30 ms, and a call of the executable 5 µs; NumPy takes 2 µs for a
small operation, and longer for a large one, every time. How often it will be run again
is not known. The ski-rental rule: run it in NumPy until that has cost as much as
compiling, then compile; it never costs more than twice the optimum. What is counted is
the work and not the time, so a program takes the same way each time it is run.
"""

#: µs for which something runs in NumPy, all its calls together, before it is compiled
COMPILE_COST = 30_000.0
#: µs for an operation in NumPy, and elements that it works through in another µs
CALL, PACE = 2.0, 500
#: the same where the array is large, and what an element costs is nearly all
LARGE_PACE = 5000


class HostBudget:
    """The time that something may still spend in NumPy, a call of which costs
    ``cost`` µs.
    """

    __slots__ = ("cost", "left")

    def __init__(self, cost: float, left: float = COMPILE_COST) -> None:
        self.cost: float = cost
        self.left: float = left

    @classmethod
    def of(cls, cost: float | None) -> "HostBudget | None":
        """The budget of what costs so much; None where that is not to run in NumPy."""
        return None if cost is None else cls(cost)

    def try_spend(self) -> bool:
        """Whether there is enough left; if so, what it costs is taken off."""
        if self.cost > self.left:
            return False
        self.left -= self.cost
        return True

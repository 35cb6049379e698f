"""``checkpoint(f, memory=)``: as little is computed again as a budget allows.

``WithinMemory`` is a checkpoint whose derivative is planned: if the program of values
and cotangents, compiled, needs more than the budget, a plan (``plans``) of parts that
are computed again takes its place. What a plan needs is estimated, so it is compiled
as well, and the limit of the estimate moved until the compiled program fits.
"""

from collections.abc import Sequence

from covector.core.annotations import Value
from covector.core.jaxpr import Jaxpr
from covector.core.masks import Mask
from covector.core.primitive import Linearized, operation
from covector.memory_budgets.compiled_memory import (
    check_alone,
    memory_of,
    over_budget,
    value_and_pullback,
)
from covector.memory_budgets.plans import Draft, Partial
from covector.programs.higher_order.call import call, without_calls
from covector.programs.remat.checkpoint import Recomputed
from covector.programs.remat.residuals import largest_residual
from covector.runtime.executable import MemoryUse
from covector.transforms.linearize import linearize_jaxpr

#: plans that are compiled, besides the smallest one
TRIALS = 3
#: the part of a budget that plans aim at, and that is enough to try no further one
AIM, ENOUGH = 0.95, 0.9


@operation
class WithinMemory(Recomputed):
    """Run ``jaxpr``; for its derivative, keep what ``limit`` bytes allow."""

    name = "checkpoint_within_memory"

    jaxpr: Jaxpr
    limit: int
    who: str

    def __repr__(self) -> str:
        return f"WithinMemory({self.jaxpr.name}, {self.limit})"

    def linearize(self, active: Sequence[bool], *primals: Value) -> Linearized:
        mask = tuple(active)
        program = self.jaxpr.memo(planned, mask, self.limit, self.who)
        split = program.memo(linearize_jaxpr, mask, "_jvp")
        return split.at(primals, lambda part, args: call(part)(*args))


def planned(jaxpr: Jaxpr, active: Mask, limit: int, who: str) -> Jaxpr:
    """The program with checkpoints, so that values and cotangents, compiled, need at
    most ``limit`` bytes (memoise on the program).

    Raises:
      OverBudget: no plan needs so little.
    """
    check_alone(jaxpr, who)
    plain = jaxpr.memo(without_calls)
    use = memory_of(value_and_pullback(plain, active))
    if use.peak <= limit:
        return plain
    search = _Search(Draft(plain, active), active, limit)
    found = search.run(use)
    if found is None:
        largest = largest_residual(plain, active)
        raise over_budget(who, limit, min(search.uses, key=_peak), largest)
    return found


def _peak(use: MemoryUse) -> int:
    return use.peak


class _Search:
    """The plan that computes least again among those whose programs fit."""

    def __init__(self, draft: Draft, active: Mask, limit: int) -> None:
        self.draft, self.active, self.limit = draft, active, limit
        self.uses: list[MemoryUse] = []
        self.best: tuple[float, Jaxpr] | None = None

    def run(self, plain: MemoryUse) -> Jaxpr | None:
        """The program of the best plan, where the plain one needs ``plain``."""
        self.uses.append(plain)
        least = self.draft.least()
        kept, peak = self._try(least)
        if peak > self.limit:
            return None
        low, high = (least, peak), (self.draft.most, plain.peak)
        for _ in range(TRIALS):
            slope = max(1, high[1] - low[1]) / max(1, high[0] - low[0])
            wanted = low[0] + int((AIM * self.limit - low[1]) / slope)
            # What kept ``high`` bytes was too large: a plan is to keep fewer.
            wanted = min(wanted, high[0] - 1)
            if low[1] >= ENOUGH * self.limit or wanted <= low[0]:
                break
            before = kept
            kept, peak = self._try(wanted)
            if peak > self.limit:
                high = kept, peak
            elif kept != before:
                low = wanted, peak
            else:
                break
        return self.best and self.best[1]

    def _try(self, limit: int) -> tuple[int, int]:
        """The bytes that the plan under a limit keeps, and its compiled peak."""
        plan: Partial = self.draft.plan(limit)
        program = self.draft.program(plan)
        use = memory_of(value_and_pullback(program, self.active))
        self.uses.append(use)
        if use.peak <= self.limit and (self.best is None or plan.cost < self.best[0]):
            self.best = plan.cost, program
        return plan.bytes, use.peak

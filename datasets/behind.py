"""How many units a derived batch is behind, for pages and the API. A job counts them.

A lineage without labels is never behind. For any other, the last count is shown while a worker
counts again; before the first count there is no number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from datasets.lineage import state_of_labels, units_behind
from datasets.models import Lineage
from datasets.work import Options, Progress, Result, TooManyError, ask, results
from datasets.work.requests import wait_for_job

BEHIND = "behind"


def behind_for(user: Any, wait: bool = False) -> Callable[[Lineage], int | None]:
    """Return a function that tells how many units a lineage is behind; None if unknown.

    With `wait` it waits a moment for a worker to count.
    """

    def units_behind_of(lineage: Lineage) -> int | None:
        if state_of_labels(lineage) is None:
            return 0
        try:
            asked = ask(BEHIND, {"lineage": lineage.pk}, user)
        except TooManyError:
            return None
        done = asked.last
        if wait and not asked.is_current and wait_for_job(asked.job).state == "done":
            done = asked.job
        try:
            return int(results.value(done)) if done else None
        except results.GoneError:
            return None

    return units_behind_of


def state(options: Options) -> Any:
    return state_of_labels(Lineage.objects.get(pk=options["lineage"]))


def carry_out(options: Options, progress: Progress) -> Result:
    found = Lineage.objects.select_related("source", "batch").get(pk=options["lineage"])
    return Result.of(units_behind(found))

"""A look at a plan with the database: seconds over a campaign of many cells, in either form."""

from __future__ import annotations

import time
from typing import Any

from benchmarks.processes import manage, python
from benchmarks.site import production
from benchmarks.suite import temporary_folder

DRAWN, PEOPLE = 400, 3
FORMS = ("whole", "cells")


def measure_looks(cells: int) -> list[dict[str, Any]]:
    """Return the seconds of a look over so many cells, of which `DRAWN` draws are labelled."""
    return [_measured(cells, form) for form in FORMS]


def _measured(cells: int, form: str) -> dict[str, Any]:
    with temporary_folder() as folder:
        env = production(folder)
        manage("migrate", "--verbosity", "0", env=env)
        found = python("-m", "benchmarks.inside", "look", cells, form, env=env).answer()
    seconds = {name: found[name] for name in ("seconds", "processor")}
    return {"form": form, **seconds, **found["made"]}


def labelled_plan(cells: int, form: str) -> Any:
    """Create a campaign of so many cells with a judge, and a plan with labelled draws."""
    from analysis.trust.options import PlanOptions
    from analysis.trust.plans import commit
    from analysis.trust.running import draw_queries
    from annotation.models import Rater
    from benchmarks.many_items import answers, campaign_of, refresh

    campaign = campaign_of("look", cells)
    judge = Rater.objects.create(name="judge", kind="judge")
    sure = "0.5 + (i.position * 7 % 97) / 200.0"
    answers(campaign.pk, [judge.pk], slot="NULL", value="'yes'", score=sure)
    shares = ".5" if form == "cells" else ".5,.7,.9"
    plan = commit(
        campaign,
        PlanOptions("answerable", "judge", shares=shares, people=PEOPLE, by_system=True, form=form),  # type: ignore[arg-type]
    )
    draw_queries(plan, min(DRAWN, cells // 10 - 1) if form == "whole" else DRAWN)
    # The answers below are dated to the second.
    time.sleep(1.1)
    said = "CASE WHEN i.position % 11 = 0 THEN 'no' ELSE 'yes' END"
    for slot in range(1, PEOPLE + 1):
        rater = Rater.objects.create(name=f"person{slot}")
        answers(campaign.pk, [rater.pk], str(slot), said, only="i.quota > 0")
    refresh()
    return plan


def look(plan: Any) -> dict[str, Any]:
    """Look at a plan, and return what a page shows of it in short."""
    from analysis.trust.looks import as_json, look_at

    found = as_json(look_at(plan))
    return {"drawn": found["drawn"], "labelled": found["labelled"], "verdict": found["verdict"]}

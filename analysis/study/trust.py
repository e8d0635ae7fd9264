"""The stage of a plan: committed once its judge has answered, then drawn, labelled and looked at.

The plan is found by what it is about, so that what was done by commands or on pages counts as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from analysis.models import StudyPart
from analysis.study.commands import run_command
from analysis.study.file import StudyFile
from analysis.study.parts import PLAN, Action, Key, Part, Stage
from analysis.study.plans import DECLARED, declared_plan
from analysis.trust.cells import TrustError, read_cells, variable_of
from analysis.trust.options import PlanOptions
from analysis.trust.plans import people_of
from analysis.trust.running import Standing, standing_of
from analysis.trust.words import brief
from annotation.models import TrustPlan
from tandem.document import count
from tandem.trust.plan import CutTable
from tandem.types import JSON

OF_CAMPAIGN = {"people": "raters_per_item", "registered": "registered_queries"}
"""Options without a value, which are then those of the campaign."""


def planned(
    file: StudyFile, part: Part, blocked: tuple[Key, ...], record: StudyPart | None
) -> Stage:
    """Return the stage of a plan. Raises InputError if the plan is not as its table says."""
    plan = plan_of(part)
    if plan is None:
        _check_people(file, part)
        before = dict.fromkeys((*blocked, *_running_before(file, part)))
        return Stage(part, False, tuple(_first(part)), blocked=tuple(before))
    _check_unchanged(file, part, plan)
    if not plan.is_running:
        return Stage(part, exists=True, says=f"ended: {brief(plan, last_look(plan))}")
    standing = standing_of(plan)
    found, drawn = standing.found, standing.drawn
    waits: tuple[str, ...] = ()
    if standing.unanswered and not found["stale"]:
        waits = (
            f"People label {standing.unanswered} of {count(drawn, 'drawn query', 'drawn queries')} "
            f"of campaign {plan.campaign.name!r}: at My work.",
        )
    actions, says = tuple(_next(part, plan, standing)), brief(plan, found)
    counts = {"drawn": drawn, "labelled": found["labelled"], "look": found}
    return Stage(part, True, actions, waits, blocked, counts=counts, says=says)


def plan_of(part: Part) -> TrustPlan | None:
    """Return the newest plan in a table's campaign that is about the same judge or systems."""
    plans = TrustPlan.objects.filter(campaign__name=part.options["campaign"]).order_by("-id")
    return next((plan for plan in plans if _is_about(part, plan)), None)


def last_look(plan: TrustPlan) -> JSON:
    """Return what the last look at a plan showed, empty if nobody has looked."""
    look = plan.looks.order_by("-id").first()
    return dict(look.state) if look else {}


def cells_seen(plan: TrustPlan, look: JSON) -> int:
    """Return over how many cells, or scored items, a look shows figures."""
    document = plan.document
    if plan.judge is None:
        return len(look.get("seen", ())) * len(document["systems"])
    population = document["population"]
    sizes = dict(zip(population["queries"], population["cells"], strict=True))
    return sum(sizes[query] for query, *_ in look.get("wrong", ()))


def _is_about(part: Part, plan: TrustPlan) -> bool:
    if part.command == "compare_systems":
        return set(plan.document["systems"]) == set(part.options["systems"]) and plan.judge is None
    judge = plan.judge.name if plan.judge else None
    return (plan.variable, judge) == (part.options["variable"], part.options["judge"])


def _first(part: Part) -> Iterator[Action]:
    """Yield the actions of a plan that nobody has committed to."""
    options = part.options | ({"action": "plan"} if part.command == "trust" else {"commit": True})
    yield Action(part.first_step, partial(run_command, part.command, **options))
    yield _drawing(part, part.options["queries"])


def _next(part: Part, plan: TrustPlan, standing: Standing) -> Iterator[Action]:
    """Yield the actions of a plan that runs: draw more, or record what a look shows that is new."""
    found, last = standing.found, last_look(plan)
    if (lacking := min(part.options["queries"] - standing.drawn, standing.left)) > 0:
        yield _drawing(part, lacking)
    told = ("labelled", "verdict", "stale")
    if found["labelled"] and any(last.get(name) != found[name] for name in told):
        yield Action("look at what its labels show", partial(_run, part, "look"))


def _drawing(part: Part, queries: int) -> Action:
    words = f"ask people about {count(queries, 'more query', 'more queries')}"
    return Action(words, partial(_draw, part))


def _draw(part: Part) -> list[str]:
    plan = plan_of(part)
    lacking = part.options["queries"] - (plan.draws.count() if plan else 0)
    return _run(part, "draw", queries=lacking) if lacking > 0 else []


def _run(part: Part, action: str, **options: Any) -> list[str]:
    of = {"campaign": part.options["campaign"], "format": "text", "action": action}
    return run_command("trust", **of, **options)


def _running_before(file: StudyFile, part: Part) -> Iterator[Key]:
    """Yield the plan of the file that has to end first. Raises InputError for any other plan."""
    name = part.options["campaign"]
    running = TrustPlan.objects.filter(campaign__name=name, end=None).first()
    if running is None:
        return
    of_file = [each for each in file.parts if each.key.kind == PLAN]
    of_campaign = [each for each in of_file if each.options["campaign"] == name]
    for other in of_campaign:
        if _is_about(other, running):
            yield other.key
            return
    about = running.judge or " and ".join(running.document["systems"])
    raise file.error(
        part,
        f"a plan of campaign {name!r} is running, for {about} on {running.variable}",
        f"a plan never changes: write it as it was, or end it by tandem trust end {name}",
    )


def _check_people(file: StudyFile, part: Part) -> None:
    """Reject a plan for which too few people answer, before anything is created for it."""
    plan = declared_plan(part.command, part.options)
    campaign = file.part("campaign", part.options["campaign"])
    if isinstance(plan, PlanOptions):
        try:
            people_of(plan, campaign.options["raters_per_item"])
        except TrustError as error:
            wrong, _, _ = str(error).partition(": ")
            raise file.error(part, wrong, "set people or truth", "people") from error


def _check_unchanged(file: StudyFile, part: Part, plan: TrustPlan) -> None:
    """Reject a table that says something else than the commitment."""
    for option in DECLARED[part.command]:
        now, before = part.options[option.name], plan.document.get(option.name)
        if option.kind == "flag":
            now, before = bool(now), bool(before)
        if option.name == "shares":
            is_same = not plan.is_running or _has_cuts(plan, declared_plan("trust", part.options))
        elif option.name == "k":
            is_same = before in (None, now)
        elif option.name == "score":
            is_same = now in ("", before["name"])
        elif option.name == "judge":
            is_same = before["name"] == now
        else:
            of_campaign = OF_CAMPAIGN.get(option.name)
            default = getattr(plan.campaign, of_campaign) if of_campaign else option.default
            is_same = (default if now is None else now) == before or not (now or default or before)
        if not is_same:
            committed = "" if option.name == "shares" else f", and its {option.name} is {before!r}"
            raise file.error(
                part,
                f"the plan of {part.key} is committed with another {option.name}{committed}",
                "a plan never changes: write it as it was, or end it and commit to another one",
                option.name,
            )


def _has_cuts(plan: TrustPlan, declared: Any) -> bool:
    """Whether shares give a plan's cuts of the verdicts; also if these are not there any more."""
    document, judge = plan.document, plan.judge
    assert judge is not None
    variable, keys = variable_of(plan.campaign, plan.variable), document["population"]["queries"]
    cells = read_cells(plan.campaign, variable, judge, keys)
    if cells.digest != document["verdicts"]:
        return True
    table = CutTable.of(cells.sure, cells.query, len(keys), declared.cut_shares)
    return list(table.thresholds) == [cut["threshold"] for cut in document["cuts"]]

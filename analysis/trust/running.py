"""The plan that runs in a campaign, of either kind: draw its next queries, look where it stands."""

from __future__ import annotations

from dataclasses import dataclass

from analysis.trust.cells import TrustError
from analysis.trust.comparisons import (
    draw_next,
    look_at_comparison,
    pks_of,
    record_comparison,
    shown,
)
from analysis.trust.labels import answered
from analysis.trust.looks import as_json, look_at, record_look
from analysis.trust.plans import draw, draw_cells
from analysis.trust.words import look_sentences
from annotation.models import Campaign, TrustDraw, TrustPlan
from annotation.trust.roles import running
from tandem.sections.system_decisions import describe_comparison
from tandem.types import JSON


def running_plan(campaign: Campaign) -> TrustPlan:
    """Return the plan that runs in a campaign. Raises TrustError if there is none."""
    if (plan := running(campaign)) is None:
        raise TrustError(f"no plan of {campaign} is running")
    return plan


def draw_queries(plan: TrustPlan, wanted: int) -> list[TrustDraw]:
    """Ask people about the next queries of a plan; none if nothing is left to decide."""
    if plan.kind == TrustPlan.Kind.COMPARE:
        return draw_next(plan, wanted)
    look = look_at(plan)
    if look.state.plan.k is not None:
        return draw_cells(plan, look.cells, wanted) if look.left else []
    return draw(plan, look.state.to_draw(), look.state.certified, wanted)


@dataclass(frozen=True)
class Standing:
    """What a look shows, and how many queries are drawn, lack answers, or may still be drawn."""

    found: JSON
    drawn: int
    unanswered: int
    left: int


def standing_of(plan: TrustPlan) -> Standing:
    """Look at a plan without recording it. Nothing is left where more could not decide anything."""
    if plan.kind == TrustPlan.Kind.COMPARE:
        found, answers = shown(look_at_comparison(plan)), answered(plan, pks_of(plan))
        undrawn = len(plan.document["population"]["queries"]) - len(answers.drawn)
        left = undrawn if found["verdict"] == "not yet" else 0
    else:
        look = look_at(plan)
        found, answers, left = as_json(look), look.answers, look.left
    unanswered = set(answers.drawn) - answers.complete - answers.late
    return Standing(found, len(answers.drawn), len(unanswered), left)


def look_and_describe(plan: TrustPlan) -> tuple[JSON, str]:
    """Look at a plan, record it, and return what it shows as JSON and in words."""
    if plan.kind == TrustPlan.Kind.COMPARE:
        found = record_comparison(plan)
        return found, describe_comparison(found)
    look = record_look(plan)
    return as_json(look), "\n".join(look_sentences(look))

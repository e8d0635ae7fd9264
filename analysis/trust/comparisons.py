"""Plans that decide which of some systems is better: committed, drawn evenly, looked at."""

from __future__ import annotations

import secrets
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from django.db import transaction

from analysis.campaigns.frames import facts_of
from analysis.trust.cells import TrustError, population
from analysis.trust.labels import answered, answers_of
from analysis.trust.looks import STALE, is_rewritten
from analysis.trust.options import ComparisonOptions
from analysis.trust.plans import FORM, check_enough, draw, one_at_a_time, plans_before
from annotation.models import (
    Campaign,
    Item,
    Label,
    Rater,
    TrustDraw,
    TrustLook,
    TrustPlan,
    Unit,
)
from annotation.presentation import schema
from annotation.trust import draws
from audit.recording import record
from tandem.labels.facts import LabelFact, scale_of
from tandem.labels.frame import Frame, make_frame
from tandem.sections.named_scores import NamedScore, UnknownScoreError, score_called
from tandem.trust.canonical import digest_of
from tandem.trust.compared import Draw, QueryScores, UnboundedScoreError, compared
from tandem.trust.draws import even_order
from tandem.trust.plan import level
from tandem.types import JSON

BLANK = "blank"
"""The kind of rater of what is not labelled yet, which no statistic counts."""


def commit_comparison(
    campaign: Campaign, systems: Sequence[str], options: ComparisonOptions
) -> TrustPlan:
    """Store a plan before its first label, and ask people about none of its queries yet.

    Raises TrustError.
    """
    check_systems(systems)
    with one_at_a_time(campaign):
        pks, document = _commitment(campaign, systems, options)
        plan = TrustPlan.objects.create(
            campaign=campaign,
            kind=TrustPlan.Kind.COMPARE,
            variable=document["variable"],
            judge=None,
            number=document["number"],
            document=document,
            digest=digest_of(document),
        )
        draws.hold_back(plan, pks)
        record("trust.planned", campaign.pk, plan, after=document, digest=plan.digest)
    return plan


def check_systems(systems: Sequence[str]) -> None:
    """Raise TrustError unless there are two systems or more, each once."""
    if len(set(systems)) < max(2, len(systems)):
        raise TrustError("name two systems or more, each once")


def _commitment(
    campaign: Campaign, systems: Sequence[str], options: ComparisonOptions
) -> tuple[list[int], JSON]:
    """Return the primary keys of a plan's queries, and its document with a new seed."""
    asked = _queries_with(campaign, systems)
    keys, excluded = population(campaign, asked)
    check_enough(list(keys.values()), excluded)
    registered = options.registered or campaign.registered_queries or None
    if (registered or 0) > len(keys):
        raise TrustError(f"{registered} queries are registered, and there are {len(keys)}")
    named = _score(campaign, options.score, list(keys))
    try:
        QueryScores.of(named.name, named.scores)
    except UnboundedScoreError as error:
        raise TrustError(str(error)) from error
    number = 1 + plans_before(campaign, TrustPlan.Kind.COMPARE, named.variable, None)
    return list(keys), {
        "format": FORM,
        "kind": "compare",
        "campaign": campaign.name,
        "variable": named.variable,
        "batch": campaign.batch.digest,
        "population": {"queries": list(keys.values()), "excluded": excluded},
        "systems": list(systems),
        "score": {"name": named.name, "meaning": named.meaning},
        "order": "even",
        "delta": options.delta,
        "level": level(options.delta, number),
        "number": number,
        "truth": "mean of people",
        "people": campaign.raters_per_item if options.people is None else options.people,
        "registered": registered,
        "late_days": options.late_days,
        # Everything above is fixed before the seed is known.
        "seed": secrets.token_hex(16),
    }


def _queries_with(campaign: Campaign, systems: Sequence[str]) -> dict[int, str]:
    """Return the keys of the queries with an item of each system, by primary key."""
    rows = campaign.items.filter(use=Item.Use.STUDY).order_by("query__position", "query")
    found: dict[tuple[int, str], set[str]] = defaultdict(set)
    for query, key, system in rows.values_list("query", "query__key", "report__system"):
        found[query, key].add(system or "")
    there = sorted({system for own in found.values() for system in own} - {""})
    if unknown := [each for each in systems if each not in there]:
        raise TrustError(
            f"no system {unknown[0]!r} in {campaign}: there are {', '.join(there) or 'none'}"
        )
    return {query: key for (query, key), own in found.items() if own.issuperset(systems)}


def order_of(plan: TrustPlan) -> list[int]:
    """Return the numbers of the plan's queries in the order of their draw."""
    return even_order(len(plan.document["population"]["queries"]), plan.document["seed"])


def draw_next(plan: TrustPlan, wanted: int) -> list[TrustDraw]:
    """Ask people about the next queries; none once every pair of systems is decided."""
    state = look_at_comparison(plan)
    return [] if state["verdict"] != "not yet" else draw(plan, order_of(plan), 0, wanted)


def look_at_comparison(plan: TrustPlan) -> JSON:
    """Return where a comparison stands, without recording it.

    The `verdict` is `stale`, `decided` if all pairs of systems are, or `not yet`. Queries count in
    the order of the draw, up to the first that is neither complete nor late.
    """
    document = plan.document
    pks = pks_of(plan)
    answers = answered(plan, pks)
    rows: list[int] = []
    for query in answers.drawn:
        if query not in answers.complete and query not in answers.late:
            break
        rows.append(query)
    named = _score(plan.campaign, document["score"]["name"], pks, plan)
    scores = QueryScores.of(named.name, named.scores).of_systems(document["systems"])
    scores = scores.over(document["population"]["queries"])
    late = answers.late.intersection(rows)
    counted = Draw("committed", rows, frozenset(late), document["registered"])
    made = compared(scores, counted, document["level"])
    seen = [[scores.queries[row], row in late, *map(_known, scores.people[row])] for row in rows]
    stale = _stale(plan, seen)
    decided = all(pair["state"] == "decided" for pair in made["pairs"])
    return {
        "plan": plan.digest,
        "verdict": "stale" if stale else "decided" if decided else "not yet",
        "stale": stale,
        "meaning": document["score"]["meaning"],
        "drawn_queries": len(answers.drawn),
        "waiting": len(answers.drawn) - len(rows),
        **made,
        "seen": seen,
    }


def shown(look: JSON) -> JSON:
    """Return a look without the scores of queries, which nobody is shown while the plan runs."""
    return {key: value for key, value in look.items() if key != "seen"}


def record_comparison(plan: TrustPlan) -> JSON:
    """Look at a comparison, and record what was seen."""
    with transaction.atomic():
        look = look_at_comparison(plan)
        TrustLook.objects.create(plan=plan, labelled=look["labelled"], state=look)
        record("trust.looked", plan.campaign_id, plan, labelled=look["labelled"])
    return shown(look)


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _stale(plan: TrustPlan, seen: list[Any]) -> list[str]:
    """Return the reasons for which a plan's commitment no longer describes what is there."""
    changed = ["batch"] if plan.campaign.batch.digest != plan.document["batch"] else []
    if is_rewritten(plan, "seen", seen):
        changed.append("truth")
    return [STALE[key] for key in changed]


def pks_of(plan: TrustPlan) -> list[int]:
    """Return the primary keys of a plan's queries, in its order."""
    queries = plan.campaign.batch.queries
    pks = dict(queries.values_list("key", "pk"))
    return [pks[key] for key in plan.document["population"]["queries"]]


def _score(
    campaign: Campaign, name: str, pks: Sequence[int], plan: TrustPlan | None = None
) -> NamedScore:
    """Return the score of items by the answers that count for a plan, and by judges."""
    try:
        return score_called(_frame(campaign, pks, plan), name)
    except UnknownScoreError as error:
        raise TrustError(str(error)) from error


def _frame(campaign: Campaign, pks: Sequence[int], plan: TrustPlan | None) -> Frame:
    variables = schema(campaign).variables
    items = campaign.items.filter(use=Item.Use.STUDY, query__in=list(pks))
    judges = Label.objects.filter(
        response__current=True,
        response__assignment__item__in=items,
        response__assignment__rater__kind=Rater.Kind.JUDGE,
        response__assignment__replicate=0,
    )
    facts = [*_blank(campaign, pks), *facts_of(judges.order_by("id"))]
    if plan is not None:
        people = Label.objects.filter(response__in=answers_of(plan))
        facts += facts_of(people.order_by("response__created_at", "response", "id"))
    return make_frame(facts, {each.name: scale_of(each) for each in variables})


def _blank(campaign: Campaign, pks: Sequence[int]) -> Iterator[LabelFact]:
    """Yield a missing label of each variable and item, so that the frame has all of them."""
    kinds: dict[str, list[str]] = defaultdict(list)
    for variable in schema(campaign).variables:
        kinds[variable.kind].append(variable.name)
    units = Unit.objects.filter(item__campaign=campaign, item__use=Item.Use.STUDY)
    units = units.filter(item__query__in=list(pks), kind__in=kinds)
    columns = ("item__key", "key", "kind", "item__query__key")
    of_report = ("item__report__system", "item__report__setting")
    rows = units.order_by("item__position", "position").values_list(*columns, *of_report)
    seen: set[tuple[str, str]] = set()
    for item, unit, kind, query, system, setting in rows:
        if (item, kind) in seen:
            continue
        seen.add((item, kind))
        for name in kinds[kind]:
            yield LabelFact(
                item, unit, kind, name, None, BLANK, BLANK, BLANK, 0, query, system, setting, None
            )

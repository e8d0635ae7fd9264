"""What a plan can reach and costs before its first label, by people's pace and judges' errors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from django.db.models import Avg, Count

from analysis.trust.cells import sureness, variable_of
from annotation.models import Assignment, Item, Label, QuerySampling, Rater, TrustPlan
from tandem.statistics import Ints
from tandem.trust.certificate import Floor
from tandem.trust.curve import INFORMATIVE, WEAK, DevelopmentErrors, Errors
from tandem.trust.plan import plan_of
from tandem.trust.price import Outlook, Pace
from tandem.trust.truth import true_codes, wrong_verdicts

FEWEST_TIMED, FEWEST_QUERIES, STUDIES = 3, 10, 50


def outlook_of(plan: TrustPlan) -> Outlook:
    """Simulate a plan with the judge's errors on development queries, else with assumed ones."""
    found = _errors(plan)
    assumed: Sequence[Errors] = (found,) if found else (INFORMATIVE, WEAK)
    return Outlook.of(plan_of(plan.document), assumed, Floor(), _pace(plan), STUDIES)


def _pace(plan: TrustPlan) -> Pace:
    """Return how long a person takes for a query, by what people have done in the campaign."""
    items = plan.campaign.items.filter(use=Item.Use.STUDY)
    timed = Assignment.objects.filter(
        item__in=items,
        rater__kind=Rater.Kind.HUMAN,
        status=Assignment.Status.DONE,
        seconds__gt=0,
    ).aggregate(mean=Avg("seconds"), number=Count("pk"))
    each = items.aggregate(items=Count("pk"), queries=Count("query", distinct=True))
    seconds = None
    if timed["number"] >= FEWEST_TIMED:
        seconds = timed["mean"] * each["items"] / each["queries"]
    return Pace(plan.document["people"], seconds)


def _errors(plan: TrustPlan) -> DevelopmentErrors | None:
    """Return the judge's errors on development queries with labels, if there are enough."""
    campaign, variable = plan.campaign, variable_of(plan.campaign, plan.variable)
    splits = QuerySampling.objects.filter(campaign=campaign, role="development")
    labels = Label.objects.filter(
        response__current=True,
        response__assignment__replicate=0,
        unit__item__campaign=campaign,
        unit__item__query__in=splits.values("query"),
        variable=plan.variable,
    )
    code = {name: n for n, name in enumerate(variable.answers)}
    people: dict[int, list[int]] = {}
    judged: dict[int, tuple[int, float, int]] = {}
    rows = labels.values_list(
        "unit", "value", "response__assignment__rater", "response__assignment__rater__kind",
        "unit__item__query", "score", "meta",
    )  # fmt: skip
    for unit, value, rater, kind, query, score, meta in rows:
        if value not in code:
            continue
        if kind == Rater.Kind.HUMAN:
            people.setdefault(unit, []).append(code[value])
        elif rater == plan.judge_id:
            judged[unit] = (code[value], sureness(len(variable.codes), score, meta), query)
    both = sorted(people.keys() & judged.keys())
    queries = sorted({judged[unit][2] for unit in both})
    if len(queries) < FEWEST_QUERIES:
        return None
    most = max(len(people[unit]) for unit in both)
    votes = np.array([people[unit] + [-1] * (most - len(people[unit])) for unit in both])
    wrong = wrong_verdicts(
        np.array([judged[unit][0] for unit in both]), true_codes(votes, 1), len(variable.codes)
    )
    sure = np.array([judged[unit][1] for unit in both])
    number = {query: n for n, query in enumerate(queries)}
    groups = np.array([number[judged[unit][2]] for unit in both])

    def by_cut(which: Ints) -> Ints:
        cuts = [sure >= cut["threshold"] for cut in plan.document["cuts"]]
        counts = [np.bincount(groups[cut & (which > 0)], minlength=len(queries)) for cut in cuts]
        return np.stack(counts, axis=1)

    return DevelopmentErrors(
        by_cut(np.ones(len(both), dtype=np.int64)), by_cut(wrong.astype(np.int64))
    )

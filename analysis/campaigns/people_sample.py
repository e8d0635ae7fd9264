"""Which queries of a campaign people are asked about, how they were drawn, and what they did."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from django.db.models import Count, Q

from annotation.models import (
    Assignment,
    Campaign,
    Item,
    QuerySampling,
    Rater,
    TrustDraw,
    TrustPlan,
)
from annotation.people.membership import exclusion_reasons
from annotation.registry import get_protocol
from datasets.lineage import ancestors
from tandem.document import count
from tandem.labels.frame import EVALUATION, Warning
from tandem.labels.people_sample import PeopleSample
from tandem.sections.sentence import Part, Sentence
from tandem.trust.check import Draw, Drawn
from tandem.types import JSON


def chosen_items(campaign: Campaign) -> int:
    """Return the number of chosen items; 0 if the campaign has all items or a random sample."""
    return len(campaign.options.get("chosen", ()))


def describe_chosen(items: int) -> str:
    what = "1 item was" if items == 1 else f"{items} items were"
    return (
        f"{what} chosen, not sampled at random. Figures are only about these items and are not "
        "estimates for others."
    )


def chosen_warnings(campaign: Campaign) -> list[JSON]:
    """Return a warning for figures without a verdict, which would say the same."""
    if not (items := chosen_items(campaign)):
        return []
    return [Warning("chosen_items", None, None, describe_chosen(items))._asdict()]


def people_sample(campaign: Campaign, with_assisted: bool = False) -> PeopleSample | None:
    """Return the sample of a campaign that asks people a random share of its queries, else None.

    Answers that a judge's label assisted count as votes only `with_assisted`. Queries that only a
    plan drew are left out, since it draws large ones more often. Where all queries are asked, and a
    plan drew some, the others are unfinished.
    """
    draws = TrustDraw.objects.filter(plan__campaign=campaign, plan__kind=TrustPlan.Kind.CERTIFY)
    drawn = set(draws.values_list("query__key", flat=True))
    if campaign.human_share >= 1:
        return asked_sample(campaign, with_assisted) if drawn else None
    sampled = QuerySampling.objects.filter(campaign=campaign, drawn=True, query__key__in=drawn)
    others = drawn - set(sampled.values_list("query__key", flat=True)) if drawn else drawn
    asked = asked_sample(campaign, with_assisted)
    return PeopleSample(asked.drawn - others, asked.unfinished - others)


def asked_sample(campaign: Campaign, with_assisted: bool = False) -> PeopleSample:
    """Return the queries that people are asked, whether these are a sample or all of them."""
    lacking: dict[str, bool] = {}
    for query, lacks in _asked_items(campaign, with_assisted):
        lacking[query] = lacking.get(query, False) or lacks
    return PeopleSample(frozenset(lacking), frozenset(q for q, lacks in lacking.items() if lacks))


def unfinished_queries(campaign: Campaign, with_assisted: bool = False) -> set[str]:
    """Return the queries with an item that lacks a vote which the design asks.

    An item has `quota` votes. A vote is in if a person who is not excluded has answered about all
    units of the item, or has declined the item with a reason. Where each rater is asked a sample of
    the units, an answer about any of them is a vote.
    """
    return {query for query, lacks in _asked_items(campaign, with_assisted) if lacks}


def _asked_items(campaign: Campaign, with_assisted: bool) -> Iterator[tuple[str, bool]]:
    """Yield the query of each item that people are asked, and whether the item lacks a vote."""
    votes = _votes(campaign, with_assisted)
    items = Item.objects.filter(campaign=campaign, use=Item.Use.STUDY, quota__gt=0)
    sampled = get_protocol(campaign).sampled
    rows = items.annotate(size=Count("units")).order_by()
    for item, query, quota, size in rows.values_list("pk", "query__key", "quota", "size"):
        given = sum(asked >= (1 if sampled else size) for asked in votes[item].values())
        yield query, given < quota


def _votes(campaign: Campaign, with_assisted: bool) -> dict[int, dict[int, float]]:
    """Return by item and person the number of units with an answer, infinite if declined."""
    rows = Assignment.objects.filter(
        Q(responses__current=True) | (Q(status=Assignment.Status.DECLINED) & ~Q(reason="")),
        item__campaign=campaign,
        item__use=Item.Use.STUDY,
        rater__kind=Rater.Kind.HUMAN,
    ).exclude(rater__name__in=list(exclusion_reasons(campaign.name)))
    if not with_assisted:
        rows = rows.filter(assisted_by="")
    found: dict[int, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for item, rater, status, asked in rows.order_by().values_list(
        "item", "rater", "status", "asked"
    ):
        declined = status == Assignment.Status.DECLINED
        found[item][rater] += float("inf") if declined else len(asked)
    return found


def interim_of(campaign: Campaign, with_assisted: bool = False) -> JSON:
    """Return the numbers of labelled and registered queries; empty if the report is no interim one.

    A query is labelled once each vote that the design asks of it is in, or declined with a reason.
    """
    registered = campaign.registered_queries
    if not registered:
        return {}
    asked = Item.objects.filter(campaign=campaign, use=Item.Use.STUDY, quota__gt=0)
    queries = set(asked.order_by().values_list("query__key", flat=True))
    labelled = len(queries - unfinished_queries(campaign, with_assisted))
    return {} if labelled >= registered else {"labelled": labelled, "registered": registered}


def describe_interim(found: JSON) -> str:
    verb = "is" if found["registered"] == 1 else "are"
    of = count(found["registered"], "registered query", "registered queries")
    return f"{found['labelled']:,} of {of} {verb} labelled"


def about_interim(found: JSON) -> JSON:
    """Return the sentence with which the verdict of an interim report begins."""
    words = f"{describe_interim(found)}, and figures may change until the rest are"
    return Sentence("Is this the final report?", "Interim", "open", (Part(words),)).as_json()


def interim_warnings(campaign: Campaign) -> list[JSON]:
    """Return a warning for figures without a verdict, which would say the same."""
    if not (found := interim_of(campaign)):
        return []
    return [Warning("interim", None, None, f"Interim: {describe_interim(found)}.")._asdict()]


RUNNING = (
    "a plan is running, which has drawn some of the queries by size; look at the plan instead, or "
    "end it"
)
BY_PLAN = "a plan drew some of the queries, besides those that were sampled evenly"
NOT_ASKED = "people are not asked here"


def query_draw(
    campaign: Campaign, sampled: PeopleSample | None = None, with_assisted: bool = False
) -> Draw:
    """Return how the queries were drawn that people are asked, by the campaign's own sample.

    `sampled` is its `people_sample`, if that is known already.
    """
    if campaign.has_plan:
        return Draw("unknown", reason=RUNNING)
    if items := chosen_items(campaign):
        return Draw("unknown", reason=describe_chosen(items).partition(". ")[0])
    kind: Drawn = "all" if campaign.human_share >= 1 else "even"
    if kind == "even" and TrustPlan.objects.filter(campaign=campaign).exists():
        return Draw("unknown", reason=BY_PLAN)
    sample = sampled or asked_sample(campaign, with_assisted)
    if not sample.drawn:
        return Draw("unknown", reason=NOT_ASKED)
    return Draw(kind, sample, dict(_unjudged(campaign)))


def known_draw(
    campaign: Campaign, sampled: PeopleSample | None, with_assisted: bool
) -> Draw | None:
    """Return how the queries were drawn, or None if that is not known."""
    draw = query_draw(campaign, sampled, with_assisted)
    return None if draw.kind == "unknown" else draw


def _unjudged(campaign: Campaign) -> Iterator[tuple[str, str]]:
    """Yield the judges that were not asked all items so far, and how many these are.

    Which ones may depend on what people labelled, and then these are no even sample of the rest.
    """
    evaluated = QuerySampling.objects.filter(campaign=campaign, role=EVALUATION).values("query")
    items = Item.objects.filter(campaign=campaign, use=Item.Use.STUDY, query__in=evaluated)
    total = items.count()
    asked = Assignment.objects.filter(
        item__in=items, rater__kind=Rater.Kind.JUDGE, replicate=0
    ).exclude(status__in=("open", "leased", "cancelled"))
    rows = asked.order_by().values("rater__name").annotate(n=Count("item", distinct=True))
    for name, number in rows.values_list("rater__name", "n"):
        if number < total:
            yield name, f"the judge has answered {number:,} of {count(total, 'item')} so far"


def units_behind(campaign: Campaign) -> dict[str, int]:
    """Return the number of units whose labels have changed since, by batch of the lineage."""
    return {each.batch.name: each.behind for each in ancestors(campaign.batch) if each.behind}


def behind_warnings(campaign: Campaign) -> list[JSON]:
    """Return a warning for each batch in the campaign's lineage that is *behind*."""
    return [
        Warning("batch_behind", None, None, behind_sentence(name, units))._asdict()
        for name, units in units_behind(campaign).items()
    ]


def behind_sentence(name: str, units: int) -> str:
    what = "1 unit has" if units == 1 else f"{units} units have"
    return (
        f"Batch {name} is behind: {what} other labels than when it was derived. Figures are about "
        "the batch as it was."
    )

"""How a campaign's queries were drawn for people: what bounds of judges' errors depend on."""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import Count

from analysis.campaigns.chosen_items import chosen_items, describe_chosen
from analysis.campaigns.people_sample import asked_sample
from annotation.models import Assignment, Campaign, Item, QuerySampling, Rater, TrustPlan
from tandem.document import count
from tandem.labels.people_sample import PeopleSample
from tandem.labels.splits import EVALUATION
from tandem.trust.check import Draw, Drawn

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

"""The units that people should label first, and where more queries come from.

The report says which units they are (`tandem.sections.between_judges.label_first`). The page, the
command and the API all create the campaign from `chosen_items_of`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

from django.db.models import Count, F, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from annotation.access import get_account, managed_campaign, readable_campaign
from annotation.campaign_setup.chosen_items import ChosenItems, choose_items
from annotation.campaigns.design import DesignError
from annotation.campaigns.sampling import summary
from annotation.models import Assignment, Campaign, Item, Rater
from annotation.people.membership import may_manage
from annotation.presentation import design as design_of
from annotation.presentation import schema
from annotation.views.new_campaign import begin_continued
from datasets.access import READERS, role_required
from datasets.text import number_in
from tandem.document import count
from tandem.types import JSON

NO_LIST = (
    "there is no list of units to label first: it needs two judges with labels of the same units, "
    "and units that no person has labelled; run another judge"
)


class ListedUnits(NamedTuple):
    """A variable and its units to label first, from the report."""

    variable: str
    units: list[JSON]


def label_first_lists(report: JSON) -> list[ListedUnits]:
    """Return a report's lists, one for each variable with units to label first."""
    found = [
        ListedUnits(name, block.get("between_judges", {}).get("label_first", []))
        for name, block in report["variables"].items()
    ]
    return [each for each in found if each.units]


def list_of(report: JSON, variable: str = "", most: int | None = None) -> ListedUnits:
    """Return the first `most` units of a variable's list, by default of the first variable's.

    Raises DesignError if there is none.
    """
    lists = label_first_lists(report)
    if not lists:
        raise DesignError(NO_LIST, "variable")
    names = [each.variable for each in lists]
    if variable and variable not in names:
        wrong = f"variable {variable!r} has no units to label first"
        raise DesignError(f"{wrong}; choose one of {', '.join(names)}", "variable")
    if most is not None and most < 1:
        raise DesignError("fewer than one unit is chosen; give 1 or more", "units")
    found = lists[names.index(variable or names[0])]
    return ListedUnits(found.variable, found.units[:most])


def chosen_items_of(campaign: Campaign, listed: ListedUnits) -> ChosenItems:
    """Return the items of listed units, in the order of the list. Raises DesignError."""
    keys = ((each["item"], each["kind"], each["unit"]) for each in listed.units)
    return choose_items(campaign, keys)


def sentences(chosen: ChosenItems) -> list[str]:
    """Describe the size of a campaign over chosen items, and the limits of its figures."""
    noun = schema(chosen.campaign).noun
    units, items = count(chosen.units, *noun), count(len(chosen.items), "item")
    more = chosen.asked - chosen.units
    whole = f"{units} in {items}, the most urgent first"
    if more:
        whole += f"; items are labelled whole, which makes {count(chosen.asked, *noun)}"
    return [
        f"{whole}.",
        "Judges’ answers to these items are copied, so that people’s labels can be compared with "
        "them at once.",
        "The items are those on which judges differ most, not a random sample: agreement and "
        "judges’ errors on them say nothing about the other items.",
    ]


@dataclass(frozen=True)
class MoreQueries:
    """A campaign's queries, by what it takes until people have labelled them.

    `waiting` are sampled for people and still lack answers, `not_sampled` are in the batch alone.
    `number` is how many more are wanted.
    """

    number: int
    queries: int
    waiting: int
    not_sampled: int

    @property
    def labelled(self) -> int:
        return self.queries - self.not_sampled - self.waiting

    @property
    def sampled(self) -> int:
        """How many of the number a larger sample can add."""
        return min(self.number, self.not_sampled)

    @property
    def loaded(self) -> int:
        """How many of the number the batch does not have."""
        return max(self.number - self.waiting - self.not_sampled, 0)

    @property
    def way(self) -> str:
        """The way to the next queries that takes least: `label`, `sample` or `load`."""
        if self.waiting:
            return "label"
        return "sample" if self.not_sampled else "load"

    @property
    def larger_share(self) -> float:
        """The share of the batch's queries for people, with the number on top."""
        wanted = self.queries - self.not_sampled + self.sampled
        return min(1.0, math.ceil(1000 * wanted / max(self.queries, 1)) / 1000)


def more_queries_of(campaign: Campaign, number: int) -> MoreQueries:
    """Count the queries of a campaign for `number` more."""
    sample = summary(campaign)
    done = Q(assignments__status=Assignment.Status.DONE, assignments__rater__kind=Rater.Kind.HUMAN)
    items = Item.objects.filter(campaign=campaign, use=Item.Use.STUDY, quota__gt=0)
    counted = items.annotate(people=Count("assignments__rater", filter=done, distinct=True))
    waiting = counted.filter(people__lt=F("quota")).order_by().values("query").distinct().count()
    drawn = sample["queries_drawn"]
    # Where items were chosen, no share of the queries was sampled.
    queries = drawn if campaign.options.get("chosen") else sample["queries"]
    return MoreQueries(number, queries, waiting, queries - drawn)


@require_http_methods(["GET", "HEAD", "POST"])
@role_required(*READERS)
def more_queries(request: HttpRequest, pk: int) -> HttpResponse:
    """Show where `number` more queries come from. POST begins a campaign with a larger sample."""
    is_post = request.method == "POST"
    campaign = managed_campaign(request, pk) if is_post else readable_campaign(request, pk)
    found = more_queries_of(campaign, max(number_in(request.GET.get("number", "")), 1))
    if is_post and found.not_sampled:
        people = max(1, campaign.raters_per_item)
        share = found.larger_share
        design = replace(design_of(campaign), human_share=share, raters_per_item=people)
        return begin_continued(request, campaign, design, f"{campaign.name[:180]}-more")
    context = {
        "campaign": campaign,
        "more": found,
        "manages": may_manage(get_account(request), campaign.pk),
    }
    return render(request, "results/more_queries.html", context)

"""Why a figure is missing: from the labels as they are now, not from the last report.

A report is older than the labels that came since. While it is, nothing is concluded from what it
lacks: the labels are counted again, and if they suffice, the figure is still to be computed. Only a
report of the current labels says by itself why it has no figure.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db.models import Count, OuterRef, Q, QuerySet, Subquery

from analysis.attention import Facts
from analysis.campaigns.report_job import REPORT
from annotation.adjudication.disputes import counted_labels
from annotation.exposure.ledger import FEWEST_UNITS
from annotation.models import Assignment, Campaign, Item, Label, Rater
from annotation.presentation import schema
from datasets.work.kinds import kind_named
from datasets.work.queue import current_digest
from tandem.types import JSON

FIRST_ITEMS = 30
"""How many items' labels are read first; most items have a unit that enough raters labelled."""
JUDGES_ONLY = (
    "Only judges are asked here. A paper’s tables compare them with people of another campaign "
    "over the same data; people’s labels may also be imported."
)
HERE = f"From {FEWEST_UNITS} on, the figure is here."


@dataclass(frozen=True)
class Missing:
    """The reasons for the missing figures of one variable of a campaign.

    `variable` is the report's block of it, empty without one. `is_computing` says that a report is
    being computed.
    """

    facts: Facts
    variable: JSON
    is_computing: bool = False

    @cached_property
    def is_current(self) -> bool:
        """Whether the last report is of the labels as they are now."""
        job = self.facts.report_job
        if job is None or self.facts.report is None:
            return False
        return job.digest == current_digest(kind_named(REPORT), job.options)

    @property
    def waits(self) -> str:
        """What is said of a figure that is still to be computed."""
        return "Being computed …" if self.is_computing else "Not computed yet."

    @cached_property
    def people(self) -> str:
        """Why there is no agreement among people."""
        campaign: Any = self.facts.campaign
        if not campaign.people_done:
            return "Nobody has answered yet." if campaign.asks_people else JUDGES_ONLY
        if campaign.people < 2:
            return "One person has answered. Agreement needs two on the same items."
        units = self.variable.get("units", 0) if self.is_current else self._units(people__gt=1)
        if units >= FEWEST_UNITS:
            return self.waits
        one, several = schema(campaign).noun
        if not units:
            return f"No {one} has labels from two people yet."
        return f"{units} shared {one if units == 1 else several} so far. {HERE}"

    @cached_property
    def judge(self) -> str:
        """Why no judge's agreement with people is here."""
        campaign: Any = self.facts.campaign
        if not campaign.judges:
            return self._no_answer()
        if not campaign.people_done:
            return (
                "A judge has answered. Its agreement with people shows once people have answered."
                if campaign.asks_people
                else JUDGES_ONLY
            )
        return self.of_judge()

    def of_judge(self, name: str = "") -> str:
        """Why a judge that has answered has no figure; of any judge without a name."""
        judges = [j for j in self.variable.get("judges", ()) if name in ("", j["name"])]
        if self.is_current:
            units = max((each["units"] for each in judges), default=0)
        else:
            units = self._units(name, people__gt=0, judges__gt=0)
        if units >= FEWEST_UNITS:
            return self.waits
        one, several = schema(self.facts.campaign).noun
        has = f"{one} has" if units == 1 else f"{several} have"
        whom = "a judge" if not name else "this judge"
        number = f"{units:,}" if units else "No"
        has = has if units else f"{one} has"
        return f"{number} {has} labels from both people and {whom}. {HERE}"

    @property
    def is_waiting(self) -> bool:
        """Whether a figure is missing only because no report has been computed since."""
        return self.waits in (self.people, self.judge)

    def fresh(self, figure: JSON, *values: str) -> JSON:
        """Return a figure; if it has none of these values, with a reason that still holds."""
        if any(figure[name]["value"] is not None for name in values) or self.is_current:
            return figure
        return {**figure, "reason": self.waits.rstrip(".")}

    def _units(self, judge: str = "", **enough: int) -> int:
        """Count units with labels from enough raters of each kind, up to `FEWEST_UNITS`.

        No page may read all labels of a study. They are read for a few items that enough raters
        have answered, and for more only if these do not suffice, as after many escapes.
        """
        campaign = self.facts.campaign
        asked = schema(campaign).variables
        name = self.variable.get("name") or asked[0].name
        escapes = [code for each in asked if each.name == name for code in each.escapes]
        labels = counted_labels(campaign).filter(variable=name).exclude(value__in=escapes)
        items = _items_with(campaign, judge, enough)
        found, last, number = 0, 0, FIRST_ITEMS
        while found < FEWEST_UNITS:
            some = list(items.filter(pk__gt=last)[:number])
            units = _units_with(labels.filter(response__assignment__item__in=some), judge, enough)
            found += len(units[: FEWEST_UNITS - found])
            if len(some) < number:
                break
            last, number = some[-1], 2 * number
        return found

    def _no_answer(self) -> str:
        """Explain why no judge has an answer: none has run, or the runs gave no usable answer."""
        if missing := sum(self.facts.failed.values()):
            what = "its answer is" if missing == 1 else f"all {missing:,} answers are"
            return f"A judge has run, but {what} missing."
        if self.facts.runs:
            return "A judge’s run was started. It has given no answer yet."
        return "No judge has run."


def _items_with(campaign: Campaign, judge: str, enough: dict[str, int]) -> QuerySet[Any, int]:
    """Return the items with current answers of enough raters of each kind, in order.

    Each item is looked at by itself, so that a database can stop at the first few.
    """
    answers = Assignment.objects.filter(item=OuterRef("pk"), responses__current=True).values("item")
    people, judges = Q(rater__kind=Rater.Kind.HUMAN), Q(rater__kind=Rater.Kind.JUDGE)
    counts = {
        kind: Subquery(answers.filter(of).annotate(number=Count("pk")).values("number"))
        for kind, of in (("people", people), ("judges", _of(judges, "rater", judge)))
    }
    items = campaign.items.filter(use=Item.Use.STUDY).annotate(**counts).filter(**enough)
    return items.order_by("pk").values_list("pk", flat=True)


def _units_with(labels: QuerySet[Label], judge: str, enough: dict[str, int]) -> QuerySet[Any, int]:
    """Return the units with labels from enough raters of each kind."""
    rater = "response__assignment__rater"
    people = Q((f"{rater}__kind", Rater.Kind.HUMAN))
    judges = _of(~people, rater, judge)
    counts = {"people": Count("pk", filter=people), "judges": Count("pk", filter=judges)}
    units = labels.values("unit").annotate(**counts).filter(**enough)
    return units.values_list("unit", flat=True)


def _of(judges: Q, rater: str, name: str) -> Q:
    """Return the condition for the judge of this name, or for any judge without one."""
    return judges & Q((f"{rater}__name", name)) if name else judges

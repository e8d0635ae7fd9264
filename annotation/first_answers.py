"""The written answers of one campaign as the material of another, which comes second.

In a second round each is shown to another person; in a validation pass its sentences are asked
about. A response is never changed, so what such a campaign shows stays as it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Exists, F, Max, Min, OuterRef, Q, QuerySet

from annotation.models import Campaign, Label, Response, Unit
from annotation.protocols import PROTOCOLS
from annotation.protocols.base import kinds_of
from annotation.protocols.schema import Schema
from datasets import rows

PREFIX = "answer-"


@dataclass(frozen=True)
class FirstAnswer:
    """A written answer of an earlier campaign. `selected` are names of units there."""

    response: int
    text: str
    citations: tuple[str, ...]
    selected: frozenset[str]


def usable_answers(campaign: str) -> QuerySet[Response]:
    """The standing answers of people in a campaign that say something, the oldest place first."""
    rule = PROTOCOLS["grounded-answer"].written
    found = Response.objects.filter(
        current=True,
        assignment__item__campaign__name=campaign,
        assignment__rater__kind="human",
        assignment__replicate=0,
        assignment__scope="",
    )
    for variable, codes in (rule.asked_if if rule else {}).items():
        other = Label.objects.filter(response=OuterRef("pk"), variable=variable)
        found = found.filter(~Exists(other.exclude(value__in=codes)))
    # A file may hold an answer that nobody says to be one.
    told = Label.objects.filter(response=OuterRef("pk"), variable="deflected", value="no")
    if _asks(campaign, "deflected"):
        found = found.filter(Exists(told))
    return found.order_by("assignment_id")


def with_a_gap(answers: QuerySet[Response]) -> QuerySet[Response]:
    """Those with two selected sentences or more that do not all follow each other.

    It is the gate of CLAPnq's second round (Rosenthal and others 2025).
    """
    chosen = Label.objects.filter(response=OuterRef("pk"), variable="selected", value="yes")
    spread = chosen.order_by().values("response").annotate(
        n=Count("pk"), low=Min("unit__position"), high=Max("unit__position")
    )  # fmt: skip
    return answers.filter(Exists(spread.filter(n__gte=2, high__gte=F("low") + F("n"))))


def written_in(response: Response) -> FirstAnswer | None:
    """What a response holds of a written answer; None without words."""
    units: Mapping[str, Mapping[str, Any]] = response.payload["units"]
    written = next((a["written"] for a in units.values() if a.get("written")), None)
    if not written or not written["text"].strip():
        return None
    selected = frozenset(name for name, a in units.items() if a.get("selected") == "yes")
    return FirstAnswer(response.pk, written["text"], tuple(written["citations"]), selected)


def validates_answers(campaign: Campaign, asked: Schema) -> bool:
    """Whether sentences of an earlier campaign's answers are asked about, not those of reports."""
    named = campaign.protocol == "grounded-answer" and campaign.options.get("prerequisite")
    return bool(named) and "sentence" in kinds_of(asked.variables)


def answers_as_reports(campaign: Campaign, query: str) -> tuple[rows.Report, ...]:
    """The answers to a query that a campaign validates: those there were when it was made."""
    stored = Unit.objects.filter(item__campaign=campaign, item__query__key=query, kind="sentence")
    keys = {key.rpartition("#")[0] for key in stored.values_list("key", flat=True)}
    if keys:
        wanted = {key.removeprefix(PREFIX) for key in keys}
        found = Response.objects.filter(pk__in=wanted).order_by("assignment_id")
    else:
        first = str(campaign.options["prerequisite"])
        found = usable_answers(first).filter(assignment__item__query__key=query)
    return tuple(_reports(found))


def _reports(answers: QuerySet[Response]) -> Iterator[rows.Report]:
    """Identical answers of several people are one."""
    seen: set[str] = set()
    for response in answers:
        answer = written_in(response)
        if answer and answer.text not in seen:
            seen.add(answer.text)
            yield rows.Report(
                f"{PREFIX}{response.pk}", answer.text, citations=answer.citations or None
            )


def _asks(campaign: str, variable: str) -> bool:
    options = Campaign.objects.filter(name=campaign).values_list("options", flat=True).first()
    chosen = (options or {}).get("variables")
    return not chosen or variable in chosen


def by_others(answers: QuerySet[Response], rater: int) -> QuerySet[Response]:
    return answers.filter(~Q(assignment__rater=rater))

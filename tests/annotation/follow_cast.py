"""A report-coverage campaign `first` over the small cast, and rating campaigns that follow it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from annotation.answers.submission import submit
from annotation.assignments.queue import claim_slot, next_assignment
from annotation.models import Assignment, Campaign, Item, Rater
from tests.cast import campaign_of

Q1 = ["a/b#1", " blank ", "🌉"]
"""The questions of query `q/1`, which has the reports `r` and `r#1`, the passages `p` and `p#1`."""


def coverage(people: int = 1, *arguments: str) -> Campaign:
    number = ("--raters-per-item", str(people))
    return campaign_of("report-coverage", *number, *arguments, name="first")


def rating(*options: str, people: int = 2, name: str = "second") -> Campaign:
    """A campaign that follows `first`; options as K=V."""
    given = [word for option in ("prerequisite=first", *options) for word in ("--option", option)]
    return campaign_of("rubric-passage", "--raters-per-item", str(people), *given, name=name)


def rater(name: str = "ann") -> Rater:
    return Rater.objects.get_or_create(name=name)[0]


def answer(
    campaign: Campaign, item: str, name: str, codes: Mapping[str, str], kind: str = "human"
) -> Assignment:
    """One whole answer to an item of `first`; every question without a code is a no."""
    held = taken(campaign, item, name, kind)
    submit(held, coverage_payload(held, codes), "page")
    held.refresh_from_db()
    return held


def taken(campaign: Campaign, item: str, name: str, kind: str = "human") -> Assignment:
    who = Rater.objects.get_or_create(name=name, defaults={"kind": kind})[0]
    what = Item.objects.get(campaign=campaign, key=item)
    names = list(what.units.order_by("position").values_list("name", flat=True))
    slot = claim_slot(what) if kind == "human" else None
    return Assignment.objects.create(item=what, rater=who, slot=slot, asked=names)


def coverage_payload(held: Assignment, codes: Mapping[str, str]) -> dict[str, Any]:
    report = held.item.report
    assert report is not None
    words = report.text.split()[0]
    units = {
        name: {
            "answerable": codes.get(name, "no"),
            "evidence": [{"quote": words, "start": 0}] if codes.get(name) == "yes" else [],
        }
        for name in held.asked
    }
    return {"units": units, "comment": None}


def given(campaign: Campaign, who: Rater) -> dict[str, list[str]]:
    """All items that a person gets now, with the asked units; each is marked as done."""
    found: dict[str, list[str]] = {}
    while held := next_assignment(campaign, who):
        found[held.item.key] = held.asked
        Assignment.objects.filter(pk=held.pk).update(status="done")
    return found

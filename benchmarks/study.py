"""People with accounts, and one answer to every item of a campaign, written as rows.

The rows are those that `submit` would write, which would take too long.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

from django.db import transaction
from django.test import Client
from django.utils import timezone

from annotation.exports.rows import chunks
from annotation.models import Assignment, Campaign, Draft, Item, Label, Rater, Response, Span, User
from benchmarks.study_names import PASSWORD, QUOTE, name_of
from datasets.db.bulk import bulk_write, refresh_statistics, reserve

CHUNK = 2000
_ASSIGNMENT = (
    "id", "uid", "item_id", "rater_id", "replicate", "scope", "asked", "shown", "slot", "status",
    "reason", "missing", "attempts", "seconds", "assisted_by", "created_at",
)  # fmt: skip
_RESPONSE = (
    "id", "assignment_id", "revision", "current", "payload", "comment", "door", "created_at",
)  # fmt: skip
_LABEL = ("id", "response_id", "unit_id", "variable", "value")
_SPAN = ("label_id", "field", "start", "end", "quote", "method")


def people_and_answers(name: str, people: int) -> dict[str, Any]:
    """Answer each item once, by each person in turn; return the number of labels."""
    campaign = Campaign.objects.get(name=name)
    raters = [rater(number) for number in range(people)]
    with transaction.atomic():
        items = campaign.items.select_related("report").prefetch_related("units")
        # In parts, since a million units at once would take a few gigabytes.
        parts = chunks(items.order_by("position").iterator(chunk_size=CHUNK), CHUNK)
        answers = labels = 0
        for part in parts:
            labels += _answer(part, raters)
            answers += len(part)
        Item.objects.filter(campaign=campaign).update(taken=1)
        refresh_statistics(Item, Assignment, Response, Label, Span)
    return {"people": people, "answers": answers, "labels": labels}


def sessions(first: int, count: int, role: str = "annotator") -> list[str]:
    """Return the session keys of logged-in people, numbered from `first`."""
    for number in range(first, first + count):
        # Hashing a password takes a third of a second, and nobody enters these.
        User.objects.get_or_create(username=name_of(number), defaults={"role": role})
        rater(number)
    return [_session(name_of(number)) for number in range(first, first + count)]


def _session(name: str) -> str:
    client = Client()
    client.force_login(User.objects.get(username=name))
    return client.cookies["sessionid"].value


def draft_full_of_spans(name: str, spans: int) -> dict[str, Any]:
    """Create a draft on the campaign's only item, each unit a yes with its share of spans."""
    item = Campaign.objects.get(name=name).items.select_related("report").get()
    names = [unit.name for unit in item.units.order_by("position")]
    text = item.report.text if item.report else ""
    step = len(text) // (spans + 1)
    units = {
        unit: {"answerable": "yes", "evidence": [
            {"quote": text[n * step : n * step + 40 + n], "start": n * step}
            for n in range(number, spans, len(names))
        ]}
        for number, unit in enumerate(names)
    }  # fmt: skip
    assignment = Assignment.objects.create(item=item, rater_id=rater(0), asked=names)
    Draft.objects.create(assignment=assignment, payload={"units": units, "comment": None})
    return {"uid": str(assignment.uid)}


def rater(number: int) -> int:
    """Return the key of a person with an account, created at first use."""
    name = name_of(number)
    user = User.objects.filter(username=name).first()
    user = user or User.objects.create_user(name, password=PASSWORD, role="annotator")
    return Rater.objects.get_or_create(user=user, defaults={"name": name})[0].pk


def _answer(items: list[Item], raters: list[int]) -> int:
    now = timezone.now()
    assignments = reserve(Assignment, len(items))
    responses = reserve(Response, len(items))
    bulk_write(Assignment, _ASSIGNMENT, (
        (pk, uuid.uuid4(), item.pk, raters[n % len(raters)], 0, "",
         [unit.name for unit in item.units.all()], [], 1, "done", "", {}, 0, 31.5, "", now)
        for n, (pk, item) in enumerate(zip(assignments, items, strict=True))
    ))  # fmt: skip
    bulk_write(Response, _RESPONSE, (
        (pk, assignment, 1, True, {"units": dict(_units(item)), "comment": None}, "", "page", now)
        for pk, assignment, item in zip(responses, assignments, items, strict=True)
    ))  # fmt: skip
    return _labels(list(zip(responses, items, strict=True)))


def _units(item: Item) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return units of which the first is a yes with a quote, and the others are no."""
    for number, unit in enumerate(item.units.all()):
        quotes = [] if number else [{"quote": _quote(item), "start": 0}]
        yield unit.name, {"evidence": quotes, "answerable": "no" if number else "yes"}


def _quote(item: Item) -> str:
    return item.report.text[:QUOTE] if item.report else ""


def _labels(answers: list[tuple[int, Item]]) -> int:
    rows = [
        (response, unit.pk, "answerable", "no" if number else "yes", item)
        for response, item in answers
        for number, unit in enumerate(item.units.all())
    ]
    labels = reserve(Label, len(rows))
    bulk_write(Label, _LABEL, ((pk, *row[:4]) for pk, row in zip(labels, rows, strict=True)))
    bulk_write(Span, _SPAN, (
        (pk, "report", 0, QUOTE, _quote(row[4]), "exact")
        for pk, row in zip(labels, rows, strict=True) if row[3] == "yes"
    ))  # fmt: skip
    return len(rows)

"""The ledger: note what is shown of others' answers, and record it with the request's account.

`saw_answers` and `saw_figures` are called by the functions that read answers, and add a note to
those being collected (`audit.looks`). A request records its notes as looks of its account. Where
nothing is collected, as in commands, nothing is noted: a person who runs a command can read the
database as well.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable
from datetime import datetime

from django.db.models import Max

from annotation.models import Campaign, Look, Rater, Response
from audit.looks import Note, collect_looks, deliver, is_collecting

__all__ = [
    "FEWEST_UNITS",
    "KINDS",
    "Note",
    "collect_looks",
    "deliver",
    "describe",
    "exposes",
    "is_collecting",
    "record",
    "record_again",
    "saw_answers",
    "saw_figures",
]

FEWEST_UNITS = 30
"""Figures over fewer units reveal as much as the answers themselves."""
MOST_NAMED = 1000
"""A scope with more items or units is widened to the whole campaign, so that a row stays small."""

KINDS: dict[str, str] = {
    "answers": "the list of answers",
    "export": "an export",
    "report": "the report",
    "snapshot": "a snapshot of the report",
    "overview": "the campaign's first page",
    "items": "the items with their answers",
    "measures": "the measures",
    "trust": "the evidence for what a judge may decide",
    "robustness": "the robustness sheet",
    "quality": "agreement and flags during the work",
    "flagged": "the labels behind a flag",
    "disagreements": "the list of disagreements",
    "draft": "a draft of a change with tagged units, or its effect",
    "disputes": "the list of disputes",
    "dispute": "a dispute",
    "sample": "the sample, whose strata follow answers",
    "judge": "a judge's answer",
    "judged": "a judge's answers, beside those of people",
    "judges": "the list of judges",
    "trial": "a judge's answer while it was tried",
    "prompt": "a prompt with people's labels as examples",
    "prepared": "prepared material",
    "derived": "decisions from which a batch was derived",
    "stated": "something that the imported file does not name",
}
"""What a look showed, in words, by its kind."""

STATED = "stated"
"""The kind of an imported exposure mark, whose look is not in this site's ledger."""

UNSTORED = frozenset({"trial"})
"""Kinds of looks at answers that are not stored, so that no response refers to them."""


def saw_answers(
    kind: str,
    campaign: Campaign | int,
    *,
    items: Collection[int] | None = None,
    units: Collection[int] | None = None,
    rater: Rater | int | None = None,
    number: int | None = None,
    until: datetime | None = None,
) -> None:
    """Note that answers are being shown: of a whole campaign, or of some items or units.

    `items` and `units` are primary keys. `rater` is the only one whose answers are shown. `number`
    is the number of units that they are about, if that is more than `units` has. Answers after
    `until` are not shown. Raises KeyError for an unknown kind.
    """
    if is_collecting():
        scope = _scope(items, units)
        number = len(units) if number is None and units is not None else number
        _note(kind, campaign, scope, True, number, rater, until)


def saw_figures(
    kind: str,
    campaign: Campaign | int,
    number: int,
    *,
    items: Collection[int] = (),
    units: Collection[int] = (),
    rater: Rater | int | None = None,
    until: datetime | None = None,
) -> None:
    """Note that figures over `number` units are being shown. With 0 units, nothing is noted.

    The look exposes `items` or `units`, by primary key: those for which some figure, such as that
    of a stratum, covers fewer than `FEWEST_UNITS` units. If `number` itself is smaller and none is
    named, the look exposes the whole campaign. With a `rater`, the figures are about that rater's
    answers alone.
    """
    if is_collecting() and number:
        scope = _scope(items or None, units or None)
        exposing = bool(items or units) or number < FEWEST_UNITS
        _note(kind, campaign, scope, exposing, number, rater, until)


def record(user: int | None, notes: Iterable[Note]) -> None:
    """Store notes as looks of an account, except those stored already and without newer answers."""
    if user is None:
        return
    looks = {tuple(note[name] for name in _SAME): Look(user_id=user, **note) for note in notes}
    new = [look for look in looks.values() if not _is_stored(look)]
    # Two requests at the same moment may both find it missing.
    Look.objects.bulk_create(new, ignore_conflicts=True)


def record_again(user: int | None, notes: Iterable[Note]) -> None:
    """Record looks again, to include the answers that arrived while the file was streamed."""
    newest = _newest()
    record(user, [{**note, "upto": newest} for note in notes if note["upto"] < newest])


def exposes(notes: Iterable[Note], campaign: Campaign) -> bool:
    """Return whether the noted looks mark answers that the reader later gives in a campaign."""
    return any(note["exposing"] and note["campaign_id"] == campaign.pk for note in notes)


def describe(kind: str) -> str:
    """Return in words what a look of this kind showed."""
    return KINDS.get(kind, kind)


_SAME = ("campaign_id", "kind", "digest", "upto")


def _note(
    kind: str,
    campaign: Campaign | int,
    scope: dict[str, list[int]] | None,
    exposing: bool,
    number: int | None,
    rater: Rater | int | None,
    until: datetime | None,
) -> None:
    """Add a note with the columns of a look, apart from its account and time."""
    who = rater.pk if isinstance(rater, Rater) else rater
    text = json.dumps([scope, who, exposing, number], sort_keys=True)
    note = {
        "campaign_id": campaign.pk if isinstance(campaign, Campaign) else campaign,
        "kind": _check_kind(kind),
        "scope": scope,
        "rater_id": who,
        "number": number,
        "exposing": exposing,
        "upto": _newest(until),
        "digest": hashlib.sha256(text.encode()).hexdigest()[:16],
    }
    deliver([note])


def _check_kind(kind: str) -> str:
    if kind not in KINDS:
        raise KeyError(
            f"{kind!r} is not a kind of look; add it to KINDS in annotation.exposure.ledger"
        )
    return kind


def _scope(
    items: Collection[int] | None, units: Collection[int] | None
) -> dict[str, list[int]] | None:
    named = {"items": items, "units": units}
    scope = {name: sorted(set(keys)) for name, keys in named.items() if keys is not None}
    return scope if scope and max(map(len, scope.values())) <= MOST_NAMED else None


def _newest(until: datetime | None = None) -> int:
    """Return the newest response now, or at a time; 0 without any."""
    rows = (
        Response.objects.all() if until is None else Response.objects.filter(created_at__lte=until)
    )
    return rows.aggregate(newest=Max("pk"))["newest"] or 0


def _is_stored(look: Look) -> bool:
    same = {name: getattr(look, name) for name in ("user_id", *_SAME)}
    return Look.objects.filter(**same).exists()

"""The ledger: note what is shown of others' answers, and record it with the request's account.

`saw_answers` and `saw_figures` are called by the functions that read answers, and add a look to the
ones being collected. A request collects its looks in `recorded`, for the account of its actor. A
cache or a job collects them with `collected`, keeps them beside its result, and hands them over
with `deliver` to whoever gets the result. Where nothing is collected, as in commands, nothing is
noted: whoever runs a command can read the database as well.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from typing import Any

from django.db.models import Max

from annotation.models import Campaign, Look, Rater, Response

FEWEST_UNITS = 30
"""Figures over fewer units expose like the answers themselves."""
MOST_NAMED = 1000
"""A scope with more items or units is widened to the whole campaign, so that a row stays small."""

KINDS: dict[str, str] = {
    "answers": "the list of answers",
    "export": "an export",
    "report": "the report",
    "snapshot": "a snapshot of the report",
    "measures": "the measures",
    "bench": "the bench of judges",
    "comparison": "the comparison of judges",
    "robustness": "the robustness sheet",
    "quality": "agreement and flags during the work",
    "flagged": "the labels behind a flag",
    "disputes": "the list of disputes",
    "dispute": "a dispute",
    "sample": "the sample, whose strata follow answers",
    "judge": "a judge's answer",
    "trial": "a judge's answer while it was tried",
    "prompt": "a prompt with people's labels as examples",
    "prepared": "prepared material",
    "stated": "something that the imported file does not name",
}
"""What a look showed, in words, by its kind."""

STATED = "stated"
"""The kind of an imported mark, whose look is in no ledger here."""

UNSTORED = frozenset({"trial"})
"""Kinds of looks at answers that are stored nowhere, so that no response tells of them."""

_looks: ContextVar[list[Look] | None] = ContextVar("looks", default=None)


def is_collecting() -> bool:
    """Whether a look would be noted, so that callers can save the work of describing one."""
    return _looks.get() is not None


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
    is how many units they are about, if it is more than `units` names. Answers after `until` are
    not shown. Raises KeyError for an unknown kind.
    """
    if is_collecting():
        scope = _scope(items, units)
        number = len(units) if number is None and units is not None else number
        _note(_look(kind, campaign, scope, True, number, rater, until))


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
    """Note that figures over `number` units are being shown; without any, nothing is.

    The look exposes `items` or `units`, the primary keys of those for which some figure, such as
    that of a stratum, covers fewer than `FEWEST_UNITS`. If all figures do and none is named, it
    exposes the whole campaign. With a `rater`, the figures are about that rater's answers alone.
    """
    if is_collecting() and number:
        scope = _scope(items or None, units or None)
        exposing = bool(items or units) or number < FEWEST_UNITS
        _note(_look(kind, campaign, scope, exposing, number, rater, until))


@contextmanager
def collected() -> Iterator[list[Look]]:
    """Collect the looks that are noted inside, for a cache or a job that keeps them."""
    looks: list[Look] = []
    token = _looks.set(looks)
    try:
        yield looks
    finally:
        _looks.reset(token)


def deliver(looks: Iterable[Look]) -> None:
    """Note looks that were collected when a result was computed, as the result is shown now."""
    collecting = _looks.get()
    if collecting is not None:
        collecting += [_copy(look) for look in looks]


def as_json(looks: Iterable[Look]) -> list[dict[str, Any]]:
    """Return looks as JSON, for a job to keep beside its result."""
    return [{name: getattr(look, name) for name in _STORED} for look in looks]


def from_json(rows: Iterable[dict[str, Any]]) -> list[Look]:
    return [Look(**row) for row in rows]


def record(user: int | None, looks: Iterable[Look]) -> None:
    """Store looks under an account. One that is stored already, with no newer answer, is not."""
    if user is None:
        return
    rows = {(look.campaign_id, look.kind, look.digest, look.upto): look for look in looks}
    for look in rows.values():
        look.user_id = user
    new = [look for look in rows.values() if not _is_stored(look)]
    # Two requests at the same moment may both find it missing.
    Look.objects.bulk_create(new, ignore_conflicts=True)


def recorded_again(user: int | None, looks: Iterable[Look]) -> None:
    """Record looks up to the answers that came while they were being streamed."""
    newest = _newest()
    late = [_copy(look) for look in looks if look.upto < newest]
    for look in late:
        look.upto = newest
    record(user, late)


def describe(kind: str) -> str:
    """Return in words what a look of this kind showed."""
    return KINDS.get(kind, kind)


_STORED = ("campaign_id", "kind", "scope", "rater_id", "number", "exposing", "upto", "digest")


def _look(
    kind: str,
    campaign: Campaign | int,
    scope: dict[str, list[int]] | None,
    exposing: bool,
    number: int | None,
    rater: Rater | int | None,
    until: datetime | None,
) -> Look:
    who = rater.pk if isinstance(rater, Rater) else rater
    found = Look(
        campaign_id=campaign.pk if isinstance(campaign, Campaign) else campaign,
        kind=_known(kind),
        scope=scope,
        rater_id=who,
        number=number,
        exposing=exposing,
        upto=_newest(until),
    )
    text = json.dumps([scope, who, exposing, number], sort_keys=True)
    found.digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    return found


def _known(kind: str) -> str:
    if kind not in KINDS:
        raise KeyError(
            f"{kind!r} is no kind of look; add it to KINDS in annotation.exposure.ledger"
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


def _note(look: Look) -> None:
    collecting = _looks.get()
    if collecting is not None:
        collecting.append(look)


def _copy(look: Look) -> Look:
    return Look(**{name: getattr(look, name) for name in _STORED})


def _is_stored(look: Look) -> bool:
    same = ("user_id", "campaign_id", "kind", "digest", "upto")
    return Look.objects.filter(**{name: getattr(look, name) for name in same}).exists()

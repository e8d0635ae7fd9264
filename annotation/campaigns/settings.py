"""A campaign's settings, which may change while it runs: deadline, guideline, practice, closing.

The server's clock decides whether a campaign is open. An answer that comes later is kept as a
draft and counts once the campaign is open again. To name another campaign in a design or a setting
is to read it, so a campaign that its maker may not read is refused in the same words as one that
does not exist. A command may read everything.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from datetime import datetime, time
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.dateparse import parse_date, parse_datetime

from annotation.campaigns.design import DesignError
from annotation.models import Campaign, GuidelineVersion, Item, User
from annotation.people.membership import readable
from annotation.provenance import guideline_digest
from audit.recording import record

END_OF_DAY = time(23, 59, 59)
LONGEST_GUIDELINE = 100_000
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*")


@dataclass(frozen=True)
class Terms:
    """None leaves a thing as it is. An empty `guideline` is the protocol's own again, an empty
    `practice_of` no other campaign's; `no_deadline` and `no_qualify` take these away.
    """

    deadline: datetime | None = None
    language: str | None = None
    guideline: str | None = None
    gold_every: int | None = None
    practice_of: str | None = None
    qualify: float | None = None
    no_deadline: bool = False
    no_qualify: bool = False

    @property
    def says_nothing(self) -> bool:
        return all(getattr(self, field.name) == field.default for field in fields(self))


def read_deadline(text: str) -> datetime:
    """A moment as ISO 8601 has it; a day is its end, and a time without a zone is the site's.

    Raises DesignError.
    """
    try:
        moment, day = parse_datetime(text), parse_date(text)
    except ValueError:
        moment = day = None
    if day is not None:
        moment = datetime.combine(day, END_OF_DAY)
    if moment is None:
        form = "2026-12-31 or 2026-12-31T17:00+01:00"
        raise DesignError(f"deadline {text!r} is no moment; write it as {form}")
    return moment if timezone.is_aware(moment) else timezone.make_aware(moment)


def check_terms(campaign: Campaign, terms: Terms) -> None:
    """Whether they hold by themselves and for this campaign, stored or not. Raises DesignError."""
    if terms.deadline is not None and not 2000 <= terms.deadline.year <= 9998:
        # Beyond the calendar's edge a time zone away, no database gives the row back.
        raise DesignError("the deadline is not in the years 2000 to 9998; mend it")
    if terms.language and not _LANGUAGE.fullmatch(terms.language):
        raise DesignError(f"language {terms.language!r} is no tag such as en or pt-BR; mend it")
    if terms.guideline is not None and len(terms.guideline) > LONGEST_GUIDELINE:
        raise DesignError(f"the guideline is longer than {LONGEST_GUIDELINE} characters; cut it")
    if terms.guideline and "\0" in terms.guideline:
        raise DesignError("the guideline holds a NUL character; take it out")
    if terms.gold_every is not None and not (terms.gold_every == 0 or 2 <= terms.gold_every <= 999):
        raise DesignError("gold every is 0, for never, or from 2 to 999; give another number")
    if terms.qualify is not None and not 0 < terms.qualify <= 1:
        raise DesignError("qualify is not above 0 and up to 1; mend it")
    if terms.practice_of:
        _check_practice(campaign, terms.practice_of)


def _check_practice(campaign: Campaign, name: str) -> None:
    other = Campaign.objects.filter(name=name).first()
    if other is None:
        raise DesignError(
            f"practice names campaign {name!r}, which does not exist; correct the name"
        )
    if other.pk == campaign.pk:
        raise DesignError("a campaign's own practice comes first by itself; leave its name out")
    if not other.items.filter(use=Item.Use.PRACTICE).exists():
        raise DesignError(f"campaign {name!r} has no practice items; give it some by set_known")


def apply_terms(campaign: Campaign, terms: Terms, user: User | None = None) -> None:
    """Writes checked terms to a stored campaign, in a transaction."""
    changed: dict[str, Any] = {
        name: value
        for name in ("deadline", "language", "gold_every", "qualify")
        if (value := getattr(terms, name)) is not None
    }
    changed |= {"deadline": None} if terms.no_deadline else {}
    changed |= {"qualify": None} if terms.no_qualify else {}
    if terms.practice_of is not None:
        changed["practice_of"] = Campaign.objects.filter(name=terms.practice_of).first()
    text = None if terms.guideline is None else terms.guideline.replace("\r\n", "\n").strip()
    if text is not None and text != campaign.guideline:
        changed["guideline"] = text
        _keep_version(campaign, text, user)
    for name, value in changed.items():
        setattr(campaign, name, value)
    if changed:
        campaign.save(update_fields=list(changed))


def terms_of(campaign: Campaign) -> dict[str, Any]:
    """All that may change while it runs, as it stands."""
    names = ("deadline", "language", "guideline", "gold_every", "practice_of_id", "qualify")
    return {name: getattr(campaign, name) for name in names}


def differ(campaign: Campaign, terms: Terms) -> bool:
    """Whether terms say anything that does not stand."""
    practice = campaign.practice_of.name if campaign.practice_of else ""
    guideline = None if terms.guideline is None else terms.guideline.replace("\r\n", "\n").strip()
    said = (
        (terms.deadline, campaign.deadline),
        (terms.language, campaign.language),
        (guideline, campaign.guideline),
        (terms.gold_every, campaign.gold_every),
        (terms.practice_of, practice),
        (terms.qualify, campaign.qualify),
    )
    return any(wanted is not None and wanted != stands for wanted, stands in said)


def _keep_version(campaign: Campaign, text: str, user: User | None) -> None:
    last = campaign.guidelines.order_by("-version").values_list("version", flat=True).first()
    GuidelineVersion.objects.create(
        campaign=campaign,
        version=(last or 0) + 1,
        text=text,
        digest=guideline_digest(text) if text else "",
        by=user,
    )


def check_named(where: str, name: str, by: User | None) -> None:
    """Whether `by` may read the campaign of this name, if there is a name. Raises DesignError."""
    if name and by is not None and not readable(by).filter(name=name).exists():
        raise DesignError(
            f"{where} names campaign {name!r}, which does not exist; correct the name"
        )


def check_practice(campaign: Campaign, terms: Terms, by: User | None) -> None:
    """The same of the practice that terms name; the one that stands may be said again."""
    stands = campaign.practice_of.name if campaign.practice_of else ""
    if terms.practice_of != stands:
        check_named("practice", terms.practice_of or "", by)


def may_read(campaign: Campaign, by: User | None) -> bool:
    return by is None or readable(by).filter(pk=campaign.pk).exists()


def open_now(path: str = "") -> Q:
    """The condition on campaigns, or on what leads to one by `path`, such as `item__campaign`."""
    start = f"{path}__" if path else ""
    in_time = Q(**{f"{start}deadline": None}) | Q(**{f"{start}deadline__gt": Now()})
    return Q(**{f"{start}is_open": True}) & in_time


def change(
    campaign: Campaign, terms: Terms, is_open: bool | None = None, user: User | None = None
) -> None:
    """Changes terms, and closes or opens a campaign, all or nothing. Raises DesignError.

    To open one whose deadline is past, another deadline has to come with it.
    """
    with transaction.atomic():
        there = Campaign.objects.select_for_update().get(pk=campaign.pk)
        check_terms(there, terms)
        check_practice(there, terms, user)
        before, was_open = terms_of(there), there.is_open
        apply_terms(there, terms, user)
        if is_open is not None:
            there.is_open = is_open
            if is_open and not there.takes_answers:
                raise DesignError("its deadline is past; give a later one, or take it away")
            there.save(update_fields=["is_open"])
        _tell(there, before, was_open)
    campaign.refresh_from_db()


def _tell(campaign: Campaign, before: dict[str, Any], was_open: bool) -> None:
    """One event for one change: that it opened or closed says more than what else came with it."""
    after = terms_of(campaign)
    changed = [name for name in after if after[name] != before[name]]
    if campaign.is_open != was_open:
        event = "campaign.opened" if campaign.is_open else "campaign.closed"
    elif changed:
        event = "campaign.terms"
    else:
        return
    told: dict[str, Any] = dict.fromkeys(changed, "changed")
    was, now = {"is_open": was_open} | before, {"is_open": campaign.is_open} | after
    record(event, campaign.pk, campaign, was, now, **told)

"""A campaign's settings, which may change while it runs: deadline, guideline, practice, closing.

The server's clock decides whether a campaign is open. A later answer is stored as a draft, and
counts once the campaign is open again. A design or setting may name another campaign only if its
author may read that campaign: otherwise the message is the same as for a campaign that does not
exist. A command may read everything.
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
from annotation.models import Campaign, ConsentText, GuidelineVersion, Item, User
from annotation.people.background import Question, stored_questions
from annotation.people.consent import LONGEST_CONSENT, current_text
from annotation.people.membership import find_readable, readable
from annotation.people.pay import PayError, read_rate
from annotation.people.shares import ShareError, check_shares, current_shares, set_shares
from annotation.provenance import guideline_digest
from audit.recording import record
from tandem.similar import did_you_mean
from tandem.verbs import verb_of

END_OF_DAY = time(23, 59, 59)
ASKED, WHOLE = "asked", "whole"
GUIDELINES_SHOWN = (ASKED, WHOLE)
LONGEST_GUIDELINE = 100_000
_NAMES = (
    "deadline",
    "language",
    "text_view",
    "guideline",
    "gold_every",
    "practice_of_id",
    "qualify",
    "consent_version",
    "revoked",
    "background",
    "pay",
    "trims_guideline",
)
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*")


@dataclass(frozen=True)
class CampaignSettings:
    """Changes to a campaign's settings. None leaves a setting unchanged.

    An empty `guideline` restores the protocol's, and an empty `practice_of` removes the practice.
    An empty `consent` removes the text, and an empty `background` the questions. `revoked` is what
    happens to the answers of people who revoke their consent: `keep` or `delete`. An empty `pay`
    removes the rate, and empty `shares`, by the names of accounts, remove them. `guideline_shown`
    is `whole`, or `asked` for only those parts of the protocol's guideline that are about what the
    campaign asks.
    `no_deadline` and `no_qualify` remove the deadline and the pass mark.
    """

    deadline: datetime | None = None
    language: str | None = None
    text_view: str | None = None
    guideline: str | None = None
    gold_every: int | None = None
    practice_of: str | None = None
    qualify: float | None = None
    consent: str | None = None
    revoked: str | None = None
    background: tuple[Question, ...] | None = None
    pay: str | None = None
    shares: dict[str, float] | None = None
    guideline_shown: str | None = None
    no_deadline: bool = False
    no_qualify: bool = False

    @property
    def is_empty(self) -> bool:
        return all(getattr(self, field.name) == field.default for field in fields(self))


def read_deadline(text: str) -> datetime:
    """Read an ISO 8601 time. A day means its end, and a time without a zone is in the site's.

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
        raise DesignError(f"deadline {text!r} is not a time; write it as {form}", "deadline")
    return moment if timezone.is_aware(moment) else timezone.make_aware(moment)


def check_settings(campaign: Campaign, settings: CampaignSettings) -> None:
    """Check settings by themselves and for this campaign, stored or not. Raises DesignError."""
    if settings.deadline is not None and not 2000 <= settings.deadline.year <= 9998:
        # At the limits of the calendar, a change of time zone would make the row unreadable.
        raise DesignError("the deadline is not in the years 2000 to 9998; correct it", "deadline")
    if settings.language and not _LANGUAGE.fullmatch(settings.language):
        raise DesignError(
            f"language {settings.language!r} is not a tag such as en or pt-BR; correct it",
            "language",
        )
    if settings.text_view is not None and settings.text_view not in Campaign.TextView:
        raise DesignError(
            f"text view {settings.text_view!r} is unknown; write source or rendered", "text_view"
        )
    if settings.guideline is not None and len(settings.guideline) > LONGEST_GUIDELINE:
        raise DesignError(
            f"the guideline is longer than {LONGEST_GUIDELINE} characters; cut it", "guideline"
        )
    if settings.guideline and "\0" in settings.guideline:
        raise DesignError("the guideline contains a NUL character; remove it", "guideline")
    if settings.gold_every is not None and not (
        settings.gold_every == 0 or 2 <= settings.gold_every <= 999
    ):
        raise DesignError(
            "gold every is 0, for never, or from 2 to 999; give another number", "gold_every"
        )
    if settings.qualify is not None and not 0 < settings.qualify <= 1:
        raise DesignError("qualify is not above 0 and up to 1; correct it", "qualify")
    _check_intake(settings)
    if settings.practice_of:
        _check_practice(campaign, settings.practice_of)


def _check_intake(settings: CampaignSettings) -> None:
    if settings.consent is not None and len(settings.consent) > LONGEST_CONSENT:
        raise DesignError(
            f"the consent text is longer than {LONGEST_CONSENT} characters; cut it", "consent"
        )
    if settings.consent and "\0" in settings.consent:
        raise DesignError("the consent text contains a NUL character; remove it", "consent")
    if settings.revoked is not None and settings.revoked not in Campaign.Revoked.values:
        one_of = " or ".join(Campaign.Revoked.values)
        raise DesignError(f"revoked is {settings.revoked!r}; give {one_of}", "revoked")
    if settings.guideline_shown not in (None, *GUIDELINES_SHOWN):
        wrong = f"guideline shown is {settings.guideline_shown!r}"
        raise DesignError(f"{wrong}; give {' or '.join(GUIDELINES_SHOWN)}", "guideline_shown")
    if settings.shares is not None:
        try:
            check_shares(settings.shares)
        except ShareError as error:
            raise DesignError(str(error), "shares") from error
    if settings.pay is not None:
        try:
            read_rate(settings.pay)
        except PayError as error:
            raise DesignError(str(error), "pay") from error


def _check_practice(campaign: Campaign, name: str) -> None:
    other = Campaign.objects.filter(name=name).first()
    if other is None:
        raise DesignError(
            f"practice names campaign {name!r}, which does not exist; correct the name",
            "practice_of",
        )
    if other.pk == campaign.pk:
        raise DesignError(
            "a campaign's own practice comes first by itself; leave its name out", "practice_of"
        )
    if not other.items.filter(use=Item.Use.PRACTICE).exists():
        raise DesignError(
            f"campaign {name!r} has no practice items; give it some by {verb_of('set_known')}",
            "practice_of",
        )


def apply_settings(
    campaign: Campaign, settings: CampaignSettings, user: User | None = None
) -> None:
    """Write checked settings to a stored campaign, in a transaction."""
    changed: dict[str, Any] = {
        name: value
        for name in ("deadline", "language", "text_view", "gold_every", "qualify", "revoked")
        if (value := getattr(settings, name)) is not None
    }
    changed |= {"deadline": None} if settings.no_deadline else {}
    changed |= {"qualify": None} if settings.no_qualify else {}
    if settings.practice_of is not None:
        changed["practice_of"] = Campaign.objects.filter(name=settings.practice_of).first()
    text = _lines(settings.guideline)
    if text is not None and text != campaign.guideline:
        changed["guideline"] = text
        _store_guideline_version(campaign, text, user)
    consent = _lines(settings.consent)
    if consent is not None and consent != consent_of(campaign):
        changed["consent_version"] = _store_consent_text(campaign, consent, user)
    if settings.background is not None:
        changed["background"] = stored_questions(settings.background)
    if settings.pay is not None:
        changed["pay"] = _rate_of(settings.pay)
    if settings.guideline_shown is not None:
        changed["trims_guideline"] = settings.guideline_shown == ASKED
    for name, value in changed.items():
        setattr(campaign, name, value)
    if changed:
        campaign.save(update_fields=list(changed))
    if settings.shares is not None and settings.shares != current_shares(campaign):
        try:
            set_shares(campaign, settings.shares)
        except ShareError as error:
            raise DesignError(str(error), "shares") from error


def current_settings(campaign: Campaign) -> dict[str, Any]:
    """Return the current settings of a campaign."""
    found = {name: getattr(campaign, name) for name in _NAMES}
    return found | {"shares": current_shares(campaign)}


def settings_differ(campaign: Campaign, settings: CampaignSettings) -> bool:
    """Whether any of the settings differs from the campaign's current ones."""
    practice = campaign.practice_of.name if campaign.practice_of else ""
    questions = settings.background
    pairs: tuple[tuple[Any, Any], ...] = (
        (settings.deadline, campaign.deadline),
        (settings.language, campaign.language),
        (settings.text_view, campaign.text_view),
        (_lines(settings.guideline), campaign.guideline),
        (settings.gold_every, campaign.gold_every),
        (settings.practice_of, practice),
        (settings.qualify, campaign.qualify),
        (_lines(settings.consent), consent_of(campaign)),
        (settings.revoked, campaign.revoked),
        (None if questions is None else stored_questions(questions), campaign.background),
        (None if settings.pay is None else _rate_of(settings.pay), campaign.pay),
        (settings.guideline_shown, shown_guideline(campaign)),
        (settings.shares, current_shares(campaign)),
    )
    return any(new is not None and new != current for new, current in pairs)


def _rate_of(text: str) -> str:
    """Return a rate as it is stored: empty, or in its canonical form."""
    return str(read_rate(text) or "")


def shown_guideline(campaign: Campaign) -> str:
    """Return which guideline people and judges see: `asked`, or `whole`."""
    return ASKED if campaign.trims_guideline else WHOLE


def _lines(text: str | None) -> str | None:
    """Return a text with plain line ends and without blanks around it."""
    return None if text is None else text.replace("\r\n", "\n").strip()


def consent_of(campaign: Campaign) -> str:
    """Return the campaign's current consent text; empty if it asks for no consent."""
    found = current_text(campaign)
    return found.text if found else ""


def _store_consent_text(campaign: Campaign, text: str, user: User | None) -> int:
    """Store a version of the consent text. Returns the number for `Campaign.consent_version`."""
    last = campaign.consent_texts.order_by("-version").values_list("version", flat=True).first()
    version = (last or 0) + 1
    ConsentText.objects.create(campaign=campaign, version=version, text=text, by=user)
    return version if text else 0


def _store_guideline_version(campaign: Campaign, text: str, user: User | None) -> None:
    last = campaign.guidelines.order_by("-version").values_list("version", flat=True).first()
    GuidelineVersion.objects.create(
        campaign=campaign,
        version=(last or 0) + 1,
        text=text,
        digest=guideline_digest(text) if text else "",
        by=user,
    )


def check_named(field: str, name: str, by: User | None) -> None:
    """Check that the campaign that a field names, if any, is one that `by` may read.

    A command may read all. Raises DesignError, which is the same for a campaign that does not exist
    and for one that `by` may not read.
    """
    campaigns = Campaign.objects.all() if by is None else readable(by)
    if name and not campaigns.filter(name=name).exists():
        where = "practice" if field == "practice_of" else f"option {field}"
        hint = did_you_mean(name, campaigns.values_list("name", flat=True), "correct the name")
        raise DesignError(f"{where} names campaign {name!r}, which does not exist; {hint}", field)


def check_practice(campaign: Campaign, settings: CampaignSettings, by: User | None) -> None:
    """Check the access to a campaign named for practice, unless it is the current one.

    This comes before `check_settings`, which reveals whether that campaign has practice items.
    """
    current = campaign.practice_of.name if campaign.practice_of else ""
    if settings.practice_of != current:
        check_named("practice_of", settings.practice_of or "", by)


def may_read(campaign: Campaign, by: User | None) -> bool:
    return by is None or find_readable(by, campaign.pk) is not None


def open_now(path: str = "") -> Q:
    """Return the condition that the campaign at `path`, such as `item__campaign`, is open."""
    start = f"{path}__" if path else ""
    in_time = Q(**{f"{start}deadline": None}) | Q(**{f"{start}deadline__gt": Now()})
    return Q(**{f"{start}is_open": True}) & in_time


def change(
    campaign: Campaign,
    settings: CampaignSettings,
    is_open: bool | None = None,
    user: User | None = None,
    is_archived: bool | None = None,
) -> None:
    """Change settings; open, close or archive a campaign, in one transaction. Raises DesignError.

    A campaign whose deadline is past can only be opened with a new deadline. Archiving closes a
    campaign, and opening takes it out of the archive.
    """
    with transaction.atomic():
        locked = Campaign.objects.select_for_update().get(pk=campaign.pk)
        check_practice(locked, settings, user)
        check_settings(locked, settings)
        before, was = current_settings(locked), _state(locked)
        apply_settings(locked, settings, user)
        _set_state(locked, is_open, is_archived)
        _record_change(locked, before, was)
    campaign.refresh_from_db()


def _set_state(campaign: Campaign, is_open: bool | None, is_archived: bool | None) -> None:
    if is_open and is_archived:
        raise DesignError("an archived campaign is closed; open it, or archive it", "is_archived")
    if is_open is None and is_archived is None:
        return
    if is_open is not None:
        campaign.is_open = is_open
    if is_archived is not None:
        campaign.is_archived = is_archived
    if is_open:
        campaign.is_archived = False
        if not campaign.takes_answers:
            raise DesignError("its deadline is past; give a later one, or remove it", "deadline")
    if is_archived:
        campaign.is_open = False
    campaign.save(update_fields=["is_open", "is_archived"])


def _state(campaign: Campaign) -> dict[str, bool]:
    return {"is_open": campaign.is_open, "is_archived": campaign.is_archived}


def _record_change(campaign: Campaign, before: dict[str, Any], was: dict[str, bool]) -> None:
    """Record one event for the change. A change of state takes precedence over other changes."""
    after = current_settings(campaign)
    changed = [name for name in after if after[name] != before[name]]
    now = _state(campaign)
    if now["is_archived"] != was["is_archived"] and not now["is_open"]:
        event = "campaign.archived" if now["is_archived"] else "campaign.restored"
    elif now["is_open"] != was["is_open"]:
        event = "campaign.opened" if now["is_open"] else "campaign.closed"
    elif changed:
        event = "campaign.terms"
    else:
        return
    facts: dict[str, Any] = dict.fromkeys(changed, "changed")
    record(event, campaign.pk, campaign, was | before, now | after, **facts)

"""Changes to a campaign's settings: check, store and record them; open, close and archive.

The server's clock decides whether a campaign is open. A later answer is stored as a draft, and
counts once the campaign is open again. A design or setting may name another campaign only if its
author may read that campaign: otherwise the message is the same as for a campaign that does not
exist. A command may read everything.
"""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now

from annotation.campaigns.design import DesignError
from annotation.campaigns.settings import SETTINGS, CampaignSettings, practice_name
from annotation.models import Campaign, User
from annotation.people.membership import find_readable, readable
from audit.recording import record
from tandem.similar import did_you_mean


def check_settings(campaign: Campaign, settings: CampaignSettings) -> None:
    """Check settings by themselves and for this campaign, stored or not. Raises DesignError."""
    for setting, value in settings.given():
        if value is not None:
            setting.check_value(campaign, value)


def apply_settings(
    campaign: Campaign, settings: CampaignSettings, user: User | None = None
) -> None:
    """Write checked settings to a stored campaign, in a transaction. Raises DesignError."""
    changed: dict[str, Any] = {}
    for setting, value in settings.given():
        if value != setting.current(campaign):
            stored = setting.stored(campaign, value, user)
            changed |= {setting.column: stored} if setting.column else {}
    for name, value in changed.items():
        setattr(campaign, name, value)
    if changed:
        campaign.save(update_fields=list(changed))


def current_settings(campaign: Campaign) -> dict[str, Any]:
    """Return the current settings of a campaign, as its history records them."""
    return dict(setting.recorded(campaign) for setting in SETTINGS)


def settings_differ(campaign: Campaign, settings: CampaignSettings) -> bool:
    """Whether any of the given settings differs from the campaign's current ones."""
    return any(
        value is not None and value != setting.current(campaign)
        for setting, value in settings.given()
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
    if settings.practice_of != practice_name(campaign):
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

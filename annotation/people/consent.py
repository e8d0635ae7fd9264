"""Consent: the texts of a campaign, who agreed to which version, and who still has to.

A campaign that has a consent text gives a person no item before they agree to its current version.
A new version asks everybody again, before their next item. Answers of a person who revokes are
withdrawn by `annotation.assignments.withdrawal`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet

from annotation.models import Campaign, Consent, ConsentText, Rater, User
from annotation.people.background import owed_questions

LONGEST_CONSENT = 50_000
CONSENT, BACKGROUND = "consent", "background"
OWED = {
    CONSENT: "agree to the consent text of this campaign before you work on it: open its page",
    BACKGROUND: "answer the background questions of this campaign before you work on it: open its "
    "page",
}
COLUMNS = ("rater", "version", "given_at", "revoked_at", "text")


class IntakeOwedError(PermissionDenied):
    """Something that a person has to do before the first item: `step` is consent or background."""

    def __init__(self, campaign: Campaign, step: str) -> None:
        self.campaign, self.step = campaign, step
        super().__init__(f"{OWED[step]} /tasks/before/{campaign.pk}/")


def owed_step(campaign: Campaign, rater: Rater) -> str:
    """Return what a person has to do before the next item: consent, background, or nothing.

    No query is made for a campaign that asks for neither.
    """
    if campaign.consent_version and not has_agreed(campaign, rater):
        return CONSENT
    return BACKGROUND if campaign.background and owed_questions(campaign, rater) else ""


def check_intake(campaign: Campaign, rater: Rater) -> None:
    """Raise IntakeOwedError if a person has to do something before the next item."""
    if step := owed_step(campaign, rater):
        raise IntakeOwedError(campaign, step)


def current_text(campaign: Campaign) -> ConsentText | None:
    """Return the consent text that people agree to now, or None if the campaign asks for none."""
    if not campaign.consent_version:
        return None
    return campaign.consent_texts.get(version=campaign.consent_version)


def consents(campaign: Campaign, rater: Rater) -> QuerySet[Consent]:
    """Return a person's unrevoked consents in a campaign, to any version."""
    return Consent.objects.filter(text__campaign=campaign, rater=rater, revoked_at=None)


def has_agreed(campaign: Campaign, rater: Rater) -> bool:
    """Whether a person has agreed to the current version and not revoked that consent."""
    return consents(campaign, rater).filter(text__version=campaign.consent_version).exists()


def may_send(campaign: Campaign, rater: Rater) -> bool:
    """Whether a person may send answers to items that they have open.

    They may if they agreed to the version under which they opened it, even if there is a new one.
    """
    return not campaign.consent_version or consents(campaign, rater).exists()


def has_revoked(campaign: Campaign, rater: Rater) -> bool:
    """Whether a person revoked their consent, and has not agreed again."""
    return campaign.consent_version > 0 and bool(revoked_raters(campaign, rater.pk))


def revoked_raters(campaign: Campaign, rater: int | None = None) -> set[int]:
    """Return the raters, by primary key, who revoked their consent and have not agreed again.

    With a `rater`, only that rater is looked up.
    """
    rows = Consent.objects.filter(text__campaign=campaign)
    rows = rows if rater is None else rows.filter(rater=rater)
    given = rows.filter(revoked_at=None).values("rater")
    gone = rows.filter(revoked_at__isnull=False).exclude(rater__in=given)
    return set(gone.values_list("rater", flat=True))


@dataclass(frozen=True)
class ConsentState:
    """A person's consent in a campaign.

    `agreed` is the newest unrevoked consent. If there is none, `revoked` is the newest revoked one.
    `current` is the text that the campaign asks for now.
    """

    current: ConsentText | None
    agreed: Consent | None
    revoked: Consent | None

    @property
    def is_owed(self) -> bool:
        return self.current is not None and (
            self.agreed is None or self.agreed.text_id != self.current.pk
        )


def consent_state(campaign: Campaign, rater: Rater | None) -> ConsentState:
    rows = Consent.objects.filter(text__campaign=campaign, rater=rater).select_related("text")
    agreed = rows.filter(revoked_at=None).order_by("-text__version").first()
    revoked = None if agreed else rows.order_by("-revoked_at").first()
    return ConsentState(current_text(campaign), agreed, revoked)


def asked_for_consent(user: User) -> list[Campaign]:
    """Return the campaigns in which an account gave or revoked consent, by name."""
    rows = Campaign.objects.filter(consent_texts__consents__rater__user=user)
    return list(rows.distinct().order_by("name"))


def consent_lines(campaign: Campaign) -> Iterator[dict[str, Any]]:
    """Yield every consent as a line of the export: who agreed to which version, and when."""
    rows = Consent.objects.filter(text__campaign=campaign).order_by("given_at", "pk")
    columns = "rater__name", "text__version", "given_at", "revoked_at", "text__text"
    for rater, version, given, revoked, text in rows.values_list(*columns):
        yield {
            "rater": rater,
            "version": version,
            "given_at": given.isoformat(),
            "revoked_at": revoked.isoformat() if revoked else None,
            "text": text,
        }


def counts_of_consents(campaign: Campaign) -> dict[str, int]:
    """Return how many people agreed, and how many of them revoked, for a datasheet."""
    rows = Consent.objects.filter(text__campaign=campaign)
    return {
        "version": campaign.consent_version,
        "agreed": rows.filter(revoked_at=None).values("rater").distinct().count(),
        "revoked": len(revoked_raters(campaign)),
    }

"""Models of the steps before a person's first item: consent and background questions."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from annotation.models.campaigns import Campaign
from annotation.models.people import Rater


class ConsentText(models.Model):
    """One version of a campaign's consent text. If it is empty, nobody is asked."""

    campaign = models.ForeignKey(Campaign, models.CASCADE, related_name="consent_texts")
    version = models.PositiveIntegerField()
    text = models.TextField()
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ("campaign", "version")
        constraints = [
            models.UniqueConstraint("campaign", "version", name="consent_texts_are_numbered_once"),
        ]

    def __str__(self) -> str:
        return f"{self.campaign_id} v{self.version}"


class Consent(models.Model):
    """A person's consent to one version of a campaign's consent text.

    One that was revoked is kept as a record.
    """

    text = models.ForeignKey(ConsentText, models.CASCADE, related_name="consents")
    rater = models.ForeignKey(Rater, models.CASCADE, related_name="consents")
    given_at = models.DateTimeField(default=timezone.now)
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ("id",)
        constraints = [
            models.UniqueConstraint(
                "text", "rater", condition=Q(revoked_at=None), name="a_version_is_agreed_to_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.rater_id} to {self.text_id}"


class Background(models.Model):
    """A person's answers to the background questions of a campaign, by the questions' names.

    A question that was left out is None. A question without an entry has not been asked yet.
    """

    campaign = models.ForeignKey(Campaign, models.CASCADE, related_name="backgrounds")
    rater = models.ForeignKey(Rater, models.CASCADE, related_name="backgrounds")
    answers = models.JSONField()
    answered_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint("campaign", "rater", name="a_background_is_given_once"),
        ]

    def __str__(self) -> str:
        return f"{self.rater_id} in {self.campaign_id}"

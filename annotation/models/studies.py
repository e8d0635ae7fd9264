"""A study's draws, the answers known beforehand, and the versions of its guideline."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from annotation.models.campaigns import MAX_KEY, Campaign, Item, Unit
from annotation.models.people import Rater
from datasets.models import Query

ROLES = ("development", "evaluation", "audit")


class QueryDraw(models.Model):
    """Whether people are asked about a query, and what its labels are for; drawn or not.

    `kind` is all or simple (without replacement). `probability` is the chance with which people are
    asked about it, `role_probability` the one with which it got its `role`: prompts and examples
    may be tuned on development queries, none may see an evaluation query, and audit queries stay
    aside for a later look.
    """

    campaign = models.ForeignKey(Campaign, models.CASCADE, related_name="query_draws")
    query = models.ForeignKey(Query, models.PROTECT, related_name="+")
    kind = models.CharField(max_length=10)
    seed = models.PositiveIntegerField()
    wave = models.PositiveSmallIntegerField(default=1)
    probability = models.FloatField()
    drawn = models.BooleanField()
    role = models.CharField(max_length=11, default="evaluation")
    role_probability = models.FloatField(default=1.0)

    class Meta:
        ordering = ("campaign", "query__position")
        constraints = [
            models.UniqueConstraint("campaign", "query", name="a_query_is_drawn_once"),
            models.CheckConstraint(condition=Q(role__in=ROLES), name="role_of_a_query_is_known"),
        ]

    def __str__(self) -> str:
        return f"{self.query_id}: {'drawn' if self.drawn else 'left out'}, {self.role}"


class UnitDraw(models.Model):
    """Whether a unit of an item is asked, given that the item is; drawn or not.

    `kind` is all, simple, turns (by turns from two strata, once another campaign is done; until
    then `drawn` and `probability` are unknown, and the wave is 2), or own (each rater has a draw of
    his own, stored with his assignment).
    """

    item = models.ForeignKey(Item, models.CASCADE, related_name="unit_draws")
    unit_kind = models.CharField(max_length=20)
    key = models.CharField(max_length=MAX_KEY)
    position = models.PositiveIntegerField()
    kind = models.CharField(max_length=6)
    seed = models.PositiveIntegerField()
    wave = models.PositiveSmallIntegerField(default=1)
    stratum = models.CharField(max_length=3, default="", db_default="", blank=True)
    probability = models.FloatField(null=True)
    drawn = models.BooleanField(null=True)

    class Meta:
        ordering = ("item", "position")
        constraints = [
            models.UniqueConstraint("item", "position", name="a_unit_is_drawn_once"),
        ]

    def __str__(self) -> str:
        return f"{self.key}: {self.kind}"


class KnownAnswer(models.Model):
    """What is right for a variable of a unit of a gold or practice item, and why, if it is said."""

    unit = models.ForeignKey(Unit, models.CASCADE, related_name="known_answers")
    variable = models.CharField(max_length=40)
    value = models.CharField(max_length=255)
    reason = models.TextField(default="", blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint("unit", "variable", name="one_known_answer_a_variable"),
        ]

    def __str__(self) -> str:
        return f"{self.variable}={self.value}"


class Admission(models.Model):
    """A person whom a researcher lets into a campaign without its qualification, and why."""

    campaign = models.ForeignKey(Campaign, models.CASCADE, related_name="admissions")
    rater = models.ForeignKey(Rater, models.CASCADE, related_name="admissions")
    reason = models.TextField()
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint("campaign", "rater", name="a_person_is_let_in_once"),
        ]

    def __str__(self) -> str:
        return f"{self.rater_id} in {self.campaign_id}"


class GuidelineVersion(models.Model):
    """A campaign's own guideline as it stood from a moment on.

    `digest` is what `Response.basis` holds of it, so each answer tells which version it followed.
    """

    campaign = models.ForeignKey(Campaign, models.CASCADE, related_name="guidelines")
    version = models.PositiveIntegerField()
    text = models.TextField()
    digest = models.CharField(max_length=12)
    note = models.CharField(max_length=200, default="", blank=True)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ("campaign", "version")
        constraints = [
            models.UniqueConstraint("campaign", "version", name="guidelines_are_numbered_once"),
        ]

    def __str__(self) -> str:
        return f"{self.campaign_id} v{self.version}"

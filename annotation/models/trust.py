"""Plans by which people's labels prove what a judge may decide: rows that never change.

The queries that a plan draws are labelled for its certificate alone until it has ended. Who acted
stands in the audit trail.
"""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models.functions import Coalesce
from django.utils import timezone

from annotation.models.campaigns import Campaign
from annotation.models.people import Rater
from datasets.models import Query


class TrustPlan(models.Model):
    """A commitment before the first label: `document` and the SHA-256 of its canonical JSON.

    `number` counts the plans of one kind for a campaign, variable and judge, from 1. A plan that
    compares two systems has no judge.
    """

    class Kind(models.TextChoices):
        CERTIFY = "certify"
        COMPARE = "compare"

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    campaign = models.ForeignKey(Campaign, models.PROTECT, related_name="trust_plans")
    kind = models.CharField(max_length=7, choices=Kind)
    variable = models.CharField(max_length=40)
    judge = models.ForeignKey(Rater, models.PROTECT, null=True, related_name="trust_plans")
    number = models.PositiveSmallIntegerField()
    document = models.JSONField()
    digest = models.CharField(max_length=64)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ("id",)
        constraints = [
            models.UniqueConstraint(
                "campaign", "kind", "variable", Coalesce("judge", 0), "number",
                name="a_plan_is_numbered_once",
            ),
        ]  # fmt: skip

    def __str__(self) -> str:
        return f"{self.kind} {self.variable} {self.number}"

    @property
    def is_running(self) -> bool:
        return not TrustEnd.objects.filter(plan=self).exists()


class TrustDraw(models.Model):
    """A query at its `place` in the order of a plan's draws, from 1, drawn for a cut from 0.

    `turn` counts the draws of the same query, from 1. Only a plan that draws cells draws a query
    again; `units` are then the primary keys of the units whose labels this draw reads. They are
    None where it reads all of the query's.
    """

    plan = models.ForeignKey(TrustPlan, models.PROTECT, related_name="draws")
    place = models.PositiveIntegerField()
    cut = models.PositiveSmallIntegerField()
    query = models.ForeignKey(Query, models.PROTECT, related_name="+")
    turn = models.PositiveIntegerField(default=1, db_default=1)
    units = models.JSONField(null=True)
    drawn_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ("plan", "place")
        constraints = [
            models.UniqueConstraint("plan", "place", name="a_draw_has_one_place"),
            models.UniqueConstraint("plan", "query", "turn", name="a_query_has_one_draw_a_turn"),
        ]

    def __str__(self) -> str:
        return f"{self.place}: {self.query_id}"


class TrustLook(models.Model):
    """What a look at a plan showed: its `state` after so many `labelled` queries."""

    plan = models.ForeignKey(TrustPlan, models.PROTECT, related_name="looks")
    labelled = models.PositiveIntegerField()
    state = models.JSONField()
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ("plan", "id")

    def __str__(self) -> str:
        return f"{self.plan_id} after {self.labelled}"


class TrustCertificate(models.Model):
    """A certificate of a plan, and the SHA-256 of its canonical JSON."""

    plan = models.ForeignKey(TrustPlan, models.PROTECT, related_name="certificates")
    document = models.JSONField()
    digest = models.CharField(max_length=64)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ("plan", "id")

    def __str__(self) -> str:
        return self.digest


class TrustEnd(models.Model):
    """The end of a plan, with its reason. Its labels may then be read like all others."""

    plan = models.OneToOneField(TrustPlan, models.PROTECT, related_name="end")
    reason = models.CharField(max_length=200, blank=True)
    at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return self.reason

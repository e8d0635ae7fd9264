"""What was answered: unfinished work, validated responses, and the labels and spans they hold."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils import timezone

from annotation.models.campaigns import Assignment, Unit


class Draft(models.Model):
    """A person's unfinished work. `version` grows with each save; a stale one is a conflict."""

    assignment = models.OneToOneField(Assignment, models.CASCADE, related_name="draft")
    payload = models.JSONField()
    version = models.PositiveIntegerField(default=1)
    saved_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"{self.assignment_id} v{self.version}"


class Response(models.Model):
    """A validated answer. Never changed: a newer revision takes its place as the current one.

    `key` is the client's own for this save, so that one sent twice is stored once. `basis` are
    the digests of what it was given to (`annotation.basis`); none where a file brought it.
    """

    assignment = models.ForeignKey(Assignment, models.CASCADE, related_name="responses")
    revision = models.PositiveIntegerField(default=1)
    current = models.BooleanField(default=True)
    payload = models.JSONField()
    comment = models.TextField(default="", blank=True)
    door = models.CharField(max_length=6)
    key = models.CharField(max_length=64, null=True)  # noqa: DJ001 - null is unique many times
    created_at = models.DateTimeField(default=timezone.now)
    basis = models.CharField(max_length=38, null=True)  # noqa: DJ001 - unknown is not empty

    class Meta:
        constraints = [
            models.UniqueConstraint(
                "assignment", condition=Q(current=True), name="one_current_response"
            ),
            models.UniqueConstraint("assignment", "revision", name="revisions_are_numbered_once"),
            models.UniqueConstraint("assignment", "key", name="a_save_is_stored_once"),
            models.CheckConstraint(
                condition=Q(door__in=("page", "api", "judge", "import")), name="door_is_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.assignment_id} r{self.revision}"


class Label(models.Model):
    """One value of one unit. `score` is a judge's probability or expected rating."""

    response = models.ForeignKey(Response, models.CASCADE, related_name="labels")
    unit = models.ForeignKey(Unit, models.PROTECT, related_name="labels")
    variable = models.CharField(max_length=40)
    value = models.CharField(max_length=255)
    score = models.FloatField(null=True)
    meta = models.JSONField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint("response", "unit", "variable", name="one_label_a_variable"),
        ]

    def __str__(self) -> str:
        return f"{self.variable}={self.value}"


class Span(models.Model):
    """One range of evidence, in code points, `end` exclusive; without a place where none was found.

    `quote` is the text's own words, or, for an unanchored span, the words as they were given.
    """

    label = models.ForeignKey(Label, models.CASCADE, related_name="spans")
    field = models.CharField(max_length=300)
    start = models.PositiveIntegerField(null=True)
    end = models.PositiveIntegerField(null=True)
    quote = models.TextField()
    method = models.CharField(max_length=10, default="exact")

    class Meta:
        ordering = ("label", "id")
        constraints = [
            models.CheckConstraint(
                # An unknown comparison would pass, so both ends are asked for by name.
                condition=Q(start__isnull=True, end__isnull=True)
                | Q(start__isnull=False, end__isnull=False, start__lt=models.F("end")),
                name="a_span_has_both_ends_or_none",
            )
        ]

    def __str__(self) -> str:
        return self.quote

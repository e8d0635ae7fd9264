"""Raters that are models: how each one asks, its runs over campaigns, and every call it made.

Which work is open stands in `annotation.Assignment`, the ledger that judges share with people.
"""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from annotation.models import Assignment, Campaign, Rater

ACTIVE = ("queued", "running")


class FrozenError(TypeError):
    """A judge or a call was to be changed; make a new one instead."""


class _WrittenOnce(models.Model):
    """A row that is saved when it is made, and never again."""

    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        if not self._state.adding:
            raise FrozenError(f"{self._meta.verbose_name} {self.pk} cannot be changed")
        super().save(*args, **kwargs)


class Judge(_WrittenOnce):
    """A model with its prompt and parameters, under the name of its rater.

    An empty `prompt` means the own prompt of the protocol that it is run on. The key of the server
    is read from the environment variable `api_key_env` when it is needed, and stands nowhere.
    """

    class Granularity(models.TextChoices):
        ITEM = "item"
        UNIT = "unit"

    rater = models.OneToOneField(Rater, models.PROTECT, related_name="judge")
    backend = models.CharField(max_length=40)
    model = models.CharField(max_length=200, blank=True)
    base_url = models.CharField(max_length=500, blank=True)
    api_key_env = models.CharField(max_length=100, blank=True)
    prompt = models.TextField(blank=True)
    prompt_name = models.CharField(max_length=200, blank=True)
    prompt_sha256 = models.CharField(max_length=64, blank=True)
    granularity = models.CharField(max_length=4, choices=Granularity, default=Granularity.ITEM)
    params = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("rater__name",)

    def __str__(self) -> str:
        return self.rater.name


class JudgeRun(models.Model):
    """A judge set to work on a campaign, once. At most one run of a pair is active.

    Whoever works on it holds its lease until `lease_until`, by the database's clock. Only runs that
    were `queued` are taken up by workers. The counts are of this run; `limit` bounds `done` and the
    `failures` (by reason) together.
    """

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        STOPPED = "stopped"
        INTERRUPTED = "interrupted"

    campaign = models.ForeignKey(Campaign, models.PROTECT, related_name="judge_runs")
    judge = models.ForeignKey(Judge, models.PROTECT, related_name="runs")
    state = models.CharField(max_length=11, choices=State, default=State.QUEUED)
    queued = models.BooleanField(default=False)
    limit = models.PositiveIntegerField(null=True)
    prompt_sha256 = models.CharField(max_length=64)
    lease = models.UUIDField(null=True)
    lease_until = models.DateTimeField(null=True)
    done = models.PositiveIntegerField(default=0)
    failures = models.JSONField(default=dict)
    calls = models.PositiveIntegerField(default=0)
    prompt_tokens = models.PositiveBigIntegerField(default=0)
    completion_tokens = models.PositiveBigIntegerField(default=0)
    error = models.TextField(blank=True)
    started_at = models.DateTimeField(db_default=Now())
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ("id",)
        constraints = [
            models.UniqueConstraint(
                "campaign", "judge", condition=Q(state__in=ACTIVE), name="one_active_run"
            ),
        ]

    def __str__(self) -> str:
        return f"run {self.pk}"

    @property
    def failed(self) -> int:
        return sum(self.failures.values())


class JudgeCall(_WrittenOnce):
    """One attempt at an assignment. `completion` is what the model wrote, verbatim.

    `state` is `answered`, a reason why the answer cannot count, or what went wrong on the way;
    `body` is then the beginning of what the server sent instead.
    """

    run = models.ForeignKey(JudgeRun, models.PROTECT, related_name="judge_calls")
    assignment = models.ForeignKey(Assignment, models.CASCADE, related_name="judge_calls")
    attempt = models.PositiveSmallIntegerField()
    request_hash = models.CharField(max_length=64)
    state = models.CharField(max_length=40)
    detail = models.CharField(max_length=300, blank=True)
    http_status = models.PositiveSmallIntegerField(null=True)
    completion = models.TextField(null=True)  # noqa: DJ001 - nothing written is not an empty text
    body = models.TextField(blank=True)
    finish_reason = models.CharField(max_length=40, blank=True)
    usage = models.JSONField(default=dict)
    logprobs = models.JSONField(null=True)
    model_returned = models.CharField(max_length=200, blank=True)
    sent_at = models.DateTimeField()
    seconds = models.FloatField()

    class Meta:
        ordering = ("id",)

    def __str__(self) -> str:
        return f"{self.assignment_id} #{self.attempt} {self.state}"

"""Models of judges: the definition of each, its runs over campaigns, and every call it made.

Open work is in `annotation.models.Assignment`, the ledger that judges share with people.
"""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone

from annotation.models import Assignment, Campaign, Rater, Response

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


class Lane(models.Model):
    """An endpoint under one credential, which one pump at a time asks.

    `ceiling` is the number of calls at once that it bore last: the next pump begins there. A lane
    that is `paused` is asked nothing until somebody resumes it; the text says why.
    """

    endpoint = models.CharField(max_length=500)
    api_key_env = models.CharField(max_length=100, blank=True)
    lease = models.UUIDField(null=True)
    lease_until = models.DateTimeField(null=True)
    ceiling = models.PositiveIntegerField(null=True)
    paused = models.TextField(blank=True)
    paused_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ("endpoint", "api_key_env")
        constraints = [
            models.UniqueConstraint("endpoint", "api_key_env", name="a_lane_is_there_once")
        ]

    def __str__(self) -> str:
        return self.endpoint


class Price(models.Model):
    """What a model costs from a day on, in US dollars for a million tokens."""

    model = models.CharField(max_length=200)
    since = models.DateField()
    prompt = models.DecimalField(max_digits=12, decimal_places=6)
    cached = models.DecimalField(max_digits=12, decimal_places=6)
    completion = models.DecimalField(max_digits=12, decimal_places=6)

    class Meta:
        ordering = ("model", "-since")
        constraints = [models.UniqueConstraint("model", "since", name="one_price_a_day")]

    def __str__(self) -> str:
        return f"{self.model} from {self.since}"


class Judge(_WrittenOnce):
    """A model with its prompt and parameters, under the name of its rater.

    An empty `prompt` means the own prompt of the protocol that it is run on. The key of the server
    is read from the environment variable `api_key_env` when it is needed, and stands nowhere.

    A judge with a `base` is that judge under changed conditions: `variation` says which (see
    `judging.conditions.variations`), and its rater is a trial.
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
    base = models.ForeignKey("self", models.PROTECT, null=True, related_name="trials")
    variation = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("rater__name",)

    def __str__(self) -> str:
        return self.rater.name


class JudgeRun(models.Model):
    """A judge set to work on a campaign, once. At most one run of a pair is active.

    Whoever works on it holds its lease until `lease_until`, by the database's clock, and with it
    the lease of its `lane`; a judge that asks no server has none. Only runs that were `queued` are
    taken up by workers. The counts are of this run; `limit` bounds `done` and the `failures` (by
    reason) together, `most_tokens` and `most_cost` (US dollars) what is spent.

    What people want of a run that is under way they write into `wish` and `concurrency`; its pump
    reads both when it renews the lease, and tells in `in_flight` and `allowed` how it is doing.
    """

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        STOPPED = "stopped"
        INTERRUPTED = "interrupted"
        CANCELLED = "cancelled"

    class Wish(models.TextChoices):
        NONE = ""
        STOP = "stop"
        CANCEL = "cancel"

    class Reuse(models.TextChoices):
        """Whose equal requests count as answered: nobody's, those of the campaign, or all."""

        NEVER = "never"
        CAMPAIGN = "campaign"
        ALL = "all"

    campaign = models.ForeignKey(Campaign, models.PROTECT, related_name="judge_runs")
    judge = models.ForeignKey(Judge, models.PROTECT, related_name="runs")
    lane = models.ForeignKey(Lane, models.PROTECT, null=True, related_name="runs")
    state = models.CharField(max_length=11, choices=State, default=State.QUEUED)
    queued = models.BooleanField(default=False)
    limit = models.PositiveIntegerField(null=True)
    most_tokens = models.PositiveBigIntegerField(null=True)
    most_cost = models.DecimalField(null=True, max_digits=12, decimal_places=6)
    reuse = models.CharField(max_length=8, choices=Reuse, default=Reuse.NEVER)
    wish = models.CharField(max_length=6, choices=Wish, default=Wish.NONE, blank=True)
    concurrency = models.PositiveIntegerField(null=True)
    in_flight = models.PositiveIntegerField(default=0)
    allowed = models.PositiveIntegerField(default=0)
    prompt_sha256 = models.CharField(max_length=64)
    lease = models.UUIDField(null=True)
    lease_until = models.DateTimeField(null=True)
    done = models.PositiveIntegerField(default=0)
    failures = models.JSONField(default=dict)
    calls = models.PositiveIntegerField(default=0)
    reused = models.PositiveIntegerField(default=0)
    prompt_tokens = models.PositiveBigIntegerField(default=0)
    cached_tokens = models.PositiveBigIntegerField(default=0)
    completion_tokens = models.PositiveBigIntegerField(default=0)
    cost = models.DecimalField(default=0, max_digits=12, decimal_places=6)
    manifest = models.JSONField(default=dict)
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
    `body` is then the beginning of what the server sent instead. `cost` is in US dollars, null
    where no price is known. A `repair` asks for the form of an answer that could not be read. An
    answer that was taken from an equal request names that call in `reused_from`, and cost nothing.
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
    cost = models.DecimalField(null=True, max_digits=12, decimal_places=6)
    repair = models.BooleanField(default=False)
    reused_from = models.ForeignKey("self", models.SET_NULL, null=True, related_name="reused_by")
    sent_at = models.DateTimeField()
    seconds = models.FloatField()

    class Meta:
        ordering = ("id",)
        indexes = [models.Index("request_hash", name="calls_of_a_request")]

    def __str__(self) -> str:
        return f"{self.assignment_id} #{self.attempt} {self.state}"


class Strike(models.Model):
    """How many workers died while they held a row. At two it is asked alone, at three no more."""

    assignment = models.OneToOneField(Assignment, models.CASCADE, related_name="strike")
    count = models.PositiveSmallIntegerField(default=1)

    def __str__(self) -> str:
        return f"{self.assignment_id}: {self.count}"


class Review(models.Model):
    """What a person made of an answer that is to become part of a batch.

    A changed one is accepted as it stands in `answer`, by unit names; what the author wrote stays
    in the response. `by` is the reviewer's rater, which keeps its pseudonym when the account goes.
    """

    class Verdict(models.TextChoices):
        ACCEPTED = "accepted"
        CHANGED = "changed"
        REJECTED = "rejected"

    response = models.OneToOneField(Response, models.CASCADE, related_name="review")
    verdict = models.CharField(max_length=8, choices=Verdict)
    answer = models.JSONField(null=True)
    note = models.TextField(default="", blank=True)
    by = models.ForeignKey(Rater, models.PROTECT, related_name="reviews")
    made_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(verdict="changed", answer__isnull=False)
                | Q(verdict__in=("accepted", "rejected"), answer__isnull=True),
                name="a_changed_answer_is_kept",
            )
        ]

    def __str__(self) -> str:
        return f"{self.response_id} {self.verdict}"

"""Models of judges: their definitions, their runs over campaigns, and all their calls.

Their assignments are in `annotation.models.Assignment`, which judges share with people.
"""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone

from annotation.models import Assignment, Campaign, ProtocolFile, Rater, Response, Unit, User
from datasets.models import Owned, Share

ACTIVE = ("queued", "running")
CONCURRENCY = 16
"""How many calls at once a judge has at most, unless it says otherwise."""


class FrozenError(TypeError):
    """A judge or a call cannot be changed. Create a new one instead."""


class _WrittenOnce(models.Model):
    """A row that is saved once and never changed."""

    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        if not self._state.adding:
            raise FrozenError(f"{self._meta.verbose_name} {self.pk} cannot be changed")
        super().save(*args, **kwargs)


class Key(Owned):
    """A server's key, by the name of its environment variable, and whose judges may use it.

    The key itself is never stored. It belongs to the team whose judge used it first.
    """

    NAME = "variable"

    variable = models.CharField(max_length=100, unique=True)

    class Meta:
        ordering = ("variable",)

    def __str__(self) -> str:
        return self.variable


class KeyShare(Share):
    of = models.ForeignKey(Key, models.CASCADE, related_name="shares")

    class Meta(Share.Meta):
        constraints = [models.UniqueConstraint("of", "team", name="a_key_is_shared_once")]


class Lane(models.Model):
    """A model on an endpoint under one credential, whose calls at once are shared (`Grant`).

    The credential is a key, and the `headers` with the variables of their values. `model` is empty
    if all models of the server share one limit.

    `ceiling` is the number of calls at once that the server handled last, with which the next run
    starts, and `refused_at` the time of its last refusal while several workers asked it. A lane is
    not used while `paused` has a text, which says why.
    """

    endpoint = models.CharField(max_length=500)
    api_key_env = models.CharField(max_length=100, blank=True)
    headers = models.CharField(max_length=1000, blank=True, default="")
    model = models.CharField(max_length=200, blank=True, default="")
    ceiling = models.PositiveIntegerField(null=True)
    refused_at = models.DateTimeField(null=True)
    paused = models.TextField(blank=True)
    paused_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ("endpoint", "api_key_env", "model")
        constraints = [
            models.UniqueConstraint(
                "endpoint", "api_key_env", "headers", "model", name="a_lane_is_there_once"
            )
        ]

    def __str__(self) -> str:
        return self.endpoint


class Price(Owned):
    """The price that a team pays for a model from a given day, in US dollars per million tokens."""

    model = models.CharField(max_length=200)
    since = models.DateField()
    prompt = models.DecimalField(max_digits=12, decimal_places=6)
    cached = models.DecimalField(max_digits=12, decimal_places=6)
    completion = models.DecimalField(max_digits=12, decimal_places=6)

    class Meta:
        ordering = ("model", "-since")
        constraints = [models.UniqueConstraint("team", "model", "since", name="one_price_a_day")]

    def __str__(self) -> str:
        return f"{self.model} from {self.since}"


class Judge(_WrittenOnce, Owned):
    """A model with its prompt and parameters, under the name of its rater.

    An empty `prompt` means the prompt of the campaign's protocol. The text of a judge file
    (`judging.judge_file`) in `file` takes the place of both, and `protocol_file` is the team's
    protocol that it is about, if it is about one. `family` names whose model it is, as
    the reports of a batch do. The server's key is read from the environment variable `api_key_env`
    when it is needed, and is never stored.

    A judge with a `base` is a trial of that judge. `variation` is its perturbation (see
    `judging.prompts.perturbations`), and its rater is of the kind *trial*.
    """

    NAME = "rater__name"

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
    file = models.TextField(blank=True, default="")
    file_sha256 = models.CharField(max_length=64, blank=True, default="")
    protocol_file = models.ForeignKey(
        ProtocolFile, models.PROTECT, to_field="uid", null=True, related_name="judges"
    )
    granularity = models.CharField(max_length=4, choices=Granularity, default=Granularity.ITEM)
    family = models.CharField(max_length=255, blank=True, default="")
    params = models.JSONField(default=dict)
    base = models.ForeignKey("self", models.PROTECT, null=True, related_name="trials")
    variation = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("rater__name",)

    def __str__(self) -> str:
        return self.rater.name

    def save(self, *args: Any, **kwargs: Any) -> None:
        if self.base is not None and self.team_id is None:
            self.team_id = self.base.team_id
        super().save(*args, **kwargs)


class JudgeShare(Share):
    """Shares a judge. To manage it means to run it, with its key and at its team's cost."""

    of = models.ForeignKey(Judge, models.CASCADE, related_name="shares")

    class Meta(Share.Meta):
        constraints = [models.UniqueConstraint("of", "team", name="a_judge_is_shared_once")]


class JudgeRun(models.Model):
    """One run of a judge over a campaign. At most one run of a judge and a campaign is active.

    The process at work has the lease until `lease_until`, by the database's clock. Its calls at
    once are granted on the `lane`. A judge that asks no server has no lane. Workers take only runs
    that are `queued`. The counts are of this run; `cached_tokens` are a part of the prompts'
    tokens, and `thinking_tokens` of the completions'. `limit` bounds `done` and the `failures` (by
    reason) together, `most_tokens` and `most_cost` (US dollars) bound what is spent.

    Nothing is asked before `rests_until`, because the server wants so. `ended_early` is the missing
    reason that nearly all first results shared, and that ended the run, unless it shall `go_on`.

    People control an active run through `wish`, `concurrency` and `workers`, the number of workers
    that may be at work on it (`Shard`). The engine reads them when it renews the lease, and reports
    its state in `in_flight` and `allowed`, the sums over all workers. `closing` is the reason for
    which one of them has all of them end.
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
        """Which answers to equal requests may be reused: none, the campaign's, or all."""

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
    workers = models.PositiveSmallIntegerField(default=1)
    closing = models.JSONField(null=True)
    go_on = models.BooleanField(default=False)
    ended_early = models.CharField(max_length=20, blank=True, default="")
    rests_until = models.DateTimeField(null=True)
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
    thinking_tokens = models.PositiveBigIntegerField(default=0)
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

    @property
    def most_at_once(self) -> int:
        """The maximum number of calls at once: the run's own, else its judge's."""
        return self.concurrency or int(self.judge.params.get("concurrency", CONCURRENCY))


class Shard(models.Model):
    """The part of a run that one worker has under its lease (`judging.runs.shards`).

    The number 0 is the leader's, whose lease is also that of the run.
    """

    run = models.ForeignKey(JudgeRun, models.CASCADE, related_name="shards")
    number = models.PositiveSmallIntegerField()
    lease = models.UUIDField(null=True)
    lease_until = models.DateTimeField(null=True)
    in_flight = models.PositiveIntegerField(default=0)
    allowed = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ("run", "number")
        constraints = [models.UniqueConstraint("run", "number", name="one_shard_of_a_number")]

    def __str__(self) -> str:
        return f"worker {self.number} on {self.run_id}"


class Grant(models.Model):
    """How many calls at once on a lane a worker may have in flight.

    `holder` is the token of the worker's lease on the `run`. It sends calls until `sends_until`
    at the latest, unless it renews the grant. At `frees_at` the deadline of its last call has
    passed, so its `calls` are free. `most` is the maximum of the run, and `in_flight` is what the
    worker said last.
    """

    lane = models.ForeignKey(Lane, models.CASCADE, related_name="grants")
    run = models.ForeignKey(JudgeRun, models.CASCADE, related_name="grants")
    holder = models.UUIDField()
    calls = models.PositiveIntegerField()
    in_flight = models.PositiveIntegerField()
    most = models.PositiveIntegerField()
    sends_until = models.DateTimeField()
    frees_at = models.DateTimeField()

    class Meta:
        ordering = ("id",)
        constraints = [models.UniqueConstraint("lane", "holder", name="one_grant_on_a_lane")]

    def __str__(self) -> str:
        return f"{self.calls} calls for {self.run_id}"


class JudgeCall(_WrittenOnce):
    """One attempt at an assignment. `completion` is what the model wrote, verbatim.

    `state` is `answered`, a missing reason, or an error in transport. After an error, `body` is the
    beginning of the server's response. `cost` is in US dollars, null if no price is known. A
    `repair` asks again for an answer that could not be read. An answer that was reused from an
    equal request names that call in `reused_from`, and cost nothing. `reading` names the steps by
    which the answer was read (`judging.parsers.ladder`), joined by +; it is empty if nothing was.
    `reasoning` is what the model thought before it answered, if the server returns it separately;
    its end may be cut off. `address` is the number of the address that was asked, from 0, if the
    judge has several.
    """

    run = models.ForeignKey(JudgeRun, models.PROTECT, related_name="judge_calls")
    assignment = models.ForeignKey(Assignment, models.CASCADE, related_name="judge_calls")
    attempt = models.PositiveSmallIntegerField()
    request_hash = models.CharField(max_length=64)
    state = models.CharField(max_length=40)
    detail = models.CharField(max_length=300, blank=True)
    http_status = models.PositiveSmallIntegerField(null=True)
    completion = models.TextField(null=True)  # noqa: DJ001 - no completion is not an empty one
    reasoning = models.TextField(blank=True, default="")
    body = models.TextField(blank=True)
    finish_reason = models.CharField(max_length=40, blank=True)
    usage = models.JSONField(default=dict)
    logprobs = models.JSONField(null=True)
    model_returned = models.CharField(max_length=200, blank=True)
    cost = models.DecimalField(null=True, max_digits=12, decimal_places=6)
    repair = models.BooleanField(default=False)
    reused_from = models.ForeignKey("self", models.SET_NULL, null=True, related_name="reused_by")
    reading = models.CharField(max_length=60, blank=True, default="")
    address = models.PositiveSmallIntegerField(null=True)
    sent_at = models.DateTimeField()
    seconds = models.FloatField()

    class Meta:
        ordering = ("id",)
        indexes = [models.Index("request_hash", name="calls_of_a_request")]

    def __str__(self) -> str:
        return f"{self.assignment_id} #{self.attempt} {self.state}"


class UnassignedCall(_WrittenOnce):
    """A request that answers no assignment: one that probes a server, or a try of a judge.

    Those of a `run` are part of its counts. A try has no run, and no judge if it was of a draft.
    `state`, `usage` and `cost` are those of a `JudgeCall`; texts are not kept.
    """

    class Purpose(models.TextChoices):
        PROBE = "probe"
        TRY = "try"

    purpose = models.CharField(max_length=5, choices=Purpose)
    run = models.ForeignKey(JudgeRun, models.PROTECT, null=True, related_name="unassigned_calls")
    campaign = models.ForeignKey(
        Campaign, models.SET_NULL, null=True, related_name="unassigned_calls"
    )
    judge = models.ForeignKey(Judge, models.SET_NULL, null=True, related_name="unassigned_calls")
    model = models.CharField(max_length=200, blank=True)
    model_returned = models.CharField(max_length=200, blank=True)
    state = models.CharField(max_length=40)
    detail = models.CharField(max_length=300, blank=True)
    http_status = models.PositiveSmallIntegerField(null=True)
    usage = models.JSONField(default=dict)
    cost = models.DecimalField(null=True, max_digits=12, decimal_places=6)
    sent_at = models.DateTimeField()
    seconds = models.FloatField()

    class Meta:
        ordering = ("id",)

    def __str__(self) -> str:
        return f"{self.purpose} {self.state}"


class Strike(models.Model):
    """The number of workers that died while they leased an assignment.

    With two strikes it is asked alone, with three it is closed.
    """

    assignment = models.OneToOneField(Assignment, models.CASCADE, related_name="strike")
    count = models.PositiveSmallIntegerField(default=1)

    def __str__(self) -> str:
        return f"{self.assignment_id}: {self.count}"


class Review(models.Model):
    """A person's review of an answer that may become part of a batch.

    If it was changed, `answer` has the accepted version by unit name, and the response keeps the
    author's text. `by` is the reviewer's rater, which keeps its pseudonym when the account is
    deleted.
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


class ChosenExample(models.Model):
    """A unit that a researcher chose as an example for judge files with `draw = "chosen"`."""

    unit = models.OneToOneField(Unit, models.CASCADE, related_name="chosen_example")
    by = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("unit",)

    def __str__(self) -> str:
        return str(self.unit_id)

"""Batch, Query and their parts. A batch is loaded whole and never changes.

Identifiers are compared exactly. Teams, which own batches and all that other apps make of them, are
here, too, as are uploads, jobs and their workers, the grants of tokens, and the API's stored
answers.
"""

from __future__ import annotations

import secrets
from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone

MAX_ID = 255
FIRST_TEAM = "main"


class Team(models.Model):
    """People who share batches, campaigns and judges. A new site has one, which nobody notices."""

    name = models.CharField(max_length=150, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name


class TeamMember(models.Model):
    """An account's role in a team. Owners and managers change what the team has, members read it.

    An account that labels is a member: it may take items of the team's open campaigns.
    """

    class Role(models.TextChoices):
        OWNER = "owner"
        MANAGER = "manager"
        MEMBER = "member"

    team = models.ForeignKey(Team, models.CASCADE, related_name="members")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="teams")
    role = models.CharField(max_length=7, choices=Role, default=Role.MEMBER)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ("team", "user")
        constraints = [
            models.UniqueConstraint("team", "user", name="one_role_a_team"),
            models.CheckConstraint(
                condition=Q(role__in=("owner", "manager", "member")), name="team_role_is_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user_id} is {self.role} of {self.team_id}"


class SeveralTeamsError(ValueError):
    """The site has several teams, so one has to be named."""

    def __init__(self) -> None:
        super().__init__("the site has several teams; name one")


def only_team() -> Team:
    """Return the site's only team, created if there is none. Raises SeveralTeamsError."""
    found = list(Team.objects.all()[:2])
    if len(found) > 1:
        raise SeveralTeamsError
    return found[0] if found else Team.objects.get_or_create(name=FIRST_TEAM)[0]


class Owned(models.Model):
    """What belongs to a team. Without a team it goes to the site's only one.

    `made_by` is the account that created it: None for a command, and once the account is deleted.
    `NAME` is the field with the name by which people and commands address it.
    """

    NAME: ClassVar[str] = "name"

    team = models.ForeignKey(Team, models.PROTECT, related_name="+")
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )

    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        if self.team_id is None:
            self.team = only_team()
        super().save(*args, **kwargs)


class Share(models.Model):
    """Another team's right to something: to read it, or to manage it like its own."""

    class Right(models.TextChoices):
        READ = "read"
        MANAGE = "manage"

    team = models.ForeignKey(Team, models.CASCADE, related_name="+")
    right = models.CharField(max_length=6, choices=Right, default=Right.READ)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.team_id} may {self.right}"


class Batch(Owned):
    """A loaded set of files, or a batch that was derived from another one.

    `digest` covers the rows as read, so it identifies the content. `files` are those that it was
    loaded from, each `{name, sha256}`.
    """

    name = models.CharField(max_length=200, unique=True)
    format = models.CharField(max_length=40)
    digest = models.CharField(max_length=64)
    counts = models.JSONField(default=dict)
    warnings = models.JSONField(default=list)
    skipped = models.JSONField(default=dict)
    files = models.JSONField(default=list, db_default=models.Value([], models.JSONField()))
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("name",)
        verbose_name_plural = "batches"

    def __str__(self) -> str:
        return self.name


class BatchShare(Share):
    of = models.ForeignKey(Batch, models.CASCADE, related_name="shares")

    class Meta(Share.Meta):
        constraints = [models.UniqueConstraint("of", "team", name="a_batch_is_shared_once")]


class Lineage(models.Model):
    """How a batch was made of another one.

    `kind` says which machinery made it, and `rule` which of its rules, such as `typed-queries`.
    `campaigns` are those whose labels were read, each `{name, protocol}`, and `decided_by` whose
    labels count. `labels` is a digest over all labels read. `counts` has what was kept and dropped,
    by reason, and `facts` other numbers of the rule. `version` is that of Tandem.
    """

    batch = models.OneToOneField(Batch, models.CASCADE, related_name="lineage")
    source = models.ForeignKey(Batch, models.PROTECT, related_name="derived")
    kind = models.CharField(max_length=10)
    rule = models.CharField(max_length=60)
    rule_version = models.CharField(max_length=20)
    options = models.JSONField(default=dict)
    campaigns = models.JSONField(default=list)
    decided_by = models.CharField(max_length=150, blank=True)
    ties = models.CharField(max_length=6, blank=True)
    labels = models.CharField(max_length=64, blank=True)
    files = models.JSONField(default=list)
    counts = models.JSONField(default=dict)
    facts = models.JSONField(default=dict)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    version = models.CharField(max_length=40)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=~models.Q(batch=models.F("source")), name="no_batch_is_its_own_source"
            )
        ]

    def __str__(self) -> str:
        return f"{self.batch_id}: {self.rule} of {self.source_id}"


class LabelsRead(models.Model):
    """Digests of the units whose labels a derivation read: eight bytes each, sorted.

    They tell how many units have changed since. They have their own table, since no page reads
    them.
    """

    lineage = models.OneToOneField(Lineage, models.CASCADE, related_name="labels_read")
    digests = models.BinaryField()

    def __str__(self) -> str:
        return str(self.lineage_id)


class LeftOut(models.Model):
    """A part of the source batch that a derived batch does not have, and the reason."""

    lineage = models.ForeignKey(Lineage, models.CASCADE, related_name="left_out")
    what = models.CharField(max_length=40)
    key = models.CharField(max_length=600)
    reason = models.CharField(max_length=200)

    class Meta:
        ordering = ("id",)

    def __str__(self) -> str:
        return f"{self.key}: {self.reason}"


class Query(models.Model):
    """An open-ended query.

    `history` has the earlier turns of the conversation, each `{role, text}`. `asked_at` is kept as
    it was written; `references` have no ids.
    """

    batch = models.ForeignKey(Batch, models.CASCADE, related_name="queries")
    key = models.CharField(max_length=MAX_ID)
    position = models.PositiveIntegerField()
    text = models.TextField()
    history = models.JSONField(default=list, db_default=models.Value([], models.JSONField()))
    asked_at = models.CharField(max_length=40, null=True)  # noqa: DJ001 - absent is not empty
    references = models.JSONField(default=list)
    meta = models.JSONField(null=True)

    class Meta:
        ordering = ("position",)
        verbose_name_plural = "queries"
        constraints = [models.UniqueConstraint("batch", "key", name="query_once_a_batch")]

    def __str__(self) -> str:
        return self.key


class QueryDigest(models.Model):
    """Digests of a query as it was loaded, which show later changes.

    `line` is a digest of its position and of its line of the native format. `texts` has the digests
    of its texts by kind and id (`datasets.digests`). They have their own table, since no page reads
    them.
    """

    query = models.OneToOneField(Query, models.CASCADE, related_name="digest")
    line = models.CharField(max_length=64)
    texts = models.JSONField()

    def __str__(self) -> str:
        return f"{self.query_id}: {self.line}"


class Part(models.Model):
    """A part of one query, with an id that is unique in the batch."""

    batch = models.ForeignKey(Batch, models.CASCADE, related_name="+")
    query = models.ForeignKey(Query, models.CASCADE, related_name="%(class)ss")
    key = models.CharField(max_length=MAX_ID)
    position = models.PositiveIntegerField()
    text = models.TextField()
    meta = models.JSONField(null=True)

    class Meta:
        abstract = True
        ordering = ("query", "position")

    def __str__(self) -> str:
        return self.key


class Question(Part):
    weight = models.FloatField(null=True)

    class Meta(Part.Meta):
        constraints = [models.UniqueConstraint("batch", "key", name="question_once_a_batch")]


class Report(Part):
    """A text under judgement. `context` and `citations` are passage ids, known or not.

    `system` is what wrote it, and `family` whose model that is.
    `key_points` are its own, each `{id, text, spans?}`.
    """

    system = models.CharField(max_length=MAX_ID, null=True)  # noqa: DJ001 - absent is not empty
    family = models.CharField(max_length=MAX_ID, null=True)  # noqa: DJ001 - absent is not empty
    setting = models.CharField(max_length=MAX_ID, null=True)  # noqa: DJ001 - absent is not empty
    context = models.JSONField(null=True)
    citations = models.JSONField(null=True)
    sentences = models.JSONField(null=True)
    deflected = models.BooleanField(null=True)
    key_points = models.JSONField(null=True)

    class Meta(Part.Meta):
        constraints = [models.UniqueConstraint("batch", "key", name="report_once_a_batch")]


class Passage(models.Model):
    """The text of a passage, once per batch. Grounding has the fields that differ by query."""

    batch = models.ForeignKey(Batch, models.CASCADE, related_name="passages")
    key = models.CharField(max_length=MAX_ID)
    text = models.TextField()

    class Meta:
        constraints = [models.UniqueConstraint("batch", "key", name="passage_once_a_batch")]

    def __str__(self) -> str:
        return self.key


class Grounding(models.Model):
    """A passage of one query, with the query's own facts about it."""

    query = models.ForeignKey(Query, models.CASCADE, related_name="groundings")
    passage = models.ForeignKey(Passage, models.CASCADE, related_name="groundings")
    position = models.PositiveIntegerField()
    title = models.TextField(null=True)  # noqa: DJ001 - absent is not empty
    source = models.TextField(null=True)  # noqa: DJ001 - absent is not empty
    published_at = models.CharField(max_length=40, null=True)  # noqa: DJ001 - absent is not empty
    age = models.TextField(null=True)  # noqa: DJ001 - absent is not empty
    sentences = models.JSONField(null=True)
    relevant = models.BooleanField(null=True)
    use = models.CharField(max_length=20, null=True)  # noqa: DJ001 - absent is not empty
    meta = models.JSONField(null=True)

    class Meta:
        ordering = ("query", "position")
        constraints = [models.UniqueConstraint("query", "passage", name="passage_once_a_query")]

    def __str__(self) -> str:
        return f"{self.query_id}/{self.passage_id}"


class KeyPoint(Part):
    passage = models.ForeignKey(Passage, models.CASCADE, related_name="key_points")
    spans = models.JSONField(null=True)
    score = models.FloatField(null=True)

    class Meta(Part.Meta):
        constraints = [models.UniqueConstraint("batch", "key", name="key_point_once_a_batch")]


class Ranking(models.Model):
    """The passage ids that one retrieval system returned for a query, best first."""

    query = models.ForeignKey(Query, models.CASCADE, related_name="rankings")
    system = models.CharField(max_length=MAX_ID)
    position = models.PositiveIntegerField()
    passages = models.JSONField()

    class Meta:
        ordering = ("query", "position")
        constraints = [models.UniqueConstraint("query", "system", name="ranking_once_a_query")]

    def __str__(self) -> str:
        return self.system


def random_key() -> str:
    return secrets.token_hex(16)


class Upload(models.Model):
    """Files that a person sent for a batch, with their state. Keeping them creates the batch.

    The files are in the quarantine (`datasets.uploads.quarantine`) until the upload ends. `found`
    is the result of the inspection, and `digest` identifies the content that a person saw when
    keeping it. `team` is to own the batch, and with `extends` the files add to the queries of that
    batch. `turn` identifies the process that works on the upload;
    a process that finds another turn stops.
    """

    class State(models.TextChoices):
        READING = "reading"
        READY = "ready"
        REFUSED = "refused"
        KEEPING = "keeping"
        KEPT = "kept"
        DISCARDED = "discarded"

    key = models.CharField(max_length=32, unique=True, default=random_key)
    team = models.ForeignKey(Team, models.SET_NULL, null=True, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    extends = models.ForeignKey(Batch, models.CASCADE, null=True, related_name="+")
    name = models.CharField(max_length=200)
    format = models.CharField(max_length=40, blank=True)
    files = models.JSONField(default=list)
    state = models.CharField(max_length=20, default=State.READING)
    turn = models.UUIDField(null=True)
    digest = models.CharField(max_length=64, blank=True)
    found = models.JSONField(default=dict)
    error = models.TextField(blank=True)
    batch = models.ForeignKey(Batch, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    changed_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-created_at",)
        indexes = [models.Index(fields=["user", "created_at"], name="uploads_of_a_user")]

    def __str__(self) -> str:
        return self.name


class Grant(models.Model):
    """The scopes of an API token. A token without a grant allows nothing."""

    token = models.OneToOneField("knox.AuthToken", models.CASCADE, related_name="grant")
    scopes = models.JSONField(default=list)
    note = models.CharField(max_length=100, blank=True)

    def __str__(self) -> str:
        return f"{self.token.token_key}…"


class KeptAnswer(models.Model):
    """The answer to a write with an idempotency key, stored to answer a repeated request.

    `asked` is the digest of the request. Rows are deleted after a day
    (`datasets.api.concurrency`).
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    key = models.CharField(max_length=64)
    asked = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(default=0)
    body = models.TextField(blank=True)
    etag = models.CharField(max_length=100, blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint("user", "key", name="an_answer_once_a_key")]
        indexes = [models.Index(fields=["created_at"], name="answers_by_age")]

    def __str__(self) -> str:
        return self.key


class Job(models.Model):
    """A computation, such as a report or an export, that a worker carries out (`datasets.jobs`).

    `question` is a digest of what is asked, and `digest` of that and of everything that the result
    depends on: two equal digests have equal results. Of one question at most one job waits and one
    runs. `user` is the person in whose turn a worker took the job. `turn` identifies the attempt of
    a worker, whose lease it renews; an attempt that finds another turn stops. `result` describes
    the file of the result: its name in the folder, its title, its media type and its bytes.
    """

    class State(models.TextChoices):
        WAITING = "waiting"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"
        CANCELLED = "cancelled"

    key = models.CharField(max_length=32, unique=True, default=random_key)
    kind = models.CharField(max_length=40)
    options = models.JSONField(default=dict)
    question = models.CharField(max_length=64)
    digest = models.CharField(max_length=64)
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+", db_index=False
    )
    turn = models.UUIDField(null=True)
    lease_until = models.DateTimeField(null=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    done = models.PositiveBigIntegerField(default=0)
    total = models.PositiveBigIntegerField(default=0)
    error = models.TextField(blank=True)
    result = models.JSONField(default=dict)
    created_at = models.DateTimeField(db_default=Now())
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ("pk",)
        constraints = [
            models.UniqueConstraint(
                "question", condition=models.Q(state="waiting"), name="a_question_waits_once"
            ),
            models.UniqueConstraint(
                "question", condition=models.Q(state="running"), name="a_question_runs_once"
            ),
        ]
        indexes = [
            models.Index(fields=["question", "state"], name="jobs_of_a_question"),
            models.Index(fields=["state", "ended_at"], name="jobs_by_state"),
            models.Index(fields=["user", "started_at"], name="turns_of_a_person"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.key}"


class JobAsker(models.Model):
    """A person who asked for a job, at an `address`; `withdrawn` when they cancelled it.

    `request` and `network` are those of the request, for events of the audit trail.
    """

    job = models.ForeignKey(Job, models.CASCADE, related_name="askers")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    address = models.TextField(blank=True)
    request = models.CharField(max_length=64, blank=True)
    network = models.CharField(max_length=8, blank=True)
    asked_at = models.DateTimeField(db_default=Now())
    withdrawn = models.BooleanField(default=False)

    class Meta:
        constraints = [models.UniqueConstraint("job", "user", name="an_asker_once_a_job")]

    def __str__(self) -> str:
        return f"{self.job_id}: {self.user_id}"


class Worker(models.Model):
    """A process that carries out jobs (`manage.py work`), and when it was last there."""

    name = models.CharField(max_length=120, unique=True)
    places = models.PositiveSmallIntegerField()
    seen_at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return self.name

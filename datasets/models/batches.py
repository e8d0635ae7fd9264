"""Batch, Query and their parts. A batch is loaded whole and never changes.

Identifiers are compared exactly.
"""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils import timezone

from datasets.models.teams import Owned, Share

MAX_ID = 255


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
    """How a batch was derived from another one.

    `kind` is the way of derivation, and `rule` the rule that was used, such as `typed-queries`.
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

    They show how many units have changed since. They have their own table, since no page reads
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
    `sentence_citations` has a list of passage ids for each of `sentences`.
    `key_points` are its own, each `{id, text, spans?}`.
    """

    system = models.CharField(max_length=MAX_ID, null=True)  # noqa: DJ001 - absent is not empty
    family = models.CharField(max_length=MAX_ID, null=True)  # noqa: DJ001 - absent is not empty
    setting = models.CharField(max_length=MAX_ID, null=True)  # noqa: DJ001 - absent is not empty
    context = models.JSONField(null=True)
    citations = models.JSONField(null=True)
    sentences = models.JSONField(null=True)
    sentence_citations = models.JSONField(null=True)
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


class Nugget(Part):
    """A fact that a good answer states. `sources` are document or passage ids, known or not."""

    importance = models.CharField(max_length=5, null=True)  # noqa: DJ001 - absent is not empty
    sources = models.JSONField(null=True)

    class Meta(Part.Meta):
        constraints = [models.UniqueConstraint("batch", "key", name="nugget_once_a_batch")]


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

"""Models of snapshots, studies with their parts, tags of units, and drafts of changes."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

from django.db import models

from annotation.models import Campaign, Unit, User
from datasets.models import Batch
from judging.models import Judge


class FrozenReport(models.Model):
    """A snapshot: a report with its options, stored verbatim and never changed.

    Its campaign cannot be deleted. `content` is the report's JSON as it is downloaded, so that
    `sha256` is the digest of that file. `key` is the beginning of the digest, and part of the
    snapshot's address. `choices` has the address's query, and `by_name` the name of the account
    that created the snapshot, or a note that the account was deleted. `looks` are those that the
    ledger gets when it is read, or None in a snapshot of an earlier version.
    """

    campaign = models.ForeignKey(Campaign, models.PROTECT, related_name="frozen_reports")
    key = models.CharField(max_length=16, unique=True)
    sha256 = models.CharField(max_length=64)
    inputs_sha256 = models.CharField(max_length=64)
    choices = models.TextField(blank=True)
    content = models.TextField()
    version = models.CharField(max_length=40)
    by = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")
    by_name = models.CharField(max_length=150)
    looks = models.JSONField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-id",)

    def __str__(self) -> str:
        return self.key

    def save(self, *args: Any, **kwargs: Any) -> None:
        if not self._state.adding:
            raise TypeError(f"snapshot {self.key} cannot be changed; create a new one")
        super().save(*args, **kwargs)

    @property
    def report(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.content)
        return found

    @property
    def is_whole(self) -> bool:
        """Whether the content is unchanged since it was stored."""
        return digest(self.content) == self.sha256


class Study(models.Model):
    """A study as its file describes it, and what was created from the file.

    `text` is the file as it was last applied, and `sha256` its digest. `preset` names the paper
    whose tables it fills; it may be empty. `options` are those of the tables, by name, as text.
    `evaluators` has the names of judges that count as one, by the evaluator's name; those of
    judges' models are not stored.
    """

    name = models.CharField(max_length=200, unique=True)
    preset = models.CharField(max_length=40, blank=True)
    options = models.JSONField(default=dict)
    text = models.TextField()
    sha256 = models.CharField(max_length=64)
    evaluators = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ("name",)
        verbose_name_plural = "studies"

    def __str__(self) -> str:
        return self.name


class StudyPart(models.Model):
    """A batch, campaign or judge of a study: its name in the file, and the object in the database.

    Exactly one of `batch`, `campaign` and `judge` is set, as `kind` says. `imported` has the labels
    files that a campaign was given, by the SHA-256 of their content, so that each is imported once.
    """

    class Kind(models.TextChoices):
        BATCH = "batch"
        CAMPAIGN = "campaign"
        JUDGE = "judge"

    study = models.ForeignKey(Study, models.CASCADE, related_name="parts")
    kind = models.CharField(max_length=8, choices=Kind)
    name = models.CharField(max_length=200)
    position = models.PositiveIntegerField(default=0)
    batch = models.ForeignKey(Batch, models.CASCADE, null=True, related_name="+")
    campaign = models.ForeignKey(Campaign, models.CASCADE, null=True, related_name="+")
    judge = models.ForeignKey(Judge, models.CASCADE, null=True, related_name="+")
    imported = models.JSONField(default=dict)

    class Meta:
        ordering = ("study", "position")
        constraints = [
            models.UniqueConstraint("study", "kind", "name", name="part_once_a_study"),
            models.CheckConstraint(
                condition=models.Q(
                    kind="batch", batch__isnull=False, campaign__isnull=True, judge__isnull=True
                )
                | models.Q(
                    kind="campaign", batch__isnull=True, campaign__isnull=False, judge__isnull=True
                )
                | models.Q(
                    kind="judge", batch__isnull=True, campaign__isnull=True, judge__isnull=False
                ),
                name="part_is_of_its_kind",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


class UnitTag(models.Model):
    """A reader's assessment of a unit's labels: a tag, and a note that may be empty.

    A unit has one tag for each variable; a later one replaces it, and both are in the audit trail.
    `section` is the heading of the relevant guideline section, and may be empty.
    """

    class Tag(models.TextChoices):
        JUDGE_WRONG = "judge-wrong", "judge wrong"
        PEOPLE_WRONG = "people-wrong", "people wrong"
        AMBIGUOUS = "ambiguous"
        GUIDELINE_GAP = "guideline-gap", "guideline gap"

    unit = models.ForeignKey(Unit, models.CASCADE, related_name="tags")
    variable = models.CharField(max_length=40)
    tag = models.CharField(max_length=13, choices=Tag)
    note = models.CharField(max_length=1000, blank=True)
    section = models.CharField(max_length=200, blank=True, default="")
    by = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.UniqueConstraint("unit", "variable", name="one_tag_a_variable"),
            models.CheckConstraint(
                condition=models.Q(
                    tag__in=("judge-wrong", "people-wrong", "ambiguous", "guideline-gap")
                ),
                name="tag_is_known",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.unit_id} {self.tag}"


class Draft(models.Model):
    """A drafted change of a campaign's guideline or of a judge's prompt, which changes nothing yet.

    `base` is the text that the draft began from. For a prompt or judge file, `judge` is its judge;
    for a guideline, it is None. Discarded drafts are kept.
    """

    class Kind(models.TextChoices):
        GUIDELINE = "guideline"
        PROMPT = "prompt"

    class State(models.TextChoices):
        OPEN = "open"
        DISCARDED = "discarded"

    campaign = models.ForeignKey(Campaign, models.CASCADE, related_name="drafts")
    kind = models.CharField(max_length=9, choices=Kind)
    judge = models.ForeignKey(Judge, models.CASCADE, null=True, related_name="drafts")
    base = models.TextField()
    base_sha256 = models.CharField(max_length=64)
    text = models.TextField()
    note = models.CharField(max_length=1000, blank=True)
    state = models.CharField(max_length=9, choices=State, default=State.OPEN)
    by = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ("-id",)
        constraints = [
            models.CheckConstraint(
                condition=models.Q(kind="guideline", judge__isnull=True)
                | models.Q(kind="prompt", judge__isnull=False),
                name="a_prompt_is_a_judge_s",
            ),
        ]

    def __str__(self) -> str:
        return f"draft {self.pk}"


def digest(content: str) -> str:
    return sha256(content.encode("utf-8")).hexdigest()

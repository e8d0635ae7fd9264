"""Jobs, who asked for them, and the workers that carry them out."""

from __future__ import annotations

import secrets

from django.conf import settings
from django.db import models
from django.db.models.functions import Now


def random_key() -> str:
    return secrets.token_hex(16)


class Job(models.Model):
    """A computation, such as a report or an export, that a worker carries out (`datasets.work`).

    `question` is a digest of what is asked, and `digest` of that and of everything that the result
    depends on: two equal digests have equal results. A question has at most one waiting and one
    running job. `user` is the person in whose turn a worker took the job. `turn` identifies the
    attempt of a worker, whose lease it renews; an attempt that finds another turn stops. `result`
    describes the file of the result: its name in the folder, its title, its media type and its
    bytes.
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

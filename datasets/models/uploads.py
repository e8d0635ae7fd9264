"""Uploads: files that people sent, until they are a batch."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from datasets.models.batches import Batch
from datasets.models.jobs import random_key
from datasets.models.teams import Team


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

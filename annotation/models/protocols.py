"""Protocols of teams, each in one file."""

from __future__ import annotations

import uuid

from django.db import models

from datasets.models import Owned


class ProtocolFile(Owned):
    """A version of a protocol that a team declared in a file. It never changes.

    `text` is the file and `parts` the texts beside it that it names. `digest` is the SHA-256 of
    both. The `uid` is random, so that a process may keep what it has read, and refers to the file.
    """

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    name = models.CharField(max_length=40)
    version = models.CharField(max_length=20)
    title = models.CharField(max_length=80)
    text = models.TextField()
    parts = models.JSONField(default=dict)
    digest = models.CharField(max_length=64)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("name", "created_at")
        constraints = [
            models.UniqueConstraint("team", "name", "version", name="a_version_is_stored_once"),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.version}"

"""Snapshots of reports, which never change, for papers to cite."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

from django.db import models

from annotation.models import Campaign, User


class FrozenReport(models.Model):
    """A snapshot: a report with its options, stored verbatim and never changed.

    Its campaign cannot be deleted. `content` is the report's JSON as it is downloaded, so that
    `sha256` is the digest of that file. `key` is the beginning of the digest, and part of the
    snapshot's address. `choices` are the address's query, and `by_name` is the account that created
    the snapshot; of a deleted account it only says so.
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


def digest(content: str) -> str:
    return sha256(content.encode("utf-8")).hexdigest()

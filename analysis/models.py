"""Frozen reports, which never change: what a paper cites."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

from django.db import models

from annotation.models import Campaign, User


class FrozenReport(models.Model):
    """A report with its choices, kept word for word. Never changed, and a campaign stays with it.

    `content` is the report's JSON as it is downloaded, so that `sha256` is the digest of that file;
    `key` is its beginning, under which the report has its address. `choices` are the address's
    query, and `by_name` is who froze it; of an account that is deleted it says no more than that.
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
            raise TypeError(f"frozen report {self.key} cannot be changed; freeze a new one")
        super().save(*args, **kwargs)

    @property
    def report(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.content)
        return found

    @property
    def is_whole(self) -> bool:
        """Whether the content is what was frozen, word for word."""
        return digest(self.content) == self.sha256


def digest(content: str) -> str:
    return sha256(content.encode("utf-8")).hexdigest()

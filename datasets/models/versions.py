"""The versions of Tandem that have migrated the database."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now


class Migrated(models.Model):
    """A version of Tandem that brought the tables up to date. Older versions read its columns."""

    version = models.CharField(max_length=40)
    commit = models.CharField(max_length=64, blank=True)
    at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return f"{self.version} {self.commit}".strip()

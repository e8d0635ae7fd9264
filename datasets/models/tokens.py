"""What the API keeps: scopes of its tokens, and answers to requests that may come again."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils import timezone


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

"""Event and Seal: rows that are added, and never changed or deleted.

Neither has a foreign key to another table, so a person or a campaign can be deleted and the chain
still holds. What remains of a deleted person is the number of an account that no longer exists.
"""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now

SITE = 0
"""The chain of all that belongs to no campaign."""


class Event(models.Model):
    """One thing that happened. `at` is the database's own clock; the order is that of the ids.

    `who` is an account's id; none for a command or a stranger. `before` and `after` are keyed
    digests of a state, from which nobody reads it. `address` is a class of addresses, never one.
    `facts` are numbers and words of our own lists; no text that somebody wrote gets in.
    """

    event = models.CharField(max_length=40)
    at = models.DateTimeField(db_default=Now())
    who = models.BigIntegerField(null=True)
    campaign = models.BigIntegerField(null=True)
    object_kind = models.CharField(max_length=20, default="", blank=True)
    object_id = models.CharField(max_length=40, default="", blank=True)
    before = models.CharField(max_length=64, default="", blank=True)
    after = models.CharField(max_length=64, default="", blank=True)
    request = models.CharField(max_length=64, default="", blank=True)
    address = models.CharField(max_length=8, default="", blank=True)
    facts = models.JSONField(default=dict)

    class Meta:
        ordering = ("-id",)
        indexes = [models.Index("campaign", "id", name="events_of_a_campaign")]

    def __str__(self) -> str:
        return f"{self.event} {self.pk}"


class Seal(models.Model):
    """A batch of events that is closed: those of its chain above `since`, up to `last`.

    `digest` is over the events' lines and the `previous` digest; that of the site's chain is over
    `heads` besides, the newest digests of the campaigns, so that none can be cut off unseen.
    """

    chain = models.BigIntegerField()
    number = models.PositiveIntegerField()
    since = models.BigIntegerField()
    last = models.BigIntegerField()
    count = models.PositiveIntegerField()
    heads = models.JSONField(default=dict)
    previous = models.CharField(max_length=64)
    digest = models.CharField(max_length=64)
    at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ("chain", "number")
        constraints = [
            models.UniqueConstraint("chain", "number", name="seals_are_numbered_once"),
        ]
        indexes = [models.Index("chain", "last", name="seal_of_an_event")]

    def __str__(self) -> str:
        return f"{self.chain}/{self.number}"

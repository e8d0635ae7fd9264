"""Event and Seal: rows that are added, and never changed or deleted.

Neither has a foreign key to another table, so a person or a campaign can be deleted without
breaking the chain. Of a deleted person, only the id of the former account remains.
"""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now

SITE = 0
"""The chain of events that belong to no campaign."""


class Event(models.Model):
    """One event. `at` is the time of the database; events are ordered by id.

    `who` is an account's id, or None for a command or an unknown visitor. `before` and `after` are
    keyed digests of a state. `address` is a class of addresses, never an address. `facts` are
    numbers and words from fixed lists, never free text.
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
    """A seal over a range of events: those of its chain with ids above `since`, up to `last`.

    `digest` covers the events' lines and the `previous` digest. In the site's chain it also covers
    `heads`, the newest digests of the campaigns' chains, so that cutting one off shows.
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

"""Event, Fingerprint and Seal: rows that are added, and never changed or deleted.

None has a foreign key to another table, so a person or a campaign can be deleted without
breaking the chain. Of a deleted person, only the id of the former account remains.
"""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now
from django.utils import timezone

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


class Fingerprint(models.Model):
    """The state of one object at one moment, such as an answer with its labels (`audit.sealed`).

    `digest` covers all sealed columns, and `columns` has the beginning of the digest of each, which
    names what was changed. `scope` has the ids by which events refer to the object, as they were.
    `event` is the newest event whose changes are included. An `as_found` object is older than the
    seals of states, so nothing is known of what happened to it before. The `digest` is empty if the
    object is gone, and an event of the trail tells why.
    """

    kind = models.CharField(max_length=20)
    object_id = models.BigIntegerField()
    digest = models.CharField(max_length=64, blank=True)
    columns = models.JSONField(default=dict)
    scope = models.JSONField(default=dict)
    event = models.BigIntegerField()
    as_found = models.BooleanField(default=False)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ("id",)
        indexes = [models.Index("kind", "object_id", "id", name="fingerprints_of_an_object")]

    def __str__(self) -> str:
        return f"{self.kind} {self.object_id}"


class Seal(models.Model):
    """A seal over a range of events: those of its chain with ids above `since`, up to `last`.

    `digest` covers the events' lines and the `previous` digest. In the site's chain it also covers
    `heads`, the newest digests of the campaigns' chains, so that cutting one off shows, and under
    `states` the range and the digest of the fingerprints that were taken for it.
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

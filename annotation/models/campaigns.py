"""What is asked of whom: campaigns, their items and units, and the assignments."""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from annotation.models.people import Rater
from datasets.models import Batch, KeyPoint, Passage, Query, Report

MAX_KEY = 600  # two ids and what joins them


class Campaign(models.Model):
    """A study: a protocol over a batch, with its design. `options` are those of create_campaign.

    What may change while it runs are columns of their own: until when answers count, the language
    of its texts, its own guideline (empty: the protocol's), after how many items one of the gold
    ones comes (0: never), whose practice people pass first and with which share right.

    In an open `pool` whoever may label takes part; in a named one, its members do. A place that is
    held longer than `hold_minutes` without a sign of life goes back (none given: it is held for
    good), and nobody takes more than `items_per_person`, if that is given.
    """

    class Pool(models.TextChoices):
        OPEN = "open"
        NAMED = "named"

    name = models.CharField(max_length=200, unique=True)
    protocol = models.CharField(max_length=60)
    protocol_version = models.CharField(max_length=20)
    batch = models.ForeignKey(Batch, models.PROTECT, related_name="campaigns")
    raters_per_item = models.PositiveSmallIntegerField(default=1)
    overlap = models.FloatField(default=1.0)
    human_share = models.FloatField(default=1.0)
    options = models.JSONField(default=dict)
    seed = models.PositiveIntegerField(default=0)
    is_open = models.BooleanField(default=True)
    deadline = models.DateTimeField(null=True, blank=True)
    language = models.CharField(max_length=35, default="", db_default="", blank=True)
    guideline = models.TextField(default="", db_default="", blank=True)
    gold_every = models.PositiveSmallIntegerField(default=0, db_default=0)
    practice_of = models.ForeignKey("self", models.PROTECT, null=True, related_name="+")
    qualify = models.FloatField(null=True, blank=True)
    pool = models.CharField(max_length=5, choices=Pool, default=Pool.OPEN)
    hold_minutes = models.PositiveIntegerField(null=True)
    items_per_person = models.PositiveIntegerField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("name",)
        constraints = [
            models.CheckConstraint(condition=Q(pool__in=("open", "named")), name="pool_is_known")
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def takes_answers(self) -> bool:
        """Whether it is open, and its deadline is not past by the server's clock."""
        return self.is_open and (self.deadline is None or timezone.now() < self.deadline)


class Item(models.Model):
    """What a rater sees at once.

    `quota` people are asked; `taken` counts those who hold a place, and the database refuses one
    more. `probability` is the chance with which the design asked people about it at all.
    `shown_passages` are the ids of the passages that the campaign's option left when the item was
    made (none given: all), and `passage_uses` what each was called useful for then, as codes by id;
    later labels change nothing that was asked. `drawn` are the names of
    the units that a draw left to ask of everybody, where it waits for another campaign (none given:
    not drawn, or each rater for himself). `words` are those of the texts that it shows (none given:
    not counted). What a `use` other than study gets stays out of agreement and estimates: the
    answers to gold and practice items are known beforehand.
    """

    class Use(models.TextChoices):
        STUDY = "study"
        GOLD = "gold"
        PRACTICE = "practice"

    campaign = models.ForeignKey(Campaign, models.CASCADE, related_name="items")
    key = models.CharField(max_length=MAX_KEY)
    position = models.PositiveIntegerField()
    query = models.ForeignKey(Query, models.PROTECT, related_name="+")
    report = models.ForeignKey(Report, models.PROTECT, null=True, related_name="+")
    passage = models.ForeignKey(Passage, models.PROTECT, null=True, related_name="+")
    key_point = models.ForeignKey(KeyPoint, models.PROTECT, null=True, related_name="+")
    shown_passages = models.JSONField(null=True)
    passage_uses = models.JSONField(null=True)
    drawn = models.JSONField(null=True)
    quota = models.PositiveSmallIntegerField(default=1)
    taken = models.PositiveSmallIntegerField(default=0)
    probability = models.FloatField(default=1.0)
    words = models.PositiveIntegerField(null=True)
    use = models.CharField(max_length=8, choices=Use, default=Use.STUDY, db_default=Use.STUDY.value)

    class Meta:
        ordering = ("campaign", "position")
        constraints = [
            models.UniqueConstraint("campaign", "key", name="item_once_a_campaign"),
            models.CheckConstraint(condition=Q(taken__lte=F("quota")), name="quota_is_kept"),
            models.CheckConstraint(
                condition=Q(use__in=("study", "gold", "practice")), name="use_is_known"
            ),
        ]
        indexes = [
            models.Index(
                "campaign", "position", condition=Q(taken__lt=F("quota")), name="item_with_a_place"
            ),
            models.Index(
                "campaign", "use", "position", condition=~Q(use="study"), name="item_known_before"
            ),
        ]

    def __str__(self) -> str:
        return self.key


class Unit(models.Model):
    """What gets a value: a kind and a stable key. `name` is what responses call it."""

    item = models.ForeignKey(Item, models.CASCADE, related_name="units")
    kind = models.CharField(max_length=20)
    key = models.CharField(max_length=MAX_KEY)
    name = models.CharField(max_length=MAX_KEY + 21)
    position = models.PositiveIntegerField()

    class Meta:
        ordering = ("item", "position")
        constraints = [
            models.UniqueConstraint("item", "kind", "key", name="unit_once_an_item"),
            models.UniqueConstraint("item", "name", name="unit_name_once_an_item"),
        ]

    def __str__(self) -> str:
        return self.key


class Assignment(models.Model):
    """This rater is asked these units of this item. For a judge it is the row of the ledger.

    `asked` are unit names and `shown` fields of texts, each in the order in which this rater sees
    them (none: the item's own order). A judge that works unit by unit
    has one assignment for each, told apart by `scope`; a person has one for the item, in one of
    its places (`slot`, from 1; none for imports and judges), and holds it until `held_until` where
    the campaign sets a time. `missing` holds reasons by unit name and variable, where only a part
    of an answer is missing.
    """

    class Status(models.TextChoices):
        OPEN = "open"
        LEASED = "leased"
        DONE = "done"
        FAILED = "failed"
        DECLINED = "declined"
        CANCELLED = "cancelled"

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    item = models.ForeignKey(Item, models.CASCADE, related_name="assignments")
    rater = models.ForeignKey(Rater, models.PROTECT, related_name="assignments")
    replicate = models.PositiveSmallIntegerField(default=0)
    scope = models.CharField(max_length=MAX_KEY + 21, default="", blank=True)
    asked = models.JSONField()
    shown = models.JSONField(default=list)
    slot = models.PositiveSmallIntegerField(null=True)
    status = models.CharField(max_length=9, choices=Status, default=Status.OPEN)
    reason = models.CharField(max_length=20, default="", blank=True)
    missing = models.JSONField(default=dict)
    lease = models.UUIDField(null=True)
    held_until = models.DateTimeField(null=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    seconds = models.FloatField(null=True)
    assisted_by = models.CharField(max_length=150, default="", blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                "item", "rater", "replicate", "scope", name="a_rater_is_asked_once"
            ),
            models.UniqueConstraint(
                "item", "slot", condition=Q(slot__isnull=False), name="a_place_holds_one_person"
            ),
            models.CheckConstraint(
                condition=Q(slot__isnull=True) | Q(slot__gte=1, replicate=0, scope=""),
                name="a_place_is_for_a_person_once",
            ),
        ]
        indexes = [
            models.Index("rater", "status", name="assignments_of_a_rater"),
            models.Index(
                "held_until", condition=Q(held_until__isnull=False), name="places_held_for_a_time"
            ),
            models.Index(
                "item", condition=Q(status="open", slot__isnull=False), name="places_held"
            ),
        ]

    def __str__(self) -> str:
        return str(self.uid)

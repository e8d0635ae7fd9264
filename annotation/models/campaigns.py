"""Campaigns: their items and units, samples, assignments, gold answers, guidelines and counts."""

from __future__ import annotations

import uuid
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from annotation.models.people import Rater
from annotation.models.protocols import ProtocolFile
from datasets.models import Batch, KeyPoint, Owned, Passage, Query, Report, Share

MAX_KEY = 600
"""Room for two ids and their separator."""
MAX_WHAT = 40
ROLES = ("development", "evaluation", "audit")
REVOKED = "revoked"
"""The reason of a cancelled assignment whose person revoked their consent."""
CARRIED = "carried"
"""The scope of a person's assignment that holds the carried part of an item's answer."""


class Campaign(Owned):
    """One protocol over one batch, with its design and its settings.

    The protocol is one of the site, or that of a team's `protocol_file`. `options` are those of
    `create_campaign`. The settings may change while the campaign runs;
    `annotation.campaigns.settings` declares each of them.

    An archived campaign is closed, and lists show it only on request.

    A campaign that `continues` another one carried its answers over, as far as texts and questions
    are the same.

    With a named `pool`, only its members can take part; with an open one, everybody in its team
    can. A lease lasts `hold_minutes` after the last sign of life (None: without end). Each person
    takes at most `items_per_person` items (None: no limit).

    `consent_version` is the version of the consent text that people agree to before their first
    item (0: none). With `trims_guideline`, people and judges see only those parts of the protocol's
    guideline that are about what the campaign asks. With shares (`has_shares`), a person with a
    share gets only the items that are allotted to them. While it `has_plan`, a plan (`TrustPlan`)
    draws the queries that people are asked about.
    """

    class Pool(models.TextChoices):
        NAMED = "named", "Named: only members take part, and only they and its managers see it"
        OPEN = "open", "Open: every account that may label takes part"

    class Revoked(models.TextChoices):
        KEEP = "keep"
        DELETE = "delete"

    class TextView(models.TextChoices):
        SOURCE = "source"
        RENDERED = "rendered"

    name = models.CharField(max_length=200, unique=True)
    protocol = models.CharField(max_length=60)
    protocol_version = models.CharField(max_length=20)
    protocol_file = models.ForeignKey(
        ProtocolFile, models.PROTECT, to_field="uid", null=True, related_name="campaigns"
    )
    batch = models.ForeignKey(Batch, models.PROTECT, related_name="campaigns")
    raters_per_item = models.PositiveSmallIntegerField(default=1)
    overlap = models.FloatField(default=1.0)
    human_share = models.FloatField(default=1.0)
    options = models.JSONField(default=dict)
    seed = models.PositiveIntegerField(default=0)
    is_open = models.BooleanField(default=True)
    is_archived = models.BooleanField(default=False, db_default=False)
    deadline = models.DateTimeField(null=True, blank=True)
    language = models.CharField(max_length=35, default="", db_default="", blank=True)
    text_view = models.CharField(
        max_length=8, choices=TextView, default=TextView.SOURCE, db_default=TextView.SOURCE.value
    )
    guideline = models.TextField(default="", db_default="", blank=True)
    gold_every = models.PositiveSmallIntegerField(default=0, db_default=0)
    registered_queries = models.PositiveIntegerField(default=0, db_default=0)
    practice_of = models.ForeignKey("self", models.PROTECT, null=True, related_name="+")
    continues = models.ForeignKey("self", models.PROTECT, null=True, related_name="+")
    qualify = models.FloatField(null=True, blank=True)
    pool = models.CharField(max_length=5, choices=Pool, default=Pool.NAMED)
    hold_minutes = models.PositiveIntegerField(null=True)
    items_per_person = models.PositiveIntegerField(null=True)
    consent_version = models.PositiveIntegerField(default=0, db_default=0)
    revoked = models.CharField(
        max_length=6, choices=Revoked, default=Revoked.KEEP, db_default=Revoked.KEEP.value
    )
    background = models.JSONField(default=list, db_default=models.Value([], models.JSONField()))
    pay = models.CharField(max_length=60, default="", db_default="", blank=True)
    has_shares = models.BooleanField(default=False, db_default=False)
    has_plan = models.BooleanField(default=False, db_default=False)
    trims_guideline = models.BooleanField(default=False, db_default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("name",)
        constraints = [
            models.CheckConstraint(condition=Q(pool__in=("open", "named")), name="pool_is_known"),
            models.CheckConstraint(
                condition=Q(revoked__in=("keep", "delete")), name="fate_of_answers_is_known"
            ),
            models.CheckConstraint(
                condition=Q(is_open=False) | Q(is_archived=False), name="an_archived_one_is_closed"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def of_same_protocol(self) -> Q:
        """The condition that a campaign has this one's protocol, in any version.

        Two teams may have protocols of one name, which are not the same.
        """
        of = self.protocol_file and self.protocol_file.team_id
        return Q(protocol=self.protocol, protocol_file__team=of)

    @property
    def asks_people(self) -> bool:
        """Whether people are asked at all, and not only judges."""
        return self.raters_per_item > 0

    @property
    def takes_answers(self) -> bool:
        """Whether the campaign is open and its deadline has not passed, by the server's clock."""
        return self.is_open and (self.deadline is None or timezone.now() < self.deadline)

    def save(self, *args: Any, **kwargs: Any) -> None:
        if self.team_id is None:
            self.team_id = self.batch.team_id
        super().save(*args, **kwargs)


class CampaignShare(Share):
    of = models.ForeignKey(Campaign, models.CASCADE, related_name="shares")

    class Meta(Share.Meta):
        constraints = [models.UniqueConstraint("of", "team", name="a_campaign_is_shared_once")]


class Rendering(models.Model):
    """The HTML of a text in Markdown, rendered by a job (`annotation.campaigns.text_views`).

    `digest` is of the renderer's version and the text. `html` is compressed by zlib; None if the
    text is shown as it was written, for the `reason`.
    """

    digest = models.CharField(max_length=64, primary_key=True)
    version = models.CharField(max_length=16, db_index=True)
    html = models.BinaryField(null=True)
    reason = models.CharField(max_length=8, default="")

    def __str__(self) -> str:
        return self.digest


class Item(models.Model):
    """What a rater sees at once.

    `quota` is the number of slots. `taken` counts the slots in use, and the database refuses more
    than `quota`. `probability` is the chance with which the design sampled the item.

    `shown_passages` are the ids of the passages that the campaign's option kept when the item was
    created (None: all). `passage_uses` are the codes of their uses at that time, by id. Later
    labels change neither. `drawn` are the names of the sampled units, if all people are asked the
    same sample and it depends on another campaign, or judges are asked every unit (None: the item
    has no other units, or they are sampled for each rater).
    `words` is the number of words in the texts shown (None: not counted).

    Answers to items with another `use` than study are left out of agreement and estimates, since
    gold and practice items have gold answers.
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
    """What gets a value: a kind and a stable key. Responses refer to it by `name`."""

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
    """One unit of work: this rater is asked these units of this item.

    `asked` are unit names and `shown` fields of texts, in the order in which this rater sees them
    (empty: the item's own order). A person has one assignment per item, in one of its slots
    (`slot`, from 1; None for imports and judges), with a lease until `held_until` if the campaign
    sets a time. A judge that works unit by unit has one assignment per unit, distinguished by
    `scope`. If a part of an answer is missing, `missing` has the reasons by unit name and variable.
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


class QuerySampling(models.Model):
    """The sampling of one query: whether people are asked about it, and its split.

    `kind` is all, simple (without replacement), chosen (not by chance) or none (only judges are
    asked). `probability` is the chance with which people are asked about the query, and
    `role_probability` the chance with which it got its split, the `role`. Prompts and examples may
    be tuned on development queries, but not on evaluation queries. Audit queries are left aside.
    """

    campaign = models.ForeignKey(Campaign, models.CASCADE, related_name="query_samplings")
    query = models.ForeignKey(Query, models.PROTECT, related_name="+")
    kind = models.CharField(max_length=10)
    seed = models.PositiveIntegerField()
    wave = models.PositiveSmallIntegerField(default=1)
    probability = models.FloatField()
    drawn = models.BooleanField()
    role = models.CharField(max_length=11, default="evaluation")
    role_probability = models.FloatField(default=1.0)

    class Meta:
        db_table = "annotation_querydraw"
        ordering = ("campaign", "query__position")
        constraints = [
            models.UniqueConstraint("campaign", "query", name="a_query_is_drawn_once"),
            models.CheckConstraint(condition=Q(role__in=ROLES), name="role_of_a_query_is_known"),
        ]

    def __str__(self) -> str:
        return f"{self.query_id}: {'drawn' if self.drawn else 'left out'}, {self.role}"


class UnitSampling(models.Model):
    """The sampling of one unit: whether it is asked, given that its item is.

    `kind` is all, simple, turns, own or same. Turns alternate between two strata once another
    campaign is done; until then `drawn` and `probability` are unknown, and the wave is 2. With own,
    each rater has a separate sample, which is stored with the assignment. A unit of the kind same
    is not asked, since it takes the labels of an equal one.
    """

    item = models.ForeignKey(Item, models.CASCADE, related_name="unit_samplings")
    unit_kind = models.CharField(max_length=20)
    key = models.CharField(max_length=MAX_KEY)
    position = models.PositiveIntegerField()
    kind = models.CharField(max_length=6)
    seed = models.PositiveIntegerField()
    wave = models.PositiveSmallIntegerField(default=1)
    stratum = models.CharField(max_length=3, default="", db_default="", blank=True)
    probability = models.FloatField(null=True)
    drawn = models.BooleanField(null=True)

    class Meta:
        db_table = "annotation_unitdraw"
        ordering = ("item", "position")
        constraints = [
            models.UniqueConstraint("item", "position", name="a_unit_is_drawn_once"),
        ]

    def __str__(self) -> str:
        return f"{self.key}: {self.kind}"


class GoldAnswer(models.Model):
    """A gold answer: the correct value of a variable of a unit, with an optional reason."""

    unit = models.ForeignKey(Unit, models.CASCADE, related_name="gold_answers")
    variable = models.CharField(max_length=40)
    value = models.CharField(max_length=255)
    reason = models.TextField(default="", blank=True)

    class Meta:
        db_table = "annotation_knownanswer"
        constraints = [
            models.UniqueConstraint("unit", "variable", name="one_known_answer_a_variable"),
        ]

    def __str__(self) -> str:
        return f"{self.variable}={self.value}"


class Admission(models.Model):
    """The admission of a person to a campaign without the pass mark, with a researcher's reason."""

    campaign = models.ForeignKey(Campaign, models.CASCADE, related_name="admissions")
    rater = models.ForeignKey(Rater, models.CASCADE, related_name="admissions")
    reason = models.TextField()
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint("campaign", "rater", name="a_person_is_let_in_once"),
        ]

    def __str__(self) -> str:
        return f"{self.rater_id} in {self.campaign_id}"


class GuidelineVersion(models.Model):
    """One version of a campaign's own guideline.

    `digest` is a part of `Response.basis`, so each answer shows which version it followed.
    """

    campaign = models.ForeignKey(Campaign, models.CASCADE, related_name="guidelines")
    version = models.PositiveIntegerField()
    text = models.TextField()
    digest = models.CharField(max_length=12)
    note = models.CharField(max_length=200, default="", blank=True)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ("campaign", "version")
        constraints = [
            models.UniqueConstraint("campaign", "version", name="guidelines_are_numbered_once"),
        ]

    def __str__(self) -> str:
        return f"{self.campaign_id} v{self.version}"


class Tally(models.Model):
    """A change in a count of a campaign. The count is the sum of its rows.

    Only the triggers of `annotation.counters` write these rows. `rater` is None for counts that
    belong to no rater. The foreign keys have no constraints, because checking them would lock rows
    that people's saves wait for. Deleting a campaign brings its counts to 0.
    """

    campaign = models.ForeignKey(
        Campaign, models.DO_NOTHING, related_name="tallies", db_constraint=False, db_index=False
    )
    rater = models.ForeignKey(
        Rater, models.DO_NOTHING, null=True, related_name="+", db_constraint=False, db_index=False
    )
    what = models.CharField(max_length=MAX_WHAT)
    number = models.IntegerField()

    class Meta:
        indexes = [models.Index("campaign", "what", "rater", name="tallies_of_a_campaign")]

    def __str__(self) -> str:
        return f"{self.campaign_id}: {self.number} {self.what}"

"""All models of annotation: campaigns and items, people, assignments, answers, labels, counters."""

from __future__ import annotations

import secrets
import uuid
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AbstractUser
from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.crypto import salted_hmac
from knox.models import AuthToken

from datasets.models import (
    Batch,
    KeyPoint,
    Owned,
    Passage,
    Query,
    Report,
    SeveralTeamsError,
    Share,
    TeamMember,
    only_team,
)

LETTERS = "23456789abcdefghjkmnpqrstuvwxyz"
"""Letters and digits that are not confused with one another."""
MAX_KEY = 600
"""Room for two ids and their separator."""
MAX_WHAT = 40
MAX_REASON = 500
ROLES = ("development", "evaluation", "audit")
CARRIED = "carried"
"""The scope of a person's assignment that holds the carried part of an item's answer."""


class User(AbstractUser):
    """An account with one of three roles, which limits its role in every campaign.

    A guest came by a link for one campaign, has no password, and sees nothing else. Increasing
    `sessions` ends all sessions of the account.
    """

    class Role(models.TextChoices):
        ANNOTATOR = "annotator"
        RESEARCHER = "researcher"
        ADMIN = "admin"

    role = models.CharField(max_length=10, choices=Role, default=Role.ANNOTATOR)
    is_guest = models.BooleanField(default=False)
    sessions = models.PositiveIntegerField(default=0)

    class Meta(AbstractUser.Meta):
        constraints = [
            models.CheckConstraint(
                condition=models.Q(role__in=("annotator", "researcher", "admin")),
                name="role_is_known",
            )
        ]

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Save the account. A new password deletes its tokens, in case the old one leaked.

        A new account joins the site's only team; if there are several, somebody has to add it.
        """
        # Django keeps a new password here until it is saved. A rehashed password is not new.
        is_new = getattr(self, "_password", None) is not None and self.pk is not None
        joins = self._state.adding
        super().save(*args, **kwargs)
        if is_new:
            AuthToken.objects.filter(user=self).delete()
        if joins:
            join_only_team(self)

    def _get_session_auth_hash(self, secret: str | None = None) -> str:
        """Return the hash that keeps a session valid. A new password or role ends all sessions."""
        what = f"{self.password}\0{self.role}\0{self.sessions}"
        return salted_hmac("annotation.sessions", what, secret, algorithm="sha256").hexdigest()


class LogInCount(models.Model):
    """Wrong passwords or codes for an account, by where they came from, or all of an address.

    `account` and `source` are digests (`annotation.people.login_limits`), since people type
    passwords into the wrong field, and since addresses are nobody's business. A row of the kind
    `known` counts nothing: it is an address from which the account has logged in.
    """

    class Kind(models.TextChoices):
        ADDRESS = "address"
        DEVICE = "device"
        ACCOUNT = "account"
        NETWORK = "network"
        CODE = "code"
        CODES = "codes"
        KNOWN = "known"

    kind = models.CharField(max_length=7, choices=Kind)
    account = models.CharField(max_length=32, default="", blank=True)
    source = models.CharField(max_length=32, default="", blank=True)
    wrong = models.PositiveIntegerField(default=0)
    since = models.DateTimeField(default=timezone.now)
    last_at = models.DateTimeField(default=timezone.now, db_index=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                "kind", "account", "source", name="one_count_of_log_ins_a_source"
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind}: {self.wrong}"


def join_only_team(user: User) -> None:
    """Let an account join the site's only team: its first researcher as the owner.

    Further researchers manage it, too. Guests join no team, nor do admins, who manage every team.
    """
    if user.is_guest or user.role == User.Role.ADMIN:
        return
    try:
        team = only_team()
    except SeveralTeamsError:
        return
    role = TeamMember.Role.MEMBER
    if user.role == User.Role.RESEARCHER:
        owners = TeamMember.objects.filter(team=team, role=TeamMember.Role.OWNER)
        role = TeamMember.Role.MANAGER if owners.exists() else TeamMember.Role.OWNER
    TeamMember.objects.update_or_create(team=team, user=user, defaults={"role": role})


class Rater(models.Model):
    """A rater: a person, a judge, a trial, or a reference. Exports show `name`.

    The name of a person with an account is a pseudonym. A `trial` is a judge under a perturbation,
    such as a control, an attack or a repetition. Its answers describe the judge alone, and are in
    no agreement and no export of labels.
    """

    class Kind(models.TextChoices):
        HUMAN = "human"
        JUDGE = "judge"
        REFERENCE = "reference"
        TRIAL = "trial"

    name = models.CharField(max_length=150, unique=True)
    kind = models.CharField(max_length=9, choices=Kind, default=Kind.HUMAN)
    user = models.OneToOneField(User, models.SET_NULL, null=True, related_name="rater")

    class Meta:
        ordering = ("name",)
        constraints = [
            models.CheckConstraint(
                condition=models.Q(user=None) | models.Q(kind="human"),
                name="accounts_belong_to_people",
            )
        ]

    def __str__(self) -> str:
        return self.name


def rater_of(user: User) -> Rater:
    """Return the rater of an account. It is created under a pseudonym when first needed."""
    return Rater.objects.get_or_create(user=user, defaults={"name": new_pseudonym()})[0]


def new_pseudonym() -> str:
    """Return an unused name that reveals nothing about the person."""
    while True:
        name = "person-" + "".join(secrets.choice(LETTERS) for _ in range(6))
        if not Rater.objects.filter(name=name).exists():
            return name


class Campaign(Owned):
    """One protocol over one batch, with its design and its settings.

    `options` are those of `create_campaign`. The settings may change while the campaign runs:
    `deadline`, `language`, `guideline` (empty: the protocol's), `gold_every` (a gold item comes
    after this many items; 0: never), `practice_of` (the campaign whose practice people take first)
    and `qualify` (its pass mark).

    A campaign that `continues` another one carried its answers over, as far as texts and questions
    are the same.

    With an open `pool`, everybody in its team can take part; with a named one, only its members
    can. A lease lasts `hold_minutes` after the last sign of life (None: without end). Each person
    takes at most `items_per_person` items (None: no limit).
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
    continues = models.ForeignKey("self", models.PROTECT, null=True, related_name="+")
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
        """Whether the campaign is open and its deadline is not past, by the server's clock."""
        return self.is_open and (self.deadline is None or timezone.now() < self.deadline)

    def save(self, *args: Any, **kwargs: Any) -> None:
        if self.team_id is None:
            self.team_id = self.batch.team_id
        super().save(*args, **kwargs)


class CampaignShare(Share):
    of = models.ForeignKey(Campaign, models.CASCADE, related_name="shares")

    class Meta(Share.Meta):
        constraints = [models.UniqueConstraint("of", "team", name="a_campaign_is_shared_once")]


class Item(models.Model):
    """What a rater sees at once.

    `quota` is the number of slots. `taken` counts the slots in use, and the database refuses more
    than `quota`. `probability` is the chance with which the design sampled the item.

    `shown_passages` are the ids of the passages that the campaign's option left when the item was
    created (None: all). `passage_uses` are the codes of their uses at that time, by id. Later
    labels change neither. `drawn` are the names of the sampled units, if all raters are asked the
    same sample and it depends on another campaign (None: not sampled, or sampled for each rater).
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

    `kind` is all or simple (without replacement). `probability` is the chance with which people are
    asked about the query, and `role_probability` the chance with which it got its split, the
    `role`. Prompts and examples may be tuned on development queries, but not on evaluation queries.
    Audit queries are left aside.
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

    `kind` is all, simple, turns or own. Turns alternate between two strata once another campaign is
    done; until then `drawn` and `probability` are unknown, and the wave is 2. With own, each rater
    has a sample that is stored with the assignment.
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


class Membership(models.Model):
    """An account's role in one campaign, limited by the account's own role.

    A membership that has ended keeps its person out of the campaign, even if its pool is open.
    """

    class Role(models.TextChoices):
        ANNOTATOR = "annotator"
        ADJUDICATOR = "adjudicator"
        RESEARCHER = "researcher"

    campaign = models.ForeignKey(Campaign, models.CASCADE, related_name="memberships")
    user = models.ForeignKey(User, models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=11, choices=Role, default=Role.ANNOTATOR)
    by = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ("campaign", "user")
        constraints = [
            models.UniqueConstraint("campaign", "user", name="one_role_a_campaign"),
            models.CheckConstraint(
                condition=Q(role__in=("annotator", "adjudicator", "researcher")),
                name="campaign_role_is_known",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user_id} is {self.role} in {self.campaign_id}"


class Invitation(models.Model):
    """A link that invites one person, once. Only the digest of its key is stored.

    `role` is the role of the new account, and `campaign_role` its role in the campaign, if the
    invitation names one. `note` says who is invited. No export contains it, and it is erased with
    the account.
    """

    digest = models.CharField(max_length=64, unique=True)
    role = models.CharField(max_length=10, choices=User.Role, default=User.Role.ANNOTATOR)
    campaign = models.ForeignKey(Campaign, models.CASCADE, null=True, related_name="invitations")
    campaign_role = models.CharField(
        max_length=11, choices=Membership.Role, default=Membership.Role.ANNOTATOR
    )
    note = models.CharField(max_length=150, default="", blank=True)
    by = models.ForeignKey(User, models.SET_NULL, null=True, related_name="invitations")
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)
    used_by = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ("-id",)
        constraints = [
            models.CheckConstraint(
                condition=Q(used_at=None) | Q(revoked_at=None), name="used_or_revoked"
            ),
            models.CheckConstraint(
                condition=Q(used_by=None) | Q(used_at__isnull=False), name="used_by_at_a_time"
            ),
        ]

    def __str__(self) -> str:
        return f"invitation {self.pk}, {self.state}"

    @property
    def state(self) -> str:
        """One of open, used, expired and revoked."""
        if self.used_at:
            return "used"
        if self.revoked_at:
            return "revoked"
        return "open" if timezone.now() < self.expires_at else "expired"


class Exclusion(models.Model):
    """The exclusion of a rater from a campaign's statistics, with its reason. Labels stay.

    An exclusion that was undone is kept as a record.
    """

    campaign = models.ForeignKey(Campaign, models.CASCADE, related_name="exclusions")
    rater = models.ForeignKey(Rater, models.CASCADE, related_name="exclusions")
    reason = models.CharField(max_length=MAX_REASON)
    by = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)
    undone_by = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")
    undone_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ("id",)
        constraints = [
            models.UniqueConstraint(
                "campaign", "rater", condition=Q(undone_at=None), name="excluded_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.rater_id} out of {self.campaign_id}: {self.reason}"


class ProlificStudy(models.Model):
    """A campaign as a study on Prolific: its id, its completion code, and the number of people.

    If it is `signed`, people come by links that Prolific has signed, and by no others.
    """

    campaign = models.OneToOneField(Campaign, models.CASCADE, related_name="prolific")
    study_id = models.CharField(max_length=64)
    completion_code = models.CharField(max_length=64)
    most_people = models.PositiveSmallIntegerField()
    signed = models.BooleanField(default=False)

    def __str__(self) -> str:
        return self.study_id


class Participant(models.Model):
    """A person from Prolific, with an account without a password.

    `pid` and `session_id` are Prolific's, and no export contains them. A person who returned the
    study or ran out of time no longer counts towards its number of people. Until `open_until` the
    person may come in another browser, once, without Prolific's signature.
    """

    class Status(models.TextChoices):
        ACTIVE = "active"
        RETURNED = "returned"
        TIMED_OUT = "timed-out"

    study = models.ForeignKey(ProlificStudy, models.CASCADE, related_name="participants")
    user = models.OneToOneField(User, models.CASCADE, related_name="participant")
    pid = models.CharField(max_length=64)
    session_id = models.CharField(max_length=64)
    status = models.CharField(max_length=9, choices=Status, default=Status.ACTIVE)
    created_at = models.DateTimeField(default=timezone.now)
    open_until = models.DateTimeField(null=True)

    class Meta:
        ordering = ("id",)
        constraints = [
            models.UniqueConstraint("study", "pid", name="a_person_once_a_study"),
            models.CheckConstraint(
                condition=Q(status__in=("active", "returned", "timed-out")),
                name="participant_status_is_known",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.pid}, {self.status}"


class Draft(models.Model):
    """A person's unfinished answer. Each save increases `version`, so that stale saves conflict."""

    assignment = models.OneToOneField(Assignment, models.CASCADE, related_name="draft")
    payload = models.JSONField()
    version = models.PositiveIntegerField(default=1)
    saved_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"{self.assignment_id} v{self.version}"


class Response(models.Model):
    """A validated answer. It never changes: a newer revision replaces it as the current one.

    `key` is the client's own key for the save, so that an answer sent twice is stored once. `basis`
    has the digests of what the rater was shown (`annotation.provenance`). It is None for imports.
    `exposed` says whether the person could see others' answers to any of the units beforehand, with
    an `Exposure` for each look at them. It is None if that is unknown: for answers of files and
    judges, and of people before there was a ledger.
    """

    assignment = models.ForeignKey(Assignment, models.CASCADE, related_name="responses")
    revision = models.PositiveIntegerField(default=1)
    current = models.BooleanField(default=True)
    payload = models.JSONField()
    comment = models.TextField(default="", blank=True)
    door = models.CharField(max_length=6)
    key = models.CharField(max_length=64, null=True)  # noqa: DJ001 - null is unique many times
    created_at = models.DateTimeField(default=timezone.now)
    basis = models.CharField(max_length=38, null=True)  # noqa: DJ001 - unknown is not empty
    exposed = models.BooleanField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                "assignment", condition=Q(current=True), name="one_current_response"
            ),
            models.UniqueConstraint("assignment", "revision", name="revisions_are_numbered_once"),
            models.UniqueConstraint("assignment", "key", name="a_save_is_stored_once"),
            models.CheckConstraint(
                condition=Q(door__in=("page", "api", "judge", "parser", "import")),
                name="door_is_known",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.assignment_id} r{self.revision}"


class CarriedAnswer(models.Model):
    """A response that was carried over from another campaign, in which it was given.

    `origin` is the response there, and `campaign` the name of that campaign. They have their own
    table, since most responses have no origin.
    """

    response = models.OneToOneField(Response, models.CASCADE, related_name="carried")
    origin = models.ForeignKey(Response, models.SET_NULL, null=True, related_name="+")
    campaign = models.CharField(max_length=200)

    def __str__(self) -> str:
        return f"{self.response_id} from {self.campaign}"


class Label(models.Model):
    """One value of one unit. `score` is a judge's probability or expected rating."""

    response = models.ForeignKey(Response, models.CASCADE, related_name="labels")
    unit = models.ForeignKey(Unit, models.PROTECT, related_name="labels")
    variable = models.CharField(max_length=40)
    value = models.CharField(max_length=255)
    score = models.FloatField(null=True)
    meta = models.JSONField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint("response", "unit", "variable", name="one_label_a_variable"),
        ]

    def __str__(self) -> str:
        return f"{self.variable}={self.value}"


class Span(models.Model):
    """One range of evidence, in code points, with `end` exclusive.

    `quote` has the text's own words. If the quote was not found, both ends are None and `quote` has
    the words as they were sent.
    """

    label = models.ForeignKey(Label, models.CASCADE, related_name="spans")
    field = models.CharField(max_length=300)
    start = models.PositiveIntegerField(null=True)
    end = models.PositiveIntegerField(null=True)
    quote = models.TextField()
    method = models.CharField(max_length=10, default="exact")

    class Meta:
        ordering = ("label", "id")
        constraints = [
            models.CheckConstraint(
                # A comparison with NULL would pass, so both ends are checked for NULL by name.
                condition=Q(start__isnull=True, end__isnull=True)
                | Q(start__isnull=False, end__isnull=False, start__lt=models.F("end")),
                name="a_span_has_both_ends_or_none",
            )
        ]

    def __str__(self) -> str:
        return self.quote


class Decision(models.Model):
    """A decision on one unit. Its label, evidence, reason and time are those of its response.

    `by` is the adjudicator's rater, which keeps its pseudonym if the account is deleted. A decision
    that was changed is kept with its superseded response.
    """

    response = models.OneToOneField(Response, models.CASCADE, related_name="decision")
    unit = models.ForeignKey(Unit, models.CASCADE, related_name="decisions")
    by = models.ForeignKey(Rater, models.PROTECT, related_name="decisions")

    class Meta:
        ordering = ("unit", "response")

    def __str__(self) -> str:
        return f"{self.unit_id} by {self.by_id}"


class Look(models.Model):
    """What an account could see of others' answers at one moment: one row of the ledger.

    `scope` names the items or units by primary keys (`{"items": [...]}`, `{"units": [...]}`), or is
    None for the whole campaign. With a `rater`, only answers of that rater were shown. `number` is
    how many units the answers or figures were about, and `upto` the newest response at the time:
    no later one was shown. Only looks that are `exposing` mark later answers; the others showed
    figures over so many units that they say nothing about one. `digest` covers the scope, so that
    the same look without newer answers is one row.
    """

    user = models.ForeignKey(User, models.SET_NULL, null=True, related_name="looks")
    campaign = models.ForeignKey(Campaign, models.CASCADE, related_name="looks")
    kind = models.CharField(max_length=20)
    scope = models.JSONField(null=True)
    rater = models.ForeignKey(Rater, models.CASCADE, null=True, related_name="+")
    number = models.PositiveIntegerField(null=True)
    exposing = models.BooleanField()
    upto = models.BigIntegerField()
    digest = models.CharField(max_length=16)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ("id",)
        constraints = [
            models.UniqueConstraint(
                "user", "campaign", "kind", "digest", "upto", name="a_look_is_recorded_once"
            )
        ]
        indexes = [
            models.Index("user", "campaign", condition=Q(exposing=True), name="looks_that_expose")
        ]

    def __str__(self) -> str:
        return f"{self.user_id} {self.kind} {self.campaign_id}"


class Exposure(models.Model):
    """A look that an answer came after: the evidence for `Response.exposed`.

    `units` are the names of the answered units to which the look showed others' answers. `kind` and
    `at` are those of the look, in case its campaign is deleted.
    """

    response = models.ForeignKey(Response, models.CASCADE, related_name="exposures")
    look = models.ForeignKey(Look, models.SET_NULL, null=True, related_name="exposures")
    kind = models.CharField(max_length=20)
    at = models.DateTimeField()
    units = models.JSONField()

    class Meta:
        ordering = ("response", "id")
        constraints = [
            models.UniqueConstraint("response", "look", name="a_look_exposes_an_answer_once")
        ]

    def __str__(self) -> str:
        return f"{self.response_id} after {self.kind}"

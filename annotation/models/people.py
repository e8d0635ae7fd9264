"""People: accounts, raters, roles in campaigns, invitations, exclusions, participants."""

from __future__ import annotations

import secrets
from functools import cache
from typing import Any, ClassVar

from django.contrib.auth.models import AbstractUser, UserManager
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.crypto import salted_hmac
from knox.models import AuthToken

from datasets.db.prepared import Parameter, PreparedModels, columns_of
from datasets.models import SeveralTeamsError, Team, TeamMember, only_team

LETTERS = "23456789abcdefghjkmnpqrstuvwxyz"
"""Letters and digits that are not confused with one another."""
MAX_REASON = 500


class AccountManager(UserManager["User"]):
    """Looks up the account of each request by SQL that is compiled once."""

    use_in_migrations = False

    def get(self, *conditions: Any, **fields: Any) -> User:
        if conditions or fields.keys() != {"pk"}:
            return super().get(*conditions, **fields)
        found = _account_by_key().first(pk=fields["pk"])
        if found is None:
            raise self.model.DoesNotExist("no account has this key")
        return found[0]


@cache
def _account_by_key() -> PreparedModels[User]:
    return PreparedModels(lambda: User.objects.filter(pk=Parameter("pk")), {"": columns_of(User)})


class User(AbstractUser):
    """An account with one of three roles, which limits its role in every campaign.

    `language` is that of an annotator's pages; empty follows the browser. A guest came by a link
    for one campaign, has no password, and sees nothing else. Increasing `sessions` ends all
    sessions of the account.
    """

    class Role(models.TextChoices):
        ANNOTATOR = "annotator"
        RESEARCHER = "researcher"
        ADMIN = "admin"

    role = models.CharField(max_length=10, choices=Role, default=Role.ANNOTATOR)
    is_guest = models.BooleanField(default=False)
    language = models.CharField(max_length=10, default="", db_default="", blank=True)
    sessions = models.PositiveIntegerField(default=0)

    objects: ClassVar[AccountManager] = AccountManager()

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
    """Counts of wrong passwords or codes: for an account by source, or for an address.

    `account` and `source` are digests (`annotation.people.login_limits`), since people type
    passwords into the wrong field, and since addresses are personal. A row of the kind `known`
    counts nothing: it is an address from which the account has logged in.
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

    Further researchers manage it, too. Guests join no team. Neither do admins, who manage every
    team.
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


def pseudonym_of_address(address: str, campaign: int) -> str:
    """Return the name under which the labels of an e-mail address are imported into a campaign.

    It is the same for every file. Without the site's secret nobody can tell whose it is, also not
    by trying addresses, and another campaign has another name for the same address.
    """
    purpose = f"annotation.imported-rater.{campaign}"
    digest = salted_hmac(purpose, address.casefold(), algorithm="sha256").digest()
    return "person-" + "".join(LETTERS[byte % len(LETTERS)] for byte in digest[:10])


class Membership(models.Model):
    """An account's role in one campaign, limited by the account's own role.

    A membership that has ended keeps its person out of the campaign, even if its pool is open.
    """

    class Role(models.TextChoices):
        ANNOTATOR = "annotator"
        ADJUDICATOR = "adjudicator"
        RESEARCHER = "researcher"

    campaign = models.ForeignKey("Campaign", models.CASCADE, related_name="memberships")
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
    invitation names one. The account becomes a member of the `team`, if there is one. `note` says
    who is invited. No export contains it, and it is erased with the account.
    """

    digest = models.CharField(max_length=64, unique=True)
    role = models.CharField(max_length=10, choices=User.Role, default=User.Role.ANNOTATOR)
    campaign = models.ForeignKey("Campaign", models.CASCADE, null=True, related_name="invitations")
    campaign_role = models.CharField(
        max_length=11, choices=Membership.Role, default=Membership.Role.ANNOTATOR
    )
    team = models.ForeignKey(Team, models.CASCADE, null=True, related_name="+")
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

    campaign = models.ForeignKey("Campaign", models.CASCADE, related_name="exclusions")
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

    campaign = models.OneToOneField("Campaign", models.CASCADE, related_name="prolific")
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

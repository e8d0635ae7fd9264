"""Who takes part in a campaign, and how they came in: members, invitations, Prolific, exclusions."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils import timezone

from annotation.models.campaigns import Campaign
from annotation.models.people import Rater, User

LONGEST_REASON = 500


class Membership(models.Model):
    """An account's role in one campaign. The account's own role is the most that it can be.

    A row that has ended stays: it keeps its person out of a campaign that is open to everybody.
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
    """A link that lets one person in, once. Only the digest of its key is kept.

    `role` is that of the account that it makes, `campaign_role` that in the campaign, if it names
    one. `note` says whom it is for; it leaves the site in no export, and goes with the account.
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
        """open, used, expired or revoked."""
        if self.used_at:
            return "used"
        if self.revoked_at:
            return "revoked"
        return "open" if timezone.now() < self.expires_at else "expired"


class Exclusion(models.Model):
    """A rater whose labels count in no statistic of a campaign, and why. Labels stay as they are.

    What was undone stays, too: it was decided once, and somebody may ask.
    """

    campaign = models.ForeignKey(Campaign, models.CASCADE, related_name="exclusions")
    rater = models.ForeignKey(Rater, models.CASCADE, related_name="exclusions")
    reason = models.CharField(max_length=LONGEST_REASON)
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
    """A campaign as a study on Prolific: its id there, the code at the end, and how many come."""

    campaign = models.OneToOneField(Campaign, models.CASCADE, related_name="prolific")
    study_id = models.CharField(max_length=64)
    completion_code = models.CharField(max_length=64)
    most_people = models.PositiveSmallIntegerField()

    def __str__(self) -> str:
        return self.study_id


class Participant(models.Model):
    """One person of a study on Prolific, behind an account without a password.

    `pid` and `session_id` are Prolific's; no export holds them. Whoever returned the study or ran
    out of time leaves their place in it to somebody else.
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

"""Teams, which own batches, campaigns and judges, and what they share."""

from __future__ import annotations

from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

FIRST_TEAM = "main"


class Team(models.Model):
    """People who share batches, campaigns and judges. A new site has one, which stays hidden."""

    name = models.CharField(max_length=150, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name


class TeamMember(models.Model):
    """An account's role in a team. Owners and managers change what the team owns, members read it.

    An account that labels is a member: it may take items of the team's open campaigns.
    """

    class Role(models.TextChoices):
        OWNER = "owner"
        MANAGER = "manager"
        MEMBER = "member"

    team = models.ForeignKey(Team, models.CASCADE, related_name="members")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="teams")
    role = models.CharField(max_length=7, choices=Role, default=Role.MEMBER)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ("team", "user")
        constraints = [
            models.UniqueConstraint("team", "user", name="one_role_a_team"),
            models.CheckConstraint(
                condition=Q(role__in=("owner", "manager", "member")), name="team_role_is_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user_id} is {self.role} of {self.team_id}"


class SeveralTeamsError(ValueError):
    """The site has several teams, so one has to be named."""

    def __init__(self) -> None:
        super().__init__("the site has several teams; name one")


def only_team() -> Team:
    """Return the site's only team, created if there is none. Raises SeveralTeamsError."""
    found = list(Team.objects.all()[:2])
    if len(found) > 1:
        raise SeveralTeamsError
    return found[0] if found else Team.objects.get_or_create(name=FIRST_TEAM)[0]


class Owned(models.Model):
    """What belongs to a team. Without a team it goes to the site's only one.

    `made_by` is the account that created it: None for a command, and once the account is deleted.
    `NAME` is the field with the name by which people and commands address it.
    """

    NAME: ClassVar[str] = "name"

    team = models.ForeignKey(Team, models.PROTECT, related_name="+")
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )

    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        if self.team_id is None:
            self.team = only_team()
        super().save(*args, **kwargs)


class Share(models.Model):
    """Another team's right to something: to read it, or to manage it like its own."""

    class Right(models.TextChoices):
        READ = "read"
        MANAGE = "manage"

    team = models.ForeignKey(Team, models.CASCADE, related_name="+")
    right = models.CharField(max_length=6, choices=Right, default=Right.READ)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.team_id} may {self.right}"

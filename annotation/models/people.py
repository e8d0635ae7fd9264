"""Accounts, and the raters that labels stand under."""

from __future__ import annotations

import secrets
from typing import Any

from django.contrib.auth.models import AbstractUser
from django.db import models
from django.utils.crypto import salted_hmac
from knox.models import AuthToken

# Letters and digits that nobody takes for one another.
LETTERS = "23456789abcdefghjkmnpqrstuvwxyz"


class User(AbstractUser):
    """An account with one of three roles, which is the most that it may be in any campaign.

    A guest came by a link for one campaign, has no password, and sees nothing else. `sessions` is
    counted up to end those that are there.
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
        """A new password ends all tokens of the account: it may be new because one got out."""
        # Django keeps a password that was set here until it is saved; a better hash is no new one.
        is_new = getattr(self, "_password", None) is not None and self.pk is not None
        super().save(*args, **kwargs)
        if is_new:
            AuthToken.objects.filter(user=self).delete()

    def _get_session_auth_hash(self, secret: str | None = None) -> str:
        """What a session has to know to go on: a new password or another role ends all of them."""
        what = f"{self.password}\0{self.role}\0{self.sessions}"
        return salted_hmac("annotation.sessions", what, secret, algorithm="sha256").hexdigest()


class Rater(models.Model):
    """Whoever answers. `name` is what exports show: a pseudonym, where a person has an account.

    A `trial` is a judge under changed conditions (a control, an attack, the same again). What it
    answers is about the judge alone, and stands in no agreement and no export of labels.
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
    """The rater that a person's answers stand under, made at first need under a pseudonym."""
    return Rater.objects.get_or_create(user=user, defaults={"name": new_pseudonym()})[0]


def new_pseudonym() -> str:
    """A name that nobody has, and that says nothing of whoever gets it."""
    while True:
        name = "person-" + "".join(secrets.choice(LETTERS) for _ in range(6))
        if not Rater.objects.filter(name=name).exists():
            return name

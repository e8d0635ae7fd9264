"""Accounts, and the raters that labels stand under."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import AbstractUser
from django.db import models
from knox.models import AuthToken


class User(AbstractUser):
    """An account with one of three roles."""

    class Role(models.TextChoices):
        ANNOTATOR = "annotator"
        RESEARCHER = "researcher"
        ADMIN = "admin"

    role = models.CharField(max_length=10, choices=Role, default=Role.ANNOTATOR)

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


class Rater(models.Model):
    """Whoever answers. `name` is what exports show; a person with an account also has a user.

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
    """The rater that a person's answers stand under, made at first need."""
    return Rater.objects.get_or_create(user=user, defaults={"name": _free_name(user.username)})[0]


def _free_name(wanted: str) -> str:
    name, number = wanted, 2
    while Rater.objects.filter(name=name).exists():
        name, number = f"{wanted} ({number})", number + 1
    return name

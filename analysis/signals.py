"""Removal of a person's name from snapshots when the account is erased."""

from __future__ import annotations

from typing import Any

from django.db.models.signals import pre_delete
from django.dispatch import receiver

from analysis.models import FrozenReport
from annotation.models import User

NOBODY = "a deleted account"


@receiver(pre_delete, sender=User)
def _forget(sender: Any, instance: User, **more: Any) -> None:
    FrozenReport.objects.filter(by=instance).update(by_name=NOBODY)

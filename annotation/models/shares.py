"""Models of fixed shares: who answers which part of a campaign's items."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from annotation.models.campaigns import Campaign, Item
from annotation.models.people import User


class PersonShare(models.Model):
    """The share of a campaign's answers that a person gives, above 0 and up to 1."""

    campaign = models.ForeignKey(Campaign, models.CASCADE, related_name="person_shares")
    user = models.ForeignKey(User, models.CASCADE, related_name="+")
    share = models.FloatField()

    class Meta:
        ordering = ("campaign", "id")
        constraints = [
            models.UniqueConstraint("campaign", "user", name="one_share_a_person"),
            models.CheckConstraint(condition=Q(share__gt=0, share__lte=1), name="a_share_of_one"),
        ]

    def __str__(self) -> str:
        return f"{self.share} of {self.campaign_id} for {self.user_id}"


class Allotment(models.Model):
    """An item whose slot is kept for a person by their share, answered or not."""

    item = models.ForeignKey(Item, models.CASCADE, related_name="allotments")
    user = models.ForeignKey(User, models.CASCADE, related_name="+")

    class Meta:
        constraints = [models.UniqueConstraint("item", "user", name="an_item_is_allotted_once")]

    def __str__(self) -> str:
        return f"{self.item_id} for {self.user_id}"

"""Numbers that pages show of a campaign of any size, kept by the database itself."""

from __future__ import annotations

from django.db import models

from annotation.models.campaigns import Campaign
from annotation.models.people import Rater

LONGEST_WHAT = 40


class Tally(models.Model):
    """How many of a kind a campaign has, or how many more or less: the sum of its rows counts.

    Triggers write them (`annotation.tallies`), nothing else does. `rater` is empty for what is no
    one's. The database checks neither key: a check would lock rows that people's saves wait for.
    What a campaign had is counted down as it is deleted, so its tallies come to nothing themselves.
    """

    campaign = models.ForeignKey(
        Campaign, models.DO_NOTHING, related_name="tallies", db_constraint=False, db_index=False
    )
    rater = models.ForeignKey(
        Rater, models.DO_NOTHING, null=True, related_name="+", db_constraint=False, db_index=False
    )
    what = models.CharField(max_length=LONGEST_WHAT)
    number = models.IntegerField()

    class Meta:
        indexes = [models.Index("campaign", "what", "rater", name="tallies_of_a_campaign")]

    def __str__(self) -> str:
        return f"{self.campaign_id}: {self.number} {self.what}"

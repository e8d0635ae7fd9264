"""What adjudicators decided: which response of the Reference whose decision it is."""

from __future__ import annotations

from django.db import models

from annotation.models.answers import Response
from annotation.models.campaigns import Unit
from annotation.models.people import Rater


class Decision(models.Model):
    """One decision on a unit. The label, its evidence, the reason and the time are the response's.

    `by` is the adjudicator's rater, which keeps its pseudonym when the account goes. A decision
    that was changed stays, with the response that was superseded.
    """

    response = models.OneToOneField(Response, models.CASCADE, related_name="decision")
    unit = models.ForeignKey(Unit, models.CASCADE, related_name="decisions")
    by = models.ForeignKey(Rater, models.PROTECT, related_name="decisions")

    class Meta:
        ordering = ("unit", "response")

    def __str__(self) -> str:
        return f"{self.unit_id} by {self.by_id}"

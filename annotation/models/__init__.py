"""Who was asked what, and what they answered: people and judges alike."""

from annotation.models.answers import Draft, Label, Response, Span
from annotation.models.campaigns import Assignment, Campaign, Item, Unit
from annotation.models.people import Rater, User
from annotation.models.taking_part import (
    Exclusion,
    Invitation,
    Membership,
    Participant,
    ProlificStudy,
)

__all__ = [
    "Assignment",
    "Campaign",
    "Draft",
    "Exclusion",
    "Invitation",
    "Item",
    "Label",
    "Membership",
    "Participant",
    "ProlificStudy",
    "Rater",
    "Response",
    "Span",
    "Unit",
    "User",
]

"""Who was asked what, and what they answered: people and judges alike."""

from annotation.models.answers import Draft, Label, Response, Span
from annotation.models.campaigns import Assignment, Campaign, Item, Unit
from annotation.models.people import Rater, User

__all__ = [
    "Assignment",
    "Campaign",
    "Draft",
    "Item",
    "Label",
    "Rater",
    "Response",
    "Span",
    "Unit",
    "User",
]

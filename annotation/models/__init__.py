"""Who was asked what, and what they answered: people and judges alike."""

from annotation.models.answers import Draft, Label, Response, Span
from annotation.models.campaigns import Assignment, Campaign, Item, Unit
from annotation.models.people import Rater, User
from annotation.models.studies import (
    Admission,
    GuidelineVersion,
    KnownAnswer,
    QueryDraw,
    UnitDraw,
)

__all__ = [
    "Admission",
    "Assignment",
    "Campaign",
    "Draft",
    "GuidelineVersion",
    "Item",
    "KnownAnswer",
    "Label",
    "QueryDraw",
    "Rater",
    "Response",
    "Span",
    "Unit",
    "UnitDraw",
    "User",
]

"""Who was asked what, and what they answered: people and judges alike."""

from annotation.models.adjudication import Decision
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
from annotation.models.taking_part import (
    Exclusion,
    Invitation,
    Membership,
    Participant,
    ProlificStudy,
)
from annotation.models.tallies import Tally

__all__ = [
    "Admission",
    "Assignment",
    "Campaign",
    "Decision",
    "Draft",
    "Exclusion",
    "GuidelineVersion",
    "Invitation",
    "Item",
    "KnownAnswer",
    "Label",
    "Membership",
    "Participant",
    "ProlificStudy",
    "QueryDraw",
    "Rater",
    "Response",
    "Span",
    "Tally",
    "Unit",
    "UnitDraw",
    "User",
]

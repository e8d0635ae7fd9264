"""Who may adjudicate a campaign, and what in it is theirs to decide."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, QuerySet

from annotation.models import Campaign, Label, Membership, Response, User
from annotation.people.members import Role


def adjudicable(user: User) -> QuerySet[Campaign]:
    """The campaigns, open or closed, that an account adjudicates.

    A researcher who answered in a campaign knows too much of it to decide there. An annotator who
    answered before the change of roles decides on the rest: see `own_units`.
    """
    if not user.is_active or user.role == User.Role.ADMIN:
        return Campaign.objects.none()
    there = Membership.objects.filter(
        campaign=OuterRef("pk"), user=user, role=Role.ADJUDICATOR, ended_at=None
    )
    found = Campaign.objects.filter(Exists(there))
    if user.role != User.Role.RESEARCHER:
        return found
    answered = Response.objects.filter(
        assignment__rater__user=user, assignment__item__campaign=OuterRef("pk")
    )
    return found.exclude(Exists(answered))


def own_units(user: User, campaign: Campaign) -> QuerySet[Label, int]:
    """The units that somebody labelled, in whatever revision: not theirs to decide."""
    mine = Label.objects.filter(
        response__assignment__rater__user=user, response__assignment__item__campaign=campaign
    )
    return mine.order_by().values_list("unit", flat=True)

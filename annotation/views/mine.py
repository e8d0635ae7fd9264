"""A person's own assignments: the only way by which pages reach any."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from django.db.models import Count, F, Q, QuerySet
from django.http import Http404, HttpRequest

from annotation.models import Assignment, Item, User

MAY_WORK = (User.Role.ANNOTATOR, User.Role.RESEARCHER)
ON_SHOW = (Assignment.Status.OPEN, Assignment.Status.DONE)


def user_of(request: HttpRequest) -> User:
    """The account behind a request that `role_required` let in."""
    if not isinstance(request.user, User):
        raise Http404
    return request.user


def my_assignments(user: User) -> QuerySet[Assignment]:
    return Assignment.objects.filter(rater__user=user, replicate=0, scope="", status__in=ON_SHOW)


def my_assignment(user: User, uid: uuid.UUID) -> Assignment:
    """One's own assignment, with its item and campaign; anybody else's is not there (404)."""
    related = ("item__campaign", "item__query", "rater")
    found = my_assignments(user).select_related(*related).filter(uid=uid).first()
    if found is None:
        raise Http404
    return found


@dataclass(frozen=True)
class Progress:
    """How far a person is in a campaign: submitted, begun, and still free to take."""

    done: int = 0
    begun: int = 0
    free: int = 0

    @property
    def left(self) -> int:
        return self.begun + self.free

    @property
    def total(self) -> int:
        return self.done + self.left


def progress(user: User, campaigns: list[int]) -> dict[int, Progress]:
    """A person's progress by campaign id, in two queries."""
    mine = {
        row["item__campaign"]: row
        for row in my_assignments(user)
        .filter(item__campaign__in=campaigns)
        .values("item__campaign")
        .annotate(done=Count("pk", Q(status="done")), begun=Count("pk", Q(status="open")))
    }
    free = {
        row["campaign"]: row["free"]
        for row in Item.objects.filter(campaign__in=campaigns, taken__lt=F("quota"))
        .exclude(assignments__rater__user=user)
        .order_by()
        .values("campaign")
        .annotate(free=Count("pk"))
    }
    nothing = {"done": 0, "begun": 0}
    return {
        pk: Progress(mine.get(pk, nothing)["done"], mine.get(pk, nothing)["begun"], free.get(pk, 0))
        for pk in campaigns
    }

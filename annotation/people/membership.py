"""Roles in a campaign, who may take and read its items, and excluding a rater from statistics.

In an open pool the account's own role decides for a person without a role in the campaign. A role
in the campaign takes precedence there, and one that has ended keeps its person out.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from annotation.models import (
    MAX_REASON,
    Assignment,
    Campaign,
    Decision,
    Exclusion,
    Membership,
    Rater,
    User,
)
from annotation.people.leases import Ended, give_back_all, give_back_but_of
from audit.recording import folded, record


class PeopleError(ValueError):
    """What is wrong, and what to do, in one sentence without a full stop."""


Role = Membership.Role
WORKING = (Role.ANNOTATOR, Role.RESEARCHER)
"""Roles that are given items. An adjudicator decides on others' labels, and gives none."""

AT_MOST: dict[str, tuple[Role, ...]] = {
    User.Role.ANNOTATOR: (Role.ANNOTATOR, Role.ADJUDICATOR),
    User.Role.RESEARCHER: (Role.ANNOTATOR, Role.ADJUDICATOR, Role.RESEARCHER),
    User.Role.ADMIN: (),
}
"""The roles in a campaign that an account of each role may have; an admin reads all of them."""

DECIDED = (
    "{} decided on disagreements here and has seen what others said; name somebody else to label"
)


def workable(user: User) -> QuerySet[Campaign]:
    """The campaigns, open or closed, whose items a person may take while they are open."""
    if not user.is_active or user.role == User.Role.ADMIN:
        return Campaign.objects.none()
    decided = Decision.objects.filter(by__user=user, unit__item__campaign=OuterRef("pk"))
    return _as(user, WORKING).exclude(Exists(decided))


def readable(user: User) -> QuerySet[Campaign]:
    """The campaigns whose people, answers and reports an account may read."""
    if user.role == User.Role.ADMIN:
        return Campaign.objects.all()
    if user.role != User.Role.RESEARCHER or user.is_guest:
        return Campaign.objects.none()
    return _as(user, (Role.RESEARCHER,))


def _as(user: User, roles: tuple[Role, ...]) -> QuerySet[Campaign]:
    there = Membership.objects.filter(campaign=OuterRef("pk"), user=user)
    named = Q(Exists(there.filter(ended_at=None, role__in=roles)))
    if user.is_guest:
        return Campaign.objects.filter(named)
    return Campaign.objects.filter(named | (Q(pool=Campaign.Pool.OPEN) & ~Q(Exists(there))))


def may_take(campaign: Any, rater: Any) -> Q:
    """That a rater may take items of a campaign, as a part of the query that finds one.

    Both are primary keys, or expressions that stand for them. A rater without an account is none
    that somebody could have put out. Whoever decided on others' labels has none of his own to give.
    """
    decided = Decision.objects.filter(by=rater, unit__item__campaign=campaign)
    there = Membership.objects.filter(campaign=campaign, user__rater=rater)
    is_open = Campaign.objects.filter(pk=campaign, pool=Campaign.Pool.OPEN)
    named = Q(Exists(there.filter(ended_at=None, role__in=WORKING)))
    return (named | (Q(Exists(is_open)) & ~Q(Exists(there)))) & ~Q(Exists(decided))


def is_adjudicator(user: User, campaign: Campaign) -> bool:
    return Membership.objects.filter(
        campaign=campaign, user=user, role=Role.ADJUDICATOR, ended_at=None
    ).exists()


def add_member(campaign: Campaign, user: User, role: str, by: User | None = None) -> Membership:
    """Gives an account a role in a campaign, or another one. Raises PeopleError."""
    if role not in AT_MOST[user.role]:
        raise PeopleError(_too_much(user, role))
    if user.is_guest:
        raise PeopleError("a guest takes part in one campaign only; invite the person instead")
    if not user.is_active:
        raise PeopleError(f"{user.username} is switched off; switch the account on first")
    if role == Role.ANNOTATOR and has_decided(user, campaign):
        raise PeopleError(DECIDED.format(user.username))
    with transaction.atomic():
        before = _role_in(campaign, user)
        member, _ = Membership.objects.update_or_create(
            campaign=campaign, user=user, defaults={"role": role, "by": by, "ended_at": None}
        )
        if role not in WORKING:
            give_back_all(user, Ended.FREED, campaign)
        of, now = ("account", user.pk), str(role)
        record("member.added", campaign.pk, of, before, now, was=before, now=now)
    return member


def has_decided(user: User, campaign: Campaign) -> bool:
    """Whether somebody decided on others' labels there."""
    return Decision.objects.filter(by__user=user, unit__item__campaign=campaign).exists()


def _role_in(campaign: Campaign, user: User) -> str | None:
    there = Membership.objects.filter(campaign=campaign, user=user, ended_at=None)
    return there.values_list("role", flat=True).first()


def _too_much(user: User, role: str) -> str:
    if not AT_MOST[user.role]:
        return "an admin reads every campaign and has no role in one; name another account"
    return f"an account with the role {user.role} cannot be {role}; change the account's role first"


def end_membership(campaign: Campaign, user: User, by: User | None = None) -> None:
    """Puts an account out of a campaign, an open one too. Places go back, answers stay."""
    with transaction.atomic():
        Membership.objects.update_or_create(
            campaign=campaign,
            user=user,
            defaults={"ended_at": timezone.now(), "by": by},
        )
        give_back_all(user, Ended.FREED, campaign)
        record("member.ended", campaign.pk, ("account", user.pk))
    # An item that was just being given: wait for that, then take it back, too.
    with transaction.atomic():
        list(Rater.objects.select_for_update().filter(user=user).values_list("pk"))
    give_back_all(user, Ended.FREED, campaign)


@contextmanager
def arranging(campaign: Campaign) -> Iterator[None]:
    """What is changed within about who takes part is written down as one change, if it is any."""
    before = _arranged(campaign.pk)
    with transaction.atomic():
        with folded():
            yield
        after = _arranged(campaign.pk)
        if before != after:
            record("campaign.people", campaign.pk, campaign, before, after, **after)


def _arranged(campaign: int) -> dict[str, Any]:
    rows = Campaign.objects.filter(pk=campaign)
    return dict(rows.values("pool", "hold_minutes", "items_per_person").get())


def set_pool(campaign: Campaign, pool: str, by: User | None = None) -> None:
    """Opens a campaign's pool, or closes it but for its members: what others hold there goes back.

    A researcher who closes it becomes one of them, so as not to be shut out. What else changes
    places in the same transaction comes before this, which holds items.
    """
    with arranging(campaign):
        campaign.pool = pool
        campaign.save(update_fields=["pool"])
        if by is not None and pool == Campaign.Pool.NAMED and by.role == User.Role.RESEARCHER:
            add_member(campaign, by, Role.RESEARCHER, by)
        if pool == Campaign.Pool.NAMED:
            inside = Q(memberships__ended_at=None, memberships__role__in=WORKING)
            members = User.objects.filter(inside, memberships__campaign=campaign)
            give_back_but_of(members, campaign)


def set_most_items(campaign: Campaign, most: int | None) -> None:
    with arranging(campaign):
        campaign.items_per_person = most
        campaign.save(update_fields=["items_per_person"])


def excluded(campaign: str) -> dict[str, str]:
    """The reasons why raters are left out of the campaign of this name, by the raters' names."""
    rows = Exclusion.objects.filter(campaign__name=campaign, undone_at=None)
    return dict(rows.order_by("rater__name").values_list("rater__name", "reason"))


def exclude(campaign: Campaign, rater: Rater, reason: str, by: User | None = None) -> Exclusion:
    """Leaves a rater out. Another reason takes the place of the one before. Raises PeopleError."""
    reason = " ".join(reason.split())
    if not 1 <= len(reason) <= MAX_REASON:
        raise PeopleError(f"give a reason of 1 to {MAX_REASON} characters")
    if rater.kind not in (Rater.Kind.HUMAN, Rater.Kind.JUDGE):
        raise PeopleError(f"{rater.name} is neither a person nor a judge of the study")
    if not Assignment.objects.filter(item__campaign=campaign, rater=rater).exists():
        raise PeopleError(f"{rater.name} was asked nothing in {campaign.name}")
    try:
        with transaction.atomic():
            standing = campaign.exclusions.filter(rater=rater, undone_at=None).first()
            if standing and standing.reason == reason:
                return standing
            with folded():
                include(campaign, rater, by)
            record("exclusion.made", campaign.pk, rater, standing and standing.reason, reason)
            return Exclusion.objects.create(campaign=campaign, rater=rater, reason=reason, by=by)
    except IntegrityError as error:
        raise PeopleError("somebody else excluded this rater just now; look again") from error


def include(campaign: Campaign, rater: Rater, by: User | None = None) -> bool:
    """Takes an exclusion back; False where there is none."""
    standing = campaign.exclusions.filter(rater=rater, undone_at=None)
    with transaction.atomic():
        undone = bool(standing.update(undone_at=timezone.now(), undone_by=by))
        if undone:
            record("exclusion.undone", campaign.pk, rater)
    return undone

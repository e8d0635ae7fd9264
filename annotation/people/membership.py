"""Roles in a campaign, access to its items, and excluding a rater from statistics.

A campaign belongs to a team. A new one has a named pool: it is for members of the campaign, and
for owners and managers of the team. If the pool is open, everybody in the team may take its items,
and the team's researchers may read it. A role in the campaign takes precedence over the role in the
team, and a role that has ended excludes its person.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
from annotation.people.leases import Ended, release_all, release_others
from audit.recording import folded, record
from datasets.access import in_a_managed_team, shared_with_a_team_of, teams_of
from datasets.db.prepared import Parameter, Prepared, PreparedModels, columns_of
from datasets.models import Batch, Team, TeamMember

POOL_HELP = (
    "who may take items: named, the default of new campaigns, is for the campaign's members; open "
    "is for everybody in its team"
)
"""What the pool is, for commands and the API."""


class PeopleError(ValueError):
    """A message about what is wrong and what to do, in one sentence without a full stop."""


Role = Membership.Role
WORKING = (Role.ANNOTATOR, Role.RESEARCHER)
"""The roles that get items. An adjudicator decides on the labels of others and gives none."""

AT_MOST: dict[str, tuple[Role, ...]] = {
    User.Role.ANNOTATOR: (Role.ANNOTATOR, Role.ADJUDICATOR),
    User.Role.RESEARCHER: (Role.ANNOTATOR, Role.ADJUDICATOR, Role.RESEARCHER),
    User.Role.ADMIN: (),
}
"""The campaign roles that an account of each role may have. Admins read all campaigns."""

HAS_DECIDED = (
    "{} decided on disagreements here and has seen the labels of others; name another person"
)


def workable(user: User) -> QuerySet[Campaign]:
    """Return the campaigns, open or closed, whose items a person may take while they are open."""
    if not user.is_active or user.role == User.Role.ADMIN:
        return Campaign.objects.none()
    decided = Decision.objects.filter(by__user=user, unit__item__campaign=OuterRef("pk"))
    rows = Campaign.objects.filter(~Q(Exists(decided)))
    mine = _memberships(user)
    named = Q(Exists(mine.filter(ended_at=None, role__in=WORKING)))
    if user.is_guest:
        return rows.filter(named)
    in_pool = Q(pool=Campaign.Pool.OPEN, team__in=teams_of(user)) & ~Q(Exists(mine))
    return rows.filter(named | in_pool)


def readable(user: User) -> QuerySet[Campaign]:
    """Return the campaigns whose people, answers and reports an account may read."""
    if user.role == User.Role.ADMIN:
        return Campaign.objects.all()
    return _readable(user) if _researches(user) else Campaign.objects.none()


JUDGE_READERS: list[Callable[[User], Q]] = []
"""Further conditions under which an account may read a judge, such as a common team."""


def readable_judges(user: User | None) -> QuerySet[Rater]:
    """Return the judges that an account may name in a design, by name; all judges for a command.

    A judge may also come from an imported file or a jury, if it answered in a campaign that the
    account may read.
    """
    rows = Rater.objects.filter(kind=Rater.Kind.JUDGE).order_by("name")
    if user is None or user.role == User.Role.ADMIN:
        return rows
    there = Assignment.objects.filter(rater=OuterRef("pk"), item__campaign__in=readable(user))
    may_read = Q(Exists(there))
    for further in JUDGE_READERS:
        may_read |= further(user)
    return rows.filter(may_read)


def _researches(user: User) -> bool:
    return user.role == User.Role.RESEARCHER and not user.is_guest


def _readable(user: Any) -> QuerySet[Campaign]:
    mine = _memberships(user)
    named = Q(Exists(mine.filter(ended_at=None, role=Role.RESEARCHER)))
    is_open = Q(pool=Campaign.Pool.OPEN, team__in=teams_of(user))
    by_team = is_open | in_a_managed_team(Campaign, user) | shared_with_a_team_of(Campaign, user)
    return Campaign.objects.filter(named | (by_team & ~Q(Exists(mine))))


def manageable(user: User) -> QuerySet[Campaign]:
    """Return the readable campaigns that an account may change, close and export."""
    rows = readable(user)
    return rows if user.role == User.Role.ADMIN else rows.filter(in_a_managed_team(Campaign, user))


_COLUMNS = {
    "": columns_of(Campaign),
    "batch": columns_of(Batch),
    "practice_of": columns_of(Campaign),
    "team": columns_of(Team),
    "made_by": columns_of(User),
}
_any_campaign = PreparedModels(lambda: Campaign.objects.filter(pk=Parameter("campaign")), _COLUMNS)
_readable_campaign = PreparedModels(
    lambda: _readable(Parameter("user")).filter(pk=Parameter("campaign")), _COLUMNS
)
_managed_campaign = Prepared(
    lambda: (
        _readable(Parameter("user"))
        .filter(in_a_managed_team(Campaign, Parameter("user")), pk=Parameter("campaign"))
        .values_list("pk")
    )
)


def find_readable(user: User, campaign: int) -> Campaign | None:
    """Return the campaign with a key if an account may read it. All campaign pages call this."""
    if user.role == User.Role.ADMIN:
        found = _any_campaign.first(campaign=campaign)
    elif _researches(user):
        found = _readable_campaign.first(user=user.pk, campaign=campaign)
    else:
        found = None
    return found[0] if found else None


def may_manage(user: User, campaign: int) -> bool:
    """Whether an account may change, close and export the campaign with a key."""
    if user.role == User.Role.ADMIN:
        return Campaign.objects.filter(pk=campaign).exists()
    return _researches(user) and bool(_managed_campaign.rows(user=user.pk, campaign=campaign))


def batch_in_readable_campaign(user: User) -> Q:
    """Return the condition that an account may read some campaign over a batch."""
    return Q(Exists(readable(user).filter(batch=OuterRef("pk"))))


def _memberships(user: Any) -> QuerySet[Membership]:
    return Membership.objects.filter(campaign=OuterRef("pk"), user=user)


def may_take(campaign: Any, rater: Any) -> Q:
    """Return the condition that a rater may take items of a campaign, for use in a query.

    Both arguments are primary keys or expressions. A rater without an account cannot have lost
    access. A rater who decided on the labels of others may not label.
    """
    decided = Decision.objects.filter(by=rater, unit__item__campaign=campaign)
    memberships = Membership.objects.filter(campaign=campaign, user__rater=rater)
    in_team = TeamMember.objects.filter(team=OuterRef("team"), user__rater=rater)
    # A person without an item has no rater yet, so the query uses a key that no rater has.
    with_account = Rater.objects.filter(pk=rater, user__isnull=False)
    is_open = Campaign.objects.filter(
        Q(Exists(in_team)) | ~Q(Exists(with_account)), pk=campaign, pool=Campaign.Pool.OPEN
    )
    named = Q(Exists(memberships.filter(ended_at=None, role__in=WORKING)))
    return (named | (Q(Exists(is_open)) & ~Q(Exists(memberships)))) & ~Q(Exists(decided))


def add_member(campaign: Campaign, user: User, role: str, by: User | None = None) -> Membership:
    """Give an account a role in a campaign, or change its role. Raises PeopleError."""
    if role not in AT_MOST[user.role]:
        raise PeopleError(_describe_role_limit(user, role))
    if user.is_guest:
        raise PeopleError("a guest takes part in one campaign only; invite the person instead")
    if not user.is_active:
        raise PeopleError(f"{user.username} is switched off; switch the account on first")
    if role == Role.ANNOTATOR and has_decided(user, campaign):
        raise PeopleError(HAS_DECIDED.format(user.username))
    with transaction.atomic():
        before = _role_in(campaign, user)
        member, _ = Membership.objects.update_or_create(
            campaign=campaign, user=user, defaults={"role": role, "by": by, "ended_at": None}
        )
        if role not in WORKING:
            release_all(user, Ended.FREED, campaign)
        of, now = ("account", user.pk), str(role)
        record("member.added", campaign.pk, of, before, now, was=before, now=now)
    return member


def has_decided(user: User, campaign: Campaign) -> bool:
    """Whether an account decided on the labels of others in a campaign."""
    return Decision.objects.filter(by__user=user, unit__item__campaign=campaign).exists()


def _role_in(campaign: Campaign, user: User) -> str | None:
    memberships = Membership.objects.filter(campaign=campaign, user=user, ended_at=None)
    return memberships.values_list("role", flat=True).first()


def _describe_role_limit(user: User, role: str) -> str:
    if not AT_MOST[user.role]:
        return "an admin reads every campaign and has no role in one; name another account"
    return f"an account with the role {user.role} cannot be {role}; change the account's role first"


def end_membership(campaign: Campaign, user: User, by: User | None = None) -> None:
    """End an account's part in a campaign, even in an open pool. Leases end, and answers stay."""
    with transaction.atomic():
        Membership.objects.update_or_create(
            campaign=campaign,
            user=user,
            defaults={"ended_at": timezone.now(), "by": by},
        )
        release_all(user, Ended.FREED, campaign)
        record("member.ended", campaign.pk, ("account", user.pk))
    # Wait for an item that is being assigned at this moment, then release it too.
    with transaction.atomic():
        list(Rater.objects.select_for_update().filter(user=user).values_list("pk"))
    release_all(user, Ended.FREED, campaign)


@contextmanager
def record_change(campaign: Campaign) -> Iterator[None]:
    """Record the changes made inside to pool, leases and items per person as one event."""
    before = _people_settings(campaign.pk)
    with transaction.atomic():
        with folded():
            yield
        after = _people_settings(campaign.pk)
        if before != after:
            record("campaign.people", campaign.pk, campaign, before, after, **after)


def _people_settings(campaign: int) -> dict[str, Any]:
    rows = Campaign.objects.filter(pk=campaign)
    return dict(rows.values("pool", "hold_minutes", "items_per_person").get())


def set_pool(campaign: Campaign, pool: str, by: User | None = None) -> None:
    """Open a campaign's pool, or restrict it to members and release what others have reserved.

    A researcher who restricts the pool becomes a member, so as to keep access. Since this locks
    items, other changes to leases in the same transaction must come first.
    """
    with record_change(campaign):
        campaign.pool = pool
        campaign.save(update_fields=["pool"])
        keep_access(campaign, by)
        if pool == Campaign.Pool.NAMED:
            inside = Q(memberships__ended_at=None, memberships__role__in=WORKING)
            members = User.objects.filter(inside, memberships__campaign=campaign)
            release_others(members, campaign)


def keep_access(campaign: Campaign, by: User | None) -> None:
    """Make a researcher a member of a campaign with a named pool, which others cannot see."""
    named = campaign.pool == Campaign.Pool.NAMED
    if named and by is not None and by.role == User.Role.RESEARCHER:
        add_member(campaign, by, Role.RESEARCHER, by)


def set_most_items(campaign: Campaign, most: int | None) -> None:
    with record_change(campaign):
        campaign.items_per_person = most
        campaign.save(update_fields=["items_per_person"])


def exclusion_reasons(campaign: str) -> dict[str, str]:
    """Return the reasons for exclusion from the campaign of this name, by the raters' names."""
    rows = Exclusion.objects.filter(campaign__name=campaign, undone_at=None)
    return dict(rows.order_by("rater__name").values_list("rater__name", "reason"))


def exclude(campaign: Campaign, rater: Rater, reason: str, by: User | None = None) -> Exclusion:
    """Exclude a rater. Another reason replaces the previous one. Raises PeopleError."""
    reason = " ".join(reason.split())
    if not 1 <= len(reason) <= MAX_REASON:
        raise PeopleError(f"give a reason of 1 to {MAX_REASON} characters")
    if rater.kind not in (Rater.Kind.HUMAN, Rater.Kind.JUDGE):
        raise PeopleError(f"{rater.name} is neither a person nor a judge of the study")
    if not Assignment.objects.filter(item__campaign=campaign, rater=rater).exists():
        raise PeopleError(f"{rater.name} was asked nothing in {campaign.name}")
    try:
        with transaction.atomic():
            current = campaign.exclusions.filter(rater=rater, undone_at=None).first()
            if current and current.reason == reason:
                return current
            with folded():
                include(campaign, rater, by)
            record("exclusion.made", campaign.pk, rater, current and current.reason, reason)
            return Exclusion.objects.create(campaign=campaign, rater=rater, reason=reason, by=by)
    except IntegrityError as error:
        raise PeopleError("another researcher excluded this rater just now; look again") from error


def include(campaign: Campaign, rater: Rater, by: User | None = None) -> bool:
    """Undo an exclusion. Returns False if there is none."""
    current = campaign.exclusions.filter(rater=rater, undone_at=None)
    with transaction.atomic():
        undone = bool(current.update(undone_at=timezone.now(), undone_by=by))
        if undone:
            record("exclusion.undone", campaign.pk, rater)
    return undone

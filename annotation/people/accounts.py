"""Accounts: roles, log-out, erasure, overviews, and finding them. Labels stay in every case.

A person finds the accounts in their own teams and in the campaign's team, and an admin finds all
accounts. Guests and admins are not found, since neither is added to a campaign.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import Count, F, Min, ProtectedError, Q, QuerySet
from django.utils import timezone
from knox.models import AuthToken

from annotation.counters import answers_by_rater
from annotation.models import (
    Assignment,
    Campaign,
    Draft,
    Exclusion,
    Invitation,
    Membership,
    Rater,
    User,
    join_only_team,
    new_pseudonym,
)
from annotation.people import login_limits
from annotation.people.invitations import revoke_all_of
from annotation.people.leases import Ended, open_assignments, release_all
from annotation.people.membership import AT_MOST, PeopleError, manageable
from annotation.people.teams import trim_roles
from audit.recording import folded, record
from datasets.access import managed_teams, teams_of, there_are_several
from datasets.models import TeamMember
from tandem.grouping import grouped
from tandem.names import why_no_name


def end_sessions(user: User, with_tokens: bool = True) -> None:
    """End all sessions of an account, and its tokens unless they are to stay."""
    with transaction.atomic():
        User.objects.filter(pk=user.pk).update(sessions=F("sessions") + 1)
        ended = AuthToken.objects.filter(user=user) if with_tokens else AuthToken.objects.none()
        tokens = ended.delete()[1].get(AuthToken._meta.label, 0)
        record("account.sessions", of=("account", user.pk), tokens=tokens)
    user.refresh_from_db(fields=["sessions"])


def change_role(user: User, role: str) -> bool:
    """Give an account another role. Returns False if it has the role already. Raises PeopleError.

    Its sessions and tokens end, and so do roles in campaigns that the new role does not allow.
    """
    if role not in User.Role.values:
        raise PeopleError(f"a role is one of {', '.join(User.Role.values)}; correct it")
    if user.is_guest:
        raise PeopleError("a guest has no other role; invite the person to an account instead")
    with transaction.atomic():
        _lock(user)
        if user.role == role:
            return False
        _check_admin_remains(user, "give another account the role first")
        before, user.role = user.role, role
        User.objects.filter(pk=user.pk).update(role=role)
        with folded():
            _trim_memberships(user)
            trim_roles(user)
            join_only_team(user)
            revoke_all_of(user)
            end_sessions(user)
        record("account.role", None, ("account", user.pk), before, role, was=before, now=role)
    return True


def _trim_memberships(user: User) -> None:
    allowed = AT_MOST[user.role]
    too_much = Membership.objects.filter(user=user, ended_at=None).exclude(role__in=allowed)
    if allowed:
        too_much.update(role=Membership.Role.ANNOTATOR)
    else:
        too_much.update(ended_at=timezone.now())
        release_all(user, Ended.LEFT)


def switch_off(user: User) -> bool:
    """Deactivate an account: end its sessions, tokens, leases and invitations.

    Returns False if it was inactive already. Raises PeopleError.
    """
    with transaction.atomic():
        _lock(user)
        if not user.is_active:
            return False
        _check_admin_remains(user, "make another admin first")
        User.objects.filter(pk=user.pk).update(is_active=False)
        user.is_active = False
        with folded():
            revoke_all_of(user)
            end_sessions(user)
            release_all(user, Ended.LEFT)
        record("account.off", of=("account", user.pk))
    return True


def switch_on(user: User) -> bool:
    """Activate an account again, with its old password. Returns False if it was active already."""
    with transaction.atomic():
        changed = User.objects.filter(pk=user.pk, is_active=False).update(is_active=True)
        if changed:
            # Items reserved when the person left can be taken again if a slot is free.
            left = {"status": Assignment.Status.CANCELLED, "reason": Ended.LEFT}
            Assignment.objects.filter(rater__user=user, **left).update(reason=Ended.EXPIRED)
            record("account.on", of=("account", user.pk))
    user.is_active = True
    return bool(changed)


def rename_rater(rater: Rater, name: str = "") -> str:
    """Give a person another pseudonym, or a new random one. Raises PeopleError.

    Random orders that are stored do not change, but computing them again needs the old name.
    """
    name = name.strip()
    pseudonym = " ".join(name.split()) or new_pseudonym()
    if name and why_no_name(name, 150):
        raise PeopleError("a pseudonym is one line of up to 150 characters; change it")
    with transaction.atomic():
        if User.objects.filter(username__iexact=pseudonym).exists():
            raise PeopleError("this is the name of an account; choose another pseudonym")
        if Rater.objects.filter(name=pseudonym).exclude(pk=rater.pk).exists():
            raise PeopleError("another rater has this name; choose another pseudonym")
        Rater.objects.filter(pk=rater.pk).update(name=pseudonym)
        record("account.pseudonym", of=rater, before=rater.name, after=pseudonym)
    rater.name = pseudonym
    return pseudonym


def rename(user: User, name: str = "") -> str:
    """Give the person behind an account another pseudonym, like `rename_rater`."""
    rater = Rater.objects.filter(user=user).first()
    if rater is None:
        raise PeopleError("this account has no pseudonym until it takes its first item")
    return rename_rater(rater, name)


def uses_account_name(rater: Rater) -> bool:
    """Whether a person's pseudonym is the name of the account."""
    return rater.user is not None and rater.name.casefold() == rater.user.username.casefold()


def forget(user: User) -> str | None:
    """Delete an account and everything that identifies the person. Answers stay pseudonymous.

    Returns the pseudonym, or None if the person never took an item. Raises PeopleError.
    """
    with transaction.atomic():
        with folded():
            switch_off(user)
            rater = Rater.objects.filter(user=user).first()
            name = _forget_rater(rater) if rater else None
        Invitation.objects.filter(used_by=user).update(note="")
        login_limits.forget(user)
        # The audit log keeps only the number of the deleted account.
        record("account.forgotten", of=("account", user.pk), labels_kept=name is not None)
        user.delete()
    return name


def _forget_rater(rater: Rater) -> str | None:
    Draft.objects.filter(assignment__rater=rater).delete()
    if not Assignment.objects.filter(rater=rater).exists():
        try:
            rater.delete()
        except ProtectedError:
            pass  # Decisions or reviews refer to the rater.
        else:
            return None
    if uses_account_name(rater):
        rename_rater(rater)
    return rater.name


def _lock(user: User) -> None:
    """Lock all admins, so that no two concurrent changes remove the last admin."""
    list(User.objects.select_for_update().filter(role=User.Role.ADMIN).order_by("pk"))
    user.refresh_from_db()


def _check_admin_remains(user: User, advice: str) -> None:
    if user.role != User.Role.ADMIN or not user.is_active:
        return
    others = User.objects.filter(role=User.Role.ADMIN, is_active=True).exclude(pk=user.pk)
    if not others.exists():
        raise PeopleError(f"{user.username} is the only admin; {advice}")


@dataclass(frozen=True)
class CampaignRater:
    """A rater in a campaign: items answered and reserved, since and until when, and exclusion.

    `held_until` is the end of the first lease to expire, or None if leases do not expire.
    """

    rater: int
    name: str
    kind: str
    done: int
    held: int
    since: datetime | None
    held_until: datetime | None
    excluded: Exclusion | None


def campaign_raters(campaign: Campaign) -> list[CampaignRater]:
    """Return all raters with an answer or a lease in a campaign, people first, by pseudonym."""
    numbers = answers_by_rater(campaign)
    raters = Rater.objects.filter(pk__in=numbers).exclude(kind=Rater.Kind.TRIAL)
    times, out = _lease_times(campaign), current_exclusions(campaign)
    found = []
    for pk, name, kind in raters.values_list("pk", "name", "kind"):
        done, places = _sum_counts(numbers[pk], "done"), _sum_counts(numbers[pk], "open", "placed")
        since, until = times.get(pk, (None, None))
        found.append(CampaignRater(pk, name, kind, done, places, since, until, out.get(pk)))
    kinds = list(Rater.Kind.values)
    return sorted(found, key=lambda each: (kinds.index(each.kind), each.name))


def _sum_counts(numbers: Mapping[str, int], *words: str) -> int:
    """Return the sum of the counts whose names contain all of these words."""
    return sum(n for what, n in numbers.items() if set(words) <= set(what.split("/")))


def _lease_times(campaign: Campaign) -> dict[int, tuple[datetime, datetime | None]]:
    """Return the start of each rater's first lease and the end of the next one to expire."""
    rows = open_assignments(campaign).order_by().values_list("rater")
    times = rows.annotate(since=Min("created_at"), until=Min("held_until"))
    return {pk: (since, until) for pk, since, until in times}


def current_exclusions(campaign: Campaign) -> Mapping[int, Exclusion]:
    rows = campaign.exclusions.filter(undone_at=None).select_related("by")
    return {each.rater_id: each for each in rows}


def accounts(guests: bool = False) -> QuerySet[User]:
    """Return accounts by name, with their raters and the number of their campaign roles."""
    rows = User.objects.filter(is_guest=guests).select_related("rater")
    current = Q(memberships__ended_at=None)
    return rows.annotate(campaigns=Count("memberships", filter=current)).order_by("username")


def invitations_of(user: User) -> QuerySet[Invitation]:
    """Return the invitations that an account may see and revoke, the newest first."""
    rows = Invitation.objects.select_related("campaign", "by", "team", "used_by")
    if user.role == User.Role.ADMIN:
        return rows
    teams = Q(campaign=None, team__in=managed_teams(user))
    return rows.filter(teams | Q(campaign__in=manageable(user)))


MOST, MOST_COMPARED = 8, 500
LONGEST = 100
NAME, PART, MAIL, MAIL_PART, TEAM = range(5)
"""The ranks of the names that a word may begin, best first."""
_APART = re.compile(r"[\s._+@-]+")


@dataclass(frozen=True)
class Found:
    """An account, with its teams and its role in the campaign, empty if it has none.

    `email` is shown only to admins, and to people who typed its beginning.
    """

    account: User
    email: str
    teams: tuple[str, ...]
    role: str


def find_people(by: User, campaign: Campaign, text: str, most: int = MOST) -> list[Found]:
    """Return the accounts of which a name, e-mail or team begins with each word, best first.

    Without words, an admin gets the accounts of the campaign's team that have no role in it yet.
    Researchers then get nothing: they know raters by pseudonym, and a list of names would reveal
    more.
    """
    words = text[:LONGEST].casefold().split()
    if not words and by.role != User.Role.ADMIN:
        return []
    rows = findable(by, campaign)
    roles = dict(campaign.memberships.filter(ended_at=None).values_list("user", "role"))
    if words:
        for word in words:
            rows = rows.filter(_contains(word))
    else:
        rows = rows.filter(teams__team=campaign.team_id).exclude(pk__in=roles)
    accounts = list(rows.distinct().order_by("username")[:MOST_COMPARED])
    teams = _teams(by, accounts)
    ranked = [(rank, each) for each in accounts
              if (rank := _rank(words, each, teams.get(each.pk, ()))) is not None]  # fmt: skip
    ranked.sort(key=lambda pair: (pair[0], pair[1].username.casefold()))
    return [
        Found(
            each,
            each.email if by.role == User.Role.ADMIN or _matches_address(words, each) else "",
            tuple(teams.get(each.pk, ())),
            str(roles.get(each.pk, "")),
        )
        for _, each in ranked[:most]
    ]


def findable(by: User, campaign: Campaign) -> QuerySet[User]:
    """Return the accounts that a person may find for a campaign."""
    rows = User.objects.filter(is_active=True, is_guest=False).exclude(role=User.Role.ADMIN)
    if by.role == User.Role.ADMIN:
        return rows
    beside = TeamMember.objects.filter(Q(team__in=teams_of(by)) | Q(team=campaign.team_id)).values(
        "user"
    )
    return rows.filter(pk__in=beside)


def account_known(by: User, name: str, campaign: Campaign | None = None) -> User | None:
    """Return the account with exactly this name, if `by` may know whether it exists.

    On a site with several teams, that is an account in one of their teams or in the campaign. For
    any other name the result is the same whether it is an account's or not.
    """
    rows = User.objects.filter(username=name, is_guest=False)
    if by.role != User.Role.ADMIN and there_are_several():
        known = Q(pk=by.pk) | Q(teams__team__in=teams_of(by))
        if campaign is not None:
            known |= Q(teams__team=campaign.team_id) | Q(memberships__campaign=campaign)
        rows = rows.filter(known).distinct()
    return rows.first()


def _contains(word: str) -> Q:
    fields = ("username", "first_name", "last_name", "email", "teams__team__name")
    found = Q()
    for field in fields:
        found |= Q(**{f"{field}__icontains": word})
    return found


def _teams(by: User, accounts: Sequence[User]) -> Mapping[int, list[str]]:
    """Return the names of each account's teams, as far as `by` may know them."""
    rows = TeamMember.objects.filter(user__in=accounts).order_by("team__name")
    if by.role != User.Role.ADMIN:
        rows = rows.filter(team__in=teams_of(by))
    return grouped(rows.values_list("user", "team__name"))


def _rank(words: Sequence[str], user: User, teams: Sequence[str]) -> tuple[int, ...] | None:
    """Return the rank of each word's match, in ascending order; None if a word has no match."""
    ranks = [_rank_of(word, user, teams) for word in words]
    return None if None in ranks else tuple(sorted(each for each in ranks if each is not None))


def _rank_of(word: str, user: User, teams: Sequence[str]) -> int | None:
    names = (user.username, user.first_name, user.last_name)
    if user.username.casefold().startswith(word):
        return NAME
    if any(part.startswith(word) for name in names for part in _parts(name)):
        return PART
    if user.email.casefold().startswith(word):
        return MAIL
    if any(part.startswith(word) for part in _parts(user.email)):
        return MAIL_PART
    return TEAM if any(part.startswith(word) for team in teams for part in _parts(team)) else None


def _parts(text: str) -> list[str]:
    folded = text.casefold()
    return [folded, *_APART.split(folded)] if folded else []


def _matches_address(words: Sequence[str], user: User) -> bool:
    return any(len(word) > 2 and user.email.casefold().startswith(word) for word in words)

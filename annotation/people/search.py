"""Finding the accounts that can be added to a campaign: by the beginning of a name, e-mail or team.

A person finds the accounts in their own teams and in the campaign's team, and an admin finds all
accounts. Guests and admins are not found, since neither is added to a campaign.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Q, QuerySet

from annotation.models import Campaign, User
from datasets.models import TeamMember
from datasets.teams import teams_of, there_are_several
from tandem.grouping import grouped

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

"""Fixed shares: each person answers a part of a campaign's items that is set beforehand.

A share is a part of all answers that people give. When the campaign is created or its shares
change, each slot is allotted to the person who is furthest behind their share; nobody gets two
slots of one item. The remaining slots are for people without a share. Items are allotted in a
random order that follows from the campaign's seed, so that nobody gets only the hard ones. With the
option `allotment=queries`, all items of a query go to the same people.

An earlier round may exclude a person from an item (`earlier_rounds`). If this is known, the item is
allotted to another person, and a share that cannot be reached is refused. If it becomes known
later, anyone else may take the slot.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from django.db import transaction
from django.db.models import Count, Exists, F, IntegerField, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from annotation.models import (
    Allotment,
    Assignment,
    Campaign,
    Item,
    Membership,
    PersonShare,
    User,
)
from annotation.people.earlier_rounds import barred_items, void, why
from annotation.people.membership import AT_MOST, add_member, has_decided, workable

CHUNK = 5000
OTHERS = 0
"""Represents all people without a share."""
ROUNDING = 1e-9
FORM = "write NAME=SHARE, such as ada=0.25"


class ShareError(ValueError):
    """Shares that cannot be given. The message says what is wrong and what to do."""


def read_shares(pairs: Iterable[str]) -> dict[str, float]:
    """Read shares written as NAME=SHARE, by the names of accounts. Raises ShareError."""
    found: dict[str, float] = {}
    for pair in pairs:
        name, equals, share = (each.strip() for each in pair.rpartition("="))
        try:
            number = float(share)
        except ValueError:
            number = 0.0
        if not equals or not name:
            raise ShareError(f"share {pair!r} has no name; {FORM}")
        if name in found:
            raise ShareError(f"{name} has two shares; keep one")
        found[name] = number
    check_shares(found)
    return found


def written_shares(shares: Mapping[str, float]) -> str:
    """Return shares as one line, separated by commas."""
    return ", ".join(f"{name}={share:g}" for name, share in shares.items())


def check_shares(shares: Mapping[str, float]) -> None:
    """Raise ShareError if a share is not above 0, or if they are more than 1 together."""
    for name, share in shares.items():
        if not 0 < share <= 1:
            raise ShareError(f"the share of {name} is not above 0 and up to 1; {FORM}")
    if sum(shares.values()) > 1 + ROUNDING:
        raise ShareError(f"the shares are {sum(shares.values()):g} together; give at most 1")


def current_shares(campaign: Campaign) -> dict[str, float]:
    """Return the shares of a campaign by account name, in the order in which they were set."""
    if not campaign.has_shares:
        return {}
    return dict(campaign.person_shares.order_by("pk").values_list("user__username", "share"))


def set_shares(campaign: Campaign, shares: Mapping[str, float]) -> None:
    """Set the shares of a stored campaign, and allot its items. Raises ShareError.

    People keep items that they have begun or answered, and these count towards their share. All
    other slots are allotted again, so a person whose share became smaller may get none of them. In
    a named pool, a share makes an account of the campaign's team a member.
    """
    check_shares(shares)
    users = {user.username: user for user in User.objects.filter(username__in=shares)}
    with transaction.atomic():
        for name in shares:
            if name not in users:
                raise ShareError(f"there is no account {name!r} to have a share; create it first")
            _add_member(campaign, users[name])
            if not workable(users[name]).filter(pk=campaign.pk).exists():
                raise ShareError(f"{name} may not label in this campaign; add the person first")
        campaign.person_shares.all().delete()
        PersonShare.objects.bulk_create(
            PersonShare(campaign=campaign, user=users[name], share=share)
            for name, share in shares.items()
        )
        campaign.has_shares = bool(shares)
        campaign.save(update_fields=["has_shares"])
        allot(campaign)


def _add_member(campaign: Campaign, user: User) -> None:
    """Make an account of the team a member of a named pool, unless it has been one before."""
    role = Membership.Role.ANNOTATOR
    allowed = role in AT_MOST[user.role] and user.is_active and not user.is_guest
    in_team = user.teams.filter(team=campaign.team_id).exists()
    if campaign.pool != Campaign.Pool.NAMED or not (allowed and in_team):
        return
    if not campaign.memberships.filter(user=user).exists() and not has_decided(user, campaign):
        add_member(campaign, user, role)


@dataclass
class _Slots:
    """The slots of one item: their number, who has one already, and who can never get one.

    `key` is drawn by. Items of one `query` go to the same people; None stands by itself.
    """

    pk: int
    key: str
    quota: int
    holders: list[int] = field(default_factory=list)
    barred: Collection[int] = ()
    query: int | None = None

    def may_go_to(self, user: int) -> bool:
        return user in self.holders or user not in self.barred


def allot(campaign: Campaign) -> None:
    """Allot the slots of a campaign's study items by its shares; those in use stay as they are.

    Raises ShareError if earlier rounds leave a person too few items, or an item too few people.
    """
    shares = dict(campaign.person_shares.values_list("user", "share"))
    items = campaign.items.filter(use=Item.Use.STUDY)
    Allotment.objects.filter(item__campaign=campaign).delete()
    if not shares:
        return
    # The items are locked, so that nobody takes a slot while it is being allotted.
    locked = items.select_for_update().order_by("pk").values_list("pk", "key", "quota", "query")
    kept_from = barred_items(campaign, shares)
    slots = {
        pk: _Slots(pk, key, quota, barred=kept_from.get(query, ()))
        for pk, key, quota, query in locked
    }
    if campaign.options.get("allotment") == "queries":
        # Without a lock, since a join would also lock the queries.
        for pk, query, key in items.values_list("pk", "query", "query__key"):
            slots[pk].query, slots[pk].key = query, key
    held = Assignment.objects.filter(item__campaign=campaign, slot__isnull=False)
    for item, user in held.values_list("item", "rater__user"):
        if item in slots:
            slots[item].holders.append(user if user in shares else OTHERS)
    ordered = sorted(slots.values(), key=lambda each: _random_place(campaign.seed, each.key))
    # Items that fewer people may answer come first, so that the others can even out the shares.
    ordered.sort(key=lambda each: -len(each.barred))
    pairs = list(_allotted(shares, ordered))
    if kept_from:
        _check_reachable(campaign, shares, ordered, len(pairs))
    rows = [Allotment(item_id=item, user_id=user) for item, user in pairs]
    Allotment.objects.bulk_create(rows, batch_size=CHUNK)


def _check_reachable(
    campaign: Campaign, shares: Mapping[int, float], items: Sequence[_Slots], allotted: int
) -> None:
    """Raise ShareError if an earlier round makes the shares impossible."""
    total = sum(each.quota for each in items)
    names = dict(User.objects.filter(pk__in=shares).values_list("pk", "username"))
    for user, share in shares.items():
        can = sum(each.quota > 0 and each.may_go_to(user) for each in items)
        if can < int(share * total + ROUNDING):
            most = f"give at most {int(1000 * can / total) / 1000:g}" if can else "give no share"
            raise ShareError(
                f"{names[user]} can give {can} of {total} answers, fewer than a share of "
                f"{share:g}: {why(campaign, names[user])}; {most}"
            )
    by_others = sum(user == OTHERS for each in items for user in each.holders)
    lost = total - allotted - by_others
    if lost > 0 and sum(shares.values()) >= 1 - ROUNDING:
        who = "everybody with a share who is left"
        raise ShareError(
            f"the shares leave {lost} of {total} answers to nobody: {why(campaign, who)}; give a "
            "share to somebody else, or less than 1 together"
        )


def _random_place(seed: int, key: str) -> bytes:
    return sha256(f"shares {seed} {key}".encode("utf-8", "surrogatepass")).digest()


def _allotted(shares: Mapping[int, float], items: Sequence[_Slots]) -> Iterator[tuple[int, int]]:
    """Yield items with the people to whom they are allotted or already assigned."""
    rest = 1 - sum(shares.values())
    goals = {**shares, OTHERS: rest if rest > ROUNDING else 0.0}
    given: dict[int, int] = defaultdict(int)
    of_queries: dict[int, list[int]] = defaultdict(list)
    for item in items:
        for user in item.holders:
            given[user] += 1
        if item.query is not None:
            of_query = of_queries[item.query]
            of_query += _without(item.holders, of_query)
    total = sum(given.values())
    for item in items:
        people = set(item.holders) - {OTHERS}
        yield from ((item.pk, user) for user in sorted(people))
        of_query = [] if item.query is None else of_queries[item.query]
        first = _without(of_query, item.holders)
        for _ in range(item.quota - len(item.holders)):
            total += 1
            out = {*people, *item.barred}
            free = {user: goal for user, goal in goals.items() if user not in out and goal > 0}
            if not free:
                break
            again = [user for user in first if user in free]
            if again:
                user = again[0]
                first.remove(user)
            else:
                user = max(free, key=lambda u: (free[u] * total - given[u], -u))
                of_query.append(user)
            given[user] += 1
            if user != OTHERS:
                people.add(user)
                yield item.pk, user


def _without(users: Iterable[int], others: Iterable[int]) -> list[int]:
    """Return the users without one occurrence of each of the others."""
    left = Counter(others)
    found = []
    for user in users:
        if left[user]:
            left[user] -= 1
        else:
            found.append(user)
    return found


def allotments(campaign: Campaign) -> QuerySet[Allotment]:
    """Return the valid allotments of a campaign's items: earlier rounds may have voided some."""
    rows = Allotment.objects.filter(item__campaign=campaign)
    lost = void(campaign)
    return rows if lost is None else rows.filter(~lost)


def within_share(campaign: Campaign, user: int | None) -> Q:
    """Return the condition that an account may take an item of a campaign with shares.

    A person with a share may take the items allotted to them, and everybody else the slots allotted
    to nobody. If an item is allotted to a person who can no longer answer it, anybody may take it.
    """
    mine = allotments(campaign).filter(item=OuterRef("pk"), user=user)
    has_share = PersonShare.objects.filter(campaign=OuterRef("campaign"), user=user)
    for_all = ~Q(Exists(has_share))
    if (lost := void(campaign)) is not None:
        for_all |= Q(Exists(Allotment.objects.filter(lost, item=OuterRef("pk"))))
    return ~Q(use=Item.Use.STUDY) | Q(Exists(mine)) | (for_all & _has_open_slot(campaign, 0))


def _has_open_slot(campaign: Campaign, taken: int) -> Q:
    """Return the condition that an item has a slot neither used (`taken`) nor allotted."""
    rows = allotments(campaign).filter(item=OuterRef("pk")).order_by().values("item")
    number = Subquery(rows.annotate(n=Count("pk")).values("n"), IntegerField())
    theirs = Assignment.objects.filter(
        Exists(Allotment.objects.filter(item=OuterRef("item"), user=OuterRef("rater__user"))),
        item=OuterRef("pk"),
        slot__isnull=False,
    )
    used = theirs.order_by().values("item").annotate(n=Count("pk")).values("n")
    both = Coalesce(number, 0) - Coalesce(Subquery(used, IntegerField()), 0)
    return Q(taken__lt=F("quota") - both + taken)


def keeps_shares(item: Item, rater: int) -> bool:
    """Return whether a rater's claim leaves enough slots for the people allotted to the item.

    The caller has locked the item, and the claim counts as taken.
    """
    mine = allotments(item.campaign).filter(item=item.pk, user__rater=rater)
    if item.use != Item.Use.STUDY or mine.exists():
        return True
    return Item.objects.filter(_has_open_slot(item.campaign, 1), pk=item.pk).exists()


@dataclass(frozen=True)
class ShareStatus:
    """A person's share: how many items are allotted to them, and how many of these are done."""

    user: int
    account: str
    share: float
    allotted: int
    done: int


def share_statuses(campaign: Campaign) -> list[ShareStatus]:
    if not campaign.has_shares:
        return []
    rows = allotments(campaign).order_by()
    answered = Assignment.objects.filter(
        item=OuterRef("item"), rater__user=OuterRef("user"), status=Assignment.Status.DONE
    )
    allotted = dict(rows.values_list("user").annotate(n=Count("pk")))
    done = dict(rows.filter(Exists(answered)).values_list("user").annotate(n=Count("pk")))
    people: QuerySet[PersonShare] = campaign.person_shares.select_related("user").order_by("pk")
    return [
        ShareStatus(
            each.user_id,
            each.user.username,
            each.share,
            allotted.get(each.user_id, 0),
            done.get(each.user_id, 0),
        )
        for each in people
    ]


def allotted_by_rater(campaign: Campaign) -> dict[int, int]:
    """Return the number of allotted items by rater; raters without a share are left out."""
    if not campaign.has_shares:
        return {}
    rows = allotments(campaign).filter(user__rater__isnull=False)
    return dict(rows.order_by().values_list("user__rater").annotate(n=Count("pk")))

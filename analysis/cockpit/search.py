"""Search over the whole site: pages, readable campaigns, batches, people, judges and queries."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from django.db.models import Q, QuerySet
from django.urls import reverse

from analysis.cockpit.page_index import address, campaign_pages, site_pages
from analysis.models import StudyPart
from analysis.study.access import readable_studies
from annotation.models import Campaign, Rater, Tally, User
from annotation.people.membership import readable
from annotation.registry import get_protocol
from datasets.access import visible_batches
from datasets.models import Query
from judging.access import visible_judges

MOST, MOST_WORDS, SHORTEST = 8, 6, 2


@dataclass(frozen=True)
class Hit:
    """A search result: its name, its context and its page."""

    name: str
    of: str
    address: str


def search(user: User, text: str) -> dict[str, list[Hit]]:
    """Return hits by kind, at most `MOST` of each. The name or text must contain every word."""
    words = [word for word in text.split() if len(word) >= SHORTEST][:MOST_WORDS]
    if not words:
        return {}
    found = {kind: list(of(user, words)) for kind, of in KINDS.items()}
    return {kind: hits for kind, hits in found.items() if hits}


def _pages(user: User, words: list[str]) -> Iterator[Hit]:
    found = [Hit(page.name, page.about, address(page)) for page in site_pages(user, words)]
    found += [
        Hit(page.name, f"of {campaign.name}", address(page, campaign))
        for page, campaign in campaign_pages(user, words, MOST)
    ]
    yield from found[:MOST]


def _campaigns(user: User, words: list[str]) -> Iterator[Hit]:
    rows = _containing(
        readable(user).select_related("batch"), words, "name", "batch__name", "protocol"
    )
    for each in rows.order_by("-is_open", "is_archived", "name")[:MOST]:
        state = "" if each.is_open else " · archived" if each.is_archived else " · closed"
        of = f"{get_protocol(each).title} · {each.batch.name}{state}"
        yield Hit(each.name, of, reverse("campaign", args=[each.pk]))


def _batches(user: User, words: list[str]) -> Iterator[Hit]:
    for each in _containing(visible_batches(user), words, "name")[:MOST]:
        yield Hit(each.name, "", reverse("batch", args=[each.pk]))


def _people(user: User, words: list[str]) -> Iterator[Hit]:
    """Yield accounts for admins; for researchers, pseudonyms of people who answered their
    campaigns.
    """
    if user.role == User.Role.ADMIN:
        for each in _containing(User.objects.all(), words, "username", "rater__name")[:MOST]:
            yield Hit(each.username, each.role, reverse("person", args=[each.pk]))
        return
    there = dict(readable(user).values_list("pk", "name"))
    people = _containing(Rater.objects.filter(kind=Rater.Kind.HUMAN), words, "name")
    places = Tally.objects.filter(rater__in=people, campaign__in=there)
    rows = places.order_by("rater__name").values_list("rater", "rater__name", "campaign")
    for rater, name, campaign in rows.distinct()[:MOST]:
        yield Hit(name, there[campaign], reverse("campaign-rater", args=[campaign, rater]))


def _judges(user: User, words: list[str]) -> Iterator[Hit]:
    rows = _containing(visible_judges(user).filter(base=None), words, "rater__name", "model")
    for each in rows[:MOST]:
        yield Hit(each.rater.name, each.model or each.backend, reverse("judge", args=[each.pk]))


def _queries(user: User, words: list[str]) -> Iterator[Hit]:
    rows = Query.objects.filter(batch__in=visible_batches(user)).select_related("batch")
    for each in _containing(rows, words, "text", "key").order_by("batch", "position")[:MOST]:
        address = reverse("query", args=[each.batch_id, each.position])
        yield Hit(each.text, f"{each.batch.name} · {each.key}", address)


def _studies(user: User, words: list[str]) -> Iterator[Hit]:
    """Yield studies by name, then their campaigns, since some people may read only those."""
    for study in _containing(readable_studies(user), words, "name")[:MOST]:
        yield Hit(study.name, "", reverse("study", args=[study.pk]))
    mine = Campaign.objects.filter(pk__in=readable(user).values("pk"))
    rows = StudyPart.objects.filter(campaign__in=mine).select_related("study", "campaign")
    for each in _containing(rows, words, "study__name").order_by("study__name", "position")[:MOST]:
        assert each.campaign is not None
        address = reverse("campaign", args=[each.campaign.pk])
        yield Hit(each.campaign.name, f"campaign of study {each.study.name}", address)


def _containing(rows: QuerySet, words: list[str], *fields: str) -> QuerySet:
    """Filter rows in which each word occurs in one of the fields, ignoring case."""
    for word in words:
        one = Q()
        for field in fields:
            one |= Q(**{f"{field}__icontains": word})
        rows = rows.filter(one)
    return rows


KINDS: Mapping[str, Callable[[User, list[str]], Iterator[Hit]]] = {
    "Pages": _pages,
    "Campaigns": _campaigns,
    "Studies": _studies,
    "Batches": _batches,
    "Judges": _judges,
    "People": _people,
    "Queries": _queries,
}

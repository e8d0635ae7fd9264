"""Search over the whole site: pages, readable campaigns, batches, people, judges and queries."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Q, QuerySet
from django.urls import reverse

from analysis.models import StudyPart
from analysis.study.access import readable_studies
from annotation.models import Campaign, Rater, Tally, User
from annotation.people.membership import manageable, readable
from annotation.registry import get_protocol
from datasets.access import visible_batches
from datasets.models import Query
from judging.access import visible_judges

ADMIN, LABELS = (User.Role.ADMIN,), (User.Role.RESEARCHER,)
EVERYBODY = (User.Role.RESEARCHER, User.Role.ADMIN)
MOST_CAMPAIGNS = 3
"""Of so many campaigns, the newest open ones, a page is found if no word names a campaign."""


@dataclass(frozen=True)
class Page:
    """A page: its name, its route, what is on it, and further words by which it is found.

    A page of a campaign that `changes` something is only for accounts that manage the campaign.
    """

    name: str
    route: str
    about: str
    words: str = ""
    roles: Sequence[str] = EVERYBODY
    changes: bool = False
    anchor: str = ""

    def has(self, word: str) -> bool:
        """Whether a word of the page begins with this one, in whatever case."""
        known = f"{self.name} {self.words}".lower().split()
        return any(each.startswith(word.lower()) for each in known)

    def is_called(self, words: Sequence[str]) -> bool:
        name = self.name.lower().split()
        return all(any(each.startswith(word.lower()) for each in name) for word in words)


PAGES = (
    Page("My work", "work", "what you label", "tasks annotate label continue", LABELS),
    Page("Studies", "studies", "chains of batches and campaigns", "study chain overview"),
    Page("Campaigns", "campaigns", "what people and judges are asked", "home start agreement"),
    Page("New campaign", "campaign-new", "over a loaded batch", "create add protocol design"),
    Page("Batches", "batches", "the loaded material", "data queries passages"),
    Page("Upload files", "upload-new", "load a batch", "new batch import add data create"),
    Page("Judges", "judges", "LLM judges and what they answered", "models llm"),
    Page("New judge", "judge-new", "server, model and prompt", "create add llm model prompt"),
    Page("Reports and exports", "jobs", "what you asked for", "your jobs queue files downloads"),
    Page("Account and API tokens", "tokens", "your account", "key password language profile"),
    Page("Second factor", "mfa_index", "your account", "two-factor 2fa authenticator codes"),
    Page("API", "api-docs", "addresses for scripts", "openapi documentation rest swagger"),
    Page("Teams", "teams", "who shares batches and campaigns", "groups"),
    Page("People", "people", "accounts and invitations", "users members roles", ADMIN),
    Page("Invite a person", "invite", "a new account", "add user account", ADMIN),
    Page(
        "Doctor",
        "doctor",
        "whether this installation is well",
        "health status system check backup workers disk installation version settings",
        ADMIN,
    ),
    Page("Audit trail", "audit", "who changed or downloaded what", "log history events", ADMIN),
)

CAMPAIGN_PAGES = (
    Page("Results", "results", "", "report agreement kappa alpha verdict measures figures"),
    Page("Disagreements", "disagreements", "", "disputes errors confusion differ adjudicate"),
    Page("Data", "campaign-data", "", "items labels answers"),
    Page("People", "campaign-progress", "", "annotators raters progress quality"),
    Page("Judges", "judges-compared", "", "llm models compare cost"),
    Page("Settings", "campaign-settings", "", "deadline gold close archive rules language pay"),
    Page("Guideline", "campaign-settings", "", "instructions", changes=True, anchor="id_guideline"),
    Page("Add people", "campaign-people", "", "members invite annotators pool", changes=True),
    Page("Run a judge", "campaign-judge-start", "", "start llm", changes=True),
    Page("Import labels", "campaign-import", "", "upload csv template", changes=True),
    Page("Exports", "exports", "", "download labels csv jsonl parquet trec", changes=True),
    Page("Audit trail", "campaign-audit", "", "log history events"),
)


def site_pages(user: User, words: Sequence[str]) -> Iterator[Page]:
    """Yield pages that have every word, first those whose names have them all."""
    found = [page for page in PAGES if user.role in page.roles and all(map(page.has, words))]
    yield from sorted(found, key=lambda page: not page.is_called(words))


def campaign_pages(user: User, words: Sequence[str], most: int) -> Iterator[tuple[Page, Campaign]]:
    """Yield pages of campaigns: some of the words name the page, and the others the campaign."""
    for page in CAMPAIGN_PAGES:
        others = [word for word in words if not page.has(word)]
        if len(others) == len(words):
            continue
        campaigns = (manageable if page.changes else readable)(user)
        for word in others:
            campaigns = campaigns.filter(name__icontains=word)
        limit = most if others else MOST_CAMPAIGNS
        for campaign in campaigns.filter(is_archived=False).order_by("-is_open", "-pk")[:limit]:
            yield page, campaign


def address(page: Page, campaign: Campaign | None = None) -> str:
    anchor = f"#{page.anchor}" if page.anchor else ""
    return reverse(page.route, args=[campaign.pk] if campaign else []) + anchor


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

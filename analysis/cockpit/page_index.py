"""The pages that the search finds by their names, and by other words for what is on them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.urls import reverse

from annotation.models import Campaign, User
from annotation.people.membership import manageable, readable

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

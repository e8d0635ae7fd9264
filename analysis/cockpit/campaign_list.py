"""The list of campaigns, a researcher's first page: those that need attention come first.

A column is a property of `Row`, and a cell in `templates/cockpit/campaign_list.html`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from analysis.attention import Facts, Matter, facts_of, matters, note_look
from analysis.cockpit.tiles import Tiles, tiles_of
from analysis.models import StudyPart
from annotation.access import get_account, my_assignments
from annotation.models import Assignment, Campaign, User
from annotation.people.membership import manageable, readable
from annotation.registry import get_protocol
from datasets.access import READERS, role_required

MOST_LISTED, MOST_CHECKED = 100, 200
"""How many a page shows, and how many of the open ones are checked for matters: the newest."""
STATES = {"open": "open", "closed": "closed", "archived": "archived"}


@dataclass(frozen=True)
class Row:
    """A campaign in the list: its facts, its matters, and its study.

    `is_blind` says that the account has an open item there, so no figure is shown.
    """

    campaign: Campaign
    title: str
    facts: Facts
    needs: Sequence[Matter]
    study: str
    manages: bool
    is_blind: bool

    @property
    def pressing(self) -> Sequence[Matter]:
        """The matters that need somebody. Hints say the same of most campaigns at their end."""
        return [each for each in self.needs if each.severity != "hint"]

    @cached_property
    def tiles(self) -> Tiles:
        """The tiles of the campaign's first page. Reading them records what they show."""
        return tiles_of(self.facts, self.is_blind)

    @property
    def has_agreement(self) -> bool:
        """Whether people have labels in common, so that their agreement can be known."""
        return self.tiles.people is not None or self.lacks_report

    @property
    def lacks_report(self) -> bool:
        people = self.facts.campaign.people  # type: ignore[attr-defined]
        return self.facts.report is None and people > 1

    @property
    def urgency(self) -> int:
        """The campaign's urgency: urgent matters weigh most, hints do not count."""
        weights = {"urgent": 100, "warning": 1, "hint": 0}
        return sum(weights[each.severity] for each in self.needs)


@require_safe
@role_required(*READERS)
def campaigns(request: HttpRequest) -> HttpResponse:
    """List the campaigns that the account may read, those that need attention first."""
    user = get_account(request)
    given = {name: request.GET.get(name, "").strip() for name in ("state", "find")}
    state = given["state"] if given["state"] in STATES else "open"
    found = search_campaigns(user, state, given["find"]).order_by("-pk")
    keys = list(found.values_list("pk", flat=True))
    # Campaigns that are not checked stay in order of age.
    rows = rows_of(user, keys[:MOST_CHECKED]) if state == "open" else []
    order = [row.campaign.pk for row in rows] + keys[len(rows) :]
    page = Paginator(order, MOST_LISTED).get_page(request.GET.get("page"))
    known = {row.campaign.pk: row for row in rows}
    others = rows_of(user, [pk for pk in page if pk not in known])
    known |= {row.campaign.pk: row for row in others}
    shown = [known[pk] for pk in page]
    note_looks(shown)
    counts = counts_of(user)
    context = {
        "rows": shown,
        "needs": any(row.pressing for row in shown),
        "page": page,
        "states": [(name, label, counts[name]) for name, label in STATES.items()],
        "state": state,
        "find": given["find"],
        "query": urlencode({name: text for name, text in given.items() if text}),
        "any": sum(counts.values()) > 0,
    }
    return render(request, "cockpit/campaign_list.html", context)


def search_campaigns(user: User, state: str, find: str) -> QuerySet[Campaign]:
    """Return readable campaigns in a state, with the given words in their names.

    The words are looked for in the names of the campaign, its batch, its task and its study.
    """
    rows = readable(user).filter(
        is_open=state not in ("closed", "archived"), is_archived=state == "archived"
    )
    for word in find.split():
        studies = StudyPart.objects.filter(study__name__icontains=word, campaign__isnull=False)
        rows = rows.filter(
            Q(name__icontains=word)
            | Q(batch__name__icontains=word)
            | Q(protocol__icontains=word)
            | Q(pk__in=studies.values("campaign"))
        )
    return rows


def counts_of(user: User) -> dict[str, int]:
    """Count an account's campaigns by state."""
    return {state: search_campaigns(user, state, "").count() for state in STATES}


def rows_of(user: User, campaigns: Sequence[int]) -> list[Row]:
    """Return rows for campaigns by primary key, those that need attention first, then by name."""
    studies, blind = _studies(campaigns), _blind(user, campaigns)
    managed = set(manageable(user).filter(pk__in=campaigns).values_list("pk", flat=True))
    rows = [
        Row(
            facts.campaign,
            get_protocol(facts.campaign).title,
            facts,
            matters(facts, facts.campaign.pk in managed, facts.campaign.pk in blind),
            studies.get(facts.campaign.pk, ""),
            facts.campaign.pk in managed,
            facts.campaign.pk in blind,
        )
        for facts in facts_of(campaigns)
    ]
    return sorted(rows, key=lambda row: (-row.urgency, not row.needs, row.campaign.name))


def note_looks(rows: Sequence[Row]) -> None:
    """Record in the ledger what the shown rows reveal about people's answers."""
    for row in rows:
        note_look(row.facts, row.pressing)


def _studies(campaigns: Sequence[int]) -> Mapping[int, str]:
    parts = StudyPart.objects.filter(campaign__in=campaigns).order_by("study__name")
    return dict(parts.values_list("campaign", "study__name"))


def _blind(user: User, campaigns: Sequence[int]) -> set[int]:
    """Return the campaigns in which the account has an open item, like `is_blind` for one."""
    begun = my_assignments(user).filter(
        status=Assignment.Status.OPEN,
        item__campaign__in=campaigns,
        item__campaign__is_open=True,
    )
    return set(begun.order_by().values_list("item__campaign", flat=True))

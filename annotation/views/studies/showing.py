"""What the page of a campaign shows: its design, draw, known answers and guidelines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import Count
from django.db.models.functions import Substr

from annotation.basis import LENGTH
from annotation.declared import declared
from annotation.drawn import summary
from annotation.gold.admitting import admissible
from annotation.gold.scoring import Score, passes, scores
from annotation.models import Campaign, Item, Rater, Response, User
from annotation.presenting import design
from annotation.progress.keeping import kept
from annotation.views.mine import is_blind
from annotation.views.studies.forms import ITEM_ORDERS
from annotation.views.studies.known import KnownForm
from annotation.views.studies.terms import TermsForm, initial_of, seen_of

MOST_PEOPLE = 200
ORDER_WORDS = dict(ITEM_ORDERS)


@dataclass(frozen=True)
class Person:
    """How somebody did on the items whose answers are known; None where there are none."""

    rater: Rater
    gold: Score | None
    practice: Score | None
    passed: bool
    admitted: bool


def context_of(
    campaign: Campaign, user: User, form: TermsForm | None = None, known: KnownForm | None = None
) -> dict[str, Any]:
    if form is None:
        form = TermsForm(initial=initial_of(campaign))
        form.offer_practice(user, campaign)
    drawn, blind = summary(campaign), is_blind(user, campaign)
    return {
        "campaign": campaign,
        "protocol": declared(campaign),
        "facts": facts(campaign),
        "form": form,
        "seen": seen_of(campaign),
        "known": known or KnownForm(),
        "drawn": drawn,
        "blind": blind,
        "people": [] if blind else people(campaign, drawn),
        "guidelines": guidelines(campaign),
    }


def facts(campaign: Campaign) -> list[tuple[str, str]]:
    """The design in words, what is usual left out."""
    chosen, options = design(campaign), campaign.options
    found = [
        ("People on an item", str(chosen.raters_per_item)),
        ("Seed", str(chosen.seed)),
        ("Order of items", ORDER_WORDS[chosen.items]),
    ]
    if chosen.overlap < 1:
        found.append(("Items with all of them", f"{chosen.overlap:.0%}"))
    if chosen.human_share < 1:
        found.append(("Queries for people", f"{chosen.human_share:.0%}"))
    roles = {name: options.get(name) for name in ("development", "audit")}
    found += [(f"Queries for {name}", f"{share:.0%}") for name, share in roles.items() if share]
    if chosen.variables:
        found.append(("Asks", ", ".join(chosen.variables)))
    names = {"prerequisite": "Comes after", "validates": "Shows the verdicts of",
             "strata": "Draws by the labels of", "sampling": "Units of an item"}  # fmt: skip
    found += [(word, str(options[name])) for name, word in names.items() if options.get(name)]
    return found


def people(campaign: Campaign, drawn: dict[str, Any]) -> list[Person]:
    """Those who have begun here, where any answer is known beforehand."""
    first = campaign.practice_of
    if not drawn["gold"] and first is None:
        return []
    raters = list(admissible(campaign).order_by("name")[:MOST_PEOPLE])
    keys = [rater.pk for rater in raters]
    gold = scores(campaign, keys, Item.Use.GOLD) if drawn["gold"] else {}
    practice = scores(first, keys, Item.Use.PRACTICE) if first else {}
    admitted = set(campaign.admissions.filter(rater__in=keys).values_list("rater", flat=True))
    return [
        Person(
            rater,
            gold.get(rater.pk),
            told := practice.get(rater.pk),
            told is not None and passes(campaign, told),
            rater.pk in admitted,
        )
        for rater in raters
    ]


def guidelines(campaign: Campaign) -> list[dict[str, Any]]:
    """The versions of a campaign's own guideline, the newest first, with their answers."""
    versions = list(campaign.guidelines.select_related("by").order_by("-version"))
    if not any(each.digest for each in versions):
        answers = {}
    else:
        answers = kept(f"guideline-answers-{campaign.pk}", lambda: _counted(campaign))
    return [{"version": each, "answers": answers.get(each.digest, 0)} for each in versions]


def _counted(campaign: Campaign) -> tuple[dict[str, int], int]:
    found = _answers(campaign)
    return found, sum(found.values())


def _answers(campaign: Campaign) -> dict[str, int]:
    """How many items people answered under each guideline, by its digest."""
    answers = Response.objects.filter(
        assignment__item__campaign=campaign,
        assignment__rater__kind=Rater.Kind.HUMAN,
        basis__isnull=False,
    )
    digest = Substr("basis", 2 * (LENGTH + 1) + 1)
    rows = answers.order_by().values_list(digest).annotate(n=Count("assignment", distinct=True))
    return {of: n for of, n in rows if of}

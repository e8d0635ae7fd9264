"""The page of a judge's answers in a campaign, as cards by item or by unit."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotation.access import readable_campaign
from annotation.counters import answers, answers_by_rater
from annotation.item_context import word_of
from annotation.models import Assignment, Campaign, Item
from annotation.presentation import schema
from datasets.access import READERS, role_required
from datasets.text import number_in
from judging.access import blind_page, visible_judge
from judging.answer_cards import Choice, cards_of, judged_items
from judging.models import Judge, JudgeRun

ITEMS, UNITS = 10, 12
"""Cards on a page: so many items, or items with about so many units."""
LONGEST_SEARCH, LAST_PAGE = 200, 1_000_000
STATES = {"": "All answers", "failed": "Missing", "repaired": "Repaired"}
PARAMETERS = ("by", "variable", "verdict", "state", "reason", "find", "item")


@require_safe
@role_required(*READERS)
def judge_answers(request: HttpRequest, pk: int, judge: int) -> HttpResponse:
    """List the answers of a judge, a page at a time; htmx gets the list alone."""
    campaign, asked = readable_campaign(request, pk), visible_judge(request, judge)
    if not Assignment.objects.filter(item__campaign=campaign, rater=asked.rater_id).exists():
        raise Http404
    if blind := blind_page(request, campaign):
        return blind
    given = {name: request.GET.get(name, "").strip()[:LONGEST_SEARCH] for name in PARAMETERS}
    choice, by_unit = _choice(campaign, given), given["by"] == "unit"
    page, items, has_next = _page(campaign, asked, choice, by_unit, request.GET.get("page", ""))
    context = {
        "campaign": campaign,
        "judge": asked,
        "cards": cards_of(campaign, asked, items, choice, by_unit),
        "by_unit": by_unit,
        "choice": choice,
        "given": given,
        "states": STATES,
        "variables": _variables(campaign),
        "verdicts": _verdicts(campaign, choice.variable),
        "counts": _counts(campaign, asked),
        "page": page,
        "has_next": has_next,
        "query": urlencode({name: text for name, text in given.items() if text}),
        "run": JudgeRun.objects.filter(campaign=campaign, judge=asked).order_by("-pk").first(),
    }
    in_place = bool(request.htmx)  # type: ignore[attr-defined]
    return render(request, "judges/_answers.html" if in_place else "judges/answers.html", context)


def _choice(campaign: Campaign, given: dict[str, str]) -> Choice:
    names = _variables(campaign)
    variable = given["variable"] if given["variable"] in names else names[0]
    codes = dict(_verdicts(campaign, variable))
    return Choice(
        variable,
        given["verdict"] if given["verdict"] in codes else "",
        given["state"] if given["state"] in STATES else "",
        given["reason"],
        given["find"],
        number_in(given["item"]) if given["item"] else None,
    )


def _variables(campaign: Campaign) -> list[str]:
    return list(dict.fromkeys(each.name for each in schema(campaign).variables))


def _verdicts(campaign: Campaign, variable: str) -> list[tuple[str, str]]:
    """Return the codes of a variable with the words of their buttons."""
    found = schema(campaign).variable(variable)
    answers = found.answers if found else ()
    none = ("[]",) if found and found.several else ()
    return [(code, word_of(found, code)) for code in (*answers, *none)] if found else []


def _page(
    campaign: Campaign, judge: Judge, choice: Choice, by_unit: bool, number: str
) -> tuple[int, list[Item], bool]:
    """Return the number of the page, its items, and whether another one follows.

    The pages are not counted, since that would read every answer.
    """
    found = judged_items(campaign, judge, choice)
    size = ITEMS
    if by_unit:
        first = found.first()
        units = first.units.count() if first else 1
        size = max(1, UNITS // max(1, units))
    page = min(max(1, number_in(number) or 1), LAST_PAGE)
    items = list(found[(page - 1) * size : page * size + 1])
    return page, items[:size], len(items) > size


def _counts(campaign: Campaign, judge: Judge) -> dict[str, Any]:
    """Return the numbers of existing, missing and open answers, from the counters."""
    known = answers_by_rater(campaign).get(judge.rater_id, {})
    counts = {
        status: sum(known.get(answers(use, status, False), 0) for use in Item.Use.values)
        for status in ("done", "failed", "open")
    }
    return {**counts, "unit": judge.granularity == Judge.Granularity.UNIT}

"""Pages of disagreements: the list, a unit opened in place, its tag, and the list as a file.

A job collects the labels by unit. The list uses the last finished job.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from analysis.disagreements.actions import (
    ACTIONS,
    ActionError,
    SelectedUnits,
    carry_out,
    plan_action,
    sentences,
    target_named,
    targets_of,
)
from analysis.disagreements.choose import SORTS
from analysis.disagreements.detail import detail_of, with_words
from analysis.disagreements.file import LISTED, LOOK
from analysis.disagreements.file import question as question_of_file
from analysis.disagreements.jobs import VOTES, question, votes_in
from analysis.disagreements.listing import UnitList
from analysis.disagreements.tags import set_tag, tag_counts, tags_of
from analysis.disagreements.votes import Votes
from analysis.drafts.tag_groups import sections_of
from analysis.models import UnitTag
from annotation.access import get_account, managed_campaign, readable_campaign
from annotation.adjudication import adjudicable
from annotation.exposure.ledger import FEWEST_UNITS, saw_answers, saw_figures
from annotation.models import Campaign, Unit
from annotation.people.membership import may_manage
from annotation.presentation import schema, whole_guideline
from audit.recording import record_export
from datasets.access import READERS, role_required
from datasets.jobs import pages as jobs
from datasets.jobs import results
from datasets.text import as_sentence, number_in
from judging.access import blind_page, check_reviewer, may_review

PAGE = 10
"""The number of units on a page, which fit on two screens of a phone."""
SIZES = (PAGE, 50, 100)
FEW = 4
"""Up to this many raters of a kind, a row names each one; otherwise it counts them by answer."""


@require_safe
@role_required(*READERS)
def disagreements(request: HttpRequest, pk: int) -> HttpResponse:
    campaign = readable_campaign(request, pk)
    if blind := blind_page(request, campaign):
        return blind
    variable, place = _variable(request, campaign), request.path
    job_options = question(campaign, variable, request.GET)
    shown = jobs.result_or_progress(
        request, VOTES, job_options, place, place, "#disagreements", votes_in
    )
    if isinstance(shown, HttpResponse):
        return shown
    context = {"campaign": campaign, "shown": shown}
    if shown.value is not None:
        listed = UnitList(request.GET.dict(), campaign, variable, shown.value)
        context |= _list(request, campaign, listed)
    part = request.htmx and not request.htmx.boosted  # type: ignore[attr-defined]
    name = "disagreements/_list.html" if part else "disagreements/list.html"
    return render(request, name, context)


def _list(request: HttpRequest, campaign: Campaign, listed: UnitList) -> dict[str, Any]:
    """Return the page's context for the chosen units."""
    size = _size(request)
    page = Paginator(listed.found, size).get_page(request.GET.get("page"))
    counts, user = tag_counts(campaign, listed.variable), get_account(request)
    return {
        "listed": listed,
        "page": page,
        "rows": list(_rows(campaign, map(listed.table.votes, page.object_list), listed)),
        "shows": listed.shows,
        "sorts": SORTS,
        "tags": UnitTag.Tag.choices,
        "tag_counts": [(tag, label, counts[tag]) for tag, label in UnitTag.Tag.choices],
        "has_tags": bool(counts),
        "query": listed.query(),
        "size": "" if size == PAGE else size,
        "pages_query": _with_size(listed, size),
        "sizes": list(_sizes(listed)),
        "adjudicable": adjudicable(user).filter(pk=campaign.pk).exists(),
        "manages": may_manage(user, campaign.pk),
        "actions": ACTIONS,
    }


def _size(request: HttpRequest) -> int:
    asked = number_in(request.GET.get("rows", ""))
    return asked if asked in SIZES else PAGE


def _with_size(listed: UnitList, size: int) -> str:
    return listed.query() if size == PAGE else listed.query(rows=str(size))


def _sizes(listed: UnitList) -> Iterator[tuple[int, str]]:
    """Yield each useful page size for the number of units found, with its query string."""
    for number, size in enumerate(SIZES):
        if number == 0 or len(listed.found) > SIZES[number - 1]:
            yield size, _with_size(listed, size)


def _rows(
    campaign: Campaign, votes_shown: Iterable[Votes], listed: UnitList
) -> Iterator[dict[str, Any]]:
    """Yield the content of each unit's line in the list."""
    shown = list(votes_shown)
    saw_answers(LOOK, campaign, units=[each.unit for each in shown])
    saw_figures(LOOK, campaign, len(listed.table))
    units = with_words(campaign, [each.unit for each in shown])
    tags = tags_of(units, listed.variable)
    for votes in shown:
        unit, words = units[votes.unit]
        yield {
            "votes": votes,
            "unit": unit,
            "words": words,
            "people": list(_answers_with_raters(votes.people, listed.words)),
            "judges": list(_answers_with_raters(votes.judges, listed.words)),
            "query": unit.item.query,
            "said": votes.judges.get(listed.choice.judge),
            "score": votes.scores.get(listed.choice.judge),
            "tag": tags.get(votes.unit),
        }


def _answers_with_raters(
    codes: Mapping[str, str], words: Mapping[str, str]
) -> Iterator[tuple[str, str, int]]:
    """Yield each answer's raters, word and count; one line per rater if there are few."""
    if len(codes) <= FEW:
        yield from ((who, words.get(code, code), 1) for who, code in codes.items())
        return
    for code, number in Counter(codes.values()).most_common():
        who = ", ".join(name for name, given in codes.items() if given == code)
        yield who, words.get(code, code), number


@require_safe
@role_required(*READERS)
def unit(request: HttpRequest, pk: int, unit: int) -> HttpResponse:
    """Show one unit with everybody's answers: in place, or as a page of its own."""
    campaign = readable_campaign(request, pk)
    if blind := blind_page(request, campaign):
        return blind
    return _unit_page(request, campaign, _unit(campaign, unit))


def _unit(campaign: Campaign, pk: int) -> Unit:
    units = Unit.objects.filter(item__campaign=campaign).select_related("item__query")
    return get_object_or_404(units, pk=pk)


def _unit_page(
    request: HttpRequest, campaign: Campaign, found: Unit, problem: str = "", status: int = 200
) -> HttpResponse:
    variable = _variable(request, campaign)
    context = {
        "campaign": campaign,
        "detail": detail_of(campaign, found),
        "variable": variable,
        "tag": tags_of([found.pk], variable).get(found.pk),
        "tags": UnitTag.Tag.choices,
        "sections": sections_of(whole_guideline(campaign)),
        "reviews": may_review(get_account(request), campaign),
        "problem": problem,
    }
    in_place = bool(request.htmx)  # type: ignore[attr-defined]
    name = "disagreements/_unit.html" if in_place else "disagreements/unit.html"
    return render(request, name, context, status=200 if in_place else status)


def _variable(request: HttpRequest, campaign: Campaign) -> str:
    name = request.POST.get("variable") or request.GET.get("variable", "")
    names = [each.name for each in schema(campaign).variables]
    return name if name in names else names[0]


@require_POST
@role_required(*READERS)
def tag(request: HttpRequest, pk: int, unit: int) -> HttpResponse:
    """Tag a unit or remove its tag; for accounts that may review the campaign's answers."""
    campaign = readable_campaign(request, pk)
    check_reviewer(get_account(request), campaign)
    if blind := blind_page(request, campaign):
        return blind
    found, user = _unit(campaign, unit), get_account(request)
    tag, note, section = (request.POST.get(name, "") for name in ("tag", "note", "section"))
    try:
        set_tag(found, _variable(request, campaign), tag, note, user, section)
    except ValueError as error:
        return _unit_page(request, campaign, found, str(error), 422)
    if request.htmx:  # type: ignore[attr-defined]
        return _unit_page(request, campaign, found)
    back = reverse("disagreement", args=[campaign.pk, found.pk])
    return redirect(f"{back}?{urlencode({'variable': _variable(request, campaign)})}")


def _whole_list(request: HttpRequest, campaign: Campaign) -> UnitList | HttpResponse:
    """Return the listed units as they are now, or the page that waits for them."""
    variable = _variable(request, campaign)
    asked = jobs.follow(request, VOTES, question(campaign, variable, request.GET))
    if not asked.is_current:
        page = jobs.address_of(request, reverse("disagreements", args=[campaign.pk]))
        return jobs.waiting_page(request, asked.job, page)
    try:
        return UnitList(request.GET.dict(), campaign, variable, votes_in(asked.job))
    except results.GoneError:
        return redirect(request.get_full_path())


@require_http_methods(["GET", "HEAD", "POST"])
@role_required(*READERS)
def act(request: HttpRequest, pk: int, name: str) -> HttpResponse:
    """Show what an action can take of the listed units, and carry it out on POST."""
    campaign = managed_campaign(request, pk)
    if name not in ACTIONS:
        raise Http404
    if blind := blind_page(request, campaign):
        return blind
    listed = _whole_list(request, campaign)
    if isinstance(listed, HttpResponse):
        return listed
    return _act(request, listed, name)


def _act(request: HttpRequest, listed: UnitList, name: str) -> HttpResponse:
    campaign, action, user = listed.campaign, ACTIONS[name], get_account(request)
    into = request.POST.get("into", request.GET.get("into", ""))
    context = {"campaign": campaign, "action": action, "query": listed.query(), "listed": listed}
    few = listed.units if len(listed.units) < FEWEST_UNITS else ()
    # An empty list reveals all compared units, too.
    saw_figures(LOOK, campaign, len(listed.units) or len(listed.table), units=few)
    if action.needs_target:
        context |= {"targets": targets_of(campaign, user), "into": into}
    try:
        target = target_named(campaign, into, user) if into else None
        chosen = SelectedUnits(campaign, listed.variable, listed.units, target)
        if request.method == "POST":
            number, _ = carry_out(action, chosen, user)
            context["done"] = f"{chosen.count(number)} {action.done}."
        elif target is not None or not action.needs_target:
            found = plan_action(action, chosen)
            context |= {"found": found, "sentences": list(sentences(action, found, chosen))}
    except ActionError as error:
        context["problem"] = as_sentence(error)
    return render(
        request, "disagreements/act.html", context, status=422 if "problem" in context else 200
    )


@require_safe
@role_required(*READERS)
def download(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Send the listed units as CSV, or the page that waits for the job that writes them."""
    campaign = managed_campaign(request, pk)
    if blind := blind_page(request, campaign):
        return blind
    job_options = question_of_file(campaign, _variable(request, campaign), request.GET.dict())
    back = jobs.address_of(request, reverse("disagreements", args=[pk]))
    record = partial(record_export, request, pk, "disagreements", "csv")
    return jobs.file(request, LISTED, job_options, back, record)

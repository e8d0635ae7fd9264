"""Pages of disagreements: the list beside the opened unit, its tag, and the list as a file.

A job collects the labels by unit. The list uses the last finished job.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
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
    set_tag,
    tag_counts,
    tags_of,
    target_named,
    targets_of,
)
from analysis.disagreements.choose import SORTS
from analysis.disagreements.detail import detail_of, with_words
from analysis.disagreements.file import LISTED, LOOK
from analysis.disagreements.file import question as question_of_file
from analysis.disagreements.listing import UnitList
from analysis.disagreements.votes import Votes
from analysis.disagreements.votes_job import VOTES, question, votes_in
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
from datasets.text import as_sentence
from datasets.work import pages as jobs
from datasets.work import results
from judging.access import blind_page, check_reviewer, may_review

PAGE = 50
"""The number of units on a page of the list."""
TAG_KEYS = {
    UnitTag.Tag.JUDGE_WRONG: "w",
    UnitTag.Tag.PEOPLE_WRONG: "p",
    UnitTag.Tag.AMBIGUOUS: "a",
    UnitTag.Tag.GUIDELINE_GAP: "g",
}
"""The key that sets each tag."""
TAGS = [(tag.value, tag.label, TAG_KEYS[tag]) for tag in UnitTag.Tag]
FEW = 3
"""Up to this many raters of a kind, a row names each one; otherwise it counts them by answer."""


@require_safe
@role_required(*READERS)
def disagreements(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the list, and beside it its first unit."""
    campaign = readable_campaign(request, pk)
    return blind_page(request, campaign) or _page(request, campaign)


@require_safe
@role_required(*READERS)
def unit(request: HttpRequest, pk: int, unit: int) -> HttpResponse:
    """Show one unit with everybody's answers, beside the list; for htmx only the unit."""
    campaign = readable_campaign(request, pk)
    if blind := blind_page(request, campaign):
        return blind
    found = _unit(campaign, unit)
    if request.htmx and request.htmx.target == "unit":  # type: ignore[attr-defined]
        return render(request, "disagreements/_unit.html", _unit_context(request, campaign, found))
    return _page(request, campaign, found)


def _page(
    request: HttpRequest, campaign: Campaign, found: Unit | None = None, status: int = 200,
    problem: str = "",
) -> HttpResponse:  # fmt: skip
    """Render the list with a unit beside it: the one that the address names, or the first."""
    variable = _variable(request, campaign)
    place = reverse("disagreement", args=[campaign.pk, found.pk]) if found else request.path
    shown = jobs.result_or_progress(
        request, VOTES, question(campaign, variable, request.GET), place, place, "#disagreements",
        votes_in,
    )  # fmt: skip
    if isinstance(shown, HttpResponse):
        return shown
    context: dict[str, Any] = {"campaign": campaign, "shown": shown, "asked": found}
    listed = None
    if shown.value is not None:
        listed = UnitList(request.GET.dict(), campaign, variable, shown.value)
        context |= _list(request, listed, found)
        found = found or context["first"]
    if found is not None:
        context |= _unit_context(request, campaign, found, listed, problem)
    part = request.htmx and not request.htmx.history_restore_request  # type: ignore[attr-defined]
    name = "disagreements/_list.html" if part else "disagreements/list.html"
    return render(request, name, context, status=status)


def _list(request: HttpRequest, listed: UnitList, asked: Unit | None) -> dict[str, Any]:
    """Return the list's context: its page in the address, or the one that has the unit."""
    campaign, user = listed.campaign, get_account(request)
    place = listed.place_of(asked.pk) if asked else None
    number = request.GET.get("page") if place is None else place // PAGE + 1
    page = Paginator(listed.found, PAGE).get_page(number)
    rows = list(_rows(campaign, map(listed.table.votes, page.object_list), listed))
    return {
        "listed": listed,
        "page": page,
        "rows": rows,
        "first": rows[0]["unit"] if rows else None,
        "active": list(listed.active()),
        "sorts": SORTS,
        "tags": TAGS,
        **_tag_counts(listed.campaign, listed.variable),
        "query": listed.query(),
        "variable": listed.variable,
        "adjudicable": adjudicable(user).filter(pk=campaign.pk).exists(),
        "manages": may_manage(user, campaign.pk),
        "actions": ACTIONS,
    }


def _tag_counts(campaign: Campaign, variable: str) -> dict[str, Any]:
    counts = tag_counts(campaign, variable)
    named = [(tag, label, counts[tag]) for tag, label in UnitTag.Tag.choices]
    return {"tag_counts": named, "has_tags": bool(counts)}


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
            "people": list(_answers_with_raters(votes.people, listed.word)),
            "judges": list(_answers_with_raters(votes.judges, listed.word)),
            "query": unit.item.query,
            "said": votes.judges.get(listed.choice.judge),
            "score": votes.scores.get(listed.choice.judge),
            "tag": tags.get(votes.unit),
        }


def _answers_with_raters(
    codes: Mapping[str, str], word: Callable[[str], str]
) -> Iterator[tuple[str, str, int]]:
    """Yield each answer's raters, word and count; one line per rater if there are few."""
    if len(codes) <= FEW:
        yield from ((who, word(code), 1) for who, code in codes.items())
        return
    for code, number in Counter(codes.values()).most_common():
        who = ", ".join(name for name, given in codes.items() if given == code)
        yield who, word(code), number


def _unit(campaign: Campaign, pk: int) -> Unit:
    units = Unit.objects.filter(item__campaign=campaign).select_related("item__query")
    return get_object_or_404(units, pk=pk)


def _unit_context(
    request: HttpRequest,
    campaign: Campaign,
    found: Unit,
    listed: UnitList | None = None,
    problem: str = "",
) -> dict[str, Any]:
    """Return the context of an opened unit, with its neighbours in the list if that is known."""
    variable = _variable(request, campaign)
    listed = listed or _last_list(request, campaign, variable)
    query = listed.query() if listed else urlencode({"variable": variable})
    return {
        "campaign": campaign,
        "detail": detail_of(campaign, found),
        "variable": variable,
        "query": query,
        "tag": tags_of([found.pk], variable).get(found.pk),
        "tags": TAGS,
        "sections": sections_of(whole_guideline(campaign)),
        "reviews": may_review(get_account(request), campaign),
        "problem": problem,
        **(_neighbours(listed, found) if listed else {}),
    }


def _last_list(request: HttpRequest, campaign: Campaign, variable: str) -> UnitList | None:
    """Return the list as it was computed last, None if it never was."""
    asked = jobs.follow(request, VOTES, question(campaign, variable, request.GET))
    try:
        table = votes_in(asked.last) if asked.last else None
    except results.GoneError:
        table = None
    return UnitList(request.GET.dict(), campaign, variable, table) if table is not None else None


def _neighbours(listed: UnitList, found: Unit) -> dict[str, Any]:
    place, units = listed.place_of(found.pk), listed.table.units[listed.found]
    context: dict[str, Any] = {"total": len(units)}
    if place is not None:
        context["place"] = place + 1
        context["before"] = int(units[place - 1]) if place else None
        context["after"] = int(units[place + 1]) if place + 1 < len(units) else None
    return context


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
    in_place, problem = bool(request.htmx), ""  # type: ignore[attr-defined]
    variable = _variable(request, campaign)
    try:
        set_tag(found, variable, tag, note, user, section)
    except ValueError as error:
        problem = str(error)
    if in_place:
        context = _unit_context(request, campaign, found, problem=problem)
        context |= {"tagged": True, **_tag_counts(campaign, variable)}
        return render(request, "disagreements/_unit.html", context)
    if problem:
        return _page(request, campaign, found, 422, problem)
    query = jobs.options_of(request)
    query["variable"] = variable
    back = reverse("disagreement", args=[campaign.pk, found.pk])
    return redirect(f"{back}?{query.urlencode()}")


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

"""Pages of drafts: the tags beside a new draft, one draft with its effect, and its trials."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Literal
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from analysis.disagreements.detail import with_words
from analysis.drafts import tag_groups
from analysis.drafts.effect import EFFECT, TURNS, question
from analysis.drafts.tag_groups import group_tags
from analysis.models import Draft, UnitTag
from annotation.access import (
    check_managed_campaign,
    get_account,
    managed_campaign,
    readable_campaign,
)
from annotation.campaigns.rendering import render as render_guideline
from annotation.models import Campaign, User
from annotation.people.membership import may_manage
from datasets.access import READERS, role_required
from datasets.text import as_sentence, number_in
from datasets.work import pages as jobs
from datasets.work import results
from judging.access import blind_page, manageable_judges
from judging.models import Judge
from judging.prompts.perturbations import DRAFT, GUIDELINE
from judging.runs.ledger import assignments_of, count_waiting
from judging.trials.drafts import WITHOUT_PROMPT, DraftError

Side = Literal["both", "old", "new"]
_TOKEN = re.compile(r"\s+|\w+|[^\w\s]")
MOST_TOKENS = 2000
"""Longer changed passages are shown whole, old and new, instead of word by word."""


@dataclass(frozen=True)
class Piece:
    """A part of a line that both texts have, or only one of them."""

    text: str
    side: Side


Line = tuple[Piece, ...]


def difference(old: str, new: str, around: int = 3) -> list[Line | None]:
    """Return the changed lines with some context; None stands for omitted equal lines.

    Without any change the list is empty.
    """
    one, other = old.splitlines(), new.splitlines()
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    found: list[Line | None] = []
    for number, group in enumerate(matcher.get_grouped_opcodes(around)):
        if number or group[0][1] or group[0][3]:
            found.append(None)
        for tag, a, b, c, d in group:
            if tag == "equal":
                found += [(Piece(line, "both"),) for line in one[a:b]]
            else:
                found += _changed("\n".join(one[a:b]), "\n".join(other[c:d]))
    return found


def _changed(old: str, new: str) -> Iterator[Line]:
    before, after = _TOKEN.findall(old), _TOKEN.findall(new)
    if not old or not new or len(before) + len(after) > MOST_TOKENS:
        yield from _lines([Piece(old, "old")] if old else [])
        yield from _lines([Piece(new, "new")] if new else [])
        return
    pieces: list[Piece] = []
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag == "equal":
            pieces.append(Piece("".join(before[a:b]), "both"))
            continue
        pieces += [Piece("".join(before[a:b]), "old")] if b > a else []
        pieces += [Piece("".join(after[c:d]), "new")] if d > c else []
    yield from _lines(pieces)


def _lines(pieces: list[Piece]) -> Iterator[Line]:
    """Break pieces at their line ends."""
    line: list[Piece] = []
    for piece in pieces:
        first, *rest = piece.text.split("\n")
        line += [Piece(first, piece.side)] if first else []
        for text in rest:
            yield tuple(line)
            line = [Piece(text, piece.side)] if text else []
    if line:
        yield tuple(line)


@require_http_methods(["GET", "HEAD", "POST"])
@role_required(*READERS)
def drafts(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the tags of a campaign beside a new draft, and store the draft on POST."""
    campaign, user = readable_campaign(request, pk), get_account(request)
    if blind := blind_page(request, campaign):
        return blind
    given = request.POST if request.method == "POST" else request.GET
    judge = judges_of(campaign, user).filter(pk=number_in(given.get("judge", ""))).first()
    text, note = tag_groups.present_text(campaign, judge), ""
    problem = ""
    if request.method == "POST":
        check_managed_campaign(user, campaign)
        text, note = given.get("text", ""), given.get("note", "")
        try:
            made = tag_groups.begin(campaign, judge, text, note, user)
            return redirect("change-draft", campaign.pk, made.pk)
        except DraftError as error:
            problem = as_sentence(error)
    context = {
        **_beside(request, campaign),
        "judges": judges_of(campaign, user),
        "judge": judge,
        "text": text,
        "note": note,
        "problem": problem,
        "drafts": campaign.drafts.select_related("judge__rater", "by"),
    }
    return render(request, "drafts/list.html", context, status=422 if problem else 200)


def judges_of(campaign: Campaign, user: User) -> Any:
    """Return by name the judges that ran here, use a prompt and may be run by the account."""
    rows = manageable_judges(user).filter(runs__campaign=campaign)
    return rows.exclude(backend__in=WITHOUT_PROMPT).distinct()


def _beside(request: HttpRequest, campaign: Campaign) -> dict[str, Any]:
    """Return the tags to show beside a draft."""
    tag = request.GET.get("tag", "")
    tag = tag if tag in UnitTag.Tag.values else ""
    return {
        "campaign": campaign,
        "tag": tag,
        "tags": UnitTag.Tag.choices,
        "gathered": group_tags(campaign, tag),
        "manages": may_manage(get_account(request), campaign.pk),
    }


@require_http_methods(["GET", "HEAD", "POST"])
@role_required(*READERS)
def draft(request: HttpRequest, pk: int, draft: int) -> HttpResponse:
    """Show a draft with its difference and effect; on POST store a new text, or another state."""
    campaign = readable_campaign(request, pk)
    if blind := blind_page(request, campaign):
        return blind
    found = _draft(campaign, draft)
    if request.method != "POST":
        return _page(request, found)
    check_managed_campaign(get_account(request), campaign)
    try:
        if state := request.POST.get("state"):
            tag_groups.set_state(found, state)
        else:
            text, note = request.POST.get("text", ""), request.POST.get("note", "")
            tag_groups.change(found, text, note, "from_present" in request.POST)
    except DraftError as error:
        found.text = request.POST.get("text", found.text)
        return _page(request, found, as_sentence(error))
    return redirect("change-draft", campaign.pk, found.pk)


def _draft(campaign: Campaign, pk: int) -> Draft:
    rows = campaign.drafts.select_related("campaign__batch", "judge__rater", "by")
    return get_object_or_404(rows, pk=pk)


def _page(request: HttpRequest, found: Draft, problem: str = "") -> HttpResponse:
    campaign, user = found.campaign, get_account(request)
    context: dict[str, Any] = {"campaign": campaign, "draft": found}
    trials = list(trials_of(found))
    chosen = number_in(request.GET.get("trial", ""))
    trial = next((each for each in trials if each.pk == chosen), trials[0] if trials else None)
    if trial is not None:
        shown = _effect(request, campaign, trial)
        if isinstance(shown, HttpResponse):
            return shown
        context |= shown
    if request.htmx and request.method == "GET":  # type: ignore[attr-defined]
        return render(request, "drafts/_effect.html", context)
    judges = judges_of(campaign, user)
    context |= {
        **_beside(request, campaign),
        "trials": trials,
        "judges": judges.filter(pk=found.judge_id) if found.judge_id else judges,
        "lines": difference(found.base, found.text),
        "preview": "" if found.judge_id else render_guideline(found.text),
        "behind": tag_groups.is_behind(found),
        "adopted": tag_groups.is_adopted(found),
        "is_file": bool(found.judge and found.judge.file),
        "problem": problem,
    }
    return render(request, "drafts/draft.html", context, status=422 if problem else 200)


def trials_of(draft: Draft) -> Any:
    """Return the trials of a draft by all judges, the newest first."""
    rows = Judge.objects.filter(variation__kind=DRAFT, variation__draft=draft.pk)
    return rows.select_related("rater", "base__rater").order_by("-pk")


def _effect(request: HttpRequest, campaign: Campaign, trial: Judge) -> Any:
    """Return a trial's context: its progress, and its effect if it has answered."""
    rows = assignments_of(campaign, trial)
    total, waiting = rows.count(), count_waiting(campaign, trial)
    tried = trial.variation.get(GUIDELINE, trial.file or trial.prompt)
    context: dict[str, Any] = {
        "trial": trial,
        "answered": total - waiting,
        "total": total,
        "waiting": waiting,
        "run": trial.runs.filter(campaign=campaign).order_by("-pk").first(),
        "tried": tried,
        "turns": TURNS,
    }
    if total == waiting:
        return context
    place = f"{request.path}?{urlencode({'trial': trial.pk})}"
    asked = jobs.follow(request, EFFECT, question(campaign, trial), place)
    shown = jobs.result_or_progress_of(request, asked, place, place, "#effect", results.value)
    if isinstance(shown, HttpResponse):
        return shown
    changes = _changes(campaign, shown.value) if shown.value else {}
    return context | {"shown": shown, "effect": shown.value, "changes": changes}


def _changes(campaign: Campaign, effect: dict[str, Any]) -> dict[str, list[tuple[str, list[Any]]]]:
    """Return the changed units of each variable, by turn, each with its words."""
    every = [
        change
        for of in effect["variables"].values()
        for changes in of["changes"].values()
        for change in changes
    ]
    units = with_words(campaign, [each["unit"] for each in every])
    words = {pk: text for pk, (_, text) in units.items()}
    return {
        name: [
            (turn, [{**each, "words": words.get(each["unit"], "")} for each in changes])
            for turn, changes in of["changes"].items()
            if changes
        ]
        for name, of in effect["variables"].items()
    }


@require_POST
@role_required(*READERS)
def try_draft(request: HttpRequest, pk: int, draft: int) -> HttpResponse:
    """Create the trial of a draft, and redirect to the page that estimates and starts its run."""
    campaign = managed_campaign(request, pk)
    if blind := blind_page(request, campaign):
        return blind
    found, judges = _draft(campaign, draft), judges_of(campaign, get_account(request))
    judge_key = found.judge_id or number_in(request.POST.get("judge", ""))
    judge = judges.filter(pk=judge_key).first()
    if judge is None:
        return _page(request, found, "Choose a judge that has run here and that you may ask.")
    try:
        trial = tag_groups.trial_of(found, judge)
    except DraftError as error:
        return _page(request, found, as_sentence(error))
    address = reverse("judge-start", args=[trial.pk])
    return redirect(f"{address}?{urlencode({'campaign': campaign.pk})}")

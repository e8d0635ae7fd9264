"""Pages of preparation: the steps of a batch, the review of an answer, and the new batch."""

from __future__ import annotations

import uuid
from typing import Any

from django import forms
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.datastructures import MultiValueDict
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.access import get_account
from annotation.campaigns.design import DesignError
from annotation.models import Campaign, Rater, rater_of
from annotation.people.membership import readable
from annotation.preparation.base import Step
from datasets.access import READERS, check_managed, role_required, visible_batch
from datasets.models import Batch
from datasets.option_fields import set_rows
from datasets.text import as_sentence, number_in
from datasets.work import pages as jobs
from datasets.work import results
from judging.access import (
    blind_page,
    check_reviewer,
    find_authored_answer,
    find_step,
    step_campaign,
    visible_judges,
)
from judging.models import Review
from judging.preparation.build import is_taken
from judging.preparation.build_job import BUILD, question
from judging.preparation.review import (
    LONGEST_NOTE,
    AuthoredAnswer,
    InvalidReviewError,
    accept_all,
    authored_answers,
    review_version,
    store_review,
)
from judging.preparation.review_form import form_fields, marked_texts, read_answer
from judging.preparation.status import (
    AuthorStatus,
    author_statuses,
    campaign_for,
    campaign_name,
    get_queue,
    step_statuses,
)
from judging.prompts.repair import Units

HIDDEN = (
    "This step is another researcher’s work. Its people are named on the campaign’s page; ask one "
    "of them, or an administrator."
)
NO_JUDGE = "Choose the judge that writes."


@require_safe
@role_required(*READERS)
def overview(request: HttpRequest, pk: int) -> HttpResponse:
    return _page(request, visible_batch(request.user, pk))


@require_POST
@role_required(*READERS)
def begin(request: HttpRequest, pk: int, step: str) -> HttpResponse:
    """Create the step's campaign if needed, and redirect to the start of the judge's run."""
    user = get_account(request)
    batch, chosen = visible_batch(user, pk), find_step(step)
    if not chosen.protocol:
        raise Http404
    check_managed(user, batch)
    given = request.POST.get("judge", "")
    judge = visible_judges(user).filter(pk=number_in(given)).first()
    if judge is None:
        return _page(request, batch, NO_JUDGE, 422)
    there = Campaign.objects.filter(name=campaign_name(batch, chosen))
    if there.exists() and not readable(user).filter(pk__in=there).exists():
        return _page(request, batch, HIDDEN, 403)
    try:
        campaign = campaign_for(batch, chosen, user)
    except DesignError as error:
        return _page(request, batch, as_sentence(error), 409)
    return redirect(
        f"{reverse('judge-start', args=[judge.pk])}?{urlencode({'campaign': campaign.pk})}"
    )


@require_POST
@role_required(*READERS)
def accept(request: HttpRequest, pk: int, step: str) -> HttpResponse:
    """Accept all of an author's answers without a review or a problem."""
    batch, chosen = visible_batch(request.user, pk), find_step(step)
    campaign = step_campaign(request, batch, chosen)
    check_reviewer(get_account(request), campaign)
    author = _author(request, campaign)
    if blind := blind_page(request, campaign):
        return blind
    accept_all(campaign, authored_answers(chosen, campaign, author), rater_of(get_account(request)))
    left = get_queue(campaign, author).next_waiting
    return redirect("review", left) if left else redirect("preparation", pk)


def _page(request: HttpRequest, batch: Batch, wrong: str = "", status: int = 200) -> HttpResponse:
    rows = [
        {
            "work": work,
            "authors": [(a, get_queue(work.campaign, a.rater)) for a in work.authors]
            if work.campaign
            else [],
        }
        for work in step_statuses(batch, get_account(request))
    ]
    judges = visible_judges(get_account(request)).filter(base=None)
    context = {"batch": batch, "rows": rows, "judges": judges, "wrong": wrong}
    return render(request, "preparation/overview.html", context, status=status)


def _author(request: HttpRequest, campaign: Campaign) -> Rater:
    wrote = Rater.objects.filter(assignments__item__campaign=campaign).distinct()
    return get_object_or_404(wrote, pk=number_in(request.POST.get("author", "")))


WORDS = {
    Review.Verdict.ACCEPTED: ("Accepted", "yes"),
    Review.Verdict.CHANGED: ("Accepted with changes", "yes"),
    Review.Verdict.REJECTED: ("Rejected", "no"),
}
MEANWHILE = "Another person reviewed this answer after you opened it; this is the current review."
NO_VERDICT = "Accept the answer or reject it."
LONG_NOTE = f"The note is longer than {LONGEST_NOTE} characters; shorten it."


@require_http_methods(["GET", "HEAD", "POST"])
@role_required(*READERS)
def review(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    """Review one answer. A verdict leads to the next waiting answer, or back to the overview."""
    each = find_authored_answer(get_account(request), uid)
    campaign = each.assignment.item.campaign
    if blind := blind_page(request, campaign):
        return blind
    if request.method != "POST":
        return _review_page(request, each, each.final)
    check_reviewer(get_account(request), campaign)
    if request.POST.get("seen", "") != review_version(each):
        return _review_page(request, each, each.final, [MEANWHILE], status=409)
    given = _given(request, each)
    verdict, note = request.POST.get("verdict", ""), request.POST.get("note", "").strip()
    if verdict not in (Review.Verdict.ACCEPTED, Review.Verdict.REJECTED):
        return _review_page(request, each, given, [NO_VERDICT], note, 422)
    if len(note) > LONGEST_NOTE:
        return _review_page(request, each, given, [LONG_NOTE], note, 422)
    try:
        store_review(each, verdict, given, note, rater_of(get_account(request)))
    except InvalidReviewError as error:
        return _review_page(request, each, given, list(error.problems) or [str(error)], note, 422)
    after = get_queue(campaign, each.assignment.rater, uid).next_waiting
    return redirect("review", after) if after else redirect("preparation", campaign.batch_id)


def _given(request: HttpRequest, each: AuthoredAnswer) -> Units:
    """Read the answer from the form, or return the stored one if the form is unchanged.

    A form cannot return every answer exactly, such as a quote in the model's own spelling.
    """
    asked = each.schema
    given = read_answer(request.POST, asked, each.spec, each.units, each.original)
    for known in (each.original, each.final):
        if given == _as_form_answer(each, known):
            return known
    return given


def _as_form_answer(each: AuthoredAnswer, answer: Units) -> Units:
    asked = each.schema
    form = MultiValueDict[str, str]()
    for unit in form_fields(asked, each.spec, each.units, answer):
        for name, values in unit.sent():
            form.setlist(name, values)
    return read_answer(form, asked, each.spec, each.units, each.original)


def _review_page(
    request: HttpRequest,
    each: AuthoredAnswer,
    answer: Units,
    wrong: list[str] | None = None,
    note: str | None = None,
    status: int = 200,
) -> HttpResponse:
    campaign, asked = each.assignment.item.campaign, each.schema
    made = each.review
    context: dict[str, Any] = {
        "each": each,
        "batch": campaign.batch,
        "query": each.assignment.item.query,
        "texts": marked_texts(asked, each.spec.texts, each.units, answer),
        "units": form_fields(asked, each.spec, each.units, answer),
        "problems": [] if wrong else each.problems(answer),
        "wrong": wrong,
        "queue": get_queue(campaign, each.assignment.rater, each.assignment.uid),
        "verdict": WORDS[Review.Verdict(made.verdict)] if made else None,
        "note": note if note is not None else (made.note if made else ""),
        "seen": review_version(each),
        "longest": LONGEST_NOTE,
    }
    return render(request, "preparation/review.html", context, status=status)


NAME_TAKEN = "A batch has this name already; choose another."


class BuildForm(forms.Form):
    """The name of the new batch, whose answers it is made of, and the step's thresholds.

    Only a form that `is_new` requests a batch; others follow the job that creates it.
    """

    name = forms.CharField(max_length=200, label="Name of the new batch")
    author = forms.ModelChoiceField(Rater.objects.none(), label="Author", empty_label=None)
    partial = forms.BooleanField(
        required=False,
        label="A partial batch",
        help_text="Even if answers are missing or not reviewed yet.",
    )

    def __init__(
        self,
        *args: Any,
        step: Step,
        authors: list[AuthorStatus],
        is_new: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.step, self.is_new = step, is_new
        if step.protocol:
            set_rows(
                self, "author", Rater.objects.filter(pk__in=[each.rater.pk for each in authors])
            )
        else:
            del self.fields["author"], self.fields["partial"]
        for each in step.thresholds:
            self.fields[f"number_{each.name}"] = forms.FloatField(
                label=each.name, initial=each.default, help_text=as_sentence(each.help)
            )

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if self.is_new and is_taken(name):
            raise forms.ValidationError(NAME_TAKEN)
        return name

    def numbers(self) -> dict[str, float]:
        return {name: self.cleaned_data[f"number_{name}"] for name in self.step.numbers}


@require_http_methods(["GET", "HEAD", "POST"])
@role_required(*READERS)
def build_batch(request: HttpRequest, pk: int, step: str) -> HttpResponse:
    batch, chosen = visible_batch(request.user, pk), find_step(step)
    campaign = step_campaign(request, batch, chosen) if chosen.protocol else None
    check_managed(request.user, batch)
    if campaign and (blind := blind_page(request, campaign)):
        return blind
    authors = author_statuses(campaign) if campaign else []
    posted = request.method == "POST"
    initial = {"name": f"{batch.name}, {chosen.name}"[:200]}
    followed = "job" in request.GET
    form = BuildForm(
        request.POST if posted else request.GET if followed else None,
        step=chosen,
        authors=authors,
        initial=initial,
        is_new=posted,
    )
    if not (posted or followed) or not form.is_valid():
        return _build_page(request, batch, form, authors, 422 if posted else 200)
    data = form.cleaned_data
    asked = question(
        chosen,
        batch,
        campaign,
        data.get("author"),
        form.numbers(),
        data["name"],
        data.get("partial", False),
        get_account(request),
    )
    return _build_result(request, batch, form, authors, asked)


def _build_result(
    request: HttpRequest,
    batch: Batch,
    form: BuildForm,
    authors: list[AuthorStatus],
    build: dict[str, Any],
) -> HttpResponse:
    """Request the build job, or show its result."""
    given = (request.POST if request.method == "POST" else request.GET).copy()
    for name in ("csrfmiddlewaretoken", *jobs.OWN):
        given.pop(name, None)
    page = f"{request.path}?{given.urlencode()}"
    asked = jobs.follow(request, BUILD, build, page)
    if not asked.is_current:
        return jobs.waiting_page(request, asked.job, page, page=page)
    try:
        found = results.value(asked.job)
    except results.GoneError:
        return redirect(page)
    if "refused" in found:
        message = as_sentence(found["refused"])
        return _build_error(request, batch, form, authors, message)
    return redirect("batch", found["batch"])


def _build_error(
    request: HttpRequest, batch: Batch, form: BuildForm, authors: list[AuthorStatus], message: str
) -> HttpResponse:
    form.add_error(None, message)
    return _build_page(request, batch, form, authors, 409)


def _build_page(
    request: HttpRequest, batch: Batch, form: BuildForm, authors: list[AuthorStatus], status: int
) -> HttpResponse:
    context = {"batch": batch, "step": form.step, "form": form, "authors": authors}
    return render(request, "preparation/build.html", context, status=status)

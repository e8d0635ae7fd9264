"""Pages before the first item: from Prolific, consent, background, and own consents later."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth import login
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods

from annotation.access import get_account, intake_campaigns, open_campaigns
from annotation.assignments.queue import next_assignment
from annotation.assignments.withdrawal import give_consent, revoke_consent
from annotation.campaigns.rendering import render as as_html
from annotation.models import Assignment, Campaign, ProlificStudy, Rater, User, rater_of
from annotation.people import background, prolific
from annotation.people.background import BackgroundError, Question, owed_questions
from annotation.people.consent import (
    CONSENT,
    ConsentState,
    IntakeOwedError,
    consent_state,
    current_text,
    owed_step,
)
from annotation.people.languages import sentence, translated
from annotation.people.membership import PeopleError
from annotation.people.prolific import PAUSE, Arrival, KeysAwayError, enter, mark_browser
from annotation.presentation import page_task
from annotation.views.people import BACKEND, TOO_OFTEN
from audit.recording import folded
from datasets.access import WORKERS, client_address, found_or_404, role_required
from datasets.api.concurrency import seconds_to_wait, try_again_after
from tandem.messages import Message

AGREE_FIRST = Message("Check the box to agree, or leave the campaign.")
CHECK_TO_REVOKE = Message("Check the box to revoke your consent.")


class BackgroundForm(forms.Form):
    """The background questions that a person has not been asked yet."""

    def __init__(self, questions: list[Question], data: Any = None) -> None:
        super().__init__(data)
        for each in questions:
            self.fields[each.name] = _field(each)

    def answers(self) -> dict[str, Any]:
        """Return the answers of a valid form, by the names of questions."""
        return dict(self.cleaned_data)


def _field(question: Question) -> forms.Field:
    label = question.question
    if not question.required:
        label = gettext("%(question)s (optional)") % {"question": label}
    choices = [(each, each) for each in question.choices]
    common: dict[str, Any] = {
        "label": label,
        "required": question.required,
        "error_messages": _refusals(),
    }
    if question.kind == "choice":
        return forms.ChoiceField(choices=choices, widget=forms.RadioSelect, **common)
    if question.kind == "several":
        widget = forms.CheckboxSelectMultiple
        return forms.MultipleChoiceField(choices=choices, widget=widget, **common)
    if question.kind == "number":
        # A text field, since a number field changes its value when somebody scrolls over it.
        number = forms.TextInput(attrs={"inputmode": "decimal"})
        return forms.CharField(max_length=30, widget=number, **common)
    lines = forms.Textarea(attrs={"rows": 2})
    return forms.CharField(max_length=background.LONGEST_TEXT, widget=lines, **common)


def _refusals() -> dict[str, str]:
    """Return a field's messages about wrong answers, in the wording of `background.answer`.

    Django translates its own messages only into the languages that it knows.
    """
    refused = {
        "required": background.MISSING,
        "invalid_choice": background.NO_CHOICE,
        "invalid_list": background.NO_CHOICE,
        "max_length": background.TOO_LONG,
    }
    return {code: sentence(BackgroundError(why)) for code, why in refused.items()}


@require_http_methods(["GET", "HEAD", "POST"])
@role_required(*WORKERS)
def before(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask for consent, then the background questions, then go on to the next item."""
    user = get_account(request)
    campaign = get_object_or_404(open_campaigns(user), pk=pk)
    rater = rater_of(user)
    step = owed_step(campaign, rater)
    if not step:
        # Assigning an item requires a POST.
        return redirect(next_address(campaign, rater) if request.method == "POST" else "work")
    take = _take_consent if step == CONSENT else _take_background
    return take(request, campaign, rater)


def _take_consent(request: HttpRequest, campaign: Campaign, rater: Rater) -> HttpResponse:
    wrong = ""
    if request.method == "POST":
        version = request.POST.get("version", "")
        if not request.POST.get("agree"):
            wrong = translated(AGREE_FIRST)
        else:
            try:
                give_consent(campaign, rater, int(version) if version.isdecimal() else 0)
                return redirect(next_address(campaign, rater))
            except PeopleError as error:
                wrong = sentence(error)
    text = found_or_404(current_text(campaign))
    context = {
        **_about(campaign, rater),
        "text": as_html(text.text),
        "version": text.version,
        "state": consent_state(campaign, rater),
        "wrong": wrong,
    }
    return render(request, "work/agree.html", context, status=422 if wrong else 200)


def _take_background(request: HttpRequest, campaign: Campaign, rater: Rater) -> HttpResponse:
    questions = owed_questions(campaign, rater)
    sent = request.method == "POST" and "questions" in request.POST
    form = BackgroundForm(questions, request.POST if sent else None)
    if sent and form.is_valid():
        try:
            background.answer(campaign, rater, form.answers())
            return redirect(next_address(campaign, rater))
        except BackgroundError as error:
            form.add_error(error.field or None, sentence(error))
    context = {**_about(campaign, rater), "form": form}
    return render(request, "work/background.html", context, status=422 if form.errors else 200)


def _about(campaign: Campaign, rater: Rater) -> dict[str, Any]:
    return {"campaign": campaign, "protocol": page_task(campaign), "pseudonym": rater.name}


@require_http_methods(["GET", "HEAD", "POST"])
@role_required(*WORKERS)
def own_consent(request: HttpRequest, pk: int) -> HttpResponse:
    """Show a person what they agreed to in a campaign; a POST revokes it."""
    user = get_account(request)
    campaign = get_object_or_404(intake_campaigns(user), pk=pk)
    state = _own_state(campaign, user)
    wrong = ""
    if request.method == "POST":
        if not request.POST.get("revoke"):
            wrong = translated(CHECK_TO_REVOKE)
        else:
            try:
                revoke_consent(campaign, rater_of(user))
                return redirect("own-consent", pk)
            except PeopleError as error:
                wrong = sentence(error)
    shown = state.agreed or state.revoked
    context = {
        "campaign": campaign,
        "state": state,
        "text": as_html(shown.text.text) if shown else "",
        "answers": _answers(campaign, user),
        "may_agree": open_campaigns(user).filter(pk=pk).exists(),
        "wrong": wrong,
    }
    return render(request, "work/consent.html", context, status=422 if wrong else 200)


def _own_state(campaign: Campaign, user: User) -> ConsentState:
    """Return a person's consent in a campaign. Raises Http404 if they were never asked there."""
    state = consent_state(campaign, Rater.objects.filter(user=user).first())
    if state.agreed is None and state.revoked is None:
        raise Http404
    return state


def _answers(campaign: Campaign, user: User) -> int:
    mine = Assignment.objects.filter(item__campaign=campaign, rater__user=user)
    return mine.filter(status=Assignment.Status.DONE).count()


def gone_address() -> str:
    """Return the address of the list of work that says that an item is no longer the person's."""
    return f"{reverse('work')}?gone=1"


def next_address(campaign: Campaign, rater: Rater) -> str:
    """Assign the person the next item; return its address, or that of the closing page.

    A person who has to consent or to answer background questions first goes there instead.
    """
    try:
        return address_of(next_assignment(campaign, rater), campaign)
    except IntakeOwedError:
        return before_address(campaign)


def before_address(campaign: Campaign) -> str:
    return reverse("before", args=[campaign.pk])


def address_of(assignment: Assignment | None, campaign: Campaign) -> str:
    if assignment is None:
        return reverse("finished", args=[campaign.pk])
    return reverse("item", args=[assignment.uid])


LOGGED_IN = Message("you are logged in with an account; log out, then open the link again")


@require_http_methods(["GET", "HEAD", "POST"])
def enter_from_prolific(request: HttpRequest, pk: int) -> HttpResponse:
    """Describe the study to a participant; on POST, start or continue it."""
    campaigns = Campaign.objects.filter(prolific__isnull=False).select_related("prolific")
    study = get_object_or_404(campaigns, pk=pk).prolific
    try:
        arrival = _arrival(request, study)
        _check_no_account(request)
        if request.method != "POST":
            return _prolific_page(request, study, sealed=arrival.sealed() if study.signed else "")
        # Without a signature, a limit must prevent invented participants.
        wait = seconds_to_wait("arrive", client_address(request))
        if wait is not None:
            page = _prolific_page(request, study, translated(TOO_OFTEN), 429)
            return try_again_after(wait, page)
        participant = enter(study, arrival, prolific.participants_in(request))
    except KeysAwayError as error:
        return try_again_after(PAUSE, _prolific_page(request, study, sentence(error), 503))
    except PeopleError as error:
        return _prolific_page(request, study, sentence(error), 422)
    with folded():
        login(request, participant.user, backend=BACKEND)
    response = redirect(next_address(study.campaign, rater_of(participant.user)))
    mark_browser(request, response, participant, settings.SESSION_COOKIE_SECURE)
    return response


def _arrival(request: HttpRequest, study: ProlificStudy) -> Arrival:
    if not study.signed:
        return Arrival.read(request.GET)
    if request.method == "POST" and request.POST.get("arrival"):
        return Arrival.unseal(request.POST["arrival"])
    return Arrival.read_signed(request.GET, request.get_host())


def _check_no_account(request: HttpRequest) -> None:
    if isinstance(request.user, User) and not request.user.is_guest:
        raise PeopleError(LOGGED_IN)


def _prolific_page(
    request: HttpRequest,
    study: ProlificStudy,
    wrong: str = "",
    status: int = 200,
    sealed: str = "",
) -> HttpResponse:
    protocol = page_task(study.campaign)
    context = {
        "campaign": study.campaign,
        "protocol": protocol,
        "wrong": wrong,
        "sealed": sealed,
        "signed": study.signed,
    }
    return render(request, "people/prolific.html", context, status=status)

"""Pages of progress: a campaign, a person in it, and the labels behind a flag."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from django import forms
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from annotation.access import is_blind, user_of
from annotation.models import Campaign, Rater, User
from annotation.people.accounts import current_exclusions
from annotation.people.membership import readable
from annotation.presentation import schema
from annotation.progress.flags import KINDS, Chosen, labels_of, shown
from annotation.progress.status import person_of, standing, time_left
from datasets.access import role_required

READERS = (User.Role.RESEARCHER, User.Role.ADMIN)
STOP_POLLING = 286  # htmx's own status
LONGEST_POLLED = 2 * 3600
TALLEST = 24


@require_safe
@role_required(*READERS)
def campaign(request: HttpRequest, pk: int) -> HttpResponse:
    """The page; of a look by htmx only the part that moves."""
    found = campaign_of(request, pk)
    if is_over(request):
        return HttpResponse(status=STOP_POLLING)
    stands = standing(found)
    context = {
        **_shared(request, found),
        "standing": stands,
        "left": time_left(found, stands),
        "days": bars(stands.days),
    }
    part = "progress/_campaign.html" if is_look(request) else "progress/campaign.html"
    return render(request, part, context)


@require_safe
@role_required(*READERS)
def person(request: HttpRequest, pk: int, rater: int) -> HttpResponse:
    found = campaign_of(request, pk)
    if is_over(request):
        return HttpResponse(status=STOP_POLLING)
    known = person_of(found, rater)
    if known is None:
        raise Http404
    who, days = known
    context = {
        **_shared(request, found),
        "person": who,
        "exclusion": current_exclusions(found).get(rater),
        "days": bars(days),
    }
    part = "progress/_person.html" if is_look(request) else "progress/person.html"
    return render(request, part, context)


def campaign_of(request: HttpRequest, pk: int) -> Campaign:
    """A campaign that this account may read; another is not there."""
    return get_object_or_404(
        readable(user_of(request)).select_related("batch", "practice_of"), pk=pk
    )


def rater_of_campaign(found: Campaign, rater: int) -> Rater:
    """A person who was given something in the campaign; another is not there."""
    people = Rater.objects.filter(kind=Rater.Kind.HUMAN, assignments__item__campaign=found)
    return get_object_or_404(people.distinct(), pk=rater)


def is_look(request: HttpRequest) -> bool:
    return "HX-Request" in request.headers


def is_over(request: HttpRequest) -> bool:
    """Whether a page asks again and again that somebody opened hours ago, and may have left."""
    text = request.GET.get("opened", "")
    opened = int(text) if text.isascii() and text.isdigit() and len(text) < 16 else 0
    return is_look(request) and 0 < opened < time.time() - LONGEST_POLLED


def bars(days: Sequence[int]) -> list[dict[str, int]]:
    """Each day's answers with its bar, a line where there were none; today's is the last."""
    most, last, found = max(days, default=0) or 1, len(days) - 1, []
    for n, number in enumerate(days):
        height = max(1, -(-TALLEST * number // most))
        found.append(
            {
                "number": number,
                "ago": last - n,
                "x": 9 * n,
                "height": height,
                "y": TALLEST + 2 - height,
            }
        )
    return found


def _shared(request: HttpRequest, found: Campaign) -> dict[str, Any]:
    opened = request.GET.get("opened", "") if is_look(request) else ""
    return {
        "campaign": found,
        "blind": is_blind(user_of(request), found),
        "opened": opened if opened.isdigit() else int(time.time()),
    }


PAGE = 50
LARGEST = 2**63 - 1
BLIND = "You have an open item in this campaign; answer it before you read what others said."


class LabelsForm(forms.Form):
    """What the address says; each name and value stands in a list of its own."""

    of = forms.ChoiceField(label="Labels", choices=list(KINDS.items()), required=False)
    variable = forms.ChoiceField(required=False)
    value = forms.ChoiceField(required=False)
    first = forms.IntegerField(required=False, min_value=0, max_value=LARGEST)
    last = forms.IntegerField(required=False, min_value=0, max_value=LARGEST)

    def __init__(self, data: Any, answers: dict[str, list[str]]) -> None:
        super().__init__(data, auto_id="labels-%s")
        values = sorted({value for of in answers.values() for value in of})
        for name, there in (("variable", list(answers)), ("value", values)):
            field = self.fields[name]
            assert isinstance(field, forms.ChoiceField)
            field.choices = [("", "All"), *((each, each) for each in there)]
        self.fields["first"].widget = self.fields["last"].widget = forms.HiddenInput()


@require_safe
@role_required(*READERS)
def labels(request: HttpRequest, pk: int, rater: int) -> HttpResponse:
    campaign = campaign_of(request, pk)
    who = rater_of_campaign(campaign, rater)
    context: dict[str, Any] = {"campaign": campaign, "rater": who}
    if is_blind(user_of(request), campaign):
        context["notice"] = BLIND
        return render(request, "progress/labels.html", context, status=403)
    answers: dict[str, list[str]] = {}
    for variable in schema(campaign).variables:
        answers.setdefault(variable.name, []).extend(variable.answers)
    form = LabelsForm({k: v for k, v in request.GET.items() if k != "page"}, answers)
    context["form"] = form
    if not form.is_valid():
        context["notice"] = "There are no such labels; choose again."
        return render(request, "progress/labels.html", context, status=422)
    found = labels_of(campaign, who, Chosen(**form.cleaned_data))
    page = Paginator(found, PAGE).get_page(request.GET.get("page"))
    query = request.GET.copy()
    query.pop("page", None)
    context |= {
        "page": page,
        "rows": shown(campaign, list(page.object_list)),
        "query": query.urlencode(),
    }
    return render(request, "progress/labels.html", context)

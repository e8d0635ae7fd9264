"""Pages of progress: a campaign, a person in it, and the labels behind a flag."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from django import forms
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from annotation.access import get_account, is_blind, readable_campaign
from annotation.exposure.detection import person_exposure
from annotation.models import Campaign, Rater
from annotation.people.accounts import current_exclusions
from annotation.presentation import schema
from annotation.progress import find_person, forecast_end, get_status
from annotation.progress.flags import LABEL_KINDS, LabelFilter, filter_labels, label_rows
from datasets.access import READERS, found_or_404, role_required
from datasets.option_fields import set_choices
from datasets.text import number_in

STOP_POLLING = 286  # htmx's own status
MAX_POLLING = 2 * 3600  # seconds
BAR_HEIGHT = 24
PAGE = 50
MAX_ID = 2**63 - 1
BLIND = "You have an open item in this campaign; answer it before you read the answers of others."


@require_safe
@role_required(*READERS)
def campaign(request: HttpRequest, pk: int) -> HttpResponse:
    """Render the page, or for htmx only the part that changes."""
    found = readable_campaign(request, pk)
    if is_expired(request):
        return HttpResponse(status=STOP_POLLING)
    status = get_status(found)
    context = {
        **_shared_context(request, found),
        "status": status,
        "left": forecast_end(found, status),
        "days": draw_bars(status.days),
    }
    part = "progress/_campaign.html" if is_polling(request) else "progress/campaign.html"
    return render(request, part, context)


@require_safe
@role_required(*READERS)
def person(request: HttpRequest, pk: int, rater: int) -> HttpResponse:
    found = readable_campaign(request, pk)
    if is_expired(request):
        return HttpResponse(status=STOP_POLLING)
    person, days = found_or_404(find_person(found, rater))
    context = {
        **_shared_context(request, found),
        "person": person,
        "exclusion": current_exclusions(found).get(rater),
        "marks": person_exposure(found, rater),
        "days": draw_bars(days),
    }
    part = "progress/_person.html" if is_polling(request) else "progress/person.html"
    return render(request, part, context)


def rater_of_campaign(found: Campaign, rater: int) -> Rater:
    """Return a person with an assignment in the campaign. Raises Http404 for any other."""
    people = Rater.objects.filter(kind=Rater.Kind.HUMAN, assignments__item__campaign=found)
    return get_object_or_404(people.distinct(), pk=rater)


def is_polling(request: HttpRequest) -> bool:
    return "HX-Request" in request.headers


def is_expired(request: HttpRequest) -> bool:
    """Whether the request polls for a page that was opened hours ago."""
    opened = number_in(request.GET.get("opened", ""))
    return is_polling(request) and 0 < opened < time.time() - MAX_POLLING


def draw_bars(days: Sequence[int]) -> list[dict[str, int]]:
    """Return each day's answers with the size of its bar, today last. Zero gives a thin line."""
    most, last, bars = max(days, default=0) or 1, len(days) - 1, []
    for n, number in enumerate(days):
        height = max(1, -(-BAR_HEIGHT * number // most))
        bars.append(
            {
                "number": number,
                "ago": last - n,
                "x": 9 * n,
                "height": height,
                "y": BAR_HEIGHT + 2 - height,
            }
        )
    return bars


def _shared_context(request: HttpRequest, found: Campaign) -> dict[str, Any]:
    opened = request.GET.get("opened", "") if is_polling(request) else ""
    return {
        "campaign": found,
        "blind": is_blind(get_account(request), found),
        "opened": opened if opened.isdigit() else int(time.time()),
    }


class LabelsForm(forms.Form):
    """The filter in the address of the labels page."""

    of = forms.ChoiceField(label="Labels", choices=list(LABEL_KINDS.items()), required=False)
    variable = forms.ChoiceField(required=False)
    value = forms.ChoiceField(required=False)
    first = forms.IntegerField(required=False, min_value=0, max_value=MAX_ID)
    last = forms.IntegerField(required=False, min_value=0, max_value=MAX_ID)

    def __init__(self, data: Any, codes: dict[str, list[str]]) -> None:
        super().__init__(data, auto_id="labels-%s")
        values = sorted({value for each in codes.values() for value in each})
        for name, options in (("variable", list(codes)), ("value", values)):
            set_choices(self, name, [("", "All"), *((each, each) for each in options)])
        self.fields["first"].widget = self.fields["last"].widget = forms.HiddenInput()


@require_safe
@role_required(*READERS)
def labels(request: HttpRequest, pk: int, rater: int) -> HttpResponse:
    campaign = readable_campaign(request, pk)
    person = rater_of_campaign(campaign, rater)
    context: dict[str, Any] = {"campaign": campaign, "rater": person}
    if is_blind(get_account(request), campaign):
        context["notice"] = BLIND
        return render(request, "progress/labels.html", context, status=403)
    codes: dict[str, list[str]] = {}
    for variable in schema(campaign, "people").variables:
        named = codes.setdefault(variable.name, [])
        named.extend(variable.answers)
        # A flag's address may name a whole set of codes.
        if variable.several and variable.takes(request.GET.get("value", "")):
            named.append(request.GET["value"])
    form = LabelsForm({k: v for k, v in request.GET.items() if k != "page"}, codes)
    context["form"] = form
    if not form.is_valid():
        context["notice"] = "No such variable, value or kind of labels; choose again."
        return render(request, "progress/labels.html", context, status=422)
    found = filter_labels(campaign, person, LabelFilter(**form.cleaned_data))
    page = Paginator(found, PAGE).get_page(request.GET.get("page"))
    query = request.GET.copy()
    query.pop("page", None)
    context |= {
        "page": page,
        "rows": label_rows(campaign, list(page.object_list)),
        "query": query.urlencode(),
    }
    return render(request, "progress/labels.html", context)

"""The labels of one person in a campaign, some of them chosen: what a hint leads to."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotation.presenting import schema
from annotation.progress.evidence import KINDS, Chosen, labels_of, shown
from annotation.views.mine import is_blind, user_of
from annotation.views.progress.pages import READERS, campaign_of, rater_of_campaign
from datasets.access import role_required

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

"""Making a new batch of a batch and of what was accepted for it in a step."""

from __future__ import annotations

from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods

from annotation.models import Campaign, Rater, User
from annotation.people.members import readable
from annotation.preparation.base import Step
from datasets.access import role_required
from datasets.models import Batch
from datasets.rows import InputError
from judging.preparation.building import accepted, build
from judging.preparation.running import name_of
from judging.preparation.standing import Author, authors_of
from judging.views.access import READERS, blind_page, person
from judging.views.preparing.finding import step_called

TAKEN = "A batch has this name already; choose another."
MOST_QUERIES = 2000
"""More than these take longer than a page should; the command has no such bound."""


class BuildForm(forms.Form):
    """The name of the new batch, whose answers it is made of, and the step's thresholds."""

    name = forms.CharField(max_length=200, label="Name of the new batch")
    author = forms.ModelChoiceField(Rater.objects.none(), label="Author", empty_label=None)
    partial = forms.BooleanField(
        required=False,
        label="A partial batch",
        help_text="Even where answers are missing or wait for their review.",
    )

    def __init__(self, *args: Any, step: Step, authors: list[Author], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.step = step
        if step.protocol:
            field = self.fields["author"]
            assert isinstance(field, forms.ModelChoiceField)
            field.queryset = Rater.objects.filter(pk__in=[each.rater.pk for each in authors])
        else:
            del self.fields["author"], self.fields["partial"]
        for name, number in step.numbers.items():
            self.fields[f"number_{name}"] = forms.FloatField(label=name, initial=number)

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if Batch.objects.filter(name=name).exists():
            raise forms.ValidationError(TAKEN)
        return name

    def numbers(self) -> dict[str, float]:
        return {name: self.cleaned_data[f"number_{name}"] for name in self.step.numbers}


@require_http_methods(["GET", "HEAD", "POST"])
@role_required(*READERS)
def build_batch(request: HttpRequest, pk: int, step: str) -> HttpResponse:
    batch, chosen = get_object_or_404(Batch, pk=pk), step_called(step)
    campaign = _campaign(person(request), batch, chosen)
    if campaign and (blind := blind_page(request, campaign)):
        return blind
    authors = authors_of(campaign) if campaign else []
    posted = request.method == "POST"
    initial = {"name": f"{batch.name}, {chosen.name}"[:200]}
    form = BuildForm(
        request.POST if posted else None, step=chosen, authors=authors, initial=initial
    )
    if not posted or not form.is_valid():
        return _page(request, batch, form, authors, 422 if posted else 200)
    if batch.counts.get("queries", 0) > MOST_QUERIES:
        told = f"This batch has more than {MOST_QUERIES} queries; build it with build_batch."
        return _refused(request, batch, form, authors, told)
    try:
        made = _made(batch, campaign, form)
    except (InputError, ValueError) as error:
        return _refused(request, batch, form, authors, f"{str(error)[:1].upper()}{str(error)[1:]}.")
    return redirect("batch", made.pk)


def _made(batch: Batch, campaign: Campaign | None, form: BuildForm) -> Batch:
    results = {}
    if campaign is not None:
        told = form.cleaned_data
        results = accepted(form.step, campaign, told["author"], told["partial"])
    build(form.step, batch, results, form.numbers(), form.cleaned_data["name"])
    return Batch.objects.get(name=form.cleaned_data["name"])


def _campaign(user: User, batch: Batch, step: Step) -> Campaign | None:
    """None where the step asks nobody; not there where nobody was asked, or others were."""
    if not step.protocol:
        return None
    mine = readable(user).filter(batch=batch, protocol=step.protocol)
    return get_object_or_404(mine, name=name_of(batch, step))


def _refused(
    request: HttpRequest, batch: Batch, form: BuildForm, authors: list[Author], told: str
) -> HttpResponse:
    form.add_error(None, told)
    return _page(request, batch, form, authors, 409)


def _page(
    request: HttpRequest, batch: Batch, form: BuildForm, authors: list[Author], status: int
) -> HttpResponse:
    context = {"batch": batch, "step": form.step, "form": form, "authors": authors}
    return render(request, "preparation/build.html", context, status=status)

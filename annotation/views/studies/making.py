"""A new campaign in the browser, and its dry run."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from annotation.campaigns import create_once
from annotation.design import DesignError
from annotation.expecting import AssumptionError
from annotation.models import User
from annotation.protocols import PROTOCOLS
from annotation.rehearsed import sentences
from annotation.rehearsing import Rehearsal, rehearse
from annotation.views.mine import user_of
from annotation.views.studies.fields import add_to
from annotation.views.studies.forms import CampaignForm, ChoiceForm
from datasets.access import role_required
from datasets.api.throttling import seconds_to_wait

MOST_ITEMS, MOST_SHOWN = 20_000, 30
TOO_MANY = "There were many dry runs within the hour. Come again a little later."


@require_http_methods(["GET", "HEAD", "POST"])
@role_required(User.Role.RESEARCHER, User.Role.ADMIN)
def new_campaign(request: HttpRequest) -> HttpResponse:
    said = request.POST if request.method == "POST" else request.GET
    chosen = ChoiceForm(said if "protocol" in said or "batch" in said else None)
    if not chosen.is_valid():
        status = 422 if request.method == "POST" else 200
        return render(request, "campaigns/choose.html", {"form": chosen}, status=status)
    form = _form(request, chosen)
    if request.method != "POST":
        return _page(request, form)
    if not form.is_valid():
        return _page(request, form, status=422)
    try:
        if "dry" in request.POST:
            if seconds_to_wait("report", form.user.pk) is not None:
                form.add_error(None, TOO_MANY)
                return _page(request, form, status=429)
            return _page(request, form, _rehearsed(form))
        design, terms = form.design(), form.terms()
        made = create_once(
            form.cleaned_data["name"], form.protocol.name, form.batch, design, terms, form.user
        )
    except (DesignError, AssumptionError) as error:
        add_to(form, error)
        return _page(request, form, status=422)
    return redirect("campaign", made.campaign.pk)


def _form(request: HttpRequest, chosen: ChoiceForm) -> CampaignForm:
    data: QueryDict | None = request.POST if request.method == "POST" else None
    protocol = chosen.cleaned_data["protocol"]
    initial = {"guideline": PROTOCOLS[protocol].guideline} if "guideline" in request.GET else {}
    return CampaignForm(
        data, initial=initial, user=user_of(request), protocol=protocol,
        batch=chosen.cleaned_data["batch"],
    )  # fmt: skip


def _rehearsed(form: CampaignForm) -> Rehearsal:
    """Raises DesignError and AssumptionError."""
    data = form.cleaned_data
    return rehearse(
        data["name"], form.protocol.name, form.batch, form.design(), form.terms(),
        data["people"], form.assumptions(), most=MOST_ITEMS, by=form.user,
    )  # fmt: skip


def _page(
    request: HttpRequest, form: CampaignForm, told: Rehearsal | None = None, status: int = 200
) -> HttpResponse:
    context = {
        "form": form,
        "protocol": form.protocol,
        "batch": form.batch,
        "told": told,
        "sentences": list(sentences(told)) if told else [],
        "shares": told.shares[:MOST_SHOWN] if told else [],
        "more": max(0, len(told.shares) - MOST_SHOWN) if told else 0,
    }
    return render(request, "campaigns/new.html", context, status=status)

"""Pages of derived batches: choose a rule, preview it, derive the batch, and list what it left out.

A job derives the batch. The address of the page that waits for it contains the whole input.
"""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods, require_safe

from annotation.access import get_account, is_blind
from annotation.derivation.base import Rule
from annotation.derivation.decisions import MODES, TIES
from annotation.derivation.rules import RULES
from annotation.derivation.service import (
    DERIVATION,
    DerivationRequest,
    check_campaigns,
    fitting_rules,
    left_out_of,
    question,
)
from annotation.models import Campaign, Rater
from annotation.people.membership import readable
from datasets.access import READERS, check_managed, role_required, visible_batch
from datasets.derivation import DerivationError
from datasets.models import Batch, Lineage
from datasets.option_fields import form_fields, set_choices
from datasets.text import as_sentence
from datasets.work import pages as jobs
from datasets.work import results

PAGE = 100
PREVIEW = "preview"
MODE_WORDS = {
    "adjudicated": "The Reference where it decided, the majority elsewhere",
    "majority": "The majority of people",
    "unanimous": "All people together",
}
TIE_WORDS = {"refuse": "Refuse and name them", "drop": "Drop", "keep": "Keep"}
TAKEN = "A batch has this name already; choose another."
BLIND = "You have an open item in {}; answer it before you read others’ decisions."


class DeriveForm(forms.Form):
    """The form of a derived batch: name, campaigns, who decides, ties, and the rule's options."""

    name = forms.CharField(max_length=200, label="Name of the new batch")
    campaigns = forms.MultipleChoiceField(
        label="Campaigns that decide", widget=forms.CheckboxSelectMultiple
    )
    decided_by = forms.ChoiceField(label="Who decides", required=False)
    ties = forms.ChoiceField(
        label="Ties, and what nobody labelled",
        choices=[(each, TIE_WORDS[each]) for each in TIES],
        required=False,
    )

    def __init__(self, *args: Any, rule: Rule, campaigns: list[Campaign], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.rule = rule
        set_choices(self, "campaigns", [(each.name, each.name) for each in campaigns])
        set_choices(self, "decided_by", _deciders(campaigns))
        if not rule.protocols:
            del self.fields["campaigns"], self.fields["decided_by"], self.fields["ties"]
        hints = rule.hints(campaigns)
        for option in rule.declared_options:
            field = form_fields([option])[option.name]
            field.initial = option.default
            # The backticks are for the terminal and the reference.
            help_text = option.help.replace("`", "")
            sentences = (f"{help_text[:1].upper()}{help_text[1:]}.", hints.get(option.name, ""))
            field.help_text = " ".join(filter(None, sentences))
            self.fields[f"set_{option.name}"] = field

    def derivation_request(self, request: HttpRequest, batch: Batch) -> DerivationRequest:
        user, cleaned = get_account(request), self.cleaned_data
        options = {
            option.name: value
            for option in self.rule.declared_options
            if (value := cleaned[f"set_{option.name}"]) not in (None, "")
        }
        return DerivationRequest(
            cleaned["name"],
            batch,
            self.rule.name,
            cleaned.get("campaigns", ()),
            cleaned.get("decided_by") or MODES[0],
            cleaned.get("ties") or TIES[0],
            options,
            by=user,
            reader=user,
        )


def _deciders(campaigns: list[Campaign]) -> list[tuple[str, str]]:
    raters = Rater.objects.filter(assignments__item__campaign__in=campaigns).distinct()
    names = raters.exclude(kind__in=("trial", "reference")).values_list("name", flat=True)
    return [*MODE_WORDS.items(), *((name, f"{name} alone") for name in names.order_by("name"))]


@require_http_methods(["GET", "HEAD", "POST"])
@role_required(*READERS)
def derive_batch(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the rules, or the form of one rule, and preview or create the batch."""
    batch = visible_batch(request.user, pk)
    user = get_account(request)
    check_managed(user, batch)
    campaigns = list(readable(user).filter(batch=batch).order_by("name"))
    rules = fitting_rules(batch, campaigns)
    data = request.POST if request.method == "POST" else request.GET
    chosen = next(((rule, of) for rule, of in rules if rule.name == data.get("rule")), None)
    context: dict[str, Any] = {"batch": batch, "rules": rules, "chosen": chosen}
    if chosen is None:
        others = [rule for rule in RULES.values() if rule.name not in {r.name for r, _ in rules}]
        named = request.GET.getlist("from")
        return render(request, "batches/derive.html", {**context, "others": others, "named": named})
    rule, of = chosen
    posted = request.method == "POST"
    followed = "job" in request.GET
    form = DeriveForm(
        data if posted or followed else None,
        rule=rule,
        campaigns=of,
        initial=_initial(request, batch, rule, of),
    )
    context["form"] = form
    if not (posted or followed) or not form.is_valid():
        return render(request, "batches/derive.html", context, status=422 if posted else 200)
    return _derived(request, batch, form, context)


def _initial(
    request: HttpRequest, batch: Batch, rule: Rule, campaigns: list[Campaign]
) -> dict[str, Any]:
    named = request.GET.getlist("from") or [each.name for each in campaigns][:1]
    given = {name: request.GET[name] for name in request.GET if name != "from"}
    return {"name": f"{batch.name}, {rule.name}"[:200], "campaigns": named, **given}


def _derived(
    request: HttpRequest, batch: Batch, form: DeriveForm, context: dict[str, Any]
) -> HttpResponse:
    """Queue the job that derives the batch, or show its status or result."""
    is_preview = PREVIEW in _data(request)
    order = form.derivation_request(request, batch)
    for campaign in Campaign.objects.filter(name__in=order.campaigns):
        if is_blind(get_account(request), campaign):
            return _refusal(request, form, context, BLIND.format(campaign.name)[:-1])
    asked_now = request.method == "POST" and not is_preview
    if asked_now and Batch.objects.filter(name=order.name).exists():
        return _refusal(request, form, context, TAKEN[:-1], "name")
    try:
        check_campaigns(order)
    except DerivationError as error:
        return _refusal(request, form, context, str(error), error.field)
    page = _address(request)
    asked = jobs.follow(request, DERIVATION, question(order, is_preview), page)
    if not asked.is_current:
        return jobs.waiting_page(request, asked.job, page, page=page)
    try:
        found = results.value(asked.job)
    except results.GoneError:
        return redirect(page)
    if "refused" in found:
        return _refusal(request, form, context, found["refused"], found["field"])
    if found["batch"] is None:
        return render(request, "batches/derive.html", {**context, "preview": _with_total(found)})
    return redirect("batch", found["batch"])


def _data(request: HttpRequest) -> QueryDict:
    return request.POST if request.method == "POST" else request.GET


def _address(request: HttpRequest) -> str:
    """Return the address of the page with everything that was entered."""
    given = _data(request).copy()
    for name in ("csrfmiddlewaretoken", *jobs.OWN):
        given.pop(name, None)
    return f"{request.path}?{given.urlencode()}"


def _refusal(
    request: HttpRequest, form: DeriveForm, context: dict[str, Any], why: str, field: str = ""
) -> HttpResponse:
    form.add_error(field if field in form.fields else None, as_sentence(why))
    return render(request, "batches/derive.html", context, status=409)


def _with_total(found: dict[str, Any]) -> dict[str, Any]:
    total = sum(sum(reasons.values()) for reasons in found["dropped"].values())
    return {**found, "total": total}


@require_safe
@role_required(*READERS)
def left_out(request: HttpRequest, pk: int) -> HttpResponse:
    """List what a derived batch left out, with the reasons; `reason` shows one of them."""
    batch = visible_batch(request.user, pk)
    lineage = Lineage.objects.select_related("source").filter(batch=batch).first()
    rows = left_out_of(batch)
    reason = request.GET.get("reason", "")
    if reason:
        rows = rows.filter(reason=reason)
    page = Paginator(rows, PAGE).get_page(request.GET.get("page"))
    query = urlencode({"reason": reason}) if reason else ""
    context = {"batch": batch, "lineage": lineage, "page": page, "reason": reason, "query": query}
    return render(request, "batches/left_out.html", context)

"""Pages of the settings of a campaign."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.db import transaction
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
)
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from annotation.access import get_account, is_blind, managed_campaign, readable_campaign
from annotation.audit_log import changes_of
from annotation.campaign_setup.replay import SAMPLE, question
from annotation.campaigns.changes import change
from annotation.campaigns.design import DesignError
from annotation.campaigns.sampling import sampled_queries, summary
from annotation.campaigns.settings import LONGEST_GUIDELINE, CampaignSettings
from annotation.exposure.detection import exposed_people
from annotation.gold.scoring import Score, admissible, admit, passes, scores
from annotation.models import Campaign, CarriedAnswer, Item, Rater, User
from annotation.people.membership import may_manage
from annotation.presentation import design, schema
from annotation.progress import cached
from annotation.progress.counts import answers_by_guideline
from annotation.protocol_files import VERSION, visible_files
from annotation.registry import get_protocol
from annotation.views.new_campaign_forms import DESIGN
from annotation.views.settings_forms import (
    AdmitForm,
    GoldForm,
    SettingsForm,
    add_design_error,
    describe_differences,
    describe_file_error,
    initial_settings,
    settings_digest,
    store_gold_file,
)
from audit.recording import record_export
from datasets.access import READERS, role_required
from datasets.work import pages as jobs
from tandem.files.rows import InputError

MAX_PEOPLE = 200
(ORDER_NAMES,) = (option.values for option in DESIGN if option.name == "items")
BLIND_GOLD = "You have an open item in this campaign; answer it before you set gold answers."
MOST_QUERIES = 200
"""How many sampled queries the page of a campaign lists. The file has all of them."""
BLIND_SAMPLE = "You have an open item in this campaign; answer it before you download the sample."
CHANGED = (
    "Another person changed the settings since you opened this page, and nothing of yours is saved "
    "yet. Current settings: {}. Save again to replace them with yours."
)


@dataclass(frozen=True)
class GoldStatus:
    """A person's scores on gold and practice items; None if the campaign has no such items."""

    rater: Rater
    gold: Score | None
    practice: Score | None
    passed: bool
    admitted: bool


def _campaign_context(
    campaign: Campaign,
    user: User,
    form: SettingsForm | None = None,
    gold_form: GoldForm | None = None,
) -> dict[str, Any]:
    if form is None:
        form = SettingsForm(initial=initial_settings(campaign))
        form.offer_practice(user, campaign)
    sample, blind = summary(campaign), is_blind(user, campaign)
    return {
        "campaign": campaign,
        "protocol": get_protocol(campaign),
        "task": f"{campaign.protocol}{VERSION}{campaign.protocol_version}",
        "file": visible_files(user).filter(campaigns=campaign).first(),
        "facts": describe_design(campaign),
        "form": form,
        "seen": settings_digest(campaign),
        "gold_form": gold_form or GoldForm(),
        "sample": sample,
        "sampled": [] if blind else _sampled_queries(campaign, sample),
        "blind": blind,
        "people": [] if blind else gold_statuses(campaign, sample),
        "guidelines": guideline_versions(campaign),
        "exposed": exposed_people(campaign),
        "changes": changes_of(campaign),
        "manages": may_manage(user, campaign.pk),
    }


def _sampled_queries(campaign: Campaign, sample: dict[str, Any]) -> list[str]:
    """Return the first of the queries that were sampled for people; none if all of them were."""
    if sample["queries_drawn"] == sample["queries"]:
        return []
    return list(sampled_queries(campaign)[:MOST_QUERIES])


def describe_design(campaign: Campaign) -> list[tuple[str, str]]:
    """Return the design as names and values, without options that have their usual value."""
    used, options = design(campaign), campaign.options
    items = len(used.chosen)
    order = ORDER_NAMES[used.items]
    if items and used.items == "fixed":
        order = "The most urgent first"
    facts = [
        ("People per item", "0, judges only" if used.is_for_judges else str(used.raters_per_item)),
        ("Seed", str(used.seed)),
        ("Order of items", order),
    ]
    if items:
        chosen = f"{items} item{'' if items == 1 else 's'}, chosen and not sampled at random"
        facts.append(("Only", chosen))
    if used.overlap < 1:
        facts.append(("Items with all these people", f"{used.overlap:.0%}"))
    if used.human_share < 1:
        facts.append(("Queries for people", f"{used.human_share:.0%}"))
    splits = {name: options.get(name) for name in ("development", "audit")}
    facts += [(f"Queries for {name}", f"{share:.0%}") for name, share in splits.items() if share]
    if used.variables:
        facts.append(("Asks", ", ".join(used.variables)))
    if used.judge_variables:
        facts.append(("Asks judges", ", ".join(used.judge_variables)))
    if campaign.continues is not None:
        carried = CarriedAnswer.objects.filter(response__assignment__item__campaign=campaign)
        facts.append(("Continues", f"{campaign.continues.name}: {carried.count()} answers carried"))
    names = {
        "prerequisite": "Comes after",
        "validates": "Shows labels from",
        "strata": "Stratified by labels from",
        "sampling": f"{schema(campaign).noun[1].capitalize()} of an item",
        "judge_sampling": f"{schema(campaign).noun[1].capitalize()} for judges",
    }
    facts += [(title, str(options[name])) for name, title in names.items() if options.get(name)]
    return facts


def gold_statuses(campaign: Campaign, sample: dict[str, Any]) -> list[GoldStatus]:
    """Return the scores of people who have started, if the campaign has gold or practice items."""
    first = campaign.practice_of
    if not sample["gold"] and first is None:
        return []
    raters = list(admissible(campaign).order_by("name")[:MAX_PEOPLE])
    keys = [rater.pk for rater in raters]
    gold = scores(campaign, keys, Item.Use.GOLD) if sample["gold"] else {}
    practice = scores(first, keys, Item.Use.PRACTICE) if first else {}
    admitted = set(campaign.admissions.filter(rater__in=keys).values_list("rater", flat=True))
    return [
        GoldStatus(
            rater,
            gold.get(rater.pk),
            score := practice.get(rater.pk),
            score is not None and passes(campaign, score),
            rater.pk in admitted,
        )
        for rater in raters
    ]


def guideline_versions(campaign: Campaign) -> list[dict[str, Any]]:
    """Return the versions of the campaign's own guideline, newest first, with answer counts."""
    versions = list(campaign.guidelines.select_related("by").order_by("-version"))
    if not any(each.digest for each in versions):
        answers = {}
    else:
        answers = cached(f"guideline-answers-{campaign.pk}", lambda: _count_answers(campaign))
    rows: list[dict[str, Any]] = [
        {"version": each, "answers": answers.get(each.digest, 0)} for each in versions
    ]
    own = sum(answers.values()) - sum(row["answers"] for row in rows)
    # Before the first version, people followed the protocol's text, which is not a version.
    return [*rows, {"version": None, "answers": own}] if own > 0 else rows


def _count_answers(campaign: Campaign) -> tuple[dict[str, int], int]:
    counts = answers_by_guideline(campaign)
    return counts, sum(counts.values())


@require_safe
@role_required(*READERS)
def campaign_settings(request: HttpRequest, pk: int) -> HttpResponse:
    found, user = readable_campaign(request, pk), get_account(request)
    return render(request, "campaigns/settings.html", _campaign_context(found, user))


@require_POST
@role_required(*READERS)
def change_settings(request: HttpRequest, pk: int) -> HttpResponse:
    """Store the form's settings, unless they changed since the form was opened.

    With `propose`, fill in only a draft's guideline. With `own`, fill in the protocol's guideline
    and keep the form's other values. Neither stores anything.
    """
    user, seen = get_account(request), request.POST.get("seen")
    if request.POST.get("propose") == "guideline":
        text = request.POST.get("text", "")[:LONGEST_GUIDELINE]
        return _propose_guideline(request, managed_campaign(request, pk), text, "draft")
    if "own" in request.POST:
        found = managed_campaign(request, pk)
        return _propose_guideline(
            request, found, get_protocol(found).guideline, "protocol", request.POST
        )
    with transaction.atomic():
        found = managed_campaign(request, pk, lock=True)
        form = SettingsForm(request.POST)
        form.offer_practice(user, found)
        if seen is not None and seen != settings_digest(found):
            current = "; ".join(describe_differences(form, found)) or "the same as below"
            context = _campaign_context(found, user, form) | {"wrong": CHANGED.format(current)}
            return render(request, "campaigns/settings.html", context, status=409)
        if form.is_valid():
            try:
                change(found, form.settings(found), user=user)
                return redirect(f"{reverse('campaign-settings', args=[pk])}?saved=1")
            except DesignError as error:
                add_design_error(form, error)
    context = _campaign_context(found, user, form)
    return render(request, "campaigns/settings.html", context, status=422)


def _propose_guideline(
    request: HttpRequest,
    found: Campaign,
    text: str,
    source: str,
    typed: Mapping[str, str] | None = None,
) -> HttpResponse:
    """Show the settings, or the values typed so far, with a guideline that is not stored."""
    user, typed = get_account(request), typed or {}
    values = {name: typed.get(name, value) for name, value in initial_settings(found).items()}
    form = SettingsForm(initial=values | {"guideline": text})
    form.offer_practice(user, found)
    context = _campaign_context(found, user, form) | {"proposed": source}
    # The typed values refer to the settings that the person saw at that time.
    context["seen"] = typed.get("seen", context["seen"])
    return render(request, "campaigns/settings.html", context)


@require_POST
@role_required(*READERS)
def open_or_close(request: HttpRequest, pk: int) -> HttpResponse:
    """Open, close, archive or restore a campaign, as `to` says."""
    found, user = managed_campaign(request, pk), get_account(request)
    to = request.POST.get("to")
    try:
        if to in ("archived", "restored"):
            change(found, CampaignSettings(), user=user, is_archived=to == "archived")
        if to in ("open", "closed"):
            change(found, CampaignSettings(), to == "open", user)
    except DesignError as error:
        context = _campaign_context(found, user) | {"wrong": f"Campaign not opened: {error}."}
        return render(request, "campaigns/settings.html", context, status=422)
    return redirect("campaign-settings", pk)


@require_POST
@role_required(*READERS)
def set_gold(request: HttpRequest, pk: int) -> HttpResponse:
    found, user = managed_campaign(request, pk), get_account(request)
    if is_blind(user, found):
        # A refused or unchanged answer would reveal the gold items and their answers.
        context = _campaign_context(found, user) | {"wrong": BLIND_GOLD}
        return render(request, "campaigns/settings.html", context, status=403)
    form = GoldForm(request.POST, request.FILES)
    if form.is_valid():
        data = form.cleaned_data
        try:
            store_gold_file(found, data["file"], data["use"])
            return redirect("campaign-settings", pk)
        except InputError as error:
            form.add_error("file", describe_file_error(error))
    context = _campaign_context(found, user, gold_form=form)
    return render(request, "campaigns/settings.html", context, status=422)


@require_POST
@role_required(*READERS)
def admit_person(request: HttpRequest, pk: int) -> HttpResponse:
    found, user = managed_campaign(request, pk), get_account(request)
    form = AdmitForm(request.POST)
    if not form.is_valid():
        context = _campaign_context(found, user) | {"wrong": "Give a reason to admit a person."}
        return render(request, "campaigns/settings.html", context, status=422)
    rater = get_object_or_404(admissible(found), pk=form.cleaned_data["rater"])
    admit(found, rater, form.cleaned_data["reason"], user)
    return redirect("campaign-settings", pk)


@require_safe
@role_required(*READERS)
def download_sample(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Send the stored sample as CSV, or the page that waits for its job."""
    found, user = managed_campaign(request, pk), get_account(request)
    if is_blind(user, found):
        # A stratum reveals the label that others, or a judge, gave a unit.
        context = _campaign_context(found, user) | {"wrong": BLIND_SAMPLE}
        return render(request, "campaigns/settings.html", context, status=403)
    settings = reverse("campaign-settings", args=[pk])
    record = partial(record_export, request, found.pk, "draws", "csv")
    return jobs.file(request, SAMPLE, question(found), settings, record)

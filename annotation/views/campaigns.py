"""Pages of campaigns: the list, a new one with its dry run, and one with its settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Count
from django.db.models.functions import Substr
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    QueryDict,
    StreamingHttpResponse,
)
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.access import is_blind, user_of
from annotation.campaign_setup.creation import create_once
from annotation.campaign_setup.dry_run import AssumptionError, DryRun, sentences, simulate
from annotation.campaigns.design import DesignError
from annotation.campaigns.sampling import COLUMNS, sample_lines, summary
from annotation.campaigns.settings import CampaignSettings, change
from annotation.gold.scoring import Score, admissible, admit, passes, scores
from annotation.models import Campaign, Item, Rater, Response, User
from annotation.people.membership import readable
from annotation.presentation import design
from annotation.progress.counts import kept, with_counts
from annotation.protocols import PROTOCOLS
from annotation.provenance import LENGTH
from annotation.registry import declared
from annotation.spreadsheet import write_rows
from annotation.views.forms import (
    ITEM_ORDERS,
    AdmitForm,
    CampaignForm,
    ChoiceForm,
    KnownForm,
    TermsForm,
    add_to,
    differing,
    initial_of,
    seen_of,
    take_file,
    told,
)
from audit.recording import record_export
from datasets.access import role_required
from datasets.api.throttling import seconds_to_wait
from datasets.rows import InputError


@require_safe
@role_required(User.Role.RESEARCHER, User.Role.ADMIN)
def campaigns(request: HttpRequest) -> HttpResponse:
    rows = [
        {"campaign": campaign, "title": declared(campaign).title}
        for campaign in with_counts(readable(user_of(request))).order_by("-is_open", "name")
    ]
    return render(request, "campaigns/list.html", {"rows": rows})


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
        data,
        initial=initial,
        user=user_of(request),
        protocol=protocol,
        batch=chosen.cleaned_data["batch"],
    )


def _rehearsed(form: CampaignForm) -> DryRun:
    """Raises DesignError and AssumptionError."""
    data = form.cleaned_data
    return simulate(
        data["name"],
        form.protocol.name,
        form.batch,
        form.design(),
        form.terms(),
        data["people"],
        form.assumptions(),
        most=MOST_ITEMS,
        by=form.user,
    )


def _page(
    request: HttpRequest, form: CampaignForm, told: DryRun | None = None, status: int = 200
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


MOST_PEOPLE = 200
ORDER_WORDS = dict(ITEM_ORDERS)


@dataclass(frozen=True)
class Person:
    """How somebody did on the items whose answers are known; None where there are none."""

    rater: Rater
    gold: Score | None
    practice: Score | None
    passed: bool
    admitted: bool


def context_of(
    campaign: Campaign, user: User, form: TermsForm | None = None, known: KnownForm | None = None
) -> dict[str, Any]:
    if form is None:
        form = TermsForm(initial=initial_of(campaign))
        form.offer_practice(user, campaign)
    drawn, blind = summary(campaign), is_blind(user, campaign)
    return {
        "campaign": campaign,
        "protocol": declared(campaign),
        "facts": facts(campaign),
        "form": form,
        "seen": seen_of(campaign),
        "known": known or KnownForm(),
        "drawn": drawn,
        "blind": blind,
        "people": [] if blind else people(campaign, drawn),
        "guidelines": guidelines(campaign),
    }


def facts(campaign: Campaign) -> list[tuple[str, str]]:
    """The design in words, what is usual left out."""
    chosen, options = design(campaign), campaign.options
    found = [
        ("People on an item", str(chosen.raters_per_item)),
        ("Seed", str(chosen.seed)),
        ("Order of items", ORDER_WORDS[chosen.items]),
    ]
    if chosen.overlap < 1:
        found.append(("Items with all of them", f"{chosen.overlap:.0%}"))
    if chosen.human_share < 1:
        found.append(("Queries for people", f"{chosen.human_share:.0%}"))
    roles = {name: options.get(name) for name in ("development", "audit")}
    found += [(f"Queries for {name}", f"{share:.0%}") for name, share in roles.items() if share]
    if chosen.variables:
        found.append(("Asks", ", ".join(chosen.variables)))
    names = {
        "prerequisite": "Comes after",
        "validates": "Shows the verdicts of",
        "strata": "Draws by the labels of",
        "sampling": "Units of an item",
    }
    found += [(word, str(options[name])) for name, word in names.items() if options.get(name)]
    return found


def people(campaign: Campaign, drawn: dict[str, Any]) -> list[Person]:
    """Those who have begun here, where any answer is known beforehand."""
    first = campaign.practice_of
    if not drawn["gold"] and first is None:
        return []
    raters = list(admissible(campaign).order_by("name")[:MOST_PEOPLE])
    keys = [rater.pk for rater in raters]
    gold = scores(campaign, keys, Item.Use.GOLD) if drawn["gold"] else {}
    practice = scores(first, keys, Item.Use.PRACTICE) if first else {}
    admitted = set(campaign.admissions.filter(rater__in=keys).values_list("rater", flat=True))
    return [
        Person(
            rater,
            gold.get(rater.pk),
            told := practice.get(rater.pk),
            told is not None and passes(campaign, told),
            rater.pk in admitted,
        )
        for rater in raters
    ]


def guidelines(campaign: Campaign) -> list[dict[str, Any]]:
    """The versions of a campaign's own guideline, the newest first, with their answers."""
    versions = list(campaign.guidelines.select_related("by").order_by("-version"))
    if not any(each.digest for each in versions):
        answers = {}
    else:
        answers = kept(f"guideline-answers-{campaign.pk}", lambda: _counted(campaign))
    return [{"version": each, "answers": answers.get(each.digest, 0)} for each in versions]


def _counted(campaign: Campaign) -> tuple[dict[str, int], int]:
    found = _answers(campaign)
    return found, sum(found.values())


def _answers(campaign: Campaign) -> dict[str, int]:
    """How many items people answered under each guideline, by its digest."""
    answers = Response.objects.filter(
        assignment__item__campaign=campaign,
        assignment__rater__kind=Rater.Kind.HUMAN,
        basis__isnull=False,
    )
    digest = Substr("basis", 2 * (LENGTH + 1) + 1)
    rows = answers.order_by().values_list(digest).annotate(n=Count("assignment", distinct=True))
    return {of: n for of, n in rows if of}


READERS = (User.Role.RESEARCHER, User.Role.ADMIN)
BLIND_KNOWN = "You have an open item in this campaign; answer it before you set what is known."
BLIND = "You have an open item in this campaign; answer it before you take the draw along."
CHANGED = (
    "Somebody changed the terms since you opened this page, and nothing of yours is saved yet. "
    "What stands: {}. Save again to put yours in its place."
)


def _campaign(request: HttpRequest, pk: int) -> Campaign:
    return get_object_or_404(
        readable(user_of(request)).select_related("batch", "practice_of"), pk=pk
    )


@require_safe
@role_required(*READERS)
def campaign(request: HttpRequest, pk: int) -> HttpResponse:
    found = _campaign(request, pk)
    return render(request, "campaigns/campaign.html", context_of(found, user_of(request)))


@require_POST
@role_required(*READERS)
def change_terms(request: HttpRequest, pk: int) -> HttpResponse:
    """The terms of the form, unless somebody changed what its writer had seen."""
    user, seen = user_of(request), request.POST.get("seen")
    with transaction.atomic():
        found = get_object_or_404(readable(user).select_for_update(), pk=pk)
        form = TermsForm(request.POST)
        form.offer_practice(user, found)
        if seen is not None and seen != seen_of(found):
            stands = "; ".join(differing(form, found)) or "the same as below"
            context = context_of(found, user, form) | {"wrong": CHANGED.format(stands)}
            return render(request, "campaigns/campaign.html", context, status=409)
        if form.is_valid():
            try:
                change(found, form.terms(found), user=user)
                return redirect("campaign", pk)
            except DesignError as error:
                add_to(form, error)
    return render(request, "campaigns/campaign.html", context_of(found, user, form), status=422)


@require_POST
@role_required(*READERS)
def turn(request: HttpRequest, pk: int) -> HttpResponse:
    """Closes a campaign, or opens it: `to` says which."""
    found, user = _campaign(request, pk), user_of(request)
    to = request.POST.get("to")
    try:
        if to in ("open", "closed"):
            change(found, CampaignSettings(), to == "open", user)
    except DesignError as error:
        context = context_of(found, user) | {"wrong": f"Campaign not opened: {error}."}
        return render(request, "campaigns/campaign.html", context, status=422)
    return redirect("campaign", pk)


@require_POST
@role_required(*READERS)
def set_known(request: HttpRequest, pk: int) -> HttpResponse:
    found, user = _campaign(request, pk), user_of(request)
    if is_blind(user, found):
        # What is refused or unchanged would tell which item is known, and its answer.
        context = context_of(found, user) | {"wrong": BLIND_KNOWN}
        return render(request, "campaigns/campaign.html", context, status=403)
    form = KnownForm(request.POST, request.FILES)
    if form.is_valid():
        data = form.cleaned_data
        try:
            take_file(found, data["file"], data["use"])
            return redirect("campaign", pk)
        except InputError as error:
            form.add_error("file", told(error))
    context = context_of(found, user, known=form)
    return render(request, "campaigns/campaign.html", context, status=422)


@require_POST
@role_required(*READERS)
def let_in(request: HttpRequest, pk: int) -> HttpResponse:
    found, user = _campaign(request, pk), user_of(request)
    form = AdmitForm(request.POST)
    if not form.is_valid():
        context = context_of(found, user) | {"wrong": "Give a reason to let somebody in."}
        return render(request, "campaigns/campaign.html", context, status=422)
    rater = get_object_or_404(admissible(found), pk=form.cleaned_data["rater"])
    admit(found, rater, form.cleaned_data["reason"], user)
    return redirect("campaign", pk)


@require_safe
@role_required(*READERS)
def draw(request: HttpRequest, pk: int) -> HttpResponseBase:
    """The stored draw as CSV, streamed."""
    found, user = _campaign(request, pk), user_of(request)
    if is_blind(user, found):
        # A stratum tells what others, or a judge, said of a unit.
        context = context_of(found, user) | {"wrong": BLIND}
        return render(request, "campaigns/campaign.html", context, status=403)
    record_export(request, found.pk, "draws", "csv")
    lines = StreamingHttpResponse(write_rows(COLUMNS, sample_lines(found)), content_type="text/csv")
    lines["Content-Disposition"] = f'attachment; filename="draws-{found.pk}.csv"'
    return lines

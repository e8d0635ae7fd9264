"""A new campaign, guided: the task over a batch, then what must be chosen, with previews.

What a person has typed is kept in the session until the campaign is created, so nothing is lost by
going back to the tasks. Nothing else is stored before that: the dry run is a job, and the
annotator's page is made of rows that are rolled back.
"""

from __future__ import annotations

import difflib
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.db import transaction
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.cache import patch_cache_control
from django.views.decorators.http import require_http_methods, require_POST

from annotation.access import get_account
from annotation.assignments.queue import order_for
from annotation.campaign_setup.chosen_items import ChosenItems
from annotation.campaign_setup.creation import checked_campaign, create_once
from annotation.campaign_setup.dry_run import DryRun, effort_of, sentences
from annotation.campaign_setup.items import ItemWriter, asked_items
from annotation.campaign_setup.preview_job import PREVIEW, dry_run_of, question
from annotation.campaign_setup.suitable_protocols import FITS, fits_of
from annotation.campaign_setup.suitable_protocols import question as fits_question
from annotation.campaigns.design import Design, DesignError
from annotation.campaigns.rendering import render as render_guideline
from annotation.campaigns.sampling import sample_queries
from annotation.campaigns.settings import LONGEST_GUIDELINE, SETTINGS, practice_name
from annotation.models import Assignment, Campaign, Rater
from annotation.protocol_files import task_name, visible_files
from annotation.protocols import PROTOCOLS
from annotation.protocols.base import Protocol
from annotation.registry import get_protocol, stored_protocol
from annotation.views.items import guideline_parts, item_context
from annotation.views.new_campaign_forms import CampaignForm, TaskForm, default_team
from annotation.views.settings_forms import add_design_error
from datasets.access import READERS, TeamError, role_required, team_for, visible_batches
from datasets.api.concurrency import seconds_to_wait
from datasets.models import Batch, Team
from datasets.text import as_sentence
from datasets.work import pages as jobs
from datasets.work import results
from datasets.work.pages import Status
from tandem.options import options_of

MAX_SHARES = 30
TOO_MANY = "Too many previews within the hour. Try again later."
DRAFT, LONGEST_DRAFT = "new-campaign", 120_000
MOST_LINES = 4000
OF_DRAFT = ("dry", "page", "back", "own", "seen", "csrfmiddlewaretoken")
"""Parameters of the form that are not values of a draft."""


@require_http_methods(["GET", "HEAD", "POST"])
@role_required(*READERS)
def new_campaign(request: HttpRequest) -> HttpResponse:
    """Show the tasks that fit a batch, then the form of one; on POST, create the campaign.

    A form that is sent with `back`, `own`, `dry` or `page` leads back to the tasks, is shown with
    the protocol's own guideline, shows a dry run, or shows the annotator's page.
    """
    data = request.POST if request.method == "POST" else request.GET
    chosen = TaskForm(data if "protocol" in data else None, user=get_account(request))
    if not chosen.is_valid():
        return _tasks(request, chosen, 422 if request.method == "POST" else 200)
    form = _campaign_form(request, chosen)
    if request.method != "POST":
        return _render_new(request, form)
    _keep_draft(request)
    if "back" in request.POST:
        return redirect(f"{reverse('campaign-new')}?{_query(batch=form.batch.name)}")
    if "own" in request.POST:
        return _render_new(request, _with_own_guideline(request, form))
    if not form.is_valid():
        return _render_new(request, form, status=422)
    try:
        if "dry" in request.POST:
            return _preview(request, form)
        if "page" in request.POST:
            return _annotator_page(request, form)
        return _create(request, form)
    except TeamError as error:
        form.add_error(None, as_sentence(error))
    except DesignError as error:
        add_design_error(form, error)
    return _render_new(request, form, status=422)


def _query(**values: str) -> str:
    found = QueryDict(mutable=True)
    found.update(values)
    return str(found.urlencode())


def _create(request: HttpRequest, form: CampaignForm) -> HttpResponse:
    """Create the campaign, and forget the draft. Raises DesignError and TeamError."""
    created = create_once(
        form.cleaned_data["name"],
        form.task,
        form.batch,
        form.design(),
        form.settings(),
        form.user,
        _team_of(form),
        form.cleaned_data["continues"],
        form.cleaned_data["pool"] or None,
    )
    request.session.pop(DRAFT, None)
    return redirect("campaign", created.campaign.pk)


def _team_of(form: CampaignForm) -> Team:
    """Return the team that the campaign is for. Raises TeamError."""
    return form.cleaned_data.get("team") or team_for(form.user, like=form.batch.team)


def _tasks(request: HttpRequest, chosen: TaskForm, status: int) -> HttpResponse:
    """Show the batches, and the tasks over the one that the address names, or else the newest."""
    batches = visible_batches(get_account(request))
    named = request.GET.get("batch")
    found = batches.order_by("-pk") if named is None else batches.filter(name=named)
    batch = found.first()
    context: dict[str, Any] = {
        "form": chosen,
        "batches": batches,
        "batch": batch,
        "draft": request.session.get(DRAFT),
    }
    if batch is None:
        return render(request, "campaigns/choose.html", context, status=status)
    page = request.get_full_path()
    team = default_team(get_account(request), batch)
    asked = jobs.follow(request, FITS, fits_question(batch, team))
    address = f"{request.path}?{_query(batch=batch.name)}"
    shown = jobs.result_or_progress_of(request, asked, address, page, "#tasks", results.value)
    if isinstance(shown, HttpResponse):
        return shown
    context |= {"shown": shown, "fits": fits_of(batch, team, shown.value)}
    in_place = bool(request.htmx)  # type: ignore[attr-defined]
    name = "campaigns/_tasks.html" if in_place else "campaigns/choose.html"
    return render(request, name, context, status=status)


def begin_chosen(request: HttpRequest, chosen: ChosenItems) -> HttpResponse:
    """Redirect to the form of a campaign over chosen items, filled in like the other campaign."""
    return begin_continued(request, chosen.campaign, chosen.design, chosen.name)


def begin_continued(
    request: HttpRequest, old: Campaign, design: Design, name: str = ""
) -> HttpResponse:
    """Redirect to the form of a campaign that continues another one, filled in with a design."""
    values = {
        **{each.name: each.field_value(old) for each in SETTINGS if each.copied},
        **{option.name: getattr(design, option.field) for option in options_of(Design)},
        "practice_of": practice_name(old),
        "categories": ",".join(design.categories),
        "chosen": "\n".join(design.chosen),
        "raters_per_item": design.raters_per_item,
        "overlap": design.overlap,
        "human_share": design.human_share,
        "continues": old.name,
        "name": name,
        "team": old.team.name if old.team else "",
        "pool": old.pool,
    }
    address = {"protocol": task_name(get_protocol(old)), "batch": old.batch.name}
    if old.protocol_file_id and old.team:
        address["team"] = old.team.name
    request.session[DRAFT] = {
        name: [str(each) for each in (value if isinstance(value, tuple) else (value,))]
        for name, value in {**values, **address}.items()
        if value not in (None, "", ())
    }
    return redirect(f"{reverse('campaign-new')}?{_query(**address)}")


def _keep_draft(request: HttpRequest) -> None:
    """Store the typed values, unless they are too long for a session."""
    values = {name: request.POST.getlist(name) for name in request.POST if name not in OF_DRAFT}
    if sum(len(text) for texts in values.values() for text in texts) <= LONGEST_DRAFT:
        request.session[DRAFT] = values


def _draft_of(request: HttpRequest, protocol: str, batch: str) -> dict[str, Any]:
    """Return the draft's values for a form.

    From a draft of another task, return only the values that every task has.
    """
    kept: Mapping[str, list[str]] = request.session.get(DRAFT, {})
    same = kept.get("protocol") == [protocol]
    if kept.get("batch") != [batch]:
        # The chosen items belong to the draft's batch.
        kept = {name: texts for name, texts in kept.items() if name != "chosen"}
    common = {"name", "raters_per_item", "people", *(s.name for s in SETTINGS if s.for_any_task)}
    return {
        name: texts if name in CampaignForm.SEVERAL else texts[-1]
        for name, texts in kept.items()
        if texts and (same or name in common)
    }


def _campaign_form(request: HttpRequest, chosen: TaskForm) -> CampaignForm:
    data: QueryDict | None = request.POST if request.method == "POST" else None
    protocol, batch = chosen.cleaned_data["protocol"], chosen.cleaned_data["batch"]
    draft = _draft_of(request, task_name(protocol), batch.name)
    named = {"team": chosen.cleaned_data["team"]} if chosen.cleaned_data["team"] else {}
    initial: dict[str, Any] = {"name": _free_name(protocol.name, batch), **draft, **named}
    user = get_account(request)
    return CampaignForm(data, initial=initial, user=user, protocol=protocol, batch=batch)


def _with_own_guideline(request: HttpRequest, form: CampaignForm) -> CampaignForm:
    """Return the form with the typed values, unchecked, and the protocol's own guideline."""
    typed: dict[str, Any] = {name: form[name].value() for name in form.fields}
    typed["guideline"] = form.protocol.guideline
    return CampaignForm(initial=typed, user=form.user, protocol=form.protocol, batch=form.batch)


def _free_name(protocol: str, batch: Batch) -> str:
    """Return an unused name for a campaign, composed of the batch and the task."""
    stem = f"{batch.name}-{protocol}"[:180]
    taken = set(Campaign.objects.filter(name__startswith=stem).values_list("name", flat=True))
    names = (stem, *(f"{stem}-{number}" for number in range(2, len(taken) + 3)))
    return next(name for name in names if name not in taken)


def _preview(request: HttpRequest, form: CampaignForm) -> HttpResponse:
    """Show the dry run of the design, or the status of its job, which htmx asks for again.

    Raises DesignError and TeamError.
    """
    data, again = form.cleaned_data, request.htmx  # type: ignore[attr-defined]
    if not again and seconds_to_wait("report", form.user.pk) is not None:
        form.add_error(None, TOO_MANY)
        return _render_new(request, form, status=429)
    dry_run = question(
        data["name"],
        form.task,
        form.batch,
        form.design(),
        form.settings(),
        data["people"],
        form.assumptions(),
        form.user,
        _team_of(form),
        data["continues"],
    )
    asked = jobs.follow(request, PREVIEW, dry_run, again=not again)
    job = asked.job
    if asked.is_current:
        try:
            return _render_new(request, form, dry_run_of(results.value(job)))
        except DesignError as error:
            if not again:
                raise
            job = jobs.refused_job(PREVIEW, str(error))
    status = jobs.status_of(job, "", "", request.path)
    if not again:
        return _render_new(request, form, status=202, job=status)
    if request.POST.get("seen") == status.seen:
        return HttpResponse(status=204)
    return render(request, "campaigns/_preview_status.html", {"status": status})


def _render_new(
    request: HttpRequest,
    form: CampaignForm,
    preview: DryRun | None = None,
    status: int = 200,
    job: Status | None = None,
) -> HttpResponse:
    context = {
        "form": form,
        "protocol": form.protocol,
        "task": form.task,
        "batch": form.batch,
        "more_open": _has_choices(form),
        "chosen": len(form.chosen_items(form["chosen"].value())),
        "preview": preview,
        "effort": effort_of(form.user, form.protocol, form.batch, preview) if preview else None,
        "sentences": list(sentences(preview)) if preview else [],
        "shares": preview.shares[:MAX_SHARES] if preview else [],
        "more": max(0, len(preview.shares) - MAX_SHARES) if preview else 0,
    }
    if preview and request.htmx:  # type: ignore[attr-defined]
        return render(request, "campaigns/_preview.html", context)
    return render(request, "campaigns/new.html", {**context, "status": job}, status=status)


def _has_choices(form: CampaignForm) -> bool:
    """Whether something under *More* was chosen, or has an error, so that it is not folded."""
    shown = {"name", "team", "pool", "raters_per_item", "deadline", "guideline", "guideline_shown"}
    return any(
        field.errors or _sent_values(field.value()) != _sent_values(form.fields[field.name].initial)
        for field in form
        if field.name not in shown
    )


def _sent_values(value: Any) -> list[str]:
    """Return a field's value as a browser sends it."""
    values = value if isinstance(value, list | tuple) else [value]
    return sorted(str(each) for each in values if each not in (None, ""))


class _RolledBackError(Exception):
    """Carries a rendered page out of a transaction that stores nothing."""

    def __init__(self, page: HttpResponse) -> None:
        self.page = page
        super().__init__()


def _annotator_page(request: HttpRequest, form: CampaignForm) -> HttpResponse:
    """Render the page of the batch's first item as annotators see it, read-only.

    For this, a campaign with that item alone is created and rolled back. Raises DesignError.
    """
    if seconds_to_wait("report", form.user.pk) is not None:
        form.add_error(None, TOO_MANY)
        return _render_new(request, form, status=429)
    try:
        with transaction.atomic():
            assignment = _first_assignment(form)
            context = item_context(assignment) | guideline_parts(assignment.item.campaign)
            context |= {"preview": True, "progress": {"total": 1, "done": 0}, "number": 1}
            page = render(request, context["page"].template, context)
            raise _RolledBackError(page)
    except _RolledBackError as error:
        patch_cache_control(error.page, no_store=True, private=True)
        return error.page


def _first_assignment(form: CampaignForm) -> Assignment:
    """Store a closed campaign with its first item, assigned to a new rater."""
    design: Design = replace(form.design(), human_share=1.0)
    campaign = checked_campaign(form.cleaned_data["name"], form.protocol, form.batch, design)
    campaign.name = _free_name(form.protocol.name, form.batch)
    settings = form.settings()
    campaign.guideline = settings.guideline or ""
    campaign.text_view = settings.text_view or Campaign.TextView.SOURCE
    campaign.is_open = False
    campaign.save()
    task = form.protocol.read_as(design.points or "")
    drafted = next(iter(asked_items(campaign, task, design)), None)
    if drafted is None:
        wrong = f"batch {form.batch.name!r} has nothing for {form.protocol.name}; choose another"
        raise DesignError(wrong, "batch")
    query = [drafted.query_key]
    writer = ItemWriter(campaign, design, task, sample_queries(query, design, chosen=query))
    writer.add(0, drafted)
    writer.flush()
    item = campaign.items.select_related("query", "report", "campaign__batch").get()
    rater = Rater.objects.create(name=f"preview of {campaign.name}", kind=Rater.Kind.HUMAN)
    asked, shown = order_for(item, rater)
    return Assignment.objects.create(item=item, rater=rater, asked=asked, shown=shown)


@dataclass(frozen=True)
class Line:
    """A line of a difference: *same*, *added* or *removed*."""

    kind: str
    text: str


@require_POST
@role_required(*READERS)
def look_at_guideline(request: HttpRequest) -> HttpResponse:
    """Show a guideline as people read it, and how it differs from the protocol's own."""
    protocol = _protocol_looked_at(request)
    text = request.POST.get("guideline", "")[:LONGEST_GUIDELINE].replace("\r\n", "\n")
    own = protocol.guideline if protocol else ""
    context = {
        "protocol": protocol,
        "html": render_guideline((text.strip() and text) or own),
        "lines": list(_difference(own, text)) if text.strip() and own else [],
    }
    in_place = bool(request.htmx)  # type: ignore[attr-defined]
    name = "campaigns/_guideline.html" if in_place else "campaigns/guideline.html"
    return render(request, name, context)


def _protocol_looked_at(request: HttpRequest) -> Protocol | None:
    name, stored = request.POST.get("protocol", ""), request.POST.get("protocol_file", "")
    if not stored:
        return PROTOCOLS.get(name)
    try:
        file = visible_files(get_account(request)).filter(uid=uuid.UUID(stored)).first()
    except ValueError:
        return None
    return stored_protocol(file.uid) if file else None


def _difference(before: str, after: str) -> Iterator[Line]:
    """Yield the lines that differ, each with the lines beside it; nothing for equal texts."""
    first, second = before.splitlines()[:MOST_LINES], after.splitlines()[:MOST_LINES]
    kinds = {"+": "added", "-": "removed", " ": "same", "@": "gap"}
    for line in list(difflib.unified_diff(first, second, n=1, lineterm=""))[2:]:
        yield Line(kinds.get(line[:1], "same"), "" if line.startswith("@@") else line[1:])

"""The page that imports labels from a file: choose it, wait for the job, read what it did."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from annotation.access import get_account, is_blind, managed_campaign
from annotation.exports.workbook import XLSX, xlsx_pieces
from annotation.imports.import_job import IMPORT, keep, question
from annotation.imports.index import TEMPLATE_COLUMNS, ImportOptions, template_lines
from annotation.models import Campaign
from annotation.presentation import schema
from audit.recording import record_export
from datasets.access import READERS, role_required, takes_files
from datasets.models import Job
from datasets.option_fields import form_fields
from datasets.work import TooManyError, ask, queue, results
from datasets.work import pages as jobs
from tandem.files.spreadsheet import write_rows
from tandem.options import options_of, values_of

LONGEST_RATER = 150
BLIND = "You have an open item in this campaign; answer it before you import labels."


def _csv(campaign: Campaign) -> Iterator[bytes]:
    return (line.encode() for line in write_rows(TEMPLATE_COLUMNS, template_lines(campaign)))


def _xlsx(campaign: Campaign) -> Iterator[bytes]:
    return xlsx_pieces(campaign.name, TEMPLATE_COLUMNS, template_lines(campaign))


TEMPLATES: dict[str, tuple[str, Callable[[Campaign], Iterator[bytes]]]] = {
    "csv": ("text/csv", _csv),
    "xlsx": (XLSX, _xlsx),
}
"""The media type of each form of the template, and the function that writes it."""


class ImportForm(forms.Form):
    file = forms.FileField(
        label="Labels file",
        help_text="JSON, CSV, Parquet or a spreadsheet (xlsx), with item, unit, variable, value, "
        "rater, or with one column for each rater. Files of Label Studio, CRUX and CLAPnq, and "
        "qrels, are recognised.",
    )
    rater = forms.CharField(
        required=False,
        max_length=LONGEST_RATER,
        help_text="Only for lines that name none.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields.update(form_fields(options_of(ImportOptions)))

    def left_out(self) -> list[forms.BoundField]:
        """Return the fields of the options that the import declares."""
        return [self[option.name] for option in options_of(ImportOptions)]


@takes_files
@require_http_methods(["GET", "HEAD", "POST"])
@role_required(*READERS)
def import_file(request: HttpRequest, pk: int) -> HttpResponse:
    """Queue the job that imports an uploaded file, or show its status or result."""
    campaign, user = managed_campaign(request, pk), get_account(request)
    if is_blind(user, campaign):
        return _page(request, campaign, {"wrong": BLIND}, 403)
    if request.method != "POST":
        return _show_job(request, campaign)
    form = ImportForm(request.POST, request.FILES)
    if not form.is_valid():
        return _page(request, campaign, {"form": form}, 422)
    file: UploadedFile[Any] = form.cleaned_data["file"]
    name, rater = str(file.name or "labels"), form.cleaned_data["rater"]
    options = ImportOptions(**values_of(options_of(ImportOptions), form.cleaned_data))
    asked = question(campaign, keep(file.chunks(), name), name, rater, user, options)
    address = reverse("campaign-import", args=[pk])
    try:
        job = ask(IMPORT, asked, user, address, again=True).job
    except TooManyError as error:
        form.add_error(None, str(error))
        return _page(request, campaign, {"form": form}, 429)
    return redirect(f"{address}?{urlencode({'job': job.key})}")


@require_safe
@role_required(*READERS)
def template(request: HttpRequest, pk: int, form: str) -> HttpResponseBase:
    """Send the template of a labels file in the form of that suffix."""
    campaign, user = managed_campaign(request, pk), get_account(request)
    if is_blind(user, campaign):
        # The keys of items may name the systems behind the texts.
        return _page(request, campaign, {"wrong": BLIND}, 403)
    media_type, pieces = TEMPLATES[form]
    record_export(request, pk, "template", form)
    response = StreamingHttpResponse(pieces(campaign), content_type=media_type)
    response["Content-Disposition"] = f'attachment; filename="labels-template-{pk}.{form}"'
    return response


def _show_job(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    """Show the form, the status of the job in the address, or its result."""
    own = {"kind": IMPORT, "options__campaign": campaign.pk, "options__user": request.user.pk}
    job = Job.objects.filter(key=request.GET.get("job", ""), **own).first()
    if job is None:
        return _page(request, campaign, {})
    if job.state in queue.ACTIVE or job.state == Job.State.FAILED:
        return jobs.waiting_page(request, job, reverse("campaign-import", args=[campaign.pk]))
    if not results.has_result(job):
        return _page(request, campaign, {})
    found = results.value(job)
    labels = sum(found.get("labels", {}).values())
    context = {"found": found, "number": labels, "name": job.options["name"]}
    return _page(request, campaign, context, 422 if "refused" in found else 200)


def _page(
    request: HttpRequest, campaign: Campaign, more: dict[str, Any], status: int = 200
) -> HttpResponse:
    context = {
        "campaign": campaign,
        "form": ImportForm(),
        "templates": TEMPLATES,
        "variables": {each.name: each.answers_in_brief for each in schema(campaign).variables},
        **more,
    }
    return render(request, "campaigns/import.html", context, status=status)

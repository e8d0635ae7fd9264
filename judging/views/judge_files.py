"""Judge files in the browser: checked as they are typed, loaded into the form, and downloaded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST, require_safe

from annotation.access import get_account
from datasets.access import READERS, role_required
from datasets.models import Team
from datasets.text import as_sentence
from judging import library
from judging.access import visible_judge
from judging.display import make_displayable
from judging.forms import JudgeForm
from judging.judge_file.document import MAX_LENGTH, JudgeFile
from judging.judge_file.fixtures import FixtureReading, readings
from judging.judge_file.template import FileError
from judging.judges import file_granularity, read_new_judge_file
from judging.models import Judge
from judging.params import Value, param_text
from judging.prompts.isolation import OneRequest, one_request
from judging.run_forms import TryForm
from tandem.grouping import grouped

TRY_FORM = "try-form"
"""The form beside that of the judge, which asks about one item."""
AROUND = 2
MAX_BYTES = 4 * MAX_LENGTH


@dataclass(frozen=True)
class CheckedFile:
    """The result of checking a judge file: the file, or the error and its line.

    `excerpt` has the numbers and texts of the lines around `line`.
    """

    file: JudgeFile | None = None
    params: dict[str, Value] | None = None
    fixtures: Sequence[FixtureReading] = ()
    request: OneRequest | None = None
    error: str = ""
    line: int | None = None
    excerpt: Sequence[tuple[int, str]] = ()

    @property
    def failed(self) -> int:
        """The number of fixtures whose reading differs from the file."""
        return sum(bool(each.wrong) for each in self.fixtures)


def check_text(
    text: str, granularity: str = "item", team: Team | None = None
) -> CheckedFile | None:
    """Check the text of a judge file for a team. None if there is no text."""
    text = text.replace("\r\n", "\n")
    if not text.strip():
        return None
    try:
        file, params = read_new_judge_file(text, team)
    except FileError as error:
        rows = list(enumerate(text.split("\n"), start=1))
        line = error.line
        excerpt = rows[max(0, line - 1 - AROUND) : line + AROUND] if line else []
        lines = [(number, make_displayable(row, 300)) for number, row in excerpt]
        return CheckedFile(error=as_sentence(error), line=line, excerpt=lines)
    stored = file.protocol.stored
    granularity = file_granularity(file, granularity)
    asked = Judge(file=text, protocol_file_id=stored, granularity=granularity)
    return CheckedFile(file, params, list(readings(file)), one_request(asked))


def check_context(form: JudgeForm) -> dict[str, Any]:
    """Return what the page shows of the form's file: the check, and campaigns to try it on."""
    given = form.data if form.is_bound else form.initial
    chosen = form.prompt_origin == "file"
    text = str(given.get("file") or "")
    granularity = str(given.get("granularity") or "item")
    found = check_text(text, granularity, form.asking_team) if chosen else None
    protocol = found.file.protocol.name if found and found.file else ""
    picked = {"campaign": given.get("campaign"), "item": given.get("item")}
    attempt = TryForm(user=form.user, protocol=protocol, initial=picked, form_id=TRY_FORM)
    return {
        "check": found,
        "params": {name: param_text(v) for name, v in found.params.items()}
        if found and found.params
        else {},
        "attempt": attempt,
        "about": protocol,
    }


@require_POST
@role_required(*READERS)
def check_file(request: HttpRequest) -> HttpResponse:
    """Check the form's file. The status is 200 even if the file is wrong."""
    # Not bound, since validating the rest of the form may look up host names.
    form = JudgeForm(initial=request.POST.dict(), user=get_account(request))
    return render(request, "judges/_file_check.html", {"form": form, **check_context(form)})


@require_POST
@role_required(*READERS)
def load_file(request: HttpRequest) -> HttpResponse:
    """Load an uploaded file or one from the library into the form's field, and check it."""
    given, wrong = request.POST.dict(), ""
    try:
        given["file"] = _text_of(request)
    except ValueError as error:
        wrong = as_sentence(error)
    given["prompt_from"] = "file"
    form = JudgeForm(initial=given, user=get_account(request))
    context = {"form": form, "load_problem": wrong, "loaded": not wrong, **check_context(form)}
    return render(request, "judges/_file_field.html", context)


def _text_of(request: HttpRequest) -> str:
    """Return the text of the uploaded or chosen file. Raises ValueError."""
    upload = request.FILES.get("upload")
    if isinstance(upload, UploadedFile):
        if (upload.size or 0) > MAX_BYTES:
            raise ValueError(f"the file has over {MAX_BYTES // 1_000_000} MB; choose another")
        try:
            return upload.read().decode("utf-8-sig").replace("\r\n", "\n")
        except UnicodeDecodeError as error:
            raise ValueError("the file is not UTF-8; save it as UTF-8") from error
    name = request.POST.get("library", "")
    if name not in library.names():
        raise ValueError("choose a file of the library, or upload one")
    return library.text_of(name)


@require_safe
@role_required(*READERS)
def download(request: HttpRequest, pk: int) -> HttpResponse:
    """Download a judge's file as it was written."""
    judge = visible_judge(request, pk)
    if not judge.file:
        raise Http404
    response = HttpResponse(judge.file, content_type="application/toml; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="judge-{pk}.toml"'
    return response


def library_by_protocol() -> list[tuple[str, list[tuple[str, str]]]]:
    """Return the names and titles of the library's files, grouped by the title of the protocol."""
    files = library.files().items()
    return sorted(grouped((of.protocol.title, (name, of.title)) for name, of in files).items())

"""The pages of teams' protocols: the list, a version with its file, and where one is written."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.template.loader import render_to_string
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from analysis.protocol_maker.forms import (
    START,
    Filled,
    figures_of,
    filled_from,
    keys_beyond_the_form,
    measures_of,
    prompt_of,
    sentence_of,
)
from annotation.access import get_account
from annotation.campaign_setup.page_preview import PreviewedItem, preview_item
from annotation.campaign_setup.suitable_protocols import describe_fit
from annotation.campaigns.design import DesignError
from annotation.campaigns.rendering import render as render_guideline
from annotation.models import ProtocolFile, User
from annotation.protocol_files import (
    ProtocolError,
    delete,
    newest_first,
    store,
    task_name,
    visible_files,
)
from annotation.protocols import PROTOCOLS
from annotation.protocols.declared import FileProtocol, protocol_of
from annotation.registry import drafted, stored_protocol
from annotation.views.items import guideline_parts, item_context
from datasets.access import (
    READERS,
    TeamError,
    check_managed,
    longest_body,
    manages,
    role_required,
    team_choice,
    team_for,
    visible_batches,
)
from datasets.models import Batch
from datasets.text import as_sentence
from judging.prompts.template import PromptError
from tandem.files.rows import InputError
from tandem.files.toml import read_toml
from tandem.protocols.file_structure import LONGEST, ProtocolFileError
from tandem.protocols.protocol_file import read_protocol

NAME = "protocol.toml"
MOST_BYTES = 4 * LONGEST
LONGEST_FORM = 12 * LONGEST
"""A form encodes each character as up to twelve."""
MOST_BATCHES = 200
MOST_COUNTED = 500
"""How many queries of a batch are counted while somebody waits."""
ADD, REMOVE = "add-question", "remove-"


@dataclass
class Draft:
    """A protocol as it is on the page: its file, or the form that writes one.

    `protocol` is None while the file has `problems`. In the form, each is at its field, and
    `problems` has the others.
    """

    text: str
    filled: Filled | None = None
    protocol: FileProtocol | None = None
    problems: list[InputError] | None = None
    note: str = ""

    @property
    def lines(self) -> list[tuple[InputError, str, str]]:
        """Each problem as a sentence, with the line of the file that it is about."""
        rows = self.text.split("\n")
        numbers = [(each, each.place.line or 0) for each in self.problems or ()]
        return [
            (each, sentence_of(each), rows[n - 1][:200] if 0 < n <= len(rows) else "")
            for each, n in numbers
        ]

    @property
    def is_wrong(self) -> bool:
        return self.protocol is None


@require_safe
@role_required(*READERS)
def protocols(request: HttpRequest) -> HttpResponse:
    """List the protocols of the account's teams, and those of the site."""
    files = newest_first(visible_files(get_account(request))).prefetch_related("campaigns")
    context = {"files": files, "own": PROTOCOLS.values()}
    return render(request, "protocols/list.html", context)


@require_safe
@role_required(*READERS)
def protocol(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    """Show what a version asks, what its answers mean, and what is computed from them."""
    return _protocol_page(request, _file(request, uid))


def _protocol_page(
    request: HttpRequest, file: ProtocolFile, wrong: str = "", status: int = 200
) -> HttpResponse:
    user, task = get_account(request), stored_protocol(file.uid)
    context = {
        "file": file,
        "protocol": task,
        "task": task_name(task),
        "figures": figures_of(task),
        "measures": measures_of(task),
        "guideline": render_guideline(task.guideline),
        "used": file.campaigns.count(),
        "versions": newest_first(visible_files(user)).filter(team=file.team, name=file.name),
        "manages": manages(user, file),
        "wrong": wrong,
    }
    return render(request, "protocols/protocol.html", context, status=status)


@require_safe
@role_required(*READERS)
def download(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    """Download the file of a version as it was written."""
    file = _file(request, uid)
    response = HttpResponse(file.text, content_type="application/toml; charset=utf-8")
    name = f"{file.name}-{file.version}.toml"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


@require_POST
@role_required(*READERS)
def delete_protocol(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    file = _file(request, uid)
    check_managed(get_account(request), file)
    try:
        delete(file)
    except ProtocolError as error:
        return _protocol_page(request, file, as_sentence(error), 422)
    return redirect("protocols")


def _file(request: HttpRequest, uid: uuid.UUID) -> ProtocolFile:
    return get_object_or_404(visible_files(get_account(request)), uid=uid)


@longest_body(LONGEST_FORM)
@require_http_methods(["GET", "HEAD", "POST"])
@role_required(*READERS)
@cache_control(no_store=True, private=True)
def new_protocol(request: HttpRequest) -> HttpResponse:
    """Show the form or the file with what follows from it; on POST with `order=store`, store it."""
    user, order = get_account(request), request.POST.get("order", "")
    draft = _sent(request) if request.method == "POST" else _first(request)
    if order == "store" and draft.protocol is not None:
        try:
            team = team_for(user, request.POST.get("team"))
            stored = store(draft.protocol.file, team, user)
        except (ProtocolError, TeamError) as error:
            draft.note = as_sentence(error)
        else:
            return redirect("protocol", stored.uid)
    in_place = bool(request.htmx)  # type: ignore[attr-defined]
    refused = order == "store" and not in_place
    name = "protocols/_live.html" if in_place and not order else "protocols/new.html"
    context = _page_context(request, user, draft)
    return render(request, name, context, status=422 if refused else 200)


def _page_context(request: HttpRequest, user: User, draft: Draft) -> dict[str, Any]:
    given = request.POST or request.GET
    batch = _batch(user, given)
    found = _found(request, draft, batch, given) if draft.protocol and batch else {}
    return {
        "draft": draft,
        "batches": visible_batches(user).order_by("-pk")[:MOST_BATCHES],
        "batch": batch,
        "beyond": keys_beyond_the_form(),
        "is_live": True,
        **({"figures": figures_of(draft.protocol)} if draft.protocol else {}),
        **({"measures": measures_of(draft.protocol)} if draft.protocol else {}),
        **found,
        **team_choice(user, given.get("team", "")),
    }


def _batch(user: User, given: QueryDict) -> Batch | None:
    batches = visible_batches(user)
    if name := given.get("batch"):
        return batches.filter(name=name).first()
    return batches.order_by("-pk").first()


def _found(request: HttpRequest, draft: Draft, batch: Batch, given: QueryDict) -> dict[str, Any]:
    """Return the page and the prompt of an item, for the template."""
    assert draft.protocol is not None
    queries = batch.counts.get("queries") or batch.queries.count()
    query = min(max(1, _number(given.get("query"))), max(1, queries))
    found: dict[str, Any] = {"queries": queries, "query": query}
    with drafted(draft.protocol) as task:
        try:
            item = preview_item(batch, task, query - 1, _number(given.get("item")))
        except DesignError as error:
            return {**found, "no_item": as_sentence(error)}
        if item is None:
            return {**found, "no_item": f"Query {query} has nothing that this protocol asks about."}
        found |= {"item": item, "frame": _frame(request, item)}
        try:
            found["messages"] = prompt_of(item, task)
        except PromptError as error:
            found["no_prompt"] = as_sentence(error)
    return found


def _frame(request: HttpRequest, item: PreviewedItem) -> str:
    """Return the annotator's page of an item that nobody has."""
    campaign = item.assignment.item.campaign
    campaign.is_open = False
    context = item_context(item.assignment) | guideline_parts(campaign)
    context |= {"preview": True, "in_frame": True, "number": 1}
    context["progress"] = {"total": item.items, "done": 0}
    return render_to_string(context["page"].template, context, request)


def _number(text: str | None) -> int:
    return int(text) if text and text.isdecimal() and len(text) < 8 else 1


@longest_body(LONGEST_FORM)
@require_POST
@role_required(*READERS)
@cache_control(no_store=True, private=True)
def protocol_fits(request: HttpRequest) -> HttpResponse:
    """Say how many units a protocol would ask over a batch, from a bounded part of it."""
    user, draft = get_account(request), _sent(request)
    batch = _batch(user, request.POST)
    words = (
        ""
        if draft.protocol is None or batch is None
        else describe_fit(batch, draft.protocol, MOST_COUNTED)
    )
    return render(request, "protocols/_fits.html", {"words": words, "batch": batch})


def _first(request: HttpRequest) -> Draft:
    """Return the draft of a new page: the start, or the file of a version to change."""
    if not (start := request.GET.get("from")):
        return _of_form(Filled(initial=START))
    try:
        file = _file(request, uuid.UUID(start))
    except ValueError:
        return _of_form(Filled(initial=START))
    return _of_text(file.text)


def _sent(request: HttpRequest) -> Draft:
    """Return the draft that a page sent, after what it asks to be done with it."""
    order = request.POST.get("order", "")
    if request.POST.get("mode") == "form":
        filled = Filled(_changed(request.POST, order))
        return _of_text(filled.text()) if order == "to-file" else _of_form(filled)
    try:
        text = _upload(request) or request.POST.get("text", "")
    except ValueError as error:
        draft = _of_text(request.POST.get("text", ""))
        draft.note = as_sentence(error)
        return draft
    draft = _of_text(text)
    return _as_form(draft) if order == "to-form" else draft


def _changed(sent: QueryDict, order: str) -> QueryDict:
    """Return the sent form with a question more, or without one."""
    total = _number(sent.get("q-TOTAL_FORMS")) if sent.get("q-TOTAL_FORMS") != "0" else 0
    data = sent.copy()
    if order == ADD:
        data["q-TOTAL_FORMS"] = str(total + 1)
    elif order.startswith(REMOVE) and total > 1:
        gone = _number(order.removeprefix(REMOVE)) - 1
        for name in list(data):
            place, _, field = name.removeprefix("q-").partition("-")
            if name.startswith("q-") and place.isdecimal() and int(place) >= gone:
                data.setlist(name, sent.getlist(f"q-{int(place) + 1}-{field}"))
        data["q-TOTAL_FORMS"] = str(total - 1)
    return data


def _upload(request: HttpRequest) -> str:
    """Return the text of an uploaded file, or an empty one. Raises ValueError."""
    upload = request.FILES.get("upload")
    if not isinstance(upload, UploadedFile):
        return ""
    if (upload.size or 0) > MOST_BYTES:
        raise ValueError(f"the file has over {MOST_BYTES // 1000} kB; choose another")
    try:
        return upload.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError("the file is not UTF-8; save it as UTF-8") from error


def _of_text(text: str) -> Draft:
    text = text.replace("\r\n", "\n")
    draft = Draft(text)
    try:
        draft.protocol = protocol_of(read_protocol(text, NAME))
    except ProtocolFileError as error:
        draft.problems = list(error.problems)
    return draft


def _of_form(filled: Filled) -> Draft:
    draft = _of_text(filled.text())
    draft.filled = filled
    if draft.problems:
        draft.problems = filled.place(draft.text, tuple(draft.problems))
    return draft


def _as_form(draft: Draft) -> Draft:
    """Return a draft in the form, or with a note why the form cannot express it."""
    if draft.protocol is None:
        draft.note = "Correct the file first: the form is filled in from a file that can be read."
        return draft
    document = read_toml(draft.text)
    try:
        return _of_form(filled_from(draft.protocol.file, document))
    except ValueError as error:
        draft.note = f"{as_sentence(error)} It stays a file, and nothing is lost."
        return draft

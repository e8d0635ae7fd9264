"""API endpoints of judges: list, create, estimate a run, try one item, and the library."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from django.http import Http404
from django.urls import reverse
from rest_framework import serializers
from rest_framework.request import Request

from annotation.access import get_account
from annotation.api.access import campaign_named, check_blind
from annotation.models import Campaign, User
from datasets.api.base import (
    Positive,
    Problem,
    RefusedBodyError,
    Strict,
    TooManyRequestsError,
    problem,
    refusal,
    results_serializer,
)
from datasets.api.concurrency import PerReport
from datasets.api.permissions import JUDGE, READ
from datasets.api.routes import JobKey, Routes, finished_job, given, given_filters, result_of
from datasets.api.typed import serializer_of
from datasets.work.kinds import Options
from judging import library
from judging.access import managed_judge, visible_judge, visible_judges
from judging.api.serializers import (
    DefinitionSerializer,
    JudgeParameters,
    JudgeSerializer,
    NewJudgeSerializer,
    WholeJudgeSerializer,
)
from judging.backends import HOSTED
from judging.backends.addresses import parse_base_url
from judging.backends.base import SetupError
from judging.backends.contents import HEADERS, ContentsError, read_headers
from judging.estimate import Estimate
from judging.forms import MOST_TRIED, NEW, ON_PAGES, JudgeForm
from judging.judge_file.document import JudgeFile, read_file
from judging.judges import JudgeError, define
from judging.kinds import ESTIMATE, estimate_in, estimate_question
from judging.models import JudgeRun
from judging.params import param_text
from judging.servers import Server, known_servers, may_use_key
from judging.trials.one_item_jobs import (
    TRY,
    TRY_KIND,
    TooOftenError,
    check_limits,
    find_any_try,
    try_question,
)
from tandem.verbs import verb_of

api = Routes("judges", reads=(READ, JUDGE), writes=(JUDGE,))

NOT_CREATED, NOT_SENT = "the judge was not created", "no request was sent"


@api.list(
    "judges/",
    "List judges",
    "The judges that you may read, by name. A judge with a `base` is a trial of that judge.",
    JudgeSerializer,
    name="judges",
    takes=JudgeParameters,
)
def judges_list(request: Request) -> Any:
    filters = given_filters(request, "backend", name="rater__name")
    return visible_judges(get_account(request)).filter(**filters)


@api.post(
    "judges/",
    "Define a judge",
    "Creates a model with its prompt, or its judge file, and its parameters, which never "
    "change afterwards, after the same checks as on the page. No request is sent to its "
    f"server. `{verb_of('create_judge')}` creates judges whose server Tandem starts itself "
    "(vLLM).",
    WholeJudgeSerializer,
    body=NewJudgeSerializer,
    status=201,
    raises={JudgeError: refusal(NOT_CREATED)},
    refuses=(422,),
    once=True,
)
def judges_create(request: Request) -> Any:
    user = get_account(request)
    form = _valid(JudgeForm(_as_form(user, given(request)), user=user), NOT_CREATED)
    judge, created = define(form.definition(), form.team(), user)
    if not created:
        wrong = problem("a judge has this name already; choose another", "name")
        raise RefusedBodyError(NOT_CREATED, [wrong])
    return judge


def _valid(form: JudgeForm, refused: str) -> JudgeForm:
    if not form.is_valid():
        raise RefusedBodyError(refused, list(_problems(form)))
    return form


@api.get(
    "judges/<int:pk>/",
    "Read a judge",
    "The judge with its parameters, and its own prompt or judge file.",
    WholeJudgeSerializer,
    name="judge",
)
def judges_read(request: Request, pk: int) -> Any:
    return visible_judge(request, pk)


def _as_form(user: User, body: dict[str, Any], refused: str = NOT_CREATED) -> dict[str, Any]:
    """Return the body as the page's form sends it. Raises RefusedBodyError, saying `refused`."""
    params = body.get("params", {})
    if unknown := sorted(set(params) - set(ON_PAGES)):
        wrong = problem(f"is not one of {', '.join(ON_PAGES)}; leave it out", unknown[0][:200])
        raise RefusedBodyError(refused, [wrong])
    if body.get("file") and body.get("prompt"):
        wrong = problem("does not go with a judge file; remove it", "prompt")
        raise RefusedBodyError(refused, [wrong])
    if body.get("file") and body["backend"] == "lexical":
        wrong = problem("is not used by word overlap; remove it", "file")
        raise RefusedBodyError(refused, [wrong])
    texts = ("name", "backend", "model", "family", "prompt", "file", "team")
    plain = {name: body.get(name, "") for name in texts}
    own = {name: param_text(value) for name, value in params.items()}
    server = _server(user, body, refused)
    return {**plain, "granularity": body["granularity"], **own, **server}


def _server(user: User, body: dict[str, Any], refused: str) -> dict[str, str]:
    """Return the form fields of the server: a known one with its key, or a new address."""
    hosted = HOSTED.get(body["backend"])
    if hosted is None:
        return {}
    key = body.get("api_key_env", "" if "base_url" in body else hosted.key_variable)
    headers = body.get("params", {}).get(HEADERS) or {}
    try:
        url = parse_base_url(body.get("base_url", ""), hosted.public_url)
        own = read_headers(param_text(headers)) if headers else {}
        named = Server(url, key, headers=tuple(own.items())).name
    except ContentsError as error:
        raise RefusedBodyError(refused, [problem(str(error), f"params.{HEADERS}")]) from error
    except SetupError as error:
        raise RefusedBodyError(refused, [problem(str(error), "base_url")]) from error
    if named in {server.name for server in known_servers(user)}:
        return {"server": named}
    if not may_use_key(user, key):
        words = f"the key in {key} is not your team's; ask an admin to share it, or name another"
        raise RefusedBodyError(refused, [problem(words, "api_key_env")])
    if key and user.role != User.Role.ADMIN:
        words = "only an admin may combine a new address with a key; leave the key out"
        raise RefusedBodyError(refused, [problem(words, "api_key_env")])
    return {"server": NEW, "base_url": body.get("base_url", ""), "api_key_env": key}


def _problems(form: JudgeForm) -> Iterator[Problem]:
    for name, wrong in form.errors.items():
        field = "" if name == "__all__" else f"params.{name}" if name in ON_PAGES else name
        for each in wrong:
            yield problem(str(each), field)


class EstimateParameters(JobKey):
    campaign = Positive(required=False, help_text="the campaign of the run, which is required")
    limit = Positive(required=False, help_text="most requests")
    concurrency = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=MOST_TRIED,
        help_text="maximum number of requests at once",
    )
    reuse = serializers.ChoiceField(
        JudgeRun.Reuse.values,
        default=JudgeRun.Reuse.NEVER,
        help_text="which earlier answers to the same request are used again",
    )


EstimateSerializer = serializer_of(
    Estimate, "Estimate", sentence=serializers.CharField(help_text="the estimate as text")
)


class TrySerializer(Strict):
    campaign = Positive()
    item = serializers.CharField(
        required=False, trim_whitespace=False, help_text="its key; a random item if left out"
    )


class TryResultSerializer(serializers.Serializer[Any]):
    item = serializers.CharField()
    asked = serializers.IntegerField(help_text="number of its units that judges are asked")
    seconds = serializers.FloatField()
    messages = serializers.ListField(child=serializers.DictField(child=serializers.CharField()))
    completion = serializers.CharField(allow_null=True)
    reasoning = serializers.CharField(
        help_text="the model's reasoning before its answer, if the server returns it separately"
    )
    usage = serializers.DictField()
    cost = serializers.CharField(allow_null=True)
    labels = serializers.ListField(
        child=serializers.DictField(), help_text="labels that the answer would give"
    )
    problems = serializers.ListField(
        child=serializers.CharField(), help_text="why a label would be missing, such as unreadable"
    )
    state = serializers.CharField(help_text="answered, or what failed")
    reading = serializers.ListField(
        child=serializers.CharField(), help_text="the steps by which the answer was read"
    )
    detail = serializers.CharField()


@api.get(
    "judges/<int:pk>/estimate/",
    "Estimate a run",
    "The requests, cost and time that a run of the judge over a campaign would take. No "
    "request is sent. 202 with a job if estimating takes more than 20 seconds, as for the "
    "report.",
    EstimateSerializer,
    name="judge-estimate",
    takes=EstimateParameters,
    job=True,
    refuses=(422,),
    throttles=(PerReport,),
)
def judges_estimate(request: Request, pk: int) -> Any:
    judge, options = visible_judge(request, pk), dict(given(request))
    if "campaign" not in options:
        raise serializers.ValidationError({"campaign": "is missing; name one"})
    campaign = campaign_named(get_account(request), options.pop("campaign"), NOT_SENT)
    key, chosen = options.pop("job", None), {k: v for k, v in options.items() if v}
    asked = estimate_question(judge, campaign, chosen)
    return estimate_in(finished_job(request, ESTIMATE, asked, key))


@api.post(
    "judges/<int:pk>/try/",
    "Try a judge",
    "Asks the judge about one item and returns its answer, which gives no label and is kept "
    "for a week, only for you. No labels are read. The request may cost money. At most ten a "
    "minute, one at a time. If the campaign has development queries, only their items may be "
    "tried. 202 with a job if the judge takes more than 20 seconds, as for the report.",
    TryResultSerializer,
    name="judge-try",
    body=TrySerializer,
    job=True,
    refuses=(422,),
)
def judges_try(request: Request, pk: int) -> Any:
    judge, body = managed_judge(request, pk), given(request)
    return _try(request, body, partial(try_question, judge=judge))


class DraftTrySerializer(DefinitionSerializer):
    campaign = Positive()
    item = serializers.CharField(
        required=False, trim_whitespace=False, help_text="its key; a random item if left out"
    )


class TryResultParameters(Strict):
    job = serializers.RegexField(r"^[0-9a-f]{32}\Z", help_text="the key of the try's job")


@api.get(
    "judges/try/",
    "Read the answer of a tried judge",
    "Returns what a try has given, of a judge or of a definition: the result of its job. Only "
    "for the account that asked.",
    TryResultSerializer,
    name="judge-draft-try",
    takes=TryResultParameters,
    job=True,
    refuses=(422,),
)
def judges_tried(request: Request) -> Any:
    user, key = get_account(request), given(request)["job"]
    job = find_any_try(user, key)
    if job is None or not TRY_KIND.may_see(user, job.options):
        raise Http404
    return _tried(request, job.options, key)


@api.post(
    "judges/try/",
    "Try a judge before it is defined",
    "Asks a judge of this definition about one item and returns its answer, by the rules of "
    "*Try a judge*. The judge is not created. The request may cost money.",
    TryResultSerializer,
    body=DraftTrySerializer,
    job=True,
    refuses=(422,),
)
def judges_try_draft(request: Request) -> Any:
    body, user = given(request), get_account(request)
    fields = _as_form(user, body, NOT_SENT)
    _valid(JudgeForm(fields, user=user, draft=True), NOT_SENT)
    return _try(request, body, partial(try_question, fields=fields))


def _try(request: Request, body: Any, question: Callable[..., dict[str, Any]]) -> Any:
    """Ask once about an item, within the limits of an account."""
    user = get_account(request)
    campaign = campaign_named(user, body["campaign"], NOT_SENT)
    check_blind(user, campaign)
    asked = question(user, campaign, _number(campaign, body.get("item")))
    try:
        check_limits(asked, user)
    except TooOftenError as error:
        raise TooManyRequestsError(str(error), error.seconds) from error
    return _tried(request, asked)


def _tried(request: Request, asked: Options, key: str | None = None) -> dict[str, Any]:
    """Return what a try has given."""
    trial = result_of(request, TRY, asked, key, reverse("api-judge-draft-try"))
    names = ("unit", "values", "grades", "quotes", "missing")
    entries = [{"missing": {}, **each} for each in trial["entries"]]
    return {
        **trial,
        "labels": [{name: each[name] for name in names} for each in entries],
        "reading": trial["steps"],
        "detail": trial["message"],
    }


def _number(campaign: Campaign, key: str | None) -> int | None:
    """Return an item's number in its campaign, from 1. Raises RefusedBodyError."""
    if key is None:
        return None
    found = campaign.items.filter(key=key).values_list("position", flat=True).first()
    if found is None:
        wrong = [problem("is not an item of the campaign; see its items", "item")]
        raise RefusedBodyError(NOT_SENT, wrong)
    return found + 1


class LibraryFileSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    title = serializers.CharField()
    protocol = serializers.CharField(help_text="the protocol whose items it judges")
    source = serializers.CharField(  # type: ignore[assignment]
        help_text="the publication of the design"
    )
    scale = serializers.CharField()
    validated = serializers.CharField(help_text="what the published judge was validated on")
    weaknesses = serializers.CharField()
    isolate = serializers.CharField(
        help_text="what one request shows: unit, response, item or query; empty if the protocol "
        "decides"
    )
    parser = serializers.CharField(help_text="what reads its answers, such as regex")
    sha256 = serializers.CharField()


class WholeLibraryFileSerializer(LibraryFileSerializer):
    text = serializers.CharField(help_text="the file, to be sent as `file` of a new judge")


def _library_row(name: str, file: JudgeFile) -> dict[str, Any]:
    about = {key: file.about.get(key, "") for key in ("scale", "validated", "weaknesses")}
    return {
        "name": name,
        "title": file.title,
        "protocol": file.protocol.name,
        "source": file.source,
        "isolate": file.isolate,
        "parser": file.parser_name,
        "sha256": file.sha256,
        "text": file.text,
        **about,
    }


@api.get(
    "judges/library/",
    "List the library of judge files",
    "The judge files of the library: published designs in our words, with their sources and "
    "known weaknesses.",
    results_serializer("Library", LibraryFileSerializer),
    name="judge-library",
)
def judges_library(request: Request) -> Any:
    return {"results": [_library_row(name, file) for name, file in library.files().items()]}


@api.get(
    "judges/library/<slug:name>/",
    "Read a judge file of the library",
    "One file of the library with its text, which a new judge takes as `file`.",
    WholeLibraryFileSerializer,
    name="judge-library-file",
)
def judges_library_file(request: Request, name: str) -> Any:
    if name not in library.names():
        raise Http404
    return _library_row(name, read_file(library.text_of(name)))

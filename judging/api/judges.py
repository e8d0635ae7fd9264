"""API endpoints of judges: list, create, estimate a run, try one item."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.access import get_account
from annotation.api.access import campaign_named, check_blind
from annotation.models import Campaign, User
from annotation.presentation import ForgottenItemError
from datasets.access import READERS
from datasets.api.base import (
    List,
    Resource,
    Strict,
    checked,
    described,
    page_example,
    page_serializer,
    rendered,
)
from datasets.api.concurrency import once
from datasets.api.errors import Problem, RefusedBodyError, TooManyRequestsError, problem
from datasets.api.permissions import JUDGE, READ
from datasets.api.throttling import PerReport
from judging.access import visible_judge, visible_judges
from judging.api import serializers as examples
from judging.api.serializers import (
    LARGEST,
    JudgeParameters,
    JudgeSerializer,
    NewJudgeSerializer,
    WholeJudgeSerializer,
)
from judging.backends.base import SetupError
from judging.backends.openai import PUBLIC_URL, parse_base_url
from judging.estimate import estimate
from judging.forms import MOST_TRIED, NEW, PARAM_HELP, JudgeForm
from judging.judges import JudgeError, define
from judging.models import Judge, JudgeRun
from judging.prompts.template import PromptError
from judging.sandbox import BusyError, NothingToTryError, TooOftenError, Trial, one_try, try_judge
from judging.servers import PUBLIC_KEY, Server, known_servers

NOT_MADE = "no judge is made"


class Judges(List):
    roles = {"GET": READERS, "POST": READERS}
    scopes = {"GET": (READ, JUDGE), "POST": (JUDGE,)}
    takes = JudgeParameters

    @described(
        "List judges",
        "The judges of the site, by name; those with a `base` are trials of another.",
        {200: page_serializer(JudgeSerializer)},
        tag="judges",
        example=page_example(examples.A_JUDGE),
        parameters=[JudgeParameters],
        operation_id="judges_list",
    )
    def get(self, request: Request) -> Response:
        rows = visible_judges(get_account(request))
        if "name" in self.parameters:
            rows = rows.filter(rater__name=self.parameters["name"])
        if "backend" in self.parameters:
            rows = rows.filter(backend=self.parameters["backend"])
        return self.page(rows, partial(rendered, JudgeSerializer))

    @described(
        "Define a judge",
        "A model with its prompt and parameters, which never change after; checked as on the page. "
        "Nothing is asked of the server yet. A judge whose server Tandem starts itself (vLLM) is "
        "made by `create_judge`.",
        {201: WholeJudgeSerializer},
        tag="judges",
        request=NewJudgeSerializer,
        sent=examples.NEW_JUDGE,
        example=examples.WHOLE_JUDGE,
        status=201,
        refuses=(422,),
        operation_id="judges_create",
    )
    @once
    def post(self, request: Request) -> Response:
        made = _defined(get_account(request), checked(NewJudgeSerializer, request.data))
        return Response(WholeJudgeSerializer(made).data, status=201)


class OneJudge(Resource):
    roles = {"GET": READERS}
    scopes = {"GET": (READ, JUDGE)}

    @described(
        "Read a judge",
        "How it asks, its own prompt included.",
        {200: WholeJudgeSerializer},
        tag="judges",
        example=examples.WHOLE_JUDGE,
        operation_id="judges_read",
    )
    def get(self, request: Request, pk: int) -> Response:
        return Response(WholeJudgeSerializer(visible_judge(request, pk)).data)


def _defined(user: User, wanted: dict[str, Any]) -> Judge:
    form = JudgeForm(_as_form(user, wanted), user=user)
    if not form.is_valid():
        raise RefusedBodyError(NOT_MADE, list(_problems(form)))
    try:
        judge, made = define(form.definition())
    except JudgeError as error:
        raise RefusedBodyError(NOT_MADE, [problem(str(error))]) from error
    if not made:
        wrong = problem("a judge has this name already; choose another", "name")
        raise RefusedBodyError(NOT_MADE, [wrong])
    return judge


def _as_form(user: User, wanted: dict[str, Any]) -> dict[str, Any]:
    """What was sent, as the page's form sends it. Raises RefusedBodyError."""
    params = wanted.get("params", {})
    if unknown := sorted(set(params) - set(PARAM_HELP)):
        wrong = problem(f"is not one of {', '.join(PARAM_HELP)}; leave it out", unknown[0][:200])
        raise RefusedBodyError(NOT_MADE, [wrong])
    plain = {name: wanted.get(name, "") for name in ("name", "backend", "model", "prompt")}
    return {**plain, "granularity": wanted["granularity"], **params, **_server(user, wanted)}


def _server(user: User, wanted: dict[str, Any]) -> dict[str, str]:
    """A server that judges ask already, with its key; else a new address."""
    key = wanted.get("api_key_env", "" if "base_url" in wanted else PUBLIC_KEY)
    try:
        named = Server(parse_base_url(wanted.get("base_url", PUBLIC_URL)), key).name
    except SetupError as error:
        raise RefusedBodyError(NOT_MADE, [problem(str(error), "base_url")]) from error
    if named in {server.name for server in known_servers()}:
        return {"server": named}
    if key and user.role != User.Role.ADMIN:
        words = "only an admin brings a new address and a key together; leave the key out"
        raise RefusedBodyError(NOT_MADE, [problem(words, "api_key_env")])
    return {"server": NEW, "base_url": wanted.get("base_url", ""), "api_key_env": key}


def _problems(form: JudgeForm) -> Iterator[Problem]:
    for name, wrong in form.errors.items():
        field = "" if name == "__all__" else f"params.{name}" if name in PARAM_HELP else name
        for each in wrong:
            yield problem(str(each), field)


BUSY = "others are trying judges right now, as many as may at once; try again in a moment"


class EstimateParameters(Strict):
    campaign = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=LARGEST,
        help_text="the campaign that the run is to go over; it has to be named",
    )
    limit = serializers.IntegerField(
        required=False, min_value=1, max_value=LARGEST, help_text="most requests"
    )
    concurrency = serializers.IntegerField(
        required=False, min_value=1, max_value=MOST_TRIED, help_text="most requests at once"
    )
    reuse = serializers.ChoiceField(
        JudgeRun.Reuse.values,
        default=JudgeRun.Reuse.NEVER,
        help_text="whose equal requests count as answered",
    )


class EstimateSerializer(serializers.Serializer[Any]):
    rows = serializers.IntegerField(help_text="all that the judge is to answer")
    missing = serializers.IntegerField(help_text="of them without a result")
    reused = serializers.IntegerField()
    calls = serializers.IntegerField(help_text="what will be asked")
    prompt_tokens = serializers.IntegerField()
    cached_tokens = serializers.IntegerField()
    completion_tokens = serializers.IntegerField()
    concurrency = serializers.IntegerField()
    cost = serializers.CharField(allow_null=True, help_text="in US dollars; null where unknown")
    seconds = serializers.FloatField(allow_null=True)
    cost_unknown = serializers.CharField(help_text="why there is no cost")
    time_unknown = serializers.CharField(help_text="why there is no time")
    notes = serializers.ListField(child=serializers.CharField(), help_text="what is guessed")
    sentence = serializers.CharField(help_text="all of it in words")


class TrySerializer(Strict):
    campaign = serializers.IntegerField(min_value=1, max_value=LARGEST)
    item = serializers.CharField(
        required=False, trim_whitespace=False, help_text="its key; one by chance where left out"
    )


class TriedSerializer(serializers.Serializer[Any]):
    item = serializers.CharField()
    asked = serializers.IntegerField(help_text="how many units judges are asked of it")
    seconds = serializers.FloatField()
    messages = serializers.ListField(child=serializers.DictField(child=serializers.CharField()))
    completion = serializers.CharField(allow_null=True)
    usage = serializers.DictField()
    cost = serializers.CharField(allow_null=True)
    labels = serializers.ListField(child=serializers.DictField(), help_text="that it would make")
    problems = serializers.ListField(
        child=serializers.CharField(), help_text="why a label would be missing, as unreadable"
    )
    state = serializers.CharField(help_text="answered, or what went wrong on the way")
    detail = serializers.CharField()


class Estimated(Resource):
    roles = {"GET": READERS}
    scopes = {"GET": (READ, JUDGE)}
    takes = EstimateParameters

    def get_throttles(self) -> list[Any]:
        return [*super().get_throttles(), PerReport()]

    @described(
        "Estimate a run",
        "What a run of the judge over a campaign will ask, cost and take. Nothing is asked.",
        {200: EstimateSerializer},
        tag="judges",
        example=examples.AN_ESTIMATE,
        refuses=(422,),
        parameters=[EstimateParameters],
        operation_id="judges_estimate",
    )
    def get(self, request: Request, pk: int) -> Response:
        judge, given = visible_judge(request, pk), dict(self.parameters)
        if "campaign" not in given:
            raise serializers.ValidationError({"campaign": "is not there; name one"})
        campaign = campaign_named(get_account(request), given.pop("campaign"), "nothing is asked")
        try:
            found = estimate(judge, campaign, **given)
        except (SetupError, PromptError) as error:
            raise RefusedBodyError(str(error)) from error
        cost = None if found.cost is None else str(found.cost)
        shown = {**asdict(found), "cost": cost, "sentence": found.sentence}
        return Response(EstimateSerializer(shown).data)


class Tried(Resource):
    roles = {"POST": READERS}
    scopes = {"POST": (JUDGE,)}

    @described(
        "Try a judge",
        "Asks it about one item and tells what came. Nothing is stored, and nobody's labels are "
        "looked at; it may cost. Ten times a minute, one at a time. Where queries are drawn for "
        "development, only their items may be tried.",
        {200: TriedSerializer},
        tag="judges",
        request=TrySerializer,
        sent={"campaign": 1, "item": "r1"},
        example=examples.A_TRY,
        refuses=(422,),
        operation_id="judges_try",
    )
    def post(self, request: Request, pk: int) -> Response:
        judge, wanted = visible_judge(request, pk), checked(TrySerializer, request.data)
        campaign = campaign_named(get_account(request), wanted["campaign"], "nothing is asked")
        check_blind(get_account(request), campaign)
        number = _number(campaign, wanted.get("item"))
        try:
            with one_try(get_account(request).pk):
                found = try_judge(judge, campaign, number)
        except TooOftenError as error:
            raise TooManyRequestsError(str(error), error.seconds) from error
        except BusyError as error:
            raise TooManyRequestsError(BUSY, 5) from error
        except (NothingToTryError, SetupError, PromptError, ForgottenItemError) as error:
            raise RefusedBodyError(str(error)) from error
        return Response(TriedSerializer(_shown(found)).data)


def _number(campaign: Campaign, key: str | None) -> int | None:
    """An item's number in its campaign, from 1. Raises RefusedBodyError."""
    if key is None:
        return None
    found = campaign.items.filter(key=key).values_list("position", flat=True).first()
    if found is None:
        wrong = [problem("names no item of the campaign; see its items", "item")]
        raise RefusedBodyError("nothing is asked", wrong)
    return found + 1


def _shown(trial: Trial) -> dict[str, Any]:
    told, answer = trial.error, trial.answer
    messages = trial.prepared.request.messages
    readable = [
        {"unit": each.unit, "values": each.values, "quotes": each.quotes} for each in trial.entries
    ]
    return {
        "item": trial.item.key,
        "asked": trial.asked,
        "seconds": trial.seconds,
        "messages": [{"role": each.role, "content": each.content} for each in messages],
        "completion": answer.text if answer else None,
        "usage": dict(answer.usage) if answer else {},
        "cost": None if trial.cost is None else str(trial.cost),
        "labels": readable,
        "problems": [str(each) for each in trial.problems],
        "state": told.state if told else "unreadable" if trial.problems else "answered",
        "detail": told.message if told else "",
    }

"""Judges by the API: the list, one of them, and new ones by the same form as on the page."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.visible import person
from annotation.models import User
from datasets.api.base import READERS, List, Resource, checked, described, page_shape, rendered
from datasets.api.concurrency import once
from datasets.api.errors import Problem, RefusedBodyError, problem
from datasets.api.permissions import JUDGE, READ
from judging.api import examples
from judging.api.shapes import JudgeParameters, JudgeShape, NewJudgeShape, WholeJudgeShape
from judging.api.visible import judge_of, visible_judges
from judging.backends.addresses import PUBLIC, base_of
from judging.backends.base import SetupError
from judging.defining import JudgeError, define
from judging.models import Judge
from judging.pages.forms import NEW, PARAM_HELP, JudgeForm
from judging.rows.guarding import PUBLIC_KEY, Server, known_servers

NOT_MADE = "no judge is made"


class Judges(List):
    roles = {"GET": READERS, "POST": READERS}
    scopes = {"GET": (READ, JUDGE), "POST": (JUDGE,)}
    takes = JudgeParameters

    @described(
        "List judges",
        "The judges of the site, by name; those with a `base` are trials of another.",
        {200: page_shape(JudgeShape)},
        tag="judges",
        example={"count": 1, "next": None, "previous": None, "results": [examples.A_JUDGE]},
        parameters=[JudgeParameters],
        operation_id="judges_list",
    )
    def get(self, request: Request) -> Response:
        rows = visible_judges(person(request))
        if "name" in self.chosen:
            rows = rows.filter(rater__name=self.chosen["name"])
        if "backend" in self.chosen:
            rows = rows.filter(backend=self.chosen["backend"])
        return self.page(rows, partial(rendered, JudgeShape))

    @described(
        "Define a judge",
        "A model with its prompt and parameters, which never change after; checked as on the page. "
        "Nothing is asked of the server yet. A judge whose server Tandem starts itself (vLLM) is "
        "made by `create_judge`.",
        {201: WholeJudgeShape},
        tag="judges",
        request=NewJudgeShape,
        sent=examples.NEW_JUDGE,
        example=examples.WHOLE_JUDGE,
        status=201,
        refuses=(422,),
        operation_id="judges_create",
    )
    @once
    def post(self, request: Request) -> Response:
        made = _defined(person(request), checked(NewJudgeShape, request.data))
        return Response(WholeJudgeShape(made).data, status=201)


class OneJudge(Resource):
    roles = {"GET": READERS}
    scopes = {"GET": (READ, JUDGE)}

    @described(
        "Read a judge",
        "How it asks, its own prompt included.",
        {200: WholeJudgeShape},
        tag="judges",
        example=examples.WHOLE_JUDGE,
        operation_id="judges_read",
    )
    def get(self, request: Request, pk: int) -> Response:
        return Response(WholeJudgeShape(judge_of(request, pk)).data)


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
        named = Server(base_of(wanted.get("base_url", PUBLIC)), key).name
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

"""Endpoints: a function with its address, roles, scopes and description in one declaration.

A module of endpoints creates `Routes` and decorates a function for each method of an address. The
function gets the request and the parts of the address, and returns an object that the declared
serializer serializes, the rows of a list, an `Reply`, or a response. `given` returns what the
client sent. The URLs, the description and the error responses follow from the declaration.

A report or an export is returned at once if it is up to date, or as soon as it is ready within 20
seconds. Otherwise the response is 202 with the address of the job, which has its progress and the
address of its result. A client may also repeat the request, which joins the same job.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, ClassVar

from django.http import Http404, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.urls import URLPattern, path, reverse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.permissions import BasePermission, IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from datasets.access import READERS
from datasets.api.base import (
    COMMON_ERRORS,
    SAFE,
    ApiError,
    NoParameters,
    PageParameters,
    RefusedBodyError,
    StateConflictError,
    Strict,
    TooManyRequestsError,
    error_response,
    page_of,
    page_serializer,
    plain_parameters,
    validate,
)
from datasets.api.concurrency import has_stored_answer, run_once
from datasets.api.permissions import MANAGE, READ, HasScope
from datasets.models import Job
from datasets.work import queue, results
from datasets.work.kinds import Options, kind_named
from datasets.work.pages import RETRY_AFTER, address_with_job
from datasets.work.queue import TooManyError
from datasets.work.requests import ask, wait_for_job

State = Job.State


class JobSerializer(serializers.Serializer[Any]):
    key = serializers.CharField()
    address = serializers.URLField(help_text="the address of the job's status")
    what = serializers.CharField(help_text="what it computes, in words")
    state = serializers.ChoiceField(State.values)
    position = serializers.IntegerField(
        help_text="the place in the queue, from 1; 0 if the job does not wait"
    )
    done = serializers.IntegerField(help_text="how much is done")
    total = serializers.IntegerField(
        help_text="what `done` will be at the end; 0 if that is unknown"
    )
    error = serializers.CharField(help_text="why it failed; empty otherwise")
    asked_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)
    result = serializers.URLField(
        allow_null=True, help_text="where the result is once the state is `done`"
    )


class JobKey(Strict):
    """The parameter by which a client fetches the result of a job."""

    job = serializers.RegexField(
        r"^[0-9a-f]{32}\Z",
        required=False,
        help_text="the key of a finished job; its result is returned even if data changed since",
    )


class UnfinishedError(Exception):
    """The job has not finished within the time that a response may take; `response` is 202."""

    def __init__(self, response: Response) -> None:
        super().__init__()
        self.response = response


def finished_job(
    request: Request,
    kind: str,
    options: Options,
    key: str | None = None,
    address: str | None = None,
) -> Job:
    """Return the finished job of a question, after waiting a moment.

    `key` names a job that the client followed. `address` is where its result can be read, by
    default the request's. Raises UnfinishedError, RefusedBodyError if the job failed, and
    TooManyRequestsError for too many waiting ones.
    """
    where = request.get_full_path() if address is None else address
    job = wait_for_job(
        _followed_job(kind, options, key) if key else _asked_job(request, kind, options, where)
    )
    if job.state in (State.FAILED, State.CANCELLED):
        raise RefusedBodyError(job.error or "it was cancelled; ask again")
    if not results.is_ready(job):
        found = JobSerializer(job_as_json(request, job, where)).data
        headers = {"Location": found["address"], "Retry-After": RETRY_AFTER}
        raise UnfinishedError(Response(found, status=202, headers=headers))
    return job


def result_of(
    request: Request,
    kind: str,
    options: Options,
    key: str | None = None,
    address: str | None = None,
) -> Any:
    """Return the result of a question's job; raises like `finished_job`."""
    return results.value(finished_job(request, kind, options, key, address))


def _followed_job(kind: str, options: Options, key: str) -> Job:
    job = get_object_or_404(Job, key=key, question=queue.question_of(kind, options))
    if results.is_ready(job) and not results.has_result(job):
        raise Http404
    return job


def _asked_job(request: Request, kind: str, options: Options, address: str) -> Job:
    try:
        job = ask(kind, options, request.user, address).job
        if job.state in (State.FAILED, State.CANCELLED):
            job = ask(kind, options, request.user, address, again=True).job
    except TooManyError as error:
        raise TooManyRequestsError(str(error), wait=60) from error
    return job


def job_as_json(request: Request, job: Job, address: str) -> dict[str, Any]:
    """Return a job as the API shows it. `address` is where the person asked for it."""
    own = reverse("api-job", args=[job.key])
    is_ready = results.is_ready(job) and address.startswith("/api/")
    result = request.build_absolute_uri(address_with_job(address, job)) if is_ready else None
    return {
        "key": job.key,
        "address": request.build_absolute_uri(own),
        "what": kind_named(job.kind).title,
        "state": job.state,
        "position": queue.position(job) if job.state == State.WAITING else 0,
        "done": job.done,
        "total": job.total,
        "error": job.error,
        "asked_at": job.created_at,
        "ended_at": job.ended_at,
        "result": result,
    }


REFUSALS: Mapping[int, type[ApiError]] = {409: StateConflictError, 422: RefusedBodyError}
Function = Callable[..., Any]


@dataclass(frozen=True)
class Reply:
    """What a function returns if its object alone does not say everything.

    `lines` turns the rows of a page into what is serialized.
    """

    value: Any
    status: int | None = None
    headers: Mapping[str, str] | None = None
    context: Mapping[str, Any] = field(default_factory=dict)
    lines: Callable[[list[Any]], Sequence[Any]] | None = None


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """One method of an address: what carries it out, and what its description says.

    The name of `function` is the operation's id.
    `answer` is the serializer of the object that `function` returns, or of one row of its list, or
    a mapping of responses for the description if `function` returns a response. It is sent with
    `status`; the description also names the statuses in `also`, 202 for a `job`, and 409 with the
    serializer `conflict`. `raises` says how errors of the domain are answered: by 409 or 422 with
    their text, or by what a function makes of them. With `once`, a write is carried out once for an
    Idempotency-Key, in one transaction; with `once_last`, `function` prepares the write and returns
    a function that is carried out once.
    """

    function: Function
    summary: str
    description: str
    answer: Any
    tag: str
    roles: Sequence[str]
    scopes: Sequence[str]
    is_list: bool = False
    takes: type[Strict] = NoParameters
    body: type[Strict] | None = None
    media_type: str = "application/json"
    status: int = 200
    also: Sequence[int] = ()
    job: bool = False
    conflict: Any = None
    refuses: Sequence[int] = ()
    raises: Mapping[type[Exception], int | Callable[[Any], Exception]] = field(default_factory=dict)
    parameters: Sequence[Any] = ()
    once: bool = False
    once_last: bool = False
    keyed: bool = False
    hidden: tuple[str, ...] = ()
    throttles: Sequence[type[Any]] = ()

    def respond(self, request: Request, **parts: Any) -> HttpResponseBase:
        try:
            return self._respond(request, parts)
        except tuple(self.raises) as error:
            raise self._refusal(error) from error

    def _respond(self, request: Request, parts: dict[str, Any]) -> HttpResponseBase:
        def write() -> Response:
            return self._answer(request, self.function(request, **parts))

        if self.once:
            return run_once(request, write, self.hidden)
        if not self.once_last:
            return self._answer(request, self.function(request, **parts))
        if has_stored_answer(request):
            return run_once(request, Response)
        # Outside the transaction of `run_once`, in which no worker would see a job.
        prepared = self.function(request, **parts)
        return run_once(request, lambda: self._answer(request, prepared()))

    def _answer(self, request: Request, found: Any) -> Any:
        if isinstance(found, HttpResponseBase):
            return found
        answer = found if isinstance(found, Reply) else Reply(found)

        def serialize(value: Any) -> Any:
            return self.answer(value, many=self.is_list, context=answer.context).data

        if self.is_list:
            lines = answer.lines or list
            return page_of(
                request, answer.value, lambda rows: serialize(lines(rows)), given(request)
            )
        status = answer.status or self.status
        return Response(serialize(answer.value), status=status, headers=answer.headers)

    def _refusal(self, error: Exception) -> Exception:
        answers = next(self.raises[kind] for kind in type(error).__mro__ if kind in self.raises)
        return answers(error) if callable(answers) else REFUSALS[answers](str(error))

    def responses(self) -> dict[Any, Any]:
        shape = page_serializer(self.answer) if self.is_list else self.answer
        own = shape if isinstance(shape, Mapping) else {self.status: shape}
        found = {**own, **dict.fromkeys(self.also, shape)}
        if self.job:
            found[202] = JobSerializer
        codes = [*COMMON_ERRORS, *self.refuses, *((413, 415) if self.body else ())]
        codes += [code for code in self.raises.values() if isinstance(code, int)]
        found |= {code: error_response(code) for code in codes}
        return found | ({409: self.conflict} if self.conflict else {})

    def handler(self) -> Function:
        """Return the method of a view that carries this out, described for OpenAPI."""

        def handle(view: Resource, request: Request, **parts: Any) -> HttpResponseBase:
            return self.respond(request, **parts)

        handle.keyed = self.once or self.once_last or self.keyed  # type: ignore[attr-defined]
        described: Function = extend_schema(
            operation_id=self.function.__name__,
            summary=self.summary,
            description=self.description,
            tags=[self.tag],
            request={self.media_type: self.body} if self.body else None,
            responses=self.responses(),
            parameters=[*self.parameters, *([self.takes] if self.takes().fields else [])],
        )(handle)
        return described


def _method(request: Request) -> str:
    return "GET" if request.method in SAFE else str(request.method)


class HasRole(BasePermission):
    """Whether the account has a role that the endpoint names; an unknown method is answered 405."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        assert isinstance(view, Resource)
        method = _method(request)
        return method not in view.roles or getattr(request.user, "role", None) in view.roles[method]


class Resource(APIView):
    """An address: 401 without a token, 403 for another role or scope, before anything is looked up.

    Functions `visible_…` find objects for a user, so an object that is not visible is not found
    (404). Parameters that an endpoint does not take are refused (400).
    """

    endpoints: ClassVar[Mapping[str, Endpoint]] = {}
    roles: ClassVar[Mapping[str, Sequence[str]]] = {}
    scopes: ClassVar[Mapping[str, Sequence[str]]] = {}
    takes: ClassVar[type[Strict]] = NoParameters
    permission_classes = [IsAuthenticated, HasRole, HasScope]
    http_method_names = ["get", "head", "post", "put"]
    takes_files = False
    sent: dict[str, Any]

    @classmethod
    def as_view(cls, **options: Any) -> Any:
        view = super().as_view(**options)
        # A redirect would turn a POST into a GET, whose 200 would look as if something was saved.
        view.should_append_slash = False  # type: ignore[attr-defined]
        view.takes_files = cls.takes_files  # type: ignore[attr-defined]
        return view

    def get_throttles(self) -> list[Any]:
        own = self.endpoints[_method(self.request)].throttles
        return [*super().get_throttles(), *(each() for each in own)]

    def check_throttles(self, request: Request) -> None:
        """Count the request, unless the endpoint lacks its method, which is answered 405."""
        if _method(request) in self.endpoints:
            super().check_throttles(request)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        if _method(request) not in self.endpoints:
            return  # dispatch answers 405, whatever the parameters
        takes = self.takes if request.method in SAFE else NoParameters
        found = validate(takes, plain_parameters(takes, request.query_params))
        if request.method in SAFE:
            self.sent = found

    def handle_exception(self, exc: Exception) -> Response:
        return exc.response if isinstance(exc, UnfinishedError) else super().handle_exception(exc)


def given(request: Request) -> dict[str, Any]:
    """Return the validated parameters of a GET, or the validated body of another request.

    Raises ValidationError, which is answered with 400.
    """
    view: Resource = (request.parser_context or {})["view"]
    if not hasattr(view, "sent"):
        body = view.endpoints[_method(request)].body
        assert body is not None
        data: Any = request.data
        is_form = isinstance(data, QueryDict)
        view.sent = validate(body, plain_parameters(body, data) if is_form else data)
    return view.sent


def given_filters(request: Request, *same: str, **paths: str) -> dict[str, Any]:
    """Return the given parameters as filters: those in `same`, and others by their path."""
    wanted = {**{name: name for name in same}, **paths}
    return {path: value for name, value in given(request).items() if (path := wanted.get(name))}


class Routes:
    """The endpoints of a module, with the tag, roles and scopes that they share."""

    def __init__(
        self,
        tag: str,
        roles: Sequence[str] = READERS,
        reads: Sequence[str] = (READ,),
        writes: Sequence[str] = (MANAGE,),
    ) -> None:
        self.shared = {"tag": tag, "roles": roles}
        self.scopes = {"GET": reads, "POST": writes, "PUT": writes}
        self.views: dict[str, tuple[str, dict[str, Any], dict[str, Endpoint]]] = {}

    def get(self, *about: Any, **how: Any) -> Callable[[Function], Function]:
        """Declare what is read at an address; see `Endpoint` for the declarations.

        `about` are the address, the summary, the description and the serializer of the answer.
        """
        return self._declare("GET", *about, **how)

    def list(self, *about: Any, **how: Any) -> Callable[[Function], Function]:
        """Declare a list, one page of which is read at a time; its function returns all rows."""
        return self._declare("GET", *about, **{"takes": PageParameters, **how, "is_list": True})

    def post(self, *about: Any, **how: Any) -> Callable[[Function], Function]:
        return self._declare("POST", *about, **how)

    def put(self, *about: Any, **how: Any) -> Callable[[Function], Function]:
        return self._declare("PUT", *about, **how)

    def _declare(
        self,
        method: str,
        address: str,
        summary: str,
        description: str,
        answer: Any,
        name: str = "",
        view: Mapping[str, Any] | None = None,
        **how: Any,
    ) -> Callable[[Function], Function]:
        """`name` names the URL, in its first declaration; `view` has attributes of its class."""
        _, attributes, endpoints = self.views.setdefault(address, (f"api-{name}", {}, {}))
        attributes.update(view or {})
        declared = {**self.shared, "scopes": self.scopes[method], **how}
        declared |= {"summary": summary, "description": description, "answer": answer}

        def register(function: Function) -> Function:
            endpoints[method] = Endpoint(function=function, **declared)
            return function

        return register

    @property
    def urls(self) -> Sequence[URLPattern]:
        return [
            path(address, _view(name, attributes, endpoints).as_view(), name=name)
            for address, (name, attributes, endpoints) in self.views.items()
        ]


def urls_of(package: str) -> Iterator[URLPattern]:
    """Yield the URLs of all modules of endpoints in a package."""
    folder = import_module(package).__path__
    for found in iter_modules(folder, f"{package}."):
        routes = getattr(import_module(found.name), "api", None)
        if isinstance(routes, Routes):
            yield from routes.urls


def _view(name: str, attributes: dict[str, Any], endpoints: dict[str, Endpoint]) -> type[Resource]:
    """Return the view of an address with these endpoints by method."""
    own = {
        **attributes,
        "endpoints": endpoints,
        "roles": {method: each.roles for method, each in endpoints.items()},
        "scopes": {method: each.scopes for method, each in endpoints.items()},
        **{method.lower(): each.handler() for method, each in endpoints.items()},
    }
    if "GET" in endpoints:
        own["takes"] = endpoints["GET"].takes
    return type(name, (Resource,), own)

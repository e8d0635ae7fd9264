"""The calls of a run by the API: each attempt, and what came back word for word."""

from __future__ import annotations

from functools import partial

from django.shortcuts import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.visible import check_blind, person
from datasets.api.base import READERS, List, Resource, described, page_shape, rendered
from datasets.api.permissions import JUDGE, READ
from judging.api import examples
from judging.api.shapes import CallParameters, CallShape, WholeCallShape
from judging.api.visible import run_of, visible_calls


class Calls(List):
    roles = {"GET": READERS}
    scopes = {"GET": (READ, JUDGE)}
    takes = CallParameters

    @described(
        "List the calls of a run",
        "Every attempt with what became of it, the newest first; not while one has an open item in "
        "the campaign.",
        {200: page_shape(CallShape)},
        tag="judges",
        example={"count": 1, "next": None, "previous": None, "results": [examples.A_CALL]},
        parameters=[CallParameters],
        operation_id="calls_list",
    )
    def get(self, request: Request, pk: int) -> Response:
        run = run_of(request, pk)
        check_blind(person(request), run.campaign)
        rows = visible_calls(person(request)).filter(run=run).order_by("-pk")
        if "state" in self.chosen:
            rows = rows.filter(state=self.chosen["state"])
        large = ("completion", "body", "logprobs")
        return self.page(rows.defer(*large), partial(rendered, CallShape))


class OneCall(Resource):
    roles = {"GET": READERS}
    scopes = {"GET": (READ, JUDGE)}

    @described(
        "Read a call",
        "One attempt with the model's answer word for word; not while one has an open item in the "
        "campaign.",
        {200: WholeCallShape},
        tag="judges",
        example=examples.WHOLE_CALL,
        operation_id="calls_read",
    )
    def get(self, request: Request, pk: int) -> Response:
        found = get_object_or_404(visible_calls(person(request)), pk=pk)
        check_blind(person(request), found.run.campaign)
        return Response(WholeCallShape(found).data)

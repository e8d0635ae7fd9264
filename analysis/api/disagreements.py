"""API endpoint of the actions on a list of disagreements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from analysis.disagreements.actions import (
    ACTIONS,
    ActionError,
    SelectedUnits,
    carry_out,
    plan_action,
    target_named,
)
from analysis.disagreements.jobs import VOTES, question, votes_in
from analysis.disagreements.listing import FILTER_HELP, UnitList
from annotation.access import get_account, managed_campaign
from annotation.api.access import check_blind
from annotation.exposure.ledger import FEWEST_UNITS, saw_figures
from annotation.models import User
from annotation.presentation import schema
from datasets.access import READERS
from datasets.api.base import Resource, Strict, describe_endpoint, validate
from datasets.api.concurrency import has_stored_answer, mark_idempotent, run_once
from datasets.api.errors import RefusedBodyError, problem
from datasets.api.jobs import JobSerializer, accepted_response, current_job
from datasets.api.permissions import MANAGE


class ActionOrderSerializer(Strict):
    action = serializers.ChoiceField(list(ACTIONS), help_text="what to do with the units")
    into = serializers.CharField(
        required=False,
        default="",
        help_text="the name of the campaign that gets the gold answers; for `gold` alone",
    )
    dry_run = serializers.BooleanField(
        default=False,
        help_text="only return how many units could be taken, and why the others could not",
    )

    def get_fields(self) -> dict[str, Any]:
        filters = {
            name: serializers.CharField(required=False, allow_blank=True, help_text=about)
            for name, about in FILTER_HELP.items()
            if name != "sort"
        }
        return {**super().get_fields(), **filters}


class RefusedUnitsSerializer(serializers.Serializer[Any]):
    reason = serializers.CharField()
    units = serializers.IntegerField()


class ActedSerializer(serializers.Serializer[Any]):
    action = serializers.CharField()
    units = serializers.IntegerField(help_text="units that were taken, or could be in a dry run")
    refused = RefusedUnitsSerializer(many=True, help_text="units that cannot be taken, by reason")
    dry_run = serializers.BooleanField()


class CampaignDisagreements(Resource):
    roles = {"POST": READERS}
    scopes = {"POST": (MANAGE,)}

    @describe_endpoint(
        "Act on disagreements",
        "Sends the units of a filtered list to adjudication, makes those that people decided gold "
        "answers of another campaign, or chooses those of development queries as examples for "
        "judge files. The filters are those of the page. 202 with a job if collecting the labels "
        "takes more than 20 seconds; send the same again then. 422 if no unit can be taken.",
        {200: ActedSerializer, 202: JobSerializer},
        tag="studies",
        request=ActionOrderSerializer,
        sent={"action": "adjudicate", "show": "people", "tag": "ambiguous"},
        example={
            "action": "adjudicate",
            "units": 12,
            "refused": [{"reason": "an adjudicator has decided them", "units": 3}],
            "dry_run": False,
        },
        refuses=(422,),
        operation_id="disagreements_act",
    )
    @mark_idempotent
    def post(self, request: Request, pk: int) -> Response:
        if has_stored_answer(request):
            return run_once(request, lambda: Response())
        campaign, user = managed_campaign(request, pk), get_account(request)
        check_blind(user, campaign)
        body = validate(ActionOrderSerializer, request.data)
        names = [each.name for each in schema(campaign).variables]
        variable = body.get("variable") or names[0]
        if variable not in names:
            message = f"is not a variable here; there are {', '.join(names)}"
            raise RefusedBodyError("nothing was done", [problem(message, "variable")])
        # Outside the transaction of `run_once`, in which no worker would see the job.
        job = current_job(request, VOTES, question(campaign, variable, body), address="")
        if job is None:
            return accepted_response(request, address="")
        listed = UnitList(body, campaign, variable, votes_in(job))
        few = listed.units if len(listed.units) < FEWEST_UNITS else ()
        saw_figures("disagreements", campaign, len(listed.units), units=few)
        return run_once(request, lambda: _acted(listed, body, user))


def _acted(listed: UnitList, body: Mapping[str, Any], user: User) -> Response:
    """Carry out the requested action on the units of a list. Raises RefusedBodyError."""
    action, dry = ACTIONS[body["action"]], body["dry_run"]
    try:
        target = target_named(listed.campaign, body["into"], user) if action.needs_target else None
        chosen = SelectedUnits(listed.campaign, listed.variable, listed.units, target)
        if dry:
            found = plan_action(action, chosen)
            number = len(found.units)
        else:
            number, found = carry_out(action, chosen, user)
    except ActionError as error:
        raise RefusedBodyError(str(error)) from error
    refused = [{"reason": why, "units": of} for why, of in sorted(found.refused.items())]
    done = {"action": body["action"], "units": number, "refused": refused, "dry_run": dry}
    return Response(ActedSerializer(done).data)

"""API endpoint of the actions on a list of disagreements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request

from analysis.disagreements.actions import (
    ACTIONS,
    ActionError,
    SelectedUnits,
    carry_out,
    plan_action,
    target_named,
)
from analysis.disagreements.listing import FILTER_HELP, UnitList
from analysis.disagreements.votes_job import VOTES, question, votes_in
from annotation.access import get_account
from annotation.api.access import managed_unless_blind
from annotation.exposure.ledger import FEWEST_UNITS, saw_figures
from annotation.models import User
from annotation.presentation import schema
from datasets.api.base import RefusedBodyError, Strict, problem
from datasets.api.routes import Routes, finished_job, given

api = Routes("studies")


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


@api.post(
    "campaigns/<int:pk>/disagreements/",
    "Act on disagreements",
    "Sends the units of a filtered list to adjudication, makes those that people decided gold "
    "answers of another campaign, or chooses those of development queries as examples for "
    "judge files. The filters are those of the page. 202 with a job if collecting the labels "
    "takes more than 20 seconds; send the same again then. 422 if no unit can be taken.",
    ActedSerializer,
    name="disagreements",
    body=ActionOrderSerializer,
    job=True,
    raises={ActionError: 422},
    once_last=True,
)
def disagreements_act(request: Request, pk: int) -> Any:
    campaign, body = managed_unless_blind(request, pk), given(request)
    names = [each.name for each in schema(campaign).variables]
    variable = body.get("variable") or names[0]
    if variable not in names:
        message = f"is not a variable here; there are {', '.join(names)}"
        raise RefusedBodyError("nothing was done", [problem(message, "variable")])
    job = finished_job(request, VOTES, question(campaign, variable, body), address="")
    listed = UnitList(body, campaign, variable, votes_in(job))
    few = listed.units if len(listed.units) < FEWEST_UNITS else ()
    saw_figures("disagreements", campaign, len(listed.units), units=few)
    return lambda: _acted(listed, body, get_account(request))


def _acted(listed: UnitList, body: Mapping[str, Any], user: User) -> dict[str, Any]:
    """Carry out the requested action on the units of a list. Raises ActionError."""
    action, dry = ACTIONS[body["action"]], body["dry_run"]
    target = target_named(listed.campaign, body["into"], user) if action.needs_target else None
    chosen = SelectedUnits(listed.campaign, listed.variable, listed.units, target)
    if dry:
        found = plan_action(action, chosen)
        number = len(found.units)
    else:
        number, found = carry_out(action, chosen, user)
    refused = [{"reason": why, "units": of} for why, of in sorted(found.refused.items())]
    return {"action": body["action"], "units": number, "refused": refused, "dry_run": dry}

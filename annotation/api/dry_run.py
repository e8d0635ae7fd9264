"""API endpoint of dry runs: who would get what in a campaign, and how wide intervals would be."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request

from annotation.access import get_account
from annotation.api.access import batch_named
from annotation.api.campaign_serializers import (
    NOT_CREATED,
    NewCampaignSerializer,
    design_from,
    design_problem,
    settings_from,
)
from annotation.campaign_setup.dry_run import MOST_PEOPLE, DryRun
from annotation.campaign_setup.expected_widths import Assumptions
from annotation.campaign_setup.preview_job import MOST_ITEMS, PREVIEW, dry_run_of, question
from annotation.campaigns.design import DesignError
from datasets.access import TeamError, team_for
from datasets.api.base import RefusedBodyError, Strict, problem
from datasets.api.concurrency import PerReport
from datasets.api.permissions import MANAGE, READ
from datasets.api.routes import Routes, given, result_of
from datasets.api.typed import serializer_of
from datasets.option_fields import serializer_fields
from tandem.options import options_of

api = Routes("campaigns", writes=(READ, MANAGE))


class AssumptionsSerializer(Strict):
    """Assumptions about quantities that are unknown before the study."""

    def get_fields(self) -> dict[str, Any]:
        return dict(serializer_fields(options_of(Assumptions), has_defaults=False))


class NewDryRunSerializer(NewCampaignSerializer):
    """A new campaign, the number of people expected, and assumptions."""

    people = serializers.IntegerField(required=False, min_value=1, max_value=MOST_PEOPLE)
    assumptions = AssumptionsSerializer(required=False)


DryRunSerializer = serializer_of(
    DryRun,
    "DryRun",
    ("characters", "is_chosen", "noun"),
    assumptions=serializers.DictField(child=serializers.FloatField()),
)


def not_created(error: TeamError | DesignError) -> RefusedBodyError:
    """Return the error that says why a campaign cannot be created."""
    wrong = design_problem(error) if isinstance(error, DesignError) else problem(str(error), "team")
    return RefusedBodyError(NOT_CREATED, [wrong])


@api.post(
    "campaigns/rehearsal/",
    "Carry out a dry run of a campaign's design",
    "A dry run of `POST /campaigns/`, with the same checks: who would get what, and how wide "
    "the intervals of kappa and of a share such as coverage are to be expected. Nothing is "
    f"stored. A design of more than {MOST_ITEMS} items is for the command. A job carries it "
    "out: 202 with the job if that takes more than 20 seconds; repeat the request until it is "
    "answered by 200.",
    DryRunSerializer,
    name="rehearsal",
    body=NewDryRunSerializer,
    job=True,
    raises={TeamError: not_created, DesignError: not_created},
    refuses=(422,),
    throttles=(PerReport,),
)
def campaigns_rehearse(request: Request) -> Any:
    body, user = given(request), get_account(request)
    batch = batch_named(user, body["batch"])
    asked = question(
        body["name"],
        body["protocol"],
        batch,
        design_from(body),
        settings_from(body),
        body.get("people"),
        Assumptions(**body.get("assumptions", {})),
        user,
        team_for(user, body.get("team"), batch.team),
        body["continues"],
    )
    return asdict(dry_run_of(result_of(request, PREVIEW, asked)))

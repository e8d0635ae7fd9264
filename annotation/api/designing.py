"""A campaign's design by the API: a dry run, its stored draw, known answers, and its terms."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.campaigns import (
    A_CAMPAIGN,
    A_STUDY,
    NEW,
    as_campaigns,
    batch_named,
    terms_tag,
)
from annotation.api.campaigns import design_from as design_of
from annotation.api.campaigns import terms_from as terms_of
from annotation.api.designshapes import (
    ChangedTermsShape,
    DrawParameters,
    DrawShape,
    KeptKnownShape,
    NewKnownShape,
    NewRehearsalShape,
    RehearsalShape,
)
from annotation.api.shapes import CampaignShape
from annotation.api.visible import check_blind, person, visible_campaigns, visible_studies
from annotation.design import DesignError
from annotation.drawn import query_line, query_rows, unit_line, unit_rows
from annotation.expecting import AssumptionError, Assumptions
from annotation.files.rows import LabelRow
from annotation.gold.setting import keep_known
from annotation.models import Campaign, QueryDraw, UnitDraw, User
from annotation.opening import change
from annotation.rehearsing import rehearse
from datasets.api.base import READERS, ErrorShape, List, Resource, checked, described, page_shape
from datasets.api.concurrency import IF_MATCH, check_seen, once
from datasets.api.errors import RefusedBodyError, problem
from datasets.api.permissions import MANAGE, READ
from datasets.api.throttling import PerReport
from datasets.rows import InputError, Place

MOST_ITEMS = 20_000
AN_EXPECTED = {"width": 0.31, "units": 300, "queries": 20, "effective": 78.9, "reason": None}
A_REHEARSAL: dict[str, Any] = {
    "queries": 20,
    "asked_queries": 20,
    "judge_only": 0,
    "roles": {"evaluation": 20},
    "items": 60,
    "units": 300,
    "places": 120,
    "several": 60,
    "people": 3,
    "unfilled": 0,
    "shares": [{"items": 40, "units": 200}],
    "common": [100, 100],
    "kappa": AN_EXPECTED,
    "share": AN_EXPECTED,
    "powered": None,
    "assumptions": asdict(Assumptions()),
}
A_DRAW = {
    "of": "query", "query": "q1", "item": None, "unit": None, "unit_kind": None, "kind": "simple",
    "seed": 7, "wave": 1, "stratum": None, "probability": 0.2, "drawn": True,
    "role": "evaluation", "role_probability": 0.8, "use": None,
}  # fmt: skip


class ChangedShape(ErrorShape):
    current = CampaignShape(help_text="as it stands")


class Rehearsals(Resource):
    roles = {"POST": READERS}
    scopes = {"POST": (READ, MANAGE)}

    def get_throttles(self) -> list[Any]:
        return [*super().get_throttles(), PerReport()]

    @described(
        "Try a campaign's design",
        "A dry run of `POST /campaigns/`, with the same checks: who would get what, and how wide "
        "the intervals of kappa and of a share such as coverage are to be expected. Nothing is "
        f"stored. A design of more than {MOST_ITEMS} items is for the command.",
        {200: RehearsalShape},
        tag="campaigns",
        request=NewRehearsalShape,
        sent={**NEW, "people": 3},
        example=A_REHEARSAL,
        refuses=(422,),
        operation_id="campaigns_rehearse",
    )
    def post(self, request: Request) -> Response:
        wanted = checked(NewRehearsalShape, request.data)
        batch = batch_named(person(request), wanted["batch"])
        try:
            given = Assumptions(**wanted.get("assumptions", {}))
            found = rehearse(
                wanted["name"], wanted["protocol"], batch, design_of(wanted), terms_of(wanted),
                wanted.get("people"), given, most=MOST_ITEMS, by=person(request),
            )  # fmt: skip
        except (DesignError, AssumptionError) as error:
            sentence = "this campaign cannot be made"
            raise RefusedBodyError(sentence, [problem(str(error))]) from error
        shares = [share._asdict() for share in found.shares]
        return Response(RehearsalShape({**asdict(found), "shares": shares}).data)


class ChangedTerms(Resource):
    roles = {"POST": READERS}
    scopes = {"POST": (MANAGE,)}

    @described(
        "Change, close or open a campaign",
        "What may change while a campaign runs: deadline, language, guideline (which makes a new "
        "version), gold, practice, and whether it is open. What is left out stays.",
        {200: CampaignShape, 409: ChangedShape},
        tag="campaigns",
        request=ChangedTermsShape,
        sent={"deadline": "2026-12-31", "is_open": True},
        example={**A_CAMPAIGN, "study": A_STUDY},
        refuses=(422,),
        parameters=[IF_MATCH],
        operation_id="campaigns_change",
    )
    @once
    def post(self, request: Request, pk: int) -> Response:
        user, wanted = person(request), checked(ChangedTermsShape, request.data)
        with transaction.atomic():
            campaign = still_as_seen(request, pk)
            try:
                change(campaign, terms_of(wanted), wanted.get("is_open"), user)
            except DesignError as error:
                sentence = "the campaign stays as it was"
                raise RefusedBodyError(sentence, [problem(str(error))]) from error
        return Response(_shown(user, pk), headers={"ETag": terms_tag(campaign)})


def still_as_seen(request: Request, pk: int) -> Campaign:
    """A campaign, held until the transaction ends. Raises StandingError where its terms changed."""
    user = person(request)
    rows = visible_studies(user).select_related(None).select_for_update()
    campaign = get_object_or_404(rows, pk=pk)
    check_seen(request, terms_tag(campaign), lambda: _shown(user, pk))
    return campaign


def _shown(user: User, pk: int) -> Any:
    return as_campaigns(user, [visible_campaigns(user).get(pk=pk)])[0]


class Draws(List):
    roles = {"GET": READERS}
    scopes = {"GET": (READ, MANAGE)}
    takes = DrawParameters

    @described(
        "Read a campaign's draw",
        "Every query, or every unit, drawn or not: kind, seed, wave, probability and role. A "
        "unit's probability holds once its item is asked. `draws --check` makes it anew.",
        {200: page_shape(DrawShape)},
        tag="campaigns",
        example={"count": 1, "next": None, "previous": None, "results": [A_DRAW]},
        parameters=[DrawParameters],
        operation_id="campaigns_draws",
    )
    def get(self, request: Request, pk: int) -> Response:
        user = person(request)
        campaign = get_object_or_404(visible_studies(user), pk=pk)
        # A stratum tells what others, or a judge, said of a unit.
        check_blind(user, campaign)
        if self.chosen["of"] == "query":
            return self.page(visible_query_draws(user, campaign), lambda r: [*map(query_line, r)])
        return self.page(visible_unit_draws(user, campaign), lambda r: [*map(unit_line, r)])


class KnownAnswers(Resource):
    roles = {"POST": READERS}
    scopes = {"POST": (MANAGE,)}

    @described(
        "Set known answers",
        "Makes items gold (mixed in, never told) or practice (first of all, with feedback), with "
        "the answers that are known of them; they leave the study. All or nothing. They cannot "
        "be read back.",
        {200: KeptKnownShape},
        tag="campaigns",
        request=NewKnownShape,
        sent={
            "use": "gold",
            "answers": [{"item": "r1", "unit": "q1:a", "variable": "answerable", "value": "no"}],
        },
        example={"answers": 1, "items": 1, "unchanged": False},
        refuses=(422,),
        operation_id="campaigns_known",
    )
    @once
    def post(self, request: Request, pk: int) -> Response:
        campaign = get_object_or_404(visible_studies(person(request)), pk=pk)
        check_blind(person(request), campaign)  # what is refused or unchanged would tell an answer
        wanted = checked(NewKnownShape, request.data)
        rows = [_row(each, n) for n, each in enumerate(wanted["answers"], start=1)]
        try:
            kept = keep_known(rows, campaign, wanted["use"])
        except InputError as error:
            sentence = "no known answer was taken"
            raise RefusedBodyError(sentence, [problem(str(error))]) from error
        return Response(asdict(kept))


def visible_query_draws(user: User, campaign: Campaign) -> QuerySet[QueryDraw]:
    if user.role not in READERS:
        return QueryDraw.objects.none()
    return query_rows(campaign)


def visible_unit_draws(user: User, campaign: Campaign) -> QuerySet[UnitDraw]:
    if user.role not in READERS:
        return UnitDraw.objects.none()
    return unit_rows(campaign)


def _row(known: dict[str, Any], number: int) -> LabelRow:
    reason = known.get("reason")
    return LabelRow(
        item=known["item"],
        unit=known["unit"],
        kind=known.get("kind"),
        variable=known["variable"],
        value=known["value"],
        rater="known",
        meta={"reason": reason} if reason else None,
        place=Place("answers", number),
    )

"""API endpoints of campaigns: list, create, dry run, sample, gold answers, settings."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any

from django.db import transaction
from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.access import get_account, readable_campaign, visible_campaigns
from annotation.api.access import check_blind
from annotation.api.serializers import CampaignParameters, CampaignSerializer
from annotation.campaign_setup.creation import CreatedCampaign, create_once
from annotation.campaign_setup.dry_run import MOST_PEOPLE, Assumptions, simulate
from annotation.campaigns.design import Design, DesignError
from annotation.campaigns.sampling import query_line, query_rows, unit_line, unit_rows
from annotation.campaigns.settings import CampaignSettings, change, read_deadline
from annotation.imports.gold import keep_known
from annotation.label_rows import LabelRow
from annotation.models import Campaign, User
from annotation.people.membership import readable
from annotation.progress.person import progress_of
from annotation.protocols import PROTOCOLS
from annotation.provenance import guideline_digest
from annotation.registry import declared
from datasets.access import EVERYBODY, READERS, WORKERS
from datasets.api.base import (
    ErrorSerializer,
    List,
    Number,
    PageParameters,
    Resource,
    Strict,
    checked,
    described,
    page_example,
    page_serializer,
    rendered,
)
from datasets.api.batches import visible_batches
from datasets.api.concurrency import IF_MATCH, check_etag, etag_of, once
from datasets.api.errors import Problem, RefusedBodyError, problem
from datasets.api.permissions import ANY, MANAGE, READ
from datasets.api.throttling import PerReport
from datasets.models import Batch
from datasets.option_fields import serializer_fields
from datasets.options import options_of
from datasets.rows import InputError, Place

MOST_KNOWN = 5_000
NOT_CREATED = "this campaign cannot be made"


class Word(serializers.CharField):
    """A word of one of a design's lists, which the command parts at commas."""

    def to_internal_value(self, data: Any) -> str:
        word = super().to_internal_value(data)
        if "," in word:
            raise serializers.ValidationError("holds a comma, which parts words; leave it out")
        return word


class SettingsSerializer(Strict):
    """What may change while a campaign runs."""

    deadline = serializers.CharField(
        required=False,
        max_length=40,
        help_text="no answer counts after it: a moment, or a day, which counts to its end",
    )
    language = serializers.CharField(
        required=False, max_length=35, help_text="of its texts, such as en or pt-BR"
    )
    guideline = serializers.CharField(
        required=False,
        allow_blank=True,
        trim_whitespace=False,
        help_text="Markdown instead of the protocol's guideline; empty takes that back",
    )
    gold_every = serializers.IntegerField(
        required=False, min_value=0, max_value=999, help_text="one gold item in so many; 0 for none"
    )
    practice_of = serializers.CharField(
        required=False,
        allow_blank=True,
        trim_whitespace=False,
        help_text="the campaign whose practice people pass first, by name",
    )
    qualify = Number(
        required=False, min_value=0, max_value=1, help_text="the share right that lets them in"
    )


class OptionsSerializer(Strict):
    """The options of `create_campaign --option`."""

    def get_fields(self) -> dict[str, Any]:
        fields = serializer_fields(options_of(Design), has_defaults=False)
        for name in ("variables", "categories"):
            words = serializers.ListField(
                child=Word(), required=False, allow_empty=False, help_text=fields[name].help_text
            )
            fields[name] = words
        return {**super().get_fields(), **fields}


class NewCampaignSerializer(SettingsSerializer):
    """The arguments of `create_campaign`."""

    name = serializers.CharField(max_length=200, trim_whitespace=False)
    protocol = serializers.ChoiceField(sorted(PROTOCOLS))
    batch = serializers.CharField(trim_whitespace=False, help_text="the name of a loaded batch")
    raters_per_item = serializers.IntegerField(min_value=1, max_value=1000, default=1)
    overlap = Number(
        min_value=0, max_value=1, default=1.0, help_text="the share of items with several people"
    )
    human_share = Number(
        min_value=0, max_value=1, default=1.0, help_text="the share of queries people are asked"
    )
    options = OptionsSerializer(required=False)


class AssumptionsSerializer(Strict):
    """What nobody knows beforehand."""

    kappa = Number(required=False, min_value=0, max_value=1, help_text="the true agreement")
    prevalence = Number(required=False, min_value=0, max_value=1, help_text="the share of yes")
    icc = Number(
        required=False, min_value=0, max_value=1, help_text="how alike units of a query are"
    )
    correlation = Number(
        required=False, min_value=0, max_value=1, help_text="of judge and people, over queries"
    )


class NewDryRunSerializer(NewCampaignSerializer):
    """A campaign to be, how many people are expected, and what is assumed."""

    people = serializers.IntegerField(required=False, min_value=1, max_value=MOST_PEOPLE)
    assumptions = AssumptionsSerializer(required=False)


class ExpectedSerializer(serializers.Serializer[Any]):
    width = serializers.FloatField(allow_null=True, help_text="of the 95 % interval")
    units = serializers.IntegerField()
    queries = serializers.IntegerField()
    effective = serializers.FloatField(help_text="what the units are worth, were they independent")
    reason = serializers.CharField(allow_null=True, help_text="why there is no interval")


class ShareSerializer(serializers.Serializer[Any]):
    items = serializers.IntegerField()
    units = serializers.IntegerField()


class DryRunSerializer(serializers.Serializer[Any]):
    queries = serializers.IntegerField()
    asked_queries = serializers.IntegerField(help_text="queries that people are asked")
    judge_only = serializers.IntegerField(help_text="queries for judges alone")
    roles = serializers.DictField(child=serializers.IntegerField(), help_text="queries by role")
    items = serializers.IntegerField()
    units = serializers.IntegerField()
    places = serializers.IntegerField(help_text="answers of people that the design asks for")
    several = serializers.IntegerField(help_text="items with several people")
    people = serializers.IntegerField()
    unfilled = serializers.IntegerField(help_text="places for which so many people do not suffice")
    shares = ShareSerializer(many=True, help_text="what each person gets, all at the same pace")
    common = serializers.ListField(
        child=serializers.IntegerField(),
        allow_null=True,
        help_text="the fewest and the most units that two people share",
    )
    kappa = ExpectedSerializer()
    share = ExpectedSerializer(help_text="of a share such as coverage, by people alone")
    powered = ExpectedSerializer(allow_null=True, help_text="the same with a judge on all queries")
    assumptions = serializers.DictField(child=serializers.FloatField())


class ChangedSettingsSerializer(SettingsSerializer):
    is_open = serializers.BooleanField(required=False, help_text="false closes it, true opens it")
    no_deadline = serializers.BooleanField(required=False, help_text="takes the deadline away")
    no_qualify = serializers.BooleanField(
        required=False, help_text="lets people in once their practice is done"
    )


class DrawParameters(PageParameters):
    of = serializers.ChoiceField(
        ("query", "unit"), default="query", help_text="draws of queries, or of units"
    )


class SampleSerializer(serializers.Serializer[Any]):
    of = serializers.ChoiceField(("query", "unit"))
    query = serializers.CharField()
    item = serializers.CharField(allow_null=True)
    unit = serializers.CharField(allow_null=True)
    unit_kind = serializers.CharField(allow_null=True)
    kind = serializers.CharField(help_text="all, simple, turns or own")
    seed = serializers.IntegerField()
    wave = serializers.IntegerField()
    stratum = serializers.CharField(allow_null=True)
    probability = serializers.FloatField(allow_null=True)
    drawn = serializers.BooleanField(allow_null=True, help_text="null: not drawn yet, or each own")
    role = serializers.CharField(help_text="development, evaluation or audit")
    role_probability = serializers.FloatField(allow_null=True)
    use = serializers.CharField(allow_null=True, help_text="study, gold or practice")


class GoldAnswerSerializer(Strict):
    item = serializers.CharField(max_length=600, trim_whitespace=False)
    unit = serializers.CharField(max_length=600, trim_whitespace=False)
    kind = serializers.CharField(max_length=20, required=False)
    variable = serializers.CharField(max_length=40)
    value = serializers.CharField(max_length=255)
    reason = serializers.CharField(max_length=2000, required=False)


class NewGoldAnswersSerializer(Strict):
    use = serializers.ChoiceField(("gold", "practice"))
    answers = serializers.ListField(
        child=GoldAnswerSerializer(), allow_empty=False, max_length=MOST_KNOWN
    )


class StoredGoldAnswersSerializer(serializers.Serializer[Any]):
    answers = serializers.IntegerField()
    items = serializers.IntegerField()
    unchanged = serializers.BooleanField(help_text="whether all of it stood before")


A_CAMPAIGN: dict[str, Any] = {
    "id": 1,
    "name": "pilot-coverage",
    "protocol": "report-coverage",
    "title": "Report coverage",
    "is_open": True,
    "deadline": "2026-12-31T23:59:59Z",
    "takes_answers": True,
    "language": "en",
    "work": {"done": 3, "begun": 1, "left": 9, "waiting": 0},
    "study": None,
}
A_STUDY = {
    "batch": "pilot",
    "protocol_version": "1",
    "raters_per_item": 2,
    "overlap": 1.0,
    "human_share": 1.0,
    "options": {"seed": 0, "passages": "all"},
    "created_at": "2026-11-20T09:30:00Z",
    "items": 20,
    "places": 40,
    "people_done": 3,
    "people": 1,
    "judges": 0,
}
NEW = {
    "name": "pilot-coverage",
    "protocol": "report-coverage",
    "batch": "pilot",
    "raters_per_item": 2,
    "options": {"seed": 7},
}


def as_campaigns(user: User, campaigns: list[Campaign]) -> list[Any]:
    """Campaigns with one's own progress in two queries, and the study for those who may read it."""
    works, reads = user.role in WORKERS, user.role in READERS
    mine = progress_of(user, campaigns) if works else {}
    rows = [
        {
            "id": campaign.pk,
            "name": campaign.name,
            "protocol": campaign.protocol,
            "title": declared(campaign).title,
            "is_open": campaign.is_open,
            "deadline": campaign.deadline,
            "takes_answers": campaign.takes_answers,
            "language": campaign.language,
            "work": mine.get(campaign.pk),
            "study": campaign if reads else None,
        }
        for campaign in campaigns
    ]
    return rendered(CampaignSerializer, rows)


def terms_tag(campaign: Campaign) -> str:
    """The ETag of what may change while a campaign runs."""
    guideline = guideline_digest(campaign.guideline) if campaign.guideline else ""
    return etag_of(
        campaign.pk,
        campaign.deadline,
        campaign.language,
        guideline,
        campaign.gold_every,
        campaign.practice_of_id,
        campaign.qualify,
        campaign.is_open,
    )


class Campaigns(List):
    roles = {"GET": EVERYBODY, "POST": READERS}
    scopes = {"GET": ANY, "POST": (MANAGE,)}
    takes = CampaignParameters

    @described(
        "List campaigns",
        "For an annotator the campaigns with an item of theirs or one that they may take; for "
        "researchers those that they may read and for admins all, with their designs and counts.",
        {200: page_serializer(CampaignSerializer)},
        tag="campaigns",
        example=page_example(A_CAMPAIGN),
        parameters=[CampaignParameters],
        operation_id="campaigns_list",
    )
    def get(self, request: Request) -> Response:
        user = get_account(request)
        exact = {
            name: self.parameters[name] for name in ("name", "is_open") if name in self.parameters
        }
        rows = visible_campaigns(user).filter(**exact)
        return self.page(rows, lambda campaigns: as_campaigns(user, campaigns))

    @described(
        "Create a campaign",
        "Makes a campaign's items from a batch, all or nothing: what `create_campaign` does, with "
        "the same checks. The same campaign again changes nothing (200); another design under a "
        "name that is taken is refused (422).",
        {201: CampaignSerializer, 200: CampaignSerializer},
        tag="campaigns",
        request=NewCampaignSerializer,
        sent=NEW,
        example={**A_CAMPAIGN, "study": A_STUDY},
        status=201,
        refuses=(422,),
        operation_id="campaigns_create",
    )
    @once
    def post(self, request: Request) -> Response:
        user = get_account(request)
        made = _made(user, checked(NewCampaignSerializer, request.data))
        campaign = visible_campaigns(user).get(pk=made.campaign.pk)
        return Response(as_campaigns(user, [campaign])[0], status=200 if made.unchanged else 201)


class OneCampaign(Resource):
    roles = {"GET": EVERYBODY}
    scopes = {"GET": ANY}

    @described(
        "Read a campaign",
        "One campaign, as the list shows it. For those who may change it the ETag is that of its "
        "terms.",
        {200: CampaignSerializer},
        tag="campaigns",
        example={**A_CAMPAIGN, "study": A_STUDY},
        operation_id="campaigns_read",
    )
    def get(self, request: Request, pk: int) -> Response:
        user = get_account(request)
        campaign = get_object_or_404(visible_campaigns(user), pk=pk)
        tag = {"ETag": terms_tag(campaign)} if user.role in READERS else None
        return Response(as_campaigns(user, [campaign])[0], headers=tag)


def batch_named(user: User, name: str) -> Batch:
    batch = visible_batches(user).filter(name=name).first()
    if batch is None:
        raise ValidationError({"batch": "names no loaded batch; see the list of batches"})
    return batch


def _made(user: User, wanted: dict[str, Any]) -> CreatedCampaign:
    batch = batch_named(user, wanted["batch"])
    try:
        return create_once(
            wanted["name"],
            wanted["protocol"],
            batch,
            design_from(wanted),
            terms_from(wanted),
            user,
        )
    except DesignError as error:
        raise RefusedBodyError(NOT_CREATED, [design_problem(error)]) from error


def design_problem(error: DesignError) -> Problem:
    """Return the error as a problem, with the path of its field in the body."""
    field = error.field
    if field in {option.name for option in options_of(Design)}:
        field = f"options.{field}"
    elif field in {each.name for each in fields(Assumptions)}:
        field = f"assumptions.{field}"
    return problem(str(error), field)


def terms_from(wanted: dict[str, Any]) -> CampaignSettings:
    """Raises DesignError where the deadline is no moment."""
    names = (
        "language",
        "guideline",
        "gold_every",
        "practice_of",
        "qualify",
        "no_deadline",
        "no_qualify",
    )
    deadline = wanted.get("deadline")
    return CampaignSettings(
        deadline=read_deadline(deadline) if deadline else None,
        **{name: wanted[name] for name in names if name in wanted},
    )


def design_from(wanted: dict[str, Any]) -> Design:
    """Raises DesignError."""
    options: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in wanted.get("options", {}).items()
    }
    shares = (wanted["raters_per_item"], wanted["overlap"], wanted["human_share"])
    return Design(*shares, **options)


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
    "of": "query",
    "query": "q1",
    "item": None,
    "unit": None,
    "unit_kind": None,
    "kind": "simple",
    "seed": 7,
    "wave": 1,
    "stratum": None,
    "probability": 0.2,
    "drawn": True,
    "role": "evaluation",
    "role_probability": 0.8,
    "use": None,
}


class ChangedSerializer(ErrorSerializer):
    current = CampaignSerializer(help_text="as it stands")


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
        {200: DryRunSerializer},
        tag="campaigns",
        request=NewDryRunSerializer,
        sent={**NEW, "people": 3},
        example=A_REHEARSAL,
        refuses=(422,),
        operation_id="campaigns_rehearse",
    )
    def post(self, request: Request) -> Response:
        wanted = checked(NewDryRunSerializer, request.data)
        batch = batch_named(get_account(request), wanted["batch"])
        try:
            given = Assumptions(**wanted.get("assumptions", {}))
            found = simulate(
                wanted["name"],
                wanted["protocol"],
                batch,
                design_from(wanted),
                terms_from(wanted),
                wanted.get("people"),
                given,
                most=MOST_ITEMS,
                by=get_account(request),
            )
        except DesignError as error:
            raise RefusedBodyError(NOT_CREATED, [design_problem(error)]) from error
        shares = [share._asdict() for share in found.shares]
        return Response(DryRunSerializer({**asdict(found), "shares": shares}).data)


class ChangedTerms(Resource):
    roles = {"POST": READERS}
    scopes = {"POST": (MANAGE,)}

    @described(
        "Change, close or open a campaign",
        "What may change while a campaign runs: deadline, language, guideline (which makes a new "
        "version), gold, practice, and whether it is open. What is left out stays.",
        {200: CampaignSerializer, 409: ChangedSerializer},
        tag="campaigns",
        request=ChangedSettingsSerializer,
        sent={"deadline": "2026-12-31", "is_open": True},
        example={**A_CAMPAIGN, "study": A_STUDY},
        refuses=(422,),
        parameters=[IF_MATCH],
        operation_id="campaigns_change",
    )
    @once
    def post(self, request: Request, pk: int) -> Response:
        user, wanted = get_account(request), checked(ChangedSettingsSerializer, request.data)
        with transaction.atomic():
            campaign = still_as_seen(request, pk)
            try:
                change(campaign, terms_from(wanted), wanted.get("is_open"), user)
            except DesignError as error:
                sentence = "the campaign stays as it was"
                raise RefusedBodyError(sentence, [design_problem(error)]) from error
        return Response(_shown(user, pk), headers={"ETag": terms_tag(campaign)})


def still_as_seen(request: Request, pk: int) -> Campaign:
    """Lock a campaign in the transaction; raise StateConflictError if its settings have changed."""
    user = get_account(request)
    rows = readable(user).select_for_update()
    campaign = get_object_or_404(rows, pk=pk)
    check_etag(request, terms_tag(campaign), lambda: _shown(user, pk))
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
        {200: page_serializer(SampleSerializer)},
        tag="campaigns",
        example=page_example(A_DRAW),
        parameters=[DrawParameters],
        operation_id="campaigns_draws",
    )
    def get(self, request: Request, pk: int) -> Response:
        user = get_account(request)
        campaign = readable_campaign(request, pk)
        # A stratum tells what others, or a judge, said of a unit.
        check_blind(user, campaign)
        if self.parameters["of"] == "query":
            return self.page(query_rows(campaign), lambda r: [*map(query_line, r)])
        return self.page(unit_rows(campaign), lambda r: [*map(unit_line, r)])


class KnownAnswers(Resource):
    roles = {"POST": READERS}
    scopes = {"POST": (MANAGE,)}

    @described(
        "Set known answers",
        "Makes items gold (mixed in, never told) or practice (first of all, with feedback), with "
        "the answers that are known of them; they leave the study. All or nothing. They cannot "
        "be read back.",
        {200: StoredGoldAnswersSerializer},
        tag="campaigns",
        request=NewGoldAnswersSerializer,
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
        campaign = readable_campaign(request, pk)
        check_blind(
            get_account(request), campaign
        )  # what is refused or unchanged would tell an answer
        wanted = checked(NewGoldAnswersSerializer, request.data)
        rows = [_row(each, n) for n, each in enumerate(wanted["answers"], start=1)]
        try:
            kept = keep_known(rows, campaign, wanted["use"])
        except InputError as error:
            sentence = "no known answer was taken"
            raise RefusedBodyError(sentence, [problem(str(error))]) from error
        return Response(asdict(kept))


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

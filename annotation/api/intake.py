"""API endpoints for the steps before the first item: one's own consent and background answers."""

from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.access import get_account, intake_campaigns, open_campaigns
from annotation.api.campaign_serializers import QuestionSerializer
from annotation.assignments.withdrawal import give_consent, revoke_consent
from annotation.models import Campaign, User, rater_of
from annotation.people import background
from annotation.people.background import BackgroundError, owed_questions, questions_of
from annotation.people.consent import CONSENT, check_intake, consent_state, owed_step
from annotation.people.membership import PeopleError
from datasets.access import WORKERS
from datasets.api.base import Resource, Strict, describe_endpoint, validate
from datasets.api.errors import RefusedBodyError, problem
from datasets.api.permissions import LABEL, READ

AN_INTAKE: dict[str, Any] = {
    "text": "# About this study\n…",
    "version": 2,
    "agreed_version": 2,
    "agreed_at": "2026-11-20T09:30:00Z",
    "revoked_at": None,
    "revoked_answers": "keep",
    "questions": [
        {
            "name": "first_language",
            "question": "What is your first language?",
            "kind": "choice",
            "choices": ["German", "another"],
            "required": True,
        }
    ],
    "open_questions": ["first_language"],
}


class IntakeSerializer(serializers.Serializer[Any]):
    """What a campaign asks of you before your first item, and your answers so far."""

    text = serializers.CharField(allow_null=True, help_text="the consent text, Markdown")
    version = serializers.IntegerField(allow_null=True, help_text="the text's version")
    agreed_version = serializers.IntegerField(
        allow_null=True, help_text="the version that you agreed to"
    )
    agreed_at = serializers.DateTimeField(allow_null=True)
    revoked_at = serializers.DateTimeField(
        allow_null=True, help_text="when you revoked your consent, if you have not agreed again"
    )
    revoked_answers = serializers.ChoiceField(
        Campaign.Revoked.values, help_text="what happens to your answers if you revoke your consent"
    )
    questions = QuestionSerializer(many=True, help_text="the background questions")
    open_questions = serializers.ListField(
        child=serializers.CharField(), help_text="those that you have not been asked yet"
    )


class AgreementSerializer(Strict):
    version = serializers.IntegerField(
        min_value=1,
        max_value=2**31 - 1,
        allow_null=True,
        help_text="the version that you have read and agree to; null revokes your consent",
    )


class BackgroundSerializer(Strict):
    answers = serializers.DictField(
        child=serializers.JSONField(),
        help_text="by the questions' names: a text, a number, or a list of choices",
    )


class Intake(Resource):
    roles = {"GET": WORKERS}
    scopes = {"GET": (READ, LABEL)}

    @describe_endpoint(
        "Read the steps before the first item",
        "The campaign's consent text, your consent, and the background questions. Until you have "
        "agreed and answered, your items are refused (403).",
        {200: IntakeSerializer},
        tag="work",
        example=AN_INTAKE,
        operation_id="intake_read",
    )
    def get(self, request: Request, pk: int) -> Response:
        user = get_account(request)
        return _intake_response(get_object_or_404(intake_campaigns(user), pk=pk), user)


class OwnConsent(Resource):
    roles = {"PUT": WORKERS}
    scopes = {"PUT": (LABEL,)}

    @describe_endpoint(
        "Give or revoke consent to a campaign's text",
        "Records that you agree to the version that you have read. With null, your consent is "
        "revoked: your answers are left out of reports and exports, and kept or deleted by the "
        "campaign's rule.",
        {200: IntakeSerializer},
        tag="work",
        request=AgreementSerializer,
        sent={"version": 2},
        example=AN_INTAKE,
        refuses=(422,),
        operation_id="consent_change",
    )
    def put(self, request: Request, pk: int) -> Response:
        user = get_account(request)
        campaign = get_object_or_404(intake_campaigns(user), pk=pk)
        version = validate(AgreementSerializer, request.data)["version"]
        if version is not None:
            get_object_or_404(open_campaigns(user), pk=pk)
        try:
            if version is None:
                revoke_consent(campaign, rater_of(user))
            else:
                give_consent(campaign, rater_of(user), version)
        except PeopleError as error:
            raise RefusedBodyError(str(error), [problem(str(error), "version")]) from error
        return _intake_response(campaign, user)


class OwnBackground(Resource):
    roles = {"PUT": WORKERS}
    scopes = {"PUT": (LABEL,)}

    @describe_endpoint(
        "Answer the background questions",
        "Answers the questions that are open, once. Those that you leave out count as not "
        "answered, which a required question does not allow.",
        {200: IntakeSerializer},
        tag="work",
        request=BackgroundSerializer,
        sent={"answers": {"first_language": "German"}},
        example={**AN_INTAKE, "open_questions": []},
        refuses=(422,),
        operation_id="background_answer",
    )
    def put(self, request: Request, pk: int) -> Response:
        user = get_account(request)
        campaign = get_object_or_404(open_campaigns(user), pk=pk)
        answers = validate(BackgroundSerializer, request.data)["answers"]
        rater = rater_of(user)
        if owed_step(campaign, rater) == CONSENT:
            check_intake(campaign, rater)
        try:
            background.answer(campaign, rater, answers)
        except BackgroundError as error:
            wrong = [problem(str(error), f"answers.{error.field}")]
            raise RefusedBodyError("nothing was stored", wrong) from error
        return _intake_response(campaign, user)


def _intake_response(campaign: Campaign, user: User) -> Response:
    rater = rater_of(user)
    state = consent_state(campaign, rater)
    shown = {
        "text": state.current.text if state.current else None,
        "version": state.current.version if state.current else None,
        "agreed_version": state.agreed.text.version if state.agreed else None,
        "agreed_at": state.agreed.given_at if state.agreed else None,
        "revoked_at": state.revoked.revoked_at if state.revoked else None,
        "revoked_answers": campaign.revoked,
        "questions": questions_of(campaign),
        "open_questions": [each.name for each in owed_questions(campaign, rater)],
    }
    return Response(IntakeSerializer(shown).data)

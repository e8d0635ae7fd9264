"""API endpoints for the steps before the first item: one's own consent and background answers."""

from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request

from annotation.access import get_account, intake_campaigns, open_campaigns
from annotation.api.campaign_serializers import QuestionSerializer
from annotation.assignments.withdrawal import give_consent, revoke_consent
from annotation.models import Campaign, User, rater_of
from annotation.people import background
from annotation.people.background import BackgroundError, owed_questions, questions_of
from annotation.people.consent import CONSENT, check_intake, consent_state, owed_step
from annotation.people.membership import PeopleError
from datasets.access import WORKERS
from datasets.api.base import Positive, RefusedBodyError, Strict, problem, refusal
from datasets.api.permissions import LABEL, READ
from datasets.api.routes import Routes, given

api = Routes("work", roles=WORKERS, reads=(READ, LABEL), writes=(LABEL,))


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
    version = Positive(
        allow_null=True,
        help_text="the version that you have read and agree to; null revokes your consent",
    )


class BackgroundSerializer(Strict):
    answers = serializers.DictField(
        child=serializers.JSONField(),
        help_text="by the questions' names: a text, a number, or a list of choices",
    )


@api.get(
    "campaigns/<int:pk>/intake/",
    "Read the steps before the first item",
    "The campaign's consent text, your consent, and the background questions. Until you have "
    "agreed and answered, your items are refused (403).",
    IntakeSerializer,
    name="intake",
)
def intake_read(request: Request, pk: int) -> Any:
    user = get_account(request)
    return _intake(get_object_or_404(intake_campaigns(user), pk=pk), user)


def _not_stored(error: BackgroundError) -> RefusedBodyError:
    return RefusedBodyError("nothing was stored", [problem(str(error), f"answers.{error.field}")])


@api.put(
    "campaigns/<int:pk>/consent/",
    "Give or revoke consent to a campaign's text",
    "Records that you agree to the version that you have read. With null, your consent is "
    "revoked: your answers are left out of reports and exports, and kept or deleted by the "
    "campaign's rule.",
    IntakeSerializer,
    name="own-consent",
    body=AgreementSerializer,
    raises={PeopleError: refusal(field="version")},
    refuses=(422,),
)
def consent_change(request: Request, pk: int) -> Any:
    user = get_account(request)
    campaign = get_object_or_404(intake_campaigns(user), pk=pk)
    version = given(request)["version"]
    if version is not None:
        get_object_or_404(open_campaigns(user), pk=pk)
    if version is None:
        revoke_consent(campaign, rater_of(user))
    else:
        give_consent(campaign, rater_of(user), version)
    return _intake(campaign, user)


@api.put(
    "campaigns/<int:pk>/background/",
    "Answer the background questions",
    "Answers the questions that are open, once. Those that you leave out count as not "
    "answered, which a required question does not allow.",
    IntakeSerializer,
    name="own-background",
    body=BackgroundSerializer,
    raises={BackgroundError: _not_stored},
    refuses=(422,),
)
def background_answer(request: Request, pk: int) -> Any:
    user = get_account(request)
    campaign = get_object_or_404(open_campaigns(user), pk=pk)
    answers = given(request)["answers"]
    rater = rater_of(user)
    if owed_step(campaign, rater) == CONSENT:
        check_intake(campaign, rater)
    background.answer(campaign, rater, answers)
    return _intake(campaign, user)


def _intake(campaign: Campaign, user: User) -> dict[str, Any]:
    rater = rater_of(user)
    state = consent_state(campaign, rater)
    return {
        "text": state.current.text if state.current else None,
        "version": state.current.version if state.current else None,
        "agreed_version": state.agreed.text.version if state.agreed else None,
        "agreed_at": state.agreed.given_at if state.agreed else None,
        "revoked_at": state.revoked.revoked_at if state.revoked else None,
        "revoked_answers": campaign.revoked,
        "questions": questions_of(campaign),
        "open_questions": [each.name for each in owed_questions(campaign, rater)],
    }

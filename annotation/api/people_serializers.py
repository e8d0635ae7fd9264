"""Serializers of accounts, invitations, and the people of a campaign, with examples."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from annotation.gold.scoring import MAX_ADMISSION_REASON
from annotation.models import MAX_REASON, Campaign, Invitation, Membership, User
from annotation.people.accounts import CampaignRater
from annotation.people.leases import MAX_LEASE
from annotation.people.membership import POOL_HELP
from datasets.api.base import (
    Computed,
    Positive,
    Strict,
)

SETTINGS = ("pool", "hold_minutes", "items_per_person")


class PersonSerializer(serializers.Serializer[User]):
    id = serializers.IntegerField()
    name = serializers.CharField(
        source="username", help_text="the account's name, which no export contains"
    )
    pseudonym = Computed(
        lambda user: user.rater.name if hasattr(user, "rater") else None,
        str | None,
        help_text="as in exports; null before the first assignment",
    )
    role = serializers.ChoiceField(User.Role.values)
    is_guest = serializers.BooleanField(
        help_text="whether the person came from Prolific, without an account"
    )
    is_active = serializers.BooleanField()


class PersonChangeSerializer(Strict):
    role = serializers.ChoiceField(User.Role.values, required=False)
    is_active = serializers.BooleanField(required=False)
    pseudonym = serializers.CharField(
        max_length=150, required=False, allow_blank=True, help_text="empty for a random one"
    )


class ForgetSerializer(Strict):
    name = serializers.CharField(max_length=150, help_text="the account's name, as a confirmation")


class ForgottenSerializer(serializers.Serializer[Any]):
    pseudonym = serializers.CharField(
        allow_null=True, help_text="the pseudonym of the remaining answers; null if there are none"
    )


class InvitationSerializer(serializers.Serializer[Invitation]):
    id = serializers.IntegerField()
    state = serializers.ChoiceField(("open", "used", "expired", "revoked"))
    role = serializers.ChoiceField(User.Role.values)
    campaign = serializers.IntegerField(source="campaign_id", allow_null=True)
    campaign_role = serializers.ChoiceField(Membership.Role.values)
    team = serializers.CharField(
        source="team.name", default=None, allow_null=True, help_text="that the account joins"
    )
    note = serializers.CharField(allow_blank=True)
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()


class MadeInvitationSerializer(InvitationSerializer):
    link = serializers.CharField(
        source="address",
        allow_null=True,
        help_text="returned only once, since only its digest is stored; later null",
    )


class NewInvitationSerializer(Strict):
    role = serializers.ChoiceField(User.Role.values, default=User.Role.ANNOTATOR)
    campaign = Positive(required=False)
    campaign_role = serializers.ChoiceField(
        Membership.Role.values, default=Membership.Role.ANNOTATOR
    )
    team = serializers.CharField(required=False, help_text="the name of a team that you manage")
    note = serializers.CharField(max_length=150, allow_blank=True, default="")


class MemberSerializer(serializers.Serializer[Membership]):
    name = serializers.CharField(source="user.username")
    role = serializers.ChoiceField(Membership.Role.values)


class AnsweringSerializer(serializers.Serializer[CampaignRater]):
    """A rater with an answer or a reserved slot, by the name in exports."""

    id = serializers.IntegerField(source="rater")
    name = serializers.CharField()
    kind = serializers.ChoiceField(("human", "judge", "reference"))
    done = serializers.IntegerField(help_text="items answered")
    held = serializers.IntegerField(help_text="reserved slots without an answer")
    held_until = serializers.DateTimeField(
        allow_null=True, help_text="null if there is no time limit or no slot"
    )
    excluded = serializers.CharField(
        source="excluded.reason",
        default=None,
        allow_null=True,
        help_text="why the rater is excluded",
    )


class CastSerializer(serializers.Serializer[Any]):
    pool = serializers.ChoiceField(Campaign.Pool.values)
    hold_minutes = serializers.IntegerField(allow_null=True, help_text="null for no limit")
    items_per_person = serializers.IntegerField(allow_null=True, help_text="null for no limit")
    members = MemberSerializer(many=True)
    raters = AnsweringSerializer(many=True)


class PaidWorkSerializer(serializers.Serializer[Any]):
    """A person's work in a campaign."""

    rater = serializers.CharField(allow_blank=True, help_text="the pseudonym; empty for everybody")
    items = serializers.IntegerField(help_text="items submitted")
    timed = serializers.IntegerField(help_text="items with an active time")
    median_seconds = serializers.FloatField(allow_null=True)
    total_seconds = serializers.FloatField()
    pay = serializers.FloatField(allow_null=True, help_text="null if the campaign names no rate")
    currency = serializers.CharField(allow_null=True)
    pay_per_hour = serializers.FloatField(
        allow_null=True, help_text="the pay for an hour of active time; null if it is not known"
    )


class PayTableSerializer(serializers.Serializer[Any]):
    rate = serializers.CharField(allow_null=True, help_text="such as `0.35 EUR per item`")
    people = PaidWorkSerializer(many=True)
    everybody = PaidWorkSerializer()


class CastChangeSerializer(Strict):
    """Fields that are left out stay unchanged."""

    pool = serializers.ChoiceField(Campaign.Pool.values, required=False, help_text=POOL_HELP)
    hold_minutes = serializers.IntegerField(
        min_value=5, max_value=MAX_LEASE, allow_null=True, required=False
    )
    items_per_person = serializers.IntegerField(
        min_value=1, max_value=10**6, allow_null=True, required=False
    )


class MemberChangeSerializer(Strict):
    name = serializers.CharField(max_length=150, help_text="the account's name")
    role = serializers.ChoiceField(
        Membership.Role.values, allow_null=True, help_text="null ends the membership"
    )


class AdmissionSerializer(Strict):
    reason = serializers.CharField(
        max_length=MAX_ADMISSION_REASON, help_text="the reason for the record"
    )


class ExclusionSerializer(Strict):
    reason = serializers.CharField(
        max_length=MAX_REASON, allow_null=True, help_text="null includes the rater again"
    )

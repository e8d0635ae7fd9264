"""The shapes of accounts, invitations and a campaign's people, as the API gives and takes them."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from annotation.gold.admitting import LONGEST as LONGEST_ADMISSION
from annotation.models import Campaign, Invitation, Membership, User
from annotation.models.taking_part import LONGEST_REASON
from annotation.people.leases import LONGEST
from annotation.people.overview import Answering
from datasets.api.base import Strict

LARGEST_ID = 2**31 - 1
A_PERSON: dict[str, Any] = {
    "id": 3,
    "name": "ada",
    "pseudonym": "person-7kq2mx",
    "role": "annotator",
    "is_guest": False,
    "is_active": True,
}
AN_INVITATION: dict[str, Any] = {
    "id": 1,
    "state": "open",
    "role": "annotator",
    "campaign": 1,
    "campaign_role": "annotator",
    "note": "Ada",
    "created_at": "2026-11-20T09:30:00Z",
    "expires_at": "2026-11-27T09:30:00Z",
}
A_RATER: dict[str, Any] = {
    "id": 5,
    "name": "person-7kq2mx",
    "kind": "human",
    "done": 12,
    "held": 1,
    "held_until": "2026-11-20T10:30:00Z",
    "excluded": None,
}
SETTINGS: dict[str, Any] = {"pool": "named", "hold_minutes": 60, "items_per_person": 20}
A_CAST = {**SETTINGS, "members": [{"name": "ada", "role": "annotator"}], "raters": [A_RATER]}


class PersonShape(serializers.Serializer[User]):
    id = serializers.IntegerField()
    name = serializers.CharField(source="username", help_text="of the account; in no export")
    pseudonym = serializers.SerializerMethodField(help_text="as exports have it; null before work")
    role = serializers.ChoiceField(User.Role.values)
    is_guest = serializers.BooleanField(help_text="came from Prolific, without an account")
    is_active = serializers.BooleanField()

    def get_pseudonym(self, user: User) -> str | None:
        rater = getattr(user, "rater", None)
        return rater.name if rater else None


class PersonChangeShape(Strict):
    role = serializers.ChoiceField(User.Role.values, required=False)
    is_active = serializers.BooleanField(required=False)
    pseudonym = serializers.CharField(
        max_length=150, required=False, allow_blank=True, help_text="empty: one is made up"
    )


class ForgetShape(Strict):
    name = serializers.CharField(max_length=150, help_text="of the account, to be sure of it")


class ForgottenShape(serializers.Serializer[Any]):
    pseudonym = serializers.CharField(
        allow_null=True, help_text="that the answers stay under; null where there are none"
    )


class InvitationShape(serializers.Serializer[Invitation]):
    id = serializers.IntegerField()
    state = serializers.ChoiceField(("open", "used", "expired", "revoked"))
    role = serializers.ChoiceField(User.Role.values)
    campaign = serializers.IntegerField(source="campaign_id", allow_null=True)
    campaign_role = serializers.ChoiceField(Membership.Role.values)
    note = serializers.CharField(allow_blank=True)
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()


class MadeInvitationShape(InvitationShape):
    link = serializers.CharField(
        source="address", allow_null=True, help_text="told once: a digest is kept; then null"
    )


class NewInvitationShape(Strict):
    role = serializers.ChoiceField(User.Role.values, default=User.Role.ANNOTATOR)
    campaign = serializers.IntegerField(min_value=1, max_value=LARGEST_ID, required=False)
    campaign_role = serializers.ChoiceField(
        Membership.Role.values, default=Membership.Role.ANNOTATOR
    )
    note = serializers.CharField(max_length=150, allow_blank=True, default="")


class MemberShape(serializers.Serializer[Membership]):
    name = serializers.CharField(source="user.username")
    role = serializers.ChoiceField(Membership.Role.values)


class AnsweringShape(serializers.Serializer[Answering]):
    """Somebody with an answer or a place, by the name that exports have."""

    id = serializers.IntegerField(source="rater")
    name = serializers.CharField()
    kind = serializers.ChoiceField(("human", "judge", "reference"))
    done = serializers.IntegerField(help_text="items answered")
    held = serializers.IntegerField(help_text="places held and not answered")
    held_until = serializers.DateTimeField(allow_null=True, help_text="null: for good, or none")
    excluded = serializers.CharField(
        source="excluded.reason", default=None, allow_null=True, help_text="why it is left out"
    )


class CastShape(serializers.Serializer[Any]):
    pool = serializers.ChoiceField(Campaign.Pool.values)
    hold_minutes = serializers.IntegerField(allow_null=True, help_text="null: for good")
    items_per_person = serializers.IntegerField(allow_null=True, help_text="null: no limit")
    members = MemberShape(many=True)
    raters = AnsweringShape(many=True)


class CastChangeShape(Strict):
    """What is left out stays as it is."""

    pool = serializers.ChoiceField(Campaign.Pool.values, required=False)
    hold_minutes = serializers.IntegerField(
        min_value=5, max_value=LONGEST, allow_null=True, required=False
    )
    items_per_person = serializers.IntegerField(
        min_value=1, max_value=10**6, allow_null=True, required=False
    )


class MemberChangeShape(Strict):
    name = serializers.CharField(max_length=150, help_text="of an account")
    role = serializers.ChoiceField(
        Membership.Role.values, allow_null=True, help_text="null puts the account out"
    )


class AdmissionShape(Strict):
    reason = serializers.CharField(max_length=LONGEST_ADMISSION, help_text="why, for the record")


class ExclusionShape(Strict):
    reason = serializers.CharField(
        max_length=LONGEST_REASON, allow_null=True, help_text="null counts the rater again"
    )

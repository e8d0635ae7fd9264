"""A client can set only the fields that a serializer declares, whatever columns the table has."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import config.api  # noqa: F401  (every serializer of the API is read with its addresses)
from datasets.api.base import Strict

PROTECTED = (
    "id", "pk", "uid", "user", "user_id", "by", "by_id", "password", "is_superuser", "is_staff",
    "sessions", "is_guest", "created_at", "expires_at", "used_at", "used_by", "digest_of", "taken",
    "quota", "slot", "held_until", "status", "current", "score", "door", "assisted_by", "rater_id",
    "asked", "shown", "drawn", "probability", "last_login", "groups", "user_permissions",
)  # fmt: skip
FILTERS = {
    ("AssignmentParameters", "status"),
    ("AskedParameters", "status"),
    ("ActionOrderSerializer", "score"),
}
"""Fields of these names that only filter what the client may read anyway."""


def serializers_of(of: type[Strict] = Strict) -> Iterator[type[Strict]]:
    for each in of.__subclasses__():
        yield each
        yield from serializers_of(each)


each_serializer = pytest.mark.parametrize(
    "serializer", sorted(set(serializers_of()), key=str), ids=lambda s: s.__name__
)


def test_serializers_are_found_for_this_test() -> None:
    assert {
        "NewCampaignSerializer",
        "PersonChangeSerializer",
        "NewInvitationSerializer",
        "NewAnswerSerializer",
    } <= {serializer.__name__ for serializer in serializers_of()}


@pytest.mark.every_case
@each_serializer
def test_undeclared_fields_are_refused_by_name(serializer: type[Strict]) -> None:
    for name in PROTECTED:
        if (serializer.__name__, name) in FILTERS:
            continue
        sent = serializer(data={name: "1"})
        assert not sent.is_valid()
        assert "is not a field here" in str(sent.errors[name]), name


@pytest.mark.every_case
@each_serializer
def test_no_serializer_is_derived_from_a_model(serializer: type[Strict]) -> None:
    """It would accept every new column of the model."""
    assert not hasattr(serializer, "Meta")

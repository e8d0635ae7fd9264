"""A client sets what a serializer names and nothing else, whatever columns the table has."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import config.api  # noqa: F401  (every serializer of the API is read with its addresses)
from datasets.api.base import Strict

NOBODYS = (
    "id", "pk", "uid", "user", "user_id", "by", "by_id", "password", "is_superuser", "is_staff",
    "sessions", "is_guest", "created_at", "expires_at", "used_at", "used_by", "digest_of", "taken",
    "quota", "slot", "held_until", "status", "current", "score", "door", "assisted_by", "rater_id",
    "asked", "shown", "drawn", "probability", "last_login", "groups", "user_permissions",
)  # fmt: skip
SEARCHED = {
    ("AssignmentParameters", "status"),
    ("AskedParameters", "status"),
    ("ActionOrderSerializer", "score"),
}
"""Where such a name chooses among what one may see anyway, and sets nothing."""


def serializers_of(of: type[Strict] = Strict) -> Iterator[type[Strict]]:
    for each in of.__subclasses__():
        yield each
        yield from serializers_of(each)


each_shape = pytest.mark.parametrize(
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
@each_shape
def test_undeclared_fields_are_refused_by_name(serializer: type[Strict]) -> None:
    for name in NOBODYS:
        if (serializer.__name__, name) in SEARCHED:
            continue
        sent = serializer(data={name: "1"})
        assert not sent.is_valid()
        assert "is not a field here" in str(sent.errors[name]), name


@pytest.mark.every_case
@each_shape
def test_no_serializer_is_derived_from_a_model(serializer: type[Strict]) -> None:
    """One that is would take a new column in as soon as there is one."""
    assert not hasattr(serializer, "Meta")

"""A client sets what a shape names and nothing else, whatever stands in the table behind it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import config.api  # noqa: F401  (every shape of the API is read with its addresses)
from datasets.api.base import Strict

NOBODYS = (
    "id", "pk", "uid", "user", "user_id", "by", "by_id", "password", "is_superuser", "is_staff",
    "sessions", "is_guest", "created_at", "expires_at", "used_at", "used_by", "digest_of", "taken",
    "quota", "slot", "held_until", "status", "current", "score", "door", "assisted_by", "rater_id",
    "asked", "shown", "drawn", "probability", "last_login", "groups", "user_permissions",
)  # fmt: skip
SEARCHED = {("AssignmentParameters", "status"), ("AskedParameters", "status")}
"""Where such a name chooses among what one may see anyway, and sets nothing."""


def shapes(of: type[Strict] = Strict) -> Iterator[type[Strict]]:
    for each in of.__subclasses__():
        yield each
        yield from shapes(each)


each_shape = pytest.mark.parametrize(
    "shape", sorted(set(shapes()), key=str), ids=lambda s: s.__name__
)


def test_there_are_shapes_to_look_at() -> None:
    assert {"NewCampaignShape", "PersonChangeShape", "NewInvitationShape", "NewAnswerShape"} <= {
        shape.__name__ for shape in shapes()
    }


@pytest.mark.every_case
@each_shape
def test_what_is_nobodys_to_set_is_refused_by_its_name(shape: type[Strict]) -> None:
    for name in NOBODYS:
        if (shape.__name__, name) in SEARCHED:
            continue
        sent = shape(data={name: "1"})
        assert not sent.is_valid()
        assert "is not a field here" in str(sent.errors[name]), name


@pytest.mark.every_case
@each_shape
def test_no_shape_is_made_from_a_table(shape: type[Strict]) -> None:
    """One that is would take a new column in as soon as there is one."""
    assert not hasattr(shape, "Meta")

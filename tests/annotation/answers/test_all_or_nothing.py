"""A failure in the middle of a save leaves everything unchanged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from annotation.answers import storage
from annotation.answers.drafts import save_draft
from annotation.answers.submission import Circumstances, fail_many, prepare, submit, submit_many
from annotation.models import Assignment, Campaign, Draft, Response, Span
from annotation.presentation import present, schema
from tests.annotation.answering import good_answer, person
from tests.cast import campaign_of

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def both(batch: Path) -> list[Assignment]:
    """Two people with the same item, one of whom has begun."""
    campaign: Campaign = campaign_of("report-coverage", "--raters-per-item", "2")
    item = campaign.items.get(key="r")
    rows = [person(item, name) for name in ("ann", "ben")]
    Draft.objects.create(assignment=rows[0], payload={"units": {}})
    return rows


def breaks(monkeypatch: pytest.MonkeyPatch, what: str, calls: int = 1) -> None:
    """Fail at the given call of one statement, as if the disk were full."""
    statement, left = getattr(storage, what), [calls]
    whole = statement.call

    def broken(*args: Any, **kwargs: Any) -> Any:
        left[0] -= 1
        if not left[0]:
            raise OSError("no space left")
        return whole(*args, **kwargs)

    monkeypatch.setattr(statement, "call", broken)


def assert_untouched() -> None:
    assert not connection.in_atomic_block
    assert set(Assignment.objects.values_list("status", "reason")) == {("open", "")}
    assert not Response.objects.exists()
    assert not Span.objects.exists()
    assert Draft.objects.count() == 1


def test_a_failed_answer_changes_nothing(
    both: list[Assignment], monkeypatch: pytest.MonkeyPatch
) -> None:
    breaks(monkeypatch, "_finish")
    with pytest.raises(OSError, match="no space"):
        submit(both[0], {"units": good_answer(both[0]), "comment": None}, "page")
    assert_untouched()


def test_a_failed_group_of_answers_changes_nothing(
    both: list[Assignment], monkeypatch: pytest.MonkeyPatch
) -> None:
    spec, asked = present(both[0].item), schema(both[0].item.campaign)
    group = [
        prepare(row, {"units": good_answer(row), "comment": None}, "judge", spec, asked)
        for row in both
    ]
    breaks(monkeypatch, "_finish")
    with pytest.raises(OSError, match="no space"):
        submit_many([(each, Circumstances()) for each in group])
    assert_untouched()


def test_a_failed_group_of_missing_reasons_changes_nothing(
    both: list[Assignment], monkeypatch: pytest.MonkeyPatch
) -> None:
    breaks(monkeypatch, "_fail", calls=2)
    with pytest.raises(OSError, match="no space"):
        fail_many([(both[0], "timeout"), (both[1], "refused")])
    assert_untouched()


def test_a_failed_draft_changes_nothing(
    both: list[Assignment], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(assignment: Assignment) -> None:
        raise OSError("no space left")

    monkeypatch.setattr("annotation.answers.drafts.extend", broken)
    with pytest.raises(OSError, match="no space"):
        save_draft(both[1], {"units": {}, "comment": "begun"}, version=0, seen=0)
    assert_untouched()

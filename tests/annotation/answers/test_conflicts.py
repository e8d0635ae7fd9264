"""A save over what its writer had not seen is a conflict; each kind of save has one rule."""

from __future__ import annotations

from typing import Any

import pytest

from annotation.answers.types import (
    ConflictError,
    SavedState,
    check_correction,
    check_decision,
    check_page_save,
    check_revision,
    saved_state,
)
from annotation.models import Draft, Response


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("version", "seen", "payload", "fresh"),
    [(2, 1, "new", True), (1, 1, "new", False), (2, 0, "new", False), (2, 1, "old", True),
     (0, 0, "old", True)],
)  # fmt: skip
def test_a_draft_replaces_only_a_version_that_its_writer_had_seen(
    version: int, seen: int, payload: str, fresh: bool
) -> None:
    there = SavedState({"it": "old"}, 2, 1, None)
    if fresh:
        assert check_page_save(there, version, seen, {"it": payload}) is there
    else:
        with pytest.raises(ConflictError) as error:
            check_page_save(there, version, seen, {"it": payload})
        assert (error.value.revision, error.value.version) == (1, 2)
        assert str(error.value) == "draft 2 of revision 1 was saved in between"


def test_a_draft_counts_as_newer_than_the_answer() -> None:
    draft: Any = Draft(payload={"a": 1}, version=3, saved_at="now")
    answer: Any = Response(payload={"a": 2}, revision=5, created_at="before")
    assert saved_state(draft, answer) == SavedState({"a": 1}, 3, 5, "now")  # type: ignore[arg-type]
    assert saved_state(None, answer) == SavedState({"a": 2}, 0, 5, "before")  # type: ignore[arg-type]
    assert saved_state(draft, None) == SavedState({"a": 1}, 3, 0, "now")  # type: ignore[arg-type]
    assert saved_state(None, None) == SavedState(None, 0, 0, None)


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("current", "seen", "conflict"),
    [(None, None, False), (None, 0, False), (None, 3, False), (2, None, False),
     (2, 2, False), (2, 1, True), (2, 0, True), (2, 3, True)],
)  # fmt: skip
def test_saving_over_an_unseen_answer_is_a_conflict(
    current: int | None, seen: int | None, conflict: bool
) -> None:
    there = None if current is None else Response(revision=current)
    if conflict:
        with pytest.raises(ConflictError) as error:
            check_revision(there, seen)
        assert (error.value.revision, error.value.version) == (2, 0)
        assert str(error.value) == "revision 2 was saved in between"
    else:
        check_revision(there, seen)


def test_a_decision_must_have_seen_the_current_one() -> None:
    there = Response(revision=2)
    check_decision(None, None)
    check_decision(there, 2)
    for seen in (None, 0, 1):
        with pytest.raises(ConflictError, match="revision 2 was saved in between"):
            check_decision(there, seen)


def test_a_correction_never_deletes_a_draft() -> None:
    check_correction(None, Response(revision=2))
    with pytest.raises(ConflictError) as error:
        check_correction(Draft(version=3), Response(revision=2))
    assert (error.value.revision, error.value.version) == (2, 3)

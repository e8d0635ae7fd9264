"""What happens to an answer once its assignment is locked, and when it equals the previous one.

Without a database.
"""

from __future__ import annotations

import uuid
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from annotation.answers.evidence import LocatedQuote
from annotation.answers.locks import LockedRow
from annotation.answers.storage import (
    PreparedAnswer,
    _Change,
    _chunks,
    _decide,
    _exposures,
    _response_row,
)
from annotation.answers.types import (
    Answer,
    Circumstances,
    ConflictError,
    Detail,
    LostLeaseError,
    Outcome,
    _same_spans,
)
from annotation.exposure.detection import Evidence
from annotation.models import Assignment, Item, Response, Span
from annotation.presentation import schema
from tandem.messages import Message
from tandem.protocols.validation import Problem, RefusedError
from tests.annotation.prerequisites.test_options import campaign

OWN, OTHER = uuid.UUID(int=1), uuid.UUID(int=2)
PAYLOAD: dict[str, Any] = {"units": {}, "comment": None}
DOUBT = (Problem("q", "answerable", Message("is odd")),)
REFUSED = RefusedError([Problem("q", "answerable", Message("is missing"))])
NEW, STORED = Circumstances(), Response(pk=4, revision=2, payload={"units": {"q": {}}})


def ready(channel: Any = "page", refused: RefusedError | None = None) -> PreparedAnswer:
    of = campaign("report-coverage")
    held = Assignment(pk=3, item=Item(campaign=of))
    return PreparedAnswer(held, PAYLOAD, channel, schema(of), refused, ([], {}, DOUBT), "basis")


def row(**more: Any) -> LockedRow:
    return LockedRow("open", OWN, 5.0, **more)


def raised(held: LockedRow, of: PreparedAnswer, by: Circumstances = NEW) -> type[Exception]:
    with pytest.raises((RefusedError, ConflictError, LostLeaseError)) as error:
        _decide(held, of, by)
    return error.type


def test_refusals_are_checked_in_a_fixed_order() -> None:
    sent, lost = Response(pk=9, revision=7), Circumstances(lease=OTHER)
    # The key was stored before, so only a refusal is returned: the client asks again.
    again = _decide(row(current=STORED, sent=sent), ready(), replace(lost, seen=0))
    assert again == Outcome(sent, created=False, warnings=DOUBT)
    assert raised(row(current=STORED, sent=sent), ready(refused=REFUSED)) is RefusedError
    assert raised(row(), ready(refused=REFUSED), lost) is RefusedError
    assert raised(row(current=STORED), ready(), replace(lost, seen=0)) is LostLeaseError
    assert raised(row(current=STORED), ready(), Circumstances(seen=0)) is ConflictError
    assert raised(row(current=STORED), ready(), Circumstances(seen=1)) is ConflictError
    equal = Response(pk=4, revision=2, payload=PAYLOAD)
    assert _decide(row(current=equal), ready(), Circumstances(seen=0)) == (
        Outcome(equal, created=False, warnings=DOUBT)
    )


@pytest.mark.django_db
def test_an_answer_gets_the_next_revision_number() -> None:
    def written(held: LockedRow, by: Circumstances = NEW, channel: Any = "page") -> tuple[Any, ...]:
        found = _decide(held, ready(channel), by)
        assert isinstance(found, _Change)
        return _response_row(found)

    at = datetime(2024, 5, 3, tzinfo=UTC)
    assert written(row(), Circumstances(OWN.hex, lease=OWN, created_at=at), "judge") == (
        3, 1, True, PAYLOAD, "", "judge", OWN.hex, at, "basis", None,
    )  # fmt: skip
    commented = replace(ready(), payload=PAYLOAD | {"comment": "hard to say"})
    found = _decide(row(), commented, NEW)
    assert isinstance(found, _Change)
    assert _response_row(found)[4] == "hard to say"
    for by in (NEW, Circumstances(seen=2), Circumstances(revision=3)):
        assert written(row(current=STORED), by)[1] == 3
    assert written(row(current=STORED), Circumstances(revision=8))[1] == 8
    assert written(row(), Circumstances(revision=0))[1] == 1
    columns = written(row(), Circumstances(basis="of the page", exposed=frozenset()), "import")
    assert columns[8:] == ("of the page", False)
    assert [written(row(), NEW, each)[9] for each in ("page", "api", "judge", "import")] == [
        False, False, None, None,
    ]  # fmt: skip


def test_a_cancelled_assignment_takes_no_answers_from_people() -> None:
    gone = row()._replace(status="cancelled")
    assert [raised(gone, ready(each)) for each in ("page", "api")] == [LostLeaseError] * 2
    assert isinstance(_decide(gone, ready("judge"), NEW), _Change)
    assert isinstance(_decide(gone, ready("import"), NEW), _Change)


def test_the_freshness_check_runs_first_unless_the_answer_is_stored() -> None:
    asked = []

    def check(locked: Any) -> None:
        asked.append((locked.assignment.pk, locked.current, locked.draft))
        raise ConflictError(STORED.revision)

    with pytest.raises(ConflictError, match="revision 2 was saved in between"):
        _decide(row(current=STORED), ready(refused=REFUSED), NEW, check)
    assert asked == [(3, STORED, None)]
    _decide(row(sent=STORED), ready(), NEW, check)
    assert len(asked) == 1


def test_a_file_says_which_units_of_an_answer_were_exposed() -> None:
    at = datetime(2024, 5, 3, tzinfo=UTC)
    stated = Circumstances(created_at=at, exposed=frozenset({"b", "x"}))
    assert _exposures(ready("import"), stated, ["a", "b"]) == [Evidence(None, "stated", at, ("b",))]
    assert _exposures(ready("import"), stated, ["a"]) == ()
    assert _exposures(ready("import"), NEW, ["a"]) == ()


def test_answers_are_equal_by_payload_or_for_files_by_labels() -> None:
    of = ready()
    answer = Answer(PAYLOAD, [], {}, {("q", "answerable"): Detail(0.5)}, of.schema)
    assert answer.changes_nothing(Response(payload=dict(PAYLOAD)), "page")
    assert not answer.changes_nothing(STORED, "page")
    assert not answer.changes_nothing(STORED, "judge")
    assert answer.detail("q", "answerable") == Detail(0.5, None)
    assert answer.detail("q", "rating") == Detail(None, None)


def test_spans_are_equal_by_text_quote_and_known_location() -> None:
    given = LocatedQuote("report", 3, 7, "Anna", "exact")
    stored = Span(field="report", start=3, end=7, quote="Anna")

    def but(**changes: Any) -> Span:
        facts = {"field": "report", "start": 3, "end": 7, "quote": "Anna"}
        return Span(**(facts | changes))

    assert _same_spans([], [])
    assert _same_spans([given], [stored])
    assert _same_spans([given], [but(start=None, end=None)])
    for other in ({"field": "passage"}, {"quote": "Ann"}, {"start": 2}, {"end": 8}):
        assert not _same_spans([given], [but(**other)])
        assert not _same_spans([given, given], [stored, but(**other)])
    assert not _same_spans([given], [])
    assert not _same_spans([given], [stored, stored])


def test_rows_are_written_a_hundred_at_a_time() -> None:
    assert [len(each) for each in _chunks(range(201))] == [100, 100, 1]
    assert list(_chunks(iter("ab"))) == [["a", "b"]]
    assert list(_chunks([])) == []

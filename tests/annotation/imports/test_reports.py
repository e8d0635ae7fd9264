"""What an import reports and writes down: labels, reasons and lines that changed nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from annotation.imports import importer
from annotation.imports.importer import ImportReport, import_labels, import_rows
from annotation.models import Assignment, Campaign, Label, Rater, Response, Span
from audit.models import Event
from tandem.files.rows import InputError
from tests.cast import Line, campaign_of, write_lines

YES: Line = {"item": "r", "unit": "🌉", "variable": "answerable", "value": "no", "rater": "ann"}
OTHER: Line = {**YES, "unit": "a/b#1"}


def without(line: Line, reason: str, **more: Any) -> Line:
    return {**line, "value": None, "missing": reason, **more}


@pytest.fixture
def coverage(batch: Path) -> Campaign:
    return campaign_of("report-coverage")


@pytest.fixture
def take(coverage: Campaign, tmp_path: Path) -> Any:
    def taken(*lines: Line, **more: Any) -> ImportReport:
        return import_labels([write_lines(tmp_path / "l.jsonl", lines)], coverage, **more)

    return taken


def import_facts() -> list[dict[str, Any]]:
    found = Event.objects.filter(event="labels.imported").order_by("pk")
    return list(found.values_list("facts", flat=True))


def test_the_report_counts_labels_by_rater_missing_and_unchanged_ones(
    coverage: Campaign, take: Any
) -> None:
    lines = [YES, OTHER, {**YES, "rater": "bo"}, without(OTHER, "declined", rater="bo")]
    report = take(*lines)
    assert (report.labels, report.missing, report.unchanged) == ({"ann": 2, "bo": 1}, 1, 0)
    assert (report.warnings, report.skipped) == ([], {})
    assert import_facts() == [{"labels": 4}]
    (event,) = Event.objects.filter(event="labels.imported")
    assert (event.campaign, event.object_kind) == (coverage.pk, "campaign")
    again = take(*lines)
    assert (again.labels, again.missing, again.unchanged) == ({}, 0, 4)
    assert import_facts() == [{"labels": 4}]
    more = take(*lines, {**YES, "rater": "cy"})
    assert (more.labels, more.missing, more.unchanged) == ({"cy": 1}, 0, 4)
    assert import_facts() == [{"labels": 4}, {"labels": 1}]


def test_after_many_labels_the_database_statistics_are_refreshed(
    take: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[tuple[Any, ...]] = []
    monkeypatch.setattr(importer, "refresh_statistics", lambda *models: heard.append(models))
    monkeypatch.setattr(importer, "MANY_LABELS", 2)
    take(YES)
    assert heard == []
    take(YES, OTHER, {**OTHER, "rater": "bo"})
    assert heard == [(Assignment, Response, Label, Span)]


def test_an_import_of_missing_reasons_alone_is_recorded_too(take: Any) -> None:
    report = take(without(YES, "declined"), without(OTHER, "declined"))
    assert (report.labels, report.missing, report.unchanged) == ({"ann": 0}, 2, 0)
    assert import_facts() == [{"labels": 2}]


def test_an_empty_report_counts_nothing() -> None:
    report = ImportReport()
    assert (report.labels, report.missing, report.unchanged) == ({}, 0, 0)
    assert (report.warnings, report.skipped) == ([], {})


def test_progress_is_reported_in_lines_of_the_file(take: Any) -> None:
    done: list[int] = []
    take(YES, {**YES, "rater": "bo"}, OTHER, {**YES, "replicate": 1}, progress=done.append)
    assert sorted(done) == done
    assert (len(done), done[-1]) == (3, 4)


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("reason", "status"),
    [("declined", "declined"), ("unreadable", "failed"), ("refused", "failed")],
)
def test_an_assignment_without_any_answer_is_closed_with_its_reason(
    take: Any, reason: str, status: str
) -> None:
    take(without(YES, reason, seconds=2.5))
    row = Assignment.objects.get()
    assert (row.status, row.reason, row.seconds) == (status, reason, 2.5)
    assert row.missing == {"🌉": {"answerable": reason}}
    assert row.asked == ["🌉"]
    assert not Response.objects.exists()
    take(YES)
    row.refresh_from_db()
    assert (row.status, row.reason, row.missing) == ("done", "", {})
    assert Label.objects.get().value == "no"


def test_a_reason_beside_an_answer_leaves_the_answer_and_its_time(take: Any) -> None:
    take({**YES, "seconds": 2.5})
    take(without(OTHER, "declined", seconds=9.0))
    row = Assignment.objects.get()
    assert (row.status, row.reason, row.seconds) == ("done", "", 2.5)
    assert row.missing == {"a/b#1": {"answerable": "declined"}}
    assert Response.objects.count() == 1
    assert take(without(OTHER, "declined")).unchanged == 1


def test_an_imported_assignment_asks_the_files_units_in_item_order(
    coverage: Campaign, take: Any
) -> None:
    names = list(
        coverage.items.get(key="r").units.order_by("position").values_list("name", flat=True)
    )
    assert set(names) > {"🌉", "a/b#1"}
    for line in (YES, OTHER):
        take(line)
    row = Assignment.objects.get()
    assert row.asked == [name for name in names if name in {"🌉", "a/b#1"}]
    assert (row.assisted_by, row.slot, row.scope, row.replicate) == ("", None, "", 0)


def test_each_rater_replicate_and_item_has_its_own_assignment(take: Any) -> None:
    take(YES, {**YES, "rater": "bo", "rater_kind": "judge"}, {**YES, "replicate": 1})
    rows = Assignment.objects.order_by("rater__name", "replicate")
    assert list(rows.values_list("rater__name", "rater__kind", "replicate")) == [
        ("ann", "human", 0), ("ann", "human", 1), ("bo", "judge", 0),
    ]  # fmt: skip
    with pytest.raises(InputError, match="rater 'bo' is of kind judge, not human"):
        take({**OTHER, "rater": "bo"})
    assert Rater.objects.get(name="bo").kind == "judge"


def test_an_answer_keeps_its_own_time_seconds_and_revision(take: Any) -> None:
    take({**YES, "seconds": 2.5, "revision": 4, "created_at": "2026-03-01T08:00:00Z"})
    response = Response.objects.get()
    assert (response.revision, response.door, response.current) == (4, "import", True)
    assert response.created_at.isoformat() == "2026-03-01T08:00:00+00:00"
    assert Assignment.objects.get().seconds == 2.5


def test_a_wrong_line_in_a_second_file_leaves_nothing_of_the_first(
    coverage: Campaign, tmp_path: Path
) -> None:
    good = write_lines(tmp_path / "good.jsonl", [YES])
    wrong = write_lines(tmp_path / "wrong.jsonl", [{**OTHER, "value": "perhaps"}])
    with pytest.raises(InputError) as caught:
        import_labels([good, wrong], coverage)
    assert caught.value.place.line == 1
    assert not Response.objects.exists()
    assert not Rater.objects.exists()
    assert import_facts() == []


class TestRows:
    def test_rows_of_a_script_are_imported_like_lines_of_a_file(self, coverage: Campaign) -> None:
        bare = {name: value for name, value in OTHER.items() if name != "rater"}
        report = import_rows([dict(YES), bare], coverage, "bo")
        assert (report.labels, report.missing, report.unchanged) == ({"ann": 1, "bo": 1}, 0, 0)
        assert Label.objects.count() == 2

    def test_a_wrong_row_is_named_by_its_number(self, coverage: Campaign) -> None:
        with pytest.raises(InputError, match=r"^labels, line 2: .*perhaps") as caught:
            import_rows([dict(YES), {**OTHER, "value": "perhaps"}], coverage)
        assert (caught.value.place.line, Label.objects.count()) == (2, 0)

    def test_a_warning_names_the_row_and_no_file(self, coverage: Campaign) -> None:
        quote = {"field": "report", "text": "stands nowhere at all"}
        report = import_rows([{**YES, "value": "yes", "spans": [quote]}], coverage)
        assert len(report.warnings) == 1
        assert report.warnings[0].startswith("labels, line 1: ")

    @pytest.mark.every_case
    @pytest.mark.parametrize("stand_in", [False, True])
    def test_labels_in_the_name_of_a_person_who_answers_here_are_refused(
        self, coverage: Campaign, stand_in: bool
    ) -> None:
        ada = Rater.objects.create(name="ada")
        item = coverage.items.get(key="r")
        Assignment.objects.create(item=item, rater=ada, asked=[], status="leased")
        lines = [dict(YES), {**OTHER, "rater": None if stand_in else "ada"}]
        with pytest.raises(InputError, match=r"^labels, line 2: rater 'ada' answers on this site"):
            import_rows(lines, coverage, "ada" if stand_in else None)
        assert not Label.objects.exists()

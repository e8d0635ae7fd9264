"""Labels whose rater could see others' labels of the unit: left out of agreement, and counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tandem
from analysis.campaigns.reports import campaign_report
from annotation.answers.submission import submit
from annotation.exposure import ledger
from annotation.models import Assignment, Exposure, Response
from tandem.labels.facts import Inputs, LabelFact
from tandem.labels.frame import make_frame, selected_frame
from tandem.labels.selection import ALL_LABELS, ReportOptions
from tandem.sections.build import frame_report
from tests.analysis.cast import YES_NO, table
from tests.page_cast import make_study, payload

ROWS = {
    "ada": "yynyynyynn",
    "bram": "ynnyynyyyn",
    "chidi": "yynynnyynn",
    "model": "ynnyyyyynn",
}
SEEN = {("chidi", f"q{n}") for n in (1, 4, 5)}
FEW = ReportOptions(resamples=20)


def marked() -> list[LabelFact]:
    return [
        fact._replace(exposed=(fact.rater, fact.unit) in SEEN) if fact.rater != "model" else fact
        for fact in table(ROWS)
    ]


def figures(facts: list[LabelFact], options: ReportOptions = FEW) -> dict[str, Any]:
    """All figures of a report, without its parts about exposed labels and inputs."""
    frame = selected_frame(facts, options, {}, {"answerable": YES_NO})
    report = frame_report({}, frame, options, ["answerable"], None, check=False)
    changing = ("inputs", "generated_at", "choices", "exposed")
    return {name: of for name, of in report.items() if name not in changing}


def test_leaving_out_exposed_labels_equals_a_report_without_them() -> None:
    others = [fact for fact in marked() if not fact.exposed]
    assert len(others) == len(marked()) - len(SEEN)
    assert figures(marked()) == figures(others)
    assert figures(marked()) != figures(table(ROWS))


def test_exposed_labels_count_like_others_if_the_option_includes_them() -> None:
    with_them = ReportOptions(resamples=20, exposed=True)
    assert figures(marked(), with_them) == figures(table(ROWS), with_them)


def test_exposed_labels_are_counted_by_person() -> None:
    frame = make_frame(marked(), {"answerable": YES_NO})
    assert frame.exposed.summary(included=False) == {
        "labels": 3,
        "answers": 2,
        "unknown": 0,
        "included": False,
        "people": {"chidi": {"labels": 3, "answers": 2}},
    }
    unknown = make_frame(table(ROWS), {"answerable": YES_NO}).exposed
    assert (unknown.labels, unknown.unknown) == ((), 30)


def test_the_digest_of_labels_without_marks_is_that_of_earlier_versions() -> None:
    plain = table(ROWS)
    clean = [fact._replace(exposed=False) for fact in plain]
    assert Inputs.from_facts(clean) == Inputs.from_facts(plain)
    assert Inputs.from_facts(marked()) != Inputs.from_facts(plain)


@pytest.mark.first_case
@pytest.mark.parametrize("marks", [{True: True, False: False}, {True: "true", False: ""}])
@pytest.mark.parametrize("form", ["table", "file"])
def test_exposed_labels_are_marked_in_a_column_of_tables_and_files(
    tmp_path: Path, marks: dict[bool, object], form: str
) -> None:
    rows = [
        {
            **dict(zip(("item", "unit", "variable", "value", "rater"), each, strict=True)),
            "rater_kind": fact.rater_kind,
            "exposed": marks[bool(fact.exposed)],
        }
        for fact in marked()
        for each in [(fact.item, fact.unit, fact.variable, fact.value, fact.rater)]
    ]
    rows = [{name: value for name, value in row.items() if value != ""} for row in rows]
    path = tmp_path / "labels.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    given: Any = rows if form == "table" else path
    left_out = tandem.report(given, resamples=20).json
    assert left_out["exposed"]["people"] == {"chidi": {"labels": 3, "answers": 2}}
    counted = tandem.report(given, resamples=20, exposed=True).json
    assert counted["exposed"]["included"] is True
    units = [each["variables"]["answerable"]["agreement"] for each in (left_out, counted)]
    assert units[0]["percent"] != units[1]["percent"]


@pytest.mark.django_db
def test_in_a_campaign_only_the_exposed_units_of_an_answer_are_left_out() -> None:
    study = make_study(people=3)
    for user in (study.ada, study.ben):
        submit(study.assignment(user), payload("no"), "page")
    item = Assignment.objects.filter(responses__current=True).earliest("pk").item
    with ledger.collect_looks() as looks:
        ledger.saw_answers("dispute", study.campaign, units=[item.units.get(name="q:1").pk])
    ledger.record(study.rita.pk, looks)
    submit(study.assignment(study.rita), payload("invalid"), "page")
    report = campaign_report(study.campaign, FEW)
    name = Response.objects.get(exposed=True).assignment.rater.name
    assert report["exposed"] == {
        "labels": 1,
        "answers": 1,
        "unknown": 0,
        "included": False,
        "people": {name: {"labels": 1, "answers": 1}},
    }
    assert report["variables"]["answerable"]["escapes"] == {"invalid": 2}
    included = campaign_report(study.campaign, ReportOptions(resamples=20, exposed=True))
    assert included["variables"]["answerable"]["escapes"] == {"invalid": 3}


@pytest.mark.django_db
def test_answers_older_than_the_ledger_count_and_are_reported_as_unknown() -> None:
    study = make_study()
    submit(study.assignment(study.ada), payload("no"), "page")
    Response.objects.update(exposed=None)
    report = campaign_report(study.campaign, ALL_LABELS)
    assert report["exposed"] == {
        "labels": 0, "answers": 0, "unknown": 3, "included": False, "people": {},
    }  # fmt: skip
    assert not Exposure.objects.exists()

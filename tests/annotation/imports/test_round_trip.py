"""Exports contain what was imported, for every protocol, and a second import changes nothing."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from annotation.answers.submission import submit
from annotation.models import Assignment, Campaign, Label, Response, Span
from annotation.presentation import schema
from annotation.protocols import PROTOCOLS
from tests.annotation.answering import good_answer, person
from tests.annotation.label_files import labels_for
from tests.cast import BATCH, Line, campaign_of, exported, run, write_lines

SHARED = Path(__file__).resolve().parents[3] / ".." / "shared" / "data"
EACH = pytest.mark.parametrize("protocol", PROTOCOLS)

pytestmark = pytest.mark.usefixtures("batch")


def counts() -> tuple[int, ...]:
    return tuple(m.objects.count() for m in (Assignment, Response, Label, Span))


def in_order(lines: list[Line]) -> list[str]:
    return sorted(json.dumps(line, sort_keys=True) for line in lines)


def without_campaign(lines: list[Line]) -> list[str]:
    return in_order([{k: v for k, v in line.items() if k != "campaign"} for line in lines])


def imported(protocol: str, folder: Path) -> tuple[Campaign, Path, list[Line]]:
    campaign = campaign_of(protocol)
    lines = labels_for(campaign, exported("c", "units"))
    path = write_lines(folder / "labels.jsonl", lines)
    run("import_labels", path, "--campaign", "c")
    return campaign, path, lines


@pytest.mark.first_case
@EACH
def test_the_tests_labels_cover_every_variable_and_escape(protocol: str) -> None:
    campaign = campaign_of(protocol)
    lines = labels_for(campaign, exported("c", "units"))
    said = {(line["kind"], line["variable"], line.get("value")) for line in lines}
    declared = schema(campaign)
    assert {(v.kind, v.name, code) for v in declared.variables for code in v.escapes} <= said
    assert {(kind, name) for kind, name, _ in said} == {
        (v.kind, v.name) for v in declared.variables
    }
    assert any("missing" in line for line in lines)
    assert any("spans" in line for line in lines) == (declared.protocol.evidence is not None)


@pytest.mark.first_case
@EACH
def test_labels_are_exported_as_imported(protocol: str, tmp_path: Path) -> None:
    _, _, lines = imported(protocol, tmp_path)
    assert in_order(exported("c", "labels")) == in_order(lines)


@pytest.mark.first_case
@EACH
def test_labels_exported_as_csv_can_be_imported_again(protocol: str, tmp_path: Path) -> None:
    _, _, lines = imported(protocol, tmp_path)
    out = tmp_path / "labels.csv"
    run("export", "--campaign", "c", "--what", "labels", "--format", "csv", "--output", out)
    campaign_of(protocol, name="again")
    run("import_labels", out, "--campaign", "again")
    assert without_campaign(exported("again", "labels")) == without_campaign(lines)


@pytest.mark.first_case
@EACH
def test_importing_again_changes_nothing_and_says_so(protocol: str, tmp_path: Path) -> None:
    _, path, lines = imported(protocol, tmp_path)
    before = counts()
    said = run("import_labels", path, "--campaign", "c")
    assert said == f"Nothing to do for {len(lines)} labels: they exist already.\n"
    assert counts() == before


@pytest.mark.first_case
@EACH
@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_importing_ones_own_export_changes_nothing(
    protocol: str, form: str, tmp_path: Path
) -> None:
    _, _, lines = imported(protocol, tmp_path)
    before, out = counts(), tmp_path / f"out.{form}"
    run("export", "--campaign", "c", "--what", "labels", "--format", form, "--output", out)
    said = run("import_labels", out, "--campaign", "c")
    assert said == f"Nothing to do for {len(lines)} labels: they exist already.\n"
    assert counts() == before
    assert in_order(exported("c", "labels")) == in_order(lines)


@pytest.mark.first_case
@EACH
def test_importing_an_export_of_page_answers_changes_nothing(protocol: str, tmp_path: Path) -> None:
    answered(protocol)
    before = counts()
    for what in ("labels", "responses"):
        path = write_lines(tmp_path / what, exported("c", what))
        assert run("import_labels", path, "--campaign", "c").startswith("Nothing to do for"), what
        assert counts() == before


@pytest.mark.first_case
@EACH
def test_exported_responses_can_be_imported_again(protocol: str, tmp_path: Path) -> None:
    answered(protocol)
    out = exported("c", "responses")
    campaign_of(protocol, name="again")
    run("import_labels", write_lines(tmp_path / "r.jsonl", out), "--campaign", "again")
    assert without_campaign(exported("again", "labels")) == without_campaign(
        exported("c", "labels")
    )
    back = exported("again", "responses")
    assert [line["comment"] for line in back] == [line["comment"] for line in out]
    assert prose(back) == prose(out)
    writes = PROTOCOLS[protocol].written or PROTOCOLS[protocol].listed
    assert bool(prose(out)) == (writes is not None)


def prose(lines: list[Line]) -> list[Line]:
    units = [unit for line in lines for unit in line["units"].values()]
    keys = ("written", "points", "matches")
    return [unit[key] for unit in units for key in keys if unit.get(key)]


def answered(protocol: str) -> None:
    """One person's answer to every item, through the API."""
    campaign = campaign_of(protocol)
    for item in campaign.items.all():
        assignment = person(item, "ann")
        payload = {"units": good_answer(assignment), "comment": f"{item.key}\r\nשלום 🌉"}
        submit(assignment, payload, "api")


@pytest.mark.first_case
@EACH
def test_the_batch_is_exported_as_loaded(protocol: str) -> None:
    campaign_of(protocol)
    assert exported("c", "batch") == list(BATCH)


@pytest.mark.first_case
@EACH
def test_spans_quote_the_texts_exactly(protocol: str, tmp_path: Path) -> None:
    _, _, lines = imported(protocol, tmp_path)
    texts = {(u["item"], u["unit"], u["kind"]): u["texts"] for u in exported("c", "units")}
    spans = exported("c", "spans")
    assert len(spans) == sum(len(line.get("spans", ())) for line in lines)
    for span in spans:
        text = texts[span["item"], span["unit"], span["kind"]][span["field"]]
        assert text[span["start"] : span["end"]] == span["text"]


def test_spans_are_exported_to_csv_with_their_line_ends(tmp_path: Path) -> None:
    campaign_of("key-point-verification")
    row = {"item": "k4", "unit": "k4", "variable": "grounded", "value": "yes", "rater": "ann"}
    quotes = [{"text": "near.\rGhent"}, {"text": "Bruges lies"}]
    run("import_labels", write_lines(tmp_path / "l", [row | {"spans": quotes}]), "--campaign", "c")
    out = run("export", "--campaign", "c", "--what", "spans", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out, newline="")))
    assert [(r["start"], r["text"]) for r in rows] == [("12", "near.\rGhent"), ("0", "Bruges lies")]


def test_qrels_of_relevance_contain_the_lower_median(tmp_path: Path) -> None:
    campaign_of("grounding-relevance")
    votes = {"ann": "yes", "bo": "no", "cy": "yes"}
    rows = [
        {"item": "q/1", "unit": "q/1/p", "variable": "relevant", "value": v, "rater": r}
        for r, v in votes.items()
    ]
    rows += [{**rows[0], "item": "q3", "unit": "q3/p3"}, {**rows[1], "item": "q3", "unit": "q3/p3"}]
    rows += [{**rows[1], "rater": "j", "rater_kind": "judge"}]
    run("import_labels", write_lines(tmp_path / "l.jsonl", rows), "--campaign", "c")
    assert run("export", "--campaign", "c", "--what", "qrels") == "q/1 0 p 1\nq3 0 p3 0\n"


def test_qrels_use_assisted_labels_only_if_there_are_no_others(tmp_path: Path) -> None:
    campaign_of("grounding-relevance")
    row = {"item": "q/1", "unit": "q/1/p", "variable": "relevant", "value": "yes", "rater": "ann"}
    assisted = {"rater": "bo", "value": "no", "assisted_by": "j"}
    rows = [row, {**row, **assisted}, {**row, **assisted, "rater": "cy"}]
    rows += [{**row, **assisted, "item": "q3", "unit": "q3/p3", "value": "yes"}]
    run("import_labels", write_lines(tmp_path / "l.jsonl", rows), "--campaign", "c")
    assert run("export", "--campaign", "c", "--what", "qrels") == "q/1 0 p 1\nq3 0 p3 1\n"


def test_qrels_of_ratings_have_a_line_for_each_question(tmp_path: Path) -> None:
    campaign_of("rubric-passage", "--option", "sampling=all")
    row = {"item": "q/1/p#1", "unit": "a/b#1", "variable": "rating", "value": "4", "rater": "ann"}
    path = write_lines(tmp_path / "l.jsonl", [row, {**row, "unit": "🌉", "value": "0"}])
    run("import_labels", path, "--campaign", "c")
    assert run("export", "--campaign", "c", "--what", "qrels") == "q/1 a/b#1 p#1 4\nq/1 🌉 p#1 0\n"


def test_qrels_with_blanks_in_ids_are_refused_in_trecs_own_form(tmp_path: Path) -> None:
    campaign_of("grounding-relevance")
    row = {"item": "q 2", "unit": "q 2/p2", "variable": "relevant", "value": "yes", "rater": "ann"}
    run("import_labels", write_lines(tmp_path / "l.jsonl", [row]), "--campaign", "c")
    with pytest.raises(Exception, match="'q 2' contains a blank; use --format jsonl or csv"):
        run("export", "--campaign", "c", "--what", "qrels")
    assert exported("c", "qrels") == [
        {"query": "q 2", "subtopic": "0", "passage": "p2", "grade": 1}
    ]


@pytest.mark.parametrize(
    "protocol", sorted(set(PROTOCOLS) - {"grounding-relevance", "rubric-passage"})
)
def test_other_protocols_have_no_qrels(protocol: str) -> None:
    campaign_of(protocol)
    with pytest.raises(Exception, match="does not grade passages"):
        run("export", "--campaign", "c", "--what", "qrels")


@pytest.mark.skipif(not SHARED.is_dir(), reason="../shared/data holds data that we do not ship")
def test_clapnqs_dev_files_make_a_campaign() -> None:
    files = sorted((SHARED / "clapnq").glob("clapnq_dev_*.jsonl"))
    said = run("load_batch", *files, "--name", "clapnq")
    assert "(clapnq): 600 queries, 600 passages" in said
    campaign = campaign_of("grounded-answer", name="answers", batch="clapnq")
    assert campaign.items.count() == 600
    units = exported("answers", "units")
    assert {unit["kind"] for unit in units} == {"passage-sentence", "query"}
    assert sum(unit["kind"] == "query" for unit in units) == 600

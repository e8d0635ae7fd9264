"""Rationales quoted from a text other than the judged one are recognised."""

from __future__ import annotations

import io
from collections import Counter
from pathlib import Path

import pytest
from django.core.management import call_command

from analysis.campaigns.reports import campaign_report
from annotation.answers.misplaced import (
    MisplacedEvidence,
    find_misplaced_evidence,
    locate_quote,
    locate_rationale,
    misplaced_label_ids,
)
from annotation.answers.submission import submit
from annotation.assignments.queue import next_assignment
from annotation.models import Campaign, Label, Rater, Response, Span
from tandem.formats.markdown import as_markdown
from tandem.labels.selection import ReportOptions
from tandem.sections.contents import document
from tests.annotation.follow_cast import rater
from tests.cast import BRIDGE, FULL, campaign_of, write_lines

SHARED = Path(__file__).resolve().parents[3] / "../shared/data/crux"
OTHERS = (("report", FULL), ("passage", BRIDGE), ("reference", "By hand."))


class TestOneQuote:
    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("quote", "place"),
        [
            ("Anna Lee\u0301 built it 🌉", "report"),
            ("opened in\n  1901", "report"),
            ("שלום, said the pilot", "passage"),
            ("By hand.", "reference"),
            ("It spans the river", "here"),
            ("  It   spans\r\nthe river. ", "here"),
            ("I found nothing", "nowhere"),
            ("anna lee\u0301 built", "nowhere"),
            (" ", "here"),
        ],
    )
    def test_a_quote_is_searched_for_word_by_word_ignoring_blanks(
        self, quote: str, place: str
    ) -> None:
        assert locate_quote(quote, "It spans the river.\nOld.", OTHERS) == place

    def test_a_quote_found_in_the_judged_text_is_not_misplaced(self) -> None:
        assert locate_quote("It opened in 1901.", FULL, OTHERS) == "here"

    def test_a_rationale_with_one_quote_from_the_judged_text_is_not_misplaced(self) -> None:
        judged = "It spans the river."
        assert locate_rationale(["By hand.", "spans the river"], judged, OTHERS) == "here"
        assert locate_rationale(["nothing", "By hand."], judged, OTHERS) == "reference"
        assert locate_rationale(["nothing", "at all"], judged, OTHERS) == "nowhere"
        assert locate_rationale([], judged, OTHERS) == "here"


def test_a_warning_gives_rater_counts_and_remedy() -> None:
    said = str(MisplacedEvidence("ann", "human", "rating", 57, Counter(report=42, passage=1)))
    assert said == (
        "rater 'ann': of 57 rationales for rating, 43 quote another text than the one being "
        "judged, word for word (42 in a report of the same query and 1 in another passage of the "
        "same query); check whether the right text was judged"
    )


@pytest.fixture
def ratings(batch: Path) -> Campaign:
    return campaign_of("rubric-passage", "--option", "sampling=all")


def row(unit: str, quote: str, name: str = "ann", item: str = "q/1/p#1") -> dict[str, object]:
    span = {"field": "passage", "start": None, "end": None, "text": quote}
    return {"item": item, "unit": unit, "variable": "rating", "value": "3", "rater": name,
            "spans": [span]}  # fmt: skip


def load(folder: Path, *rows: dict[str, object]) -> str:
    out = io.StringIO()
    path = write_lines(folder / "labels.jsonl", rows)
    call_command("import_labels", str(path), "--campaign", "c", stdout=out)
    return out.getvalue()


class TestACampaign:
    def test_misplaced_rationales_are_counted_by_rater(
        self, ratings: Campaign, tmp_path: Path
    ) -> None:
        load(
            tmp_path,
            row("a/b#1", "It opened in 1901.\r\nשלום לכולם!"),
            row(" blank ", "It spans the river."),
            row("🌉", "I know it from school."),
            row("a/b#1", "cross it.", "bo"),
        )
        (found,) = find_misplaced_evidence(ratings)
        assert (found.rater, found.rationales, dict(found.elsewhere)) == ("ann", 3, {"report": 1})
        assert find_misplaced_evidence(ratings, ["bo"]) == []

    def test_a_quote_of_an_unshown_text_is_searched_for_in_all_quotable_texts(
        self, ratings: Campaign, tmp_path: Path
    ) -> None:
        quoting = [row("a/b#1", "cross it."), row(" blank ", "By hand."), row("🌉", "By heart.")]
        for each in quoting:
            each["spans"][0]["field"] = "report"  # type: ignore[index]
        load(tmp_path, *quoting)
        (found,) = find_misplaced_evidence(ratings)
        assert (found.rationales, dict(found.elsewhere)) == (3, {"reference": 1})

    def test_only_current_labels_with_unlocated_quotes_are_checked(
        self, ratings: Campaign, tmp_path: Path
    ) -> None:
        campaign_of("rubric-passage", "--option", "sampling=all", name="other")
        load(tmp_path, row("a/b#1", "It opened in 1901.\r\nשלום לכולם!"), row("🌉", "By heart."))
        label = Label.objects.get(unit__key="a/b#1")

        def found() -> tuple[int, list[int]]:
            hints = find_misplaced_evidence(ratings)
            return sum(hint.total for hint in hints), misplaced_label_ids(ratings, "ann")

        none: tuple[int, list[int]] = (0, [])
        # A located quote is stored in the words of the text, but the words that were sent count.
        for method in ("none", "joined", "fuzzy"):
            Span.objects.update(method=method, quote="It spans the river.")
            assert found() == (1, [label.pk])
            assert find_misplaced_evidence(Campaign.objects.get(name="other")) == []
            assert misplaced_label_ids(ratings, "bo") == []
        for method in ("exact", "folded"):
            Span.objects.update(method=method)
            assert found() == none
        Span.objects.update(method="none")
        for change in ({"current": False}, {"current": True}):
            Response.objects.update(**change)
            assert found() == ((1, [label.pk]) if change["current"] else none)
        Label.objects.update(variable="another")
        assert found() == none, "evidence is sent for the rating alone"
        Span.objects.update(quote="By hand.")
        assert find_misplaced_evidence(ratings)[0].elsewhere == {"reference": 2}
        Rater.objects.filter(name="ann").update(kind="trial")
        assert found() == none

    def test_an_import_warns_first_and_only_about_labels_it_stored(
        self, ratings: Campaign, tmp_path: Path
    ) -> None:
        rows = [row("a/b#1", "שלום לכולם!"), row(" blank ", "By hand.")]
        said = load(tmp_path, *rows)
        first = next(line for line in said.splitlines() if line.startswith("Warning"))
        assert "of 2 rationales for rating, 2 quote another text" in first
        assert "1 in a report of the same query and 1 in a reference" in first
        assert "rationales" not in load(tmp_path, *rows)
        assert "rationales" not in load(tmp_path, row("🌉", "cross it.", "bo"))

    def test_the_report_shows_misplaced_evidence_as_numbers_text_and_table(
        self, ratings: Campaign, tmp_path: Path
    ) -> None:
        load(tmp_path, row("a/b#1", "שלום לכולם!"), row("a/b#1", "שלום לכולם!", "bo"))
        report = campaign_report(ratings, ReportOptions(resamples=10))
        assert [hint["name"] for hint in report["hints"]] == ["ann", "bo"]
        hint = report["hints"][0]
        assert (hint["rationales"], hint["elsewhere"]) == (
            1,
            {"report": 1, "passage": 0, "reference": 0},
        )
        assert "1 quotes another text" in hint["message"]
        blocks = [block.title for section in document(report).sections for block in section.blocks]
        assert "Data quality" in blocks
        assert "They may have judged that other text" in as_markdown(report)

    def test_answers_from_the_page_give_no_flag(self, ratings: Campaign) -> None:
        held = next_assignment(ratings, rater())
        assert held is not None
        evidence = [{"quote": BRIDGE[:10], "start": 0}]
        units = {name: {"rating": "3", "evidence": evidence} for name in held.asked}
        submit(held, {"units": units, "comment": None}, "page")
        assert find_misplaced_evidence(ratings) == []
        report = campaign_report(ratings, ReportOptions(resamples=10))
        assert report["hints"] == []
        assert "Data quality" not in as_markdown(report)


@pytest.mark.skipif(not SHARED.is_dir(), reason="../shared/data is absent; it is not ours to ship")
def test_the_crux_annotator_who_quoted_the_report_is_found(db: None) -> None:
    files = ("crux_testb/oracle.jsonl", "crux_testb/oracle.run", "passages.jsonl")
    call_command("load_batch", *(str(SHARED / f) for f in files), name="crux", stdout=io.StringIO())
    campaign = campaign_of("rubric-passage", "--option", "sampling=all", batch="crux")
    out = io.StringIO()
    for person in ("annotator1", "annotator2"):
        path = str(SHARED / "annotations" / person / "qrels.jsonl")
        call_command("import_labels", path, campaign="c", stdout=out)
    (found,) = find_misplaced_evidence(campaign)
    assert (found.rater, found.rationales) == ("annotator2", 57)
    assert dict(found.elsewhere) == {"report": 42}
    assert out.getvalue().count("check whether the right text was judged") == 1

"""Highlights in files: which occurrence is meant, and what their offsets count."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from annotation.answers.submission import submit
from annotation.imports.importer import ImportReport, import_labels, import_rows
from annotation.item_context import sheet_of
from annotation.models import Assignment, Campaign, Item, Rater, Span
from annotation.presentation import present, schema
from tandem.files.rows import InputError
from tandem.protocols.base import name_units
from tests.annotation.answering import person
from tests.cast import Line, campaign_of, load, write_lines
from tests.page_cast import client_of, make_study

DAM = "😀😀😀 dam dam dam"
FOR = "Use it only For cats or dogs."
TEXTS = {
    "dam": DAM,
    "for": FOR,
    "plain": "It opened. It closed.",
    "both": "😀 a a a a",
    "umlaut": "Öl über Öl.",
    "long": "😀 The bridge was opened in 1901.",
    "chinese": "😀 日本語は日本の言葉",
}
BATCH = [
    {
        "id": name,
        "text": "?",
        "questions": [{"id": f"{name}:q", "text": "Is it?"}],
        "reports": [{"id": name, "text": text}],
    }
    for name, text in TEXTS.items()
]


@pytest.fixture
def coverage(db: None, tmp_path: Path) -> Campaign:
    load(tmp_path, BATCH)
    return campaign_of("report-coverage")


def label(item: str, *spans: Line, **more: Any) -> Line:
    return {
        "item": item,
        "unit": f"{item}:q",
        "variable": "answerable",
        "value": "yes",
        "rater": "ann",
        "spans": [{"field": "report", **span} for span in spans],
        **more,
    }


def words(text: str, start: int, end: int | None = None) -> Line:
    return {"text": text, "start": start, "end": start + len(text) if end is None else end}


def bare(start: int, end: int) -> Line:
    return {"start": start, "end": end}


@pytest.fixture
def take(coverage: Campaign, tmp_path: Path) -> Any:
    def taken(*lines: Line) -> ImportReport:
        return import_labels([write_lines(tmp_path / "l.jsonl", lines)], coverage)

    return taken


def places() -> list[tuple[str, int | None, int | None, str]]:
    found = Span.objects.filter(label__response__current=True).order_by("pk")
    return list(found.values_list("label__unit__key", "start", "end", "quote"))


UTF16 = "only if offsets count UTF-16 units, as in JavaScript"
BYTES = "only if offsets count bytes of UTF-8"


def test_utf16_offsets_with_words_are_recognised(take: Any) -> None:
    report = take(label("dam", words("dam", 15)))
    assert places() == [("dam:q", 12, 15, "dam")]
    (warning,) = report.warnings
    assert UTF16 in warning


def test_utf16_offsets_without_words_are_recognised(take: Any) -> None:
    report = take(label("dam", bare(15, 18)))
    assert places() == [("dam:q", 12, 15, "dam")]
    (warning,) = report.warnings
    assert UTF16 in warning


def test_byte_offsets_are_recognised(take: Any) -> None:
    start = len("Öl über ".encode())
    report = take(label("umlaut", words("Öl", start, start + 3)))
    assert places() == [("umlaut:q", 8, 10, "Öl")]
    assert BYTES in report.warnings[0]
    assert len(report.warnings) == 1


def test_the_file_decides_for_highlights_that_fit_both_ways(take: Any) -> None:
    take(label("dam", words("dam", 15)), label("both", words("a", 5)))
    assert places() == [("dam:q", 12, 15, "dam"), ("both:q", 4, 5, "a")]


def test_the_file_decides_for_highlights_without_words(take: Any) -> None:
    take(label("dam", words("dam", 15)), label("long", bare(3, 6)))
    assert places() == [("dam:q", 12, 15, "dam"), ("long:q", 2, 5, "The")]


def test_a_file_that_fits_both_ways_counts_code_points(take: Any) -> None:
    report = take(label("both", words("a", 4)))
    assert places() == [("both:q", 4, 5, "a")]
    assert report.warnings == []


def test_one_highlight_that_fits_only_code_points_decides_against_utf16(take: Any) -> None:
    report = take(label("dam", words("dam", 15)), label("long", words("The", 2)))
    assert places() == [("dam:q", 12, 15, "dam"), ("long:q", 2, 5, "The")]
    assert [each.split(": ", 1)[1] for each in report.warnings] == [
        "unit 'dam:q' answerable: 'dam' is not at 15 of the report; the nearest, at 12, was used"
    ]


def test_words_decide_before_offsets_alone(take: Any) -> None:
    take(label("long", words("The", 2), bare(6, 12)))
    assert places() == [("long:q", 2, 5, "The"), ("long:q", 6, 12, "bridge")]


def test_offsets_alone_do_not_decide_against_words(coverage: Campaign, tmp_path: Path) -> None:
    lines = label("long", words("The", 2)), label("dam", bare(15, 18))
    with pytest.raises(InputError, match="there are no words from 15 to 18"):
        import_labels([write_lines(tmp_path / "l.jsonl", lines)], coverage)


def test_an_offset_within_a_character_is_no_utf16_offset(take: Any) -> None:
    take(label("dam", words("dam", 15), words("dam", 1)))
    assert places() == [("dam:q", 12, 15, "dam"), ("dam:q", 4, 7, "dam")]


def test_the_same_file_again_changes_nothing(take: Any) -> None:
    lines = label("dam", words("dam", 15)), label("for", {"text": "or"})
    take(*lines)
    again = take(*lines)
    assert (again.labels, again.unchanged) == ({}, 2)


def test_a_quote_without_a_start_is_a_word_before_a_part_of_one(take: Any) -> None:
    report = take(label("for", {"text": "or"}))
    assert places() == [("for:q", 21, 23, "or")]
    assert report.warnings == []


def test_a_quote_that_occurs_several_times_gives_a_remark(take: Any) -> None:
    report = take(label("dam", {"text": "dam"}))
    assert places() == [("dam:q", 4, 7, "dam")]
    (warning,) = report.warnings
    assert "'dam' occurs 3 times in the report; the first was used" in warning


def test_a_quote_with_a_wrong_start_is_the_nearest(take: Any) -> None:
    report = take(label("plain", words("It", 12)))
    assert places() == [("plain:q", 11, 13, "It")]
    assert "'It' is not at 12 of the report; the nearest, at 11, was used" in report.warnings[0]
    report = take(label("plain", words("t", 6), rater="bo"))
    assert places()[1:] == [("plain:q", 1, 2, "t")]


@pytest.mark.parametrize(
    ("item", "start", "end", "cut"),
    [
        ("plain", 4, 9, "4"), ("plain", 3, 8, "8"), ("plain", 4, 8, "4 and 8"),
        ("plain", 3, 9, None), ("plain", 3, 10, None), ("plain", 2, 9, None),
        ("chinese", 3, 5, None), ("chinese", 2, 4, None),
    ],
)  # fmt: skip
def test_offsets_that_cut_a_word_give_a_remark(
    take: Any, item: str, start: int, end: int, cut: str | None
) -> None:
    report = take(label(item, bare(start, end)))
    assert places() == [(f"{item}:q", start, end, TEXTS[item][start:end])]
    if cut is None:
        assert report.warnings == []
    else:
        (warning,) = report.warnings
        assert warning.endswith(f"is cut inside a word, at {cut}; check what its offsets count")


def test_many_cut_words_are_counted(take: Any) -> None:
    report = take(*(label("plain", bare(4, 9), rater=f"p{n}") for n in range(53)))
    assert len(report.warnings) == 51
    assert report.warnings[-1] == "3 more highlights are cut inside a word"


class TestDoors:
    def test_a_csv_file(self, coverage: Campaign, tmp_path: Path) -> None:
        out = io.StringIO()
        lines = [label("dam", words("dam", 15)), label("for", {"text": "or"})]
        writer = csv.DictWriter(out, list(lines[0]))
        writer.writeheader()
        writer.writerows({**line, "spans": json.dumps(line["spans"])} for line in lines)
        file = tmp_path / "l.csv"
        file.write_text(out.getvalue(), "utf-8")
        assert UTF16 in import_labels([file], coverage).warnings[0]
        assert places() == [("dam:q", 12, 15, "dam"), ("for:q", 21, 23, "or")]

    def test_whole_answers(self, coverage: Campaign, tmp_path: Path) -> None:
        def answer(item: str, quote: str, start: int | None) -> Line:
            own = {"answerable": "yes", "evidence": [{"quote": quote, "start": start}]}
            return {"item": item, "rater": "ann", "units": {f"{item}:q": own}}

        lines = answer("dam", "dam", 15), answer("for", "or", None)
        report = import_labels([write_lines(tmp_path / "r.jsonl", lines)], coverage)
        assert UTF16 in report.warnings[0]
        assert places() == [("dam:q", 12, 15, "dam"), ("for:q", 21, 23, "or")]

    def test_label_studio(self, coverage: Campaign, tmp_path: Path) -> None:
        def task(item: str, start: int, end: int, text: str) -> Line:
            choice = {"from_name": "answerable", "to_name": "report", "type": "choices"}
            region = {"from_name": "answerable-evidence", "to_name": "report", "type": "labels"}
            value = {"start": start, "end": end, "text": text, "labels": ["answerable"]}
            found = [{**choice, "value": {"choices": ["yes"]}}, {**region, "value": value}]
            data = {"item": item, "unit": f"{item}:q", "report": TEXTS[item]}
            return {"data": data, "annotations": [{"completed_by": 3, "result": found}]}

        file = tmp_path / "tasks.json"
        file.write_text(
            json.dumps([task("dam", 15, 18, "dam"), task("for", 20, 22, "or")]), "utf-8"
        )
        report = import_labels([file], coverage)
        assert UTF16 in report.warnings[0]
        assert places() == [("dam:q", 12, 15, "dam"), ("for:q", 21, 23, "or")]

    def test_crux(self, coverage: Campaign, tmp_path: Path) -> None:
        file = tmp_path / "ann" / "qlabels.jsonl"
        file.parent.mkdir()
        asked = [{"id": "duc1:q0", "text": "Is it?"}]
        reports = [{"id": "duc1", "text": FOR}]
        query = {"id": "duc1", "text": "?", "questions": asked, "reports": reports}
        load(tmp_path, [query], name="d")
        campaign = campaign_of("report-coverage", name="crux", batch="d")
        line = {"id": "duc1", "answerability": [1], "question_based_nugget": {"Is it?": "or"}}
        import_labels([write_lines(file, [line])], campaign)
        assert places() == [("duc1:q0", 21, 23, "or")]

    def test_rows_of_a_script(self, coverage: Campaign) -> None:
        report = import_rows(
            [label("dam", words("dam", 15)), label("for", {"text": "or"})], coverage
        )
        assert UTF16 in report.warnings[0]
        assert "labels" in report.warnings[0].split(":")[0]
        assert places() == [("dam:q", 12, 15, "dam"), ("for:q", 21, 23, "or")]

    @pytest.mark.parametrize("channel", ["judge", "parser", "import"])
    def test_judges(self, coverage: Campaign, channel: Any) -> None:
        judge = Rater.objects.create(name="k", kind="judge")
        self._submit(judge, "for", channel, {"quote": "or", "start": None})
        self._submit(judge, "dam", channel, {"quote": "dam", "start": 13})
        self._submit(judge, "plain", channel, {"quote": "it  CLOSED", "start": None})
        assert list(Span.objects.order_by("pk").values_list("start", "method")) == [
            (21, "exact"), (12, "exact"), (11, "folded"),
        ]  # fmt: skip

    def _submit(self, rater: Rater, key: str, channel: Any, quote: Mapping[str, Any]) -> None:
        item = Item.objects.get(key=key)
        row = Assignment.objects.create(item=item, rater=rater, asked=[f"{key}:q"])
        answer = {"answerable": "yes", "evidence": [quote]}
        submit(row, {"units": {f"{key}:q": answer}, "comment": None}, channel)

    def test_the_api_says_how_often_a_quote_without_a_start_occurs(
        self, coverage: Campaign
    ) -> None:
        found = {}
        for key, quote in (("for", "or"), ("dam", "dam")):
            row = person(coverage.items.get(key=key), "ann")
            answer = {"answerable": "yes", "evidence": [{"quote": quote, "start": None}]}
            outcome = submit(row, {"units": {f"{key}:q": answer}, "comment": None}, "api")
            found[key] = [str(each.message) for each in outcome.warnings]
        assert found == {
            "for": [],
            "dam": ["'dam' occurs 3 times in the report; the first was used"],
        }
        assert [start for _, start, _, _ in places()] == [21, 4]

    def test_a_page_gets_the_start_of_each_quote(self, coverage: Campaign) -> None:
        item = coverage.items.get(key="for")
        spec, asked = present(item), schema(coverage)
        quotes = [{"quote": "or", "start": None}, {"quote": "nowhere", "start": None}]
        payload = {"units": {"for:q": {"answerable": "yes", "evidence": quotes}}, "comment": None}
        (row,) = sheet_of(asked, spec, name_units(spec.units), payload).rows
        assert json.loads(row.evidence) == [{"quote": "or", "start": 21}, quotes[1]]


def test_the_upload_page_shows_the_remarks(db: None) -> None:
    study = make_study()
    key = study.campaign.items.order_by("position")[0].key
    text = present(study.campaign.items.get(key=key)).texts[0].text
    word = next(w for w in text.split() if text.count(w) > 1 and w.isalpha())
    line = {"item": key, "unit": "q:0", "variable": "answerable", "value": "yes", "rater": "crowd",
            "spans": [{"text": word}]}  # fmt: skip
    file = SimpleUploadedFile("labels.jsonl", json.dumps(line).encode())
    address = f"/campaigns/{study.campaign.pk}/import/"
    content = client_of(study.rita).post(address, {"file": file}, follow=True).content.decode()
    assert "times in the report; the first was used" in content

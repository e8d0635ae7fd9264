"""The native format accepts every key of a line, and reports every error in a line."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from datasets.readers import native, recognise
from tandem.files.rows import (
    AnswerPoint,
    InputError,
    KeyPoint,
    Nugget,
    Passage,
    Query,
    Question,
    Ranking,
    ReadNotes,
    Reference,
    Report,
)
from tests.datasets.helpers import jsonl, refusal

Row = dict[str, Any]

FULL: Row = {
    "id": "q 1/#",
    "text": "Why does 😀 e\u0301 مرحبا\r\nmatter?",
    "asked_at": "2024-05-31T12:30:00Z",
    "questions": [{"id": "q1:a", "text": "Who?", "weight": 2, "meta": {"by": "x"}}],
    "passages": [
        {
            "id": "p1",
            "text": "One. Two. One.",
            "title": "T",
            "source": "web",
            "published_at": "May 2024",
            "age": "3 days",
            "sentences": ["One.", "Two.", "One."],
            "relevant": False,
            "meta": {"nested": {"anything": [1, None]}},
        },
        {"id": "p2", "text": ""},
    ],
    "key_points": [
        {
            "id": "k1",
            "text": "Two",
            "passage": "p1",
            "spans": ["Two", "One"],
            "score": 1,
            "meta": {},
        }
    ],
    "nuggets": [
        {
            "id": "n1",
            "text": "It is one.",
            "importance": "vital",
            "sources": ["p1", "elsewhere"],
            "meta": {"n": 1},
        }
    ],
    "reports": [
        {
            "id": "r1",
            "text": "A report.",
            "system": "s",
            "setting": "t",
            "context": ["p2", "p1"],
            "citations": ["p1", "p1"],
            "sentences": ["A report."],
            "sentence_citations": [["p1", "elsewhere"]],
            "deflected": True,
            "key_points": [{"id": "r1:a", "text": "It is one.", "spans": ["A report"]}],
            "meta": {"k": 5},
        }
    ],
    "rankings": [{"system": "bm25", "passages": ["p1", "p9"]}],
    "references": [
        {
            "text": "",
            "citations": ["p1"],
            "sentences": ["s."],
            "deflected": True,
            "meta": {"by": 7},
        }
    ],
    "meta": {"domain": "law"},
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "batch.jsonl"


def read(file: Path, *rows: Row) -> tuple[list[Query], list[str]]:
    notes = ReadNotes()
    jsonl(file, *rows)
    return [located.query for located in native.read([file], notes)], notes.warnings


def changed(change: Callable[[Row], object]) -> Row:
    row = copy.deepcopy(FULL)
    change(row)
    return row


def refused(file: Path, row: Row) -> InputError:
    jsonl(file, {"id": "first", "text": "t"}, row)
    return refusal(lambda: native.read([file], ReadNotes()), file, 2)


def test_the_reader_reads_every_key(file: Path) -> None:
    (query,), warnings = read(file, FULL)
    assert query == Query(
        id="q 1/#",
        text="Why does 😀 e\u0301 مرحبا\r\nmatter?",
        asked_at="2024-05-31T12:30:00Z",
        questions=(Question("q1:a", "Who?", 2.0, {"by": "x"}),),
        passages=(
            Passage(
                id="p1",
                text="One. Two. One.",
                title="T",
                source="web",
                published_at="May 2024",
                age="3 days",
                sentences=("One.", "Two.", "One."),
                relevant=False,
                meta={"nested": {"anything": [1, None]}},
            ),
            Passage("p2", ""),
        ),
        key_points=(KeyPoint("k1", "Two", "p1", ("Two", "One"), 1.0, {}),),
        nuggets=(Nugget("n1", "It is one.", "vital", ("p1", "elsewhere"), {"n": 1}),),
        reports=(
            Report(
                id="r1",
                text="A report.",
                system="s",
                setting="t",
                context=("p2", "p1"),
                citations=("p1", "p1"),
                sentences=("A report.",),
                sentence_citations=(("p1", "elsewhere"),),
                deflected=True,
                key_points=(AnswerPoint("r1:a", "It is one.", ("A report",)),),
                meta={"k": 5},
            ),
        ),
        rankings=(Ranking("bm25", ("p1", "p9")),),
        references=(Reference("", ("p1",), ("s.",), True, {"by": 7}),),
        meta={"domain": "law"},
    )
    (warning,) = warnings
    assert '"One" occurs 2 times' in warning


def test_id_and_text_are_enough(file: Path) -> None:
    (query,), _ = read(file, {"id": "q", "text": "t"})
    assert query == Query("q", "t")


def test_null_counts_as_absent_for_optional_keys(file: Path) -> None:
    keys = ["asked_at", "questions", "passages", "key_points", "reports", "meta"]
    (query,), _ = read(file, {"id": "q", "text": "t"} | dict.fromkeys(keys))
    assert query == Query("q", "t")


def test_an_empty_list_differs_from_an_absent_one(file: Path) -> None:
    report: Row = {"id": "r", "text": "", "context": [], "citations": None}
    (query,), _ = read(file, {"id": "q", "text": "t", "reports": [report]})
    assert (query.reports[0].context, query.reports[0].citations) == ((), None)


def test_each_query_has_its_file_and_line(file: Path) -> None:
    jsonl(file, {"id": "a", "text": "t"}, {"id": "b", "text": "t"})
    places = [str(located.place) for located in native.read([file], ReadNotes())]
    assert places == [f"{file}, line 1", f"{file}, line 2"]


def test_whitespace_around_an_identifier_is_kept(file: Path) -> None:
    (query,), _ = read(file, {"id": " q\t", "text": " t "})
    assert (query.id, query.text) == (" q\t", " t ")


PARTS = {"questions", "passages", "key_points", "nuggets", "reports", "rankings", "references"}


@pytest.mark.every_case
@pytest.mark.parametrize("part", ["", *sorted(PARTS)])
def test_an_unknown_key_outside_meta_is_refused(file: Path, part: str) -> None:
    error = refused(file, changed(lambda r: (r[part][0] if part else r).update(zebra=1)))
    assert 'unknown key "zebra"' in error.wrong
    assert "the keys here are" in error.remedy


def test_an_unknown_key_with_line_breaks_gives_a_message_of_one_line(file: Path) -> None:
    error = refused(file, {"id": "q", "text": "t", "a\nb\u202e" + "x" * 5000: 1})
    assert len(str(error).splitlines()) == 1


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("part", "key"),
    [
        ("", "id"),
        ("", "text"),
        ("questions", "id"),
        ("questions", "text"),
        ("passages", "id"),
        ("passages", "text"),
        ("key_points", "id"),
        ("key_points", "text"),
        ("key_points", "passage"),
        ("reports", "id"),
        ("reports", "text"),
        ("rankings", "system"),
        ("references", "text"),
    ],
)
def test_the_reader_refuses_a_missing_required_key(file: Path, part: str, key: str) -> None:
    absent = refused(file, changed(lambda r: (r[part][0] if part else r).pop(key)))
    assert f'"{key}"' in absent.wrong
    assert absent.wrong.endswith("is missing")
    null = refused(file, changed(lambda r: (r[part][0] if part else r).update({key: None})))
    assert null.wrong.endswith("is null")


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("part", "key", "value"),
    [
        ("", "id", 1),
        ("", "text", ["t"]),
        ("", "asked_at", 2024),
        ("", "meta", "x"),
        ("", "meta", []),
        ("questions", "weight", True),
        ("questions", "weight", "1"),
        ("passages", "title", 7),
        ("passages", "age", 3),
        ("passages", "relevant", 1),
        ("passages", "relevant", "yes"),
        ("passages", "sentences", "One."),
        ("passages", "sentences", [1]),
        ("key_points", "score", False),
        ("key_points", "spans", [None]),
        ("key_points", "passage", 1),
        ("reports", "system", 1),
        ("reports", "deflected", "true"),
        ("reports", "context", {"a": 1}),
        ("reports", "citations", [True]),
        ("reports", "sentence_citations", {}),
        ("nuggets", "importance", 1),
        ("nuggets", "sources", "p1"),
        ("rankings", "passages", "p1"),
        ("references", "meta", 1),
    ],
)
def test_the_reader_refuses_a_value_of_a_wrong_type(
    file: Path, part: str, key: str, value: Any
) -> None:
    error = refused(file, changed(lambda r: (r[part][0] if part else r).update({key: value})))
    assert f'"{key}"' in error.wrong
    assert ", not " in error.wrong


@pytest.mark.every_case
@pytest.mark.parametrize("part", sorted(PARTS))
def test_the_reader_refuses_parts_that_are_not_objects(file: Path, part: str) -> None:
    assert "not a list" in refused(file, changed(lambda r: r.update({part: {}}))).wrong
    assert "not an object" in refused(file, changed(lambda r: r[part].append("x"))).wrong


def test_the_reader_says_which_part_is_wrong(file: Path) -> None:
    row = changed(lambda r: r["passages"][1].update(title=1))
    assert refused(file, row).wrong == '"title" of passage 2 is a number, not a string'


@pytest.mark.parametrize("blank", ["", " ", "\n\t"])
def test_the_reader_refuses_empty_identifiers_and_questions(file: Path, blank: str) -> None:
    assert "is empty" in refused(file, {"id": blank, "text": "t"}).wrong
    assert "is empty" in refused(file, {"id": "q", "text": blank}).wrong
    assert "is empty" in refused(file, changed(lambda r: r["reports"][0].update(id=blank))).wrong
    assert (
        "is empty"
        in refused(file, changed(lambda r: r["rankings"][0].update(passages=[blank]))).wrong
    )


@pytest.mark.every_case
@pytest.mark.parametrize(
    "date", ["2023-02-29", "31.5.2024", "20240531", "2024", "now", "", "٢٠٢٤-٠٥-٣١"]
)
def test_the_reader_refuses_an_invalid_date(file: Path, date: str) -> None:
    assert "not an ISO date" in refused(file, {"id": "q", "text": "t", "asked_at": date}).wrong


@pytest.mark.parametrize("score", [-0.01, 1.01, 2])
def test_the_reader_refuses_a_score_outside_its_range(file: Path, score: float) -> None:
    assert (
        "from 0 to 1"
        in refused(file, changed(lambda r: r["key_points"][0].update(score=score))).remedy
    )


def test_the_reader_refuses_a_negative_weight(file: Path) -> None:
    assert (
        "at least 0" in refused(file, changed(lambda r: r["questions"][0].update(weight=-1))).remedy
    )


@pytest.mark.parametrize("part", ["passages", "reports"])
def test_the_reader_refuses_sentences_that_are_not_verbatim(file: Path, part: str) -> None:
    def put(*sentences: str) -> Row:
        row = changed(lambda r: r["reports"][0].pop("key_points"))
        del row["reports"][0]["sentence_citations"]
        row[part][0].update(text="One. Two.", sentences=sentences)
        return row

    assert "sentence 1 of" in refused(file, put("one.")).wrong
    assert "out of order" in refused(file, put("Two.", "One.")).wrong
    assert "is not in its text" in refused(file, put("One.", "Two. Three.")).wrong
    assert "out of order" in refused(file, put("One.", "One.")).wrong
    assert "is empty" in refused(file, put("One.", "")).wrong
    assert len(read(file, put("One.", "Two."))[0]) == 1


@pytest.mark.every_case
@pytest.mark.parametrize("part", sorted(PARTS - {"references"}))
def test_the_reader_refuses_a_duplicate_part_on_a_line(file: Path, part: str) -> None:
    error = refused(file, changed(lambda r: r[part].append(copy.deepcopy(r[part][0]))))
    assert "appears twice on this line" in error.wrong


def test_the_reader_refuses_a_duplicate_passage_in_a_ranking_or_context(file: Path) -> None:
    twice = ["p1", "p2", "p1"]
    for row in (
        changed(lambda r: r["rankings"][0].update(passages=twice)),
        changed(lambda r: r["reports"][0].update(context=twice)),
    ):
        assert 'names the passage "p1" twice' in refused(file, row).wrong


def test_ids_that_differ_in_case_are_different(file: Path) -> None:
    rows = [{"id": "a", "text": "x"}, {"id": "A", "text": "y"}]
    (query,), _ = read(file, {"id": "q", "text": "t", "questions": rows})
    assert [question.id for question in query.questions] == ["a", "A"]


def test_a_span_that_is_not_in_its_passage_causes_a_warning(file: Path) -> None:
    row = changed(lambda r: r["key_points"][0].update(spans=["Two", "three"]))
    _, (warning,) = read(file, row)
    assert warning.startswith(f"{file}, line 1: key point")
    assert '"three"' in warning


def test_a_span_that_occurs_several_times_causes_a_warning(file: Path) -> None:
    passages = [{"id": "p1", "text": "Or cats or dogs or fish. Forest."}]
    points = [{"id": "k", "text": "t", "passage": "p1", "spans": ["cats", "or"]}]
    own = [{"id": "r1:a", "text": "t", "spans": ["It"]}]
    reports = [{"id": "r1", "text": "It is. It was.", "key_points": own}]
    row = {"id": "q", "text": "t", "passages": passages, "key_points": points, "reports": reports}
    _, warnings = read(file, row)
    assert [each.partition(": ")[2] for each in warnings] == [
        'key point "r1:a": its span "It" occurs 2 times in report "r1"; the first is shown',
        'key point "k": its span "or" occurs 2 times in passage "p1"; the first is shown',
    ]


def test_a_span_that_occurs_once_as_a_word_causes_no_warning(file: Path) -> None:
    passages = [{"id": "p1", "text": "For cats or dogs."}]
    points = [{"id": "k", "text": "t", "passage": "p1", "spans": ["or"]}]
    row = {"id": "q", "text": "t", "passages": passages, "key_points": points}
    assert read(file, row)[1] == []


def test_a_report_with_an_empty_list_of_points_differs_from_one_without_a_list(
    file: Path,
) -> None:
    reports: list[Row] = [{"id": "a", "text": "", "key_points": []}, {"id": "b", "text": ""}]
    (query,), _ = read(file, {"id": "q", "text": "t", "reports": reports})
    assert [report.key_points for report in query.reports] == [(), None]


def test_a_reports_point_with_a_span_outside_the_report_is_refused(file: Path) -> None:
    def put(*spans: str) -> Row:
        return changed(lambda r: r["reports"][0]["key_points"][0].update(spans=spans))

    error = refused(file, put("A report", "two reports"))
    wrong = 'span 2 of key point 1 of report 1 is not in the report: "two reports"'
    assert (error.wrong, error.remedy) == (
        wrong,
        "copy it from the report word for word, or leave it out",
    )
    assert "is empty" in refused(file, put("")).wrong


def test_an_unknown_key_in_a_reports_point_is_refused(file: Path) -> None:
    row = changed(lambda r: r["reports"][0]["key_points"][0].update(passage="p1"))
    assert refused(file, row).wrong == 'unknown key "passage" in key point 1 of report 1'


def test_points_of_a_report_and_of_the_query_cannot_share_an_id(file: Path) -> None:
    row = changed(lambda r: r["reports"][0]["key_points"][0].update(id="k1"))
    assert refused(file, row).wrong == 'the key point id "k1" appears twice on this line'


def test_spans_in_passages_of_other_lines_are_reported_as_not_checked(file: Path) -> None:
    row = changed(lambda r: r["key_points"][0].update(passage="elsewhere"))
    (query,), (warning,) = read(file, row)
    assert query.key_points[0].passage == "elsewhere"
    assert "not checked" in warning


def test_an_error_names_its_file_among_several(tmp_path: Path) -> None:
    good = jsonl(tmp_path / "a.jsonl", {"id": "a", "text": "t"})
    bad = jsonl(tmp_path / "b.jsonl", {"id": "b", "text": "t"}, {"id": "c"})
    assert refusal(lambda: native.read([good, bad], ReadNotes()), bad, 2).remedy


def test_the_citations_of_sentences_need_one_list_for_each_sentence(file: Path) -> None:
    def put(cited: Any, sentences: Any = ("A report.",)) -> Row:
        return changed(
            lambda r: r["reports"][0].update(sentences=sentences, sentence_citations=cited)
        )

    assert refused(file, put([["p1"]], None)).wrong == (
        '"sentence_citations" of report 1 has 1 lists for no sentences'
    )
    assert "has 2 lists for 1 sentences" in refused(file, put([["p1"], []])).wrong
    assert "is a string, not a list" in refused(file, put(["p1"])).wrong
    assert "is a list, not a list of strings" in refused(file, put([[1]])).wrong
    assert "is empty" in refused(file, put([[" "]])).wrong
    assert 'names the passage "p1" twice' in refused(file, put([["p1", "p1"]])).wrong
    assert len(read(file, put([[]]))[0]) == 1


def test_an_importance_other_than_vital_and_okay_is_refused(file: Path) -> None:
    error = refused(file, changed(lambda r: r["nuggets"][0].update(importance="Vital")))
    assert error.wrong == '"importance" of nugget 1 is "Vital"'
    assert error.remedy == "write one of vital, okay"


def test_a_query_with_nuggets_is_no_nugget_bank(tmp_path: Path) -> None:
    query = {"id": "q", "text": "Who?", "nuggets": [{"id": "n", "text": "Ada."}]}
    assert recognise([jsonl(tmp_path / "q.jsonl", query)]) == "native"

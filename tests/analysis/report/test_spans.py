"""Agreement on evidence in the report: from a frame's labels."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tandem.labels.facts import Evidence, EvidenceSpan, LabelKey
from tandem.labels.frame import make_frame
from tandem.sections.evidence import span_blocks, spans, tokens_of
from tests.analysis.cast import JUDGE, YES_NO, frame_of, table

# Five words: 0-3, 4-9, 10-12, 13-17, 18-23.
TEXT = "the quick is brown foxes"


def marks(**by_rater: Mapping[int, tuple[int, int] | None]) -> Evidence:
    """Spans of unit n in report n // 2, as in `table`; None is a quote that is not in the text."""
    found = {
        LabelKey(f"r{n // 2}", "question", f"q{n}", "answerable", rater): (
            EvidenceSpan("report", *(ends or (None, None))),
        )
        for rater, given in by_rater.items()
        for n, ends in given.items()
    }
    known = {(f"r{n}", "report"): TEXT for n in range(10)}
    return Evidence(found, known, {"answerable": "report"})


def block(rows: dict[str, str], found: Evidence) -> Any:
    return spans(frame_of(table(rows)).variables["answerable"], found, 50, 0).get("spans")


def test_span_measures_are_those_worked_by_hand() -> None:
    # Unit 0: 0-9 and 4-12: exact 0, overlap 1, IoU 5 of 12 so 0, characters 2 * 5 / 17.
    # Unit 1: nobody marked anything: all measures 1. Unit 2: only one person did: all 0.
    found = block(
        {"Ada": "yny", "Bram": "ynn"}, marks(Ada={0: (0, 9), 2: (0, 3)}, Bram={0: (4, 12)})
    )["agreement"]
    assert (found["documents"], found["marked"]) == (3, 2)
    assert found["all"]["exact_f1"]["value"] == pytest.approx(1 / 3)
    assert found["all"]["overlap_f1"]["value"] == pytest.approx(2 / 3)
    assert found["all"]["iou_f1"]["value"] == pytest.approx(1 / 3)
    assert found["all"]["character_f1"]["value"] == pytest.approx((10 / 17 + 1) / 3)
    assert found["both_marked"]["documents"] == 1
    assert found["both_marked"]["character_f1"]["value"] == pytest.approx(10 / 17)


def test_alpha_of_tokens_is_that_worked_by_hand() -> None:
    # One text of five words: Ada has words 1 and 2, Bram words 2 and 3: of 5 words 2 differ.
    # Of 10 labels 4 are in, 6 out: expected 2 * 4 * 6 / (10 * 9) = 48/90, alpha 1 - (2/5)/(48/90).
    found = block({"Ada": "y", "Bram": "y"}, marks(Ada={0: (0, 9)}, Bram={0: (4, 12)}))
    alpha = found["agreement"]["all"]["token_alpha"]
    assert alpha["value"] == pytest.approx(1 - (2 / 5) / (48 / 90))
    assert alpha["n"] == 5


def test_binary_alpha_for_unitising_is_that_worked_by_hand() -> None:
    # Unit 0: characters 0-9 and 4-12 of 24; unit 1: Bram marked 0-9 and Ada, who said no, nothing;
    # unit 2: Bram was not sure, so that nothing is compared. N_1 = 9 + 8 + 9, N = 96,
    # o = 7 + 9, squares 81 + 64 + 81. Without Bram's escape the n would be 3.
    given = marks(Ada={0: (0, 9), 2: (0, 3)}, Bram={0: (4, 12), 1: (0, 9)})
    found = block({"Ada": "yny", "Bram": "yy?"}, given)["agreement"]
    alpha = found["all"]["binary_unitising_alpha"]
    assert alpha["value"] == pytest.approx(1 - 16 * (96**2 - 70 - 226) / (96 * 26 * 70))
    assert alpha["n"] == found["documents"] == 2


TEXTS = {
    "emoji": "Say 👩‍👩‍👧 twice: 👩‍👩‍👧, and then stop.",
    "combining marks": "Cafe\u0301 or cafe\u0301: e\u0301tude after e\u0301tude, twice over.",
    "right to left": "שלום עולם, \u202bכתוב מימין\u202c לשמאל ושוב.",
    "lines": "One\r\ntwo\r\n\r\nthree, and\r\nfour at the end.",
}


@pytest.mark.parametrize("name", TEXTS)
def test_binary_alpha_for_unitising_counts_code_points(name: str) -> None:
    text = TEXTS[name]
    given = marks(Ada={0: (0, 10)}, Bram={0: (5, 15)})
    found = block({"Ada": "y", "Bram": "y"}, replace(given, texts={("r0", "report"): text}))
    total = 2 * len(text)
    expected = 1 - 10 * (total**2 - (total - 20) - 200) / (total * 20 * (total - 20))
    alpha = found["agreement"]["all"]["binary_unitising_alpha"]
    assert alpha["value"] == pytest.approx(expected)


@given(st.one_of(st.text(), st.sampled_from(sorted(TEXTS.values()))))
@example("\ud800a _1\U0010ffff")
def test_words_are_runs_of_letters_digits_and_underscores(text: str) -> None:
    found = [text[start:end] for start, end in tokens_of(text)]
    assert found == re.findall(r"\w+", text)


def test_people_who_mark_the_same_spans_agree_by_every_measure() -> None:
    alike = dict.fromkeys(range(6), (0, 9))
    found = block({"Ada": "y" * 8, "Bram": "y" * 8}, marks(Ada=alike, Bram=alike))["agreement"]
    assert {each["value"] for each in found["all"].values()} == {1.0}


def test_a_judge_is_compared_with_people_without_changing_their_agreement() -> None:
    people = {"Ada": "yy", "Bram": "yy"}
    given = {"Ada": {0: (0, 9)}, "Bram": {0: (0, 9), 1: (0, 3)}}
    alone = block(people, marks(**given))
    found = block({**people, JUDGE: "yy"}, marks(**given, **{JUDGE: {0: (0, 9), 1: (0, 3)}}))
    assert found["agreement"] == alone["agreement"]
    # Unit 0: equal to both. Unit 1: equal to Bram's, 0 with Ada, who marked nothing.
    judge = found["judges"][JUDGE]
    assert judge["all"]["exact_f1"]["value"] == pytest.approx((1 + 1 / 2) / 2)
    assert judge["both_marked"]["exact_f1"]["value"] == 1
    assert "with each person" in judge["all"]["unitising_alpha"]["method"]
    # Of the four pairs of 24 characters, one differs, by 3; N_1 = 4 * 9 + 3 * 3.
    binary = judge["all"]["binary_unitising_alpha"]
    assert "with each person" in binary["method"]
    assert binary["value"] == pytest.approx(
        1 - 3 * (192**2 - 147 - 4 * 81 - 3 * 9) / (192 * 45 * 147)
    )


def test_a_person_without_an_answer_does_not_count_as_marking_nothing() -> None:
    found = block({"Ada": "yy", "Bram": "y?"}, marks(Ada={0: (0, 3), 1: (0, 3)}, Bram={0: (0, 3)}))
    assert found["agreement"]["documents"] == 1
    assert found["agreement"]["all"]["exact_f1"]["value"] == 1


def test_marks_of_an_excluded_person_do_not_count() -> None:
    # Only Cleo marked another text, and one of her quotes is in no text.
    rows = {"Ada": "yyn", "Bram": "yyn"}
    both = marks(Ada={0: (0, 9), 1: (0, 3)}, Bram={0: (4, 12), 1: (0, 3)})
    hers = marks(Cleo={0: None, 1: (4, 9), 2: (0, 3)}).spans
    moved = {
        place: tuple(mark._replace(field="reference") for mark in found)
        for place, found in hers.items()
    }
    facts = table({**rows, "Cleo": "yyy"})
    left_out = make_frame(facts, {"answerable": YES_NO}, {"Cleo": "guessed"})
    for fields in (both.fields, {}):
        without = Evidence(both.spans, both.texts, fields)
        with_hers = Evidence({**moved, **both.spans}, both.texts, fields)
        found = spans(left_out.variables["answerable"], with_hers, 50, 0)["spans"]
        assert found == block(rows, without)


def test_quotes_not_found_in_the_text_are_left_out_and_counted() -> None:
    found = block({"Ada": "yy", "Bram": "yy"}, marks(Ada={0: (0, 3), 1: None}, Bram={0: (0, 3)}))
    assert found["unanchored"] == {"Ada": 1}
    assert found["agreement"]["documents"] == 1


def test_chance_corrected_agreement_without_texts_is_undefined_with_a_reason() -> None:
    known = marks(Ada={0: (0, 3)}, Bram={0: (0, 3)})
    found = block({"Ada": "y", "Bram": "y"}, replace(known, texts={}))
    every = found["agreement"]["all"]
    assert every["character_f1"]["value"] == 1
    assert every["token_alpha"]["reason"].startswith("the texts are not known")
    assert every["unitising_alpha"]["value"] is None
    assert every["binary_unitising_alpha"]["reason"] == every["token_alpha"]["reason"]


def test_with_missing_answers_alpha_is_computed_over_pairs() -> None:
    given = {0: (0, 9), 1: (4, 12)}
    found = block(
        {"Ada": "yyy", "Bram": "yy.", "Chidi": "yyy"}, marks(Ada=given, Bram=given, Chidi=given)
    )["agreement"]
    assert "over pairs of raters" in found["all"]["unitising_alpha"]["method"]
    assert found["all"]["unitising_alpha"]["value"] == pytest.approx(1)
    binary = found["all"]["binary_unitising_alpha"]
    assert "over pairs of raters" not in binary["method"]
    assert (binary["value"], binary["n"]) == (1, 3)


def test_there_is_no_block_if_nobody_marked_anything() -> None:
    assert block({"Ada": "yn", "Bram": "yn"}, Evidence()) is None
    assert span_blocks({}) == []

"""The pages of answer rating and answer preference: what is shown, in which order, and when."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import pytest

from annotation.blinding import blinding_of
from annotation.campaigns.design import Design
from annotation.item_context import Row, Sheet, sheet_of
from annotation.models import Assignment, Campaign
from annotation.presentation import ordered_texts, present, schema
from annotation.protocols import PROTOCOLS
from annotation.views.protocol_pages import answer_rating, page_for
from annotation.views.protocol_pages.answer_rating import Answer, Card
from annotation.views.protocol_pages.answer_rating import split_at_sentences as split
from judging.backends.base import Request
from tests.annotation.validating_cast import judge, judge_all, validating
from tests.blind_cast import LINE, TEXTS, blind_study, swapped_pair
from tests.cast import BRIDGE, FULL, RIVER
from tests.judging.cast import judge as model
from tests.judging.cast import run_scripted
from tests.page_cast import Study, client_of, page, study_of

pytestmark = pytest.mark.django_db
FIRST = ["appropriate", "natural", "abstains", "irrelevant", "eligibility"]
NEEDED = ("needed_question", "needed_answer")
BESIDE = [f", Answer {number}" for number in (1, 2, 3)]


def sheet(mine: Assignment) -> Sheet:
    spec = present(mine.item)
    texts = ordered_texts(mine, spec)
    units = blinding_of(mine, spec).units
    return sheet_of(schema(mine.item.campaign), spec, units, None, texts)


def answers_of(mine: Assignment) -> tuple[Answer, ...]:
    shown = answer_rating.facts(mine, present(mine.item), sheet(mine))
    return tuple(shown["answers"])


def cards_of(mine: Assignment) -> tuple[Card, ...]:
    shown: tuple[Card, ...] = answer_rating.facts(mine, present(mine.item), sheet(mine))["cards"]
    return shown


def body_of(mine: Assignment) -> str:
    user = mine.rater.user
    assert user is not None
    return client_of(user).get(page("item", mine)).content.decode()


def readings(body: str) -> dict[str, str]:
    """The texts of a page by their fields, as a browser reads them."""
    found = re.findall(r'<div class="reading"[^>]*data-text="([^"]+)"[^>]*>(.*?)</div>', body, re.S)
    return {field: html.unescape(re.sub(r"<[^>]+>", "", text)) for field, text in found}


def variables(body: str) -> set[str]:
    return set(re.findall(r'data-variable="(\w+)"', body))


def hidden(body: str, identity: str) -> bool:
    tag = re.search(rf'<[^>]*id="{identity}"[^>]*>', body)
    assert tag
    return " hidden" in tag[0]


def row(number: int, text: str) -> Row:
    return Row(number, f"u{number}", text, "", (), None, "", None)


def test_answers_are_shown_in_the_recorded_order(tmp_path: Path) -> None:
    study = blind_study("answer-rating", tmp_path)
    mine = study.assignment(study.ada)
    orders = set()
    for backwards in (True, False):
        mine.shown = sorted(mine.shown, reverse=backwards)
        mine.save()
        reports = [f.partition(":")[2] for f in mine.shown if f.startswith("report:")]
        shown = readings(body_of(mine))
        assert [shown[f"answer-{n}"] for n in (1, 2, 3)] == [TEXTS[key] for key in reports]
        asked = [answer.report for answer in answers_of(mine)]
        assert [mine.asked[r.number].removeprefix("report:") for r in asked if r] == reports
        orders.add(tuple(reports))
    assert len(orders) == 2


def test_the_sentences_of_an_answer_are_asked_beside_it(tmp_path: Path) -> None:
    study = study_of("answer-rating", tmp_path, lines=[{**LINE, "reports": [
        {"id": "r", "text": FULL, "system": "one"}, {"id": "r#1", "text": RIVER, "system": "two"},
    ]}])  # fmt: skip
    for answer in answers_of(study.assignment(study.ada)):
        text = "".join(piece.text for piece in answer.pieces)
        assert text in (FULL, RIVER)
        marked = [piece.text for piece in answer.pieces if piece.number is not None]
        assert marked == [each.text for each in answer.sentences]
        assert len(marked) > 1
        assert "".join(marked) != text


def test_passages_are_shown_in_the_recorded_order_with_their_own_questions(tmp_path: Path) -> None:
    study = blind_study("answer-rating", tmp_path, *NEEDED)
    mine = study.assignment(study.ada)
    mine.shown = ["passage:p#1", "passage:p", *(f for f in mine.shown if f.startswith("report:"))]
    mine.save()
    cards = cards_of(mine)
    assert [card.text.text for card in cards] == [RIVER, BRIDGE]
    assert [card.heading for card in cards] == ["", "The bridge"]
    assert [mine.asked[c.row.number] for c in cards if c.row] == ["q/1/p#1", "q/1/p"]


def test_each_passage_is_asked_about_for_each_answer_in_the_recorded_order(tmp_path: Path) -> None:
    study = blind_study("answer-rating", tmp_path, *NEEDED)
    mine = study.assignment(study.ada)
    orders = set()
    for backwards in (True, False):
        mine.shown = sorted(mine.shown, reverse=backwards)
        mine.save()
        reports = [f.partition(":")[2] for f in mine.shown if f.startswith("report:")]
        passages = [f.partition(":")[2] for f in mine.shown if f.startswith("passage:")]
        for card, passage in zip(cards_of(mine), passages, strict=True):
            assert [each.number for each in card.each] == [1, 2, 3]
            names = [mine.asked[each.row.number] for each in card.each]
            assert names == [f"{report}/{passage}" for report in reports]
            assert card.question == "Does the answer need it?"
        listed = re.findall(r'<p class="unit-text"[^>]*>(Passage[^<]*)</p>', body_of(mine))
        assert [re.sub(":.*", "", words) for words in listed] == [
            f"Passage {n}{answer}" for n in (1, 2) for answer in ("", *BESIDE)
        ]
        orders.add(tuple(reports))
    assert len(orders) == 2


def test_with_an_appropriateness_grade_the_passages_are_closed_at_first(tmp_path: Path) -> None:
    study = blind_study("answer-rating", tmp_path)
    mine = study.assignment(study.ada)
    body = body_of(mine)
    assert hidden(body, "passages")
    assert not hidden(body, "gate")
    for answer in answers_of(mine):
        assert [asked.name for asked in answer.first] == FIRST
        assert [asked.name for asked in answer.then] == ["faithful"]
        conditions = json.loads(answer.then[0].conditions)
        assert list(conditions) == FIRST
        assert conditions["appropriate"] == ["1", "2", "3", "4"]
        for each in answer.sentences:
            assert hidden(body, f"unit-{each.number}")
    for card in cards_of(mine):
        assert card.row
        assert hidden(body, f"unit-{card.row.number}")


@pytest.mark.every_case
@pytest.mark.parametrize(
    "asked",
    [("support",), ("faithful",), ("natural", "faithful"), NEEDED, ("support", *NEEDED)],
)
def test_passages_are_open_from_the_start_without_an_appropriateness_grade(
    asked: tuple[str, ...], tmp_path: Path
) -> None:
    study = blind_study("answer-rating", tmp_path, *asked)
    body = body_of(study.assignment(study.ada))
    assert variables(body) == set(asked)
    assert not hidden(body, "passages")
    assert 'id="gate"' not in body
    assert "data-if" not in body


@pytest.mark.first_case
@pytest.mark.parametrize(
    "asked", [("appropriate",), ("natural", "abstains"), ("irrelevant", "eligibility")]
)
def test_no_passages_are_shown_if_no_variable_needs_them(
    asked: tuple[str, ...], tmp_path: Path
) -> None:
    study = blind_study("answer-rating", tmp_path, *asked)
    body = body_of(study.assignment(study.ada))
    assert variables(body) == set(asked)
    assert "The bridge" not in body
    assert set(readings(body)) == {"answer-1", "answer-2", "answer-3"}
    assert 'id="gate"' not in body


def test_texts_reach_the_browser_unchanged_among_their_sentences(tmp_path: Path) -> None:
    study = study_of("answer-rating", tmp_path)
    shown = readings(body_of(study.assignment(study.ada)))
    assert {FULL, BRIDGE} <= set(shown.values())
    assert "\r\n" in FULL


def test_the_pieces_of_an_answer_add_up_to_its_text() -> None:
    sentences = (row(3, "Anna Lee\u0301 built it 🌉."), row(4, "It opened in 1901."))
    pieces = list(split(FULL, sentences))
    assert "".join(piece.text for piece in pieces) == FULL
    assert [p.number for p in pieces if p.number is not None] == [3, 4]


def test_a_repeated_sentence_is_located_twice() -> None:
    twice = (row(0, "It opened in 1901."), row(1, "It opened in 1901."))
    pieces = list(split(FULL, twice))
    assert [p.number for p in pieces if p.text == "It opened in 1901."] == [0, 1]
    assert "".join(piece.text for piece in pieces) == FULL


def test_a_sentence_is_located_despite_different_blanks() -> None:
    pieces = list(
        split("One  line.\r\nAnother\tline.", (row(0, "One line."), row(1, "Another line.")))
    )
    assert [(p.number, p.text) for p in pieces if p.number is not None] == [
        (0, "One  line."),
        (1, "Another\tline."),
    ]


def test_an_unlocated_sentence_marks_nothing_in_the_text() -> None:
    assert [p.number for p in split("Anna.", (row(0, "Completely other words here."),))] == [None]
    assert list(split("", ())) == []


def test_a_pair_is_shown_left_and_right_in_the_recorded_order(tmp_path: Path) -> None:
    study = blind_study("answer-preference", tmp_path, reports=2)
    for yes in (True, False):
        mine = swapped_pair(study, study.ada, yes)
        shown = readings(body_of(mine))
        texts = list(TEXTS.values())[:2]
        assert [shown["answer-1"], shown["answer-2"]] == (texts[::-1] if yes else texts)


def test_the_choices_for_a_pair_name_both_sides_and_both_ties(tmp_path: Path) -> None:
    study = blind_study("answer-preference", tmp_path, reports=2)
    body = body_of(swapped_pair(study, study.ada, True))
    choices = re.findall(r'data-key="(\d)".*?value="([\w-]+)".*?<span>([^<]+)</span>', body)
    assert choices == [
        ("1", "first", "Left is better"),
        ("2", "second", "Right is better"),
        ("3", "tie-good", "Both good"),
        ("4", "tie-bad", "Both bad"),
    ]


@pytest.mark.first_case
@pytest.mark.parametrize("protocol", ["answer-rating", "answer-preference"])
def test_the_list_of_keys_contains_the_keys_of_the_page(protocol: str, tmp_path: Path) -> None:
    study = blind_study(protocol, tmp_path)
    body = body_of(study.assignment(study.ada))
    for key, what in page_for(PROTOCOLS[protocol]).keys:
        caps = "".join(f"<kbd>{one}</kbd>" for one in key.split())
        assert f"<dt>{caps}</dt><dd>{what}</dd>" in html.unescape(body)


def test_nothing_is_hidden_when_a_judges_labels_are_shown(tmp_path: Path) -> None:
    judge()
    study = study_of("answer-rating", tmp_path, validating())
    judge_all(study.campaign)
    body = body_of(study.assignment(study.ada))
    assert "data-verdict" in body
    assert 'id="gate"' not in body
    assert not hidden(body, "passages")


def test_an_answer_of_20_000_words_is_split_into_pieces() -> None:
    sentences = [f"Sentence {n} of a long answer goes on and on 🌉." for n in range(2000)]
    rows = tuple(row(n, text.replace(" ", "  ", n % 2)) for n, text in enumerate(sentences))
    pieces = list(split(" ".join(sentences), rows))
    strange = list(split(" ".join(sentences), tuple(row(n, f"No {n}.") for n in range(2000))))
    assert sum(piece.number is not None for piece in pieces) == 2000
    assert [piece.number for piece in strange] == [None]


def test_a_closed_campaign_shows_the_answers(tmp_path: Path) -> None:
    study = blind_study("answer-rating", tmp_path)
    mine = study.assignment(study.ada)
    study.campaign.is_open = False
    study.campaign.save()
    assert "data-closed" in body_of(mine)


def test_an_unshuffled_campaign_keeps_the_order_of_the_batch(tmp_path: Path) -> None:
    study = blind_study("answer-preference", tmp_path, reports=2)
    mine = study.assignment(study.ada)
    mine.shown = []
    mine.save()
    assert [t.text for _, t in sheet(mine).texts] == list(TEXTS.values())[:2]
    assert not blinding_of(mine, present(mine.item)).swapped


REFERENCES = [{"text": "By hand 🌉."}, {"text": "", "deflected": True}]


def with_references(folder: Path, *variables: str) -> Study:
    design = Design(variables=variables, seed=5)
    return study_of("answer-rating", folder, design, [{**LINE, "references": REFERENCES}])


def test_eligibility_is_judged_against_the_reference_answers(tmp_path: Path) -> None:
    study = with_references(tmp_path, "eligibility")
    body = body_of(study.assignment(study.ada))
    shown = readings(body)
    assert (shown["reference-1"], shown["reference-2"]) == ("By hand 🌉.", "")
    assert "Reference answer 1" in body
    assert "<i>The writer found</i> too little for an answer" in body
    assert "The bridge" not in body
    assert not hidden(body, "passages")


@pytest.mark.parametrize("asked", [("appropriate",), ("support",), ("natural", "faithful")])
def test_references_are_shown_for_eligibility_only(asked: tuple[str, ...], tmp_path: Path) -> None:
    study = with_references(tmp_path, *asked)
    body = body_of(study.assignment(study.ada))
    assert "By hand" not in body
    assert not [field for field in readings(body) if field.startswith("reference")]


def test_references_are_hidden_until_appropriateness_is_graded(tmp_path: Path) -> None:
    study = with_references(tmp_path, "appropriate", "eligibility")
    mine = study.assignment(study.ada)
    body = body_of(mine)
    assert hidden(body, "passages")
    assert "The reference answers are hidden" in body
    for answer in answers_of(mine):
        assert [asked.name for asked in answer.first] == ["appropriate"]
        assert [asked.name for asked in answer.then] == ["eligibility"]
        assert list(json.loads(answer.then[0].conditions)) == ["appropriate"]


def test_a_campaign_of_protocol_version_1_shows_no_references(tmp_path: Path) -> None:
    """Its eligibility was judged without references, and stays comparable."""
    study = with_references(tmp_path, "eligibility")
    Campaign.objects.update(protocol_version="1")
    study.campaign.refresh_from_db()
    assert "By hand" not in body_of(study.assignment(study.ada))


def test_a_judge_is_shown_the_references_in_the_same_words(tmp_path: Path) -> None:
    study = with_references(tmp_path, "eligibility")
    asked: list[str] = []

    def answers(request: Request) -> str:
        asked.append("\n".join(message.content for message in request.messages))
        return json.dumps({unit.name: {"eligibility": "none"} for unit in request.facts.units})

    run_scripted(study.campaign, model("judge", granularity="item"), answers)
    # Each of the three answers alone, and all of them with the references.
    assert len(asked) == 3
    for words in asked:
        assert "\nBy hand 🌉.\n" in words
        assert 'Text 2: "Reference answer"; the writer found: "too little for an answer"' in words
    assert PROTOCOLS["answer-rating"].prompt_version == "2"

"""The items that each protocol creates from the fixed query, and the names of their units."""

from __future__ import annotations

from dataclasses import replace

import pytest

from annotation.protocols import PROTOCOLS
from annotation.protocols.base import OPENING, first_words
from annotation.protocols.schema import schema_of
from tandem.files.rows import KeyPoint, Passage, Query
from tandem.protocols.base import ItemSpec, name_units
from tests.annotation.protocol_cast import BRIDGE, QUERY, RIVER

ALL = [pytest.param(protocol, id=name) for name, protocol in PROTOCOLS.items()]


def items(name: str, *variables: str, query: Query = QUERY) -> list[ItemSpec]:
    protocol = PROTOCOLS[name]
    return list(protocol.make_items(query, schema_of(protocol, variables).variables))


def units(item: ItemSpec) -> list[tuple[str, str]]:
    return [(unit.kind, unit.key) for unit in item.units]


def test_report_coverage_asks_every_question_of_every_report():
    made = items("report-coverage")
    assert [item.key for item in made] == ["r", "r#1", "zeta-system/🌉"]
    assert [item.report for item in made] == [item.key for item in made]
    assert {tuple(units(item)) for item in made} == {(("question", "a/b#1"), ("question", "🌉"))}
    assert [t.field for t in made[0].texts] == ["report"]
    assert made[0].texts[0].text == QUERY.reports[0].text
    assert (made[0].system, made[0].setting) == ("bm25-system", "top-ten")


def test_rubric_passage_asks_every_question_of_every_passage():
    made = items("rubric-passage")
    assert [item.key for item in made] == ["q/1/p", "q/1/p#1"]
    assert [item.passage for item in made] == ["p", "p#1"]
    assert units(made[1]) == [("question", "a/b#1"), ("question", "🌉")]
    assert [(t.field, t.text) for t in made[1].texts] == [("passage", RIVER.text)]


def test_key_point_verification_shows_the_source_passage_with_suggested_quotes():
    made = items("key-point-verification")
    assert [item.key for item in made] == [item.key_point for item in made] == ["k/1", "k#2"]
    assert [units(item) for item in made] == [[("key-point", "k/1")], [("key-point", "k#2")]]
    assert [item.texts[0].text for item in made] == [BRIDGE.text, RIVER.text]
    assert [item.texts[0].field for item in made] == ["passage", "passage"]
    assert [item.texts[0].suggested for item in made] == [("opened in 1901",), ()]
    assert [item.passage for item in made] == ["p", "p#1"]


def test_a_key_point_whose_source_is_not_shown_makes_no_item():
    query = replace(QUERY, passages=(RIVER,))
    assert [item.key for item in items("key-point-verification", query=query)] == ["k#2"]


def test_key_point_recall_asks_every_key_point_of_every_report():
    made = items("key-point-recall")
    assert [item.key for item in made] == ["r", "r#1", "zeta-system/🌉"]
    assert units(made[2]) == [("key-point", "k/1"), ("key-point", "k#2")]
    assert [t.field for t in made[2].texts] == ["report"]
    assert made[2].report == "zeta-system/🌉"


def test_grounding_relevance_shows_all_passages_with_source_date_and_age():
    (made,) = items("grounding-relevance")
    assert made.key == "q/1"
    assert units(made) == [("passage", "q/1/p"), ("passage", "q/1/p#1")]
    assert [t.field for t in made.texts] == ["passage:p", "passage:p#1"]
    assert made.texts[0].facts == (("source", "web"), ("date", "2024-04-30"), ("age", "3 days"))
    assert made.texts[1].facts == (("source", "private"),)


def test_question_typing_asks_about_the_query_alone():
    (made,) = items("question-typing")
    assert (made.key, units(made), made.texts) == ("q/1", [("query", "q/1")], ())
    assert made.units[0].text == QUERY.text


def test_grounded_answer_asks_about_sentences_or_undivided_passages():
    (made,) = items("grounded-answer")
    assert made.key == "q/1"
    assert units(made) == [
        ("passage-sentence", "q/1/p#1"),
        ("passage-sentence", "q/1/p#2"),
        ("passage", "q/1/p#1"),
        ("query", "q/1"),
    ]
    assert [t.field for t in made.texts] == ["passage:p", "passage:p#1"]
    assert [u.text for u in made.units[:2]] == list(BRIDGE.sentences or ())


def test_grounded_answer_makes_units_only_for_asked_variables():
    (made,) = items("grounded-answer", "descriptor", "deflected")
    assert units(made) == [("query", "q/1")]


def test_a_validation_pass_asks_the_sentences_of_the_reports():
    (made,) = items("grounded-answer", "grounded")
    assert units(made) == [
        ("sentence", "r#1"),
        ("sentence", "r#2"),
        ("sentence", "r#1#1"),
        ("sentence", "zeta-system/🌉#1"),
    ]
    fields_shown = [t.field for t in made.texts]
    assert fields_shown[:2] == ["passage:p", "passage:p#1"]
    assert fields_shown[2:] == ["report:r", "report:r#1", "report:zeta-system/🌉"]


def test_answer_rating_asks_reports_sentences_and_passages():
    (made,) = items("answer-rating")
    assert made.key == "q/1"
    assert units(made) == [
        ("report", "r"),
        ("report", "r#1"),
        ("report", "zeta-system/🌉"),
        ("sentence", "r#1"),
        ("sentence", "r#2"),
        ("sentence", "r#1#1"),
        ("sentence", "zeta-system/🌉#1"),
        ("passage", "q/1/p"),
        ("passage", "q/1/p#1"),
        ("report-passage", "r/p"),
        ("report-passage", "r/p#1"),
        ("report-passage", "r#1/p"),
        ("report-passage", "r#1/p#1"),
        ("report-passage", "zeta-system/🌉/p"),
        ("report-passage", "zeta-system/🌉/p#1"),
    ]
    assert made.units[-1].of == ("report:zeta-system/🌉", "passage:p#1")
    assert made.units[-1].text == "It spans the river. قديم, for the answer “It is old.”"
    assert {unit.of for unit in made.units[:9]} == {()}


def test_answer_rating_version_1_asks_about_passages_once_for_all_answers():
    first = PROTOCOLS["answer-rating"].as_of("1")
    (made,) = first.make_items(QUERY, schema_of(first, ["needed_answer"]).variables)
    assert units(made) == [("passage", "q/1/p"), ("passage", "q/1/p#1")]


def test_answer_rating_hides_the_passages_if_only_answers_are_rated():
    (apart,) = items("answer-rating", "appropriate", "natural")
    assert {kind for kind, _ in units(apart)} == {"report"}
    assert [t.field for t in apart.texts] == ["report:r", "report:r#1", "report:zeta-system/🌉"]
    (held,) = items("answer-rating", "support")
    assert {kind for kind, _ in units(held)} == {"sentence"}
    assert "passage:p" in [t.field for t in held.texts]


def test_answer_preference_asks_every_pair_once_in_batch_order():
    made = items("answer-preference")
    keys = ["r/r#1", "r/zeta-system/🌉", "r#1/zeta-system/🌉"]
    assert [item.key for item in made] == keys
    assert [units(item) for item in made] == [[("pair", key)] for key in keys]
    assert [t.field for t in made[0].texts] == ["report:r", "report:r#1"]
    assert [t.field for t in made[2].texts] == ["report:r#1", "report:zeta-system/🌉"]


@pytest.mark.parametrize("protocol", ALL)
def test_every_unit_has_a_unique_name_and_keeps_its_key(protocol):
    everything = [v.name for v in protocol.variables]
    for item in items(protocol.name, *everything):
        named = name_units(item.units)
        assert list(named.values()) == list(item.units)
        assert all(name in (u.key, f"{u.kind}:{u.key}") for name, u in named.items())


def test_a_report_named_like_a_sentence_is_distinguished_from_it():
    (made,) = items("answer-rating", "abstains", "support")
    named = name_units(made.units)
    assert named["report:r#1"].text == "Nobody knows."
    assert named["sentence:r#1"].text == "Anna Lee built it 🌉."
    assert "r#1" not in named
    assert named["r#2"].kind == "sentence"


def test_a_report_named_like_a_prefixed_unit_is_distinguished_from_it():
    trap = replace(QUERY.reports[2], id="sentence:r#1")
    query = replace(QUERY, reports=(*QUERY.reports[:2], trap))
    (made,) = items("answer-rating", "abstains", "support", query=query)
    named = name_units(made.units)
    assert len(named) == len(made.units)
    assert named["report:sentence:r#1"].text == "It is old."
    assert named["sentence:r#1"].text == "Anna Lee built it 🌉."


@pytest.mark.parametrize("protocol", ALL)
def test_no_shown_text_names_a_system_or_a_setting(protocol):
    everything = [v.name for v in protocol.variables]
    secrets = ("bm25-system", "oracle-system", "zeta-system", "top-ten", "zero")
    for item in items(protocol.name, *everything):
        words = [u.text for u in item.units]
        for text in item.texts:
            words += [text.text, text.heading, *text.suggested, *map(" ".join, text.facts)]
        assert not [w for w in words for secret in secrets if secret in w]


@pytest.mark.parametrize("name", ["answer-rating", "answer-preference", "grounded-answer"])
def test_all_answers_have_the_same_heading(name):
    everything = [v.name for v in PROTOCOLS[name].variables]
    for item in items(name, *everything):
        headings = {t.heading for t in item.texts if t.field.startswith("report:")}
        assert headings == {"Answer"}


@pytest.mark.parametrize("protocol", ALL)
def test_a_protocols_needs_are_sufficient_to_make_its_items(protocol):
    everything = [v.name for v in protocol.variables]
    bare = replace(
        QUERY,
        questions=QUERY.questions if "questions" in protocol.needs else (),
        passages=QUERY.passages if "passages" in protocol.needs else (),
        key_points=QUERY.key_points if "key_points" in protocol.needs else (),
        reports=QUERY.reports if "reports" in protocol.needs else (),
    )
    assert items(protocol.name, *everything, query=bare) == items(protocol.name, *everything)


@pytest.mark.parametrize("protocol", ALL)
def test_a_bare_query_makes_an_item_only_if_the_protocol_asks_about_it(protocol):
    expected = 1 if protocol.name in ("question-typing", "grounded-answer") else 0
    assert len(items(protocol.name, query=Query("q", "Why?"))) == expected


@pytest.mark.parametrize("protocol", ALL)
def test_texts_stay_verbatim(protocol):
    text = "\r\n e\u0301 שלום 🌉 {query} \u200b"
    query = replace(
        QUERY,
        passages=(Passage("p", text),),
        key_points=(KeyPoint("k", "Point", "p"),),
        reports=tuple(replace(r, text=text) for r in QUERY.reports),
    )
    shown = {t.text for item in items(protocol.name, query=query) for t in item.texts}
    assert shown == ({text} if protocol.name != "question-typing" else set())


def test_a_long_unit_is_named_by_its_opening_words():
    assert first_words("One\r\n  two") == "One two"
    assert first_words("a" * OPENING) == "a" * OPENING
    assert first_words("a" * (OPENING + 1)) == "a" * (OPENING - 1) + "…"

"""The lexical judge gives valid, reproducible answers to every protocol, explained by words."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from annotation.models import Label
from annotation.protocols import PROTOCOLS
from datasets.text import sentences
from judging.backends.base import AskedUnit, AskedVariable, Facts, Request, Setup
from judging.backends.lexical import Lexical, content_words
from judging.prompts.request import Preparer
from judging.prompts.template import read_prompt
from judging.runs import ledger, planning
from tandem.protocols.grounded_answer import DECLARATION
from tandem.protocols.validation import check
from tests import protocol_cast
from tests.cast import run
from tests.judging.cast import campaign_of, judge, run_scripted

LEXICAL = Lexical(Setup(split_sentences=sentences))
ANSWERABLE = AskedVariable("answerable", ("yes", "no", "invalid"), "nominal")
RATING = AskedVariable("rating", tuple("012345"), "ordinal")


def answer(
    text: str, question: str, variable: AskedVariable = ANSWERABLE, **unit: Any
) -> dict[str, Any]:
    asked = AskedUnit("q1", "question", question, (variable,), **unit)
    facts = Facts("", (text,), (asked,), unit_by_unit=True)
    read: dict[str, Any] = json.loads(asyncio.run(LEXICAL.ask(Request((), {}, facts))).text)
    return read


def covered(text: str, question: str) -> dict[str, Any]:
    return answer(text, question, evidence=("answerable", "yes"))


def test_a_question_whose_words_are_in_a_sentence_is_a_yes_quoting_it() -> None:
    got = covered("It rained. The ferry sank in March. All slept.", "When did the ferry sink?")
    assert got["answerable"] == "no"
    got = covered("It rained. The ferry sank in March. All slept.", "When had the ferry sank?")
    assert got == {
        "evidence": [{"quote": "The ferry sank in March.", "start": None}],
        "answerable": "yes",
    }


def test_two_neighbouring_sentences_count_together_and_the_fuller_one_is_quoted() -> None:
    text = "The red ferry left port. It sank. Much later a storm came."
    assert covered(text, "Had the red ferry sank?")["evidence"][0]["quote"] == (
        "The red ferry left port."
    )
    assert covered("A ferry left. It rained. All sank.", "ferry sank storm")["answerable"] == "no"


def test_a_no_has_no_quote() -> None:
    assert covered("It rained.", "Who built it?") == {"evidence": [], "answerable": "no"}


def test_a_question_of_stop_words_alone_is_a_no() -> None:
    assert covered("Who is it?", "Who is it?")["answerable"] == "no"


@pytest.mark.parametrize("text", ["", "  \n", "🌉🌉", "قديم"])
def test_any_text_can_be_judged(text: str) -> None:
    assert covered(text, "When did the ferry sink?")["answerable"] == "no"


def test_an_ordered_scale_is_divided_into_equal_parts() -> None:
    words = "alpha beta gamma delta epsilon zeta"
    found = [answer(" ".join(words.split()[:n]), words, RATING)["rating"] for n in range(7)]
    assert found == ["0", "1", "2", "3", "4", "5", "5"]


PREFERENCE = AskedVariable("preference", ("first", "second"), "nominal")


def preferred(query: str, *texts: str, kind: str = "pair") -> str:
    unit = AskedUnit("p1", kind, "Which is better?", (PREFERENCE,))
    facts = Facts(query, texts, (unit,), unit_by_unit=True)
    return str(json.loads(asyncio.run(LEXICAL.ask(Request((), {}, facts))).text)["preference"])


def test_the_text_of_a_pair_with_more_words_of_the_query_is_preferred() -> None:
    query, rich, poor = "When did the red ferry sink?", "A red ferry.", "One ferry."
    assert preferred(query, rich, poor) == "first"
    assert preferred(query, poor, rich) == "second"
    assert preferred(query, poor, poor) == "first"
    assert preferred("Who is it?", "It rained.", rich) == "first"


def test_only_pairs_of_two_texts_are_compared_and_others_get_the_first_code() -> None:
    query, rich, poor = "When did the red ferry sink?", "A red ferry.", "One ferry."
    assert preferred(query, poor, rich, "It rained.") == "first"
    assert preferred(query, poor, rich, kind="item") == "first"


@pytest.mark.parametrize(
    "forms",
    ["bridge bridges", "open opened opening openings", "ferry ferries", "judged judging Judges"],
)
def test_words_are_compared_without_their_endings(forms: str) -> None:
    assert len(content_words(forms)) == 1


def test_stop_words_and_punctuation_do_not_count() -> None:
    assert content_words("What is the, and who were they? – 🌉") == frozenset()


@pytest.mark.parametrize("granularity", ["item", "unit"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_lexical_answers_are_valid_for_every_protocol(
    db: None, tmp_path: Path, protocol: str, granularity: str
) -> None:
    study = campaign_of(tmp_path, protocol)
    rater = judge(granularity=granularity)
    planning.plan(study, rater)
    preparer = Preparer(study, rater, read_prompt(PROTOCOLS[protocol].prompt), LEXICAL)
    for row in ledger.assignments_of(study, rater).select_related("item__campaign", "item__query"):
        prepared = preparer.prepare(row)
        reading = prepared.read(asyncio.run(LEXICAL.ask(prepared.request)))
        assert reading.steps == ("as-is",)
        entries, _ = check(preparer.schema, prepared.units, reading.units, "judge")
        assert len(entries) == len(prepared.units)


@pytest.mark.first_case
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_lexical_answers_are_stored_under_the_units_real_names(
    db: None, tmp_path: Path, protocol: str
) -> None:
    study = campaign_of(tmp_path, protocol)
    run, ending, _ = run_scripted(study, judge(), backend=LEXICAL)  # type: ignore[arg-type]
    assert ending.how == "finished"
    # Each answer is rated by itself.
    asked = study.items.count() if protocol != "answer-rating" else 6
    assert (run.done, run.failed) == (asked, 0)
    labelled = Label.objects.values_list("unit").distinct().count()
    assert labelled == sum(item.units.count() for item in study.items.all())


def test_optional_variables_and_categories_are_answered_too(db: None, tmp_path: Path) -> None:
    study = campaign_of(tmp_path, variables="answerable,rating")
    run, _, _ = run_scripted(study, judge(), backend=LEXICAL)  # type: ignore[arg-type]
    assert run.done == study.items.count()
    assert Label.objects.filter(variable="rating").count() == 12


def test_equal_requests_get_equal_answers(db: None, tmp_path: Path) -> None:
    study = campaign_of(tmp_path)
    for name in ("first", "second"):
        run_scripted(study, judge(name), backend=LEXICAL)  # type: ignore[arg-type]
    values: list[list[tuple[Any, ...]]] = [
        list(
            Label.objects.filter(response__assignment__rater__name=name)
            .order_by("unit")
            .values_list("unit", "value", "spans__quote")
        )
        for name in ("first", "second")
    ]
    assert values[0] == values[1]


def test_it_does_not_contradict_itself() -> None:
    variables = tuple(
        AskedVariable(v.name, v.codes, v.level)
        for v in DECLARATION.variables
        if v.name in ("descriptor", "deflected")
    )
    unit = AskedUnit(
        "q", "query", "Who built it?", variables, contradictions=DECLARATION.contradictions
    )
    answers = LEXICAL.answers(Facts("Who built it?", (), (unit,), unit_by_unit=True))
    assert answers["q"] == {"descriptor": "partial", "deflected": "yes"}


def test_an_escape_is_no_step_of_a_scale() -> None:
    grade = AskedVariable("grade", ("1", "2", "3", "none"), "ordinal", escapes=("none",))
    assert answer("The ferry sank.", "ferry sank", grade)["grade"] == "3"
    assert answer("It rained.", "ferry sank", grade)["grade"] == "1"


@pytest.mark.django_db
def test_a_protocol_with_quotes_in_two_texts_gets_one_from_each(tmp_path: Path) -> None:
    run("protocol", "add", protocol_cast.write_protocol(tmp_path))
    run("load_batch", protocol_cast.write_batch(tmp_path), "--name", "b")
    run("create_campaign", "c", "--protocol", protocol_cast.NAME, "--batch", "b")
    run("create_judge", "words", "--backend", "lexical")
    assert "6 done, 0 failed" in run("run_judge", "--judge", "words", "--campaign", "c")
    full = Label.objects.filter(variable="support", value="full", unit__key="plain-1#1/p")
    quotes = full.get().spans.values_list("field", "quote")
    assert set(quotes) == {("report", "Ada built it."), ("passage:p", "Ada built it.")}

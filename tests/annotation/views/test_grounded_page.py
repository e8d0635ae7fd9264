"""The page of grounded answers as rendered by the server: passages, ticks and first answers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from annotation.answers.submission import submit
from annotation.assignments.queue import next_assignment
from annotation.campaign_setup.creation import create_campaign
from annotation.campaigns.design import Design
from annotation.models import Assignment, User, rater_of
from annotation.views.protocol_pages.grounded_answer import markers
from datasets.models import Batch
from tests.annotation.prerequisites.test_second_round import FIRST_TEXT, after, answer, taken, write
from tests.cast import RIVER
from tests.page_cast import Study, client_of, page, study_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return study_of("grounded-answer", tmp_path)


def shown(study: Study, assignment: Assignment, name: str = "ada") -> str:
    response = client_of(getattr(study, name)).get(page("item", assignment))
    assert response.status_code == 200
    return response.content.decode()


def test_each_sentence_and_each_undivided_passage_has_a_tick_box(study: Study) -> None:
    html = shown(study, study.assignment(study.ada))
    assert html.count('class="tick-box"') == 3
    assert html.count("unit tick whole") == 1
    assert RIVER.splitlines()[1].split(".")[0] in html
    assert "Passage 2 helps to answer" in html


def test_passages_show_source_date_and_age(study: Study) -> None:
    html = shown(study, study.assignment(study.ada))
    for fact in ("web", "30 April 2024", "3 days", "private"):
        assert f"</i> {fact}</span>" in html


def test_passages_given_as_relevant_need_no_ticks_and_can_all_be_cited(
    tmp_path: Path,
) -> None:
    design = Design(variables=("descriptor", "deflected"), passages="relevant")
    study = study_of("grounded-answer", tmp_path, design)
    html = shown(study, study.assignment(study.ada))
    assert "tick-box" not in html
    assert html.count("data-source=") == html.count('data-without-ticks="yes"') == 1
    assert "built it." in html


def test_words_outside_all_sentences_can_be_read(study: Study) -> None:
    html = shown(study, study.assignment(study.ada))
    assert html.count("The passage as a whole") == 1
    assert "said the pilot" in html


def test_a_page_without_a_first_round_shows_no_first_answer(study: Study) -> None:
    html = shown(study, study.assignment(study.ada))
    assert "first-text" not in html
    assert 'data-variable="action"' not in html


def test_passage_numbers_follow_the_batch_whatever_order_is_shown(tmp_path: Path) -> None:
    design = Design(order="random", seed=3, raters_per_item=40)
    study = study_of("grounded-answer", tmp_path, design)
    seen = set()
    # A rater's pseudonym decides which of the two orders the rater sees.
    for number in range(40):
        user = User.objects.create(username=f"rater-{number}", role="annotator")
        assignment = study.assignment(user)
        html = client_of(user).get(page("item", assignment)).content.decode()
        heads = [part.split('"')[0] for part in html.split('data-source="')[1:]]
        assert sorted(heads) == ["1", "2"]
        assert 'value="p" data-number="1"' in html
        assert 'value="p#1" data-number="2"' in html
        assert [f"passage:{k}" for k in _keys(heads)] == (
            assignment.shown or ["passage:p", "passage:p#1"]
        )
        seen.add(tuple(heads))
        if len(seen) == 2:
            return
    raise AssertionError(f"40 people saw {seen} only")


def _keys(heads: list[str]) -> list[str]:
    return [{"1": "p", "2": "p#1"}[head] for head in heads]


def test_the_second_round_shows_the_first_answer_and_its_ticks(study: Study) -> None:
    second = after(study)
    write(study)
    html = shown(study, taken(second, rater_of(study.ben)), "ben")
    assert "שלום [2]." in html
    assert "&#13;\nשלום" in html
    assert not re.search(r"\bada\b", html)
    assert html.index('data-variable="action"') < html.index('data-variable="descriptor"')


def test_the_page_says_that_a_first_answer_was_withdrawn(study: Study) -> None:
    second, first = after(study), write(study)
    mine = taken(second, rater_of(study.ben))
    submit(first, answer(first, None, descriptor="no-answer", deflected="yes"), "page")
    assert "The first answer no longer exists" in shown(study, mine, "ben")


def test_validation_marks_the_passages_that_each_sentence_cites(study: Study) -> None:
    write(study)
    made = after(study, "Third", variables=("grounded",))
    html = shown(study, taken(made, rater_of(study.ben)), "ben")
    assert [part.split('"')[0] for part in html.split('data-cites="')[1:]] == ["1", "2"]
    assert "answer-" not in html.replace("grounded_answer", "").replace("answer-1", "")


def test_a_sentence_without_a_marker_counts_as_citing_what_its_answer_cites(study: Study) -> None:
    write(study, "Anna built it. It spans the river.")
    made = after(study, "Third", variables=("grounded",))
    html = shown(study, taken(made, rater_of(study.ben)), "ben")
    assert html.count('data-cites="1 2"') == 2


def test_validation_does_not_name_the_systems_of_reports(study: Study) -> None:
    batch = Batch.objects.get(name="b")
    design = Design(variables=("grounded",))
    made = create_campaign("Reports", "grounded-answer", batch, design, pool="open").campaign
    mine = next_assignment(made, rater_of(study.ben))
    assert mine is not None
    html = shown(study, mine, "ben")
    assert 'data-cites="1"' in html
    assert "Answer 2" in html
    assert ">one<" not in html


def test_citation_markers_are_bracketed_numbers_listed_once() -> None:
    assert markers(FIRST_TEXT) == [1, 2]
    assert markers("a [2] b [1, 3] c [2] [x] [] [12345]") == [2, 1, 3]

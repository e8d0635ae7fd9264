"""What a look showed of a unit, which decides the marks of exposure; without a database."""

from __future__ import annotations

from dataclasses import replace

from django.utils import timezone

from annotation.exposure.detection import (
    Evidence,
    PersonExposure,
    _Answer,
    _chunks,
    _content,
    _Look,
    _newest_of_each,
    _of_look,
    _Place,
    _shows_another,
)
from tandem.protocols.base import UnitSpec

NOW = timezone.now()
LOOK = _Look(pk=9, campaign=1, kind="export", scope=None, rater=None, upto=20, at=NOW)
PLACE = _Place(campaign=1, item=3, unit=5, name="q:0")
ADA, BEN = 7, 8


def test_a_look_covers_its_campaign_or_the_items_and_units_that_it_names() -> None:
    def covers(**scope: list[int]) -> bool:
        return replace(LOOK, scope=scope or None).covers(PLACE)

    assert covers()
    assert not replace(LOOK, campaign=2).covers(PLACE)
    assert covers(items=[2, 3])
    assert covers(units=[5])
    assert covers(items=[3], units=[5])
    assert not covers(items=[5])
    assert not covers(units=[3])
    assert not covers(items=[])
    assert not covers(units=[])
    assert not covers(items=[3], units=[3])
    assert not covers(items=[5], units=[5])


def test_a_look_covers_answers_up_to_the_newest_of_its_time_and_its_rater() -> None:
    assert LOOK.shows(_Answer(5, 20, ADA))
    assert not LOOK.shows(_Answer(5, 21, ADA))
    of_ada = replace(LOOK, rater=ADA)
    assert of_ada.shows(_Answer(5, 20, ADA))
    assert not of_ada.shows(_Answer(5, 20, BEN))
    assert not of_ada.shows(_Answer(5, 21, ADA))


def test_answers_shown_by_the_item_itself_are_not_counted_as_exposure() -> None:
    answers = {5: [_Answer(5, 1, ADA), _Answer(5, 2, ADA), _Answer(5, 30, BEN)], 6: []}
    other = PLACE._replace(unit=6, name="q:1")
    assert [_shows_another(LOOK, each, answers) for each in (PLACE, other)] == [True, False]
    assert _of_look(LOOK, [other, PLACE], answers) == (LOOK, ("q:0",))
    assert _of_look(LOOK, [other], answers) is None
    adas, bens = (PLACE._replace(presents=rater) for rater in (ADA, BEN))
    assert _of_look(LOOK, [adas], answers) is None
    assert _of_look(LOOK, [bens], answers) is not None
    assert _of_look(replace(LOOK, upto=30), [adas], answers) is not None
    assert _of_look(replace(LOOK, upto=30, rater=BEN), [bens], answers) is None
    # Trying a judge on an item stores no answer.
    trial = replace(LOOK, kind="trial")
    assert _of_look(trial, [other, PLACE], answers) == (trial, ("q:0", "q:1"))


def test_an_older_look_of_the_same_kind_counts_only_if_it_adds_units() -> None:
    newest, older, oldest = (replace(LOOK, pk=pk) for pk in (9, 8, 7))
    report, elsewhere = replace(LOOK, pk=6, kind="report"), replace(LOOK, pk=5, campaign=2)
    found = _newest_of_each([
        (oldest, ("q:0", "q:2")), (older, ("q:0", "q:1")), (newest, ("q:0", "q:1")),
        (report, ("q:0",)), (elsewhere, ("q:0",)),
    ])  # fmt: skip
    assert list(found) == [
        Evidence(9, "export", NOW, ("q:0", "q:1")),
        Evidence(7, "export", NOW, ("q:0", "q:2")),
        Evidence(6, "report", NOW, ("q:0",)),
        Evidence(5, "export", NOW, ("q:0",)),
    ]


def test_a_units_content_is_its_own_text_and_the_texts_it_belongs_to() -> None:
    texts = {"query": "Why?", "report:r/1": "One.", "passage:p": "Two."}
    assert _content(UnitSpec("question", "a", "Who?"), texts) == ("question", "Who?")
    sentence = UnitSpec("sentence", "q/r/1#2", "It fell.")
    assert _content(sentence, texts) == ("sentence", "It fell.", "One.")
    assert _content(UnitSpec("passage", "q/p", "Two."), texts) == ("passage", "Two.", "Two.")
    assert _content(UnitSpec("passage", "q/xp", "Two."), texts) == ("passage", "Two.")
    named = UnitSpec("match", "a", "Who?", of=("query", "passage:p"))
    assert _content(named, texts) == ("match", "Who?", "Why?", "Two.")


def test_marks_are_described_in_words_and_read_in_chunks() -> None:
    assert PersonExposure("ada", 3, {"an export": 2, "a dispute": 1}).in_words == (
        "an export (2), a dispute (1)"
    )
    assert list(_chunks([1, 2, 3, 4, 5], 2)) == [[1, 2], [3, 4], [5]]
    assert [len(each) for each in _chunks(range(5001))] == [5000, 1]
    assert list(_chunks([])) == []

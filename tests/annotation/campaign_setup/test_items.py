"""A campaign stores its items and units with their texts, order and slots.

Two batches have the same keys, so that a look-up by key alone would find the wrong batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from annotation.campaign_setup.creation import create_campaign
from annotation.campaigns.design import Design, DesignError
from annotation.models import Campaign, Item, Unit, UnitSampling
from annotation.registry import DECLARED
from datasets.models import Batch
from datasets.text import number_of_words
from tandem.protocols.base import ItemSpec, Variable
from tandem.protocols.material import Query
from tests.cast import BATCH, FIRST, SECOND, load


@pytest.fixture
def twin(batch: Path, tmp_path: Path) -> Batch:
    """The second of two batches with the same keys."""
    load(tmp_path, [{**line, "text": f"{line['text']} Say."} for line in BATCH], "twin")
    return Batch.objects.get(name="twin")


def made(batch: Batch, protocol: str, **design: Any) -> Campaign:
    return create_campaign("c", protocol, batch, Design(**design)).campaign


def items(campaign: Campaign) -> list[Item]:
    related = ("query", "report", "passage", "key_point")
    return list(campaign.items.select_related(*related).order_by("position"))


def test_a_report_is_an_item_with_its_questions_as_units_in_their_order(twin: Batch) -> None:
    found = items(made(twin, "report-coverage", raters_per_item=3))
    assert [(item.key, item.position) for item in found] == [
        ("r", 0), ("r#1", 1), ("s one", 2), ("s/two", 3), ("t1", 4), ("t2", 5),
    ]  # fmt: skip
    for item in found:
        assert (item.report and item.report.key, item.report and item.report.batch) == (
            item.key, twin,
        )  # fmt: skip
        assert (item.query.batch, item.passage, item.key_point) == (twin, None, None)
        assert (item.quota, item.taken, item.probability, item.shown_passages) == (3, 0, 1.0, None)
    assert [item.query.key for item in found] == ["q/1", "q/1", "q 2", "q 2", "q3", "q3"]
    units = Unit.objects.filter(item=found[0]).order_by("position")
    assert list(units.values_list("key", "kind", "position")) == [
        ("a/b#1", "question", 0), (" blank ", "question", 1), ("🌉", "question", 2),
    ]  # fmt: skip
    report = FIRST["reports"][0]["text"]
    assert (found[0].words or 0) >= number_of_words(report) > 0
    assert (found[0].words or 0) > (found[1].words or 0)


def test_a_query_without_units_has_no_item(tmp_path: Path, db: None) -> None:
    bare = {**SECOND, "passages": [], "key_points": []}
    load(tmp_path, [FIRST, bare], "bare")
    found = made(Batch.objects.get(name="bare"), "answer-rating", variables=("needed_question",))
    assert [item.key for item in items(found)] == ["q/1"]


def test_items_that_a_protocol_yields_without_units_are_left_out(
    batch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    coverage = DECLARED["report-coverage"]

    def with_empty_items(query: Query, variables: Sequence[Variable]) -> Iterator[ItemSpec]:
        yield ItemSpec(f"empty {query.id}", units=(), texts=())
        yield from coverage.make_items(query, variables)

    loose = replace(coverage, name="loose", make_items=with_empty_items)
    monkeypatch.setitem(DECLARED, "loose", loose)
    found = items(made(Batch.objects.get(name="b"), "loose"))
    assert [item.key for item in found] == ["r", "r#1", "s one", "s/two", "t1", "t2"]


@pytest.mark.first_case
@pytest.mark.parametrize("protocol", ["rubric-passage", "grounding-relevance"])
def test_an_items_passage_is_the_one_of_its_own_batch(twin: Batch, protocol: str) -> None:
    found = items(made(twin, protocol))
    assert found
    assert {item.passage.batch for item in found if item.passage} <= {twin}
    assert {item.report for item in found} == {None}
    assert all(item.units.exists() for item in found)


def test_ids_that_combine_to_the_same_key_are_refused(tmp_path: Path, db: None) -> None:
    line = {
        "id": "q",
        "text": "Why?",
        "passages": [{"id": "c", "text": "One."}, {"id": "b/c", "text": "Two."}],
        "reports": [{"id": "a", "text": "So."}, {"id": "a/b", "text": "Or so."}],
    }
    load(tmp_path, [line])
    batch = Batch.objects.get(name="b")
    with pytest.raises(DesignError, match="two units of item 'q' would have the key 'a/b/c'"):
        made(batch, "answer-rating")
    assert made(batch, "answer-rating", variables=("needed_question",)).items.count() == 1


def test_an_item_may_be_about_a_key_point(twin: Batch) -> None:
    found = items(made(twin, "key-point-verification"))
    keys = [item.key_point.key for item in found if item.key_point]
    assert sorted(keys) == ["k#2", "k/1", "k3", "k4"]
    assert {item.key_point.batch for item in found if item.key_point} == {twin}


def rows(campaign: Campaign) -> list[list[tuple[Any, ...]]]:
    """All stored rows, without primary keys."""
    of_item = ("item__key", "kind", "key", "position")
    return [
        list(campaign.items.order_by("position").values_list(
            "key", "position", "query__key", "report__key", "passage__key", "quota", "words")),
        list(Unit.objects.filter(item__campaign=campaign).order_by("item__position", "position")
             .values_list(*of_item, "name")),
        list(UnitSampling.objects.filter(item__campaign=campaign)
             .order_by("item__position", "position")
             .values_list("item__key", "unit_kind", "key", "position", "kind", "seed", "wave",
                          "probability", "drawn")),
    ]  # fmt: skip


@pytest.mark.first_case
@pytest.mark.parametrize("chunk", [1, 2, 3, 6, 7])
def test_items_are_the_same_however_many_are_written_at_once(
    twin: Batch, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    design: dict[str, Any] = {"sampling": "shared", "per_passage": 1, "seed": 4}
    at_once = rows(made(twin, "rubric-passage", **design))
    Campaign.objects.all().delete()
    monkeypatch.setattr("annotation.campaign_setup.items.CHUNK", chunk)
    written = rows(made(twin, "rubric-passage", **design))
    assert written == at_once
    assert len(written[0]) == len({key for key, *_ in written[0]}) > 0
    assert {len(each) > 0 for each in written} == {True}


def test_only_sampled_units_are_asked_and_the_whole_sample_is_stored(twin: Batch) -> None:
    campaign = made(twin, "rubric-passage", sampling="shared", per_passage=1, seed=4)
    first = campaign.items.earliest("position")
    draws = UnitSampling.objects.filter(item=first).order_by("position")
    assert [draw.position for draw in draws] == list(range(len(draws)))
    assert {(draw.seed, draw.unit_kind) for draw in draws} == {(4, "question")}
    asked = list(first.units.order_by("position").values_list("key", "position"))
    drawn = [draw.key for draw in draws if draw.drawn]
    assert 0 < len(drawn) < len(draws)
    assert [key for key, _ in asked] == [draw.key for draw in draws if draw.drawn is not False]
    assert [position for _, position in asked] == list(range(len(asked)))


def test_only_relevant_passages_are_shown_if_the_design_says_so(twin: Batch) -> None:
    found = items(made(twin, "grounded-answer", passages="relevant"))
    shown = {item.query.key: item.shown_passages for item in found}
    assert shown == {"q/1": ["p"], "q 2": ["p2"], "q3": ["p3"]}


@pytest.mark.every_case
@pytest.mark.parametrize(("overlap", "several"), [(1.0, 6), (0.5, 3)])
def test_overlap_items_keep_all_slots_and_others_one(
    twin: Batch, overlap: float, several: int
) -> None:
    campaign = made(twin, "report-coverage", raters_per_item=2, overlap=overlap, seed=1)
    quotas = sorted(campaign.items.values_list("quota", flat=True))
    assert quotas == [1] * (6 - several) + [2] * several

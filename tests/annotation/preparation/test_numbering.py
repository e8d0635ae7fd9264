"""The numbers of dropped, merged or replaced key points are not used again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from annotation.preparation.base import keep_highest_numbers, next_number
from datasets.material import batch_rows
from datasets.models import Batch
from tandem.files import rows
from tests.annotation.preparation.cast import (
    FERRY,
    INQUIRY,
    TOPIC,
    author,
    load,
    point,
    prepare,
    topic,
)
from tests.annotation.preparation.test_preparation import WROTE
from tests.annotation.preparation.test_steps import POINTS, applied, result
from tests.judging.cast import command


def found(*texts: str) -> Any:
    """The points that an author finds in the second document."""
    answer = {"holds_points": "yes", "points": [point(text, "nine weeks") for text in texts]}
    return result("t1/d2", {"passage:t1/d2": answer}, "d2")


def names(query: rows.Query) -> list[str]:
    return [each.id for each in query.key_points]


def built(step: str, query: rows.Query, *results: Any) -> rows.Query:
    return keep_highest_numbers(query, applied(step, query, *results))


def without(query: rows.Query, *lost: str) -> rows.Query:
    """The query after a step that drops some of its points."""
    kept = tuple(each for each in query.key_points if each.id not in lost)
    return keep_highest_numbers(query, replace(query, key_points=kept))


def test_the_number_of_a_removed_last_point_is_not_reused() -> None:
    left = without(topic(key_points=POINTS), "t1:k3")
    assert (left.meta or {})["numbers_given"] == {"k": 3}
    assert names(built("missed-points", left, found("A"))) == ["t1:k1", "t1:k2", "t1:k4"]


def test_numbers_stay_used_through_later_batches() -> None:
    left = without(without(topic(key_points=POINTS), "t1:k3"), "t1:k1", "t1:k2")
    more = without(built("missed-points", left, found("A", "B")), "t1:k5")
    assert names(more) == ["t1:k4"]
    assert (more.meta or {})["numbers_given"] == {"k": 5}
    assert next_number(more, "k") == 6


def test_points_that_replace_others_get_new_numbers() -> None:
    assert names(built("key-points", topic(key_points=POINTS), found("A"))) == ["t1:k4"]


def test_points_found_after_a_merge_do_not_reuse_earlier_numbers() -> None:
    went = {f"key-point:t1:k{n}": {"placed": "yes", "matches": [1]} for n in (1, 2, 3)}
    all_in_one = result(
        "t1", {"query:t1": {"repeats": "yes", "merged": [point("It sank.")]}, **went}
    )
    merged = built("merging", topic(key_points=POINTS), all_in_one)
    assert names(merged) == ["t1:m1"]
    more = built("missed-points", merged, found("A"))
    assert names(more) == ["t1:m1", "t1:k4"]
    both = {f"key-point:{name}": {"placed": "yes", "matches": [1]} for name in names(more)}
    again = result("t1", {"query:t1": {"repeats": "yes", "merged": [point("It sank.")]}, **both})
    last = built("merging", more, again)
    assert names(last) == ["t1:m2"]
    assert [each["id"] for each in (last.key_points[0].meta or {})["sources"]] == names(more)


def test_no_numbers_are_recorded_if_no_point_was_removed() -> None:
    query = topic(key_points=POINTS)
    assert keep_highest_numbers(query, query) is query
    assert "numbers_given" not in (built("missed-points", query, found("A")).meta or {})


@pytest.mark.every_case
@pytest.mark.parametrize("record", ["k", 7, {"k": "7"}, {"k": True}, ["k"]])
def test_a_malformed_record_of_numbers_is_ignored(record: Any) -> None:
    assert next_number(topic(meta={"numbers_given": record}), "k") == 1


def test_ids_of_another_form_or_query_do_not_count() -> None:
    odd = ("k7", "t2:k7", "t1:k7a", "t1:x7", "t1:k")
    points = tuple(rows.KeyPoint(name, "It sank.", "d1") for name in odd)
    assert next_number(topic(key_points=points), "k") == 1


@pytest.mark.django_db
def test_a_built_batch_records_the_used_numbers(tmp_path: Path) -> None:
    points = [{"id": f"t1:k{n}", "text": f"Point {n}.", "passage": "d1"} for n in (1, 2)]
    load(tmp_path, TOPIC | {"key_points": points})
    prepare("key-points", "documents", author(), {word: WROTE[word] for word in (FERRY, INQUIRY)})
    of = ("--step", "key-points", "--batch", "documents", "--name", "fewer", "--partial")
    command("build_batch", *of)
    (query,) = batch_rows(Batch.objects.get(name="fewer"))
    assert query.key_points == ()
    assert (query.meta or {})["numbers_given"] == {"k": 2}

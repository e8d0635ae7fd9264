"""First answers imported many at once are stored as if imported one by one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.counters import wrong_counts
from annotation.imports.first_answers import FirstImports
from annotation.models import Assignment, Campaign, Label, Rater, Response
from tests.cast import Line, campaign_of, exported, run, write_lines

YES: Line = {"item": "r", "unit": "🌉", "variable": "answerable", "value": "yes", "rater": "ann"}


@pytest.fixture(autouse=True)
def coverage(batch: Path) -> Campaign:
    return campaign_of("report-coverage")


def take(folder: Path, lines: list[Line]) -> str:
    return run("import_labels", write_lines(folder / "labels.jsonl", lines), "--campaign", "c")


def of_people(number: int) -> list[Line]:
    """Labels of two units by this many people; the second unit lacks the evidence that it owes."""
    return [
        YES | {"rater": f"p{n}", "unit": unit, "value": value}
        for n in range(number)
        for unit, value in (("🌉", "no"), ("a/b#1", "yes"))
    ]


def statements(folder: Path, lines: list[Line]) -> int:
    with CaptureQueriesContext(connection) as captured:
        take(folder, lines)
    return len(captured)


def everything() -> list[Any]:
    """All stored rows of an import, independent of the order of writing."""
    labels = [{**line, "created_at": None} for line in exported("c", "labels")]
    names = ("item__key", "rater__name", "replicate", "scope", "asked", "status", "reason",
             "missing", "seconds", "assisted_by", "slot")  # fmt: skip
    rows = Assignment.objects.order_by("item__position", "rater__name", "replicate")
    answers = Response.objects.order_by("assignment__rater__name", "revision")
    said = answers.values_list("revision", "current", "payload", "comment", "door")
    return [labels, list(rows.values_list(*names)), list(said)]


@pytest.mark.postgresql
def test_many_answers_take_hardly_more_sql_statements_than_a_few(tmp_path: Path) -> None:
    Rater.objects.bulk_create(Rater(name=f"p{n}", kind="human") for n in range(60))
    few = statements(tmp_path, of_people(5))
    many = statements(tmp_path, of_people(60)[10:])
    assert Response.objects.count() == 60
    # One look-up per new name; answers stored one by one take more than ten statements each.
    assert many - few <= 50


@pytest.mark.postgresql
def test_answers_imported_together_equal_those_imported_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quote = {"field": "report", "text": "It opened in 1901."}
    lines = [
        *of_people(3),
        YES | {"spans": [quote], "score": 0.5, "seconds": 4, "meta": {"a": 1}, "revision": 3},
        YES | {"unit": "a/b#1", "value": "no", "seconds": 4, "revision": 3},
        YES | {"rater": "bo", "revision": 1, "value": "no"},
        YES | {"rater": "bo", "revision": 2},
        YES | {"rater": "cy", "replicate": 1, "value": None, "missing": "refused"},
        YES | {"rater": "cy", "unit": "a/b#1", "replicate": 1, "value": "no"},
        YES | {"rater": "di", "value": None, "missing": "timeout"},
        YES | {"rater": "em", "item": "r#1", "assisted_by": "ann", "value": "no"},
    ]  # fmt: skip
    result = take(tmp_path, lines)
    at_once = everything()
    assert list(wrong_counts()) == []
    Assignment.objects.all().delete()
    Rater.objects.all().delete()
    monkeypatch.setattr(FirstImports, "is_first", lambda *_: False)
    assert take(tmp_path, lines) == result
    assert everything() == at_once
    assert Label.objects.count() == 12


def test_a_later_revision_in_the_same_file_replaces_the_first(tmp_path: Path) -> None:
    take(tmp_path, [YES | {"revision": 2, "value": "no"}, YES | {"revision": 1}])
    assert [(line["value"], line["revision"]) for line in exported("c", "labels")] == [("no", 2)]
    assert Response.objects.count() == 2


def test_a_person_who_is_given_the_item_meanwhile_has_one_assignment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    item = Campaign.objects.get(name="c").items.get(key="r")
    ann = Rater.objects.create(name="ann", kind="human")
    Assignment.objects.create(item=item, rater=ann, asked=["🌉"])
    # As if the person got the item after assignments were looked up.
    monkeypatch.setattr(FirstImports, "look_up", lambda self, items: self.flush())
    take(tmp_path, [YES, YES | {"rater": "bo", "value": "no"}])
    assert Assignment.objects.count() == 2
    assert sorted(line["rater"] for line in exported("c", "labels")) == ["ann", "bo"]


def test_one_wrong_answer_among_many_stores_nothing(tmp_path: Path) -> None:
    lines = [*of_people(4), YES | {"rater": "p9", "spans": [{"start": 5000, "end": 5001}]}]
    with pytest.raises(Exception, match="line 9: there are no words from 5000"):
        take(tmp_path, lines)
    left = [model.objects.count() for model in (Rater, Assignment, Response, Label)]
    assert left == [0, 0, 0, 0]

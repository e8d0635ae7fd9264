"""Lineage: the chain of batches, what was kept and dropped, and how far a batch is behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import pytest
from pytest_django.fixtures import Settings

from annotation.models import User
from datasets.derivation import UnitDigests
from datasets.lineage import (
    _difference,
    ancestors,
    as_tree,
    count_lines,
    derive_again_address,
    describe_behind,
    lineages_of,
    state_of_labels,
    summary,
    tree_lines,
    units_behind,
)
from datasets.models import Batch, LabelsRead, Lineage
from datasets.uploads.worker import inspect
from datasets.work.guard import InRequestError, answering_request
from tandem.files.rows import InputError

COUNTS = {
    "kept": {"queries": 2, "key points": 4},
    "dropped": {"key points": {"not key": 2, "not grounded": 1}},
    "undecided": {"tied, kept": 1},
}


@pytest.fixture
def third(db: None) -> Batch:
    """A batch derived from a batch that was derived from a loaded one."""
    names = ("first", "second", "third")
    made = [
        Batch.objects.create(name=name, format="native", digest=str(n) * 64, counts={"queries": n})
        for n, name in enumerate(names, start=1)
    ]
    Batch.objects.filter(name="first").update(files=[{"name": "f.jsonl", "sha256": "ab" * 32}])
    how = {"kind": "rule", "rule": "reports", "rule_version": "1", "version": "0.5"}
    Lineage.objects.create(batch=made[1], source=made[0], **how)
    campaigns = [{"name": "c", "protocol": "p"}, {"name": "d", "protocol": "p"}]
    own = {"campaigns": campaigns, "decided_by": "majority", "ties": "drop", "options": {"n": 3}}
    Lineage.objects.create(batch=made[2], source=made[1], counts=COUNTS, **how, **own)
    return made[2]


def test_the_chain_of_ancestors_ends_at_the_batch_that_was_loaded(third: Batch) -> None:
    found = ancestors(third, behind=lambda lineage: 4)
    assert [(each.batch.name, each.depth, each.behind) for each in found] == [
        ("third", 0, 4), ("second", 1, 4), ("first", 2, 0),
    ]  # fmt: skip
    assert [each.batch.name for each in lineages_of(third)] == ["third", "second"]


def test_the_chain_ends_before_a_batch_that_the_account_may_not_read(third: Batch) -> None:
    def names(*readable: str) -> list[str]:
        rows = Batch.objects.filter(name__in=readable)
        return [each.batch.name for each in ancestors(third, rows)]

    assert names("third", "second", "first") == ["third", "second", "first"]
    assert names("third", "second") == ["third", "second"]
    assert names("first") == ["third"]
    tree = as_tree(third, Batch.objects.filter(name="third"))
    assert (tree["batch"], tree["source"]) == ("third", None)


def test_the_tree_lists_each_batch_below_the_one_derived_from_it(third: Batch) -> None:
    lines = list(tree_lines(third))
    assert [line for line in lines if "quer" in line and "kept" not in line] == [
        "third (3 queries)",
        "   └─ second (2 queries)",
        "      └─ first (1 query)",
    ]
    assert lines[-1].strip() == "file f.jsonl sha256 abababababab"
    assert "  kept 2 queries, 4 key points" in lines


def test_each_batch_shows_its_origin_its_author_and_how_far_it_is_behind(
    third: Batch, settings: Settings
) -> None:
    rita, at = User.objects.create(username="rita"), datetime(2024, 5, 3, tzinfo=UTC)
    settings.TANDEM_LINEAGE_READERS = {"rule": f"{__name__}.read_labels"}
    Labels.units = ("a",)
    labels = Labels.reading().hexdigest()
    Lineage.objects.update(labels="e" * 64, created_at=at)
    files = [{"name": "more.jsonl", "sha256": "cd" * 32}]
    Lineage.objects.filter(batch=third).update(labels=labels, by=rita, files=files)
    Batch.objects.update(created_at=at)
    Batch.objects.filter(name="first").update(counts={})
    last = as_tree(third, behind=lambda lineage: 2)
    middle = last["source"]
    first = middle["source"]
    assert (last["decided_by"], last["ties"], last["labels"]) == ("majority", "drop", labels)
    assert (middle["decided_by"], middle["ties"]) == (None, None)
    assert (last["by"], middle["by"]) == ("rita", None)
    assert (last["kept"], "kept" in middle) == (COUNTS["kept"], False)
    assert [each["behind"] for each in (last, middle)] == [2, 2]
    assert [each["queries"] for each in (last, middle, first)] == [3, 2, 0]
    assert first == {
        "batch": "first", "digest": "1" * 64, "queries": 0, "format": "native",
        "created_at": "2024-05-03T00:00:00+00:00",
        "files": [{"name": "f.jsonl", "sha256": "ab" * 32}],
    }  # fmt: skip
    assert list(tree_lines(third)) == [
        "third (3 queries)",
        f"  {summary(lineages_of(third)[0])} on 2024-05-03, Tandem 0.5",
        "  kept 2 queries, 4 key points",
        "  left out 3 key points: not key 2, not grounded 1",
        "  undecided: tied, kept 1",
        "  file more.jsonl sha256 cdcdcdcdcdcd",
        "   └─ second (2 queries)",
        "        by reports (version 1) on 2024-05-03, Tandem 0.5",
        f"        {describe_behind(1)}",
        "      └─ first (0 queries)",
        "           loaded from native on 2024-05-03",
        "           file f.jsonl sha256 abababababab",
    ]


def test_counts_are_given_in_words() -> None:
    assert list(count_lines(COUNTS)) == [
        "kept 2 queries, 4 key points",
        "left out 3 key points: not key 2, not grounded 1",
        "undecided: tied, kept 1",
    ]
    assert list(count_lines({})) == []
    assert describe_behind(1).startswith("behind: 1 unit has other labels")
    assert describe_behind(2).startswith("behind: 2 units have other labels")


def test_a_summary_names_the_rule_the_campaigns_and_the_decisions(third: Batch) -> None:
    last, middle = lineages_of(third)
    assert summary(last) == "by reports (version 1) from c, d, decided by majority"
    assert summary(middle) == "by reports (version 1)"
    again = derive_again_address(last).partition("?")[2]
    assert again == "rule=reports&from=c&from=d&decided_by=majority&ties=drop&set_n=3"
    last.kind = "step"
    assert derive_again_address(last) == ""
    last.by = User.objects.create(username="rita")
    assert summary(last).endswith(", decided by majority, by rita")


def test_a_batch_is_behind_by_the_larger_number_of_new_and_lost_units(third: Batch) -> None:
    lineage = lineages_of(third)[0]

    def digests(*units: str) -> UnitDigests:
        found = UnitDigests()
        for unit in units:
            found.add(unit)
        return found

    before = digests("a", "b", "c")
    lineage.labels = before.hexdigest()
    LabelsRead.objects.create(lineage=lineage, digests=before.array().tobytes())
    assert _difference(lineage, digests("a", "b", "c")) == 0
    assert _difference(lineage, digests("a", "x", "y", "z")) == 3
    assert _difference(lineage, digests("a")) == 2
    LabelsRead.objects.all().delete()
    lineage.labels = "other"
    assert _difference(lineage, digests()) == 1


def test_labels_are_read_again_only_if_they_have_changed(third: Batch, settings: Settings) -> None:
    lineage, second = lineages_of(third)
    settings.TANDEM_LINEAGE_READERS = {"rule": f"{__name__}.read_labels"}
    # The cache outlives rows that are rolled back, whose ids are then used again.
    first, Labels.units, Labels.times = uuid4().hex, ("a", "b"), 0
    Labels.state = first
    assert (units_behind(lineage), state_of_labels(lineage), Labels.times) == (0, None, 0)
    lineage.labels = second.labels = "e" * 64
    LabelsRead.objects.create(lineage=second, digests=b"")
    stored = UnitDigests()
    stored.add("a")
    LabelsRead.objects.create(lineage=lineage, digests=stored.array().tobytes())
    for _ in range(2):
        assert (units_behind(lineage), Labels.times) == (1, 1)
        assert state_of_labels(lineage) == f"{'e' * 64}:{first}"
    Labels.state, Labels.units = uuid4().hex, ("a", "b", "c", "d")
    assert (units_behind(lineage), Labels.times) == (3, 2)
    lineage.kind = "step"
    assert (units_behind(lineage), state_of_labels(lineage)) == (0, None)
    with answering_request(), pytest.raises(InRequestError, match="units_behind takes long"):
        units_behind(lineage)


class Labels:
    """The labels that a batch depends on, which tests change, and how often they were read."""

    state = ""
    units: tuple[str, ...] = ()
    times = 0

    @classmethod
    def reading(cls) -> UnitDigests:
        cls.times += 1
        found = UnitDigests()
        for unit in cls.units:
            found.add(unit)
        return found


def read_labels(lineage: Lineage) -> tuple[str, Callable[[], UnitDigests]]:
    return Labels.state, Labels.reading


def test_an_upload_without_queries_is_refused_at_the_preview(tmp_path: Path) -> None:
    def nothing(*args: object) -> Iterator[object]:
        return iter(())

    path = tmp_path / "a.jsonl"
    path.write_text('{"id": "q", "text": "So?"}\n', "utf-8")
    assert inspect([path], "native", lambda done: None).counts["queries"] == 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("datasets.uploads.worker.read", nothing)
        with pytest.raises(InputError, match="has no query"):
            inspect([path], "native", lambda done: None)

"""What a lineage tells: the chain of batches, what was kept and dropped, and what is behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from datasets.derivation import UnitDigests
from datasets.lineage import (
    _difference,
    again_address,
    ancestors,
    as_tree,
    behind_words,
    count_lines,
    lineages_of,
    summary,
    tree_lines,
)
from datasets.models import Batch, LabelsRead, Lineage
from datasets.rows import InputError
from datasets.uploads.worker import inspect

COUNTS = {
    "kept": {"queries": 2, "key points": 4},
    "dropped": {"key points": {"not key": 2, "not grounded": 1}},
    "undecided": {"tied, kept": 1},
}


@pytest.fixture
def third(db: None) -> Batch:
    """Derived from a batch that was derived from one that was loaded."""
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


def test_a_chain_goes_back_to_the_batch_that_was_loaded(third: Batch) -> None:
    found = ancestors(third, behind=lambda lineage: 4)
    assert [(each.batch.name, each.depth, each.behind) for each in found] == [
        ("third", 0, 4), ("second", 1, 4), ("first", 2, 0),
    ]  # fmt: skip
    assert [each.batch.name for each in lineages_of(third)] == ["third", "second"]


def test_it_ends_before_a_batch_that_may_not_be_read(third: Batch) -> None:
    def names(*readable: str) -> list[str]:
        rows = Batch.objects.filter(name__in=readable)
        return [each.batch.name for each in ancestors(third, rows)]

    assert names("third", "second", "first") == ["third", "second", "first"]
    assert names("third", "second") == ["third", "second"]
    assert names("first") == ["third"]
    tree = as_tree(third, Batch.objects.filter(name="third"))
    assert (tree["batch"], tree["source"]) == ("third", None)


def test_a_tree_in_words_has_each_batch_below_the_one_made_of_it(third: Batch) -> None:
    lines = list(tree_lines(third))
    assert [line for line in lines if "quer" in line and "kept" not in line] == [
        "third (3 queries)",
        "   └─ second (2 queries)",
        "      └─ first (1 query)",
    ]
    assert lines[-1].strip() == "file f.jsonl sha256 abababababab"
    assert "  kept 2 queries, 4 key points" in lines


def test_counts_are_told_in_words() -> None:
    assert list(count_lines(COUNTS)) == [
        "kept 2 queries, 4 key points",
        "left out 3 key points: not key 2, not grounded 1",
        "undecided: tied, kept 1",
    ]
    assert list(count_lines({})) == []
    assert behind_words(1).startswith("behind: 1 unit has other labels")
    assert behind_words(2).startswith("behind: 2 units have other labels")


def test_a_summary_says_by_what_from_what_and_whose_labels(third: Batch) -> None:
    last, middle = lineages_of(third)
    assert summary(last) == "by reports (version 1) from c, d, decided by majority"
    assert summary(middle) == "by reports (version 1)"
    again = again_address(last).partition("?")[2]
    assert again == "rule=reports&from=c&from=d&decided_by=majority&ties=drop&set_n=3"
    last.kind = "step"
    assert again_address(last) == ""


def test_units_are_behind_by_the_larger_number_of_new_and_lost_ones(third: Batch) -> None:
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


def test_an_upload_without_a_query_is_refused_before_anybody_decides(tmp_path: Path) -> None:
    def nothing(*args: object) -> Iterator[object]:
        return iter(())

    path = tmp_path / "a.jsonl"
    path.write_text('{"id": "q", "text": "So?"}\n', "utf-8")
    assert inspect([path], "native", lambda done: None).counts["queries"] == 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("datasets.uploads.worker.read", nothing)
        with pytest.raises(InputError, match="has no query"):
            inspect([path], "native", lambda done: None)

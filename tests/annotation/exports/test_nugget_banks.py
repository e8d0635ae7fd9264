"""Nugget banks leave in the forms of the AutoJudge kit and of AutoNuggetizer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError

from annotation.exports.contents import exports_of
from annotation.models import Campaign
from annotation.protocols.base import Protocol
from annotation.registry import DECLARED
from datasets.readers import read
from tandem.files.rows import IMPORTANCE
from tandem.protocols.base import ItemSpec, UnitSpec, Variable
from tests.cast import campaign_of, exported, load, run, write_lines

pytestmark = pytest.mark.django_db
QUERY = {
    "id": "31",
    "text": "How was the footbridge built?",
    "nuggets": [
        {"id": "31:n1", "text": "It is of oak.", "importance": "okay", "sources": ["d1", "d2"]},
        {"id": "31:n2", "text": "It opened in spring."},
        {"id": "31:n3", "text": "It is of oak."},
    ],
}
PLAIN = {"id": "32", "text": "Who baked?"}


def make_items(query: Any, variables: Sequence[Variable]) -> Iterator[ItemSpec]:
    if query.nuggets:
        yield ItemSpec(query.id, tuple(UnitSpec("nugget", n.id, n.text) for n in query.nuggets), ())


@pytest.fixture
def campaign(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Campaign:
    """A campaign about the importance of nuggets."""
    protocol = Protocol(
        name="importance",
        version="1",
        title="Importance",
        variables=(Variable("importance", "nugget", "How important is it?", IMPORTANCE),),
        make_items=make_items,
        needs=("nuggets",),
        own_guideline="Say how important the nugget is.",
    )
    monkeypatch.setitem(DECLARED, "importance", protocol)
    load(tmp_path, [QUERY, PLAIN])
    return campaign_of("importance")


def label(folder: Path, *given: tuple[str, str, str, str]) -> None:
    rows = [
        {"item": "31", "unit": f"31:{nugget}", "variable": "importance", "value": value,
         "rater": rater, "rater_kind": kind}
        for nugget, value, rater, kind in given
    ]  # fmt: skip
    run("import_labels", write_lines(folder / "labels.jsonl", rows), "--campaign", "c")


def test_without_labels_the_banks_importance_is_kept(campaign: Campaign) -> None:
    assert exported("c", "nugget-bank") == [
        {
            "query_id": "31",
            "title_query": "How was the footbridge built?",
            "format_version": "v3",
            "claim_bank": {
                "It is of oak.": {
                    "claim": "It is of oak.",
                    "claim_id": "31:n1",
                    "query_id": "31",
                    "importance": "okay",
                    "references": [{"doc_id": "d1"}, {"doc_id": "d2"}],
                },
                "It opened in spring.": {
                    "claim": "It opened in spring.",
                    "claim_id": "31:n2",
                    "query_id": "31",
                },
                "It is of oak. [31:n3]": {
                    "claim": "It is of oak.",
                    "claim_id": "31:n3",
                    "query_id": "31",
                },
            },
        }
    ]


def test_the_majority_of_people_decides_and_a_tie_does_not(
    campaign: Campaign, tmp_path: Path
) -> None:
    label(
        tmp_path,
        ("n1", "vital", "ada", "human"),
        ("n1", "vital", "bo", "human"),
        ("n1", "okay", "cy", "human"),
        ("n2", "vital", "ada", "human"),
        ("n2", "okay", "bo", "human"),
        ("n3", "vital", "model", "judge"),
    )
    (bank,) = exported("c", "nuggetizer-bank")
    assert [each.get("importance") for each in bank["nuggets"]] == ["vital", None, None]


def test_the_reference_decides_before_the_majority(campaign: Campaign, tmp_path: Path) -> None:
    label(
        tmp_path,
        ("n2", "vital", "ada", "human"),
        ("n2", "okay", "the reference", "reference"),
    )
    (bank,) = exported("c", "nuggetizer-bank")
    assert bank["nuggets"][1]["importance"] == "okay"


def test_a_bank_comes_back_with_its_ids(campaign: Campaign, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "bank.jsonl", exported("c", "nuggetizer-bank"))
    (located,) = read([path])
    assert (located.query.id, located.query.text) == ("31", QUERY["text"])
    ids = [(n.id, n.text, n.importance, n.sources) for n in located.query.nuggets]
    assert ids == [
        ("31:n1", "It is of oak.", "okay", ("d1", "d2")),
        ("31:n2", "It opened in spring.", None, None),
        ("31:n3", "It is of oak.", None, None),
    ]


def test_the_kits_bank_is_read_again(campaign: Campaign, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "bank.jsonl", exported("c", "nugget-bank"))
    (located,) = read([path])
    assert [n.text for n in located.query.nuggets] == [n["text"] for n in QUERY["nuggets"]]  # type: ignore[index]


def test_a_batch_without_nuggets_has_no_bank(tmp_path: Path) -> None:
    load(tmp_path)
    assert "nugget-bank" not in exports_of(campaign_of("report-coverage"))
    with pytest.raises(CommandError, match="the batch of campaign 'c' has no nuggets"):
        run("export", "--campaign", "c", "--what", "nugget-bank")

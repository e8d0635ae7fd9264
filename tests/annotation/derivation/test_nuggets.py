"""Key points become a bank of nuggets, and people rate them and sort some of them out."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import pytest
from django.core.management.base import CommandError

from datasets.lineage import lineage_of
from datasets.models import Batch
from tandem.files.rows import Nugget
from tests.annotation.derivation.cast import BATCH, batch, derive, label, queries
from tests.cast import run

pytestmark = pytest.mark.django_db

VITAL, OKAY, NO = ({"importance": code} for code in ("vital", "okay", "not-a-nugget"))
RATED = {
    "q1k0": [VITAL, VITAL, NO],
    "q1k1": [OKAY, VITAL, OKAY],
    "q1k2": [NO, NO, VITAL],
    "q1k3": [VITAL, VITAL, VITAL],
    "q2k0": [NO, NO, NO],
    "q2k1": [NO, OKAY, NO],
    "q2k2": [NO, NO, OKAY],
    "q2k3": [NO, NO, NO],
}
ITEMS = {nugget: nugget[:2] for nugget in RATED}


@pytest.fixture
def bank(tmp_path: Path) -> Path:
    batch(tmp_path)
    derive("bank", "nugget-bank")
    return tmp_path


def rating(people: int) -> None:
    run("create_campaign", "verify", "--protocol", "nugget-importance", "--batch", "bank",
        "--raters-per-item", people, "--pool", "open")  # fmt: skip


def rated(name: str, *arguments: object) -> str:
    return derive(name, "rated-nuggets", *arguments, source="bank", campaign="verify")


def importance(name: str) -> dict[str, dict[str, str | None]]:
    return {
        key: {n.id: n.importance for n in query.nuggets} for key, query in queries(name).items()
    }


def test_key_points_become_nuggets_with_their_passages_as_sources(tmp_path: Path) -> None:
    lines = deepcopy(BATCH)
    merged = [
        {"id": "q1k8", "passage": "q1p0"},
        {"id": "q1m1", "passage": "q1p2", "sources": [{"id": "q1k9", "passage": "q1p1"}]},
    ]
    lines[0]["key_points"][0]["meta"] = {"prepared": {"merging": {}}, "sources": merged}
    lines[0]["key_points"][1]["meta"] = {"sources": "by hand"}
    batch(tmp_path, lines)
    assert "8 nuggets" in derive("bank", "nugget-bank")
    before, after = queries("b")["q1"], queries("bank")["q1"]
    assert after.nuggets[:3] == (
        Nugget("q1k0", "Point 0.", None, ("q1p0", "q1p2", "q1p1"), {"prepared": {"merging": {}}}),
        Nugget("q1k1", "Point 1.", None, ("q1p1",)),
        Nugget("q1k2", "Point 2.", None, ("q1p2",)),
    )
    assert replace(after, nuggets=()) == before


def test_nuggets_get_the_importance_that_most_people_gave_them(bank: Path) -> None:
    rating(people=3)
    label(bank, RATED, items=ITEMS)
    said = rated("rated")
    assert importance("rated") == {
        "q1": {"q1k0": "vital", "q1k1": "okay", "q1k3": "vital"},
        "q2": {},
    }
    assert "q1k2 (nuggets): not a nugget" in said
    lineage = lineage_of(Batch.objects.get(name="rated"))
    assert lineage is not None
    assert lineage.counts["kept"] == {
        "queries": 2, "vital nuggets": 2, "okay nuggets": 1, "queries without a nugget": 1,
    }  # fmt: skip
    assert lineage.counts["dropped"] == {"nuggets": {"not a nugget": 5}}
    assert queries("rated")["q1"].nuggets[0].sources == ("q1p0",)


def test_a_tie_keeps_or_drops_a_nugget_as_told(bank: Path) -> None:
    rating(people=2)
    split = {nugget: [VITAL, VITAL] for nugget in RATED} | {"q1k1": [VITAL, OKAY]}
    label(bank, split, items=ITEMS)
    with pytest.raises(CommandError, match=r"tie on 1 nuggets \(q1k1\).*--ties keep"):
        rated("rated")
    rated("kept", "--ties", "keep")
    rated("dropped", "--ties", "drop")
    # The bank has no importance of its own to keep.
    assert importance("kept")["q1"]["q1k1"] is None
    assert list(importance("dropped")["q1"]) == ["q1k0", "q1k2", "q1k3"]

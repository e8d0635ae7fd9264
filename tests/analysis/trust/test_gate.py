"""`tandem gate` over a campaign: what its own plans have shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from annotation.models import Campaign, TrustLook, TrustPlan
from tandem.program.main import main
from tests.analysis.trust.cast import JUDGE, VARIABLE, all_answer, world
from tests.analysis.trust.comparison_cast import QUERIES, SYSTEMS
from tests.analysis.trust.comparison_cast import all_answer as people_compare
from tests.analysis.trust.comparison_cast import world as compared_world
from tests.cast import run

pytestmark = pytest.mark.django_db
HOLDS, FAILS, UNDECIDED = 0, 1, 3


@pytest.fixture
def plan(tmp_path: Path) -> TrustPlan:
    world(tmp_path)
    run("trust", "plan", "c", "--variable", VARIABLE, "--judge", JUDGE)
    return TrustPlan.objects.get()


class Gate:
    """Runs the verb over the campaign, and returns its exit status and its first finding."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys

    def __call__(self, *words: str) -> tuple[int, dict[str, Any]]:
        self.capsys.readouterr()
        try:
            status = main(["gate", "c", *words, "--json"])
        except SystemExit as end:
            status = int(end.code or 0)
        found = json.loads(self.capsys.readouterr().out)
        assert found["status"] == status
        return status, found["conditions"][0]


@pytest.fixture
def gate(capsys: pytest.CaptureFixture[str]) -> Gate:
    return Gate(capsys)


def labelled(plan: TrustPlan, irrelevant: set[int]) -> None:
    run("trust", "draw", "c", "--queries", "60")
    all_answer(plan, irrelevant, 45)


def test_a_share_that_labels_certify_holds_and_a_larger_one_is_not_decided(
    plan: TrustPlan, gate: Gate
) -> None:
    assert gate("--judge", JUDGE, "--certified", ".5")[0] == UNDECIDED
    labelled(plan, {5})
    status, found = gate("--judge", JUDGE, "--certified", ".5")
    assert (status, found["value"]) == (HOLDS, pytest.approx(5 / 6))
    assert found["reason"] == (
        "the judge may decide 83 %; of these at most 10 % are wrong, with confidence 95 %"
    )
    assert gate("--judge", JUDGE, "--certified", ".9")[0] == UNDECIDED
    assert not TrustLook.objects.exists()


def test_a_plan_that_cannot_be_met_fails(plan: TrustPlan, gate: Gate) -> None:
    labelled(plan, {0, 1, 2, 3})
    status, found = gate("--judge", JUDGE, "--certified", ".5")
    assert status == FAILS
    assert found["reason"].startswith("the plan cannot be met")


def test_a_stale_plan_is_not_decided_whatever_it_certified(plan: TrustPlan, gate: Gate) -> None:
    labelled(plan, {5})
    batch = Campaign.objects.get().batch
    type(batch).objects.filter(pk=batch.pk).update(digest="0" * 64)
    status, found = gate("--judge", JUDGE, "--certified", ".5")
    assert status == UNDECIDED
    assert found["reason"] == "stale: the batch has changed since the commitment"


def test_without_a_plan_nothing_is_decided(plan: TrustPlan, gate: Gate) -> None:
    status, found = gate("--judge", "another", "--certified", ".5")
    assert status == UNDECIDED
    assert found["reason"] == "nothing certifies what another may decide"


def test_a_committed_comparison_decides_for_one_system_and_against_the_other(
    tmp_path: Path, gate: Gate
) -> None:
    compared_world(tmp_path)
    run("compare_systems", *SYSTEMS, "--campaign", "c", "--commit")
    run("trust", "draw", "c", "--queries", str(QUERIES))
    new, old = SYSTEMS
    assert gate("--better", new, old)[0] == UNDECIDED
    people_compare(TrustPlan.objects.get())
    status, found = gate("--better", new, old)
    assert status == HOLDS
    assert "committed before the first label" in found["reason"]
    assert gate("--better", old, new)[0] == FAILS
    assert not TrustLook.objects.exists()

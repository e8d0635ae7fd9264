"""Simulated studies of judges' orders of systems: what is said, and how often intervals hold."""

from __future__ import annotations

import pytest

from benchmarks.system_order import JUDGES, Runs, lines, measure_order, scores

SMALL = Runs(60, (40,), 4_000)


def test_queries_differ_more_than_systems_do() -> None:
    people, judge = scores("as good", 2_000, 1)
    means = people.mean(axis=0)
    assert means.mean(axis=1).std() > 2 * means.mean(axis=0).std()
    assert (means.mean(axis=0)[1:] > means.mean(axis=0)[:-1]).all()
    assert judge.mean() == pytest.approx(0.5, abs=0.02)


def test_judges_that_nobody_may_use_are_never_said_to_rank_as_people_do() -> None:
    figures = measure_order(SMALL)
    said = {cell["judge"]: cell["words"] for cell in figures["cells"]}
    assert set(said) == set(JUDGES)
    for judge in ("reversing", "coin", "worse"):
        assert not {"Yes", "Nearly"} & set(said[judge]), judge
    assert said["reversing"]["No, rather the reverse"] > 0.9 * SMALL.studies
    assert said["coin"]["Not shown to be better than chance"] > 0.9 * SMALL.studies
    assert said["as good"]["Yes"] > 0.8 * SMALL.studies
    for cell in figures["cells"]:
        for name in ("share", "gap"):
            assert cell[name]["held"] > 0.85, (cell["judge"], name)
    assert len(list(lines(figures))) == len(JUDGES)

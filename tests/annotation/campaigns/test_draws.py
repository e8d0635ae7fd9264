"""The sample is stored for every query and unit, sampled or not, and replays from its seed."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from collections import Counter
from itertools import product
from pathlib import Path

import pytest
from django.core.management.base import CommandError

from annotation.assignments.queue import next_assignment
from annotation.campaigns.sampling import COLUMNS, sample_lines, sample_splits, summary
from annotation.models import Campaign, Item, QuerySampling, UnitSampling, User
from annotation.prerequisites.rubric_passage import alternating, chances
from tests.annotation.follow_cast import answer, coverage, given, rater, rating
from tests.cast import FIRST, ROOT, SECOND, Line, campaign_of, load, run, write_lines
from tests.page_cast import client_of

QUERIES = 20


@pytest.fixture
def many(db: None, tmp_path: Path) -> str:
    """A batch of twenty queries with two reports each."""
    lines: list[Line] = [
        {
            "id": f"q{n}",
            "text": "Why?",
            "questions": [{"id": f"q{n}:a", "text": "When?"}, {"id": f"q{n}:b", "text": "Who?"}],
            "reports": [{"id": f"r{n}", "text": "One."}, {"id": f"s{n}", "text": "Two."}],
        }
        for n in range(QUERIES)
    ]
    load(tmp_path, lines, "many")
    return "many"


def options(*pairs: str) -> list[str]:
    return [word for pair in pairs for word in ("--option", pair)]


def rank(seed: int, purpose: str, key: str) -> bytes:
    """The rank of a key as the docs describe it, by hand."""
    return hashlib.sha256(f"{seed}\0{purpose}\0{key}".encode()).digest()


class TestQueries:
    @pytest.mark.postgresql
    def test_every_query_has_a_row_whether_sampled_or_not(self, many: str) -> None:
        campaign = campaign_of(
            "report-coverage", "--human-share", "0.25", *options("seed=7"), batch=many
        )
        rows = list(QuerySampling.objects.filter(campaign=campaign).select_related("query"))
        samplings = {
            (r.kind, r.seed, r.wave, r.probability, r.role, r.role_probability) for r in rows
        }
        assert samplings == {("simple", 7, 1, 5 / 20, "evaluation", 1.0)}
        ranked = sorted((r.query.key for r in rows), key=lambda k: rank(7, "queries for people", k))
        assert {r.query.key for r in rows if r.drawn} == set(ranked[:5])
        asked = campaign.items.filter(quota__gt=0).values_list("query__key", flat=True)
        assert set(asked) == set(ranked[:5])

    def test_the_probability_is_one_if_all_queries_are_asked(self, many: str) -> None:
        campaign = campaign_of("report-coverage", batch=many)
        samplings = campaign.query_samplings.values_list("kind", "probability", "drawn").distinct()
        assert list(samplings.order_by()) == [("all", 1.0, True)]


class TestSplits:
    def test_each_split_has_its_share_of_asked_and_of_other_queries(self, many: str) -> None:
        campaign = campaign_of(
            "report-coverage", "--human-share", "0.5",
            *options("development=0.3", "audit=0.1"), batch=many,
        )  # fmt: skip
        counts = Counter(campaign.query_samplings.values_list("drawn", "role"))
        for drawn in (True, False):
            assert counts[drawn, "development"] == 3
            assert counts[drawn, "audit"] == 1
            assert counts[drawn, "evaluation"] == 6
        chances = dict(campaign.query_samplings.values_list("role", "role_probability"))
        assert chances == pytest.approx({"development": 0.3, "audit": 0.1, "evaluation": 0.6})

    def test_splits_can_be_sampled_by_hand(self) -> None:
        keys = [f"k{n}" for n in range(10)]
        found = sample_splits(keys, keys, 0.2, 0.3, seed=4)
        order = sorted(keys, key=lambda key: rank(4, "roles of queries for people", key))
        roles = ["development"] * 2 + ["audit"] * 3 + ["evaluation"] * 5
        assert {key: role.name for key, role in found.items()} == dict(
            zip(order, roles, strict=True)
        )

    def test_a_following_campaign_has_the_splits_of_its_prerequisite(self, batch: Path) -> None:
        first = coverage(1, *options("development=0.4"))
        second = rating()
        roles = [dict(c.query_samplings.values_list("query__key", "role")) for c in (first, second)]
        assert roles[0] == roles[1]
        assert "development" in roles[0].values()

    @pytest.mark.parametrize(
        ("given", "said"),
        [
            ("development=1", "a share from 0 to below 1"),
            ("development=x", "a share from 0 to below 1"),
            ("audit=-0.1", "a share from 0 to below 1"),
            ("audit=nan", "a share from 0 to below 1"),
        ],
    )
    def test_an_impossible_share_is_refused(self, many: str, given: str, said: str) -> None:
        with pytest.raises(CommandError, match=said):
            campaign_of("report-coverage", *options(given), batch=many)

    def test_something_is_left_for_evaluation(self, many: str) -> None:
        with pytest.raises(CommandError, match="leave nothing for evaluation"):
            campaign_of("report-coverage", *options("development=0.5", "audit=0.5"), batch=many)

    def test_a_following_campaign_cannot_sample_its_own_splits(self, batch: Path) -> None:
        coverage()
        with pytest.raises(CommandError, match="have the splits of the prerequisite"):
            rating("development=0.2")


class TestUnits:
    def test_every_unit_has_a_row_whether_sampled_or_not(self, batch: Path) -> None:
        campaign = campaign_of("rubric-passage", *options("per_passage=2", "seed=3"))
        rows = UnitSampling.objects.filter(item__campaign=campaign, item__key="q/1/p")
        samplings = {(r.kind, r.seed, r.wave, r.probability) for r in rows}
        assert samplings == {("simple", 3, 1, 2 / 3)}
        names = [question["id"] for question in FIRST["questions"]]
        assert [row.key for row in rows] == names
        ranked = sorted(names, key=lambda name: rank(3, "units of q/1/p", name))
        assert {row.key for row in rows if row.drawn} == set(ranked[:2])
        units = campaign.items.get(key="q/1/p").units.values_list("key", flat=True)
        assert set(units) == set(ranked[:2])

    def test_a_protocol_that_asks_all_units_samples_all(self, batch: Path) -> None:
        campaign = campaign_of("report-coverage")
        rows = UnitSampling.objects.filter(item__campaign=campaign)
        assert set(rows.values_list("kind", "probability", "drawn")) == {("all", 1.0, True)}
        units = sum(
            len(line["questions"]) * len(line["reports"]) for line in (FIRST, SECOND, SECOND)
        )
        assert rows.count() == units

    @pytest.mark.postgresql
    def test_a_postponed_sample_is_unknown_at_first_and_then_stored_with_its_strata(
        self, batch: Path
    ) -> None:
        first, second = coverage(), rating()
        rows = UnitSampling.objects.filter(item__campaign=second, item__key="q/1/p")
        assert set(rows.values_list("kind", "wave", "drawn", "probability")) == {
            ("turns", 2, None, None)
        }
        for item in ("r", "r#1"):
            answer(first, item, "ann", {"a/b#1": "yes"})
        asked = given(second, rater("ann"))["q/1/p"]
        samplings = {row.key: (row.stratum, row.probability, row.drawn) for row in rows.all()}
        assert samplings["a/b#1"] == ("yes", 1.0, True)
        assert {key for key, (_, _, drawn) in samplings.items() if drawn} == set(asked)
        assert [samplings[k][:2] for k in (" blank ", "🌉")] == [("no", 0.5)] * 2

    @pytest.mark.postgresql
    def test_each_rater_has_their_own_sample_under_own_sampling(self, batch: Path) -> None:
        coverage()
        second = rating("sampling=own")
        rows = UnitSampling.objects.filter(item__campaign=second)
        assert set(rows.values_list("kind", "drawn")) == {("own", None)}


class TestProbabilities:
    @pytest.mark.parametrize(
        ("yes", "no", "rest", "count"), list(product((0, 1, 4), (0, 2, 3), (0, 2), (1, 2, 3, 6)))
    )
    def test_stored_probabilities_match_the_shares_of_many_samples(
        self, yes: int, no: int, rest: int, count: int
    ) -> None:
        names = [f"y{n}" for n in range(yes)] + [f"n{n}" for n in range(no)]
        names += [f"r{n}" for n in range(rest)]
        strata = {name: {"y": "yes", "n": "no"}[name[0]] for name in names if name[0] != "r"}
        probabilities, seeds = chances(names, strata, count), 600
        drawn = Counter(
            name
            for seed in range(seeds)
            for name in alternating(names, strata, count, seed, "units of x")
        )
        for name in names:
            assert drawn[name] / seeds == pytest.approx(probabilities[name], abs=0.09)
        assert sum(probabilities.values()) == pytest.approx(min(count, len(names)))


@pytest.mark.postgresql
class TestCheck:
    def said(self, name: str = "c") -> str:
        with pytest.raises(CommandError) as error:
            run("draws", "--campaign", name, "--check")
        return str(error.value)

    def test_a_sound_campaign_passes(self, many: str) -> None:
        shares = ("--human-share", "0.4", "--overlap", "0.3", "--raters-per-item", "3")
        campaign_of("report-coverage", *shares, *options("development=0.2"), batch=many)
        assert "the stored sample of 20 queries and 80 units" in run(
            "draws", "--campaign", "c", "--check"
        )

    def test_a_postponed_sample_passes_too(self, batch: Path) -> None:
        first, second = coverage(), rating()
        for item in ("r", "r#1"):
            answer(first, item, "ann", {"a/b#1": "yes"})
        assert next_assignment(second, rater("ann"))
        assert "agrees with its seed" in run("draws", "--campaign", "second", "--check")

    @pytest.mark.first_case
    @pytest.mark.parametrize(
        "change",
        [
            {"role": "development"},
            {"probability": 0.5},
            {"drawn": False},
            {"seed": 1},
        ],
    )
    def test_a_changed_query_row_is_found(self, many: str, change: dict[str, object]) -> None:
        campaign = campaign_of("report-coverage", batch=many)
        campaign.query_samplings.filter(query__key="q3").update(**change)
        assert "1 differences" in self.said()

    def test_a_changed_number_of_slots_is_found(self, many: str) -> None:
        campaign_of("report-coverage", batch=many).items.filter(key="r1").update(quota=2)
        assert "1 differences" in self.said()

    def test_a_changed_unit_row_is_found(self, batch: Path) -> None:
        campaign = campaign_of("rubric-passage")
        row = UnitSampling.objects.filter(item__campaign=campaign, drawn=False)[0]
        UnitSampling.objects.filter(pk=row.pk).update(drawn=True)
        assert "1 differences" in self.said()

    def test_a_missing_query_row_is_found(self, many: str) -> None:
        campaign_of("report-coverage", batch=many).query_samplings.filter(query__key="q3").delete()
        assert "1 differences" in self.said()


class TestByHand:
    """The script in `docs/how-to/design-a-campaign.md`, which imports nothing of Tandem."""

    def run(self, folder: Path, lines: list[Line]) -> subprocess.CompletedProcess[str]:
        text = (ROOT / "docs/how-to/design-a-campaign.md").read_text("utf-8")
        (script,) = re.findall(r"```python\n(.*?)```", text, re.S)
        (folder / "replay.py").write_text(script, "utf-8")
        write_lines(folder / "sample.jsonl", lines)
        command = [sys.executable, "-I", "replay.py", "sample.jsonl"]
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)

    def test_the_published_script_replays_the_same_sample(self, many: str, tmp_path: Path) -> None:
        shares = ("--human-share", "0.5", *options("development=0.3", "audit=0.1", "seed=7"))
        lines = list(sample_lines(campaign_of("report-coverage", *shares, batch=many)))
        done = self.run(tmp_path, lines)
        assert done.stdout == "20 queries, 10 of them for people, agree with the seed\n"
        of = {line["query"]: line for line in lines if line["of"] == "query"}
        one, other = (next(key for key in of if of[key]["drawn"] is it) for it in (True, False))
        of[one]["drawn"], of[other]["drawn"] = False, True
        assert "the stored queries for people are not those" in self.run(tmp_path, lines).stderr
        of[one]["drawn"], of[other]["drawn"] = True, False
        first = next(line for line in of.values() if line["role"] == "development")
        first["role"] = "evaluation"
        last = next(
            line
            for line in of.values()
            if line["role"] == "evaluation" and line["drawn"] is first["drawn"] and line != first
        )
        last["role"] = "development"
        assert "the stored splits are not those" in self.run(tmp_path, lines).stderr


class TestLines:
    def test_there_is_a_line_for_each_query_and_each_unit(self, batch: Path) -> None:
        campaign = campaign_of("rubric-passage", *options("development=0.4"))
        lines = [json.loads(line) for line in run("draws", "--campaign", "c").split("\n") if line]
        assert lines == list(sample_lines(campaign))
        assert all(tuple(line) == COLUMNS for line in lines)
        queries = [line for line in lines if line["of"] == "query"]
        assert [line["query"] for line in queries] == ["q/1", "q 2", "q3"]
        units = [line for line in lines if line["of"] == "unit"]
        assert len(units) == UnitSampling.objects.count() > campaign.items.count()
        roles = {line["query"]: line["role"] for line in queries}
        assert all(line["role"] == roles[line["query"]] for line in units)

    def test_the_sampled_queries_are_listed_alone(self, many: str) -> None:
        made = run(
            "create_campaign", "c", "--protocol", "report-coverage", "--batch", many,
            "--human-share", "0.25", "--pool", "open",
        )  # fmt: skip
        how = "campaign draws --campaign c --queries lists them."
        assert f"People are asked about 5 of 20 queries; tandem {how}" in made
        assert how in run("show_campaign", "c")
        drawn = QuerySampling.objects.filter(drawn=True).values_list("query__key", flat=True)
        assert run("draws", "--campaign", "c", "--queries").splitlines() == list(drawn)
        assert len(drawn) == 5
        rita = client_of(User.objects.create(username="rita", role="admin"))
        page = f"/campaigns/{Campaign.objects.get().pk}/"
        assert "see which</a>" in rita.get(f"{page}progress/").content.decode()
        assert ", ".join(drawn) in rita.get(f"{page}settings/").content.decode()

    def test_csv_has_the_same_columns(self, batch: Path, tmp_path: Path) -> None:
        campaign_of("rubric-passage")
        path = tmp_path / "draws.csv"
        run("draws", "--campaign", "c", "--format", "csv", "--output", path)
        assert path.read_text("utf-8").startswith(",".join(COLUMNS))

    def test_a_summary_counts_queries_by_split(self, many: str) -> None:
        campaign = campaign_of("report-coverage", *options("development=0.25"), batch=many)
        counts = summary(campaign)
        assert counts["roles"] == {
            "development": {"queries": 5, "asked": 5},
            "evaluation": {"queries": 15, "asked": 15},
        }
        assert (counts["units"], counts["units_drawn"], counts["units_pending"]) == (80, 80, 0)


@pytest.mark.postgresql
def test_a_campaign_and_its_sample_are_deleted_together(batch: Path) -> None:
    campaign_of("report-coverage").delete()
    assert not QuerySampling.objects.exists()
    assert not UnitSampling.objects.exists()
    assert not Item.objects.exists()
    assert not Campaign.objects.exists()

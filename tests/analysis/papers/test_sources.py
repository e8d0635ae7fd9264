"""A paper's tables over several campaigns of the same units: joined, or refused by name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError

from analysis.models import Study
from annotation.models import Campaign, Label
from tests.analysis.papers.conftest import (
    STUDY,
    assert_refilled,
    by_key,
    paper_of,
    passage_labels,
    reason_of,
    row_of,
    tables_of,
    write_files,
)
from tests.cast import run, write_lines
from tests.databases import rolled_back

APART = (
    ('[campaign.passages]\n', '[campaign.judged-passages]\nprotocol = "rubric-passage"\n'
     'batch = "answered"\nraters_per_item = 0\noption = { sampling = "all" }\n'
     'judges = ["replay"]\n\n[campaign.passages]\n'),
    ('labels = ["passages.jsonl"]\njudges = ["replay"]', 'labels = ["passages.jsonl"]'),
    ('[campaign.coverage]\n', '[campaign.rated]\nprotocol = "report-coverage"\n'
     'batch = "answered"\nraters_per_item = 0\noption = { variables = "rating" }\n'
     'judges = ["replay"]\n\n[campaign.coverage]\n'),
    ('labels = ["coverage.jsonl"]\njudges = ["replay"]', 'labels = ["coverage.jsonl"]'),
)  # fmt: skip
"""Changes of the small study: its judge has campaigns of its own, one over a later batch."""


def changed(*pairs: tuple[str, str]) -> str:
    text = STUDY
    for before, after in pairs:
        assert before in text, before
        text = text.replace(before, after, 1)
    return text


Grids = dict[str, list[Any]]


@pytest.fixture(scope="module")
def one_campaign(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory
) -> Grids:
    """The tables of the small study as it is: people and the judge in the same campaigns."""
    folder: Path = tmp_path_factory.mktemp("together")
    with rolled_back(django_db_blocker):
        applied(folder, STUDY)
        return values_of(tables_of("crux", "small"))


@pytest.fixture(scope="module")
def apart(
    one_campaign: Grids, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """The small study with people and the judge in campaigns of their own."""
    folder: Path = tmp_path_factory.mktemp("apart")
    with rolled_back(django_db_blocker):
        applied(folder, changed(*APART))
        yield folder


def applied(folder: Path, text: str) -> None:
    write_files(folder)
    (folder / "study.toml").write_text(text, "utf-8")
    assert run("apply_study", folder).endswith("is as its file says.\n")


def values_of(tables: dict[str, Any]) -> Grids:
    """The values of every row, by table, grid and row."""
    return {
        f"{key}, {grid['caption']}, {row['name']}": row_of(grid, row["name"])
        for key, grids in tables.items()
        for grid in grids
        for row in grid["rows"]
    }


class TestJoined:
    def test_the_tables_are_those_of_one_campaign_for_all(
        self, apart: Path, one_campaign: Grids
    ) -> None:
        assert values_of(tables_of("crux", "small")) == one_campaign

    def test_figure_4_compares_the_judge_with_people_of_the_other_campaign(
        self, apart: Path
    ) -> None:
        grids = tables_of("crux", "small")["figure-4"]
        for what in ("passages", "reports"):
            (grid,) = [g for g in grids if g["caption"] == f"documents: {what} cut at η = 3"]
            assert row_of(grid, "replay")[0] == 1.0

    def test_the_output_says_which_campaigns_were_joined(self, apart: Path) -> None:
        notes = " ".join(paper_of("crux", "small")["notes"])
        assert "campaigns passages and judged-passages are read as one" in notes
        assert "campaigns rated and coverage are read as one" in notes

    @pytest.mark.long
    def test_verify_joins_the_campaigns_of_a_release(self, apart: Path) -> None:
        assert_refilled(apart)


class TestOtherChoices:
    def test_two_campaigns_with_labels_from_people_are_refused_by_name(
        self, apart: Path, db: None
    ) -> None:
        run("create_campaign", "again", "--protocol", "rubric-passage", "--batch", "documents",
            "--option", "sampling=all")  # fmt: skip
        write_lines(apart / "carl.jsonl", passage_labels("carl"))
        run("import_labels", apart / "carl.jsonl", "--campaign", "again")
        study = Study.objects.get(name="small")
        campaign = Campaign.objects.get(name="again")
        study.parts.create(kind="campaign", name="again", campaign=campaign, position=99)
        (grid,) = tables_of("crux", "small")["table-1"]
        reason = reason_of(grid, "none yet", 0)
        assert "campaigns passages and again have labels from people on the same units" in reason
        assert "by the option without=again" in reason
        with pytest.raises(CommandError, match="did you mean 'again'"):
            tables_of("crux", "small", "--option", "without=agian")
        tables = tables_of("crux", "small", "--option", "without=again")
        assert values_of(tables)["table-4, Statistics of the data set, queries"] == [2]

    def test_a_campaign_and_its_continuation_are_one_source(self, apart: Path, db: None) -> None:
        run("create_campaign", "next", "--protocol", "report-coverage", "--batch", "answered",
            "--continues", "coverage", "--option", "variables=answerable,rating")  # fmt: skip
        study, campaign = Study.objects.get(name="small"), Campaign.objects.get(name="next")
        before = values_of(tables_of("crux", "small"))
        study.parts.create(kind="campaign", name="next", campaign=campaign, position=99)
        found = paper_of("crux", "small")
        assert values_of(by_key(found)) == before
        assert "campaigns rated, coverage and next are read as one" in " ".join(found["notes"])


class TestThresholds:
    def test_ratings_of_people_are_cut_at_any_eta(self, apart: Path) -> None:
        grids = tables_of("crux", "small")["figure-4"]
        (five,) = [g for g in grids if g["caption"] == "documents: passages cut at η = 5"]
        assert row_of(five, "replay") == [1.0, 1.0, 1.0, 1.0]

    def test_yes_and_no_are_cut_at_the_papers_own_eta_alone(self, apart: Path, db: None) -> None:
        Label.objects.filter(variable="rating", unit__item__campaign__name="coverage").delete()
        grids = tables_of("crux", "small")["figure-4"]
        three, five = [g for g in grids if g["caption"].startswith("documents: reports cut")]
        # Of 28 labels where the judge says 3 or more, ben misses one.
        assert row_of(three, "replay")[0] == pytest.approx(27 / 28)
        assert row_of(five, "replay") == [None] * 4
        assert "people said yes or no in campaigns" in reason_of(five, "replay", 0)
        assert "cannot be cut at 5" in reason_of(five, "replay", 0)

    def test_tables_at_another_eta_refuse_yes_and_no(self, apart: Path, db: None) -> None:
        Label.objects.filter(variable="rating", unit__item__campaign__name="coverage").delete()
        usual, cut = tables_of("crux", "small"), tables_of("crux", "small", "--option", "eta=5")
        expected = "people said yes or no about reports, which cannot be cut at another η, 5"
        assert reason_of(usual["table-2"][0], "η = 5", 0) == expected
        assert row_of(usual["table-1"][0], "first")[2] is not None
        assert reason_of(cut["table-1"][0], "first", 2) == expected
        assert row_of(cut["table-2"][0], "η = 3")[0] == row_of(usual["table-2"][0], "η = 3")[0]
        coverage = next(g for g in cut["figure-4"] if "coverage per query" in g["caption"])
        names = [column["name"] for column in coverage["columns"]]
        found = reason_of(coverage, "q1 · first", names.index("ada"))
        assert found.startswith("no rating in campaigns ")

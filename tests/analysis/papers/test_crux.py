"""CRUX's tables match a small study worked by hand, and the printed figures."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from annotation.models import Label
from tests.analysis.papers.conftest import (
    STUDY,
    by_key,
    paper_of,
    reason_of,
    released,
    row_of,
    tables_of,
    write_files,
)
from tests.cast import run

pytestmark = [pytest.mark.django_db]
ROOT = 0.5**0.5


@pytest.fixture(scope="module")
def paper(crux_study: str, django_db_blocker: Any) -> dict[str, Any]:
    with django_db_blocker.unblock():
        return paper_of("crux", crux_study)


@pytest.fixture(scope="module")
def tables(paper: dict[str, Any]) -> dict[str, Any]:
    return by_key(paper)


class TestTable1:
    """Contexts a+b, a+c and d cover both questions, one, and none; so do the reports."""

    @pytest.fixture
    def people(self, tables: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = tables["table-1"][0]
        return found

    def test_table_1_has_a_grid_for_people_and_one_for_each_judge(self, tables: Any) -> None:
        assert [grid["caption"] for grid in tables["table-1"]] == ["By people", "By replay"]

    def test_a_judge_that_replays_a_file_is_said_to_be_a_fake(self, paper: Any) -> None:
        assert paper["notes"][0].startswith("Fakes, whose answers come from a file: replay.")

    def test_reference_contexts_come_first_and_tau_comes_last(self, people: Any) -> None:
        assert [row["name"] for row in people["rows"]] == [
            "direct", "reference", "oracle", "first", "second", "third",
            "Kendall's τ with Cov(y), or Den(y)",
        ]  # fmt: skip

    def test_a_system_has_measures_of_its_contexts_and_its_reports_in_one_row(
        self, tables: Any
    ) -> None:
        judge = tables["table-1"][1]
        # Cov(Z), α-nDCG, Cov(y), Den(Z), Den(y); a report has half of the oracle's 20 tokens.
        assert row_of(judge, "first") == pytest.approx([1, 1, 1, 1, 2**0.5])
        # c answers the same as a: gain 1 + 0.5 / log2(3) over 1 + 1 / log2(3).
        again = (1 + 0.5 * 0.6309298) / (1 + 0.6309298)
        assert row_of(judge, "second") == pytest.approx([0.5, again, 0.5, ROOT, 1], abs=1e-6)
        assert row_of(judge, "third") == pytest.approx([0, 0, 0, 0, 0])

    def test_a_tie_among_people_is_left_out(self, people: Any) -> None:
        # People tie on one of the two questions of the report of `first` on q1.
        assert row_of(people, "first")[2] == 1

    def test_a_report_without_a_context_has_that_reason(self, people: Any) -> None:
        assert row_of(people, "direct")[:2] == [None, None]
        assert reason_of(people, "direct", 0) == "it was written without a context"

    def test_tau_orders_the_retrieval_settings_only(self, people: Any) -> None:
        # Both order the three settings alike.
        assert row_of(people, people["rows"][-1]["name"]) == [1.0, 1.0, "", 1.0, ""]
        assert "3 systems" in people["rows"][-1]["cells"][0]["method"]


def test_two_judges_of_one_model_are_one_evaluator(tables: Any, tmp_path: Path) -> None:
    del tables  # of one judge, that rated both
    text = STUDY.replace('"small"', '"two"').replace('judges = ["replay"]', 'judges = ["first"]', 1)
    text = text.replace('judges = ["replay"]', 'judges = ["other"]')
    names = ("documents", "passages", "answered", "coverage", "contexts", "sampled")
    for name in (*names, "sampled-coverage"):
        text = text.replace(f".{name}]", f".two-{name}]").replace(f'"{name}"', f'"two-{name}"')
    (judge,) = re.findall(r"\[judge.replay\]\n.*\n.*\n", text)
    first = judge.replace("replay", "first") + 'family = "made-up"\n'
    text = text.replace(judge, first + first.replace("first", "other"))
    again = '[campaign.two-again]\nprotocol = "rubric-passage"\nbatch = "two-answered"\n'
    text += again + 'raters_per_item = 0\noption = { sampling = "all" }\njudges = ["first"]\n'
    (tmp_path / "study.toml").write_text(text, "utf-8")
    write_files(tmp_path)
    run("apply_study", tmp_path)
    judge_grid = tables_of("crux", "two")["table-1"][1]
    assert judge_grid["caption"] == "By first and other"
    assert row_of(judge_grid, "first") == pytest.approx([1, 1, 1, 1, 2**0.5])
    by_either = [
        json.loads(
            run("measures", "--campaign", "two-coverage", "--preset", "crux", "--resamples", "2",
                "--passages", f"{name}@two-again")
        )["measures"]
        for name in ("first", "first and other")
    ]  # fmt: skip
    assert by_either[0] == by_either[1]


def test_figure_4_has_the_coverage_by_each_person_and_their_agreement(tables: Any) -> None:
    coverage, spearman, kappa, cut, *_ = tables["figure-4"]
    heads = [column["name"] for column in coverage["columns"]]
    assert heads == ["replay", "ada", "ben", "Mean of people"]
    assert row_of(coverage, "q1 · first") == [1, 1, 0.5, 0.75]
    assert row_of(spearman, "all settings")[0] == pytest.approx(1)
    # 23 of 24 units agree; ada says yes 14 times and ben 13, of 24 each.
    yes = 27 / 48
    by_chance = yes**2 + (1 - yes) ** 2
    kappa_by_hand = (23 / 24 - by_chance) / (1 - by_chance)
    assert row_of(kappa, "Fleiss' κ")[0] == pytest.approx(kappa_by_hand)
    assert row_of(cut, "replay") == [1, 1, 1, 1]


def test_table_2_cuts_ratings_at_each_threshold(tables: Any) -> None:
    people, judge = tables["table-2"]
    assert row_of(judge, "η = 3")[:3] == pytest.approx([0.5, 0.5, 0.5])
    # At 5 only a answers, and no report was rated 5.
    assert row_of(judge, "η = 5")[0] == 0
    assert row_of(judge, "η = 5")[2] == pytest.approx(2 / 3)
    # People said yes or no, which counts at 3, and rated, which counts at 5.
    assert row_of(people, "η = 3")[0] == pytest.approx(0.5)
    assert row_of(people, "η = 5")[0] == 0


def test_table_3_and_figure_5_compare_measures(tables: Any) -> None:
    assert row_of(tables["table-3"][0], "documents · 10")[0] == 1.0


def test_figure_5_takes_reports_from_sampled_contexts(tables: Any) -> None:
    people, judge = tables["figure-5"]
    assert judge["caption"] == "documents, by replay: 3 sampled contexts"
    # The contexts cover 2, 1 and 0 questions, their reports 1, 2 and 0: one of three pairs is
    # reversed.
    assert row_of(judge, "Cov(Z)")[0] == ""
    assert row_of(judge, "Cov(Z)")[5] == pytest.approx(1 / 3)
    assert row_of(judge, "Cov(y)")[0] == pytest.approx(1 / 3)
    assert row_of(people, "Cov(Z)")[5] == pytest.approx(1 / 3)


def test_table_4_counts_queries_tokens_and_required_passages(tables: Any) -> None:
    (grid,) = tables["table-4"]
    assert row_of(grid, "queries") == [2]
    assert row_of(grid, "tokens per passage") == [10]
    # a and b answer one question each; c answers the same as a.
    assert row_of(grid, "required passages, by people") == [4]
    assert row_of(grid, "redundant relevant passages, by people") == [2]


class TestCommand:
    @pytest.mark.parametrize("form", ["md", "latex"])
    def test_the_last_line_names_the_tables_that_labels_cannot_fill(
        self, crux_study: str, form: str
    ) -> None:
        text = run("paper", "crux", "--study", crux_study, "--format", form, "--resamples", "20")
        assert "cannot be computed from labels" in text.splitlines()[-1]
        assert "made-up studies only" in text

    def test_the_html_format_is_a_whole_document(self, crux_study: str) -> None:
        text = run("paper", "crux", "--study", crux_study, "--format", "html", "--resamples", "20")
        assert "<h1>Tables: small</h1>" in text

    def test_an_unknown_study_is_refused_in_one_line(self, crux_study: str) -> None:
        with pytest.raises(Exception, match=r"There is no study 'smal'; did you mean 'small'\?"):
            run("paper", "crux", "--study", "smal")


@pytest.mark.every_case
def test_the_released_labels_give_the_printed_kappa_and_coverage(
    expected: dict[str, Any], data: Path, tmp_path: Path
) -> None:
    study = released("crux", data, tmp_path)
    coverage, spearman, kappa, cut, *_ = tables_of("crux", study)["figure-4"]
    # The paper prints 0.52.
    assert row_of(kappa, "Fleiss' κ")[0] == pytest.approx(0.516, abs=5e-4)
    rows = json.loads((data / "expected.json").read_text("utf-8"))["tables"]["crux.t1.coverage"]
    for report, row in rows.items():
        query = report.removeprefix("bm25_").removeprefix("dr_rankfirst_")
        found = row_of(coverage, f"{query} · {row['setting']}")
        people = [row[f"annotator{n}"] for n in (1, 2, 3)]
        assert found[:3] == pytest.approx(people, abs=1e-4)
        assert found[3] == pytest.approx(sum(people) / 3, abs=1e-4)
    ratings = Label.objects.filter(
        unit__item__campaign__name="crux-released-passages", response__current=True
    )
    given = expected["crux.t2.ratings"]["value"]
    assert ratings.count() == sum(
        each["ratings"] - each["on_null_questions"] for each in given.values()
    )
    # No LLM rated anything in the release.
    assert "no judge" in reason_of(spearman, "none yet", 0)
    assert "no judge rated" in reason_of(cut, "none yet", 0)

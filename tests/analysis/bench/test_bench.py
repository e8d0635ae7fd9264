"""The bench shows several judges in one table, and how similarly they err."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError
from django.test import Client

from analysis.bench.document import as_markdown
from analysis.bench.numbers import BenchError, bench
from analysis.models import Study
from annotation.models import Campaign, User
from judging.models import JudgeRun
from tandem.labels.selection import ReportOptions
from tests.cast import run, write_lines
from tests.databases import rolled_back
from tests.page_cast import client_of

pytestmark = pytest.mark.django_db
QUERIES, QUESTIONS = 12, 4
FEW = ReportOptions(resamples=50)
PEOPLE = ("Ada", "Bram")


def query(number: int) -> dict[str, Any]:
    return {
        "id": f"q{number}",
        "text": f"What of ferry {number}?",
        "questions": [{"id": f"q{number}:{n}", "text": f"Is it {n}?"} for n in range(QUESTIONS)],
        "reports": [{"id": f"r{number}", "text": "It sails at dawn.", "system": "one"}],
    }


def label(number: int, unit: int, rater: str, value: str) -> dict[str, Any]:
    line = {"item": f"r{number}", "unit": f"q{number}:{unit}", "variable": "answerable"}
    spans = [{"field": "report", "text": "sails at dawn"}] if value == "yes" else None
    return line | {"value": value, "rater": rater} | ({"spans": spans} if spans else {})


def truth(number: int, unit: int) -> str:
    return "yes" if (number + unit) % 2 else "no"


def other(value: str) -> str:
    return {"yes": "no", "no": "yes"}[value]


def labels(rater: str, *wrong: tuple[int, int]) -> list[dict[str, Any]]:
    """A rater who is wrong only on these units of each query, by the query's number modulo 3."""
    return [
        label(n, u, rater, other(truth(n, u)) if (n % 3, u) in wrong else truth(n, u))
        for n in range(QUERIES)
        for u in range(QUESTIONS)
    ]


@pytest.fixture(scope="module")
def campaign(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Campaign]:
    """A campaign labelled by two people; removed after the module."""
    folder = tmp_path_factory.mktemp("bench")
    with rolled_back(django_db_blocker):
        batch = write_lines(folder / "batch.jsonl", map(query, range(QUERIES)))
        run("load_batch", batch, "--name", "ferries")
        run("create_campaign", "ferries", "--protocol", "report-coverage", "--batch", "ferries",
            "--raters-per-item", "2")  # fmt: skip
        people = write_lines(folder / "people.jsonl", [*labels("Ada"), *labels("Bram", (2, 3))])
        run("import_labels", people, "--campaign", "ferries")
        yield Campaign.objects.get(name="ferries")


def scripted(folder: Path, name: str, *wrong: tuple[int, int]) -> None:
    path = write_lines(folder / f"{name}.jsonl", labels(name, *wrong))
    run("create_judge", name, "--backend", "scripted", "--answers", path)


def command(*arguments: object) -> str:
    return run("bench_judges", "--campaign", "ferries", "--resamples", "50", *arguments)


def named(*judges: str) -> list[str]:
    return [part for name in judges for part in ("--judge", name)]


def researcher() -> Client:
    return client_of(User.objects.create(username="rita", role="researcher"))


@pytest.fixture(scope="class")
def three(
    campaign: Campaign,
    django_db_blocker: Any,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Campaign]:
    """Two judges that err on the same units, and a third that errs on others."""
    folder = tmp_path_factory.mktemp("three")
    with rolled_back(django_db_blocker):
        scripted(folder, "one", (0, 0), (0, 1))
        scripted(folder, "twin", (0, 0), (0, 1))
        scripted(folder, "other", (1, 2), (1, 3))
        for name in ("one", "twin", "other"):
            run("run_judge", "--campaign", "ferries", "--judge", name)
        yield campaign


class TestThreeJudges:
    def test_each_judge_has_the_figures_of_the_report(self, three: Campaign) -> None:
        found = bench(three, ["one", "other"], FEW)
        report = json.loads(run("report", "--campaign", "ferries", "--resamples", "50"))
        of_report = report["variables"]["answerable"]["judges"]
        of_bench = found["variables"]["answerable"]["judges"]
        assert list(of_bench) == ["one", "other"]
        for name, block in of_bench.items():
            for key in ("agreement", "gap", "floor", "missing", "units"):
                assert block[key] == of_report[name][key]

    def test_judges_with_the_same_errors_count_as_fewer_effective_judges(
        self, three: Campaign
    ) -> None:
        twins = bench(three, ["one", "twin"], FEW)["variables"]["answerable"]["errors"]
        assert twins["matrix"][0][1]["value"] == pytest.approx(1)
        assert twins["effective_judges"]["value"] == pytest.approx(1)
        mixed = bench(three, ["one", "other"], FEW)["variables"]["answerable"]["errors"]
        assert mixed["matrix"][0][1]["value"] < 0
        assert mixed["effective_judges"]["value"] > 2
        assert mixed["units"] < QUERIES * QUESTIONS  # Ada and Bram tie on some units

    def test_by_default_all_judges_are_included(self, three: Campaign) -> None:
        assert [judge["name"] for judge in bench(three, (), FEW)["judges"]] == [
            "one",
            "other",
            "twin",
        ]

    def test_a_judge_has_the_cost_of_its_runs_and_a_mark_if_it_is_a_fake(
        self, three: Campaign
    ) -> None:
        one = bench(three, ["one"], FEW)["judges"][0]
        assert one["scripted"] is True
        assert (one["calls"], one["cost"]) == (QUERIES * QUESTIONS, "0")
        assert one["tokens"] == {"prompt": 0, "cached": 0, "completion": 0, "thinking": 0}
        assert one["seconds"]["calls"] == QUERIES * QUESTIONS
        assert one["robustness"] is None

    def test_the_worst_rate_of_flips_comes_from_robustness_trials(self, three: Campaign) -> None:
        run(
            "robustness",
            "--campaign",
            "ferries",
            "--judge",
            "one",
            "--kinds",
            "again",
            "--items",
            "12",
        )
        found = bench(three, ["one"], FEW)["judges"][0]["robustness"]["answerable"]["repeat"]
        assert (found["figure"], found["value"]) == ("flips", 0.0)

    def test_a_judge_without_labels_is_refused(self, three: Campaign) -> None:
        with pytest.raises(BenchError, match="Judge 'nobody' has no label"):
            bench(three, ["one", "nobody"], FEW)

    def test_an_evaluator_stands_for_its_judges(self, three: Campaign) -> None:
        study = Study.objects.create(name="s", evaluators={"llm": ["other", "elsewhere"]})
        study.parts.create(kind="campaign", name=three.name, campaign=three)
        found = bench(three, ["llm"], FEW)
        assert [judge["name"] for judge in found["judges"]] == ["other"]
        assert [each["name"] for each in found["evaluators"]] == ["llm"]
        assert "count as one evaluator, llm" in command(*named("llm"), "--no-run")

    def test_with_no_run_the_table_uses_existing_labels(self, three: Campaign) -> None:
        found = json.loads(command(*named("twin", "one"), "--no-run", "--format", "json"))
        assert [judge["name"] for judge in found["judges"]] == ["twin", "one"]
        assert found["resamples"] == 50
        assert JudgeRun.objects.count() == 3

    def test_the_page_shows_the_judges_named_in_the_address(self, three: Campaign) -> None:
        client = researcher()
        address = f"/campaigns/{three.pk}/judges/bench/"
        assert address in client.get(f"/campaigns/{three.pk}/judges/").content.decode()
        page = client.get(f"{address}?judge=one&judge=twin&resamples=50").content.decode()
        assert "Independent judges" in page
        assert 'value="one" id="judge-1" checked' in page
        assert 'value="other" id="judge-2" checked' not in page
        assert client.get(address, {"judge": "nobody"}).status_code == 422
        assert client.get(address, {"resamples": "many"}).status_code == 422

    def test_the_file_has_the_numbers_of_the_command(self, three: Campaign) -> None:
        address = f"/campaigns/{three.pk}/judges/bench.json"
        answer = researcher().get(f"{address}?judge=one&judge=other&resamples=50")
        assert answer["Content-Disposition"].startswith("attachment")
        downloaded = json.loads(answer.content)["variables"]
        printed = command(*named("one", "other"), "--no-run", "--format", "json")
        assert downloaded == json.loads(printed)["variables"]


def test_a_judge_imported_from_a_file_has_no_cost_and_a_reason(
    campaign: Campaign, tmp_path: Path
) -> None:
    lines = [line | {"rater_kind": "judge"} for line in labels("theirs", (0, 0))]
    run("import_labels", write_lines(tmp_path / "theirs.jsonl", lines), "--campaign", "ferries")
    theirs = bench(campaign, ["theirs"], FEW)["judges"][0]
    assert (theirs["cost"], theirs["backend"]) == (None, None)
    assert "no run is known" in theirs["unknown"]
    assert "no run is known" in as_markdown(bench(campaign, ["theirs"], FEW))


def test_the_command_runs_missing_judges_and_prints_one_table(
    campaign: Campaign, tmp_path: Path
) -> None:
    scripted(tmp_path, "one", (0, 0), (0, 1))
    scripted(tmp_path, "other", (1, 2), (1, 3))
    said = command(*named("one", "other"))
    assert JudgeRun.objects.count() == 2
    table = said.split("# How alike judges err")[0]
    assert table.count("| one (scripted)") == 1
    assert "How alike judges err" in said
    again = command(*named("one", "other"))
    assert JudgeRun.objects.count() == 2
    assert again.count("answerable") == said.count("answerable")


def test_the_command_can_estimate_without_running_a_judge(
    campaign: Campaign, tmp_path: Path
) -> None:
    scripted(tmp_path, "one")
    assert "one: 48 of 48 will be asked at no cost" in command(*named("one"), "--estimate")
    assert not JudgeRun.objects.exists()


def test_a_cost_limit_does_not_stop_judges_without_cost(campaign: Campaign, tmp_path: Path) -> None:
    scripted(tmp_path, "one")
    command(*named("one"), "--most-cost", "1")
    assert JudgeRun.objects.get().state == "done"


def test_an_unknown_judge_is_refused_before_any_is_run(campaign: Campaign, tmp_path: Path) -> None:
    scripted(tmp_path, "one")
    with pytest.raises(CommandError, match="nobody"):
        command(*named("one", "nobody"))
    assert not JudgeRun.objects.exists()


def test_a_campaign_without_judges_says_so(campaign: Campaign) -> None:
    with pytest.raises(CommandError, match="No judge has a label"):
        command("--no-run")
    assert bench(campaign, (), FEW)["judges"] == []
    page = researcher().get(f"/campaigns/{campaign.pk}/judges/bench/")
    assert page.status_code == 200
    assert "No judge has a label here" in page.content.decode()

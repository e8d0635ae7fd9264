"""Each example study runs from an empty folder to its end, and its tables are not empty."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError
from pytest_django import DjangoDbBlocker

from analysis.campaigns.frames import campaign_frame
from analysis.example_studies import EXAMPLES, files, long2rag, trec_nuggets
from analysis.example_studies.crux import SIZE, sampled_context
from analysis.models import Study
from analysis.study import read_study, status
from annotation.campaigns.sampling import shuffled
from annotation.models import Allotment, Campaign, User
from annotation.people.shares import share_statuses
from datasets.material import batch_rows
from datasets.models import Batch
from judging.models import Judge, Review
from tandem.labels.frame import Frame
from tests.cast import run
from tests.databases import rolled_back

NUGGETS = "trec-nuggets"


@pytest.fixture
def folder(tmp_path: Path, preset: str) -> Path:
    run("init_study", tmp_path / "pilot", "--preset", preset)
    return tmp_path / "pilot"


@pytest.mark.long
@pytest.mark.every_case
@pytest.mark.parametrize("preset", sorted({*EXAMPLES} - {NUGGETS}))
def test_a_preset_runs_to_its_end_unchanged(db: None, folder: Path, preset: str) -> None:
    assert_ran_to_its_end(folder, preset, run("apply_study", folder))


def assert_ran_to_its_end(folder: Path, preset: str, said: str) -> None:
    assert said.endswith("Done: study 'pilot' is as its file says.\n")
    assert run("apply_study", folder) == "Nothing to do: study 'pilot' is as its file says.\n"
    results = EXAMPLES[preset].results_of("pilot")
    text = run(*results, "--format", "json", "--resamples", "2")
    if results[0] == "paper":
        assert empty_tables(json.loads(text)) == set()
        assert gaps_of_judges(json.loads(text)) == set()
    found = status(read_study(folder))
    assert found.preset == preset
    assert {stage.state for stage in found.stages} == {"done"}
    assert {judge.backend for judge in Judge.objects.all()} == {"scripted"}
    parts = Study.objects.get().parts.filter(kind="campaign")
    for campaign in Campaign.objects.filter(pk__in=parts.values("campaign")):
        assert_judged(campaign_frame(campaign))


def gaps_of_judges(report: dict[str, Any]) -> set[tuple[str, str]]:
    """The columns that are filled by people, and empty by the judges of the model."""
    (evaluator, *_), found = [each["name"] for each in report["evaluators"]], set()
    for table in report["tables"]:
        filled = {grid["caption"]: set(filled_columns(grid)) for grid in table["grids"]}
        for caption, columns in filled.items():
            if caption.endswith("people") and (by := caption[:-6] + evaluator) in filled:
                found |= {(by, column) for column in columns - filled[by]}
    return found


def filled_columns(grid: dict[str, Any]) -> Iterator[str]:
    for n, column in enumerate(grid["columns"]):
        cells = [row["cells"][n] for row in grid["rows"]]
        if any(isinstance(cell, dict) and cell["value"] is not None for cell in cells):
            yield column["name"]


def empty_tables(report: dict[str, Any]) -> set[str]:
    """The tables of the paper that have no number at all."""
    return {
        table["key"]
        for table in report["tables"]
        if not any(isinstance(value, int | float) for value in values_of(table))
    }


def values_of(table: Any) -> Iterator[Any]:
    cells = (cell for grid in table["grids"] for row in grid["rows"] for cell in row["cells"])
    return (cell.get("value") if isinstance(cell, dict) else cell for cell in cells)


def assert_judged(frame: Frame) -> None:
    """Assert that people's labels exist, and that the judges lack few."""
    for name, of in frame.variables.items():
        people = of.codes_of("human")
        assert (people >= 0).any(), name
        for column in of.columns("judge"):
            missing = sum(of.aside(of.raters[column].name, is_missing=True).values())
            compared = ((people >= 0).any(axis=1) & (of.codes[:, column] >= 0)).sum()
            assert missing <= 0.02 * (missing + compared), name


@pytest.mark.parametrize("preset", sorted(EXAMPLES))
def test_a_folder_is_the_same_each_time_and_its_file_is_valid(preset: str, folder: Path) -> None:
    written = files(preset, "pilot")
    assert all((folder / path).read_text("utf-8") == text for path, text in written.items())
    file = read_study(folder)
    assert (file.name, file.preset) == ("pilot", preset)
    readme = (folder / "README.md").read_text("utf-8")
    assert len([line for line in readme.splitlines() if line]) <= 12
    assert "made up" in readme


def test_random_contexts_of_the_crux_preset_are_those_of_the_rule() -> None:
    ranking = [f"p{n}" for n in range(9)]
    drawn = shuffled(ranking, 0, "context 2 dense t01")[:SIZE]
    assert sampled_context("t01", "dense", ranking, 2) == drawn


@pytest.mark.every_case
def test_long2rag_labels_are_split_as_its_fixed_shares_split_the_work(
    db: None, tmp_path: Path
) -> None:
    for name in long2rag.PEOPLE:
        User.objects.create(username=name, role="annotator")
    folder = tmp_path / "pilot"
    run("init_study", folder, "--preset", "long2rag")
    path = folder / "study.toml"
    labels = (folder / "labels/verification.jsonl").read_text("utf-8").splitlines()
    text = path.read_text("utf-8").replace("# share", "share")
    path.write_text(text.replace('labels = ["labels/verification.jsonl"]\n', ""), "utf-8")
    with pytest.raises(CommandError, match="People give"):
        run("apply_study", folder)
    campaign = Campaign.objects.get(name="pilot-verification")
    # All four verify a tenth of 144 points, and one person each of the others: 14 * 4 + 130.
    assert sorted(status.allotted for status in share_statuses(campaign)) == [46, 46, 47, 47]
    allotted = Allotment.objects.values_list("item__key", "user__username")
    verified = {(line["item"], line["rater"]) for line in map(json.loads, labels)}
    assert set(allotted) == verified


@pytest.mark.long
def test_a_topic_of_the_nuggets_preset_has_one_owner_as_its_fixed_shares_say(
    db: None, tmp_path: Path
) -> None:
    for name in trec_nuggets.ASSESSORS:
        User.objects.create(username=name, role="annotator")
    folder = tmp_path / "pilot"
    run("init_study", folder, "--preset", "trec-nuggets")
    path = folder / "study.toml"
    labels = (folder / "labels/assignment.jsonl").read_text("utf-8").splitlines()
    text = path.read_text("utf-8").replace("# share", "share")
    path.write_text(text.replace('labels = ["labels/assignment.jsonl"]\n', ""), "utf-8")
    with pytest.raises(CommandError, match="People give"):
        run("apply_study", folder)
    rows = Allotment.objects.values_list("item__key", "user__username", "item__query__key")
    assert {row[:2] for row in rows} == {
        (line["item"], line["rater"]) for line in map(json.loads, labels)
    }
    # 83 answers, a quarter of them read by two.
    assert len(rows) == 83 + 21
    for topic in {topic for _, _, topic in rows}:
        read = Counter(name for _, name, of in rows if of == topic)
        answers = {item for item, _, of in rows if of == topic}
        assert max(read.values()) == len(answers)
        assert len(read) <= 2


class TestNuggets:
    """The preset that also prepares its material by people and judges, applied once."""

    @pytest.fixture(scope="class")
    def said(
        self,
        django_db_setup: None,
        django_db_blocker: DjangoDbBlocker,
        tmp_path_factory: pytest.TempPathFactory,
    ) -> Iterator[tuple[Path, str]]:
        """Its folder, and what the command said."""
        folder = tmp_path_factory.mktemp("nuggets") / "pilot"
        with rolled_back(django_db_blocker):
            run("init_study", folder, "--preset", NUGGETS)
            yield folder, run("apply_study", folder)

    def test_it_runs_to_its_end_unchanged(self, said: tuple[Path, str], db: None) -> None:
        folder, words = said
        documents = (folder / "documents.jsonl").read_text("utf-8").splitlines()
        assert all(json.loads(line).keys() == {"id", "text", "passages"} for line in documents)
        assert_ran_to_its_end(folder, NUGGETS, words)

    def test_its_nuggets_come_from_people_and_its_results_compare_the_runs(
        self, said: tuple[Path, str], db: None
    ) -> None:
        for query in batch_rows(Batch.objects.get(name="pilot-nuggets")):
            rated = Counter(nugget.importance for nugget in query.nuggets)
            assert rated == {"vital": 5, "okay": 5}
            assert all(nugget.sources for nugget in query.nuggets)
            assert not any("Few travellers" in nugget.text for nugget in query.nuggets)
        words = EXAMPLES[NUGGETS].results_of("pilot")
        found = json.loads(run(*words, "--format", "json", "--resamples", "2"))
        assert found["measures"].keys() == {
            f"{name}{strict}" for name in ("vital", "all", "weighted") for strict in ("", "-strict")
        }

    def test_people_correct_what_its_judge_writes_and_merges(
        self, said: tuple[Path, str], db: None
    ) -> None:
        # 12 topics with six passages each.
        assert verdicts("pilot-documents: key-points").total() == 72
        assert verdicts("pilot-points: merging").total() == 12
        for campaign in ("pilot-documents: key-points", "pilot-points: merging"):
            found = verdicts(campaign)
            assert found.keys() == {"accepted", "changed"}
            assert 0.2 < found["changed"] / found.total() < 0.7
        for query in batch_rows(Batch.objects.get(name="pilot-merged")):
            texts = [point.text for point in query.key_points]
            assert len(texts) == len(set(texts)) == 11
            assert not any(trec_nuggets.BOAST in text for text in texts)
            steps = [(point.meta or {})["prepared"] for point in query.key_points]
            assert {each["merging"]["author"] for each in steps} == {"nugget-writer"}
            # One person reviews a topic.
            (person,) = {each[step]["by"] for each in steps for step in ("key-points", "merging")}
            assert person in trec_nuggets.RATERS

    @pytest.mark.long
    def test_it_is_released_with_its_chain_from_raw_topics(
        self, said: tuple[Path, str], db: None, tmp_path: Path
    ) -> None:
        release = tmp_path / "release"
        run("freeze_study", said[0], "--output", release, "--resamples", "2")
        assert "Nothing has changed" in run("verify", release)
        facts = json.loads((release / "release.json").read_text("utf-8"))
        lineages = {batch["name"]: batch["lineage"] for batch in facts["batches"]}
        chain = {name: of and (of["rule"], of["source"]) for name, of in lineages.items()}
        assert chain == {
            "pilot-documents": None,
            "pilot-points": ("key-points", "pilot-documents"),
            "pilot-merged": ("merging", "pilot-points"),
            "pilot-bank": ("nugget-bank", "pilot-merged"),
            "pilot-nuggets": ("rated-nuggets", "pilot-bank"),
            "pilot-runs": ("extended", "pilot-nuggets"),
        }
        writer = json.loads((release / "judges/nugget-writer.json").read_text("utf-8"))
        assert len(writer["runs"]) == 2


def verdicts(campaign: str) -> Counter[str]:
    of = Review.objects.filter(response__assignment__item__campaign__name=campaign)
    return Counter(of.values_list("verdict", flat=True))


def test_a_folder_that_is_not_empty_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("x")
    with pytest.raises(CommandError, match=r"exists already; choose another folder\."):
        run("init_study", tmp_path, "--preset", "crux")
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]

"""A batch of a study that a preparation step builds: a judge writes, people review, it is built."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from analysis.models import Study
from analysis.release.asked import published_text
from analysis.study import parse_study, read_study
from analysis.study.status import status
from annotation.models import Campaign, User, rater_of
from datasets.lineage import lineage_of
from datasets.material import batch_rows
from datasets.models import Batch
from judging.models import Review
from tandem.files.rows import InputError
from tests.analysis.study.test_apply import refused
from tests.cast import run, write_lines
from tests.page_cast import client_of

pytestmark = pytest.mark.django_db
STUDY = """\
[study]
name = "points"
licence = "CC0-1.0"

[batch.documents]
files = ["documents.jsonl"]

[judge.author]
backend = "scripted"
answers = "author.jsonl"

[batch.points]
step = "key-points"
batch = "documents"
judge = "author"

[campaign.recall]
protocol = "key-point-recall"
batch = "points"
"""
BUILT = "tide mills"
TEXTS = {"d1": "The mill was built in 1790.", "d2": "The mill burnt down in 1911."}
DOCUMENTS = [
    {
        "id": "t1",
        "text": BUILT,
        "passages": [{"id": name, "text": text} for name, text in TEXTS.items()],
        "reports": [{"id": "r1", "text": TEXTS["d1"], "system": "one"}],
    }
]
REVIEWED = "It was built in 1790."


def point(text: str, quote: str) -> dict[str, Any]:
    return {"text": text, "evidence": [{"quote": quote, "start": None}]}


def written(document: str) -> dict[str, Any]:
    """The author's answer about a document, as a line of the file that it replays."""
    item, text = f"t1/{document}", TEXTS[document]
    return {
        "item": item, "unit": item, "kind": "passage", "variable": "holds_points", "value": "yes",
        "rater": "author", "meta": {"written": {"points": [point(text, text)]}},
    }  # fmt: skip


def changed(document: str, text: str, **more: Any) -> dict[str, Any]:
    item = f"t1/{document}"
    answer = {item: {"holds_points": "yes", "points": [point(text, TEXTS[document])]}}
    return {"item": item, "verdict": "changed", "answer": answer, "by": "nora", **more}


ACCEPTED = {"item": "t1/d2", "verdict": "accepted", "by": "omar"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_lines(tmp_path / "documents.jsonl", DOCUMENTS)
    write_lines(tmp_path / "author.jsonl", map(written, TEXTS))
    (tmp_path / "study.toml").write_text(STUDY, "utf-8")
    return tmp_path


@pytest.fixture
def rewrite(folder: Path) -> Callable[[str, str], Path]:
    def change(before: str, after: str) -> Path:
        path = folder / "study.toml"
        text = path.read_text("utf-8")
        assert before in text
        path.write_text(text.replace(before, after), "utf-8")
        return path

    return change


Rewrite = Callable[[str, str], Path]


def points() -> list[str]:
    (query,) = batch_rows(Batch.objects.get(name="points"))
    return [each.text for each in query.key_points]


def states(path: Path) -> dict[str, str]:
    return {stage.key.name: stage.state for stage in status(read_study(path)).stages}


def test_a_step_waits_for_its_batch_then_for_people_and_then_is_built(folder: Path) -> None:
    assert states(folder)["points"] == "blocked"
    said = str(refused("apply_study", folder))
    assert said.startswith("People review 2 of 2 answers by author to step key-points of batch")
    assert states(folder) == {
        "documents": "done", "author": "done", "points": "waiting", "recall": "blocked",
    }  # fmt: skip
    found = json.loads(run("study_status", folder, "--format", "json"))
    assert found["next"] == said
    assert found["stages"][2]["counts"] == {"written": 2, "reviewed": 0}
    # Applied again, it waits for the same, and asks the judge nothing.
    assert str(refused("apply_study", folder)) == said

    rosa = User.objects.create_user("rosa", role=User.Role.RESEARCHER)
    of = ("--step", "key-points", "--batch", "documents")
    run("review_batch", *of, "--accept", "--by", rosa.username)
    assert "build it by step key-points from documents" in run_plan(folder)
    assert str(refused("apply_study", folder)).startswith("People give")
    assert points() == list(TEXTS.values())
    lineage = lineage_of(Batch.objects.get(name="points"))
    assert lineage is not None
    assert (lineage.rule, lineage.decided_by) == ("key-points", "author")
    assert states(folder)["points"] == "done"


def run_plan(folder: Path) -> str:
    """What a plan with something to do prints."""
    return "\n".join(
        action.words for stage in status(read_study(folder)).stages for action in stage.actions
    )


def test_reviews_in_a_file_are_read_in_the_same_run(folder: Path, rewrite: Rewrite) -> None:
    write_lines(folder / "reviews.jsonl", [changed("d1", REVIEWED), ACCEPTED])
    path = rewrite('judge = "author"\n', 'judge = "author"\nreviews = ["reviews.jsonl"]\n')
    assert str(refused("apply_study", path)).startswith("People give")
    assert points() == [REVIEWED, TEXTS["d2"]]
    reviewers = Review.objects.order_by("pk").values_list("by__name", "by__kind", "verdict")
    assert list(reviewers) == [("nora", "human", "changed"), ("omar", "human", "accepted")]
    assert refused("apply_study", path).returncode == 3
    assert Review.objects.count() == 2


def test_a_file_never_replaces_a_review_of_the_page(folder: Path, rewrite: Rewrite) -> None:
    write_lines(folder / "reviews.jsonl", [changed("d1", REVIEWED)])
    path = rewrite('judge = "author"\n', 'judge = "author"\nreviews = ["reviews.jsonl"]\n')
    assert "People review 1 of 2 answers" in str(refused("apply_study", path))
    Review.objects.update(verdict="rejected", answer=None)
    write_lines(folder / "reviews.jsonl", [changed("d1", REVIEWED), ACCEPTED])
    refused("apply_study", path)
    assert points() == [TEXTS["d2"]]


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("line", "says"),
    [
        ({"item": "t1/d9", "verdict": "accepted", "by": "nora"}, '"t1/d9", of which there is no'),
        ({"item": "t1/d1", "verdict": "accepted"}, "does not say who reviewed; add by"),
        ({"item": "t1/d1", "verdict": "accepted", "by": "author"}, "'author' is a judge"),
        (changed("d1", REVIEWED, answer={}), "cannot be accepted"),
    ],
)
def test_a_line_of_a_review_file_that_cannot_be_read_is_named(
    folder: Path, rewrite: Rewrite, line: dict[str, Any], says: str
) -> None:
    write_lines(folder / "reviews.jsonl", [line])
    path = rewrite('judge = "author"\n', 'judge = "author"\nreviews = ["reviews.jsonl"]\n')
    assert says in str(refused("apply_study", path))
    assert not Review.objects.exists()


def test_an_answer_that_the_judge_failed_to_give_is_waited_for_unless_the_batch_is_partial(
    folder: Path, rewrite: Rewrite
) -> None:
    write_lines(folder / "author.jsonl", [written("d1")])
    write_lines(folder / "reviews.jsonl", [changed("d1", REVIEWED)])
    path = rewrite('judge = "author"\n', 'judge = "author"\nreviews = ["reviews.jsonl"]\n')
    said = str(refused("apply_study", path))
    assert said.startswith("1 answers (1 error) by author to step key-points")
    assert "partial = true" in said
    refused(
        "apply_study",
        rewrite('judge = "author"\nreviews', 'judge = "author"\npartial = true\nreviews'),
    )
    assert points() == [REVIEWED]


def test_a_step_without_a_judge_is_built_at_once(folder: Path) -> None:
    text = STUDY.replace('step = "key-points"', 'step = "sentences"')
    (folder / "study.toml").write_text(text.replace('judge = "author"\n', ""), "utf-8")
    refused("apply_study", folder)
    (query,) = batch_rows(Batch.objects.get(name="points"))
    assert query.reports[0].sentences == (TEXTS["d1"],)


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("before", "after", "line", "says"),
    [
        ('judge = "author"\n', "", 12, "judge is missing; add judge"),
        ('judge = "author"', 'judge = "auther"', 15, "did you mean 'author'"),
        ('step = "key-points"', 'step = "keypoints"', 13, "did you mean 'key-points'"),
        ('step = "key-points"', 'step = "sentences"', 15, "asks no judge; leave judge out"),
        ('judge = "author"', 'judge = "author"\nset = { cut = 0.5 }', 16, "no threshold 'cut'"),
        ('judge = "author"', 'judge = "author"\nreviews = ["no.jsonl"]', 16, "there is no file"),
        ('judge = "author"', 'judge = "author"\nqueue = true', 16, "'queue' is not a key"),
        ('step = "key-points"', 'step = "key-points"\nrule = "reports"', 13, "both rule and step"),
    ],
)
def test_what_is_wrong_in_the_table_is_named_with_its_line(
    folder: Path, rewrite: Rewrite, before: str, after: str, line: int, says: str
) -> None:
    path = rewrite(before, after)
    with pytest.raises(InputError) as error:
        read_study(path)
    assert str(error.value).startswith(f"{path}, line {line}: ")
    assert says in str(error.value)


def test_a_built_batch_never_changes_and_is_behind_after_another_review(
    folder: Path, rewrite: Rewrite
) -> None:
    write_lines(folder / "reviews.jsonl", [changed("d1", REVIEWED), ACCEPTED])
    path = rewrite('judge = "author"\n', 'judge = "author"\nreviews = ["reviews.jsonl"]\n')
    refused("apply_study", path)
    review = Review.objects.get(by__name="omar")
    review.verdict, review.made_at = "rejected", timezone.now()
    review.save()
    assert states(path)["points"] == "behind"
    rewrite('step = "key-points"', 'step = "missed-points"')
    said = str(refused("apply_study", path))
    assert "its step is 'key-points' and not 'missed-points'" in said
    assert "build [batch.points-2]" in said


def test_the_page_of_the_study_leads_reviewers_to_the_preparation(folder: Path) -> None:
    rosa = User.objects.create_user("rosa", role=User.Role.ADMIN)
    refused("apply_study", folder)
    study, client = Study.objects.get(), client_of(rosa)
    chain = client.get(reverse("study", args=[study.pk])).context["chain"]
    (card,) = (card for card in chain.cards if card.name == "points")
    assert (card.state, card.raters[0].done, card.raters[0].is_fake) == ("waiting", 2, True)
    (step,) = card.steps
    assert (step.who, step.action) == ("people", "Review")
    assert client.get(step.address).status_code == 200


def test_a_release_has_the_run_that_wrote_and_no_account_of_reviewers(
    folder: Path, rewrite: Rewrite, tmp_path: Path
) -> None:
    rosa = User.objects.create_user("rosa", role=User.Role.RESEARCHER)
    reviews = [
        {k: v for k, v in line.items() if k != "by"} for line in (changed("d1", REVIEWED), ACCEPTED)
    ]
    write_lines(folder / "reviews.jsonl", reviews)
    table = 'judge = "author"\nby = "rosa"\nreviews = { file = "reviews.jsonl", by = "rosa" }\n'
    path = rewrite('judge = "author"\n', table)
    rewrite('batch = "points"\n', 'batch = "points"\nraters_per_item = 0\n')
    run("apply_study", path)
    run("freeze_study", path, "--output", tmp_path / "release", "--resamples", "2")
    assert "Nothing has changed" in run("verify", tmp_path / "release")
    sheet = (tmp_path / "release/datasheet.md").read_text("utf-8")
    assert "by key-points, written by author (a fake: replayed from a file) and reviewed" in sheet
    assert "- points: author is a fake that replays a file, and describes no model." in sheet
    author = json.loads((tmp_path / "release/judges/author.json").read_text("utf-8"))
    assert len(author["runs"]) == 1
    released = (tmp_path / "release/study.toml").read_text("utf-8")
    assert "rosa" not in released
    assert released.count(rater_of(rosa).name) == 2
    assert Campaign.objects.get(name="documents: key-points").made_by == rosa
    assert "rosa" not in (tmp_path / "release/batches/points.jsonl").read_text("utf-8")
    assert published_text(parse_study(STUDY)) == STUDY

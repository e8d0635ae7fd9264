"""Preparing a batch: an author's run in the engine, reviews, and the batch that follows."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError
from django.test import Client
from django.urls import reverse

from annotation.models import Assignment, Campaign, Response, User
from audit.models import Event
from datasets.material import batch_rows
from datasets.models import Batch
from judging.backends.base import Answer
from judging.models import Judge, JudgeCall, JudgeRun, Review
from tests.annotation.preparation.cast import (
    EMPTY,
    FERRY,
    INQUIRY,
    TOPIC,
    Json,
    author,
    load,
    point,
    prepare,
    researcher,
)
from tests.judging.cast import command, judge

pytestmark = pytest.mark.django_db

POINTS = {
    "t1/d1": {
        "holds_points": "yes",
        "points": [
            point("The bow door was left open.", "A door in the bow had been left open."),
            point("The Aurora carried 61 people.", "It carried 61 people."),
        ],
    }
}
MORE = {
    "t1/d2": {
        "holds_points": "yes",
        "points": [point("The bow door stood open.", "the bow door stood open")],
    }
}
NONE = {"t2/d3": {"holds_points": "no", "points": None}}
WROTE: Json = {FERRY: POINTS, INQUIRY: MORE, "Home. About.": NONE}


def extracted(folder: Path, answers: Any = WROTE) -> JudgeRun:
    load(folder, TOPIC, EMPTY)
    return prepare("key-points", "documents", author(), answers)


def review(*arguments: str, step: str = "key-points", batch: str = "documents") -> str:
    return command("review_batch", "--step", step, "--batch", batch, *arguments)


def build(*arguments: str, step: str = "key-points", batch: str = "documents") -> str:
    return command("build_batch", "--step", step, "--batch", batch, *arguments)


def exported(folder: Path, **options: Any) -> list[Json]:
    path = folder / "review.jsonl"
    review("--export", str(path), **options)
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def reviewed(folder: Path, lines: list[Json], **options: Any) -> str:
    path = folder / "reviewed.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return review("--import", str(path), "--by", "rosa", **options)


class TestAnswerPoints:
    def test_answer_points_are_reviewed_and_become_part_of_the_next_batch(
        self, tmp_path: Path
    ) -> None:
        of = {"step": "answer-points"}
        load(tmp_path, TOPIC)
        wrote = {"holds_points": "yes", "points": [point("The ferry sank.", "It sunk.")]}
        prepare("answer-points", "documents", author(), {"It sank.": {"r1": wrote}})
        researcher()
        (line,) = exported(tmp_path, **of)
        wrong = "unit 'r1' points: point 1: 'It sunk.' was not found in the report"
        assert line["problems"] == [wrong]
        wrote["points"] = [point("The ferry sank.", "It sank."), point("Lee said it.", "Dr. Lee")]
        reviewed(tmp_path, [line | {"verdict": "changed", "answer": {"r1": wrote}}], **of)
        build("--name", "taken apart", **of)
        (query,) = batch_rows(Batch.objects.get(name="taken apart"))
        assert query.key_points == ()
        (report,) = query.reports
        assert [(k.id, k.text, k.spans) for k in report.key_points or ()] == [
            ("r1:p1", "The ferry sank.", ("It sank.",)),
            ("r1:p2", "Lee said it.", ("Dr. Lee",)),
        ]
        provenance = (report.meta or {})["prepared"]["answer-points"]
        assert (provenance["prompt"], provenance["verdict"]) == ("prepare-answer-points", "changed")

    def test_the_lexical_baseline_writes_answer_points_too(self, tmp_path: Path) -> None:
        load(tmp_path, TOPIC)
        judge("baseline", "lexical")
        arguments = ("--step", "answer-points", "--batch", "documents", "--judge", "baseline")
        assert "1 done, 0 failed" in command("prepare_batch", *arguments)


class TestARun:
    def test_a_step_is_a_judges_run_over_a_restricted_campaign(self, tmp_path: Path) -> None:
        run = extracted(tmp_path)
        assert (run.state, run.done, run.calls) == ("done", 3, 3)
        campaign = Campaign.objects.get(name="documents: key-points")
        assert run.campaign == campaign
        assert campaign.pool == "named"
        assert run.manifest["prompt"]["name"] == "prepare-key-points"
        assert run.manifest["prompt"]["sha256"] == run.prompt_sha256

    def test_a_repeated_run_continues_where_it_ended(self, tmp_path: Path) -> None:
        extracted(tmp_path)
        again = prepare("key-points", "documents", Judge.objects.get(rater__name="author"), {})
        assert (again.done, again.calls) == (0, 0)

    def test_a_step_runs_by_command_and_offline(self, tmp_path: Path) -> None:
        load(tmp_path, TOPIC, EMPTY)
        judge("baseline", "lexical")
        arguments = ("--step", "key-points", "--batch", "documents", "--judge", "baseline")
        assert "3 done, 0 failed" in command("prepare_batch", *arguments)
        assert "Nothing to do" in command("prepare_batch", *arguments)
        lines = exported(tmp_path)
        assert [line["problems"] for line in lines] == [[], [], []]

    def test_the_campaign_and_the_run_of_a_step_have_pages(
        self, tmp_path: Path, client: Client
    ) -> None:
        run = extracted(tmp_path)
        client.force_login(User.objects.create_user("ada", role=User.Role.ADMIN))
        names = (("campaigns", ()), ("campaign", (run.campaign_id,)), ("judge-run", (run.pk,)))
        pages = [client.get(reverse(name, args=args)) for name, args in names]
        assert [page.status_code for page in pages] == [200, 200, 200]
        assert "Key points from passages" in pages[1].content.decode()

    def test_an_unreadable_answer_is_missing_with_a_reason(self, tmp_path: Path) -> None:
        run = extracted(tmp_path, {FERRY: POINTS, INQUIRY: Answer("Sorry, no."), "Home": NONE})
        assert run.failures == {"unreadable": 1}
        researcher()
        review("--accept", "--by", "rosa")
        with pytest.raises(CommandError, match=r"missing: 1 unreadable; answer and review them"):
            build("--name", "points")
        assert "2 queries" in build("--name", "points", "--partial")

    @pytest.mark.first_case
    @pytest.mark.parametrize(("params", "calls", "left"), [({}, 3, 1), ({"repair": 1}, 4, 0)])
    def test_an_inconsistent_answer_is_sent_back_if_the_author_repairs(
        self, tmp_path: Path, params: Json, calls: int, left: int
    ) -> None:
        load(tmp_path, TOPIC, EMPTY)
        invented = {"t1/d2": {"holds_points": "yes", "points": [point("It burnt.", "caught fire")]}}
        table = {"does not hold together": MORE, **WROTE, INQUIRY: invented}
        run = prepare("key-points", "documents", author(params=params), table)
        assert (run.done, run.calls) == (3, calls)
        assert sum(bool(line["problems"]) for line in exported(tmp_path)) == left

    def test_an_unreadable_repair_leaves_the_earlier_answer(
        self, tmp_path: Path, client: Client
    ) -> None:
        """This also holds if the process dies after storing the calls, but before the answer."""
        load(tmp_path, TOPIC, EMPTY)
        invented = {"t1/d2": {"holds_points": "yes", "points": [point("It burnt.", "caught fire")]}}
        table = {"does not hold together": Answer("Sorry, no."), **WROTE, INQUIRY: invented}
        run = prepare("key-points", "documents", author(params={"repair": 1}), table)
        assert (run.done, run.failures, run.calls) == (3, {}, 4)
        assert exported(tmp_path)[1]["answer"] == invented
        client.force_login(User.objects.create_user("ada", role=User.Role.ADMIN))
        row = JudgeCall.objects.get(repair=True).assignment
        pages = [reverse("judge-call", args=[call.pk]) for call in row.judge_calls.order_by("pk")]
        assert [bool(client.get(page).context["has_labels"]) for page in pages] == [True, False]
        Response.objects.all().delete()
        Assignment.objects.update(status="leased", lease=uuid.uuid4())
        again = prepare("key-points", "documents", run.judge, {})
        assert (again.done, again.failures, again.calls) == (3, {}, 0)
        assert exported(tmp_path)[1]["answer"] == invented

    def test_a_documents_text_is_fenced_and_never_an_instruction(self, tmp_path: Path) -> None:
        """The text is between delimiters that contain a hash of the document."""
        extracted(tmp_path)
        lines = exported(tmp_path)
        assert lines[0]["texts"] == [{"heading": "The loss of the Aurora", "text": FERRY}]


class TestReviews:
    def test_a_review_line_shows_the_answer_and_its_source(self, tmp_path: Path) -> None:
        extracted(tmp_path)
        first, _, third = exported(tmp_path)
        assert (first["item"], first["author"], first["verdict"]) == ("t1/d1", "author", None)
        assert first["answer"] == POINTS
        assert first["problems"] == []
        assert third["answer"] == NONE

    def test_accepting_all_leaves_answers_with_a_problem(self, tmp_path: Path) -> None:
        invented = {"t1/d2": {"holds_points": "yes", "points": [point("It burnt.", "caught fire")]}}
        extracted(tmp_path, {**WROTE, INQUIRY: invented})
        researcher()
        assert review("--accept", "--by", "rosa").strip() == (
            "Reviews: 2 accepted, 1 left, with a problem."
        )
        (problem,) = exported(tmp_path)[1]["problems"]
        assert "'caught fire' was not found in the passage" in problem

    def test_a_changed_answer_counts_and_the_authors_own_is_kept(self, tmp_path: Path) -> None:
        extracted(tmp_path)
        rosa = researcher()
        lines = exported(tmp_path)
        lines[0]["answer"]["t1/d1"]["points"].pop()
        lines[0] |= {"verdict": "accepted", "note": "one is enough"}
        lines[2]["verdict"] = "rejected"
        assert reviewed(tmp_path, lines).strip() == (
            "Reviews: 1 changed, 1 left without a verdict, 1 rejected."
        )
        change = Review.objects.get(verdict="changed")
        assert (change.note, change.by.user) == ("one is enough", rosa)
        assert change.answer is not None
        assert len(change.answer["t1/d1"]["points"]) == 1
        assert len(change.response.payload["units"]["t1/d1"]["points"]) == 2

    def test_the_same_file_again_changes_nothing(self, tmp_path: Path) -> None:
        extracted(tmp_path)
        researcher()
        lines = [line | {"verdict": "accepted"} for line in exported(tmp_path)]
        reviewed(tmp_path, lines)
        assert reviewed(tmp_path, lines).strip() == "Reviews: 3 unchanged."
        assert Event.objects.filter(event="preparation.reviewed").count() == 1

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("mend", "message"),
        [
            ({"id": "x"}, r"line 2: has the id of no answer; export the reviews again"),
            ({"verdict": "fine"}, r"line 2: verdict 'fine' is none of accepted, changed, rejected"),
            ({"answer": {}}, r"line 2: cannot be accepted: .*has no answer"),
            ({"answer": "t"}, r"line 2: cannot be accepted"),
            ({"answer": {"t1/d2": {"holds_points": "yes", "points": [point("It burnt.", "fire")]}}},
             r"line 2: cannot be accepted: .*'fire' was not found"),
        ],
    )  # fmt: skip
    def test_a_wrong_line_refuses_the_whole_file(
        self, tmp_path: Path, mend: Json, message: str
    ) -> None:
        extracted(tmp_path)
        researcher()
        lines = [line | {"verdict": "accepted"} for line in exported(tmp_path)]
        lines[1] |= mend
        with pytest.raises(CommandError, match=message):
            reviewed(tmp_path, lines)
        assert not Review.objects.exists()

    def test_only_a_researcher_can_review(self, tmp_path: Path) -> None:
        extracted(tmp_path)
        with pytest.raises(CommandError, match="Say who reviews; give --by NAME"):
            review("--accept")
        with pytest.raises(CommandError, match="'rosa' is not a researcher's account"):
            review("--accept", "--by", "rosa")


class TestABatch:
    def test_a_batch_contains_accepted_answers_with_their_provenance(self, tmp_path: Path) -> None:
        run = extracted(tmp_path)
        researcher()
        review("--accept", "--by", "rosa")
        assert "Created batch 'points' from step key-points: 2 queries." in build(
            "--name", "points"
        )
        first, second = batch_rows(Batch.objects.get(name="points"))
        assert [k.text for k in first.key_points] == [
            "The bow door was left open.",
            "The Aurora carried 61 people.",
            "The bow door stood open.",
        ]
        assert second.key_points == ()
        provenance = (first.key_points[0].meta or {})["prepared"]["key-points"]
        reviewer = Review.objects.all()[0].by.name
        assert provenance == {
            "author": "author",
            "model": "m",
            "prompt": "prepare-key-points",
            "prompt_sha256": run.prompt_sha256,
            "run": run.pk,
            "verdict": "accepted",
            "by": reviewer,
        }
        assert reviewer.startswith("person-")

    def test_the_same_batch_is_created_once(self, tmp_path: Path) -> None:
        extracted(tmp_path)
        researcher()
        review("--accept", "--by", "rosa")
        build("--name", "points")
        assert "Nothing to do: batch 'points' exists already" in build("--name", "points")

    def test_unreviewed_answers_do_not_enter_a_batch(self, tmp_path: Path) -> None:
        extracted(tmp_path)
        with pytest.raises(CommandError, match="missing: 3 not reviewed"):
            build("--name", "points")
        build("--name", "points", "--partial")
        assert [q.key_points for q in batch_rows(Batch.objects.get(name="points"))] == [(), ()]

    def test_with_two_authors_one_must_be_named(self, tmp_path: Path) -> None:
        extracted(tmp_path)
        prepare("key-points", "documents", author("other"), WROTE)
        with pytest.raises(CommandError, match=r"has several authors: author, other; name one"):
            build("--name", "points", "--partial")
        build("--name", "points", "--partial", "--judge", "other")

    def test_an_unknown_threshold_is_refused(self, tmp_path: Path) -> None:
        load(tmp_path, TOPIC)
        with pytest.raises(CommandError, match="sentences has no threshold 'eta'; it has none"):
            build("--name", "n", "--set", "eta=3", step="sentences")
        with pytest.raises(CommandError, match="threshold 'eta=nan' is not K=V with V a number"):
            build("--name", "n", "--set", "eta=nan", step="ratings")

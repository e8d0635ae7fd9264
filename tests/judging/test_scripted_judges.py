"""A scripted judge replays a labels file, keeps its labels, and is marked as a fake."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError

from analysis.campaigns.reports import campaign_report
from analysis.robustness.document import as_markdown
from analysis.robustness.sheet import sheet
from annotation.exports.bundles import card, manifest
from annotation.models import Assignment, Campaign, Label, Response, User
from judging.answer_files import ANSWERS, DIGEST
from judging.api.serializers import JudgeSerializer
from judging.backends.base import Facts, Request
from judging.backends.scripted import unpack
from judging.judge_backends import build_backend
from judging.manifest import manifest_of
from judging.models import Judge, JudgeCall, JudgeRun
from tandem.labels.selection import ReportOptions
from tests.cast import exported
from tests.judging.cast import command
from tests.page_cast import client_of

pytestmark = pytest.mark.django_db


def label(item: str, unit: str, value: str | None = "yes", **more: Any) -> dict[str, Any]:
    line = {"item": item, "unit": unit, "variable": "answerable", "rater": "old", **more}
    return line | ({"value": value} if value else {})


def quoting(item: str, unit: str, text: str) -> dict[str, Any]:
    return label(item, unit, spans=[{"field": "report", "text": text}])


def written(folder: Path, *lines: dict[str, Any], name: str = "answers.jsonl") -> str:
    path = folder / name
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return str(path)


def create(path: str, name: str = "replayed", *more: str) -> str:
    return command("create_judge", name, "--backend", "scripted", "--answers", path, *more)


def run(campaign: Campaign, name: str = "replayed") -> str:
    return command("run_judge", "--campaign", campaign.name, "--judge", name)


def replay(campaign: Campaign, folder: Path) -> JudgeRun:
    """Two labels and a missing one of report r1; nothing of the other reports."""
    lines = (
        quoting("r1", "q1:0", "Nobody knows"),
        label("r1", "q1:1", "no"),
        label("r1", "q1:2", None, missing="refused"),
    )
    create(written(folder, *lines))
    run(campaign)
    return JudgeRun.objects.get()


def test_the_labels_of_the_file_become_the_judges_own(campaign: Campaign, tmp_path: Path) -> None:
    replay(campaign, tmp_path)
    labels = Label.objects.filter(response__assignment__rater__name="replayed")
    assert dict(labels.values_list("unit__key", "value")) == {"q1:0": "yes", "q1:1": "no"}
    spans = [s for line in exported(campaign.name, "labels") for s in line.get("spans") or ()]
    assert [(span["text"], span["start"]) for span in spans] == [("Nobody knows", 0)]


def test_a_reason_in_the_file_is_replayed_as_the_judges_reasoning(
    campaign: Campaign, tmp_path: Path
) -> None:
    line = label("r1", "q1:1", "no")
    create(written(tmp_path, line | {"meta": {"reason": "It names no year."}}))
    run(campaign)
    call = JudgeCall.objects.get(state="answered")
    assert call.reasoning == "It names no year."
    assert "year" not in str(call.completion)
    # A file without reasons gives the judge that it gave before there were any.
    create(written(tmp_path, line), "silent")
    assert len(unpack(Judge.objects.get(rater__name="silent").params[ANSWERS]).lines) == 1
    assert (
        '"no",null,[]]'
        in gzip.decompress(
            base64.b64decode(Judge.objects.get(rater__name="silent").params[ANSWERS])
        ).decode()
    )


def test_a_unit_without_a_label_is_missing_with_a_reason(
    campaign: Campaign, tmp_path: Path
) -> None:
    run = replay(campaign, tmp_path)
    failed = Assignment.objects.filter(rater__name="replayed", status="failed")
    reasons = {(row.item.key, *row.asked): row.reason for row in failed.select_related("item")}
    assert reasons.pop(("r1", "q1:2")) == "refused"
    assert len(reasons) == 9
    assert set(reasons.values()) == {"error"}
    assert run.failures == {"refused": 1, "error": 9}
    detail = JudgeCall.objects.filter(state="error").values_list("detail", flat=True).first()
    assert detail is not None
    assert "the file has no label of answerable for unit" in detail


def test_a_scripted_judge_with_partial_labels_should_be_asked_unit_by_unit(
    campaign: Campaign, tmp_path: Path
) -> None:
    said = create(written(tmp_path, label("r1", "q1:1", "no")), "replayed", "--granularity", "item")
    assert "unit by unit" in said
    assert "a scripted judge is a fake" in said


def test_a_judge_keeps_its_labels_when_the_file_changes(campaign: Campaign, tmp_path: Path) -> None:
    path = written(tmp_path, label("r1", "q1:1", "no"))
    create(path)
    written(tmp_path, label("r1", "q1:1", "yes"))
    run(campaign)
    assert [each.value for each in Label.objects.all()] == ["no"]
    with pytest.raises(CommandError, match="another params, and judges never change"):
        create(path)
    Path(path).unlink()
    assert "Nothing to do" in run(campaign)


def test_files_with_the_same_labels_give_equal_judges_in_any_format(tmp_path: Path) -> None:
    path = written(tmp_path, label("r1", "q1:1", "no"))
    create(path)
    assert create(path).count("Nothing to do") == 1
    table = tmp_path / "answers.csv"
    table.write_text("item,unit,variable,value,rater\nr1,q1:1,answerable,no,old\n", "utf-8")
    create(str(table), "of a table")
    first, second = Judge.objects.order_by("pk")
    assert first.params[DIGEST] == second.params[DIGEST]


@pytest.mark.parametrize(
    ("lines", "what"),
    [
        ([], "holds no records"),
        ([label("a", "b"), label("a", "c") | {"rater": "new"}], "labels from 2 raters"),
        ([{"item": "a", "unit": "b"}], "line 1"),
    ],
)
def test_a_file_that_cannot_be_replayed_is_refused(
    tmp_path: Path, lines: list[dict[str, Any]], what: str
) -> None:
    with pytest.raises(CommandError, match=what):
        create(written(tmp_path, *lines))
    assert not Judge.objects.exists()


def test_only_a_scripted_judge_has_a_labels_file_and_it_has_no_model(tmp_path: Path) -> None:
    path = written(tmp_path, label("a", "b"))
    with pytest.raises(CommandError, match="give both, or neither"):
        command("create_judge", "j", "--backend", "lexical", "--answers", path)
    with pytest.raises(CommandError, match="give both, or neither"):
        command("create_judge", "j", "--backend", "scripted")
    with pytest.raises(CommandError, match="does not use --model"):
        create(path, "j", "--model", "m")


def test_the_report_marks_a_scripted_judge_and_warns(campaign: Campaign, tmp_path: Path) -> None:
    replay(campaign, tmp_path)
    command("create_judge", "floor", "--backend", "lexical")
    run(campaign, "floor")
    report = campaign_report(campaign, ReportOptions(resamples=2))
    marked = {rater["name"]: rater.get("scripted") for rater in report["raters"]}
    assert marked == {"floor": None, "replayed": True}
    warned = [each for each in report["warnings"] if each["code"] == "scripted_judge"]
    assert [each["rater"] for each in warned] == ["replayed"]
    assert "No model was asked" in warned[0]["text"]


def test_measures_and_the_robustness_sheet_call_a_scripted_judge_a_fake(
    campaign: Campaign, tmp_path: Path
) -> None:
    run = replay(campaign, tmp_path)
    report = json.loads(command("measures", "--campaign", campaign.name, "--resamples", "2"))
    assert {r["name"]: r["scripted"] for r in report["raters"]} == {"replayed": True}
    words = command("measures", "--campaign", campaign.name, "--resamples", "2", "--format", "md")
    assert "Fakes, whose answers come from a file: replayed" in words
    assert "a scripted judge, whose answers come from a file" in as_markdown(
        sheet(campaign, run.judge)
    )


def test_a_jury_with_a_scripted_member_is_marked_too(campaign: Campaign, tmp_path: Path) -> None:
    replay(campaign, tmp_path)
    command("create_judge", "floor", "--backend", "lexical", "--granularity", "unit")
    run(campaign, "floor")
    command("create_jury", "panel", "--campaign", campaign.name, "--judges", "replayed,floor")
    report = campaign_report(campaign, ReportOptions(resamples=2))
    assert {r["name"] for r in report["raters"] if r.get("scripted")} == {"panel", "replayed"}


def test_the_page_of_a_judge_names_the_replayed_labels_by_their_digest(
    campaign: Campaign, tmp_path: Path
) -> None:
    judge = replay(campaign, tmp_path).judge
    client = client_of(User.objects.create(username="rita", role="researcher"))
    page = client.get(f"/judges/{judge.pk}/").content.decode()
    assert f'SHA-256 <span class="id">{judge.params[DIGEST][:12]}</span>' in page
    assert DIGEST not in page


def test_manifest_and_exports_say_that_a_scripted_judge_is_a_fake(
    campaign: Campaign, tmp_path: Path
) -> None:
    run = replay(campaign, tmp_path)
    facts = manifest_of(run)["judge"]
    assert facts["scripted"] is True
    assert facts["answers_sha256"] == run.judge.params[DIGEST]
    listed = manifest(campaign, [])
    assert listed["scripted_judges"] == ["replayed"]
    assert "Labels from `replayed` are fakes" in card(campaign, listed)


def test_pages_mark_a_scripted_judge_and_show_a_digest_of_its_labels(
    campaign: Campaign, tmp_path: Path
) -> None:
    run = replay(campaign, tmp_path)
    client = client_of(User.objects.create(username="rita", role="researcher"))
    addresses = ("/judges/", f"/judges/{run.judge_id}/", f"/judges/runs/{run.pk}/",
                 f"/campaigns/{campaign.pk}/judges/")  # fmt: skip
    for address in addresses:
        page = client.get(address).content.decode()
        assert "fake" in page, address
        assert run.judge.params[ANSWERS] not in page
        assert page.count("replayed from a file") < 2, "what a notice says, no card says again"
    data = JudgeSerializer(run.judge).data
    assert data["scripted"] is True
    assert data["params"] == {DIGEST: run.judge.params[DIGEST]}


def test_a_scripted_judge_cannot_be_created_in_the_browser(tmp_path: Path) -> None:
    client = client_of(User.objects.create(username="rita", role="researcher"))
    answer = client.post(
        "/judges/new/", {"name": "j", "backend": "scripted", "granularity": "unit"}
    )
    assert answer.status_code == 422
    assert not Judge.objects.exists()


def test_judges_with_different_labels_send_different_requests(tmp_path: Path) -> None:
    create(written(tmp_path, label("a", "b")), "one")
    create(written(tmp_path, label("a", "b", "no")), "other")
    one, other = (build_backend(judge) for judge in Judge.objects.order_by("pk"))
    request = Request((), {}, Facts("", (), (), True, "a"))
    assert one.identity(request) != other.identity(request)


def test_a_judge_that_replays_answers_about_other_items_is_not_offered(
    campaign: Campaign, tmp_path: Path
) -> None:
    create(written(tmp_path, label("r1", "q1:0")), "ours")
    create(written(tmp_path, label("r1", "q9:0"), name="b.jsonl"), "of another unit")
    create(written(tmp_path, label("x1", "q1:0"), name="c.jsonl"), "of another item")
    rita = client_of(User.objects.create(username="rita", role="researcher"))
    page = rita.get(f"/campaigns/{campaign.pk}/judges/start/")
    assert [each.rater.name for each in page.context["judges"]] == ["ours"]
    assert "2 more are not listed" in page.content.decode()


def test_a_list_of_one_unit_is_replayed_with_the_numbers_by_which_others_match_it(
    tmp_path: Path,
) -> None:
    texts = "A.", "a.", "B."
    points = [{"id": f"t:{n}", "text": text, "passage": "p"} for n, text in enumerate(texts)]
    passages = [{"id": "p", "text": "A. a. B."}]
    query = {"id": "t", "text": "T?", "passages": passages, "key_points": points}
    command("load_batch", written(tmp_path, query, name="batch.jsonl"), "--name", "points")
    merged: list[dict[str, Any]] = [{"text": text, "evidence": []} for text in ("A.", "B.")]
    whole = {"item": "t", "unit": "t", "kind": "query", "variable": "repeats", "value": "yes"}
    lines = [whole | {"rater": "old", "meta": {"written": {"merged": merged}}}]
    lines += [
        {"item": "t", "unit": f"t:{n}", "kind": "key-point", "variable": "placed", "value": "yes",
         "rater": "old", "meta": {"written": {"matches": [number]}}}
        for n, number in enumerate((1, 1, 2))
    ]  # fmt: skip
    said = create(written(tmp_path, *lines))
    assert "item by item" in said
    command("prepare_batch", "--step", "merging", "--batch", "points", "--judge", "replayed")
    answer = Response.objects.get().payload["units"]
    assert [each["text"] for each in answer["t"]["merged"]] == ["A.", "B."]
    assert [answer[f"t:{n}"]["matches"] for n in range(3)] == [[1], [1], [2]]

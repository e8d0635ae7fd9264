"""A campaign that continues another one copies its answers, and asks only what is new."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError
from django.test import Client
from django.urls import reverse

from annotation.answers.submission import submit
from annotation.assignments.queue import next_assignment
from annotation.campaign_setup.dry_run import simulate
from annotation.campaigns.design import Design
from annotation.models import Assignment, Campaign, CarriedAnswer, Rater, User, rater_of
from annotation.people.membership import exclude
from datasets.models import Batch
from judging.runs.prompts import ChangedPromptError, check_prompt
from tests.annotation.derivation.cast import BATCH, PEOPLE, batch, label
from tests.api.cast import script_of
from tests.cast import exported, run, write_lines
from tests.judging.cast import judge

pytestmark = pytest.mark.django_db
Line = dict[str, Any]
REPORTS = ("q1r", "q1o", "q2r", "q2o")
NEW = {"id": "q1n", "text": "A new answer.", "system": "new"}


def answers(report: str, people: int = 3) -> list[Line]:
    """Ada and Ben agree on every question; Cleo says the opposite of the first."""
    lines = []
    for n in range(3):
        for who, rater in enumerate(PEOPLE[:people]):
            yes = (n == 1) != (who == 2 and n == 0)
            lines.append(
                {
                    "item": report,
                    "unit": f"{report[:2]}:{n}",
                    "variable": "answerable",
                    "value": "yes" if yes else "no",
                    "rater": rater,
                }
            )
    return lines


def coverage(folder: Path, name: str = "old", people: int = 3) -> Campaign:
    run(
        "create_campaign", name, "--pool", "open", "--protocol", "report-coverage", "--batch", "b",
        "--raters-per-item", "3",
    )  # fmt: skip
    lines = [line for report in REPORTS for line in answers(report, people)]
    run("import_labels", write_lines(folder / "l.jsonl", lines), "--campaign", name)
    return Campaign.objects.get(name=name)


def continued(batch_name: str, *arguments: str, name: str = "new", of: str = "old") -> str:
    return run(
        "create_campaign", name, "--protocol", "report-coverage", "--batch", batch_name,
        "--pool", "open", "--raters-per-item", "3", "--continues", of, *arguments,
    )  # fmt: skip


def extended(folder: Path) -> None:
    path = write_lines(folder / "more.jsonl", [{"id": "q1", "reports": [NEW]}])
    run("load_batch", path, "--extends", "b", "--name", "b2")


def values(campaign: str) -> set[tuple[str, ...]]:
    return {
        (row["item"], row["unit"], row["rater"], row["value"])
        for row in exported(campaign, "labels")
    }


def agreement(campaign: str) -> Any:
    report = json.loads(
        run("report", "--campaign", campaign, "--format", "json", "--resamples", "50")
    )
    return report["variables"]["answerable"]["agreement"]


def test_a_later_system_asks_only_about_its_own_reports(tmp_path: Path) -> None:
    batch(tmp_path)
    coverage(tmp_path)
    extended(tmp_path)
    assert "Carried over 12 answers from 'old'" in continued("b2")
    assert values("new") == values("old")
    assert {row["carried"] for row in exported("new", "labels")} == {"old"}
    assert not any("carried" in row for row in exported("old", "labels"))
    free = Campaign.objects.get(name="new").items.filter(taken=0)
    assert [item.key for item in free] == ["q1n"]
    assert "12 answers" not in continued("b2")
    run("check_invariants")


def test_agreement_over_carried_answers_is_that_of_the_original(tmp_path: Path) -> None:
    batch(tmp_path)
    coverage(tmp_path)
    extended(tmp_path)
    continued("b2")
    assert agreement("new") == agreement("old")


@pytest.mark.postgresql
def test_only_a_reworded_question_is_asked_again(tmp_path: Path) -> None:
    batch(tmp_path)
    coverage(tmp_path)
    lines = deepcopy(list(BATCH))
    lines[0]["questions"][2]["text"] = "Question 2, put better?"
    batch(tmp_path, lines, "b2")
    continued("b2")
    carried = {row["unit"] for row in exported("new", "labels") if row["item"] == "q1r"}
    assert carried == {"q1:0", "q1:1"}
    campaign = Campaign.objects.get(name="new")
    assert list(campaign.items.values_list("taken", "quota")) == [(0, 3), (0, 3), (3, 3), (3, 3)]
    ada = User.objects.create_user("ada", role=User.Role.ANNOTATOR)
    Rater.objects.filter(name="ada").update(user=ada)
    asked = next_assignment(campaign, rater_of(ada))
    assert asked is not None
    assert asked.asked == ["q1:2"]
    submit(
        asked, {"units": {"q1:2": {"answerable": "no", "evidence": []}}, "comment": None}, "page"
    )
    mine = [row for row in exported("new", "labels") if row["rater"] == "ada"]
    assert len([row for row in mine if row["item"] == "q1r"]) == 3
    run("check_invariants")


def test_slots_cover_exactly_the_missing_answers(tmp_path: Path) -> None:
    """Two of three answered: the reworded question needs three answers, the others one more."""
    batch(tmp_path)
    coverage(tmp_path, people=2)
    lines = deepcopy(list(BATCH))
    lines[0]["questions"][2]["text"] = "Question 2, put better?"
    batch(tmp_path, lines, "b2")
    continued("b2")
    campaign = Campaign.objects.get(name="new")
    asked = []
    for number in range(3):
        user = User.objects.create_user(f"new-{number}", role=User.Role.ANNOTATOR)
        found = next_assignment(campaign, rater_of(user))
        assert found is not None
        asked.append(found.asked)
    assert asked == [["q1:0", "q1:1", "q1:2"], ["q1:2"], ["q1:2"]]
    assert list(campaign.items.values_list("taken", "quota"))[2:] == [(2, 3), (2, 3)]


def test_decisions_and_origins_are_carried_along_a_chain(tmp_path: Path) -> None:
    batch(tmp_path)
    coverage(tmp_path)
    label(tmp_path, {"q1:0": [{"answerable": "no"}]}, "old", {"q1:0": "q1r"}, ("truth",),
          rater_kind="reference")  # fmt: skip
    continued("b", name="second")
    continued("b", name="third", of="second")
    assert set(CarriedAnswer.objects.values_list("campaign", flat=True)) == {"old"}
    kinds = {row["rater_kind"] for row in exported("third", "labels")}
    assert kinds == {"human", "reference"}


def test_a_judges_answers_need_the_same_guideline_and_prompt(tmp_path: Path) -> None:
    batch(tmp_path)
    coverage(tmp_path)
    judge("words", "lexical")
    run("run_judge", "--campaign", "old", "--judge", "words")
    extended(tmp_path)
    carried = continued("b2")
    assert "Carried over 16 answers" in carried
    again = run("run_judge", "--campaign", "new", "--judge", "words")
    assert "1 done" in again
    guideline = tmp_path / "guideline.md"
    guideline.write_text("Read twice.", "utf-8")
    assert "Carried over 12" in continued("b2", "--guideline", str(guideline), name="other")
    campaign, words = Campaign.objects.get(name="new"), Rater.objects.get(name="words").judge
    run("check_invariants")
    used = words.runs.get(campaign=campaign).prompt_sha256
    ended = {"state": "done", "prompt_sha256": "0" * 64}
    elsewhere = words.runs.create(campaign=Campaign.objects.get(name="other"), **ended)
    judge("further", "lexical").runs.create(campaign=Campaign.objects.get(name="old"), **ended)
    check_prompt(campaign, words, used)
    elsewhere.delete()
    words.runs.filter(campaign__name="old").update(prompt_sha256="0" * 64)
    with pytest.raises(ChangedPromptError, match="carries answers of judge words over from old"):
        check_prompt(campaign, words, used)
    check_prompt(Campaign.objects.get(name="other"), words, used)


@pytest.mark.parametrize("people", [2, 3])
@pytest.mark.parametrize("change", ["a new report", "a reworded question", "nothing"])
def test_a_dry_run_counts_what_will_be_carried(tmp_path: Path, change: str, people: int) -> None:
    batch(tmp_path)
    coverage(tmp_path, people=people)
    lines = deepcopy(list(BATCH))
    if change == "a new report":
        extended(tmp_path)
    else:
        if change == "a reworded question":
            lines[0]["questions"][2]["text"] = "Question 2, put better?"
        batch(tmp_path, lines, "b2")
    given = Batch.objects.get(name="b2"), Design(raters_per_item=3)
    predicted = simulate("new", "report-coverage", *given, continues="old")
    said = continued("b2", "--dry-run")
    continued("b2")
    items = list(Campaign.objects.get(name="new").items.values_list("taken", "quota"))
    assert predicted.carried == sum(taken for taken, _ in items) > 0
    assert predicted.places == sum(quota for _, quota in items)
    assert sum(share.items for share in predicted.shares) == predicted.places - predicted.carried
    assert f"{predicted.carried} of the slots have answers that are carried over" in said
    assert predicted.kappa.units == simulate("x", "report-coverage", *given).kappa.units


def test_a_dry_run_carries_neither_judges_labels_nor_those_of_excluded_raters(
    tmp_path: Path,
) -> None:
    batch(tmp_path)
    old = coverage(tmp_path)
    judge("words", "lexical")
    run("run_judge", "--campaign", "old", "--judge", "words")
    given = Batch.objects.get(name="b"), Design(raters_per_item=3)
    assert simulate("new", "report-coverage", *given, continues="old").carried == 12
    exclude(old, Rater.objects.get(name=PEOPLE[0]), "a spammer")
    assert simulate("new", "report-coverage", *given, continues="old").carried == 8
    assert simulate("new", "report-coverage", *given).carried == 0


def test_a_dry_run_of_chosen_items_has_the_splits_of_the_campaign(tmp_path: Path) -> None:
    batch(tmp_path)
    run(
        "create_campaign", "old", "--pool", "open", "--protocol", "report-coverage", "--batch", "b",
        "--option", "development=0.5",
    )  # fmt: skip
    old = Campaign.objects.get(name="old")
    of = {row.query.key: row.role for row in old.query_samplings.select_related("query")}
    assert sorted(of.values()) == ["development", "evaluation"]
    for query, role in of.items():
        chosen = Design(chosen=(f"{query}r",))
        predicted = simulate(
            "new", "report-coverage", Batch.objects.get(name="b"), chosen, continues="old"
        )
        assert predicted.roles == {role: 1}


def test_another_protocol_and_an_unknown_campaign_are_refused(tmp_path: Path) -> None:
    batch(tmp_path)
    coverage(tmp_path)
    with pytest.raises(CommandError, match=r"report-coverage, and cannot be continued by rubric"):
        run(
            "create_campaign", "x", "--protocol", "rubric-passage", "--batch", "b",
            "--pool", "open", "--continues", "old",
        )  # fmt: skip
    for dry in ((), ("--dry-run",)):
        with pytest.raises(
            CommandError, match=r"'odl', which does not exist; did you mean 'old'\?$"
        ):
            continued("b", *dry, of="odl")
    assert not Assignment.objects.filter(item__campaign__name="x").exists()


def test_the_page_and_the_api_carry_over_too(tmp_path: Path, client: Client) -> None:
    batch(tmp_path)
    old = coverage(tmp_path)
    extended(tmp_path)
    rita = User.objects.create_user("rita", role=User.Role.RESEARCHER)
    body = {
        "name": "by the API", "protocol": "report-coverage", "batch": "b2", "raters_per_item": 3,
        "continues": "old",
    }  # fmt: skip
    predicted = script_of(rita).post("campaigns/rehearsal/", body).json()
    assert (predicted["places"], predicted["carried"]) == (15, 12)
    made = script_of(rita).post("campaigns/", body)
    assert (made.status_code, made.json()["study"]["continues"]) == (201, old.pk)
    assert values("by the API") == values("old")
    client.force_login(rita)
    form = client.get(reverse("campaign-new"), {"protocol": "report-coverage", "batch": "b2"})
    sent = {name: form.context["form"][name].value() for name in form.context["form"].fields}
    sent = {name: value for name, value in sent.items() if value is not None}
    given = {"name": "by the page", "raters_per_item": 3, "continues": "old"}
    hidden = {"protocol": "report-coverage", "batch": "b2"}
    dry = client.post(reverse("campaign-new"), {**sent, **given, **hidden, "dry": "1"})
    assert "12 of the slots have answers that are carried over" in dry.content.decode()
    made = client.post(reverse("campaign-new"), {**sent, **given, **hidden})
    assert made.status_code == 302
    study = Campaign.objects.get(name="by the page")
    page = client.get(reverse("campaign-settings", args=[study.pk]))
    assert "old: 12 answers carried" in page.content.decode()
    run("export", "--campaign", "by the page", "--what", "labels", "--format", "csv")


def test_labels_that_were_carried_can_be_imported_elsewhere(tmp_path: Path) -> None:
    batch(tmp_path)
    coverage(tmp_path)
    continued("b")
    for form in ("jsonl", "csv"):
        path = tmp_path / f"labels.{form}"
        run(
            "export", "--campaign", "new", "--what", "labels", "--format", form,
            "--output", str(path),
        )  # fmt: skip
        run(
            "create_campaign",
            form,
            "--pool",
            "open",
            "--protocol",
            "report-coverage",
            "--batch",
            "b",
        )
        run("import_labels", str(path), "--campaign", form)
        assert values(form) == values("old")

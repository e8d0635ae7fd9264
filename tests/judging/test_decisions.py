"""A decision model as a judge, from its definition to labels, scores, reasons and the report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError

from annotation.models import Assignment, Campaign, Label
from judging.models import Judge, JudgeCall, JudgeRun
from tests.fake_openai.running import Running
from tests.judging.cast import campaign_of, command
from tests.judging.processes import CONCURRENCY, PROBES, UNITS, House, kill_9, until
from tests.patience import PATIENCE

RUN = ("run_judge", "--campaign", "c", "--judge", "d")


def decide(server: Running, *forms: str, **how: Any) -> None:
    server.behave(decides={"forms": forms or ("systemone",), **how}, reset=True)


def create(server: Running, *params: str, name: str = "d", model: str = "fake-judge") -> str:
    given = [each for param in params for each in ("--param", param)]
    return command("create_judge", name, "--backend", "decisions", "--model", model,
                   "--base-url", server.url, *given)  # fmt: skip


def run(campaign: Campaign, name: str = "d") -> str:
    return command("run_judge", "--campaign", campaign.name, "--judge", name)


def labels(campaign: Campaign) -> dict[tuple[str, str], Label]:
    found = Label.objects.filter(unit__item__campaign=campaign, response__current=True)
    return {(each.unit.key, each.variable): each for each in found.select_related("unit")}


@pytest.mark.first_case
@pytest.mark.parametrize("granularity", ["item", "unit"])
def test_every_unit_gets_a_label_with_its_probability(
    db: None, tmp_path: Path, server: Running, granularity: str
) -> None:
    study = campaign_of(tmp_path)
    decide(server, says={"Who built it?": "no", "odd?": "invalid"})
    command("create_judge", "d", "--backend", "decisions", "--model", "fake-judge",
            "--base-url", server.url, "--granularity", granularity)  # fmt: skip
    said = run(study)
    done = 4 if granularity == "item" else 12
    assert f"{done} done, 0 failed" in said
    found = labels(study)
    # Questions of a query are units of both of its reports.
    assert len(found) == Label.objects.count() / 2 == 6
    built, opened = found["q1:1", "answerable"], found["q1:0", "answerable"]
    assert (opened.value, opened.score) == ("yes", pytest.approx(0.9 / 0.95))
    assert (built.value, built.score) == ("no", pytest.approx(0.05 / 0.95))
    assert found["q1:2", "answerable"].value == "invalid"
    assert opened.meta == {
        "mass": 0.95,
        "probabilities": {"yes": 0.9, "no": 0.05, "invalid": 0.05},
        "confidence": 0.9,
    }


def test_labels_are_kept_without_evidence_and_the_report_warns(
    campaign: Campaign, server: Running
) -> None:
    decide(server)
    create(server)
    run(campaign)
    assert all(label.value == "yes" for label in labels(campaign).values())
    assert not Label.objects.filter(spans__isnull=False).exists()
    report = json.loads(command("report", "--campaign", campaign.name, "--format", "json"))
    (warning,) = [w for w in report["warnings"] if w["code"] == "judge_without_evidence"]
    assert "It quotes no evidence for its 12 labels `yes`" in warning["text"]


def test_a_conditional_variable_is_asked_only_where_its_condition_holds(
    db: None, tmp_path: Path, server: Running
) -> None:
    study = campaign_of(tmp_path, "grounding-relevance")
    decide(server, says={"What is it good for?": "outdated", "bridge opened": "yes"})
    create(server)
    run(study)
    found = labels(study)
    assert {(key[1], each.value) for key, each in found.items()} == {
        ("relevant", "yes"), ("use", "outdated")
    }  # fmt: skip
    assert {call.usage["completion_tokens"] for call in JudgeCall.objects.all()} == {2}
    decide(server, says={"Is the passage relevant?": "no"})
    create(server, name="e")
    run(study, "e")
    own = Label.objects.filter(response__assignment__rater__name="e")
    assert set(own.values_list("variable", "value")) == {("relevant", "no")}


def test_an_unanswered_question_is_missing_with_its_reason(
    campaign: Campaign, server: Running
) -> None:
    decide(server, off=["Who built it?"], refuses=["odd?"])
    create(server)
    assert "4 done, 0 failed" in run(campaign)
    rows = Assignment.objects.filter(item__campaign=campaign)
    assert {json.dumps(row.missing, sort_keys=True) for row in rows} == {
        json.dumps({f"q{n}:1": {"answerable": "off-label"}, f"q{n}:2": {"answerable": "refused"}})
        for n in (1, 2)
    }
    assert {key[0] for key in labels(campaign)} == {"q1:0", "q2:0"}
    report = json.loads(command("report", "--campaign", campaign.name, "--format", "json"))
    judge = report["variables"]["answerable"]["judges"]["d"]
    assert judge["missing"] == {"off-label": 4, "refused": 4}


def test_a_model_with_its_probability_outside_the_codes_gives_no_label(
    campaign: Campaign, server: Running
) -> None:
    decide(server, off=["?"])
    create(server)
    said = run(campaign)
    assert "0 done, 4 failed (off-label 4)" in said
    assert "labels with less than 0.5 will be missing as off-label" in said
    assert not Label.objects.exists()


def test_without_a_decision_endpoint_the_first_token_is_read(
    campaign: Campaign, server: Running
) -> None:
    decide(server, "first-token", absent=501)
    create(server)
    said = run(campaign)
    assert "read from the first token of a chat completion" in said
    assert "4 done" in said
    facts = JudgeRun.objects.get().manifest["probe"]["facts"]
    assert (facts["form"], facts["version"]) == ("first-token", "0.32.0")
    assert labels(campaign)["q1:0", "answerable"].score == pytest.approx(0.9 / 0.95)


def test_a_server_that_gives_no_probabilities_is_refused(
    campaign: Campaign, server: Running
) -> None:
    server.behave(reset=True)
    create(server)
    with pytest.raises(CommandError, match="gives no probabilities"):
        run(campaign)
    assert not JudgeCall.objects.exists()


@pytest.mark.parametrize("protocol", ["grounded-answer", "key-point-writing"])
def test_a_protocol_with_written_texts_or_lists_is_refused_before_any_call(
    db: None, tmp_path: Path, server: Running, protocol: str
) -> None:
    study = campaign_of(tmp_path, protocol)
    decide(server)
    create(server)
    with pytest.raises(CommandError, match="asks for written texts or lists"):
        run(study)
    assert server.stats()["calls"] == 0


def test_the_coded_variables_of_a_protocol_with_lists_can_be_asked_alone(
    db: None, tmp_path: Path, server: Running
) -> None:
    study = campaign_of(tmp_path, "grounded-answer", variables="selected")
    decide(server)
    create(server)
    assert " 0 failed" in run(study)
    assert {label.value for label in labels(study).values()} == {"yes"}


def test_labels_and_probabilities_of_a_swapped_pair_are_swapped_back(
    db: None, tmp_path: Path, server: Running
) -> None:
    study = campaign_of(tmp_path, "answer-preference")
    decide(server, says={"Which answer is better?": "first"})
    create(server)
    run(study)
    found = Label.objects.select_related("response__assignment").all()
    turned = [each for each in found if each.response.assignment.shown]
    for each in found:
        assert each.value == ("second" if each in turned else "first")
        assert each.meta is not None
        assert each.meta["probabilities"][each.value] == 0.9


@pytest.mark.parametrize(
    ("backend", "param", "words"),
    [
        ("decisions", "logprobs=20", "does not use --param logprobs"),
        ("decisions", "repair=1", "does not use --param repair"),
        ("decisions", "mass_floor=2", "from 0 to 1"),
        ("decisions", "form=rest", "systemone, decisions, first-token"),
        ("decisions", "two_codes=three", "noul or choice"),
        ("openai", "mass_floor=0.1", "is for the decisions backend"),
    ],
)
def test_parameters_unknown_to_the_backend_are_refused(
    db: None, backend: str, param: str, words: str
) -> None:
    with pytest.raises(CommandError, match=words):
        command("create_judge", "d", "--backend", backend, "--model", "m", "--param", param)
    assert not Judge.objects.exists()


@pytest.mark.processes
def test_a_killed_run_continues_and_labels_every_unit_once(house: House, server: Running) -> None:
    decide(server)
    house.manage("create_judge", "d", "--backend", "decisions", "--model", "fake-judge",
                 "--base-url", server.url, "--granularity", "unit",
                 "--param", f"concurrency={CONCURRENCY}")  # fmt: skip
    decides = {"forms": ["systemone"]}
    server.behave(holds_after=UNITS // 3, decides=decides)
    process = house.hurried(*RUN)
    until(server.holds, "it is in mid-run")
    kill_9(process)
    server.behave(decides=decides)
    process = house.hurried(*RUN)
    said, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, said
    assert set(house.labels().values()) == {1}
    assert house.labelled() == UNITS
    assert server.stats()["calls"] <= 2 * PROBES + UNITS + CONCURRENCY


def test_creating_a_judge_points_out_that_its_server_offers_decisions(
    campaign: Campaign, server: Running
) -> None:
    openai = ("--backend", "openai", "--model", "fake-judge", "--base-url", server.url)
    decide(server)
    assert "also gives decisions (systemone)" in command("create_judge", "a", *openai)
    written = command("create_judge", "b", *openai, "--prompt", "grounded-answer")
    assert "decisions" not in written
    server.behave(reset=True)
    assert "decisions" not in command("create_judge", "c", *openai)


def test_a_run_with_codes_only_records_that_its_server_offers_decisions(
    campaign: Campaign, server: Running
) -> None:
    command("create_judge", "a", "--backend", "openai", "--model", "fake-judge",
            "--base-url", server.url)  # fmt: skip
    decide(server, "decisions")
    run(campaign, "a")
    facts = JudgeRun.objects.get().manifest["probe"]["facts"]
    assert facts["offers_decisions"] == "decisions"

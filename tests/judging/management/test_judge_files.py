"""Judges from files: checked, created, run and written back as they were."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.core.management.base import CommandError

from analysis.campaigns.reports import campaign_report
from annotation.models import Assignment, Campaign, Label
from judging.backends.base import Request
from judging.models import Judge, JudgeCall
from tandem.labels.selection import ReportOptions
from tests.judging.cast import campaign_of, command, run_scripted
from tests.judging.judge_file.test_document import GRADED
from tests.once import once

pytestmark = pytest.mark.django_db


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "judge.toml"
    path.write_text(GRADED, "utf-8")
    return path


@once
def study(folder: Path) -> Campaign:
    return campaign_of(folder, "grounding-relevance")


def create(file: Path, *more: str) -> Judge:
    command(
        "create_judge", "graded", "--file", str(file), "--backend", "openai", "--model", "m", *more
    )
    return Judge.objects.get(rater__name="graded")


def test_a_file_is_checked_without_creating_a_judge(file: Path) -> None:
    said = command("create_judge", "--file", str(file), "--check")
    assert "2 fixtures are read as expected" in said
    assert not Judge.objects.exists()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("title =", "titel =", "line 2: 'titel' is not a key"),
        (
            'relevant = "yes" }',
            'relevant = "no" }',
            "fixture 1, line 35: is read as relevant = yes",
        ),
        ("temperature = 0", "temperature = 9", "param temperature is '9'"),
    ],
)
def test_an_invalid_file_is_a_one_line_error(file: Path, old: str, new: str, message: str) -> None:
    file.write_text(GRADED.replace(old, new, 1), "utf-8")
    with pytest.raises(CommandError) as raised:
        command("create_judge", "--file", str(file), "--check")
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)
    assert str(raised.value).startswith(str(file))


MARKER = 'marker = "final score:"\n'
LENIENT = [
    (MARKER, "", "take = 'last' needs the words that announce a verdict"),
    (r"([0-3])'", r"([0-3])\W*$'", "the pattern ends in"),
    (r"([0-3])'", r"([0-3])\W*\z'", "the pattern ends in"),
    (r"([0-3])'", r"([0-3])[^\w]*$'", "the pattern ends in"),
    (r"([0-3])'", r"([0-3])(?:\W{0,9})$'", "the pattern ends in"),
    (MARKER, 'marker = "verdict:"\n', "occurs neither in the messages nor in a fixture"),
]


@pytest.mark.every_case
@pytest.mark.parametrize(("old", "new", "message"), LENIENT)
def test_a_new_file_that_could_overlook_a_verdict_is_refused(
    file: Path, old: str, new: str, message: str
) -> None:
    lenient = GRADED.replace(old, new)
    file.write_text(lenient, "utf-8")
    for options in (("--check",), ("graded", "--backend", "openai", "--model", "m")):
        with pytest.raises(CommandError, match=message):
            command("create_judge", "--file", str(file), *options)
    assert not Judge.objects.exists()
    file.write_text(lenient.replace("[answer]", "[answer]\nas_published = true"), "utf-8")
    assert "read as expected" in command("create_judge", "--file", str(file), "--check")


def test_a_file_that_a_judge_already_has_stays_good_for_others(file: Path) -> None:
    judge = create(file)
    lenient = GRADED.replace(MARKER, "")
    Judge.objects.filter(pk=judge.pk).update(file=lenient)
    file.write_text(lenient, "utf-8")
    said = command(
        "create_judge", "graded-2", "--file", str(file), "--backend", "openai", "--model", "n"
    )
    assert "Created judge graded-2" in said


def test_a_judge_stores_its_file_and_writes_it_back_unchanged(file: Path, tmp_path: Path) -> None:
    judge = create(file, "--param", "max_tokens=99")
    assert (judge.file, judge.granularity) == (GRADED, "unit")
    assert judge.params == {"temperature": 0.0, "max_tokens": 99, "extra_body": {"top_k": 1},
        "omit": ["response_format"]}  # fmt: skip
    out = tmp_path / "out.toml"
    command("judge_manifest", "--judge", "graded", "--file", str(out))
    assert out.read_text("utf-8") == GRADED


def test_parameters_omitted_by_a_file_stay_omitted_unless_given(file: Path) -> None:
    text = GRADED.replace("temperature = 0", 'temperature = 0\nomit = ["seed"]')
    file.write_text(text, "utf-8")
    more = ("--param", "omit=temperature")
    assert create(file, *more).params["omit"] == ["response_format", "seed", "temperature"]
    command(
        "create_judge", "seeded", "--file", str(file), "--backend", "openai", "--model", "m",
        "--param", "seed=3",
    )  # fmt: skip
    seeded = Judge.objects.get(rater__name="seeded").params
    assert (seeded["omit"], seeded["seed"]) == (["response_format"], 3)
    assert "temperature" not in Judge.objects.get(rater__name="graded").params


def test_the_same_name_with_another_file_is_refused(file: Path) -> None:
    create(file)
    assert "already" in command(
        "create_judge", "graded", "--file", str(file), "--backend", "openai", "--model", "m"
    )
    file.write_text(GRADED.replace("a paper", "another"), "utf-8")
    with pytest.raises(CommandError, match="another file"):
        create(file)


def test_a_judge_file_is_run_with_its_own_prompt_and_parser(file: Path, study: Campaign) -> None:
    judge, asked = create(file), list[Request]()

    def graded(request: Request) -> str:
        asked.append(request)
        return "The passage names the year.\nFinal score: 3"

    run, _, _ = run_scripted(study, judge, graded)
    assert run.done == run.calls == 2
    assert {request.schema == {} for request in asked} == {True}
    (message,) = asked[0].messages
    assert "Query: How was bridge 1 built?\nPassage: The bridge opened in 1901." in message.content
    labels = Label.objects.filter(response__assignment__rater=judge.rater)
    assert set(labels.values_list("variable", "value")) == {("relevant", "yes")}
    assert set(JudgeCall.objects.values_list("reading", flat=True)) == {"as-is"}


def test_a_judge_that_is_read_as_published_reads_what_its_pattern_captures(
    file: Path, study: Campaign
) -> None:
    file.write_text(GRADED.replace("[answer]", "[answer]\nas_published = true"), "utf-8")
    judge = create(file)
    run_scripted(study, judge, lambda request: "Final score: 0\nFinal score: 2+ Actually: 1")
    labels = Label.objects.filter(response__assignment__rater=judge.rater)
    assert set(labels.values_list("value", flat=True)) == {"yes"}
    report = campaign_report(study, ReportOptions(resamples=2))
    (warned,) = (each for each in report["warnings"] if each["code"] == "read_as_published")
    assert warned["rater"] == "graded"
    assert "as its authors published it" in warned["text"]


def test_the_report_counts_each_step_by_which_replies_were_read(
    file: Path, study: Campaign
) -> None:
    run_scripted(study, create(file), lambda request: "**Final score:** ３")
    assert set(JudgeCall.objects.values_list("reading", flat=True)) == {"width+markdown"}


def test_an_unmapped_verdict_is_missing(file: Path, study: Campaign) -> None:
    run, _, _ = run_scripted(study, create(file), lambda request: "I cannot assess this.")
    assert run.failures == {"refused": 2}
    assert set(Assignment.objects.values_list("reason", flat=True)) == {"refused"}


def test_the_manifest_contains_the_file_and_what_each_call_shows(
    file: Path, study: Campaign
) -> None:
    run_scripted(study, create(file), lambda request: "final score: 0")
    (manifest,) = json.loads(
        command("judge_manifest", "--judge", "graded", "--campaign", study.name)
    )
    facts = manifest["judge"]
    assert facts["isolate"] == "unit"
    assert facts["file"]["text"] == GRADED
    assert facts["file"]["parser"] == "regex"


def test_a_judge_file_runs_only_over_campaigns_of_its_protocol(file: Path, tmp_path: Path) -> None:
    judge = create(file)
    with pytest.raises(Exception, match="is from a file about grounding-relevance"):
        run_scripted(campaign_of(tmp_path), judge, lambda request: "")


def test_a_template_name_missing_from_an_item_is_refused_before_any_call(
    file: Path, study: Campaign
) -> None:
    file.write_text(GRADED.replace("{{ passage.text }}", "{{ passages[7].text }}"), "utf-8")
    with pytest.raises(Exception, match="cannot be filled in"):
        run_scripted(study, create(file), lambda request: "final score: 0")
    assert not JudgeCall.objects.exists()


def test_the_decisions_parser_and_backend_require_each_other(file: Path) -> None:
    with pytest.raises(CommandError, match="choose the parser decisions"):
        command("create_judge", "d", "--file", str(file), "--backend", "decisions", "--model", "m")
    with pytest.raises(CommandError, match="choose the decisions backend"):
        command(
            "judge_library",
            "add",
            "decisions-graded-relevance",
            "--backend",
            "openai",
            "--model",
            "m",
        )


def test_answers_of_a_judge_file_fulfil_all_invariants(file: Path, study: Campaign) -> None:
    run_scripted(study, create(file), lambda request: "```\nfinal score: 3\n```")
    assert Label.objects.filter(meta={"reading": "fence", "grade": "3"}).count() == 2
    assert command("check_invariants") == "The invariants hold.\n"

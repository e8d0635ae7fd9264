"""Judges answer variables that take several codes, or a number on a scale."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from annotation.models import Label
from annotation.presentation import schema
from annotation.protocols.schema import schema_of
from judging.backends.base import Answer, AskedUnit, Request, SetupError
from judging.floor import get_floor
from judging.judge_file.answer import build
from judging.judge_file.template import FileError
from judging.models import JudgeCall
from judging.parsers.base import ExpectedAnswer
from judging.parsers.schema import SCHEMA
from judging.prompts.perturbations import favourable_code, position_on_scale
from judging.prompts.request import MOST_LISTED, answer_fields, reply_schema
from judging.prompts.template import describe_answer
from judging.runs.fit import check_closed
from tandem.protocols.base import Scale
from tests.cast import write_lines
from tests.fake_openai.running import Running
from tests.judging.cast import command, judge, run_scripted
from tests.page_cast import Study
from tests.several_cast import HARM, ISSUES, PROTOCOL, make_issues_study

pytestmark = pytest.mark.django_db
BOAT = "verdreht–ö 🛶"
SET = f'["left-out", "{BOAT}"]'


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> Study:
    return make_issues_study(monkeypatch, questions=("Who?", "What?"), reports=1)


def said(name: str, unit: str = "q:0") -> dict[str, str]:
    found = Label.objects.filter(response__assignment__rater__name=name, unit__name=unit)
    return dict(found.values_list("variable", "value"))


def reply(request: Request, issues: Any = (BOAT, "left-out"), harm: Any = 35) -> str:
    answer = {"evidence": [], "issues": issues, "harm": harm}
    return json.dumps({unit.name: answer for unit in request.facts.units})


def asked(study: Study) -> AskedUnit:
    return AskedUnit("q", "question", "Who?", **answer_fields(schema(study.campaign), "question"))


def test_the_prompt_describes_lists_and_scales_in_a_line_each(study: Study) -> None:
    words = describe_answer(schema(study.campaign), [asked(study)], unit_by_unit=True)
    assert (
        '- `evidence`: a list of {"quote", "start"}: quotes of the report for `issues`, required '
        "if `issues` has made-up"
    ) in words
    assert (
        f"a list of any of made-up, left-out, {BOAT}; [] if none applies, or alone cannot-tell\n"
    ) in words
    assert (
        "a number from 0 to 100 in steps of 5; null unless `issues` has made-up or " + BOAT
    ) in words


def test_a_server_is_held_to_a_list_without_what_strict_modes_refuse(study: Study) -> None:
    found = reply_schema(schema(study.campaign), "question")["properties"]
    codes = {"type": "array", "items": {"type": "string", "enum": list(ISSUES.codes)}}
    assert found["issues"]["anyOf"] == [codes, {"type": "string", "enum": ["cannot-tell"]}]


def test_a_long_scale_is_a_number_for_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    scale = Scale(Decimal(0), Decimal(1), Decimal("0.001"))
    fine = replace(HARM, codes=scale.codes, scale=scale, asked_if={}, escapes=("unclear",))
    assert len(fine.codes) > MOST_LISTED
    protocol = replace(PROTOCOL, variables=(fine,), evidence=None)
    asked = schema_of(protocol)
    assert reply_schema(asked, "question")["properties"]["harm"] == {
        "anyOf": [{"type": "number"}, {"type": "string", "enum": ["unclear"]}]
    }
    words = describe_answer(asked, [AskedUnit("q", "question", "Who?", ())], unit_by_unit=True)
    assert "a number from 0 to 1 in steps of 0.001, or alone unclear" in words
    assert len(words) < 500


def test_a_reply_becomes_one_label_in_declared_order(study: Study) -> None:
    run_scripted(study.campaign, judge("m"), reply)
    assert said("m") == {"issues": SET, "harm": "35"}


@pytest.mark.parametrize(
    ("issues", "harm"),
    [
        (["left-out", "left-out"], None),
        (["other"], None),
        ([BOAT], None),
        ([BOAT], 36),
        ("left-out", None),
    ],
)
def test_a_reply_off_the_codes_is_missing_and_no_label(
    study: Study, issues: Any, harm: Any
) -> None:
    run_scripted(study.campaign, judge("m"), lambda request: reply(request, issues, harm))
    assert said("m") == {}
    assert JudgeCall.objects.filter(assignment__rater__name="m").exists()


def test_the_one_reply_among_prose_is_found(study: Study) -> None:
    unit = asked(study)
    text = 'Sure:\n```json\n{"evidence": [], "issues": ["left-out",], "harm": null}\n```'
    found = SCHEMA.read(Answer(text), ExpectedAnswer((unit,), by_unit=True))
    assert found.units["q"]["issues"] == ["left-out"]


def test_a_server_answers_with_a_list_and_a_number(study: Study, server: Running) -> None:
    server.behave(reset=True, fixed={"issues": [BOAT, "left-out"], "harm": "35"})
    judge("m", "openai", model="m", base_url=server.url)
    command("run_judge", "--campaign", "Issues", "--judge", "m")
    assert said("m") == {"issues": SET, "harm": "35"}
    scores = Label.objects.filter(variable="issues").values_list("score", flat=True)
    assert set(scores) == {None}


def test_a_labels_file_is_replayed(study: Study, tmp_path: Path) -> None:
    line = {"item": "hidden-system-0:r", "rater": "old"}
    lines = [
        {**line, "unit": "q:0", "variable": "issues", "value": SET},
        {**line, "unit": "q:0", "variable": "harm", "value": "35"},
        {**line, "unit": "q:1", "variable": "issues", "value": "[]"},
    ]
    path = str(write_lines(tmp_path / "answers.jsonl", lines))
    command("create_judge", "replayed", "--backend", "scripted", "--answers", path)
    command("run_judge", "--campaign", "Issues", "--judge", "replayed")
    assert said("replayed") == {"issues": SET, "harm": "35"}
    assert said("replayed", "q:1") == {"issues": "[]"}


def test_the_lexical_baseline_names_nothing_and_has_no_rule_for_sets(study: Study) -> None:
    command("run_judge", "--campaign", "Issues", "--judge", str(judge("lexical")))
    assert said("lexical") == {"issues": "[]"}
    assert "issues" in get_floor(study.campaign).without_rule


def test_a_decision_model_is_refused_before_the_run(study: Study) -> None:
    decides = judge("d", "decisions", model="m", base_url="http://127.0.0.1:9/v1")
    with pytest.raises(SetupError, match="or for several codes, which decision models cannot"):
        check_closed(study.campaign, decides)


@pytest.mark.parametrize(
    "table",
    [
        {"parser": "regex", "pattern": "(?P<issues>.*)"},
        {"parser": "json", "path": {"issues": "$.issues"}},
        {"parser": "letter", "map": {"issues": {"A": "made-up"}}},
        {"parser": "tags", "tag": {"issues": "v"}},
        {"parser": "decisions"},
    ],
)
def test_a_parser_of_single_codes_is_refused_when_its_file_is_read(table: dict[str, Any]) -> None:
    with pytest.raises(FileError, match="reads one code, and issues of issues takes several"):
        build(table, PROTOCOL)


def test_a_parser_may_read_the_scale_beside_a_set() -> None:
    parser = build({"parser": "json", "path": {"harm": "$.harm"}}, PROTOCOL)
    assert parser.reads == ("harm",)


def test_a_jury_decides_by_the_commonest_set(study: Study) -> None:
    for name, issues in (("a", [BOAT, "left-out"]), ("b", ["left-out", BOAT]), ("c", [])):
        script = partial(reply, issues=issues, harm=35 if issues else None)
        run_scripted(study.campaign, judge(name), script)
    command("create_jury", "j", "--campaign", "Issues", "--judges", "a,b,c")
    assert said("j") == {"issues": SET, "harm": "35"}


def test_trials_compare_sets_as_wholes() -> None:
    assert favourable_code(ISSUES) == '["made-up"]'
    assert position_on_scale(ISSUES, '["made-up"]') is None
    assert position_on_scale(HARM, "25") == 0.25

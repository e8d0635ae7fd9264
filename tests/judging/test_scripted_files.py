"""A scripted judge with a judge file: its labels come back through the file's prompt and parser."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from annotation.models import Campaign, Label
from judging import library
from judging.judge_file.completions import completion_for
from judging.judge_file.document import read_file
from judging.judge_file.template import FileError
from judging.judges import Definition, JudgeError, define
from judging.models import Judge, JudgeCall
from tests.judging.cast import campaign_of, command

WRITTEN = {
    "graded-relevance": {"relevant": "yes"},
    "report-coverage": {"answerable": "yes", "rating": "5"},
    "factuality": {"support": "contradictory"},
    "question-type": {"valid": "yes", "false_premise": "no", "information_seeking": "no"},
    "pairwise-preference": {"preferred": "tie-bad"},
}


@pytest.mark.parametrize("name", WRITTEN)
def test_labels_are_written_in_the_form_that_the_file_reads(name: str) -> None:
    file = library.files()[name]
    assert completion_for(file, {**WRITTEN[name], "other": "x"}, {})


def test_a_grade_is_written_unchanged_and_an_unreadable_label_is_refused() -> None:
    graded = library.files()["graded-relevance"]
    assert completion_for(graded, {"relevant": "yes"}, {"relevant": "3"}).endswith("score: 3")
    with pytest.raises(FileError, match="relevant = maybe"):
        completion_for(graded, {"relevant": "maybe"}, {})
    with pytest.raises(FileError, match="for the parsers regex, letter"):
        completion_for(library.files()["nugget-assignment"], {"entailed": "yes"}, {})


def scripted(folder: Path, name: str, lines: list[dict[str, str]]) -> Judge:
    path = folder / "answers.jsonl"
    path.write_text("".join(json.dumps({**line, "rater": "j"}) + "\n" for line in lines), "utf-8")
    given = Definition("fake", "scripted", file=library.text_of(name), answers=str(path))
    return define(given)[0]


def run(campaign: Campaign, judge: Judge) -> None:
    command("run_judge", "--campaign", campaign.name, "--judge", judge.rater.name)


@pytest.mark.django_db
def test_a_scripted_judge_uses_the_prompt_and_parser_of_its_file(tmp_path: Path) -> None:
    study = campaign_of(tmp_path, "grounding-relevance")
    unit = study.items.get(key="q1").units.get()
    line = {"item": "q1", "unit": unit.key, "kind": unit.kind, "variable": "relevant",
            "value": "yes", "grade": "2"}  # fmt: skip
    lost = {"item": "q2", "unit": "q2/p2", "kind": "passage", "variable": "relevant",
            "missing": "refused"}  # fmt: skip
    run(study, scripted(tmp_path, "graded-relevance", [line, lost]))
    label = Label.objects.get()
    assert (label.value, label.meta) == ("yes", {"grade": "2"})
    states = dict(JudgeCall.objects.values_list("assignment__item__key", "state"))
    assert states == {"q1": "answered", "q2": "refused"}
    assert str(JudgeCall.objects.get(state="answered").completion).endswith("final score: 2")


@pytest.mark.django_db
def test_a_pair_that_is_asked_in_both_orders_gets_the_same_label_twice(tmp_path: Path) -> None:
    study = campaign_of(tmp_path, "answer-preference")
    item = study.items.first()
    assert item is not None
    unit = item.units.get()
    line = {"item": item.key, "unit": unit.key, "kind": "pair", "variable": "preferred",
            "value": "first"}  # fmt: skip
    run(study, scripted(tmp_path, "pairwise-preference", [line]))
    found = Label.objects.order_by("response__assignment__replicate")
    assert list(found.values_list("value", flat=True)) == ["first", "first"]
    ends = [str(call.completion)[-5:] for call in JudgeCall.objects.filter(state="answered")]
    assert sorted(ends) == ["[[A]]", "[[B]]"]


@pytest.mark.django_db
def test_labels_that_the_file_cannot_read_are_refused_with_their_unit(tmp_path: Path) -> None:
    line = {"item": "q1", "unit": "u", "variable": "relevant", "value": "x"}
    with pytest.raises(JudgeError, match=r"unit 'u' of item 'q1': .*relevant = x"):
        scripted(tmp_path, "graded-relevance", [line])
    assert read_file(library.text_of("graded-relevance")).parser.reads == ("relevant",)

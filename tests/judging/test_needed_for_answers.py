"""Judges are asked for each answer whether it needed a passage, by item and by unit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from annotation.campaigns.design import Design
from annotation.models import Campaign, Label
from annotation.presentation import present
from annotation.protocols import PROTOCOLS
from judging.backends.base import Request
from judging.floor import get_floor
from judging.manifest import manifest_of
from judging.models import JudgeCall
from judging.prompts.perturbations import exchange_texts, read_paraphrase, remove_texts
from judging.runs.prompts import prompt_for
from tests.blind_cast import needed_study_before
from tests.fake_openai.running import Running
from tests.judging.cast import command, judge, run_scripted
from tests.page_cast import study_of

pytestmark = pytest.mark.django_db
FERRY, MUSEUM = "The ferry sank in March.", "The museum opens at ten. It is closed on Mondays."
LINES: list[dict[str, Any]] = [
    {
        "id": name,
        "text": "What happened?",
        "passages": [
            {"id": f"{name}-ferry", "text": f"{FERRY} {name}.", "title": "Passage"},
            {"id": f"{name}-museum", "text": f"{MUSEUM} {name}.", "title": "Passage"},
        ],
        "reports": [
            {"id": f"zeta/{name}", "text": "It opens at ten. Much else.", "system": "zeta"},
            {"id": f"eta/{name}", "text": "It opens at ten. The ferry sank.", "system": "eta"},
        ],
    }
    for name in ("one", "two")
]
EXPECTED = {
    f"{report}/{name}/{name}-{passage}": code
    for name in ("one", "two")
    for report, passage, code in (
        ("zeta", "ferry", "no"),
        ("zeta", "museum", "yes"),
        ("eta", "ferry", "yes"),
        ("eta", "museum", "yes"),
    )
}


def campaign(folder: Path) -> Campaign:
    design = Design(variables=("needed_answer",), seed=3)
    return study_of("answer-rating", folder, design, LINES).campaign


def said(name: str) -> dict[str, str]:
    found = Label.objects.filter(response__assignment__rater__name=name)
    assert set(found.values_list("unit__kind", "variable")) == {("report-passage", "needed_answer")}
    return dict(found.values_list("unit__key", "value"))


@pytest.mark.first_case
@pytest.mark.parametrize("granularity", ["item", "unit"])
def test_a_judge_labels_each_answer_and_passage(
    granularity: str, server: Running, tmp_path: Path
) -> None:
    server.behave(reset=True, answer="no")
    study = campaign(tmp_path)
    judge("m", "openai", model="m", base_url=server.url, granularity=granularity)
    command("run_judge", "--campaign", study.name, "--judge", "m")
    assert said("m") == dict.fromkeys(EXPECTED, "no")
    # By item, each of the two answers to a query is asked about without the other.
    assert JudgeCall.objects.count() == (4 if granularity == "item" else len(EXPECTED))


@pytest.mark.first_case
@pytest.mark.parametrize("granularity", ["item", "unit"])
def test_a_request_names_the_passage_and_the_answer_but_no_system(
    granularity: str, tmp_path: Path
) -> None:
    study, requests = campaign(tmp_path), []

    def no(request: Request) -> str:
        requests.append(request)
        answers = {unit.name: {"needed_answer": "no"} for unit in request.facts.units}
        return json.dumps(answers if granularity == "item" else {"needed_answer": "no"})

    run_scripted(study, judge("m", granularity=granularity), no)
    assert len(said("m")) == len(EXPECTED)
    pairs = []
    for request in requests:
        words = "\n".join(message.content for message in request.messages)
        assert "zeta" not in words
        assert "eta/" not in words
        for unit in request.facts.units:
            assert unit.about is not None
            assert unit.answer is not None
            passage, answer = (request.facts.texts[n] for n in (unit.about, unit.answer))
            assert f"(texts {unit.about + 1} and {unit.answer + 1})" in words
            assert unit.text == f"Passage, for the answer “{answer}”"
            pairs.append((passage, answer))
    assert len(set(pairs)) == len(pairs) == len(EXPECTED)


@pytest.mark.first_case
@pytest.mark.parametrize("granularity", ["item", "unit"])
def test_the_lexical_judge_compares_the_sentences_of_the_answer_with_the_passage(
    granularity: str, tmp_path: Path
) -> None:
    study = campaign(tmp_path)
    judge("words", granularity=granularity)
    command("run_judge", "--campaign", study.name, "--judge", "words")
    assert said("words") == EXPECTED
    floor = get_floor(study).codes["needed_answer"]
    assert {key: code for (_, _, key), code in floor.items()} == EXPECTED


def test_a_control_leaves_no_word_of_the_original_texts_in_its_units(tmp_path: Path) -> None:
    item = campaign(tmp_path).items.select_related("campaign", "query").order_by("position")[0]
    spec = present(item)
    assert {unit.text for unit in remove_texts(spec).units} == {""}
    assert [unit.of for unit in remove_texts(spec).units] == [unit.of for unit in spec.units]
    for unit in exchange_texts(spec, item, seed=1).units:
        texts = {text.field: text.text for text in exchange_texts(spec, item, seed=1).texts}
        assert unit.text == f"{texts[unit.of[1]]}, for the answer “{texts[unit.of[0]]}”"


def test_an_earlier_campaign_is_judged_by_its_own_prompt(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    study = needed_study_before(monkeypatch, tmp_path).campaign
    first = PROTOCOLS["answer-rating"].as_of("1")
    base, asked = judge("m"), []

    def no(request: Request) -> str:
        asked.append("\n".join(message.content for message in request.messages))
        return json.dumps(
            {u.name: {v.name: "no" for v in u.variables} for u in request.facts.units}
        )

    run, _, _ = run_scripted(study, base, no)
    assert prompt_for(base, study) == first.prompt
    assert manifest_of(run)["prompt"]["version"] == "1"
    assert "**yes** if an answer draws on it" in asked[0]
    kinds = Label.objects.filter(variable="needed_answer").values_list("unit__kind", flat=True)
    assert list(kinds) == ["passage", "passage"]
    assert "some answer has made use of it" in read_paraphrase("answer-rating", "1")
    assert "the answer at hand has made use of it" in read_paraphrase("answer-rating", "2")

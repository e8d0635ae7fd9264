"""Labels from CLAPnq's released answers contain only what the release supports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError

from annotation.models import Assignment, Campaign, Label, Response
from tests.cast import campaign_of, exported, run, write_lines

pytestmark = pytest.mark.django_db

SENTENCES = ["One 🌉 .", "Two e\u0301 .", "שלום ."]
TEXT = "One 🌉 . Two e\u0301 . שלום . "


def output(answer: str, raters: list[int], round: int = 1, **changes: Any) -> dict[str, Any]:
    meta = {"annotator": raters, "round": round, "skip": False, "has_minimal_answer": True}
    meta |= {"non_consecutive": False} | changes.pop("meta", {})
    chosen = [SENTENCES[0], SENTENCES[2]] if raters else []
    return {"answer": answer, "selected_sentences": chosen, "meta": meta} | changes


def question(key: str, *outputs: dict[str, Any]) -> dict[str, Any]:
    passage = {"title": "T", "text": TEXT, "sentences": SENTENCES}
    return {"id": key, "input": "why", "passages": [passage], "output": list(outputs)}


KEPT = question("-1", output("Because 🌉.", [7, 9], round=2))
CHANGED = question("2", output("So.", [7]), output("So it is.\r\n", [8], round=2))
SKIPPED = question(
    "3",
    output("Thus.", [9]),
    output("", [7], round=2, selected_sentences=[], meta={"skip": True}),
)
EMPTY = question("4", output("NA", [8]))
NOBODY = question("5", output("", [], round=0))
RELEASE = (KEPT, CHANGED, SKIPPED, EMPTY, NOBODY)
ASKED = "variables=descriptor,deflected,action,selected"


@pytest.fixture
def release(tmp_path: Path) -> Path:
    path = write_lines(tmp_path / "release.jsonl", RELEASE)
    run("load_batch", path, "--name", "b")
    return path


@pytest.fixture
def loaded(release: Path) -> Campaign:
    campaign = campaign_of("grounded-answer", "--option", ASKED)
    run("import_labels", release, "--campaign", "c", "--format", "clapnq")
    return campaign


def labels(item: str, rater: str) -> dict[str, str]:
    """The labels of one answer; sentences by their numbers."""
    found = Label.objects.filter(
        response__assignment__item__key=item, response__assignment__rater__name=rater
    )
    return {
        name if kind == "query" else key.rpartition("#")[2]: value
        for kind, key, name, value in found.values_list(
            "unit__kind", "unit__key", "variable", "value"
        )
    }


def written(item: str, rater: str) -> str | None:
    response = Response.objects.get(assignment__item__key=item, assignment__rater__name=rater)
    texts = [answer["written"]["text"] for answer in response.payload["units"].values()
             if answer.get("written")]  # fmt: skip
    return texts[0] if texts else None


def test_each_annotator_is_a_rater_with_selection_and_answer(loaded: Campaign) -> None:
    ticks = {"1": "yes", "2": "no", "3": "yes"}
    assert labels("2", "7") == {**ticks, "deflected": "no"}
    assert labels("2", "8") == {**ticks, "deflected": "no", "action": "modify"}
    assert (written("2", "7"), written("2", "8")) == ("So.", "So it is.\r\n")


def test_a_shared_answer_was_written_by_the_first_annotator_and_kept_by_the_second(
    loaded: Campaign,
) -> None:
    assert "action" not in labels("-1", "7")
    assert labels("-1", "9")["action"] == "keep"
    assert written("-1", "7") == written("-1", "9") == "Because 🌉."


def test_no_descriptor_is_invented_since_the_release_has_none(loaded: Campaign) -> None:
    people = Label.objects.filter(response__assignment__rater__kind="human")
    assert not people.filter(variable="descriptor").exists()


def test_a_skipped_question_is_declined_and_has_no_selection(loaded: Campaign) -> None:
    assert labels("3", "7") == {"action": "skip"}
    missing = [line for line in exported("c", "labels") if line.get("missing")]
    assert {(m["item"], m["rater"], m["variable"], m["missing"]) for m in missing} == {
        ("3", "7", "descriptor", "declined"),
        ("3", "7", "deflected", "declined"),
    }


def test_a_placeholder_answer_keeps_its_text_and_gets_no_deflection_label(
    loaded: Campaign,
) -> None:
    assert labels("4", "8") == {"1": "yes", "2": "no", "3": "yes"}
    assert written("4", "8") == "NA"


def test_an_unanswerable_question_is_answered_by_a_reference(loaded: Campaign) -> None:
    assert labels("5", "clapnq") == {
        **dict.fromkeys("123", "no"),
        "descriptor": "no-answer",
        "deflected": "yes",
    }
    assert Assignment.objects.get(item__key="5").rater.kind == "reference"
    assert written("5", "clapnq") is None


def test_the_round_is_kept_in_the_first_labels_meta(loaded: Campaign) -> None:
    lines = [x for x in exported("c", "labels") if x.get("meta")]
    rounds = {(x["item"], x["rater"]): x["meta"]["round"] for x in lines}
    assert rounds[("-1", "7")] == rounds[("2", "7")] == rounds[("4", "8")] == 1
    assert rounds[("-1", "9")] == rounds[("2", "8")] == rounds[("3", "7")] == 2
    kept = next(x["meta"] for x in lines if (x["item"], x["rater"]) == ("-1", "7"))
    assert kept["released_round"] == 2
    assert len(lines) == Response.objects.count()


def test_a_campaign_that_asks_no_action_gets_no_action_labels(release: Path) -> None:
    campaign_of("grounded-answer")
    run("import_labels", release, "--campaign", "c")
    assert not Label.objects.filter(variable="action").exists()
    assert Assignment.objects.get(item__key="3", rater__name="7").status == "declined"


def test_the_format_is_recognised_and_loading_twice_changes_nothing(
    loaded: Campaign, release: Path
) -> None:
    before = Label.objects.count(), Response.objects.count()
    said = run("import_labels", release, "--campaign", "c")
    assert "they exist already" in said
    assert "Imported" not in said
    assert (Label.objects.count(), Response.objects.count()) == before


def test_the_rater_option_names_the_reference(release: Path) -> None:
    campaign_of("grounded-answer")
    said = run("import_labels", release, "--campaign", "c", "--rater", "release")
    assert "no effect" not in said
    assert Assignment.objects.get(item__key="5").rater.name == "release"


def test_exported_responses_can_be_imported_into_another_campaign(
    loaded: Campaign, tmp_path: Path
) -> None:
    lines = exported("c", "responses")
    campaign_of("grounded-answer", "--option", ASKED, name="d")
    moved = write_lines(tmp_path / "r.jsonl", ({**x, "campaign": "d"} for x in lines))
    run("import_labels", moved, "--campaign", "d")
    again = {(x["item"], x["rater"]): x["units"] for x in exported("d", "responses")}
    for line in lines:
        assert again[line["item"], line["rater"]] == line["units"]


def refusal(path: Path, campaign: str = "c") -> str:
    with pytest.raises(CommandError) as caught:
        run("import_labels", path, "--campaign", campaign, "--format", "clapnq")
    text = str(caught.value)
    assert text.startswith(str(path))
    assert len(text.splitlines()) == 1
    assert not Label.objects.exists()
    return text


def test_a_campaign_of_another_protocol_is_refused(release: Path) -> None:
    campaign_of("question-typing")
    assert "campaign 'c' is of question-typing; give one of grounded-answer" in refusal(release)


def test_an_unknown_question_is_refused_with_its_line(release: Path, tmp_path: Path) -> None:
    campaign_of("grounded-answer")
    other = write_lines(tmp_path / "o.jsonl", [KEPT, question("nowhere", output("A.", [7]))])
    assert "line 2: item \"nowhere\" is not in campaign 'c'" in refusal(other)


def test_an_output_with_malformed_meta_is_refused(release: Path, tmp_path: Path) -> None:
    campaign_of("grounded-answer")
    odd = json.loads(json.dumps(KEPT))
    odd["output"][0]["meta"]["annotator"] = "7"
    path = write_lines(tmp_path / "o.jsonl", [odd])
    assert "the meta of output 1 lacks a list" in refusal(path)


def test_a_selected_sentence_outside_the_item_is_left_out_with_a_warning(
    release: Path, tmp_path: Path
) -> None:
    campaign_of("grounded-answer")
    stray = question("2", output("So.", [7], selected_sentences=["One 🌉 .", "Three ."]))
    said = run("import_labels", write_lines(tmp_path / "o.jsonl", [stray]), "--campaign", "c")
    assert "1 selected sentences do not belong to their item; they were left out" in said
    assert labels("2", "7") == {"1": "yes", "2": "no", "3": "no", "deflected": "no"}

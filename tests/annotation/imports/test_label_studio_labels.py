"""Labels from Label Studio are imported from our own exports and from other projects."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError

from annotation.models import Campaign, Label
from annotation.protocols import PROTOCOLS
from tests.annotation.label_files import labels_for
from tests.cast import Line, campaign_of, exported, run, write_lines
from tests.datasets.helpers import FILES


def in_order(lines: list[Line]) -> list[str]:
    """Labels without their campaign, spans of a label in any order."""
    return sorted(
        json.dumps(
            {
                name: sorted(value, key=json.dumps) if name == "spans" else value
                for name, value in line.items()
                if name != "campaign"
            },
            sort_keys=True,
        )
        for line in lines
    )


@pytest.mark.usefixtures("batch")
class TestOurOwnExport:
    @pytest.mark.first_case
    @pytest.mark.parametrize("protocol", PROTOCOLS)
    def test_exported_labels_can_be_imported_again(self, protocol: str, tmp_path: Path) -> None:
        campaign_of(protocol)
        lines = labels_for(Campaign.objects.get(name="c"), exported("c", "units"))
        run("import_labels", write_lines(tmp_path / "l.jsonl", lines), "--campaign", "c")
        out = tmp_path / "tasks.json"
        run("export", "--campaign", "c", "--what", "label-studio", "--output", out)
        campaign_of(protocol, name="again")
        run("import_labels", out, "--campaign", "again")
        assert in_order(exported("again", "labels")) == in_order(exported("c", "labels"))

    def test_an_unfound_quote_can_be_imported_again(self, tmp_path: Path) -> None:
        campaign_of("report-coverage")
        row = {"item": "r", "unit": "🌉", "variable": "answerable", "value": "yes", "rater": "ann",
               "spans": [{"text": "made of cheese, they say"}, {"text": "built it"}]}  # fmt: skip
        run("import_labels", write_lines(tmp_path / "l", [row]), "--campaign", "c")
        out = tmp_path / "tasks.jsonl"
        run("export", "--campaign", "c", "--what", "label-studio", "--format", "jsonl",
            "--output", out)  # fmt: skip
        campaign_of("report-coverage", name="again")
        run("import_labels", out, "--campaign", "again")
        assert in_order(exported("again", "labels")) == in_order(exported("c", "labels"))


TYPED = {"valid": "Yes", "false_premise": "no", "information_seeking": "YES",
         "complexity": "Simple with condition"}  # fmt: skip


def result(control: str, value: str, **more: Any) -> Line:
    return {"from_name": control, "to_name": "text", "type": "choices",
            "value": {"choices": [value]}, **more}  # fmt: skip


def annotation(**more: Any) -> Line:
    found = [result(control, value) for control, value in TYPED.items()]
    return {"completed_by": 7, "result": found, **more}


def tasks(folder: Path, *annotations: Line, **more: Any) -> Path:
    file = folder / "tasks.json"
    task = {"id": 1, "data": {"text": "How old is it?"}, "annotations": list(annotations), **more}
    file.write_text(json.dumps([task], indent=1), "utf-8")
    return file


@pytest.fixture
def typed(db: None, tmp_path: Path) -> None:
    """Return a campaign over the text of a single task."""
    run("load_batch", tasks(tmp_path), "--name", "b")
    campaign_of("question-typing", "--option", f"variables={','.join(TYPED)}")


def said() -> dict[str, str]:
    return {line["variable"]: line["value"] for line in exported("c", "labels")}


def imported(file: Path, *more: str) -> str:
    return run("import_labels", file, "--campaign", "c", *more)


def refused(file: Path, *more: str) -> str:
    with pytest.raises(CommandError) as error:
        imported(file, *more)
    assert not Label.objects.exists()
    return str(error.value)


@pytest.mark.usefixtures("typed")
class TestForeignTasks:
    def test_choices_are_codes_or_their_words(self, tmp_path: Path) -> None:
        assert imported(tasks(tmp_path, annotation(lead_time=4))) == "Imported 4 labels from 7.\n"
        assert said() == {"valid": "yes", "false_premise": "no", "information_seeking": "yes",
                          "complexity": "simple-with-condition"}  # fmt: skip
        assert {line["seconds"] for line in exported("c", "labels")} == {4.0}

    def test_importing_a_file_again_changes_nothing(self, tmp_path: Path) -> None:
        file = tasks(tmp_path, annotation())
        imported(file)
        assert imported(file).startswith("Nothing to do for 4 labels")

    def test_a_prediction_becomes_a_judges_label(self, tmp_path: Path) -> None:
        found = [result("valid", "yes", score=0.75)]
        file = tasks(tmp_path, predictions=[{"model_version": "k-7", "result": found}])
        imported(file)
        (line,) = exported("c", "labels")
        assert (line["rater"], line["rater_kind"], line["score"]) == ("k-7", "judge", 0.75)

    def test_a_skipped_task_is_declined(self, tmp_path: Path) -> None:
        imported(tasks(tmp_path, annotation(result=[], was_cancelled=True)))
        missing = {line["variable"]: line["missing"] for line in exported("c", "labels")}
        assert missing == dict.fromkeys(
            ("valid", "false_premise", "information_seeking"), "declined"
        )

    @pytest.mark.parametrize(
        ("by", "name"), [(7, "7"), ({"id": 8, "email": "a@b.example"}, "8"), ("ada", "ada")]
    )
    def test_a_rater_is_named_by_number_or_address(
        self, by: Any, name: str, tmp_path: Path
    ) -> None:
        imported(tasks(tmp_path, annotation(completed_by=by)))
        assert {line["rater"] for line in exported("c", "labels")} == {name}

    def test_the_rater_option_names_an_unnamed_rater(self, tmp_path: Path) -> None:
        file = tasks(tmp_path, annotation(completed_by=None))
        assert '"rater"' in refused(file)
        imported(file, "--rater", "ada")
        assert {line["rater"] for line in exported("c", "labels")} == {"ada"}

    def test_a_second_answer_of_one_person_is_a_replicate(self, tmp_path: Path) -> None:
        imported(tasks(tmp_path, annotation(), annotation()))
        assert {line["replicate"] for line in exported("c", "labels")} == {0, 1}

    def test_other_results_are_counted_as_skipped(self, tmp_path: Path) -> None:
        more = {"from_name": "x", "to_name": "text", "type": "textarea", "value": {"text": ["hm"]}}
        span = {"from_name": "x", "to_name": "text", "type": "labels",
                "value": {"start": 0, "end": 3, "text": "How", "labels": ["x"]}}  # fmt: skip
        found = [result("valid", "yes"), more, span, {"type": "relation"}]
        report = imported(tasks(tmp_path, annotation(result=found)))
        assert "Skipped 1 results of type textarea." in report
        assert "Skipped 1 highlights that belong to no label." in report

    @pytest.mark.parametrize(
        ("change", "wrong"),
        [
            ({"result": [result("valid", "perhaps")]}, 'valid is "perhaps"'),
            ({"result": [result("mood", "yes")]}, "is not a unit of campaign 'c'"),
            ({"result": [result("valid", "yes"), result("mood", "yes")]}, 'variable "mood"'),
            (
                {"result": [result("valid", "") | {"value": {"choices": ["yes", "no"]}}]},
                "has 2 choices",
            ),
            ({"lead_time": -1}, "lead_time"),
            ({"created_at": "yesterday"}, "created_at"),
            ({"result": {}}, "not a list"),
            ({"tandem": {"rater_kind": "crowd"}}, 'rater_kind is "crowd"'),
            ({"tandem": {"missing": {"valid": "bored"}}}, 'missing is "bored"'),
        ],
    )
    def test_an_error_names_its_line(self, change: Line, wrong: str, tmp_path: Path) -> None:
        file = tasks(tmp_path, annotation(**change))
        message = refused(file)
        assert wrong in message
        assert message.startswith(f"{file}, line 2: ")

    def test_a_task_that_is_not_in_the_batch_is_refused(self, tmp_path: Path) -> None:
        assert 'task "2" is not a unit' in refused(tasks(tmp_path, annotation(), id=2))


@pytest.mark.django_db
def test_choices_and_labels_of_a_foreign_project_become_labels_and_spans(tmp_path: Path) -> None:
    """The file names no sub-question, but a batch of the same texts with one has its units."""
    query = {
        "id": "11",
        "text": "How old is the footbridge 🌉?",
        "questions": [{"id": "q", "text": "When did it open?"}],
        "reports": [{"id": "r", "text": "The footbridge 🌉 opened in 1901, so it is old."}],
    }
    run("load_batch", write_lines(tmp_path / "b.jsonl", [query]), "--name", "b")
    campaign_of("report-coverage")
    output = run("import_labels", FILES / "label_studio.json", "--campaign", "c")
    assert "Imported 1 labels from 7." in output
    found = {line["rater"]: line for line in exported("c", "labels")}
    assert found["7"]["value"] == "yes"
    assert found["7"]["spans"] == [
        {"field": "report", "start": 15, "end": 31, "text": "🌉 opened in 1901"}
    ]
    assert found["7"]["seconds"] == 12.5
    assert found["8"]["missing"] == "declined"
    assert (found["keyword-7"]["value"], found["keyword-7"]["rater_kind"]) == ("no", "judge")

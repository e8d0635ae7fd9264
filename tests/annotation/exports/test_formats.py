"""Exports follow the forms of W3C annotations, Label Studio tasks and TREC qrels."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError

from annotation.models import Campaign
from annotation.protocols import PROTOCOLS
from tests.annotation.label_files import labels_for
from tests.cast import Line, campaign_of, exported, run, write_lines

pytestmark = pytest.mark.usefixtures("batch")
WITH_EVIDENCE = [name for name, each in PROTOCOLS.items() if each.evidence]


def labelled(protocol: str, folder: Path, *options: str) -> list[Line]:
    """Campaign `c` of a protocol with labels of everybody; the labels."""
    campaign_of(protocol, *options)
    lines = labels_for(Campaign.objects.get(name="c"), exported("c", "units"))
    run("import_labels", write_lines(folder / "labels.jsonl", lines), "--campaign", "c")
    return lines


def document(what: str) -> Any:
    return json.loads(run("export", "--campaign", "c", "--what", what))


class TestWebAnnotations:
    def test_a_highlight_is_an_annotation_of_its_text(self, tmp_path: Path) -> None:
        campaign_of("report-coverage")
        span = {"field": "report", "start": 16, "end": 24, "text": "built it"}
        row = {
            "item": "r", "unit": "🌉", "kind": "question", "variable": "answerable", "value": "yes",
            "rater": "ann", "revision": 1, "created_at": "2026-03-01T10:00:00+02:00",
        }  # fmt: skip
        text = next(u for u in exported("c", "units") if u["item"] == "r")["texts"]["report"]
        start = text.index("built it")
        row["spans"] = [{**span, "start": start, "end": start + 8}]
        run("import_labels", write_lines(tmp_path / "l", [row]), "--campaign", "c")
        (found,) = exported("c", "web-annotations")
        assert uuid.UUID(found.pop("id").removeprefix("urn:uuid:"))
        assert found == {
            "@context": ["http://www.w3.org/ns/anno.jsonld", {"tandem": "urn:x-tandem:"}],
            "type": "Annotation",
            "motivation": "classifying",
            "created": "2026-03-01T08:00:00Z",
            "creator": {"id": "urn:x-tandem:rater:ann", "type": "Person", "nickname": "ann"},
            "body": {"type": "TextualBody", "purpose": "classifying", "value": "yes"},
            "target": {
                "type": "SpecificResource",
                "source": "urn:x-tandem:batch:b:report:r",
                "selector": [
                    {"type": "TextPositionSelector", "start": start, "end": start + 8},
                    {
                        "type": "TextQuoteSelector",
                        "exact": "built it",
                        "prefix": text[:start],
                        "suffix": text[start + 8 : start + 40],
                    },
                ],
            },
            "tandem:campaign": "c",
            "tandem:protocol": "report-coverage",
            "tandem:item": "r",
            "tandem:unit": "🌉",
            "tandem:kind": "question",
            "tandem:variable": "answerable",
            "tandem:replicate": 0,
            "tandem:revision": 1,
        }

    @pytest.mark.first_case
    @pytest.mark.postgresql
    @pytest.mark.parametrize("protocol", WITH_EVIDENCE)
    def test_every_span_has_an_annotation_with_a_unique_id(
        self, protocol: str, tmp_path: Path
    ) -> None:
        labelled(protocol, tmp_path)
        spans, found = exported("c", "spans"), exported("c", "web-annotations")
        assert len(found) == len(spans) > 0
        assert len({each["id"] for each in found}) == len(found)
        quoted = [each["target"]["selector"][-1]["exact"] for each in found]
        assert quoted == [span["text"] for span in spans]
        agents = {each["creator"]["nickname"]: each["creator"]["type"] for each in found}
        assert agents["jude"] == "Software"
        assert agents["ann"] == "Person"

    def test_annotation_ids_stay_the_same_from_export_to_export(self, tmp_path: Path) -> None:
        labelled("report-coverage", tmp_path)
        assert exported("c", "web-annotations") == exported("c", "web-annotations")

    def test_an_unfound_quote_has_no_location(self, tmp_path: Path) -> None:
        campaign_of("report-coverage")
        row: Line = {"item": "r", "unit": "🌉", "variable": "answerable", "value": "yes"}
        row |= {"rater": "ann", "spans": [{"text": "the moon is made of cheese, they say"}]}
        run("import_labels", write_lines(tmp_path / "l", [row]), "--campaign", "c")
        (found,) = exported("c", "web-annotations")
        quote = {"type": "TextQuoteSelector", "exact": "the moon is made of cheese, they say"}
        assert found["target"]["selector"] == [quote]

    def test_ids_with_special_characters_are_escaped_in_urns(self, tmp_path: Path) -> None:
        campaign_of("key-point-verification")
        row = {"item": "k#2", "unit": "k#2", "variable": "grounded", "value": "yes", "rater": "a:b"}
        run("import_labels", write_lines(tmp_path / "l", [{**row, "spans": [{"text": "river"}]}]),
            "--campaign", "c")  # fmt: skip
        (found,) = exported("c", "web-annotations")
        assert found["target"]["source"] == "urn:x-tandem:batch:b:passage:p%231"
        assert found["creator"]["id"] == "urn:x-tandem:rater:a%3Ab"

    def test_all_annotations_form_one_collection(self, tmp_path: Path) -> None:
        labelled("report-coverage", tmp_path)
        found, lines = document("web-annotations"), exported("c", "web-annotations")
        assert (found["type"], found["total"]) == ("AnnotationCollection", len(lines))
        assert found["first"]["type"] == "AnnotationPage"
        shared = lines[0]["@context"]
        assert found["@context"] == shared
        assert [{"@context": shared, **each} for each in found["first"]["items"]] == lines

    def test_a_campaign_without_spans_gives_an_empty_collection(self) -> None:
        campaign_of("report-coverage")
        found = document("web-annotations")
        assert (found["total"], found["first"]["items"]) == (0, [])


class TestLabelStudio:
    def test_a_unit_is_a_task_with_the_answers_of_all(self, tmp_path: Path) -> None:
        lines = labelled("report-coverage", tmp_path)
        tasks, units = document("label-studio"), exported("c", "units")
        assert [task["id"] for task in tasks] == list(range(1, len(units) + 1))
        for task, unit in zip(tasks, units, strict=True):
            keys = {name: unit[name] for name in ("item", "unit", "kind")}
            assert task["data"].items() >= (keys | unit["texts"]).items()
            own = [line for line in lines if keys.items() <= line.items()]
            judged = [line for line in own if line["rater_kind"] == "judge"]
            assert len(task["predictions"]) == len(judged)
            assert len(task["annotations"]) == len(own) - len(judged)

    def test_a_code_is_a_choice_and_a_span_a_label(self, tmp_path: Path) -> None:
        campaign_of("report-coverage")
        row = {
            "item": "r", "unit": "🌉", "variable": "answerable", "value": "yes", "rater": "ann",
            "seconds": 12.5, "spans": [{"text": "built it"}],
        }  # fmt: skip
        run("import_labels", write_lines(tmp_path / "l", [row]), "--campaign", "c")
        (span,) = exported("c", "spans")
        task = next(task for task in document("label-studio") if task["annotations"])
        (answer,) = task["annotations"]
        choice, label = answer["result"]
        assert task["data"]["asked"] == "Is it old?"
        assert (choice["from_name"], choice["to_name"]) == ("answerable", "report")
        assert (choice["type"], choice["value"]) == ("choices", {"choices": ["yes"]})
        assert (label["from_name"], label["type"]) == ("answerable-evidence", "labels")
        place = {"start": span["start"], "end": span["end"], "text": "built it"}
        assert label["value"] == {**place, "labels": ["answerable"]}
        assert choice["id"] != label["id"]
        assert (answer["lead_time"], answer["was_cancelled"]) == (12.5, False)
        assert answer["ground_truth"] is False

    def test_a_reference_is_ground_truth_and_a_judge_predicts(self, tmp_path: Path) -> None:
        labelled("report-coverage", tmp_path)
        task = document("label-studio")[1]
        truths = {a["tandem"]["rater"]: a["ground_truth"] for a in task["annotations"]}
        assert truths == {"=bo": False, "all of us": True, "ann": False}
        assert {a["model_version"] for a in task["predictions"]} == {"jude"}
        assert {a["score"] for a in task["predictions"]} == {1 / 8}

    def test_units_that_nobody_labelled_are_tasks_to_do(self) -> None:
        campaign_of("question-typing")
        tasks = document("label-studio")
        assert len(tasks) == 3
        assert all(task["annotations"] == task["predictions"] == [] for task in tasks)
        assert tasks[0]["data"]["asked"] == "How was the bridge built?"

    def test_a_campaign_without_items_gives_an_empty_list_of_tasks(self) -> None:
        campaign_of("report-coverage")
        Campaign.objects.get(name="c").items.all().delete()
        assert document("label-studio") == []


class TestQrels:
    RATINGS = (("🌉", "4"), ("a/b#1", "2"), (" blank ", "0"))

    @pytest.fixture
    def rated(self, tmp_path: Path) -> None:
        campaign_of("rubric-passage", "--option", "sampling=all")
        rows = [
            {"item": "q/1/p#1", "unit": unit, "variable": "rating", "value": value, "rater": "ann"}
            for unit, value in self.RATINGS
        ]
        run("import_labels", write_lines(tmp_path / "l", rows), "--campaign", "c")

    def test_the_diversity_form_has_a_line_for_each_subtopic(self, rated: None) -> None:
        lines = exported("c", "qrels-diversity")
        assert lines == exported("c", "qrels")
        found = {(line["subtopic"], str(line["grade"])) for line in lines}
        assert found == set(self.RATINGS)

    def test_the_graded_form_has_the_highest_grade_of_a_passage(self, rated: None) -> None:
        assert run("export", "--campaign", "c", "--what", "qrels-graded") == "q/1 0 p#1 4\n"

    def test_qrels_without_any_grade_are_refused_and_no_file_is_written(
        self, tmp_path: Path
    ) -> None:
        campaign_of("rubric-passage")
        for more in ((), ("--output", str(tmp_path / "qrels.txt"))):
            with pytest.raises(
                CommandError, match="people have not graded any passage of campaign 'c'"
            ):
                run("export", "--campaign", "c", "--what", "qrels", *more)
        assert not (tmp_path / "qrels.txt").exists()

    def test_a_campaign_without_subtopics_has_only_the_graded_form(self, tmp_path: Path) -> None:
        campaign_of("grounding-relevance")
        row = {"item": "q3", "unit": "q3/p3", "variable": "relevant", "value": "yes", "rater": "a"}
        run("import_labels", write_lines(tmp_path / "l", [row]), "--campaign", "c")
        assert run("export", "--campaign", "c", "--what", "qrels-graded") == "q3 0 p3 1\n"
        with pytest.raises(CommandError, match="grounding-relevance has no subtopics"):
            run("export", "--campaign", "c", "--what", "qrels-diversity")


@pytest.mark.parametrize(
    ("what", "form", "said"),
    [
        ("labels", "trec", "labels comes as jsonl, csv, parquet, xlsx; choose another --format."),
        ("label-studio", "csv", "label-studio comes as json, jsonl; choose another --format."),
        ("web-annotations", "parquet", "web-annotations comes as jsonld, jsonl; choose another"),
        ("dataset", "csv", "give --output FOLDER"),
    ],
)
def test_an_unavailable_format_is_refused(what: str, form: str, said: str) -> None:
    campaign_of("report-coverage")
    with pytest.raises(CommandError, match=said):
        run("export", "--campaign", "c", "--what", what, "--format", form)

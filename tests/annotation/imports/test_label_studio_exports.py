"""Label Studio's own exports, as people have them, are read through the command, page and API."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management.base import CommandError

from annotation.imports.importer import import_rows
from annotation.models import Campaign, Label, Rater
from datasets.models import Batch, Query
from tests.annotation.imports.test_label_studio_labels import result
from tests.api.cast import script_of
from tests.cast import Line, campaign_of, exported, run
from tests.page_cast import client_of, make_study

pytestmark = [pytest.mark.django_db, pytest.mark.every_case]

TEXT = "First paragraph.\n\nThe second one."
ANNOTATION: Line = {
    "id": 3, "completed_by": 7, "result": [result("valid", "yes")], "was_cancelled": False,
    "ground_truth": False, "created_at": "2024-05-10T11:31:03.293095Z",
    "updated_at": "2024-05-10T11:56:29.959859Z", "draft_created_at": None, "lead_time": 8.2,
    "prediction": {}, "result_count": 1, "unique_id": "07977e78-6857-420c-a495-61cbc509b92b",
    "import_id": None, "last_action": None, "bulk_created": False, "task": 5, "project": 3,
    "updated_by": 1, "parent_prediction": None, "parent_annotation": None,
    "last_created_by": None,
}  # fmt: skip
TASK: Line = {
    "id": 5, "data": {"question": "Who?", "text": TEXT}, "annotations": [ANNOTATION],
    "file_upload": "5f553810-tasks.json", "drafts": [], "predictions": [12, 13], "meta": {},
    "created_at": "2024-05-11T05:52:10.860735Z", "updated_at": "2024-05-11T05:54:02.451356Z",
    "allow_skip": True, "inner_id": 1, "total_annotations": 1, "cancelled_annotations": 0,
    "total_predictions": 2, "comment_count": 0, "unresolved_comment_count": 0,
    "last_comment_updated_at": None, "project": 3, "updated_by": 1, "comment_authors": [],
}  # fmt: skip
FLAT: Line = {
    "id": 5, "question": "Who?", "text": TEXT, "valid": "yes", "mood": "calm", "annotator": 7,
    "annotation_id": 3, "created_at": "2024-05-10T11:31:03.293095Z",
    "updated_at": "2024-05-10T11:56:29.959859Z", "lead_time": 8.2,
}  # fmt: skip


def file_of(folder: Path, *tasks: Line) -> Path:
    file = folder / "project.json"
    file.write_text(json.dumps(list(tasks)), "utf-8")
    return file


def annotated(*annotations: Any, **more: Any) -> Line:
    return {**TASK, "annotations": list(annotations), **more}


@pytest.fixture
def typing(tmp_path: Path) -> Campaign:
    """A campaign over the task's query, which asks whether it is valid."""
    run("load_batch", file_of(tmp_path, TASK), "--name", "b")
    campaign_of("question-typing", "--option", "variables=valid")
    return Campaign.objects.get(name="c")


def imported(folder: Path, *tasks: Line, more: tuple[str, ...] = ()) -> str:
    return run("import_labels", file_of(folder, *tasks), "--campaign", "c", *more)


def labels() -> list[Line]:
    return exported("c", "labels")


class TestTheDefaultExport:
    def test_bare_ids_do_not_refuse_a_batch_and_are_counted(self, tmp_path: Path) -> None:
        task = {"id": 5, "data": {"question": "Who?", "text": "A text."}, "annotations": [],
                "predictions": [12]}  # fmt: skip
        output = run("load_batch", file_of(tmp_path, task), "--name", "b")
        assert "1 predictions that are only an id in the file" in output
        assert Query.objects.get().text == "Who?"

    def test_every_key_that_it_writes_is_accepted_by_the_batch(self, typing: Campaign) -> None:
        assert Batch.objects.get().skipped == {
            "annotations, which tandem labels import reads": 1,
            "predictions that are only an id in the file": 2,
        }
        assert Query.objects.get().meta is None

    def test_every_key_that_it_writes_is_accepted_by_the_import(
        self, typing: Campaign, tmp_path: Path
    ) -> None:
        drafts = [{"id": 1, "result": [result("valid", "no")], "user": "x@y.z"}]
        output = imported(tmp_path, annotated(ANNOTATION, 4, "5", drafts=drafts))
        assert output.splitlines() == [
            "Imported 1 labels from 7.",
            "Skipped 2 annotations that are only an id in the file.",
            "Skipped 2 predictions that are only an id in the file.",
            "Skipped 1 drafts, which nobody submitted.",
        ]
        assert [line["value"] for line in labels()] == ["yes"]

    def test_former_completions_are_read(self, typing: Campaign, tmp_path: Path) -> None:
        task = {"id": 5, "data": TASK["data"], "completions": [ANNOTATION]}
        assert imported(tmp_path, task) == "Imported 1 labels from 7.\n"

    @pytest.mark.parametrize("meta", [None, [], "a note", {"wave": 2}])
    def test_meta_of_any_kind_is_accepted(self, tmp_path: Path, meta: Any) -> None:
        run("load_batch", file_of(tmp_path, {**TASK, "meta": meta}), "--name", "b")
        expected = meta if isinstance(meta, dict) else {"meta": meta} if meta else None
        assert Query.objects.get().meta == expected

    def test_an_empty_result_is_counted(self, typing: Campaign, tmp_path: Path) -> None:
        empty = {**ANNOTATION, "result": [], "completed_by": 8}
        output = imported(tmp_path, annotated(ANNOTATION, empty))
        assert "Skipped 1 annotations with an empty result" in output
        assert {line["rater"] for line in labels()} == {"7"}

    def test_labels_of_a_skipped_task_do_not_count(self, typing: Campaign, tmp_path: Path) -> None:
        output = imported(tmp_path, annotated({**ANNOTATION, "was_cancelled": True}))
        assert "Skipped 1 labels in annotations of skipped tasks (was_cancelled)" in output
        (line,) = labels()
        assert (line["missing"], line.get("value")) == ("declined", None)

    def test_relations_are_counted(self, typing: Campaign, tmp_path: Path) -> None:
        relation = {"type": "relation", "from_id": "a", "to_id": "b", "direction": "right"}
        found = [*ANNOTATION["result"], relation]
        output = imported(tmp_path, annotated({**ANNOTATION, "result": found}))
        assert "Skipped 1 results of type relation." in output


class TestAddresses:
    @pytest.mark.parametrize(
        "by",
        ["x@y.z", "X@Y.z", " x@y.z 3, 7", {"email": "x@y.z", "first_name": ""},
         {"id": None, "email": "x@y.z"}, {"username": "x@y.z"}],
    )  # fmt: skip
    def test_no_address_becomes_the_name_of_a_rater(
        self, typing: Campaign, tmp_path: Path, by: Any
    ) -> None:
        output = imported(tmp_path, annotated({**ANNOTATION, "completed_by": by}))
        everything = output + "".join(json.dumps(line) for line in labels())
        for what in ("labels", "responses", "label-studio"):
            everything += run("export", "--campaign", "c", "--what", what)
        assert "@" not in everything
        assert "y.z" not in everything.lower()
        (line,) = labels()
        assert line["rater"].startswith("person-")
        assert line["rater_kind"] == "human"

    def test_a_person_has_one_pseudonym_in_all_files_of_a_campaign(
        self, typing: Campaign, tmp_path: Path
    ) -> None:
        people = [{**ANNOTATION, "completed_by": by} for by in ("x@y.z", "a@y.z")]
        imported(tmp_path, annotated(*people))
        first = {line["rater"] for line in labels()}
        assert len(first) == 2
        again = annotated({**ANNOTATION, "completed_by": {"email": "X@y.z"}})
        assert "Nothing to do for 1 labels" in imported(tmp_path, again)
        campaign_of("question-typing", "--option", "variables=valid", name="d")
        run("import_labels", file_of(tmp_path, again), "--campaign", "d")
        assert not first & {line["rater"] for line in exported("d", "labels")}

    def test_an_id_stays_as_it_is(self, typing: Campaign, tmp_path: Path) -> None:
        by = {"id": 9, "email": "x@y.z", "username": "x"}
        imported(tmp_path, annotated({**ANNOTATION, "completed_by": by}))
        assert {line["rater"] for line in labels()} == {"9"}

    def test_a_rater_from_an_earlier_version_is_not_counted_twice(
        self, typing: Campaign, tmp_path: Path
    ) -> None:
        item = typing.items.get().key
        row = {"item": item, "unit": "5", "variable": "valid", "value": "yes", "rater": "x@y.z"}
        import_rows([row], typing)
        output = imported(tmp_path, annotated({**ANNOTATION, "completed_by": "x@y.z"}))
        assert "from an earlier import under this address" in output
        assert [rater.name for rater in Rater.objects.all()] == ["x@y.z"]


class TestMinimalExport:
    def test_a_task_of_several_annotations_is_one_query(self, tmp_path: Path) -> None:
        file = file_of(tmp_path, FLAT, {**FLAT, "annotator": 8, "annotation_id": 4})
        run("load_batch", file, "--name", "b")
        query = Query.objects.get()
        assert (query.key, query.text, query.meta) == ("5", "Who?", None)
        assert Batch.objects.get().skipped == {
            "annotations, which tandem labels import reads": 2,
            "keys of JSON_MIN that may be answers, not data": 2,
        }

    def test_two_texts_under_one_id_are_refused(self, tmp_path: Path) -> None:
        file = file_of(tmp_path, FLAT, {**FLAT, "question": "When?"})
        with pytest.raises(CommandError, match='"5"'):
            run("load_batch", file, "--name", "b")

    def test_a_text_that_could_be_an_answer_is_refused(self, tmp_path: Path) -> None:
        flat = {k: v for k, v in FLAT.items() if k not in ("question", "text")}
        with pytest.raises(CommandError, match="JSON_MIN does not say"):
            run("load_batch", file_of(tmp_path, {**flat, "review": "Good."}), "--name", "b")

    def test_its_keys_with_the_names_of_variables_are_labels(
        self, typing: Campaign, tmp_path: Path
    ) -> None:
        others = [{**FLAT, "annotator": "x@y.z", "valid": {"choices": ["no"]}},
                  {**FLAT, "valid": ["no"]}]  # fmt: skip
        imported(tmp_path, FLAT, *others)
        found = [(line["rater"], line["replicate"], line["value"]) for line in labels()]
        assert sorted(found)[:2] == [("7", 0, "yes"), ("7", 1, "no")]
        assert sorted(found)[2][0].startswith("person-")
        assert {line["seconds"] for line in labels()} == {8.2}


class TestMedia:
    @pytest.mark.parametrize(
        "data",
        [
            {"image": "/data/upload/6/5f553810-label.png"},
            {"image": "/data/local-files/?d=folder/a%20b.png"},
            {"image": "s3://bucket/1"}, {"image": "gs://bucket/1.jpg"}, {"img": "abc123"},
            {"image": "data:image/png;base64,iVBORw0KGgo="}, {"pic": "photos/1.jpg"},
            {"audio": "https://example.org/a.wav?sig=1"}, {"video": "v.mp4"},
            {"pdf": "https://example.org/doc"}, {"images": ["/data/1.png", "/data/2.png"]},
            {"text": "/data/upload/6/5f553810-text.txt"}, {"text": "https://example.org/page"},
            {"text": "/storage-data/uploaded/?filepath=upload/3/a.txt"},
            {"question": "What is it?", "answer": "https://example.org/a.wav"},
            {"question": "What is it?", "context": ["/data/upload/1.png"]},
            {"question": "/data/upload/1.png", "text": "A text."},
            {"text": '<img src="https://example.org/1.jpg">'},
            {"html": '<div><audio controls src="/data/a.mp3"></audio></div>'},
            {"image": "/data/1.png", "context": "A passage."},
        ],
    )  # fmt: skip
    def test_an_address_is_no_text(self, tmp_path: Path, data: Line) -> None:
        file = file_of(tmp_path, {**TASK, "data": data})
        with pytest.raises(CommandError, match="is the address of an image, a recording or a"):
            run("load_batch", file, "--name", "b")
        assert not Batch.objects.exists()

    @pytest.mark.parametrize("kind", ["rectanglelabels", "brushlabels", "keypoint", "timeseries"])
    def test_a_task_with_marks_on_an_image_is_no_text(self, tmp_path: Path, kind: str) -> None:
        marks = {"from_name": "tag", "to_name": "img", "type": kind, "value": {"x": 1}}
        task = annotated({**ANNOTATION, "result": [marks]}, data={"scan": "abc 123"})
        with pytest.raises(CommandError, match=f"results of type {kind}"):
            run("load_batch", file_of(tmp_path, task), "--name", "b")

    def test_an_image_beside_a_text_is_a_warning(self, tmp_path: Path) -> None:
        data = {"question": "What is it?", "image": "/data/upload/1.png", "url": "https://x.org/a"}
        output = run("load_batch", file_of(tmp_path, {**TASK, "data": data}), "--name", "b")
        assert "1 tasks have the address of an image, a recording or a file" in output
        assert '"image"' in output
        assert '"url"' not in output

    @pytest.mark.parametrize(
        "data",
        [{"query": "https://example.org"}, {"text": "See https://example.org/1.jpg for more."},
         {"text": "It ends in .png"}, {"text": 'A <img src="x.png"> in a text'},
         {"review": "Good.", "url": "https://example.org/1"}],
    )  # fmt: skip
    def test_a_text_that_contains_an_address_is_a_text(self, tmp_path: Path, data: Line) -> None:
        run("load_batch", file_of(tmp_path, {**TASK, "data": data}), "--name", "b")
        assert Query.objects.get().text == next(iter(data.values()))

    def test_labels_of_images_are_refused_with_that_reason(
        self, typing: Campaign, tmp_path: Path
    ) -> None:
        with pytest.raises(CommandError, match='"image" of its data is the address of an image'):
            imported(tmp_path, {**TASK, "id": 6, "data": {"image": "/data/1.png"}})


@pytest.fixture
def coverage(tmp_path: Path) -> Campaign:
    """A campaign with a sub-question about the text of task 5."""
    query = {"id": "5", "text": "Who?", "questions": [{"id": "q", "text": "Who came?"}],
             "reports": [{"id": "r", "text": TEXT}]}  # fmt: skip
    file = tmp_path / "b.jsonl"
    file.write_text(json.dumps(query), "utf-8")
    run("load_batch", file, "--name", "b")
    campaign_of("report-coverage")
    return Campaign.objects.get(name="c")


class TestHighlights:
    @pytest.mark.parametrize(
        "value",
        [
            {"start": 6, "end": 28, "text": "paragraph.\\n\\nThe second"},
            {"start": 6, "end": 28, "text": "paragraph.\n\nThe second"},
            {"start": 6, "end": 28, "text": "paragraph. The second"},
            {"start": "/p[1]/text()[1]", "end": "/p[2]/text()[1]", "startOffset": 6,
             "endOffset": 10, "globalOffsets": {"start": 6, "end": 28},
             "text": "paragraph.\\n\\nThe second"},
            {"start": "/p[1]/text()[1]", "end": "/p[2]/text()[1]", "startOffset": 6,
             "endOffset": 10, "globalOffsets": {"start": 9, "end": 31},
             "text": "paragraph.\\n\\nThe second"},
        ],
    )  # fmt: skip
    def test_a_highlight_over_a_paragraph_break_keeps_its_place(
        self, coverage: Campaign, tmp_path: Path, value: Line
    ) -> None:
        region = {"from_name": "answerable-evidence", "to_name": "text", "type": "labels",
                  "value": {**value, "labels": ["answerable"]}}  # fmt: skip
        found = [result("answerable", "yes"), region]
        output = imported(tmp_path, annotated({**ANNOTATION, "result": found}, predictions=[]))
        assert output == "Imported 1 labels from 7.\n"
        (line,) = labels()
        assert line["spans"] == [{"field": "report", "start": 6, "end": 28, "text": TEXT[6:28]}]

    def test_a_backslash_of_the_text_itself_stays(self, coverage: Campaign, tmp_path: Path) -> None:
        data = {"text": r"where \nu is the rate"}
        region = {
            "from_name": "m",
            "to_name": "text",
            "type": "labels",
            "value": {"start": 6, "end": 9, "text": r"\nu", "labels": ["answerable"]},
        }
        found = [result("answerable", "yes"), region]
        imported(tmp_path, annotated({**ANNOTATION, "result": found}, data=data))
        assert labels()[0]["spans"][0]["text"] == r"\nu"


class TestUnaskedControls:
    MOODY = annotated(
        {**ANNOTATION, "result": [result("valid", "yes"), result("mood", "calm"),
                                  result("tags", "") | {"value": {"choices": ["a", "b"]}}]},
        predictions=[],
    )  # fmt: skip
    ONLY = annotated({**ANNOTATION, "result": [result("mood", "calm")]}, predictions=[])
    LEFT = {
        'labels of "mood", which the campaign does not ask': 1,
        'labels of "tags", which the campaign does not ask': 1,
    }

    def test_the_error_names_the_option(self, typing: Campaign, tmp_path: Path) -> None:
        for task in (self.MOODY, self.ONLY):
            with pytest.raises(CommandError, match="give --ignore-unasked"):
                imported(tmp_path, task)
        assert not Label.objects.exists()

    def test_the_command_leaves_them_out_and_counts_them(
        self, typing: Campaign, tmp_path: Path
    ) -> None:
        output = imported(tmp_path, self.MOODY, more=("--ignore-unasked",))
        assert output.splitlines()[0] == "Imported 1 labels from 7."
        for what, count in self.LEFT.items():
            assert f"Skipped {count} {what}." in output
        assert [line["variable"] for line in labels()] == ["valid"]

    def test_nothing_is_imported_if_nothing_is_asked(
        self, typing: Campaign, tmp_path: Path
    ) -> None:
        output = imported(tmp_path, self.ONLY, more=("--ignore-unasked",))
        assert output == 'Skipped 1 labels of "mood", which the campaign does not ask.\n'

    def test_labels_files_and_responses_too(self, typing: Campaign, tmp_path: Path) -> None:
        row = {"item": typing.items.get().key, "unit": "5", "rater": "ada"}
        given = [{**row, "variable": "valid", "value": "yes"},
                 {**row, "variable": "moood", "value": "calm"}]  # fmt: skip
        file = tmp_path / "l.jsonl"
        file.write_text("".join(json.dumps(each) + "\n" for each in given), "utf-8")
        output = run("import_labels", file, "--campaign", "c", "--ignore-unasked")
        assert 'Skipped 1 labels of "moood"' in output
        file.write_text(json.dumps({"item": row["item"], "rater": "bo", "units": {
            "5": {"valid": "no", "mood": "calm"}}}), "utf-8")  # fmt: skip
        output = run("import_labels", file, "--campaign", "c", "--ignore-unasked")
        assert "Imported 1 labels from bo." in output

    def test_a_misspelt_variable_is_named(self, typing: Campaign, tmp_path: Path) -> None:
        task = annotated({**ANNOTATION, "result": [*ANNOTATION["result"], result("Valld", "no")]})
        with pytest.raises(CommandError, match="did you mean 'valid'"):
            imported(tmp_path, task)


class TestThePageAndTheAPI:
    def send(self, **more: Any) -> str:
        study = make_study()
        key = study.campaign.items.order_by("position")[0].key
        data = {"item": key, "unit": "q:0", "kind": "question", "text": "x"}
        found = [result("answerable", "no"), result("mood", "calm")]
        task = annotated({**ANNOTATION, "completed_by": "x@y.z", "result": found}, data=data)
        if more.pop("by", "") == "page":
            file = SimpleUploadedFile("p.json", json.dumps([task]).encode())
            address = f"/campaigns/{study.campaign.pk}/import/"
            sent = client_of(study.rita).post(address, {"file": file, **more}, follow=True)
        else:
            body = {"labels": [task], "format": "label-studio", **more}
            script = script_of(study.rita, "manage")
            sent = script.post(f"campaigns/{study.campaign.pk}/imports/", body)
        return sent.content.decode()

    @pytest.mark.parametrize("by", ["page", "api"])
    def test_both_leave_out_what_is_not_asked_on_request(self, by: str) -> None:
        said = self.send(by=by, ignore_unasked=True)
        assert "which the campaign does not ask" in said
        assert "only an id in the file" in said
        assert "x@y.z" not in said
        assert Label.objects.count() == 1

    @pytest.mark.parametrize(
        ("by", "name"), [("page", "“Leave out what the campaign does not ask”"),
                         ("api", "give ignore_unasked")],
    )  # fmt: skip
    def test_both_name_the_option_in_their_own_words(self, by: str, name: str) -> None:
        said = self.send(by=by)
        assert name in said
        assert not Label.objects.exists()

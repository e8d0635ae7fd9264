"""The life of an upload: received, inspected, kept or discarded, and never half of it."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from django.core.management.base import CommandError
from django.db import IntegrityError

from annotation.models import User
from datasets.models import Batch, Query, Upload
from datasets.uploads import quarantine, receiving, worker
from datasets.uploads.receiving import TakenNameError, receive
from tandem.files.rows import InputError
from tests.cast import BATCH, FIRST, SECOND, load, run, write_lines
from tests.datasets.helpers import DATA, needs_data
from tests.datasets.upload_cast import as_file, changed, read, received, sent, work, worked
from tests.page_cast import _user

pytestmark = pytest.mark.django_db
State = Upload.State


@pytest.fixture
def rita() -> User:
    return _user("rita", "researcher")


@pytest.fixture(autouse=True)
def _own_quarantine(own_quarantine: Path) -> None:
    """Use a quarantine without files from other tests."""


def lies(upload: Upload) -> bool:
    """Whether files of the upload are left in the quarantine."""
    return quarantine.folder(upload.key).exists()


def kept(upload: Upload, name: str = "") -> Upload:
    receiving.keep(upload, upload.digest, name)
    return worked(upload)


def refused_by_command(folder: Path, content: bytes, name: str = "study.jsonl") -> str:
    path = folder / name
    path.write_bytes(content)
    with pytest.raises(CommandError) as error:
        run("load_batch", path, "--name", "study")
    return str(error.value).replace(str(path), name)


class TestInspection:
    def test_the_preview_reports_what_loading_would_and_stores_no_batch(
        self, rita: User, tmp_path: Path
    ) -> None:
        upload = read(rita)
        assert (upload.state, upload.name, upload.found["format"]) == ("ready", "study", "native")
        assert not Batch.objects.exists()
        load(tmp_path)
        batch = Batch.objects.get()
        assert {k: v for k, v in upload.found["counts"].items() if v} == {
            k: v for k, v in batch.counts.items() if v
        }
        assert upload.digest == batch.digest
        assert [line["id"] for line in upload.found["first"]] == ["q/1", "q 2", "q3"]

    def test_texts_and_lists_of_the_first_queries_are_cut(self, rita: User) -> None:
        questions = [{"id": f"x{n}", "text": "é" * 1000} for n in range(5)]
        (first,) = read(rita, as_file([changed(SECOND, questions=questions)])).found["first"]
        assert [len(each["text"]) for each in first["questions"]] == [401] * 3
        assert first["more"] == {"questions": 2}

    def test_warnings_name_the_file_as_it_was_sent(self, rita: User, tmp_path: Path) -> None:
        lines = [changed(FIRST, id="Q"), changed(SECOND, id="q")]
        upload = read(rita, as_file(lines))
        run("load_batch", write_lines(tmp_path / "study.jsonl", lines), "--name", "by command")
        said = [
            warning.replace(f"{tmp_path}/", "")
            for warning in Batch.objects.get(name="by command").warnings
        ]
        assert upload.found["warnings"] == said
        assert upload.found["warning_count"] == len(said) > 0
        assert "study.jsonl, line 2" in said[0]
        kept(upload)
        assert Batch.objects.get(name="study").warnings == said

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        "content",
        [
            b"",
            b"\n\n",
            b'{"id": "a"\n',
            b'{"id": "a", "text": "\xff"}\n',
            b'\xff\xfe{\x00"\x00',
            b"<html>",
            as_file([FIRST, FIRST]),
            as_file([changed(FIRST, titel="x")]),
            as_file([changed(FIRST, passages=[]), changed(FIRST, id="other")]),
        ],
    )
    def test_errors_have_the_same_message_as_the_command(
        self, rita: User, tmp_path: Path, content: bytes
    ) -> None:
        said = refused_by_command(tmp_path, content)
        upload = read(rita, content)
        assert (upload.state, upload.error) == ("refused", said)
        assert not lies(upload)
        assert not Query.objects.exists()

    def test_a_run_file_is_recognised_by_its_lines(self, rita: User) -> None:
        upload = sent(rita, b"\nq1 Q0 d1 1 0.5 tag\n", b"[\n", b'{\n "a": 1}', b'{"id": "x"}\n')
        assert [Path(each["stored"]).suffix for each in upload.files] == [
            ".run", ".json", ".json", ".jsonl",
        ]  # fmt: skip

    @needs_data
    def test_crux_files_form_one_batch_together(self, rita: User, tmp_path: Path) -> None:
        folder = next(path.parent for path in DATA.rglob("oracle.jsonl"))
        files = [*sorted(folder.glob("*.run"))[:2], folder / "oracle.jsonl"]
        upload = read(rita, *[path.read_bytes() for path in files])
        assert upload.found["format"] == "crux", upload.error
        run("load_batch", *files, "--name", "by command")
        assert Batch.objects.get().digest == upload.digest

    @pytest.mark.parametrize("error", [MemoryError, worker.SpentError])
    def test_an_upload_that_needs_too_much_time_or_memory_is_refused(
        self, rita: User, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
    ) -> None:
        def spent(*_: object) -> None:
            raise error

        monkeypatch.setattr("datasets.uploads.worker.inspect", spent)
        # Closing the connection would end the transaction of the test.
        monkeypatch.setattr("datasets.uploads.worker.connection.close", lambda: None)
        upload = read(rita)
        assert upload.state == "refused"
        assert "more memory or time" in upload.error


class TestReceiving:
    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("content", "said"),
        [
            (b"PK\x03\x04...", "study.jsonl: is packed (zip"),
            (b"\x1f\x8b\x08", "study.jsonl: is packed (gzip); unpack it"),
            (b"%PDF-1.7", "study.jsonl: is a PDF"),
            (b"PAR1", "study.jsonl: is Parquet"),
        ],
    )
    def test_a_file_that_is_not_text_is_refused_by_its_content(
        self, rita: User, content: bytes, said: str
    ) -> None:
        with pytest.raises(InputError) as error:
            sent(rita, content)
        assert str(error.value).startswith(said)
        assert not Upload.objects.exists()
        assert not [p for p in quarantine.root().iterdir() if p.name != quarantine.INCOMING]

    @pytest.mark.parametrize("form", ["array", "parquet"])
    def test_a_batch_may_be_a_json_array_or_parquet(self, rita: User, form: str) -> None:
        lines = [{"id": "a", "text": "x"}, {"id": "b", "text": "y"}]
        content = json.dumps(lines).encode()
        if form == "parquet":
            content = pd.DataFrame(lines).to_parquet()
        upload, plain = read(rita, content), read(rita, as_file(lines))
        assert upload.state == Upload.State.READY
        assert upload.digest == plain.digest
        assert upload.found["counts"]["queries"] == 2

    def test_a_file_name_cannot_escape_the_quarantine(self, rita: User) -> None:
        upload = receive(rita, [received(name="../../\u202eevil\n.jsonl")], "", "")
        assert upload.files[0]["stored"] == "0.jsonl"
        assert upload.files[0]["name"] == "evil.jsonl"
        assert upload.name == "evil"
        assert quarantine.paths(upload)[0].parent == quarantine.folder(upload.key)

    @pytest.mark.parametrize(
        ("name", "format", "said"),
        [("x" * 201, "", "longer than 200"), ("x", "pdf", 'there is no format "pdf"')],
    )
    def test_an_invalid_field_is_refused(
        self, rita: User, name: str, format: str, said: str
    ) -> None:
        with pytest.raises(InputError, match=said):
            sent(rita, name=name, format=format)
        assert not Upload.objects.exists()


class TestKeeping:
    def test_keeping_creates_the_same_batch_as_the_command(
        self, rita: User, tmp_path: Path
    ) -> None:
        upload = kept(read(rita), "pilot")
        assert upload.state == "kept"
        assert upload.batch is not None
        assert upload.batch.name == "pilot"
        assert not lies(upload)
        load(tmp_path)
        assert upload.batch.counts == Batch.objects.get(name="b").counts
        assert "Nothing to do" in run("load_batch", tmp_path / "b.jsonl", "--name", "pilot")

    def test_keeping_twice_creates_one_batch(self, rita: User) -> None:
        upload = kept(read(rita))
        receiving.keep(upload, upload.digest, "another")
        assert worked(upload).state == "kept"
        assert Batch.objects.get().name == "study"

    def test_files_that_changed_since_the_preview_are_not_loaded(self, rita: User) -> None:
        upload = read(rita)
        quarantine.paths(upload)[0].write_bytes(as_file(BATCH[:1]))
        kept(upload)
        assert upload.state == "ready"
        assert upload.error.startswith("study.jsonl: differs from its preview")
        assert not Batch.objects.exists()

    def test_keeping_two_uploads_of_the_same_content_creates_one_batch(self, rita: User) -> None:
        first, second = read(rita), read(rita)
        kept(first)
        kept(second)
        assert second.state == "kept"
        assert second.found["unchanged"] is True
        assert second.batch == first.batch == Batch.objects.get()

    def test_a_taken_name_can_be_changed_before_keeping(self, rita: User) -> None:
        kept(read(rita))
        other = read(rita, as_file([SECOND]))
        with pytest.raises(TakenNameError, match="a batch called 'study' has other content"):
            receiving.keep(other, other.digest, "")
        kept(other, "second")
        assert Batch.objects.get(name="second") == other.batch

    def test_of_two_uploads_kept_under_one_name_the_second_is_refused(self, rita: User) -> None:
        """Both were ordered to be kept before either was loaded."""
        first, second = read(rita), read(rita, as_file([SECOND]))
        for upload in (first, second):
            receiving.keep(upload, upload.digest, "one")
        assert worked(first).state == "kept"
        assert worked(second).state == "ready"
        assert "a batch called 'one' has other content" in second.error
        assert Batch.objects.get().counts["queries"] == 3
        assert kept(second, "two").state == "kept"

    def test_loading_is_retried_if_the_name_was_taken_concurrently(
        self, rita: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        calls = []

        def late(*arguments: Any) -> object:
            calls.append(arguments)
            if len(calls) == 1:
                raise IntegrityError
            return load_batch(*arguments)

        load_batch = worker.load_batch
        monkeypatch.setattr(worker, "load_batch", late)
        assert kept(read(rita)).state == "kept"
        assert len(calls) == 2

    def test_a_process_that_lost_the_turn_loads_nothing(
        self, rita: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        upload = read(rita)

        def taken_over(*arguments: Any) -> object:
            Upload.objects.update(turn=uuid.uuid4())
            return load_batch(*arguments)

        load_batch = worker.load_batch
        monkeypatch.setattr(worker, "load_batch", taken_over)
        receiving.keep(upload, upload.digest, "")
        work(upload.key)
        assert not Batch.objects.exists()


class TestDeciding:
    def test_discarding_during_inspection_ends_it_without_an_error(
        self, rita: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        upload = sent(rita)

        def discarded(*arguments: Any) -> object:
            receiving.discard(Upload.objects.get())
            return inspect(*arguments)

        inspect = worker.inspect
        monkeypatch.setattr(worker, "inspect", discarded)
        assert worked(upload).state == "discarded"
        assert not lies(upload)

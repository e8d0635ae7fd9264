"""The rules of uploads at their limits: age, number and state, and what is stored.

The clock is stopped here, so that an age of exactly an hour can be tested.
"""

from __future__ import annotations

import errno
import os
import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone
from pytest_django.fixtures import Settings

from annotation.models import User
from audit.models import Event
from datasets.models import Batch, Upload
from datasets.uploads import quarantine, receiving, worker
from datasets.uploads.quarantine import suffix_of
from datasets.uploads.receiving import (
    StaleError,
    TooOftenError,
    batches_with_same_content,
    check_rate,
    upload_context,
)
from datasets.uploads.worker import PROCESS_ENDED, inspect
from datasets.work import wake
from tandem.files.rows import InputError
from tests.cast import FIRST, SECOND, THIRD, write_lines
from tests.datasets.upload_cast import as_file, changed, posted, received, sent, work, worked
from tests.page_cast import _user, client_of

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
TURN = uuid.UUID(int=7)
DIGEST = "d" * 64
State = Upload.State
database = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _own_quarantine(
    own_quarantine: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.TANDEM_WITH_WORKERS = False
    monkeypatch.setattr(timezone, "now", lambda: NOW)


@pytest.fixture
def rita(db: None) -> User:
    return _user("rita", "researcher")


@pytest.fixture
def rung(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The uploads for which a process was started, as text."""
    calls: list[str] = []
    monkeypatch.setattr(wake, "wake", lambda task, key: calls.append(f"start {key}"))
    monkeypatch.setattr(wake, "start_here", lambda: calls.append("here"))
    return calls


def upload_of(
    user: User, state: str = State.READY, seconds_ago: float = 0, **values: Any
) -> Upload:
    """An upload changed `seconds_ago`, with one file in the quarantine."""
    made = Upload.objects.create(
        user=user, state=state,
        **{"name": "study", "digest": DIGEST, "found": {"format": "native"},
           "files": [{"name": "a.jsonl", "bytes": 3, "stored": "0.jsonl"}], **values},
    )  # fmt: skip
    changed_at = NOW - timedelta(seconds=seconds_ago)
    Upload.objects.filter(pk=made.pk).update(changed_at=changed_at, created_at=changed_at)
    quarantine.folder(made.key).mkdir(parents=True)
    (quarantine.folder(made.key) / "0.jsonl").write_bytes(as_file())
    made.refresh_from_db()
    return made


def now_of(upload: Upload) -> Upload:
    return Upload.objects.get(pk=upload.pk)


def lies(upload: Upload) -> bool:
    return quarantine.folder(upload.key).exists()


def events() -> list[tuple[str, str, str]]:
    rows = Event.objects.order_by("pk").values_list("event", "object_kind", "object_id")
    return [tuple(map(str, row)) for row in rows]  # type: ignore[misc]


class TestDecisions:
    @pytest.mark.every_case
    @pytest.mark.parametrize("state", list(State))
    def test_only_an_upload_that_is_ready_can_be_kept(
        self, rita: User, rung: list[str], state: str
    ) -> None:
        upload = upload_of(rita, state)
        if state in (State.READY, State.KEEPING, State.KEPT):
            receiving.keep(upload, DIGEST, "")
        else:
            with pytest.raises(StaleError, match=receiving.STATUS_REASONS[State(state)]):
                receiving.keep(upload, DIGEST, "")
        ordered = state == State.READY
        assert now_of(upload).state == (State.KEEPING if ordered else state)
        assert [name for name, *_ in events()] == (["upload.kept"] if ordered else [])

    @pytest.mark.every_case
    @pytest.mark.parametrize("state", [State.READY, State.KEEPING, State.KEPT])
    def test_keeping_with_a_stale_digest_is_refused(self, rita: User, state: str) -> None:
        upload = upload_of(rita, state)
        with pytest.raises(StaleError):
            receiving.keep(upload, "0" * 64, "")
        assert now_of(upload).state == state

    @database
    def test_keeping_without_a_digest_is_refused_even_if_the_upload_has_none(
        self, rita: User
    ) -> None:
        upload = upload_of(rita, digest="")
        with pytest.raises(StaleError):
            receiving.keep(upload, "", "")

    def test_keeping_clears_an_earlier_error_and_starts_processing(
        self, rita: User, rung: list[str], django_capture_on_commit_callbacks: Callable[..., Any]
    ) -> None:
        upload = upload_of(rita, error="it died", turn=TURN, seconds_ago=50)
        quarantine.note_progress(upload.key, 5, 9)
        with django_capture_on_commit_callbacks(execute=True):
            receiving.keep(upload, DIGEST, "  pilot ")
        found = now_of(upload)
        assert (found.state, found.name, found.error) == (State.KEEPING, "pilot", "")
        assert (found.turn, found.changed_at) == (None, NOW)
        assert (upload.state, upload.name) == (State.KEEPING, "pilot")
        assert quarantine.progress(upload.key) is None
        assert rung == [f"start {upload.key}"]
        assert events() == [("upload.kept", "upload", str(upload.pk))]
        assert Event.objects.get().after != ""

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("name", "kept"), [("", "study"), ("  ", "study"), ("x" * 200, "x" * 200), ("x" * 201, "")]
    )
    def test_a_name_has_the_same_limit_as_a_batchs_name(
        self, rita: User, rung: list[str], name: str, kept: str
    ) -> None:
        upload = upload_of(rita)
        if kept:
            receiving.keep(upload, DIGEST, name)
        else:
            with pytest.raises(InputError, match="blank or longer than 200"):
                receiving.keep(upload, DIGEST, name)
        assert now_of(upload).name == (kept or "study")

    def test_a_taken_name_is_accepted_for_the_same_content(
        self, rita: User, rung: list[str]
    ) -> None:
        Batch.objects.create(name="there", format="native", digest=DIGEST)
        upload = upload_of(rita)
        receiving.keep(upload, DIGEST, "there")
        assert upload.state == State.KEEPING

    def test_of_two_concurrent_decisions_the_second_is_refused_with_the_new_state(
        self, rita: User, rung: list[str]
    ) -> None:
        for act in (
            lambda seen: receiving.keep(seen, DIGEST, ""),
            lambda seen: receiving.restart_reading(seen, "native"),
        ):
            seen = upload_of(rita)
            Upload.objects.filter(pk=seen.pk).update(state=State.DISCARDED)
            with pytest.raises(StaleError, match="it was discarded; upload the files again"):
                act(seen)
            assert seen.state == now_of(seen).state == State.DISCARDED
        seen = upload_of(rita)
        Upload.objects.filter(pk=seen.pk).update(digest="e" * 64)
        with pytest.raises(StaleError):
            receiving.keep(seen, DIGEST, "")
        assert events() == []
        assert rung == []

    @pytest.mark.every_case
    @pytest.mark.parametrize("state", list(State))
    def test_only_an_upload_that_is_ready_can_be_read_again(
        self, rita: User, rung: list[str], state: str,
        django_capture_on_commit_callbacks: Callable[..., Any],
    ) -> None:  # fmt: skip
        upload = upload_of(rita, state, error="no", turn=TURN)
        with django_capture_on_commit_callbacks(execute=True):
            if state == State.READY:
                receiving.restart_reading(upload, "clapnq")
            else:
                with pytest.raises(StaleError):
                    receiving.restart_reading(upload, "clapnq")
        found = now_of(upload)
        if state == State.READY:
            assert (found.state, found.format, found.digest) == (State.READING, "clapnq", "")
            assert (found.found, found.error, found.turn) == ({}, "", None)
            assert events() == [("upload.read", "upload", str(upload.pk))]
            assert rung == [f"start {upload.key}"]
        else:
            assert (found.state, found.digest, rung) == (state, DIGEST, [])

    def test_without_a_named_format_the_format_is_recognised(
        self, rita: User, rung: list[str]
    ) -> None:
        upload = upload_of(rita, format="clapnq")
        with pytest.raises(InputError, match="--format: is not one of the formats"):
            receiving.restart_reading(upload, "pdf")
        assert now_of(upload).format == "clapnq"
        receiving.restart_reading(upload, "")
        assert now_of(upload).format == ""

    @pytest.mark.every_case
    @pytest.mark.parametrize("state", list(State))
    def test_an_undecided_upload_can_be_discarded(self, rita: User, state: str) -> None:
        upload = upload_of(rita, state, error="no", turn=TURN, seconds_ago=9)
        if state in (State.READING, State.READY):
            receiving.discard(upload)
            found = now_of(upload)
            assert (found.state, found.turn, found.found) == (State.DISCARDED, None, {})
            assert (found.error, found.changed_at) == ("", NOW)
            assert events() == [("upload.discarded", "upload", str(upload.pk))]
            assert not lies(upload)
            return
        if state == State.DISCARDED:
            receiving.discard(upload)
        else:
            with pytest.raises(StaleError, match=receiving.STATUS_REASONS[State(state)]):
                receiving.discard(upload)
        assert (now_of(upload).state, now_of(upload).turn) == (state, TURN)
        assert events() == []
        assert lies(upload)

    def test_discarding_is_refused_if_the_upload_is_being_loaded_meanwhile(
        self, rita: User
    ) -> None:
        upload = upload_of(rita)
        Upload.objects.filter(pk=upload.pk).update(state=State.KEEPING)
        with pytest.raises(StaleError, match="it is being loaded"):
            receiving.discard(upload)
        assert upload.state == State.KEEPING
        assert lies(upload)


class TestLostProcesses:
    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("state", "turn", "seconds", "waits"),
        [(State.READING, None, 10, False), (State.READING, None, 10.1, True),
         (State.KEEPING, None, 11, True), (State.READING, TURN, 11, False),
         (State.READY, None, 11, False), (State.REFUSED, None, 11, False),
         (State.KEPT, None, 11, False)],
    )  # fmt: skip
    def test_an_upload_counts_as_waiting_after_ten_seconds_without_a_process(
        self, state: str, turn: uuid.UUID | None, seconds: float, waits: bool
    ) -> None:
        changed_at = NOW - timedelta(seconds=seconds)
        assert receiving.is_waiting(Upload(state=state, turn=turn, changed_at=changed_at)) is waits

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("state", "turn", "seconds", "silent"),
        [(State.READING, TURN, 60, False), (State.READING, TURN, 60.1, True),
         (State.KEEPING, TURN, 61, True), (State.READING, None, 61, False),
         (State.READY, TURN, 61, False), (State.KEPT, TURN, 61, False)],
    )  # fmt: skip
    def test_a_process_counts_as_silent_after_a_minute_without_progress(
        self, state: str, turn: uuid.UUID | None, seconds: float, silent: bool
    ) -> None:
        upload = Upload(state=state, turn=turn, changed_at=NOW - timedelta(seconds=seconds))
        assert receiving.is_silent(upload) is silent

    def test_silence_is_measured_from_the_last_progress_and_not_from_the_start(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        upload = Upload(state=State.READING, turn=TURN, changed_at=NOW - timedelta(hours=1))
        for age, silent in ((60.0, False), (60.1, True)):
            progress = quarantine.Progress(1, 2, age)
            monkeypatch.setattr(quarantine, "progress", lambda key, progress=progress: progress)
            assert receiving.is_silent(upload) is silent

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("turn", "seconds", "begun"),
        [(None, 11, True), (None, 9, False), (TURN, 61, True), (TURN, 59, False)],
    )
    def test_a_waiting_or_silent_upload_can_be_processed_by_the_web_server(
        self, rita: User, rung: list[str], turn: uuid.UUID | None, seconds: float, begun: bool,
        django_capture_on_commit_callbacks: Callable[..., Any],
    ) -> None:  # fmt: skip
        upload = upload_of(rita, State.KEEPING, seconds, turn=turn)
        with django_capture_on_commit_callbacks(execute=True):
            if begun:
                receiving.begin_here(upload)
            else:
                with pytest.raises(StaleError, match="it is being loaded"):
                    receiving.begin_here(upload)
        found = now_of(upload)
        assert rung == (["here"] if begun else [])
        assert found.turn == (None if begun else turn)
        assert (found.changed_at == NOW) is begun

    def test_earlier_progress_is_removed_when_processing_restarts(
        self, rita: User, rung: list[str]
    ) -> None:
        upload = upload_of(rita, State.READING, 11)
        quarantine.note_progress(upload.key, 5, 9)
        receiving.begin_here(upload)
        assert quarantine.progress(upload.key) is None

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        "meanwhile", [{"turn": uuid.UUID(int=8)}, {"state": State.READY}, {"state": State.KEPT}]
    )
    def test_processing_does_not_start_twice(
        self, rita: User, rung: list[str], meanwhile: dict[str, Any]
    ) -> None:
        upload = upload_of(rita, State.READING, 11)
        Upload.objects.filter(pk=upload.pk).update(**meanwhile)
        with pytest.raises(StaleError, match=receiving.STATUS_REASONS[State(now_of(upload).state)]):
            receiving.begin_here(upload)
        assert now_of(upload).changed_at == NOW - timedelta(seconds=11)


class TestLimits:
    def test_the_sixth_latest_upload_determines_when_the_next_is_allowed(self, rita: User) -> None:
        for minutes in (10, 20, 59, 30, 40, 50):
            upload_of(rita, State.KEPT, seconds_ago=60 * minutes - 0.4)
        with pytest.raises(TooOftenError) as error:
            check_rate(rita)
        assert error.value.seconds == 60
        upload_of(rita, State.KEPT, seconds_ago=60)
        with pytest.raises(TooOftenError, match="try again in 10 minutes") as error:
            check_rate(rita)
        assert error.value.seconds == 600

    def test_a_wait_below_a_second_is_reported_as_one_second(self, rita: User) -> None:
        for _ in range(6):
            upload_of(rita, State.KEPT, seconds_ago=3599.9)
        with pytest.raises(TooOftenError) as error:
            check_rate(rita)
        assert error.value.seconds == 1

    def test_an_upload_from_exactly_an_hour_ago_no_longer_counts(self, rita: User) -> None:
        for seconds in (3600, 10, 10, 10, 10, 10):
            upload_of(rita, State.KEPT, seconds_ago=seconds)
        check_rate(rita)
        upload_of(rita, State.KEPT, seconds_ago=10)
        with pytest.raises(TooOftenError):
            check_rate(rita)

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("seconds", "minutes"), [(1, 1), (60, 1), (61, 2), (120, 2), (3600, 60)]
    )
    def test_minutes_are_rounded_up(self, seconds: int, minutes: int) -> None:
        assert f"try again in {minutes} minutes" in str(TooOftenError(seconds))

    @pytest.mark.every_case
    @pytest.mark.parametrize("state", list(State))
    def test_at_most_three_uploads_may_be_undecided(self, rita: User, state: str) -> None:
        for _ in range(3):
            upload_of(rita, state, seconds_ago=4000)
        if state in (State.READING, State.READY, State.KEEPING):
            with pytest.raises(InputError, match="exceeds the limit of 3 undecided uploads"):
                sent(rita)
        else:
            assert sent(rita).state == State.READING

    def test_an_upload_has_at_most_fifty_files(self, rita: User) -> None:
        assert len(sent(rita, *[b"{}\n"] * 50).files) == 50
        with pytest.raises(InputError, match="The upload: has more than 50 files"):
            sent(rita, *[b"{}\n"] * 51)

    def test_processing_starts_after_the_upload_is_committed(
        self, rita: User, rung: list[str], django_capture_on_commit_callbacks: Callable[..., Any]
    ) -> None:
        old = upload_of(rita, seconds_ago=24 * 3600 + 1)
        with django_capture_on_commit_callbacks(execute=True):
            upload = sent(rita, b"{}\n", b"[\n", name="  mine ", format="native")
            assert rung == []
        assert rung == [f"start {upload.key}"]
        assert (upload.name, upload.format, upload.state) == ("mine", "native", State.READING)
        assert [(f["name"], f["bytes"], f["stored"]) for f in upload.files] == [
            ("study.jsonl", 3, "0.jsonl"), ("study.jsonl", 2, "1.json"),
        ]  # fmt: skip
        assert Event.objects.get().facts == {"files": 2}
        assert not Upload.objects.filter(pk=old.pk).exists()

    def test_an_interrupted_upload_leaves_nothing_behind(
        self, rita: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def stopped(*_: object, **__: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(receiving, "record", stopped)
        with pytest.raises(KeyboardInterrupt):
            sent(rita)
        assert not Upload.objects.exists()
        assert [p.name for p in quarantine.root().iterdir()] == [quarantine.INCOMING]

    def test_an_upload_is_named_after_its_first_file(self, rita: User) -> None:
        files = [received(name=f"{'x' * 90}.y.jsonl"), received(name="b.jsonl")]
        assert receiving.receive(rita, files, " ", "").name == "x" * 90 + ".y"
        with pytest.raises(InputError, match="has no file"):
            receiving.receive(rita, [], "", "")


class TestCleaning:
    def test_an_upload_changed_exactly_a_day_ago_is_kept(self, rita: User) -> None:
        day = 24 * 3600
        at_the_edge, old = upload_of(rita, seconds_ago=day), upload_of(rita, seconds_ago=day + 1)
        assert receiving.clean() == 1
        assert (lies(at_the_edge), lies(old)) == (True, False)
        assert list(Upload.objects.all()) == [at_the_edge]

    def test_only_files_older_than_the_limit_count_as_leftovers(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(time, "time", lambda: 10_000.0)
        incoming = quarantine.root() / quarantine.INCOMING
        for name, age in (("at", 100), ("over", 101), ("young", 1)):
            for folder in (quarantine.root(), incoming):
                (folder / name).mkdir()
                os.utime(folder / name, (10_000 - age, 10_000 - age))
        os.utime(incoming, (0, 0))
        (quarantine.root() / "broken").symlink_to("nowhere")
        found = quarantine.leftovers(100)
        assert found == [quarantine.root() / "over", incoming / "over"]

    @database
    def test_a_folder_is_deleted_only_if_no_upload_uses_it(self, rita: User) -> None:
        mine = upload_of(rita)
        stray = quarantine.folder("0" * 32)
        stray.mkdir()
        (stray / "0.jsonl").write_text("x")
        young, part = quarantine.root() / "young", quarantine.root() / "incoming" / "part"
        young.mkdir()
        part.write_text("x")
        for path, hours in ((quarantine.folder(mine.key), 4), (stray, 4), (part, 4), (young, 2)):
            then = time.time() - 3600 * hours
            os.utime(path, (then, then))
        assert receiving.clean() == 0
        assert (lies(mine), stray.exists(), part.exists(), young.exists()) == (
            True, False, False, True,
        )  # fmt: skip


class TestQuarantine:
    def test_files_are_stored_by_number_in_a_private_folder(self) -> None:
        stored = quarantine.store("k", [received(b"[1]", "a.jsonl"), received(b'{"a": 1}\n', "\n")])
        assert stored == [
            {"name": "a.jsonl", "bytes": 3, "stored": "0.json"},
            {"name": "a file without a name", "bytes": 9, "stored": "1.jsonl"},
        ]
        folder = quarantine.folder("k")
        assert folder.stat().st_mode & 0o777 == 0o700
        assert (folder / "0.json").read_bytes() == b"[1]"
        with pytest.raises(FileExistsError):
            quarantine.store("k", [])

    def test_a_file_is_copied_if_it_cannot_be_linked(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def another_disk(*_: object) -> None:
            raise OSError

        monkeypatch.setattr(Path, "hardlink_to", another_disk)
        quarantine.store("k", [received(b"[1]")])
        assert (quarantine.folder("k") / "0.json").read_bytes() == b"[1]"

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("name", "expected"),
        [("x" * 100, "x" * 100), ("x" * 101, "x" * 100), ("a\n\u202eb", "ab"),
         ("", "a file without a name"), ("\n", "a file without a name")],
    )  # fmt: skip
    def test_a_file_name_is_shown_without_unprintable_characters(
        self, name: str, expected: str
    ) -> None:
        assert quarantine.printable_name(name) == expected

    def test_messages_use_the_senders_file_names(self) -> None:
        upload = Upload(files=[{"name": n, "stored": f"{k}.jsonl"} for k, n in enumerate("ab")])
        first, second = quarantine.paths(upload)
        folder = quarantine.folder(upload.key)
        message = quarantine.with_original_names(upload, f"{second} and {first} in {folder}: no")
        assert message == "b and a in the files: no"

    def test_progress_has_the_counts_and_their_age(self, monkeypatch: pytest.MonkeyPatch) -> None:
        quarantine.folder("k").mkdir()
        assert quarantine.progress("k") is None
        quarantine.note_progress("k", 3, 8)
        monkeypatch.setattr(time, "time", lambda: 1000.0)
        os.utime(quarantine.folder("k") / quarantine.PROGRESS, (990, 990))
        assert quarantine.progress("k") == quarantine.Progress(3, 8, 10.0)
        (quarantine.folder("k") / quarantine.PROGRESS).write_text("{")
        assert quarantine.progress("k") is None
        quarantine.forget_progress("k")
        assert list(quarantine.folder("k").iterdir()) == []
        quarantine.forget_progress("k")

    def test_the_last_line_of_a_file_is_counted_without_a_line_break(self) -> None:
        upload = Upload(files=[{"stored": "0"}, {"stored": "1"}])
        quarantine.folder(upload.key).mkdir()
        for path, text in zip(quarantine.paths(upload), (b"a\nb\nc", b""), strict=True):
            path.write_bytes(text)
        assert quarantine.lines(upload) == 4

    def test_removing_files_twice_is_not_an_error(self) -> None:
        quarantine.store("k", [received()])
        quarantine.remove("k")
        quarantine.remove("k")
        assert not quarantine.folder("k").exists()


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"", ".jsonl"), (b"[", ".json"), (b"\n \n [1]\n", ".json"), (b"{\n", ".json"),
        (b" { \n", ".json"), (b'{"id": 1}\n', ".jsonl"), (b"{}\n", ".jsonl"), (b"text", ".jsonl"),
        (b"\n\nq Q0 d 1 0.5 tag\n{", ".run"), (b"q Q0 d 1 -1.5E+3 tag", ".run"),
        (b"q Q0 d one 0.5 tag", ".jsonl"), (b"q Q0 d 1 0.5", ".jsonl"),
        (b"q Q0 d 1 0.5 tag more", ".jsonl"), (b"{}\nq Q0 d 1 0.5 tag", ".jsonl"),
        (b"\x1f\x8b", "is packed (gzip)"), (b"PK\x03\x04", "is packed (zip, or an office file)"),
        (b"BZh9", "is packed (bzip2)"), (b"\xfd7zXZ\x00", "is packed (xz)"),
        (b"\x28\xb5\x2f\xfd", "is packed (zstd)"), (b"7z\xbc\xaf\x27\x1c", "is packed (7z)"),
        (b"%PDF-1.7", "is a PDF"), (b"PAR1", "is Parquet"),
        (b"SQLite format 3\x00", "is a database"), (b"\x7fELF", "is a program"),
        (b"\x89PNG", "is a picture"), (b"\xff\xd8\xff", "is a picture"), (b"xPK\x03\x04", ".jsonl"),
    ],
)  # fmt: skip
def test_the_type_of_a_file_is_recognised_by_its_content(
    tmp_path: Path, content: bytes, found: str
) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    if found.startswith("."):
        assert suffix_of(path, "mine") == found
    else:
        with pytest.raises(InputError) as error:
            suffix_of(path, "mine")
        assert str(error.value).startswith(f"mine: {found}; ")


class TestPreview:
    def read(self, folder: Path, *lines: dict[str, Any]) -> Any:
        return inspect([write_lines(folder / "a.jsonl", lines)], None, lambda done: None)

    def test_parts_are_counted_by_kind_and_shared_passages_once(self, tmp_path: Path) -> None:
        again = changed(SECOND, id="fourth", questions=[], key_points=[], reports=[])
        done: list[int] = []
        path = write_lines(tmp_path / "a.jsonl", [FIRST, SECOND, THIRD, again])
        found = inspect([path], "native", done.append)
        assert found.counts == {
            "queries": 4, "questions": 7, "key_points": 4, "nuggets": 0, "reports": 6,
            "rankings": 1,
            "passages": 4,
        }  # fmt: skip
        assert done == [1, 2, 3, 4]
        assert found.format == "native"
        assert [line["id"] for line in found.first] == ["q/1", "q 2", "q3"]

    @pytest.mark.every_case
    @pytest.mark.parametrize(("length", "shown"), [(400, 400), (401, 401), (999, 401)])
    def test_a_text_is_cut_after_four_hundred_characters(
        self, tmp_path: Path, length: int, shown: int
    ) -> None:
        questions = [{"id": f"x{n}", "text": "é" * length, "meta": {"a": 1}} for n in range(3)]
        line = changed(SECOND, text="ö" * length, questions=questions, meta={"secret": 1})
        (first,) = self.read(tmp_path, line).first
        assert len(first["text"]) == len(first["questions"][2]["text"]) == shown
        assert first["text"].endswith("…" if length > 400 else "ö")
        assert first["questions"][0].keys() == {"id", "text"}
        assert "meta" not in first
        assert first["more"] == {}

    def test_the_first_three_parts_of_each_kind_are_shown_and_the_rest_counted(
        self, tmp_path: Path
    ) -> None:
        questions = [{"id": f"x{n}", "text": "?"} for n in range(4)]
        rankings = [{"system": f"s{n}", "passages": ["p2"]} for n in range(5)]
        line = changed(SECOND, questions=questions, rankings=rankings, asked_at="2024-05-03")
        (first,) = self.read(tmp_path, line).first
        assert first["more"] == {"questions": 1, "rankings": 2}
        assert [each["id"] for each in first["questions"]] == ["x0", "x1", "x2"]
        assert first["rankings"][0] == {"system": "s0", "passages": ["p2"]}
        assert first["asked_at"] == "2024-05-03"
        assert first["reports"][0] == {
            "id": "s one", "system": "one", "text": "She was born in Ghent 🏙.",
        }  # fmt: skip

    def test_queries_are_accepted_up_to_the_limit(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("datasets.uploads.worker.MAX_QUERIES", 2)
        assert self.read(tmp_path, SECOND, THIRD).counts["queries"] == 2
        with pytest.raises(InputError, match=r"a\.jsonl: has more than 2 queries"):
            self.read(tmp_path, FIRST, SECOND, THIRD)


class TestProcessing:
    def test_finishing_releases_the_turn_and_records_the_time(self, rita: User) -> None:
        upload = worked(upload_of(rita, State.READING, 30, error="before", format="native"))
        assert (upload.state, upload.turn, upload.error) == (State.READY, None, "")
        assert (upload.changed_at, upload.found["warning_count"]) == (NOW, 0)
        assert upload.found["format"] == "native"

    def test_the_process_that_starts_is_stored_as_having_the_turn(
        self, rita: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        seen: list[Upload] = []
        monkeypatch.setattr(worker, "_inspect", lambda up, count: seen.append(now_of(up)))
        upload = upload_of(rita, State.READING, 30)
        worked(upload)
        ((turn, changed_at),) = [(each.turn, each.changed_at) for each in seen]
        assert (turn is None, changed_at) == (False, NOW)

    @pytest.mark.every_case
    @pytest.mark.parametrize("state", list(State))
    def test_only_uploads_that_wait_for_processing_are_processed(
        self, rita: User, monkeypatch: pytest.MonkeyPatch, state: str
    ) -> None:
        done: list[str] = []
        monkeypatch.setattr(worker, "_inspect", lambda *_: done.append("reading"))
        monkeypatch.setattr(worker, "_load", lambda *_: done.append("keeping"))
        work(upload_of(rita, state).key)
        assert done == ([state] if state in worker.AT_WORK else [])

    def test_warnings_are_kept_up_to_the_limit_and_all_are_counted(
        self, rita: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(worker, "WARNINGS_KEPT", 1)
        upload = upload_of(rita, State.READING)
        lines = [changed(FIRST, id="Q"), changed(SECOND, id="q"), changed(THIRD, id="W"),
                 {"id": "w", "text": "?"}]  # fmt: skip
        quarantine.paths(upload)[0].write_bytes(as_file(lines))
        found = worked(upload).found
        assert len(found["warnings"]) == 1
        assert found["warnings"][0].startswith("a.jsonl, line 2")
        assert found["warning_count"] == 2

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("state", "after"), [(State.KEEPING, State.READY), (State.READING, State.REFUSED)]
    )
    def test_an_error_refuses_an_upload_being_read_but_keeps_a_preview_being_loaded(
        self, rita: User, state: str, after: str
    ) -> None:
        upload = upload_of(rita, state, 30, turn=TURN)
        worker.refuse(upload, " two\n  words ")
        found = now_of(upload)
        assert (found.state, found.error, found.turn) == (after, "two words", None)
        assert found.changed_at == NOW
        assert lies(upload) is (state == State.KEEPING)

    def test_a_process_that_lost_the_turn_cannot_refuse_the_upload(self, rita: User) -> None:
        upload = upload_of(rita, State.READING, turn=TURN)
        Upload.objects.update(turn=uuid.uuid4())
        worker.refuse(upload, "no")
        assert now_of(upload).error == ""
        assert lies(upload)

    def test_refusing_one_upload_does_not_affect_another(self, rita: User) -> None:
        mine, other = (upload_of(rita, State.READING, turn=TURN) for _ in range(2))
        worker.refuse(mine, "no")
        assert (now_of(other).state, now_of(other).error) == (State.READING, "")

    @pytest.mark.every_case
    @pytest.mark.parametrize(("counts", "total"), [({"queries": 7}, 7), ({}, 4)])
    def test_the_total_of_the_progress_is_the_known_queries_or_the_lines(
        self, rita: User, counts: dict[str, int], total: int
    ) -> None:
        upload = upload_of(rita, State.READING, found={"counts": counts})
        with worker._beating(upload) as count:
            assert (count.done, count.total) == (0, total)
            progress = quarantine.progress(upload.key)
            assert progress is not None
            assert (progress.done, progress.total) == (0, total)
            count(3)
            assert count.done == 3

    def test_loading_records_whether_the_batch_existed_and_deletes_the_files(
        self, rita: User
    ) -> None:
        for name, unchanged in (("one", False), ("one", True)):
            upload = worked(upload_of(rita, State.READING))
            receiving.keep(upload, upload.digest, name)
            upload = worked(upload)
            assert (upload.state, upload.found["unchanged"]) == (State.KEPT, unchanged)
            assert upload.found["counts"]["queries"] == 3
            assert (upload.batch, lies(upload)) == (Batch.objects.get(name="one"), False)

    def test_a_dead_process_ends_only_its_own_turn(self, rita: User) -> None:
        for state, turn, error in (
            (State.READING, None, PROCESS_ENDED), (State.KEEPING, None, PROCESS_ENDED),
            (State.READING, TURN, ""), (State.READY, None, ""),
        ):  # fmt: skip
            upload = upload_of(rita, state)
            taken = worker.take(upload.key)
            if turn:
                Upload.objects.filter(pk=upload.pk).update(turn=turn)
            if taken:
                taken.fail("killed")
            assert now_of(upload).error == error


class TestContext:
    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("state", "word", "kind", "at_work"),
        [
            (State.READING, "Being read", "plain", True),
            (State.READY, "Ready to review", "warn", False),
            (State.REFUSED, "Refused", "no", False),
            (State.KEEPING, "Being loaded", "plain", True),
            (State.KEPT, "Kept", "yes", False),
            (State.DISCARDED, "Discarded", "other", False),
        ],
    )
    def test_each_state_has_a_word_for_display(
        self, rita: User, state: str, word: str, kind: str, at_work: bool
    ) -> None:
        upload = upload_of(rita, state)
        quarantine.note_progress(upload.key, 3, 8)
        context = upload_context(upload)
        assert (context["word"], context["kind"], context["at_work"]) == (word, kind, at_work)
        assert (context["progress"] is not None) is at_work
        assert context["upload"] is upload
        assert (context["waiting"], context["silent"], context["has_workers"]) == (
            False,
            False,
            False,
        )

    def test_counts_are_shown_with_numbers_and_nouns(self, rita: User) -> None:
        line = {"id": "q", "text": "?", "key_points": [1], "reports": [2], "rankings": [],
                "more": {"key_points": 2}}  # fmt: skip
        found = {"counts": {"key_points": 1234, "rankings": 0}, "warning_count": 502,
                 "first": [line]}  # fmt: skip
        files = [{"name": "a", "bytes": 3, "stored": "0"}, {"name": "b", "bytes": 4, "stored": "1"}]
        context = upload_context(upload_of(rita, found=found, files=files))
        assert context["counts"] == [("1,234", "key points")]
        assert (context["bytes"], context["more_warnings"]) == (7, 2)
        parts = [
            {"name": "key points", "shown": [1], "more": 2},
            {"name": "reports", "shown": [2], "more": 0},
        ]
        assert context["first"] == [{"id": "q", "text": "?", "parts": parts}]

    @pytest.mark.every_case
    @pytest.mark.parametrize(("count", "more"), [(499, 0), (500, 0), (501, 1)])
    def test_the_number_of_hidden_warnings_is_shown(
        self, rita: User, count: int, more: int
    ) -> None:
        found = {"warning_count": count}
        assert upload_context(upload_of(rita, found=found))["more_warnings"] == more
        nothing = upload_context(upload_of(rita, found={}))
        assert (nothing["more_warnings"], nothing["counts"], nothing["first"]) == (0, [], [])

    def test_batches_with_the_same_content_are_named_until_the_decision(self, rita: User) -> None:
        for name, digest in (("z", DIGEST), ("a", DIGEST), ("other", "0" * 64)):
            Batch.objects.create(name=name, format="native", digest=digest)
        assert [batch.name for batch in batches_with_same_content(upload_of(rita))] == ["a", "z"]
        assert batches_with_same_content(upload_of(rita, State.KEPT)) == []

    def test_a_site_has_workers_if_its_queue_is_not_a_folder(
        self, rita: User, settings: Settings
    ) -> None:
        settings.CELERY_BROKER_URL = "redis://x/0"
        assert upload_context(upload_of(rita))["has_workers"] is True


class TestPages:
    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("page", "allowed"),
        [("upload-new", {"GET", "HEAD", "POST"}), ("upload", {"GET", "HEAD"}),
         ("upload-live", {"GET", "HEAD"}), ("upload-order", {"POST"})],
    )  # fmt: skip
    def test_only_researchers_and_admins_open_the_pages_with_allowed_methods(
        self, rita: User, rung: list[str], page: str, allowed: set[str]
    ) -> None:
        upload = upload_of(rita)
        address = "/batches/upload/" if page == "upload-new" else reverse(page, args=[upload.key])
        client = client_of(rita)
        for method in ("GET", "HEAD", "POST", "PUT", "DELETE"):
            status = client.generic(method, address).status_code
            assert (status != 405) is (method in allowed), method
        method = sorted(allowed)[0]
        grace, ada = _user("grace", "admin"), _user("ada", "annotator")
        theirs = 200 if page == "upload-new" else 404
        assert client_of(grace).generic(method, address).status_code == theirs
        assert client_of(ada).generic(method, address).status_code == 403

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("fields", "status", "said"),
        [
            ({}, 422, "choose whether to keep or discard it"),
            ({"order": "read", "format": "pdf"}, 422, "is not one of the formats"),
            ({"order": "read", "format": "native"}, 302, ""),
            ({"order": "keep"}, 409, "it has a newer preview"),
            ({"order": "keep", "seen": DIGEST, "name": "x" * 201}, 422, "longer than 200"),
            ({"order": "keep", "seen": DIGEST}, 302, ""),
            ({"order": "discard"}, 302, ""),
            ({"order": "begin"}, 409, "was not changed"),
        ],
    )
    def test_a_decision_is_carried_out_or_refused_with_a_reason(
        self, rita: User, rung: list[str], fields: dict[str, str], status: int, said: str
    ) -> None:
        upload = upload_of(rita)
        answer = client_of(rita).post(reverse("upload-order", args=[upload.key]), fields)
        assert answer.status_code == status
        if status == 302:
            assert answer["Location"] == reverse("upload", args=[upload.key])
        else:
            assert answer.context["name"] == fields.get("name", "study")
            assert said in answer.context["problem"]
            assert now_of(upload).state == State.READY

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("state", "by_htmx", "anew"),
        [(State.READY, True, True), (State.READY, False, False), (State.READING, True, False)],
    )
    def test_the_live_fragment_reloads_the_page_at_the_end(
        self, rita: User, state: str, by_htmx: bool, anew: bool
    ) -> None:
        address = reverse("upload-live", args=[upload_of(rita, state).key])
        answer = client_of(rita).get(address, headers={"HX-Request": "true"} if by_htmx else {})
        assert answer.get("HX-Refresh") == ("true" if anew else None)

    def test_a_refused_form_keeps_its_input(self, rita: User) -> None:
        client = client_of(rita)
        plain = client.get("/batches/upload/").context
        assert (plain["error"], plain["name"], plain["format"]) == ("", "", "")
        assert plain["too_often"] is False
        answer = client.post("/batches/upload/", {"name": "mine", "format": "crux"})
        assert answer.status_code == 422
        assert (answer.context["name"], answer.context["format"]) == ("mine", "crux")
        assert "has no file" in answer.context["error"]
        for _ in range(6):
            upload_of(rita, State.KEPT)
        assert client.get("/batches/upload/").context["too_often"] is True

    def test_only_errors_of_a_full_disk_are_reported_as_such(
        self, rita: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for number, status in ((errno.ENOSPC, 507), (errno.EDQUOT, 507), (errno.EIO, 500)):

            def broken(*_: object, number: int = number) -> None:
                raise OSError(number, "no")

            monkeypatch.setattr(quarantine, "store", broken)
            client = client_of(rita)
            client.raise_request_exception = False
            answer = client.post("/batches/upload/", {"files": posted()})
            assert answer.status_code == status

"""Uploading batches through the API: send, preview and keep, under the rules of the pages."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from annotation.models import User
from datasets.models import Batch, Upload
from datasets.uploads import quarantine
from datasets.uploads.receiving import MAX_PER_HOUR
from tests.api.cast import Script, assert_error, script_of
from tests.datasets.upload_cast import posted, worked
from tests.page_cast import Study


@pytest.fixture
def rita(study: Study) -> Script:
    return script_of(study.rita)


def post(user: User, **fields: Any) -> Any:
    token = script_of(user).token
    headers = {"authorization": f"Token {token}"}
    client = Client(raise_request_exception=False)
    return client.post("/api/v1/uploads/", fields, headers=headers)


def sent(user: User, **fields: Any) -> dict[str, Any]:
    answer = post(user, **{"files": posted(), **fields})
    assert answer.status_code == 202, answer.content
    made: dict[str, Any] = answer.json()
    return made


def looked_through(key: str) -> Upload:
    return worked(Upload.objects.get(key=key))


def test_files_become_a_batch_in_four_steps(study: Study, rita: Script) -> None:
    made = sent(study.rita, files=[posted()], name="by script")
    assert (made["state"], made["preview"], made["batch"]) == ("reading", None, None)
    place = f"uploads/{made['key']}/"
    looked_through(made["key"])
    seen = rita.get(place).json()
    assert seen["state"] == "ready"
    assert seen["preview"]["format"] == "native"
    assert seen["preview"]["counts"]["queries"] == 3
    assert [each["id"] for each in seen["preview"]["first"]] == ["q/1", "q 2", "q3"]
    decided = {"digest": seen["preview"]["digest"], "name": "kept"}
    kept = rita.post(place + "keep/", decided)
    assert (kept.status_code, kept.json()["state"]) == (202, "keeping")
    looked_through(made["key"])
    upload = rita.get(place).json()
    batch = Batch.objects.get(name="kept")
    assert (upload["state"], upload["batch"]) == ("kept", batch.pk)
    assert rita.get(f"batches/{batch.pk}/").status_code == 200
    assert rita.post(place + "keep/", decided).status_code == 202


def test_a_stale_preview_is_a_conflict(study: Study, rita: Script) -> None:
    made = sent(study.rita)
    place = f"uploads/{made['key']}/"
    digest = looked_through(made["key"]).digest
    assert_error(rita.post(place + "keep/", {"digest": "0" * 64}), 409)
    Batch.objects.create(name="taken", format="native", digest="1" * 64)
    assert_error(rita.post(place + "keep/", {"digest": digest, "name": "taken"}), 409)
    assert rita.post(place + "discard/").json()["state"] == "discarded"
    assert_error(rita.post(place + "keep/", {"digest": digest}), 409)
    assert not Batch.objects.filter(name="study").exists()


def test_a_file_that_is_not_a_batch_is_refused_with_file_and_line(
    study: Study, rita: Script
) -> None:
    made = sent(study.rita, files=posted(b'{"id": "a"}\n', "mine.jsonl"))
    looked_through(made["key"])
    upload = rita.get(f"uploads/{made['key']}/").json()
    assert upload["state"] == "refused"
    assert upload["error"].startswith("mine.jsonl, line 1: ")
    assert upload["preview"] is None


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({}, 400),
        ({"files": "text"}, 400),
        ({"files": posted(), "colour": "red"}, 400),
        ({"files": posted(), "format": "pdf"}, 400),
        ({"files": posted(), "name": "x" * 201}, 400),
        ({"files": posted(b"\x1f\x8b")}, 422),
    ],
)
def test_a_malformed_upload_is_refused(study: Study, fields: dict[str, Any], status: int) -> None:
    if not isinstance(fields.get("files", ""), str):
        fields["files"].seek(0)
    assert_error(post(study.rita, **fields), status)
    assert not Upload.objects.exists()


def test_a_json_body_is_not_accepted_as_an_upload(rita: Script) -> None:
    assert_error(rita.post("uploads/", {"files": []}), 415)


def test_the_hourly_limit_is_that_of_the_pages(study: Study) -> None:
    for _ in range(MAX_PER_HOUR):
        Upload.objects.create(user=study.rita, name="x", state="kept")
    answer = post(study.rita, files=posted())
    assert_error(answer, 429)
    assert int(answer["Retry-After"]) > 3500


def test_only_the_sender_can_see_and_use_an_upload(study: Study, rita: Script) -> None:
    made = sent(study.root)
    assert rita.get("uploads/").json()["count"] == 0
    for rest in ("", "keep/", "discard/"):
        method = "POST" if rest else "GET"
        assert_error(rita.send(method, f"uploads/{made['key']}/{rest}", {"digest": "0" * 64}), 404)
    assert script_of(study.root).get("uploads/").json()["count"] == 1


@pytest.fixture(autouse=True)
def _own_quarantine(own_quarantine: Path) -> None:
    """Use a quarantine without files from other tests."""


def test_a_full_disk_is_answered_with_507(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(quarantine, "store", full)
    assert_error(post(study.rita, files=posted()), 507)
    assert not Upload.objects.exists()

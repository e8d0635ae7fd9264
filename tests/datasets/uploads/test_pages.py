"""Uploads can be sent, watched and kept on pages, and failures are explained."""

from __future__ import annotations

import errno
import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django.fixtures import Settings

from annotation.models import User
from datasets.models import Batch, Upload
from datasets.uploads import quarantine
from datasets.uploads.receiving import MAX_PER_HOUR
from tests.api.cast import script_of
from tests.cast import SECOND, load
from tests.datasets.upload_cast import as_file, posted, read, sent, worked
from tests.page_cast import _user, client_of

pytestmark = pytest.mark.django_db
NEW = "/batches/upload/"
STRICT_TOKEN = "x" * 32


@pytest.fixture(autouse=True)
def _own_quarantine(own_quarantine: Path) -> None:
    """Use a quarantine without files from other tests."""


@pytest.fixture
def rita() -> User:
    return _user("rita", "researcher")


@pytest.fixture
def client(rita: User) -> Client:
    client = client_of(rita)
    client.raise_request_exception = False
    return client


def text(answer: Any) -> str:
    return " ".join(answer.content.decode().split())


def page_of(client: Client, upload: Upload) -> str:
    return text(client.get(reverse("upload", args=[upload.key])))


def order(client: Client, upload: Upload, what: str, **fields: str) -> Any:
    return client.post(reverse("upload-order", args=[upload.key]), {"order": what, **fields})


def test_the_form_without_javascript_redirects_to_the_upload(client: Client) -> None:
    answer = client.post(NEW, {"files": [posted()], "name": "pilot"})
    upload = Upload.objects.get()
    assert (answer.status_code, answer["Location"]) == (302, reverse("upload", args=[upload.key]))
    assert upload.name == "pilot"
    page = page_of(client, upload)
    assert 'hx-trigger="every 1s"' in page
    assert "reload the page" in page


def test_a_script_gets_the_address_of_the_upload(client: Client) -> None:
    answer = client.post(NEW, {"files": posted()}, headers={"accept": "application/json"})
    assert answer.status_code == 201
    assert json.loads(answer.content)["address"] == reverse(
        "upload", args=[Upload.objects.get().key]
    )


def test_files_are_streamed_to_disk_and_no_temporary_file_remains(
    client: Client, own_quarantine: Path
) -> None:
    client.post(NEW, {"files": [posted(), posted(as_file([SECOND]), "b.jsonl")]})
    (first, second) = quarantine.paths(Upload.objects.get())
    assert (first.read_bytes(), second.read_bytes()) == (as_file(), as_file([SECOND]))
    assert [p.name for p in (own_quarantine / "uploads" / "incoming").iterdir()] == []


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({}, "The upload: has no file; choose one or more"),
        ({"files": [posted(b"PK\x03\x04")]}, "study.jsonl: is packed"),
        ({"files": [posted()], "format": "pdf"}, "there is no format"),
        ({"files": [posted()], "name": "a\0b"}, "has a NUL character; choose another"),
    ],
)
@pytest.mark.parametrize("accept", ["text/html", "application/json"])
def test_obvious_errors_are_reported_immediately(
    client: Client, sent: dict[str, Any], said: str, accept: str
) -> None:
    for file in sent.get("files", ()):
        file.seek(0)
    answer = client.post(NEW, sent, headers={"accept": accept})
    assert answer.status_code == 422
    assert said in text(answer)
    assert not Upload.objects.exists()


def test_the_seventh_upload_in_an_hour_is_refused_before_it_is_read(
    client: Client, rita: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(MAX_PER_HOUR):
        Upload.objects.create(user=rita, name="x", state="discarded")
    monkeypatch.setattr("datasets.uploads.views.into_files", _never)
    answer = client.post(NEW, {"files": posted()})
    assert answer.status_code == 429
    assert 3500 < int(answer["Retry-After"]) <= 3600
    assert "the limit is 6 uploads per hour" in text(answer)
    shown = client.get(NEW)
    assert shown.status_code == 200
    assert "try again in 60 minutes" in text(shown)
    assert 'type="submit" disabled' in text(shown)


def _never(*_: object) -> None:
    raise AssertionError


@pytest.mark.parametrize("role", ["annotator", None])
def test_files_from_accounts_that_may_not_upload_are_not_read(
    role: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("datasets.uploads.views.into_files", _never)
    client = client_of(_user("ada", role)) if role else Client()
    answer = client.post(NEW, {"files": posted()})
    assert answer.status_code == (403 if role else 302)
    assert not Upload.objects.exists()


def test_a_forged_form_is_refused(rita: User, own_quarantine: Path) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(rita)
    assert client.post(NEW, {"files": posted()}).status_code == 403
    assert not Upload.objects.exists()
    assert list((own_quarantine / "uploads" / "incoming").iterdir()) == []
    client.cookies["csrftoken"] = STRICT_TOKEN
    fields = {"csrfmiddlewaretoken": STRICT_TOKEN, "files": posted()}
    assert client.post(NEW, fields).status_code == 302


def test_a_request_above_the_size_limit_is_refused_by_its_length(
    client: Client, settings: Settings
) -> None:
    settings.TANDEM_MAX_UPLOAD_MB = 1
    answer = client.post(NEW, {"files": posted(b"x" * (1024**2 + 1))})
    assert answer.status_code == 413
    assert "more than 1 MB; send less" in text(answer)


def test_a_full_disk_gives_an_error_message(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(quarantine, "store", full)
    answer = client.post(NEW, {"files": posted()}, headers={"accept": "application/json"})
    assert answer.status_code == 507
    assert "disk of this site is full" in text(answer)
    assert not Upload.objects.exists()


def test_the_preview_shows_how_the_files_were_read(client: Client, rita: User) -> None:
    page = page_of(client, read(rita, as_file([{**SECOND, "text": "<b>Who</b>?"}])))
    for words in ("Ready to review", "native", "Nothing is loaded yet", "No warnings",
                  "&lt;b&gt;Who&lt;/b&gt;?", "When was she born?", "Keep it as"):  # fmt: skip
        assert words in page
    assert "<b>Who" not in page
    # The controls for the decision come before the texts, which take several screens.
    assert page.index("Keep it as") < page.index("The first of ")


def test_a_refused_upload_says_why(client: Client, rita: User) -> None:
    page = page_of(client, read(rita, b'{"id": "a"}\n'))
    assert "study.jsonl, line 1: &quot;text&quot; is missing" in page.replace("&#x27;", "'")
    assert "Upload again" in page


def test_a_refused_upload_is_repeated_with_its_name_and_its_other_fields(
    client: Client, rita: User, tmp_path: Path
) -> None:
    load(tmp_path, [SECOND], "whole")
    extended = Batch.objects.get()
    refused = read(rita, b'{"id": "a"}\n')
    Upload.objects.filter(pk=refused.pk).update(name="pilot-3", format="native", extends=extended)
    address = f"{NEW}?again={refused.key}"
    assert address in page_of(client, refused)
    form = text(client.get(address))
    assert 'name="name" maxlength="200" value="pilot-3"' in form
    assert '<option value="native" selected>' in form
    assert f'name="extends" value="{extended.pk}"' in form
    other = client_of(_user("other", "researcher"))
    assert other.get(address).status_code == 404


def test_an_upload_that_is_kept_becomes_a_batch(client: Client, rita: User) -> None:
    upload = read(rita)
    answer = order(client, upload, "keep", seen=upload.digest, name="pilot")
    assert answer.status_code == 302
    assert "Being loaded" in page_of(client, upload)
    worked(upload)
    page = page_of(client, upload)
    assert "The batch is loaded" in page
    assert reverse("batch", args=[Batch.objects.get(name="pilot").pk]) in page


def test_a_stale_preview_in_another_tab_changes_nothing(client: Client, rita: User) -> None:
    upload = read(rita)
    stale = order(client, upload, "keep", seen="0" * 64)
    assert stale.status_code == 409
    assert "This upload was not changed: it has a newer preview" in text(stale)
    assert order(client, upload, "discard").status_code == 302
    assert order(client, upload, "keep", seen=upload.digest).status_code == 409
    assert order(client, upload, "keep", seen="\0").status_code == 409
    assert order(client, upload, "nothing").status_code == 422
    assert not Batch.objects.exists()


def test_a_taken_name_is_refused_and_stays_in_the_field(client: Client, rita: User) -> None:
    Batch.objects.create(name="taken", format="native", digest="1" * 64)
    upload = read(rita)
    answer = order(client, upload, "keep", seen=upload.digest, name="taken")
    assert answer.status_code == 409
    assert "has other content; choose another name" in text(answer)
    assert 'name="name" maxlength="200" value="taken"' in text(answer)


def test_the_page_names_a_batch_with_the_same_content(client: Client, rita: User) -> None:
    first = read(rita)
    order(client, first, "keep", seen=first.digest, name="before")
    worked(first)
    assert "The same content is loaded already, as" in page_of(client, read(rita))


def test_the_page_reloads_when_processing_ends(client: Client, rita: User) -> None:
    upload = sent(rita)
    address, htmx = reverse("upload-live", args=[upload.key]), {"HX-Request": "true"}
    assert "HX-Refresh" not in client.get(address, headers=htmx)
    worked(upload)
    assert client.get(address, headers=htmx)["HX-Refresh"] == "true"


def test_the_page_says_if_no_worker_has_started(
    client: Client, rita: User, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("datasets.uploads.receiving.PATIENCE_SECONDS", 0)
    settings.CELERY_BROKER_URL = "redis://nowhere:1/0"
    upload = sent(rita)
    page = page_of(client, upload)
    assert "No worker has started on the upload" in page
    assert "Read here" in page
    assert order(client, upload, "begin").status_code == 302


def test_only_the_accounts_own_uploads_are_listed(client: Client, rita: User) -> None:
    mine, other = read(rita, name="mine"), read(_user("grace", "researcher"), name="hers")
    page = text(client.get("/batches/"))
    assert reverse("upload", args=[mine.key]) in page
    assert other.key not in page
    assert client.get(reverse("upload", args=[other.key])).status_code == 404


def test_a_batch_can_be_searched_and_its_queries_opened(client: Client, batch: Path) -> None:
    pk = Batch.objects.get().pk
    page = text(client.get(f"/batches/{pk}/", {"q": "Ghent born"}))
    assert "2 texts with <b>Ghent</b> and <b>born</b>" in page
    assert f"/batches/{pk}/queries/1/?q=Ghent%20born" in page
    assert "<mark>Ghent</mark>" in page
    nothing = text(client.get(f"/batches/{pk}/", {"q": "<script>"}))
    assert "No query, passage or report has <b>&lt;script&gt;</b>" in nothing
    for query in ("q=%00", "q=&page=x", "q=a&page=99", "q=%22", f"q={'x' * 9999}"):
        assert client.get(f"/batches/{pk}/?{query}").status_code == 200


def test_the_page_of_a_query_shows_all_its_parts(client: Client, batch: Path) -> None:
    pk = Batch.objects.get().pk
    page = client.get(f"/batches/{pk}/queries/0/", {"q": "anna"}).content.decode()
    for words in ("How was the bridge built?", "a/b#1", "When did it open?", "k#2",
                  "It spans a river.", "p#1", "قديم", "<mark>Anna</mark>", "r#1", "bm25",
                  "By hand.", "&quot;domain&quot;: &quot;bridges&quot;", "1 of 3"):  # fmt: skip
        assert words in page
    assert f"/batches/{pk}/queries/1/" in page
    assert client.get(f"/batches/{pk}/queries/3/").status_code == 404


def test_files_add_a_system_to_a_batch_after_a_preview(
    client: Client, rita: User, tmp_path: Path
) -> None:
    load(tmp_path)
    source = Batch.objects.get(name="b")
    assert "Add to <bdi>b</bdi>" in text(client.get(NEW, {"extends": source.pk}))
    new = {"id": "t9", "text": "It is near the sea.", "system": "three"}
    line = as_file([{"id": "q3", "reports": [new]}])
    client.post(NEW, {"files": [posted(line)], "name": "joined", "extends": source.pk})
    upload = worked(Upload.objects.get())
    assert "<dt>New reports</dt><dd>1</dd>" in page_of(client, upload)
    order(client, upload, "keep", seen=upload.digest, name="joined")
    assert worked(upload).batch == Batch.objects.get(lineage__source=source)
    joined = Batch.objects.get(name="joined")
    assert joined.counts["reports"] == source.counts["reports"] + 1
    assert (joined.lineage.by, joined.lineage.files[0]["name"]) == (rita, "study.jsonl")
    wrong = as_file([{"id": "q4", "reports": [new]}])
    path = "/api/v1/uploads/"
    script = script_of(rita)
    answer = script.client.post(
        path,
        {"files": [posted(wrong)], "extends": source.pk},
        headers={"Authorization": f"Token {script.token}"},
    )
    assert (answer.status_code, answer.json()["extends"]) == (202, source.pk)
    refused = worked(Upload.objects.get(key=answer.json()["key"]))
    assert refused.error.startswith("study.jsonl, line 1: there is no query")
    assert client.get(NEW, {"extends": "99999"}).status_code == 404


def test_batches_and_their_queries_are_sorted_by_a_column(client: Client, tmp_path: Path) -> None:
    third = {"id": "third", "text": "When?"}
    load(tmp_path, [SECOND, third], "ample")
    load(tmp_path, [SECOND], "bare")
    Batch.objects.filter(name="bare").update(warnings=["a"])

    def names(query: str) -> list[str]:
        table = text(client.get(f"/batches/{query}")).partition("<tbody>")[2]
        return list(re.findall(r'<th scope="row"><a [^>]*>([^<]+)<', table))

    assert names("?sort=name") == ["ample", "bare"]
    assert names("?sort=-name") == ["bare", "ample"]
    assert names("?sort=-content") == ["ample", "bare"]
    assert names("?sort=-warnings") == ["bare", "ample"]
    assert names("?sort=nothing") == names("")
    batch = Batch.objects.get(name="ample")
    queries = [f"{batch.pk}/{query}" for query in ("?sort=questions", "?sort=-questions")]
    assert names(queries[0]) == list(reversed(names(queries[1])))
    assert 'aria-sort="ascending"' in text(client.get(f"/batches/{queries[0]}"))

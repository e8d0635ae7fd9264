"""`Idempotency-Key`: sending a write twice creates one object and gets the same answer."""

from __future__ import annotations

import json
from datetime import timedelta
from threading import Barrier, Thread
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.utils import timezone
from django.utils.datastructures import MultiValueDict
from rest_framework.response import Response

from annotation.models import Campaign, Invitation, User
from datasets.api import concurrency
from datasets.api.base import RefusedBodyError
from datasets.models import KeptAnswer
from datasets.tasks import forget_answers
from tests.api.cast import Script, assert_error, script_of
from tests.api.test_description import operations
from tests.page_cast import Study, make_study

INVITING: dict[str, Any] = {"role": "annotator", "note": "Eve"}
# This operation stores its key with the response itself.
BY_THEMSELVES = {"responses_submit_by_post"}
# These operations create nothing that lasts.
NOTHING_MADE = {
    *("campaigns_rehearse", "jobs_cancel", "judges_try", "judges_try_draft"),
    *("protocols_check", "protocols_delete"),
}


def test_every_write_that_creates_something_takes_a_key() -> None:
    for path, method, operation in operations():
        name = operation["operationId"]
        if method != "post" or name in NOTHING_MADE:
            continue
        headers = [p["name"] for p in operation["parameters"] if p["in"] == "header"]
        assert "Idempotency-Key" in headers, f"{name} at {path}: put `idempotent` on it"
        if name not in BY_THEMSELVES:
            assert {"413", "415", "422"} <= set(operation["responses"])


@pytest.mark.django_db
class TestSameKey:
    @pytest.fixture
    def root(self, study: Study) -> Script:
        return script_of(study.root)

    def invite(self, root: Script, key: str, sent: Any = None) -> Any:
        return root.post("invitations/", sent or INVITING, Idempotency_Key=key)

    @pytest.mark.postgresql
    def test_two_requests_with_the_same_key_and_body_create_one_object(self, root: Script) -> None:
        first, second = (self.invite(root, "a") for _ in range(2))
        assert (first.status_code, second.status_code) == (201, 201)
        assert Invitation.objects.count() == 1
        assert second.json() == {**first.json(), "link": None}

    def test_the_layout_of_the_body_does_not_matter(self, root: Script) -> None:
        self.invite(root, "a")
        turned = json.dumps(dict(reversed(INVITING.items())), indent=2).encode()
        assert self.invite(root, "a", turned).status_code == 201
        assert Invitation.objects.count() == 1

    def test_a_key_with_another_body_is_refused(self, root: Script) -> None:
        self.invite(root, "a")
        (wrong,) = assert_error(self.invite(root, "a", {**INVITING, "note": "Bob"}), 422)
        assert wrong["field"] == "Idempotency-Key"
        assert Invitation.objects.count() == 1

    def test_a_key_at_another_address_is_refused(self, root: Script, study: Study) -> None:
        self.invite(root, "a")
        path = f"campaigns/{study.campaign.pk}/terms/"
        assert_error(root.post(path, {"is_open": False}, Idempotency_Key="a"), 422)
        assert Campaign.objects.get(pk=study.campaign.pk).is_open

    def test_a_key_can_be_used_again_after_a_refusal(self, root: Script) -> None:
        assert_error(self.invite(root, "a", {"campaign": 10**6}), 422)
        assert not KeptAnswer.objects.exists()
        assert self.invite(root, "a").status_code == 201

    def test_a_key_is_kept_for_a_day_and_per_account(self, root: Script, study: Study) -> None:
        self.invite(root, "a")
        almost = timezone.now() - timedelta(hours=23, minutes=59)
        KeptAnswer.objects.update(created_at=almost)
        other = script_of(study.rita)
        self.invite(other, "b", {**INVITING, "campaign": study.campaign.pk})
        assert self.invite(root, "a").json()["link"] is None
        assert KeptAnswer.objects.count() == Invitation.objects.count() == 2

    def test_the_key_of_a_write_that_failed_is_not_kept(
        self, root: Script, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def broken(*_: Any) -> None:
            raise ZeroDivisionError

        with monkeypatch.context() as patch:
            patch.setattr(concurrency, "_store", broken)
            root.client.raise_request_exception = True
            with pytest.raises(ZeroDivisionError):
                self.invite(root, "a")
        assert not Invitation.objects.exists()
        assert not KeptAnswer.objects.exists()

    def test_the_stored_answer_lacks_its_secrets(self, root: Script) -> None:
        link = self.invite(root, "a").json()["link"]
        (row,) = KeptAnswer.objects.all()
        assert link.partition("key=")[2] not in row.body

    @pytest.mark.every_case
    @pytest.mark.parametrize("key", ["", "a b", "é", "x" * 65])
    def test_a_malformed_key_is_refused(self, root: Script, key: str) -> None:
        assert_error(self.invite(root, key), 400)
        assert not Invitation.objects.exists()

    def test_forms_are_compared_by_every_field_and_byte(self) -> None:
        def digest(*fields: tuple[str, str], name: str = "a.txt", content: bytes = b"one") -> str:
            data = MultiValueDict[str, Any]()
            for field, value in fields:
                data.appendlist(field, value)
            file = SimpleUploadedFile(name, content)
            data.appendlist("files", file)
            request: Any = SimpleNamespace(method="POST", get_full_path=lambda: "/x", data=data)
            made = concurrency.digest_of(request)
            assert file.read() == content, "the file must be left at its beginning for the view"
            return made

        digests = [
            digest(),
            digest(("name", "b")),
            digest(("name", "b"), ("name", "c")),
            digest(("name", "c"), ("name", "b")),
            digest(("mane", "b")),
            digest(name="b.txt"),
            digest(content=b"two"),
        ]
        assert len(set(digests)) == len(digests)
        assert digest(("a", "1"), ("b", "2")) == digest(("b", "2"), ("a", "1"))

    def test_a_key_counts_as_answered_only_for_its_own_account(
        self, root: Script, study: Study
    ) -> None:
        self.invite(root, "a")

        def came(user: User, key: str | None) -> bool:
            headers = {} if key is None else {concurrency.HEADER: key}
            request: Any = SimpleNamespace(headers=headers, user=user)
            return concurrency.has_stored_answer(request)

        assert came(study.root, "a")
        assert not came(study.root, "b")
        assert not came(study.root, None)
        assert not came(study.rita, "a")

    def test_a_repeated_key_returns_the_stored_answer_with_status_and_version(
        self, study: Study
    ) -> None:
        row = KeptAnswer(user=study.root, key="a", asked="it")
        for sent, hidden, data, etag in (
            (Response({"a": 1, "b": 2}, status=201, headers={"ETag": '"7"'}), ("b",),
             {"a": 1, "b": None}, '"7"'),
            (Response({"a": "é"}, status=202), (), {"a": "é"}, None),
            (Response(status=204), (), None, None),
        ):  # fmt: skip
            concurrency._store(row, sent, hidden)
            kept = KeptAnswer.objects.get()
            again = concurrency._stored_response(kept, "it")
            assert (again.data, again.status_code) == (data, sent.status_code)
            assert again.headers.get("ETag") == etag
        with pytest.raises(RefusedBodyError, match="used for another request"):
            concurrency._stored_response(row, "other")

    def test_a_repeated_key_returns_the_same_item_again(self, study: Study) -> None:
        ada = script_of(study.ada)
        path = f"campaigns/{study.campaign.pk}/next/"
        first, second = (ada.post(path, Idempotency_Key="n").json() for _ in range(2))
        assert first == second


@pytest.mark.postgresql
@pytest.mark.django_db
def test_keys_older_than_a_day_are_deleted(study: Study) -> None:
    for name, age in (("old", 25), ("new", 23)):
        at = timezone.now() - timedelta(hours=age)
        KeptAnswer.objects.create(user=study.root, key=name, asked="", created_at=at)
    forget_answers()
    assert KeptAnswer.objects.get().key == "new"


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_concurrent_equal_writes_are_carried_out_once() -> None:
    study = make_study()
    script, barrier = script_of(study.root), Barrier(4)
    found: list[Any] = []

    def send() -> None:
        barrier.wait()
        try:
            own = Script(script.token)
            found.append(own.post("invitations/", INVITING, Idempotency_Key="race"))
        finally:
            connection.close()

    threads = [Thread(target=send) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [answer.status_code for answer in found] == [201] * 4
    assert {answer.json()["id"] for answer in found} == {Invitation.objects.get().pk}

"""Rules that the models enforce by themselves, and raters whose labels a file may import."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import IntegrityError
from django.test import Client
from django.utils import timezone
from knox.models import AuthToken

from annotation.imports.importer import _check_raters, _is_imported, _unanswered, taken_names
from annotation.models import (
    LETTERS,
    Assignment,
    Campaign,
    Invitation,
    Rater,
    Response,
    User,
    new_pseudonym,
    rater_of,
)
from judging.models import FrozenError, JudgeCall, JudgeRun
from tandem.files.rows import InputError, Place
from tandem.labels.file.grouping import Group
from tandem.labels.file.rows import CheckedRow, LabelRow
from tests.page_cast import Study, client_of, make_study, page

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
database = pytest.mark.django_db


@pytest.fixture
def _still(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timezone, "now", lambda: NOW)


@pytest.mark.every_case
@pytest.mark.usefixtures("_still")
@pytest.mark.parametrize(
    ("is_open", "deadline", "takes"),
    [(True, None, True), (False, None, False), (True, NOW + SECOND, True), (True, NOW, False),
     (True, NOW - SECOND, False), (False, NOW + SECOND, False)],
)  # fmt: skip
def test_a_campaign_takes_answers_until_its_deadline(
    is_open: bool, deadline: datetime | None, takes: bool
) -> None:
    assert Campaign(is_open=is_open, deadline=deadline).takes_answers is takes


@pytest.mark.every_case
@pytest.mark.usefixtures("_still")
@pytest.mark.parametrize(
    ("used", "revoked", "expires", "state"),
    [(NOW, NOW, NOW - SECOND, "used"), (NOW, None, NOW + SECOND, "used"),
     (None, NOW, NOW + SECOND, "revoked"), (None, NOW, NOW - SECOND, "revoked"),
     (None, None, NOW + SECOND, "open"), (None, None, NOW, "expired"),
     (None, None, NOW - SECOND, "expired")],
)  # fmt: skip
def test_an_invitation_is_used_or_revoked_or_open_until_it_expires(
    used: datetime | None, revoked: datetime | None, expires: datetime, state: str
) -> None:
    assert Invitation(used_at=used, revoked_at=revoked, expires_at=expires).state == state


@database
class TestAccounts:
    def user(self, **values: Any) -> User:
        return User.objects.create(username="eve", password="x", role="annotator", **values)

    def test_a_new_password_ends_all_tokens_and_nothing_else_does(self) -> None:
        eve, ada = self.user(), User.objects.create(username="ada", role="annotator")
        for user in (eve, ada):
            AuthToken.objects.create(user)
        eve.role = "researcher"
        eve.save()
        assert AuthToken.objects.filter(user=eve).exists()
        eve.set_password("new")
        assert AuthToken.objects.filter(user=eve).exists()
        eve.save()
        assert list(AuthToken.objects.values_list("user", flat=True)) == [ada.pk]

    def test_a_password_of_a_new_account_ends_nothing(self) -> None:
        eve = User(username="eve", role="annotator")
        eve.set_password("new")
        eve.save()
        assert User.objects.get().check_password("new")

    @pytest.mark.every_case
    @pytest.mark.parametrize("change", [{"password": "y"}, {"role": "researcher"}, {"sessions": 1}])
    def test_a_session_ends_with_a_new_password_a_new_role_or_by_order(
        self, change: dict[str, Any]
    ) -> None:
        eve = self.user()
        before = eve.get_session_auth_hash()
        assert len(before) == 64
        User.objects.filter(pk=eve.pk).update(first_name="Eve")
        assert User.objects.get().get_session_auth_hash() == before
        User.objects.filter(pk=eve.pk).update(**change)
        assert User.objects.get().get_session_auth_hash() != before

    def test_a_person_answers_under_one_pseudonym(self) -> None:
        eve = self.user()
        rater = rater_of(eve)
        assert rater_of(eve) == rater
        assert (rater.user, rater.kind) == (eve, "human")
        assert rater.name.startswith("person-")

    def test_a_new_pseudonym_is_random_and_unused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        first = LETTERS[0]
        Rater.objects.create(name=f"person-{first * 6}")
        letters = iter(first * 6 + LETTERS[1] * 6)
        monkeypatch.setattr("annotation.models.people.secrets.choice", lambda _: next(letters))
        assert new_pseudonym() == f"person-{LETTERS[1] * 6}"

    def test_only_a_person_has_an_account(self) -> None:
        with pytest.raises(IntegrityError):
            Rater.objects.create(name="j", kind="judge", user=self.user())


def test_a_runs_failures_are_the_sum_of_its_reasons() -> None:
    assert JudgeRun(failures={"timeout": 2, "error": 3}).failed == 5
    assert JudgeRun(failures={}).failed == 0


def test_a_stored_call_cannot_be_changed() -> None:
    call = JudgeCall(pk=3)
    call._state.adding = False
    with pytest.raises(FrozenError, match="judge call 3 cannot be changed"):
        call.save()


@database
class TestSending:
    @pytest.mark.every_case
    @pytest.mark.parametrize("address", ["draft", "submit"])
    @pytest.mark.parametrize(("name", "status"), [("root", 403), ("ben", 404), (None, 302)])
    def test_only_annotators_send_and_only_for_their_own_assignments(
        self, address: str, name: str | None, status: int
    ) -> None:
        study = make_study()
        mine = study.assignment(study.ada)
        client = client_of(getattr(study, name)) if name else Client()
        assert client.post(page(address, mine)).status_code == status
        assert client_of(study.ada).get(page(address, mine)).status_code == 405


@database
class TestTakenNames:
    @pytest.fixture
    def study(self) -> Study:
        return make_study()

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("how", "taken"),
        [("nothing", False), ("account", True), ("slot", True), ("leased", True),
         ("imported", False), ("page", True), ("api", True), ("judge", True)],
    )  # fmt: skip
    def test_a_raters_name_is_taken_by_an_account_a_slot_or_an_answer_of_another_channel(
        self, study: Study, how: str, taken: bool
    ) -> None:
        rater = Rater.objects.create(name="x", user=study.ada if how == "account" else None)
        Rater.objects.create(name="other")
        item = study.campaign.items.first()
        assert item is not None
        if how not in ("nothing", "account"):
            made = Assignment.objects.create(
                item=item, rater=rater, slot=1 if how == "slot" else None, asked=[],
                status="leased" if how == "leased" else "open",
            )  # fmt: skip
            if how in ("imported", "page", "api", "judge"):
                Response.objects.create(
                    assignment=made, revision=1, current=True, payload={},
                    door="import" if how == "imported" else how,
                )  # fmt: skip
        assert taken_names(["x", "other", "nobody"]) == ({"x"} if taken else set())
        assert taken_names(["other"]) == set()

    def test_a_row_in_a_taken_name_is_refused_with_its_line(self, study: Study) -> None:
        name = rater_of(study.ada).name

        def groups(*raters: str) -> list[Group]:
            rows = [LabelRow("i", "u", "v", rater, "yes", place=Place("labels", line))
                    for line, rater in enumerate(raters, 1)]  # fmt: skip
            return [Group(r.rater, "i", 0, None, [CheckedRow(r, "u")]) for r in reversed(rows)]

        _check_raters(groups("free", "free"))
        for raters, line in ((("free", "free", "3", name), 4), ((name, name), 1)):
            with pytest.raises(InputError, match="answers on this site") as error:
                _check_raters(groups(*raters))
            assert (error.value.place.file, error.value.place.line) == ("labels", line)

    def test_only_an_equal_older_revision_counts_as_already_imported(self, study: Study) -> None:
        rater = Rater.objects.create(name="x")
        item = study.campaign.items.first()
        assert item is not None
        made = Assignment.objects.create(item=item, rater=rater, asked=[])
        for revision, current in ((1, False), (2, True)):
            Response.objects.create(
                assignment=made, revision=revision, current=current, payload={"n": revision},
                door="import",
            )  # fmt: skip

        def stands(revision: int | None, payload: dict[str, int]) -> bool:
            group: Any = type("G", (), {"revision": revision, "payload": lambda self: payload})()
            return _is_imported(made, group)

        assert stands(1, {"n": 1})
        assert not stands(1, {"n": 9})
        assert not stands(2, {"n": 2})
        assert not stands(3, {"n": 1})
        assert not stands(None, {"n": 1})


def test_a_missing_reason_stays_only_for_labels_without_an_answer() -> None:
    missing = {"a": {"v": "refused", "w": "timeout"}, "b": {"v": "error"}, "c": {"v": "error"}}
    payload = {"units": {"a": {"v": "yes", "w": None}, "b": {"v": "no"}}}
    assert _unanswered(missing, payload) == {"a": {"w": "timeout"}, "c": {"v": "error"}}

"""What the server does if work arrives twice, late, out of order or from an outdated page.

Cases A1 to A10; what the browser does in them is tested in tests/browser.
"""

from __future__ import annotations

import json
import random
import sys
import threading
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError
from django.db import connection
from django.test import Client
from django.urls import reverse

from annotation.answers.submission import submit
from annotation.models import Assignment, Draft, Response, Span
from annotation.presentation import asked_units, present, schema
from annotation.protocols import PROTOCOLS
from annotation.provenance import Basis, basis_of
from annotation.views.intake import gone_address
from tests import forks
from tests.cast import ROOT, manage_all, run, write_lines
from tests.databases import environment
from tests.page_cast import PASSWORD, TEXT, Study, answers, client_of, make_study, page, payload
from tests.patience import PATIENCE

pytestmark = pytest.mark.django_db
PEOPLE, ITEMS, QUOTA = 20, 40, 3


@pytest.fixture
def study() -> Study:
    return make_study()


def basis(assignment: Assignment) -> Basis:
    spec, asked = present(assignment.item), schema(assignment.item.campaign)
    return basis_of(asked, spec, asked_units(assignment, spec).values())


def fresh(form: dict[str, Any]) -> dict[str, Any]:
    """A form with its own key, from a page that has seen no earlier version."""
    return {"key": uuid.uuid4(), "seen": 0, "version": 0, **form}


def said(response: Response) -> str:
    unit: dict[str, str] = next(iter(response.payload["units"].values()))
    return unit["answerable"]


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_a1_of_two_tabs_saving_at_once_one_succeeds(study: Study) -> None:
    mine = study.assignment(study.ada)
    clients = [client_of(study.ada) for _ in range(2)]
    barrier, found = threading.Barrier(2), []

    def save(client: Client, code: str) -> None:
        barrier.wait()
        try:
            found.append(client.post(page("submit", mine), fresh(answers(code, code, code))))
        finally:
            connection.close()

    threads = [
        threading.Thread(target=save, args=each)
        for each in zip(clients, ("no", "invalid"), strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answer.status_code for answer in found) == [200, 409]
    refused = next(answer.json() for answer in found if answer.status_code == 409)
    assert refused["mine"] != refused["theirs"]
    first = Response.objects.get()
    kept = answers(*["no" if said(first) == "invalid" else "invalid"] * 3)
    over = fresh(kept) | {"seen": refused["revision"], "version": refused["version"]}
    assert clients[0].post(page("submit", mine), over).status_code == 200
    history = mine.responses.order_by("revision")
    assert {said(response) for response in history} == {"no", "invalid"}
    assert [response.current for response in history] == [False, True]


@pytest.mark.postgresql
@pytest.mark.processes
def test_a2_twenty_simultaneous_people_get_exactly_the_free_slots(house: Path) -> None:
    rows = [
        {
            "id": f"a2-{n}",
            "text": "Tell all.",
            "questions": [{"id": f"a2-{n}:0", "text": "Is all well?"}],
            "reports": [{"id": f"a2-r{n}", "text": "All is well 🌉.", "system": "s"}],
        }
        for n in range(ITEMS)
    ]
    manage_all(
        house,
        ("load_batch", write_lines(house / "a2.jsonl", rows), "--name", "a2"),
        ("create_campaign", "a2", "--protocol", "report-coverage", "--batch", "a2",
         "--pool", "open", "--raters-per-item", QUOTA),
    )  # fmt: skip
    done = forks.run(
        [sys.executable, "-m", "tests.annotation.crowd", "a2", str(PEOPLE), "1"],
        cwd=ROOT, env=environment(house), timeout=PATIENCE,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    given, _ = json.loads(done.stdout.splitlines()[-1])
    pairs = [(item, rater) for rater, _, item, *_ in given]
    assert len(pairs) == len(set(pairs)) == ITEMS * QUOTA
    assert set(Counter(item for item, _ in pairs).values()) == {QUOTA}


@pytest.mark.postgresql
@pytest.mark.parametrize("most", [150, pytest.param(1000, marks=pytest.mark.long)])
def test_a3_retries_over_a_bad_network_lose_and_double_nothing(study: Study, most: int) -> None:
    """Each save is sent until acknowledged; one request and one response of three are lost."""
    mine, client = study.assignment(study.ada), client_of(study.ada)
    chance = random.Random(4)
    acknowledged: list[str] = []
    tries = seen = version = 0
    while tries < most:
        form = fresh(answers(*chance.choices(("no", "invalid"), k=3)))
        form |= {"seen": seen, "version": version, "comment": f"save {len(acknowledged)}"}
        while True:
            tries += 1
            fate = chance.random()
            if fate < 1 / 3:
                continue
            answer = client.post(page("submit", mine), form)
            assert answer.status_code == 200
            if fate < 2 / 3:
                continue
            seen = answer.json()["revision"]
            acknowledged.append(str(form["key"]))
            break
    stored = list(mine.responses.order_by("revision").values_list("key", flat=True))
    assert stored == acknowledged
    assert len(stored) > most / 4


def test_a4_a_draft_gives_no_label_and_is_restored_completely(study: Study) -> None:
    mine, client = study.assignment(study.ada), client_of(study.ada)
    half = "half a ratio 🛶 cafe\u0301 שלום\r\nand\ton"
    form = answers(None, None, None, version=0, comment=half)
    assert client.post(page("draft", mine), form).status_code == 200
    assert Draft.objects.get().payload["comment"] == half
    assert not Response.objects.exists()


class TestA5:
    """A session that ended, and another account in the same browser."""

    def who(self, client: Client) -> dict[str, Any]:
        answer = client.get(reverse("who"))
        assert "no-store" in answer.headers["Cache-Control"]
        reply: dict[str, Any] = answer.json()
        return reply

    def test_a5_a_save_without_a_session_is_refused_and_stores_nothing(self, study: Study) -> None:
        mine = study.assignment(study.ada)
        for name in ("draft", "submit"):
            form = fresh(answers("no", "no", "no"))
            answer = Client().post(page(name, mine), form, headers={"accept": "application/json"})
            assert answer.status_code == 401
        assert not Response.objects.exists()

    def test_a5_the_fresh_token_allows_logging_in_and_saving(self, study: Study) -> None:
        mine, client = study.assignment(study.ada), Client(enforce_csrf_checks=True)
        self.who(client)
        given = {"username": "ada", "password": PASSWORD}
        token = {"x-csrftoken": client.cookies["csrftoken"].value}
        assert client.post(reverse("login"), given).status_code == 403
        assert client.post(reverse("login"), given, headers=token).status_code == 302
        form = fresh(answers("no", "no", "no"))
        assert client.post(page("submit", mine), form, headers=token).status_code == 403
        self.who(client)
        token = {"x-csrftoken": client.cookies["csrftoken"].value}
        assert client.post(page("submit", mine), form, headers=token).status_code == 200

    def test_a5_another_account_cannot_save_the_first_ones_work(self, study: Study) -> None:
        mine, ben = study.assignment(study.ada), client_of(study.ben)
        for name in ("draft", "submit"):
            form = fresh(answers("no", "no", "no"))
            assert ben.post(page(name, mine), form).status_code == 404
        assert not Draft.objects.exists()


class TestA6:
    """A late answer is never dropped, and never counts."""

    def late(self, study: Study, mine: Assignment, name: str) -> dict[str, Any]:
        form = fresh(answers("no", "no", "no", comment=f"late {name}"))
        stored = Draft.objects.filter(assignment=mine).first()
        answer = client_of(study.ada).post(
            page(name, mine), form | {"version": stored.version if stored else 0}
        )
        assert answer.status_code == 422
        body: dict[str, Any] = answer.json()
        assert "is kept as a draft" in body["problems"][0]["message"]
        assert Draft.objects.get(assignment=mine).version == body["kept"]["version"]
        assert Draft.objects.get(assignment=mine).payload["comment"] == f"late {name}"
        assert not Response.objects.exists()
        return body

    @pytest.mark.parametrize("name", ["draft", "submit"])
    def test_a6_an_answer_after_closing_is_kept_as_a_draft(self, study: Study, name: str) -> None:
        mine = study.assignment(study.ada)
        study.campaign.is_open = False
        study.campaign.save()
        self.late(study, mine, name)
        study.campaign.is_open = True
        study.campaign.save()
        form = fresh(answers("no", "no", "no")) | {"version": 1}
        assert client_of(study.ada).post(page("submit", mine), form).status_code == 200

    @pytest.mark.parametrize("name", ["draft", "submit"])
    @pytest.mark.parametrize("status", ["cancelled", "declined", "failed"])
    def test_a6_an_answer_to_a_released_item_is_kept_as_a_draft(
        self, study: Study, name: str, status: str
    ) -> None:
        mine = study.assignment(study.ada)
        Assignment.objects.filter(pk=mine.pk).update(status=status)
        assert (
            "no longer reserved for you" in self.late(study, mine, name)["problems"][0]["message"]
        )
        mine.refresh_from_db()
        assert mine.status == status
        assert client_of(study.ada).get(page("item", mine)).headers["Location"] == gone_address()

    @pytest.mark.postgresql
    def test_a6_two_late_saves_that_have_not_seen_each_other_conflict(self, study: Study) -> None:
        mine = study.assignment(study.ada)
        study.campaign.is_open = False
        study.campaign.save()
        self.late(study, mine, "submit")
        other = fresh(answers("invalid", "no", "no"))
        answer = client_of(study.ada).post(page("submit", mine), other)
        assert answer.status_code == 409
        assert answer.json()["theirs"]["units"]["q:0"]["answerable"] == "no"

    def test_a6_an_answer_stored_before_closing_is_acknowledged_afterwards(
        self, study: Study
    ) -> None:
        mine, client = study.assignment(study.ada), client_of(study.ada)
        form = fresh(answers("no", "no", "no"))
        client.post(page("submit", mine), form)
        Assignment.objects.filter(pk=mine.pk).update(status="cancelled")
        assert client.post(page("submit", mine), form).json()["revision"] == 1
        assert not Draft.objects.exists()

    def test_a6_a_late_draft_is_kept_whatever_key_it_sends(self, study: Study) -> None:
        mine, client = study.assignment(study.ada), client_of(study.ada)
        form = fresh(answers("no", "no", "no"))
        client.post(page("submit", mine), form)
        study.campaign.is_open = False
        study.campaign.save()
        late = {**form, "seen": 1, "comment": "later"}
        answer = client.post(page("draft", mine), late)
        assert (answer.status_code, answer.json()["kept"]["version"]) == (422, 1)


@pytest.mark.postgresql
@pytest.mark.parametrize("same_key", [True, False])
def test_a7_a_replay_or_second_click_is_stored_once(study: Study, same_key: bool) -> None:
    mine, client = study.assignment(study.ada), client_of(study.ada)
    form = fresh(answers("yes", "no", "no"))
    for _ in range(5):
        form = form if same_key else form | {"key": uuid.uuid4()}
        assert client.post(page("submit", mine), form).json()["revision"] == 1
    assert Response.objects.count() == Span.objects.count() == 1


class TestA8:
    """An answer records what its rater was shown; one from an outdated page is refused."""

    def save(self, study: Study, name: str, seen: str, **more: Any) -> Any:
        mine = study.assignment(study.ada)
        form = fresh(answers("no", "no", "no")) | {"basis": seen} | more
        return client_of(study.ada).post(page(name, mine), form)

    def test_a8_the_answer_stores_the_basis_of_its_page(self, study: Study) -> None:
        mine = study.assignment(study.ada)
        shown = client_of(study.ada).get(page("item", mine)).content.decode()
        assert f'data-basis="{basis(mine)}"' in shown
        assert self.save(study, "submit", str(basis(mine))).status_code == 200
        assert Response.objects.get().basis == str(basis(mine))

    def test_a8_every_channel_but_imports_stores_the_basis(self, study: Study) -> None:
        for door, expected in (("page", True), ("api", True), ("judge", True), ("import", False)):
            Response.objects.all().delete()
            mine = study.assignment(study.ada)
            stored = submit(mine, payload("no"), door).response  # type: ignore[arg-type]
            assert stored.basis == (str(basis(mine)) if expected else None)
            Assignment.objects.all().update(status="open")

    @pytest.mark.parametrize("name", ["draft", "submit"])
    @pytest.mark.parametrize(("place", "what"), [(0, "questions"), (1, "texts")])
    def test_a8_another_schema_or_text_is_a_clear_conflict(
        self, study: Study, name: str, place: int, what: str
    ) -> None:
        parts = str(basis(study.assignment(study.ada))).split("-")
        parts[place] = "0" * 12
        answer = self.save(study, name, "-".join(parts))
        assert answer.status_code == 409
        assert answer.json()["changed"] == [what]
        assert "reload it" in answer.json()["error"]
        assert not Draft.objects.exists()
        assert not Response.objects.exists()

    def test_a8_an_answer_under_an_older_guideline_is_accepted_and_flagged(
        self, study: Study
    ) -> None:
        parts = str(basis(study.assignment(study.ada))).split("-")
        older = "-".join((*parts[:2], "0" * 12))
        assert self.save(study, "submit", older).status_code == 200
        assert Response.objects.get().basis == older

    @pytest.mark.parametrize("odd", ["x", "-", "a-b-c", "0" * 400, "é-é-é"])
    def test_a8_a_malformed_basis_counts_as_another_page(self, study: Study, odd: str) -> None:
        assert self.save(study, "submit", odd).status_code == 409

    def test_a8_a_save_from_before_the_change_is_acknowledged(
        self, study: Study, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        mine, client = study.assignment(study.ada), client_of(study.ada)
        form = fresh(answers("no", "no", "no")) | {"basis": str(basis(mine))}
        client.post(page("submit", mine), form)
        other = Basis("0" * 12, "0" * 12, "0" * 12)
        monkeypatch.setattr("annotation.views.answers.basis_of", lambda *_: other)
        again = client.post(page("submit", mine), form)
        assert (again.status_code, again.json()["revision"]) == (200, 1)
        assert Response.objects.count() == 1

    def test_a8_the_basis_depends_on_texts_questions_and_guideline_only(self, study: Study) -> None:
        mine = study.assignment(study.ada)
        spec, asked = present(mine.item), schema(mine.item.campaign)
        units = list(asked_units(mine, spec).values())
        first = basis_of(asked, spec, units)
        assert basis_of(asked, spec, units[::-1]) == first
        more = basis_of(asked, spec, units[:2])
        assert first.differs(str(more)) == ["texts"]
        other = schema_of_rating()
        assert "questions" in first.differs(str(basis_of(other, spec, units)))
        assert "hidden-system" not in str(first)

    def test_a8_a_batch_cannot_be_replaced_by_another_load(
        self, study: Study, tmp_path: Path
    ) -> None:
        row = {"id": "q", "text": "Other.", "reports": [{"id": "r", "text": "!", "system": "s"}]}
        path = write_lines(tmp_path / "other.jsonl", [row])
        with pytest.raises(CommandError, match="harbour"):
            run("load_batch", path, "--name", "harbour")
        assert study.campaign.batch.queries.get().text == "What of the harbour? ⛵"


def schema_of_rating() -> Any:
    from annotation.protocols.schema import schema_of

    return schema_of(PROTOCOLS["report-coverage"], ("answerable", "rating"))


QUOTES = (
    "Zoë 🛶",
    "harbour\tat",
    "dawn.\r\n\r\nThe",
    "👩‍👩‍👧",
    "cafe\u0301",
    "שלום לכולם",
    "🌉 in 1999.\nThe",
)


@pytest.mark.parametrize("quote", QUOTES)
def test_a10_quotes_count_code_points_and_wrong_offsets_are_refused(
    study: Study, quote: str
) -> None:
    mine, client = study.assignment(study.ada), client_of(study.ada)
    start = TEXT.index(quote)
    for beside in (start - 1, start + 1, len(TEXT[:start].encode("utf-16-le")) // 2 + 2):
        if beside < 0:
            continue
        form = fresh(answers("yes", "no", "no", quote=(quote, beside)))
        refused = client.post(page("submit", mine), form)
        assert refused.status_code == 422
        assert refused.json()["problems"][0]["unit"] in ("q:0", "u0")
    form = fresh(answers("yes", "no", "no", quote=(quote, start)))
    assert client.post(page("submit", mine), form).status_code == 200
    span = Span.objects.get()
    assert TEXT[span.start : span.end] == span.quote == quote

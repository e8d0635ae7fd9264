"""Preparing a batch through the API: what the pages can do, under the same rules."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from annotation.assignments.queue import next_assignment
from annotation.models import Campaign, User, rater_of
from annotation.registry import STEPS
from audit.models import Event
from datasets.material import batch_rows
from datasets.models import Batch
from judging.models import Judge, JudgeRun, Review
from tests.annotation.preparation.cast import (
    EMPTY,
    FERRY,
    INQUIRY,
    REPORT,
    TOPIC,
    Json,
    author,
    load,
    point,
    prepare,
    researcher,
)
from tests.annotation.preparation.test_preparation import POINTS, WROTE
from tests.api.cast import Script, assert_error, script_of
from tests.once import once
from tests.team_cast import join_team

pytestmark = pytest.mark.django_db
INVENTED = {"t1/d2": {"holds_points": "yes", "points": [point("It burnt.", "caught fire")]}}


@once
def user(folder: Path) -> User:
    """A researcher who has begun the step; an author has written for it."""
    load(folder, TOPIC, EMPTY)
    made = researcher()
    assert script_of(made).post(at("key-points/")).status_code == 201
    prepare("key-points", "documents", author(), WROTE)
    return made


@pytest.fixture
def rosa(user: User) -> Script:
    return script_of(user)


def at(rest: str = "", batch: str = "documents") -> str:
    return f"batches/{Batch.objects.get(name=batch).pk}/preparation/{rest}"


def listed(script: Script, query: str = "") -> list[Json]:
    found: list[Json] = script.get(at(f"key-points/answers/?{query}")).json()["results"]
    return found


def one(script: Script, place: int = 0) -> str:
    """The address of an answer by its place in the list."""
    return f"preparation/{listed(script)[place]['id']}/"


def changed() -> Json:
    """The first answer without its second point."""
    answer: Json = deepcopy(POINTS)
    answer["t1/d1"]["points"].pop()
    return answer


class TestSteps:
    def test_all_steps_are_listed_with_runs_and_counts(self, rosa: Script) -> None:
        rosa.post(f"{one(rosa, 2)}review/", {"verdict": "rejected"})
        steps = {each["step"]: each for each in rosa.get(at()).json()["results"]}
        assert list(steps) == list(STEPS)
        (listed_author,) = steps["key-points"]["authors"]
        run = JudgeRun.objects.get()
        assert listed_author == {
            "author": "author",
            "answers": {"accepted": 0, "changed": 0, "rejected": 1, "waiting": 2},
            "missing": {},
            "is_ready": False,
            "runs": [{"id": run.pk, "state": "done"}],
        }
        assert steps["key-points"]["campaign"] == run.campaign_id
        assert (steps["request"]["asks"], steps["request"]["campaign"]) == (True, None)
        assert (steps["sentences"]["asks"], steps["ratings"]["thresholds"]) == (False, {"eta": 3.0})

    def test_an_unknown_step_is_not_found(self, rosa: Script) -> None:
        for path in ("nothing/", "nothing/answers/"):
            assert_error(rosa.get(at(path)), 404)
        assert_error(rosa.get(at("request/answers/")), 404)

    def test_another_researchers_work_is_hidden(self, rosa: Script) -> None:
        place = one(rosa)
        other = researcher("olga")
        join_team(other, role="member")
        olga = script_of(other)
        (step,) = [s for s in olga.get(at()).json()["results"] if s["step"] == "key-points"]
        assert (step["hidden"], step["campaign"], step["authors"]) == (True, None, [])
        assert_error(olga.post(at("key-points/")), 403)
        for answer in (
            olga.get(at("key-points/answers/")),
            olga.get(place),
            olga.post(f"{place}review/", {"verdict": "rejected"}),
            olga.post(at("key-points/accept/"), {"author": "author"}),
            olga.post(at("key-points/build/"), {"name": "n", "author": "author"}),
        ):
            assert_error(answer, 404)
        assert not Review.objects.exists()

    def test_an_admin_sees_and_reviews_all(self, rosa: Script) -> None:
        root = script_of(User.objects.create_user("root", role=User.Role.ADMIN))
        assert root.post(f"{one(root)}review/", {"verdict": "accepted"}).status_code == 200

    def test_a_token_for_reading_reviews_nothing(self, rosa: Script, user: User) -> None:
        reader = script_of(user, "read")
        place = one(reader)
        assert reader.get(place).status_code == 200
        for path, sent in (
            (f"{place}review/", {"verdict": "accepted"}),
            (at("key-points/accept/"), {"author": "author"}),
            (at("key-points/build/"), {"name": "n", "author": "author"}),
            (at("request/"), None),
        ):
            assert_error(reader.post(path, sent), 403)

    def test_answers_are_hidden_from_an_account_with_an_open_item(
        self, rosa: Script, user: User
    ) -> None:
        place = one(rosa)
        Campaign.objects.update(is_open=True)
        assert next_assignment(Campaign.objects.get(), rater_of(user))
        for answer in (
            rosa.get(at("key-points/answers/")),
            rosa.get(place),
            rosa.post(f"{place}review/", {"verdict": "rejected"}),
            rosa.post(at("key-points/accept/"), {"author": "author"}),
            rosa.post(at("key-points/build/"), {"name": "n", "author": "author"}),
        ):
            assert_error(answer, 403)
            assert "open item" in answer.json()["error"]
        assert not Review.objects.exists()


class TestAnswers:
    def test_answers_are_listed_by_state_and_author(self, rosa: Script) -> None:
        prepare("key-points", "documents", author("other"), {**WROTE, INQUIRY: INVENTED})
        rosa.post(f"{one(rosa)}review/", {"verdict": "rejected"})
        counts = {
            "": 6, "state=waiting": 5, "state=rejected": 1, "state=accepted": 0,
            "author=other": 3, "author=oth": 0, "author=author&state=waiting": 2,
        }  # fmt: skip
        assert {query: len(listed(rosa, query)) for query in counts} == counts

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        "query", ["state=fine", "verdict=accepted", "review__by=1", "page_size=201", "page=0"]
    )
    def test_no_other_filter_is_taken(self, rosa: Script, query: str) -> None:
        assert_error(rosa.get(at(f"key-points/answers/?{query}")), 400)

    def test_answers_come_in_pages_in_the_order_of_the_items(self, rosa: Script) -> None:
        page = rosa.get(at("key-points/answers/?page_size=2")).json()
        assert (page["count"], [each["item"] for each in page["results"]]) == (
            3,
            ["t1/d1", "t1/d2"],
        )
        assert page["next"].endswith("page_size=2&page=2")

    def test_an_answer_comes_with_its_texts_and_its_schema(self, rosa: Script) -> None:
        answer = rosa.get(one(rosa)).json()
        assert answer["texts"] == [
            {"field": "passage", "heading": "The loss of the Aurora", "text": FERRY}
        ]
        assert answer["answer"] == answer["written"] == POINTS
        assert (answer["step"], answer["query"], answer["problems"]) == ("key-points", "ferry", [])
        assert list(answer["units"]) == answer["answer_schema"]["required"] == ["t1/d1"]
        assert (answer["verdict"], answer["note"], answer["reviewed_at"]) == (None, "", None)

    def test_an_answer_in_another_campaign_cannot_be_reviewed(self, rosa: Script) -> None:
        place = one(rosa)
        Campaign.objects.update(name="a study")
        assert_error(rosa.get(place), 404)
        assert_error(rosa.post(f"{place}review/", {"verdict": "rejected"}), 404)


class TestReviewing:
    def test_an_answer_is_accepted_as_written(self, rosa: Script, user: User) -> None:
        place = one(rosa)
        review = rosa.post(f"{place}review/", {"verdict": "accepted", "note": " fine "}).json()
        assert (review["verdict"], review["note"], review["answer"]) == ("accepted", "fine", POINTS)
        assert review == rosa.get(place).json()
        made = Review.objects.get()
        assert (made.verdict, made.answer, made.by.user) == ("accepted", None, user)
        assert review["reviewed_by"] == made.by.name

    @pytest.mark.first_case
    @pytest.mark.parametrize("verdict", ["accepted", "changed"])
    def test_a_changed_answer_is_stored_beside_the_original(
        self, rosa: Script, verdict: str
    ) -> None:
        sent = {"verdict": verdict, "answer": changed()}
        review = rosa.post(f"{one(rosa)}review/", sent).json()
        assert (review["verdict"], review["answer"], review["written"]) == (
            "changed",
            changed(),
            POINTS,
        )

    def test_a_change_needs_the_new_answer(self, rosa: Script) -> None:
        (wrong,) = assert_error(rosa.post(f"{one(rosa)}review/", {"verdict": "changed"}), 422)
        assert wrong["field"] == "answer"

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        "answer",
        [
            {},
            {"t1/d1": {}},
            {"t1/d1": {"holds_points": "yes", "points": [point("It burnt.", "caught fire")]}},
            {"t1/d1": {"holds_points": "perhaps", "points": None}},
            {"t1/d1": [1], "t9": None},
        ],
    )
    def test_an_invalid_answer_is_refused_with_its_problems(
        self, rosa: Script, answer: Json
    ) -> None:
        sent = {"verdict": "accepted", "answer": answer}
        assert assert_error(rosa.post(f"{one(rosa)}review/", sent), 422)
        assert not Review.objects.exists()

    def test_a_rejection_needs_no_valid_answer(self, rosa: Script) -> None:
        sent = {"verdict": "rejected", "answer": {}, "note": "no"}
        review = rosa.post(f"{one(rosa)}review/", sent).json()
        assert (review["verdict"], review["answer"]) == ("rejected", POINTS)

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("sent", "field"),
        [
            ({}, "verdict"),
            ({"verdict": "fine"}, "verdict"),
            ({"verdict": "accepted", "note": "x" * 2001}, "note"),
            ({"verdict": "accepted", "by": "root"}, "by"),
        ],
    )
    def test_an_invalid_review_is_refused_with_its_field(
        self, rosa: Script, sent: Json, field: str
    ) -> None:
        (wrong,) = assert_error(rosa.post(f"{one(rosa)}review/", sent), 400)
        assert wrong["field"] == field

    def test_a_review_that_the_client_has_not_seen_is_not_overwritten(self, rosa: Script) -> None:
        place = one(rosa)
        seen = rosa.get(place)["ETag"]
        first = rosa.post(f"{place}review/", {"verdict": "rejected"}, If_Match=seen)
        assert first["ETag"] != seen
        for headers in ({"If_Match": seen}, {}):
            late = rosa.post(f"{place}review/", {"verdict": "accepted"}, **headers)
            assert_error(late, 409)
            assert late.json()["current"] == rosa.get(place).json()
        assert Review.objects.get().verdict == "rejected"
        again = rosa.post(f"{place}review/", {"verdict": "accepted"}, If_Match=first["ETag"])
        assert again.json()["verdict"] == "accepted"

    def test_two_reviews_with_the_same_key_are_stored_once(self, rosa: Script) -> None:
        place = one(rosa)
        sent = {"verdict": "accepted"}
        both = [rosa.post(f"{place}review/", sent, Idempotency_Key="r1") for _ in range(2)]
        assert [each.status_code for each in both] == [200, 200]
        assert both[0].json() == both[1].json()
        assert both[0]["ETag"] == both[1]["ETag"]
        assert Event.objects.filter(event="preparation.reviewed").count() == 1
        other = rosa.post(f"{place}review/", {"verdict": "rejected"}, Idempotency_Key="r1")
        assert_error(other, 422)


class TestAcceptingAll:
    def test_an_author_without_answers_is_refused(self, rosa: Script) -> None:
        author("other")
        (wrong,) = assert_error(rosa.post(at("key-points/accept/"), {"author": "other"}), 422)
        assert wrong["field"] == "author"


class TestBuilding:
    def build(self, script: Script, step: str = "key-points", **sent: Any) -> Any:
        headers = {name: sent.pop(name) for name in list(sent) if name == "Idempotency_Key"}
        return script.post(at(f"{step}/build/"), {"name": "new", **sent}, **headers)

    def test_building_creates_a_batch_of_the_accepted_answers(self, rosa: Script) -> None:
        rosa.post(at("key-points/accept/"), {"author": "author"})
        both = [self.build(rosa, author="author", Idempotency_Key="b") for _ in range(2)]
        assert [each.status_code for each in both] == [201, 201]
        built = both[0].json()
        made = Batch.objects.get(name="new")
        assert (built["batch"]["id"], built["queries"], built["left_out"]) == (made.pk, 2, [])
        assert [len(query.key_points) for query in batch_rows(made)] == [3, 0]
        assert both[1].json() == built
        assert rosa.get(f"batches/{made.pk}/").json()["counts"]["key_points"] == 3

    def test_building_before_all_reviews_is_refused_unless_it_is_partial(
        self, rosa: Script
    ) -> None:
        refused = self.build(rosa, author="author")
        assert_error(refused, 409)
        assert "3 not reviewed" in refused.json()["error"]
        assert self.build(rosa, author="author", partial=True).status_code == 201

    def test_building_by_rule_needs_no_author(self, rosa: Script) -> None:
        assert self.build(rosa, "sentences").json()["queries"] == 2
        (first, _) = batch_rows(Batch.objects.get(name="new"))
        assert first.reports[0].sentences is not None

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("step", "sent", "field"),
        [
            ("key-points", {"name": "documents", "author": "author"}, "name"),
            ("key-points", {"partial": True}, "author"),
            ("key-points", {"author": "nobody"}, "author"),
            ("sentences", {"author": "author"}, "author"),
            ("key-points", {"author": "author", "thresholds": {"eta": 3}}, "thresholds"),
        ],
    )
    def test_an_invalid_request_is_refused_with_its_field(
        self, rosa: Script, step: str, sent: Json, field: str
    ) -> None:
        (wrong,) = assert_error(self.build(rosa, step, **sent), 422)
        assert wrong["field"] == field
        assert Batch.objects.count() == 1

    def test_an_empty_batch_is_not_created(self, rosa: Script) -> None:
        rosa.post(at("request/"))
        nothing = {"usable": "no", "request": None, "questions": None}
        prepare(
            "request",
            "documents",
            Judge.objects.get(),
            {REPORT: {"t1": nothing}, "Home |": {"t2": nothing}},
        )
        rosa.post(at("request/accept/"), {"author": "author"})
        refused = self.build(rosa, "request", author="author")
        assert_error(refused, 422)
        assert "leaves no query" in refused.json()["error"]

"""The API can begin a preparation step, and lists the problems of answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from annotation.models import Campaign, User
from judging.models import JudgeRun
from tests.annotation.preparation.cast import (
    EMPTY,
    INQUIRY,
    TOPIC,
    author,
    load,
    prepare,
    researcher,
)  # fmt: skip
from tests.annotation.preparation.test_preparation import WROTE
from tests.api.cast import assert_error, script_of
from tests.api.test_preparation import INVENTED, at, one
from tests.once import once

pytestmark = pytest.mark.django_db


@once
def user(folder: Path) -> User:
    load(folder, TOPIC, EMPTY)
    return researcher()


def test_a_step_is_begun_once_and_a_run_can_be_started_on_it(
    user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("judging.tasks.ring", lambda run: None)
    script, writer = script_of(user), author()
    first, second = (script.post(at("key-points/")) for _ in range(2))
    assert (first.status_code, second.status_code) == (201, 200)
    assert first.json() == second.json() == script.get(at("key-points/")).json()
    sent = {"judge": writer.pk, "campaign": first.json()["campaign"]}
    assert script.post("runs/", sent).status_code == 201
    assert JudgeRun.objects.get().campaign.name == "documents: key-points"


@pytest.mark.parametrize("step", ["sentences", "scoring"])
def test_a_step_that_asks_nobody_or_has_no_items_cannot_be_begun(user: User, step: str) -> None:
    assert_error(script_of(user).post(at(f"{step}/")), 422)
    assert not Campaign.objects.exists()


def test_an_answer_lists_its_problems(user: User) -> None:
    script = script_of(user)
    script.post(at("key-points/"))
    prepare("key-points", "documents", author(), {**WROTE, INQUIRY: INVENTED})
    (problem,) = script.get(one(script, 1)).json()["problems"]
    assert "'caught fire' was not found" in problem


def test_accepting_all_skips_answers_with_problems(user: User) -> None:
    script = script_of(user)
    script.post(at("key-points/"))
    prepare("key-points", "documents", author(), {**WROTE, INQUIRY: INVENTED})
    sent = {"author": "author"}
    results = [script.post(at("key-points/accept/"), sent).json() for _ in range(2)]
    assert results == [
        {"accepted": 2, "left": 1, "reviewed_before": 0},
        {"accepted": 0, "left": 1, "reviewed_before": 2},
    ]

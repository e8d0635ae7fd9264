"""Adjudicators see sets of codes in words, and pick a set."""

from __future__ import annotations

import html
import json
import re
from typing import Any

import pytest
from django.urls import reverse

from annotation.adjudication.disputes import counted_labels, disputes
from annotation.answers.submission import submit
from annotation.models import Assignment, Label, Rater, User
from annotation.people.membership import add_member
from tests.page_cast import Study, client_of
from tests.several_cast import make_issues_study

pytestmark = pytest.mark.django_db
BOAT = "verdreht–ö 🛶"


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> Study:
    """Ada and Ben name the same set of the first question, in turn, and differ on the second."""
    made = make_issues_study(monkeypatch, questions=("Who?", "What?"), reports=1)
    give(made.assignment(made.ada), {"issues": [BOAT, "left-out"], "harm": "5"}, {"issues": []})
    give(
        made.assignment(made.ben),
        {"issues": ["left-out", BOAT], "harm": 5},
        {"issues": [BOAT, "left-out"], "harm": "100"},
    )
    return made


def give(assignment: Assignment, *answers: dict[str, Any]) -> None:
    units = {f"q:{n}": {"harm": None, "evidence": [], **each} for n, each in enumerate(answers)}
    submit(assignment, {"units": units, "comment": None}, "api")


def dora_of(study: Study) -> User:
    dora = User.objects.create(username="dora", role="annotator")
    add_member(study.campaign, dora, "adjudicator")
    return dora


def test_equal_sets_agree_in_whatever_order_they_were_sent(study: Study) -> None:
    (dispute,) = disputes(counted_labels(study.campaign))
    assert dispute.position == 1
    assert [each.variable for each in dispute.disagreements] == ["issues"]


def test_a_judge_with_another_set_is_a_dispute(study: Study) -> None:
    item = study.campaign.items.get()
    judge = Rater.objects.create(name="m", kind="judge")
    of_judge = Assignment.objects.create(item=item, rater=judge, asked=["q:0", "q:1"])
    give(of_judge, {"issues": "cannot-tell"}, {"issues": []})
    assert [each.position for each in disputes(counted_labels(study.campaign))] == [0, 1]


def test_an_adjudicator_copies_a_set_and_decides(study: Study) -> None:
    dora, unit = dora_of(study), study.campaign.items.get().units.get(name="q:1")
    client, where = client_of(dora), [study.campaign.pk, unit.pk]
    page = html.unescape(client.get(reverse("adjudication-unit", args=where)).content.decode())
    assert "Left out, Twisted 🛶" in page
    assert "None of these" in page
    cards = [json.loads(each) for each in re.findall(r'data-answer="(.*?)" data-name', page)]
    assert sorted(map(str, (each["issues"] for each in cards))) == sorted(
        map(str, ([], ["left-out", BOAT]))
    )
    (copied,) = [each for each in cards if each["issues"]]
    assert copied["harm"] == "100"
    form = {
        "unit-0": "q:1",
        "unit-0-issues": json.dumps(copied["issues"]),
        "unit-0-harm": copied["harm"],
        "unit-0-evidence": "[]",
        "comment": "It is twisted.",
        "version": 0,
        "seen": 0,
    }
    sent = client.post(reverse("decide", args=where), form)
    assert sent.status_code == 200, sent.content
    decided = Label.objects.filter(response__assignment__rater__kind="reference")
    assert dict(decided.values_list("variable", "value")) == {
        "issues": f'["left-out", "{BOAT}"]',
        "harm": "100",
    }
    again = html.unescape(client.get(reverse("adjudication-unit", args=where)).content.decode())
    assert "<b>Left out, Twisted 🛶, Fatal</b>" in again
    queue = client.get(reverse("adjudication", args=[study.campaign.pk]), {"state": "decided"})
    shown = html.unescape(queue.content.decode())
    assert "Left out, Twisted 🛶" in shown
    assert '["left-out"' not in shown

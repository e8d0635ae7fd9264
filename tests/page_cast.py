"""A small study for the pages: two annotators, a researcher, an admin, and awkward texts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.test import Client
from django.urls import reverse

from annotation.answers.submission import submit
from annotation.assignments.queue import next_assignment
from annotation.campaign_setup.creation import create_campaign
from annotation.campaigns.design import Design
from annotation.models import Assignment, Campaign, Draft, Rater, User, rater_of
from datasets.models import Batch, Query, Question, Report
from tests import cast

PASSWORD = "a-long-enough-word"
TEXT = (
    "Zoë 🛶 crossed the harbour\tat dawn.\r\n\r\n"
    "The 👩‍👩‍👧 crew – cafe\u0301 – paid 40 £ & <b>left</b>. "
    "שלום לכולם said the pilot 🌉 in 1999.\nThe pier held."
)
QUESTIONS = ("Who crossed the harbour?", "What did the crew pay?", "Did the pier hold?")
# The roles that may open each page. All others are refused.
OPEN_TO = {
    "home": {"annotator", "researcher", "admin"},
    "login": {"anonymous", "annotator", "researcher", "admin"},
    "work": {"annotator", "researcher"},
    "finished": {"annotator", "researcher"},
    "campaigns": {"researcher", "admin"},
    "campaign-new": {"researcher", "admin"},
    "campaign": {"researcher", "admin"},
    "batches": {"researcher", "admin"},
    "batch": {"researcher", "admin"},
    "doctor": {"admin"},
}


@dataclass
class Study:
    campaign: Campaign
    ada: User
    ben: User
    rita: User
    root: User

    def assignment(self, user: User) -> Assignment:
        found = next_assignment(self.campaign, rater_of(user))
        assert found is not None
        return found


def make_study(questions: tuple[str, ...] = QUESTIONS, reports: int = 2, people: int = 2) -> Study:
    batch = Batch.objects.create(name="harbour", format="native", digest="0" * 64)
    query = Query.objects.create(batch=batch, key="q", position=0, text="What of the harbour? ⛵")
    Question.objects.bulk_create(
        Question(batch=batch, query=query, key=f"q:{n}", position=n, text=text)
        for n, text in enumerate(questions)
    )
    Report.objects.bulk_create(
        Report(
            batch=batch,
            query=query,
            key=f"hidden-system-{n}:r",
            position=n,
            text=TEXT if n == 0 else f"Report {n}. The pier held. 🌉",
            system=f"hidden-system-{n}",
        )
        for n in range(reports)
    )
    made = create_campaign(
        "Pilot", "report-coverage", batch, Design(raters_per_item=people), pool="open"
    )
    return Study(
        made.campaign,
        ada=_user("ada", "annotator"),
        ben=_user("ben", "annotator"),
        rita=_user("rita", "researcher"),
        root=_user("root", "admin"),
    )


def study_of(
    protocol: str,
    folder: Path,
    design: Design | None = None,
    lines: Sequence[cast.Line] = cast.BATCH,
) -> Study:
    """Return the same people with a campaign of any protocol over the small cast, batch `b`."""
    cast.load(folder, lines)
    made = create_campaign(
        "Study", protocol, Batch.objects.get(name="b"), design or Design(), pool="open"
    )
    people = {"ada": "annotator", "ben": "annotator", "rita": "researcher", "root": "admin"}
    return Study(made.campaign, **{name: _user(name, role) for name, role in people.items()})


def _user(name: str, role: str) -> User:
    # One round of hashing, since these tests are not about guessing passwords.
    password = PBKDF2PasswordHasher().encode(PASSWORD, "salt", iterations=1)
    return User.objects.create(username=name, password=password, role=role)


def client_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def page(name: str, assignment: Assignment) -> str:
    return reverse(name, args=[assignment.uid])


def answers(
    *codes: str | None, quote: tuple[str, int] = ("Zoë 🛶", 0), **more: Any
) -> dict[str, Any]:
    """The fields of the page's form for the first units, each yes with one highlight."""
    form: dict[str, Any] = dict(more)
    for n, code in enumerate(codes):
        form[f"unit-{n}"] = f"q:{n}"
        evidence = [{"quote": quote[0], "start": quote[1]}] if code == "yes" else []
        form[f"unit-{n}-evidence"] = json.dumps(evidence)
        if code:
            form[f"unit-{n}-answerable"] = code
    return form


def payload(code: str, comment: str | None = None) -> dict[str, Any]:
    unit = {"answerable": code, "evidence": []}
    return {"units": {f"q:{n}": dict(unit) for n in range(3)}, "comment": comment}


def plant(study: Study) -> list[Assignment]:
    """Add answers to the items that Ada sees: Ben's, with a revision, and a judge's."""
    done = study.assignment(study.ben)
    submit(done, payload("no", "planted-comment-of-ben"), "page")
    begun = study.assignment(study.ben)
    Draft.objects.create(assignment=begun, payload=payload("no", "planted-draft-of-ben"))
    judge = Rater.objects.create(name="planted-judge", kind="judge")
    asked = Assignment.objects.create(item=done.item, rater=judge, asked=done.asked)
    submit(asked, payload("no", "planted-judge"), "judge")
    return [done, begun, asked]

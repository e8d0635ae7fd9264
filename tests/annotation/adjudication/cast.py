"""Three annotators and a judge who disagree on one report, and two adjudicators."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from annotation.adjudication.decisions import decide, find_case
from annotation.answers.submission import Circumstances, Outcome, submit
from annotation.models import Assignment, Item, Rater, Unit, User
from annotation.people.membership import add_member
from tests.page_cast import QUESTIONS, Study, make_study

BOAT, SHALOM = ("Zoë 🛶", 0), ("שלום לכולם", 88)
REASON = "The text says so: 🌉."


@dataclass
class Dispute:
    """`units` are those of the first report: people tie, split two to one, and agree."""

    study: Study
    cleo: User
    dora: User
    dirk: User
    judge: Rater
    item: Item

    @property
    def units(self) -> list[Unit]:
        return list(self.item.units.order_by("position"))


def make_dispute() -> Dispute:
    """Ada: yes, yes, no. Ben: no, yes, no. Cleo: invalid, no, no. The judge: yes, yes, yes.

    So the people are tied on the first question, two to one on the second, and the judge alone
    differs from them on the third.
    """
    study = make_study(people=3)
    cleo, dora, dirk = (
        User.objects.create(username=name, role="annotator") for name in ("cleo", "dora", "dirk")
    )
    for user in (dora, dirk):
        add_member(study.campaign, user, "adjudicator")
    answer(study.assignment(study.ada), "yes", "yes", "no", comment="hard to say")
    answer(study.assignment(study.ben), "no", "yes", "no")
    answer(study.assignment(cleo), "invalid", "no", "no")
    item = study.campaign.items.get(position=0)
    judge = Rater.objects.create(name="planted-judge", kind="judge")
    of_judge = Assignment.objects.create(item=item, rater=judge, asked=["q:0", "q:1", "q:2"])
    answer(of_judge, "yes", "yes", "yes")
    return Dispute(study, cleo, dora, dirk, judge, item)


def answer(assignment: Assignment, *codes: str, comment: str | None = None) -> None:
    units = {f"q:{n}": one(code) for n, code in enumerate(codes)}
    submit(assignment, {"units": units, "comment": comment}, "api")


def one(code: str, *quotes: tuple[str, int]) -> dict[str, Any]:
    """The answer to one question; a yes has a highlight."""
    given = quotes or ((BOAT,) if code == "yes" else ())
    evidence = [{"quote": words, "start": start} for words, start in given]
    return {"evidence": evidence, "answerable": code}


def decided(
    there: Dispute,
    unit: Unit,
    code: str = "yes",
    *quotes: tuple[str, int],
    by: User | None = None,
    reason: str | None = REASON,
    seen: int = 0,
    key: str | None = None,
) -> Outcome:
    user = by or there.dora
    case = find_case(user, there.study.campaign, unit.pk)
    assert case is not None
    payload = {"units": {unit.name: one(code, *quotes)}, "comment": reason}
    return decide(case, user, payload, Circumstances(key=key, seen=seen), "page")


def form(
    unit: Unit, code: str = "no", *quotes: tuple[str, int], reason: str = REASON, **more: Any
) -> dict[str, Any]:
    """What the page of a dispute sends."""
    evidence = one(code, *quotes)["evidence"]
    return {
        "unit-0": unit.name,
        "unit-0-answerable": code,
        "unit-0-evidence": json.dumps(evidence),
        "comment": reason,
        "seen": 0,
        "version": 0,
        **more,
    }


__all__ = ["BOAT", "QUESTIONS", "REASON", "SHALOM", "Dispute", "answer", "decided", "form"]

"""Answers copied into a campaign that continues another one have all parts of the original."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from annotation.answers.storage import AnswerCopy, copy_answers
from annotation.answers.submission import Circumstances, submit
from annotation.campaign_setup.creation import create_campaign
from annotation.campaigns.design import Design
from annotation.models import Assignment, Exposure, Item, Label, Look, Response, User, rater_of
from tests.annotation.adjudication.cast import BOAT, SHALOM, one
from tests.page_cast import Study, make_study

pytestmark = pytest.mark.django_db
LABEL = ("unit__name", "variable", "value", "score", "meta")
SPAN = ("spans__field", "spans__start", "spans__end", "spans__quote", "spans__method")


def given(study: Study, user: User) -> Response:
    """An answer to the first report that was revised once and is exposed on its last question."""
    asked = study.assignment(user)
    units = {"q:0": one("yes"), "q:1": one("yes", SHALOM, BOAT), "q:2": one("no")}
    for units["q:2"] in (one("invalid"), one("no")):
        payload = {"units": dict(units), "comment": "hard"}
        found = submit(asked, payload, "api", Circumstances(key=units["q:2"]["answerable"]))
    Response.objects.filter(pk=found.response.pk).update(exposed=True)
    Label.objects.filter(response=found.response, unit__name="q:0").update(score=0.5, meta={"n": 1})
    return Response.objects.get(pk=found.response.pk)


def labels(response: Response, *names: str) -> list[tuple[Any, ...]]:
    rows = response.labels.filter(unit__name__in=names).order_by("unit__position", "spans")
    return list(rows.values_list(*LABEL, *SPAN))


def test_a_copied_answer_has_labels_spans_and_marks_of_the_copied_units() -> None:
    study = make_study(people=3)
    facts = {"campaign": study.campaign, "kind": "export", "exposing": True, "upto": 0}
    look, another = (Look.objects.create(user=study.ada, digest=n, **facts) for n in "ab")
    new = create_campaign("New", "report-coverage", study.campaign.batch, Design()).campaign
    there: Item = new.items.get(position=0)
    ada, ben, rita = (given(study, user) for user in (study.ada, study.ben, study.rita))
    rita.exposed = None
    marks = {"look": look, "kind": "export", "at": timezone.now()}
    Exposure.objects.create(response=ada, units=["q:0", "q:2"], **marks)
    for response in (ada, ben, Response.objects.get(assignment=ada.assignment, revision=1)):
        Exposure.objects.create(response=response, units=["q:2"], **(marks | {"look": another}))
    kept = {name: ada.payload["units"][name] for name in ("q:0", "q:1")}
    units = {
        unit.pk: there.units.get(name=unit.name).pk
        for unit in ada.assignment.item.units.filter(name__in=kept)
    }
    copies = [
        AnswerCopy(
            origin,
            Assignment.objects.create(item=there, rater=rater_of(user), asked=list(kept)),
            units,
            {"units": kept, "comment": "hard"},
        )
        for origin, user in ((ada, study.ada), (ben, study.ben), (rita, study.rita))
    ]
    before = Label.objects.count()
    keys = copy_answers(copies)
    for key, each in zip(keys, copies, strict=True):
        made, of = Response.objects.get(pk=key), each.origin
        assert (of.revision, of.key) == (2, "no")
        assert (made.assignment, made.revision, made.current, made.key) == (
            each.assignment, 1, True, None,
        )  # fmt: skip
        for name in ("comment", "door", "created_at", "basis"):
            assert getattr(made, name) == getattr(of, name)
        assert made.payload == each.payload
        assert labels(made, "q:0", "q:1", "q:2") == labels(of, "q:0", "q:1")
        assert [row[8] for row in labels(made, "q:1")] == [SHALOM[0], BOAT[0]]
        assert labels(made, "q:0")[0][3:] == (0.5, {"n": 1}, "report", 0, 5, "Zoë 🛶", "exact")
        assert {label.unit.item for label in made.labels.all()} == {there}
    assert Label.objects.count() == before + 6
    assert [Response.objects.get(pk=key).exposed for key in keys] == [True, False, None]
    (mark,) = Exposure.objects.filter(response__in=keys)
    assert (mark.response_id, mark.units) == (keys[0], ["q:0"])
    assert {name: getattr(mark, name) for name in marks} == marks

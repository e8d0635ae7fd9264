"""What is recorded of a look at others' answers, and when it becomes a row of the ledger."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation.answers.submission import submit
from annotation.exposure import ledger
from annotation.models import Look, Response
from tests.once import once
from tests.page_cast import Study, make_study, payload

pytestmark = pytest.mark.django_db


@once
def study() -> Study:
    made = make_study()
    for _ in range(2):
        submit(made.assignment(made.ada), payload("no"), "page")
    return made


def noted(*looks: Callable[[], None]) -> list[ledger.Note]:
    with ledger.collect_looks() as notes:
        for look in looks:
            look()
    return notes


def test_a_note_has_the_scope_the_number_and_the_newest_answer_of_a_look(study: Study) -> None:
    campaign, newest = study.campaign, Response.objects.latest("pk")
    before = newest.created_at - timedelta(microseconds=1)
    many = range(1, 1002)
    saw, figures = ledger.saw_answers, ledger.saw_figures
    notes = noted(
        lambda: saw("dispute", campaign, units=[3, 1, 3]),
        lambda: saw("dispute", campaign.pk, units=[3, 1], number=9, rater=5),
        lambda: saw("items", campaign, items=many[:-1], until=newest.created_at),
        lambda: saw("items", campaign, items=many, units=[1], number=1, until=before),
        lambda: saw("export", campaign, until=before - timedelta(days=1)),
        lambda: figures("report", campaign, 29),
        lambda: figures("report", campaign, 30),
        lambda: figures("report", campaign, 30, units=[2, 1]),
        lambda: figures("report", campaign, 30, items=[4], rater=6),
        lambda: figures("report", campaign, 0),
    )
    first = Response.objects.order_by("pk")[0].pk
    assert {note["campaign_id"] for note in notes} == {campaign.pk}
    columns = ("kind", "scope", "rater_id", "number", "exposing", "upto")
    assert [tuple(note[name] for name in columns) for note in notes] == [
        ("dispute", {"units": [1, 3]}, None, 3, True, newest.pk),
        ("dispute", {"units": [1, 3]}, 5, 9, True, newest.pk),
        ("items", {"items": list(many[:-1])}, None, None, True, newest.pk),
        ("items", None, None, 1, True, first),
        ("export", None, None, None, True, 0),
        ("report", None, None, 29, True, newest.pk),
        ("report", None, None, 30, False, newest.pk),
        ("report", {"units": [1, 2]}, None, 30, True, newest.pk),
        ("report", {"items": [4]}, 6, 30, True, newest.pk),
    ]
    with pytest.raises(KeyError, match="'gossip' is not a kind of look"):
        noted(lambda: saw("gossip", campaign))


def test_looks_are_the_same_by_campaign_kind_scope_rater_and_number(study: Study) -> None:
    campaign, saw = study.campaign, ledger.saw_answers
    one, again, *others = noted(
        lambda: saw("dispute", campaign, units=[1, 2], number=2),
        lambda: saw("dispute", campaign, units=[2, 1]),
        lambda: saw("dispute", campaign, items=[1, 2], number=2),
        lambda: saw("dispute", campaign, units=[1, 2], rater=7),
        lambda: saw("dispute", campaign, units=[1, 2], number=3),
        lambda: ledger.saw_figures("dispute", campaign, 2),
    )
    assert one == again
    assert len({note["digest"] for note in (one, *others)}) == 5
    for note in (one, *others):
        Look(user=study.rita, **note).clean_fields(exclude=("scope", "rater"))


def test_an_accounts_look_is_recorded_once_until_there_are_new_answers(study: Study) -> None:
    def look() -> list[ledger.Note]:
        return noted(*[lambda: ledger.saw_answers("export", study.campaign)] * 2)

    ledger.record(None, look())
    assert not Look.objects.exists()
    notes = look()
    for user in (study.rita, study.rita, study.ben):
        ledger.record(user.pk, notes)
    assert list(Look.objects.values_list("user", flat=True)) == [study.rita.pk, study.ben.pk]
    with CaptureQueriesContext(connection) as found:
        ledger.record_again(study.rita.pk, notes)
        ledger.record(study.rita.pk, notes)
    assert not [each for each in found if each["sql"].startswith("INSERT")]
    assert len(found) == 2
    newest = submit(study.assignment(study.ben), payload("no"), "page").response.pk
    ledger.record_again(study.rita.pk, notes)
    assert list(Look.objects.values_list("upto", flat=True)) == [newest - 1, newest - 1, newest]
    assert Look.objects.latest("pk").at <= timezone.now()


def test_two_requests_at_the_same_moment_record_the_same_look_once(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = noted(lambda: ledger.saw_answers("export", study.campaign))
    monkeypatch.setattr(ledger, "_is_stored", lambda look: False)
    for _ in range(2):
        ledger.record(study.rita.pk, notes)
    assert Look.objects.count() == 1


def test_only_a_look_that_exposes_in_the_campaign_itself_marks_answers_there(study: Study) -> None:
    campaign, figures = study.campaign, ledger.saw_figures
    (many,) = noted(lambda: figures("report", campaign, 30))
    (few,) = noted(lambda: figures("report", campaign, 29))
    (other,) = noted(lambda: ledger.saw_answers("export", campaign.pk + 1))
    assert not ledger.exposes([many, other], campaign)
    assert ledger.exposes([many, other, few], campaign)
